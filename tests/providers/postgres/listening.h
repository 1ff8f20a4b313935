/* listening.h: makes the server of database.h also listen on 127.0.0.1, with TLS and passwords. */
#ifndef MCP_TESTS_POSTGRES_LISTENING_H
#define MCP_TESTS_POSTGRES_LISTENING_H

#include <sys/stat.h>

#include "database.h"

static char port[16];

static inline int read_port(void)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/port", top);
    FILE *f = fopen(path, "r");
    int ok = f && fscanf(f, "%15s", port) == 1;
    if (f)
        fclose(f);
    return !ok;
}

/* Sets the password of all roles to s3cret. libpq finds it through PGPASSFILE. */
static inline int write_passwords(void)
{
    static char path[100];
    snprintf(path, sizeof(path), "%s/passwords", top);
    FILE *f = fopen(path, "w");
    if (!f)
        return 1;
    fputs("*:*:*:*:s3cret\n", f);
    fclose(f);
    if (chmod(path, 0600) != 0)
        return 1;
    setenv("PGPASSFILE", path, 1);
    run_sql("ALTER ROLE reader PASSWORD 's3cret'");
    run_sql("CREATE ROLE careful LOGIN PASSWORD 's3cret' IN ROLE reader");
    run_sql(
        "SET password_encryption = md5; CREATE ROLE old LOGIN PASSWORD 's3cret' IN ROLE reader");
    return 0;
}

/* Like make_database(), but the server also listens on TCP. */
static inline int make_listening_database(void)
{
    char command[600];
    strcpy(top, "/tmp/mcp-postgres-XXXXXX");
    if (!mkdtemp(top))
        return 1;
    int rc = server("make");
    if (rc == 0)
        rc = server("listen") || read_port();
    if (rc)
        return rc;
    setenv("PGPORT", port, 1); /* the Unix socket's name has this port too */
    snprintf(command, sizeof(command),
             "psql -q -v ON_ERROR_STOP=1 -h %s -U postgres -f '%s/providers/postgres/shop.sql' "
             "postgres >/dev/null",
             top, MCP_TEST_SOURCE_DIR);
    snprintf(conninfo, sizeof(conninfo), "host=%s user=reader dbname=shop" PATIENT, top);
    return server("start") || system(command) || write_passwords();
}

#endif
