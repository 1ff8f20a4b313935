/* sqlite.h: a SQLite database as MCP resources with sqlite:// URIs. The provider's only header for
 * programs; everything else in this folder is its own business.
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

/* Zero is the default everywhere. Everything is copied. */
typedef struct mcp_sqlite_options {
    size_t size;
    const char *path; /* the database; required */
    const char *name; /* in URIs; default: the file's name without .db, .db3, .sqlite or .sqlite3 */

    uint64_t max_rows;   /* rows in one answer; 1000 */
    uint64_t max_bytes;  /* of rows in one answer; 1 MiB. What is beyond is on the next page. Also
                                of each value that a query looks at or makes */
    uint64_t max_read;   /* bytes of one cell that one read returns; 10 MiB */
    uint64_t timeout_ms; /* how long one request may take; 5000 */
    const char *tool;    /* name of the tool for queries; default "query_sqlite_NAME"; "": none */
    const mcp_json *queries; /* saved queries, as mcp_sqlite_schema has them; NULL: none */

    const mcp_allocator *allocator; /* also called from the host's worker threads */
} mcp_sqlite_options;

/* Checks that the database is there and is one, then mounts it. Watching uses the server's host
 * (timers and descriptors), whatever may take long its workers. MCP_EINVAL (no database, a saved
 * query is wrong), MCP_ENOTFOUND, MCP_EACCESS, MCP_EEXIST (the name or that of the tool is taken),
 * MCP_ENOMEM; error->text says which and why. */
int mcp_sqlite_mount(mcp_server *server, const mcp_sqlite_options *options, mcp_error *error);

/* JSON Schema of the same options as JSON, without path and name; and a mount with them. */
extern const char mcp_sqlite_schema[];
int mcp_sqlite_mount_json(mcp_server *server, const char *path, const mcp_json *options,
                          const char *name, const mcp_allocator *allocator, mcp_error *error);

/* Looks whether that database can be read now, and mounts nothing. Blocks, for two seconds or the
 * options' timeout_ms when it is locked. The same errors, and MCP_ETIMEOUT. */
int mcp_sqlite_check_json(const char *path, const mcp_json *options, const char *name,
                          const mcp_allocator *allocator, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
