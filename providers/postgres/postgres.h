/* postgres.h: a PostgreSQL database as MCP resources with postgres:// URIs. The provider's only
 * header for programs; everything else in this folder is its own business.
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

/* Zero is the default everywhere. Everything is copied. */
typedef struct mcp_postgres_options {
    size_t size;
    const char
        *conninfo;    /* as libpq has it: "host=/run/postgresql dbname=shop", or what stands behind
                             "postgresql:" in a URI, "//host/shop"; required, may be empty */
    const char *name; /* in URIs; default: the database's */

    uint64_t max_rows;    /* rows in one answer; 1000 */
    uint64_t max_bytes;   /* of rows in one answer; 1 MiB. What is beyond is on the next page */
    uint64_t max_read;    /* bytes of one value that one read returns; 10 MiB */
    uint64_t timeout_ms;  /* how long one request may take; 5000 */
    uint64_t connections; /* at the most, beside one that watches; 4 */
    uint64_t poll_ms;     /* how often it is looked whether the schema changed; 2000 */
    bool superuser; /* run statements from outside even when the role may read the server's files */
    const char *tool; /* name of the tool for queries; default "query_postgres_NAME"; "": none */
    const mcp_json *queries; /* saved queries, as mcp_postgres_schema has them; NULL: none */

    const mcp_allocator *allocator; /* also called from the host's worker threads */
} mcp_postgres_options;

/* Mounts the database. The server needs a host with timers, descriptors and workers. A server that
 * does not answer now is no failure: it is asked again when something is needed; one that refuses
 * the role or has no such database is. MCP_EINVAL (the connection string, a saved query),
 * MCP_EACCESS, MCP_EEXIST (the name or that of the tool is taken), MCP_EUNSUPPORTED (no such host),
 * MCP_ENOMEM; error->text says which and why, and never what stands in the connection string. */
int mcp_postgres_mount(mcp_server *server, const mcp_postgres_options *options, mcp_error *error);

/* JSON Schema of the same options as JSON, without conninfo and name; and a mount with them. */
extern const char mcp_postgres_schema[];
int mcp_postgres_mount_json(mcp_server *server, const char *conninfo, const mcp_json *options,
                            const char *name, const mcp_allocator *allocator, mcp_error *error);

/* Looks whether that database lets itself be read now, and whether its saved queries can be run,
 * and mounts nothing. Blocks, for some seconds at the most. The same errors, and MCP_EREMOTE: it
 * does not answer. */
int mcp_postgres_check_json(const char *conninfo, const mcp_json *options, const char *name,
                            const mcp_allocator *allocator, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
