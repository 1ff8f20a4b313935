/* PostgreSQL over TCP: with and without TLS, with passwords; untrusted certificates and rejected
 * logins. */
#define _GNU_SOURCE
#include "listening.h"

static peer p;

typedef struct way {
    const char *words; /* connection options after host and port; %s stands for the test's folder */
    const char *password; /* PGPASSWORD; if NULL, the password file is used */
    const char *tells;    /* part of the error; NULL: success without TLS; "TLS": success with it */
} way;

#define HERE "host=127.0.0.1 dbname=shop user=reader "

static const way ways[] = {
    {HERE "sslmode=verify-full sslrootcert=%s/ca.crt", NULL, "TLS"},
    {"host=localhost dbname=shop user=reader sslmode=verify-full sslrootcert=%s/ca.crt", NULL,
     "TLS"},
    {"//reader@127.0.0.1/shop?sslmode=verify-ca&sslrootcert=%s/ca.crt", NULL, "TLS"},
    {HERE "sslmode=require", NULL, "TLS"},
    {HERE, NULL, "TLS"},
    {HERE "sslmode=disable", NULL, NULL},
    {HERE "sslmode=disable", "s3cret", NULL},
    {"host=127.0.0.1 dbname=shop user=old sslmode=disable", NULL, NULL},
    {"host=127.0.0.1 dbname=shop user=careful sslmode=require", NULL, "TLS"},
    {"host=127.0.0.1 dbname=shop user=careful sslmode=disable", NULL, "rejects connection"},
    {"host=127.0.0.1,127.0.0.1 dbname=shop user=reader sslmode=require", NULL, "TLS"},
    {HERE "sslmode=require connect_timeout=0", NULL, "TLS"},
    {HERE "sslmode=verify-full sslrootcert=%s/other.crt", NULL, "certificate verify failed"},
    {HERE "sslmode=require sslrootcert=%s/other.crt", NULL, "certificate verify failed"},
    {HERE "sslmode=verify-full sslrootcert=%s/none.crt", NULL, "none.crt\" does not exist"},
    {"host=db.example.org hostaddr=127.0.0.1 dbname=shop user=reader sslmode=verify-full "
     "sslrootcert=%s/ca.crt",
     NULL, "does not match host name \"db.example.org\""},
    {HERE "passfile=/nowhere", NULL, "no password supplied"},
    {HERE, "gu3ss", "password authentication failed"},
    {"host=127.0.0.1 dbname=shop user=nobody_there", NULL, "password authentication failed"},
};

static int open_way(const way *w)
{
    char words[300];
    mcp_postgres_options o = {.conninfo = words, .name = "shop"};
    snprintf(words, sizeof(words), w->words, top);
    if (w->password)
        setenv("PGPASSWORD", w->password, 1);
    int rc = peer_open(&p, &o);
    unsetenv("PGPASSWORD");
    return rc;
}

static void check_way(const way *w)
{
    static const char sql[] = SQL("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    bool opens = !w->tells || strcmp(w->tells, "TLS") == 0;
    int rc = open_way(w);
    if (opens != (rc == MCP_OK))
        fail_msg("%s: %d %s", w->words, rc, p.error.text);
    if (opens) {
        check_exchange(&p, &(exchange){CALL, sql, {w->tells ? "[[true]]" : "[[false]]"}});
        check_exchange(&p, &(exchange){READ, URI("public/customer/row/1"), {"Ada"}});
    } else if (!strstr(p.error.text, w->tells) || strstr(p.error.text, "s3cret") ||
               strstr(p.error.text, "gu3ss")) {
        fail_msg("%s: %s", w->words, p.error.text);
    }
    peer_close(&p);
}

static void test_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        check_way(&ways[i]);
}

/* Rows, values and pages of all sizes arrive complete, although TLS splits them differently. */
static void test_sizes(void **state)
{
    char sql[200], wanted[60];
    (void)state;
    assert_int_equal(open_way(&ways[0]), MCP_OK);
    for (size_t size = 1; size < 60000; size = size * 2 + size % 3) {
        snprintf(sql, sizeof(sql),
                 "\"name\":\"query_postgres_shop\",\"arguments\":{\"sql\":\"SELECT repeat('x', "
                 "%zu), 'end of "
                 "%zu'\",\"max_tokens\":100000}",
                 size, size);
        snprintf(wanted, sizeof(wanted), "x\",\"end of %zu\"]]", size);
        check_exchange(&p, &(exchange){CALL, sql, {wanted}});
    }
    check_exchange(&p, &(exchange){READ,
                                   URI("public/kinds/cell/long/9007199254740993?offset=299990"),
                                   {"\"text\":\"xxxxxxxxxx\""}});
    check_exchange(&p, &(exchange){READ,
                                   URI("public/kinds/cell/long/9007199254740993"),
                                   {"xxxxxxxxxxxxxxxxxxxx", "!error"}});
    assert_true(p.len > 300000);
    peer_close(&p);
}

/* A provider that requires TLS rejects a server without it. */
static void test_without(void **state)
{
    static const way strict = {HERE "sslmode=require", NULL, "server does not support SSL"};
    static const way lax = {HERE "sslmode=prefer", NULL, NULL};
    (void)state;
    run_sql("ALTER SYSTEM SET ssl = off");
    run_sql("SELECT pg_reload_conf()");
    for (bool gone = false; !gone;) { /* the server may need some time */
        PGconn *c = PQconnectdb("host=127.0.0.1 dbname=shop user=reader sslmode=require");
        gone = PQstatus(c) != CONNECTION_OK;
        PQfinish(c);
    }
    check_way(&strict);
    check_way(&lax);
    run_sql("ALTER SYSTEM RESET ssl");
    run_sql("SELECT pg_reload_conf()");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ways), cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_without)};
    int rc = make_listening_database();
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    server("remove");
    return rc;
}
