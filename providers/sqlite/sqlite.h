/* sqlite.h: a SQLite database as MCP resources with sqlite:// URIs. This is the provider's only
 * public header.
 *
 * One call mounts one database at "sqlite://NAME/"; docs/sqlite.md lists its URIs. Nothing is ever
 * written to the database, nor to its folder, except for the files that SQLite itself needs to read
 * while another process writes.
 */
#ifndef MCP_SQLITE_H
#define MCP_SQLITE_H

#include <mcp/mcp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero selects the default of every member. Everything is copied. */
typedef struct mcp_sqlite_options {
    size_t size;
    const char *path; /* the database; required */
    const char *name; /* used in URIs; default: the file's name without .db, .db3, .sqlite or
                       * .sqlite3 */

    uint64_t max_rows;   /* rows in one answer; default 1000 */
    uint64_t max_bytes;  /* bytes of rows in one answer; default 1 MiB. Further rows are on the next
                          * page. Also limits each value that a query reads or computes */
    uint64_t max_read;   /* largest read of a cell, in bytes; default 10 MiB */
    uint64_t timeout_ms; /* time limit of a request, in milliseconds; default 5000 */
    const char *tool;    /* name of the tool for queries; default "query_sqlite_NAME"; "": none */
    const mcp_json *queries; /* saved queries, as in mcp_sqlite_schema; NULL: none */

    const mcp_allocator *allocator; /* also called from the host's worker threads */
} mcp_sqlite_options;

/* Checks that the file exists and is a database, then mounts it. Watching uses the timers and
 * descriptors of the server's host; slow work runs on its worker threads. Errors: MCP_EINVAL (not a
 * database, or a saved query is wrong), MCP_ENOTFOUND, MCP_EACCESS, MCP_EEXIST (the name or the
 * tool's name is taken), MCP_ENOMEM; error->text has the details. */
int mcp_sqlite_mount(mcp_server *server, const mcp_sqlite_options *options, mcp_error *error);

/* JSON Schema of the same options, without path and name, and a mount with options in JSON. */
extern const char mcp_sqlite_schema[];
int mcp_sqlite_mount_json(mcp_server *server, const char *path, const mcp_json *options,
                          const char *name, const mcp_allocator *allocator, mcp_error *error);

/* Checks whether the database can be read now, without mounting it. Blocks while it is locked, for
 * up to two seconds or the options' timeout_ms. The same errors, and MCP_ETIMEOUT. */
int mcp_sqlite_check_json(const char *path, const mcp_json *options, const char *name,
                          const mcp_allocator *allocator, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
