/* postgres.h: a PostgreSQL database as MCP resources with postgres:// URIs. This is the provider's
 * only public header.
 *
 * One call mounts one database at "postgres://NAME/"; docs/postgres.md has what is there. Nothing
 * is ever written: whatever is asked runs in a transaction that reads, and that is rolled back.
 */
#ifndef MCP_POSTGRES_H
#define MCP_POSTGRES_H

#include <mcp/mcp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero selects the default of every member. Everything is copied. */
typedef struct mcp_postgres_options {
    size_t size;
    const char
        *conninfo;    /* as libpq has it: "host=/run/postgresql dbname=shop", or what stands behind
                             "postgresql:" in a URI, "//host/shop"; required, may be empty */
    const char *name; /* used in URIs; default: the database's name */

    uint64_t max_rows;    /* rows in one answer; default 1000 */
    uint64_t max_bytes;   /* bytes of rows in one answer; default 1 MiB. Further rows are on the
                           * next page */
    uint64_t max_read;    /* largest read of a value, in bytes; default 10 MiB */
    uint64_t timeout_ms;  /* time limit of a request, in milliseconds; default 5000 */
    uint64_t connections; /* maximum, in addition to one for watching; default 4 */
    uint64_t poll_ms;     /* interval for detecting changes of the schema; default 2000 */
    bool superuser;   /* run statements from outside even if the role may read the server's files */
    const char *tool; /* name of the tool for queries; default "query_postgres_NAME"; "": none */
    const mcp_json *queries; /* saved queries, as in mcp_postgres_schema; NULL: none */

    const mcp_allocator *allocator; /* also called from the host's worker threads */
} mcp_postgres_options;

/* Mounts the database. The server's host needs timers, descriptors and workers. It is no error if
 * the database does not answer now; it is contacted again when needed. It is an error if it refuses
 * the role or does not exist. MCP_EINVAL (the connection string, a saved query), MCP_EACCESS,
 * MCP_EEXIST (the name or the tool's name is taken), MCP_EUNSUPPORTED (no such host), MCP_ENOMEM;
 * error->text has the details, but never the contents of the connection string. */
int mcp_postgres_mount(mcp_server *server, const mcp_postgres_options *options, mcp_error *error);

/* JSON Schema of the same options, without conninfo and name, and a mount with options in JSON. */
extern const char mcp_postgres_schema[];
int mcp_postgres_mount_json(mcp_server *server, const char *conninfo, const mcp_json *options,
                            const char *name, const mcp_allocator *allocator, mcp_error *error);

/* Checks whether the database can be read now and whether its saved queries can be run, without
 * mounting it. Blocks for some seconds at most. The same errors, and MCP_EREMOTE: it does not
 * answer. */
int mcp_postgres_check_json(const char *conninfo, const mcp_json *options, const char *name,
                            const mcp_allocator *allocator, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
