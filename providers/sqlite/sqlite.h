/* sqlite.h: a SQLite database as MCP resources with sqlite:// URIs. This is the provider's only
 * public header.
 *
 * One call mounts one database at "sqlite://NAME/"; docs/sqlite.md lists its URIs. Nothing is
 * written to the database or to its folder, except for the files that SQLite needs for reading
 * while another process writes.
 */
#ifndef MCP_SQLITE_H
#define MCP_SQLITE_H

#include <mcp/module.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A member that is zero has its default value. All strings are copied. */
typedef struct mcp_sqlite_options {
    size_t size;
    const char *path; /* the database file; required */
    const char *name; /* used in URIs; default is the file's name without .db, .db3,
                       * .sqlite or .sqlite3 */

    uint64_t max_rows;  /* rows in one answer; default 1000 */
    uint64_t max_bytes; /* bytes of rows in one answer; default 1 MiB. Further rows are on the next
                          * page. Also limits each value that a query reads or computes */
    uint64_t answer_tokens; /* tokens (of four bytes) in an answer of the tool; default 10000 */
    uint64_t max_read;      /* bytes of the largest read of a cell; default 10 MiB */
    uint64_t timeout_ms;    /* time limit of a request in milliseconds; default 5000 */
    const char *tool; /* name of the query tool; default "query_sqlite_NAME"; "" disables it */
    const mcp_json *queries; /* saved queries, as in mcp_sqlite_schema; NULL means none */

    const mcp_allocator *allocator; /* also called from the host's worker threads */
    bool explain;     /* the query tool can show the plan of a query instead of its rows */
    bool sample_rows; /* the page of a table has three of its rows */
} mcp_sqlite_options;

/* Checks that the file exists and is a database, then mounts it. Watching uses the timers and
 * descriptors of the server's host; slow work runs on its worker threads. Returns MCP_OK,
 * MCP_EINVAL (no file is named, or a saved query is invalid), MCP_ENOTFOUND, MCP_EACCESS (not
 * readable, or not a database), MCP_EEXIST (the name or the tool's name is taken) or MCP_ENOMEM;
 * error->text has the details. */
int mcp_sqlite_mount(mcp_server *server, const mcp_sqlite_options *options, mcp_error *error);

/* The JSON Schema of the options except path and name, and a function that mounts a database with
 * options in JSON. */
extern const char mcp_sqlite_schema[];
int mcp_sqlite_mount_json(mcp_server *server, const char *path, const mcp_json *options,
                          const char *name, const mcp_allocator *allocator, mcp_error *error);

/* Describes what such a mount offers without looking at the file, for mcp_module.describe. */
int mcp_sqlite_describe_json(const char *path, const mcp_json *options, const char *name,
                             const mcp_allocator *allocator, const mcp_description *to,
                             mcp_error *error);

/* Checks the source without SQLite: whether the file exists, can be read, and begins like a
 * database. For mcp_module.look. */
int mcp_sqlite_look_json(const char *path, const mcp_json *options, const char *name,
                         const mcp_allocator *allocator, mcp_error *error);

/* Checks whether the database can be read now, without mounting it. Blocks while the database is
 * locked, for up to two seconds or the options' timeout_ms if that is less. Returns the errors of
 * mcp_sqlite_mount(), or MCP_ETIMEOUT. */
int mcp_sqlite_check_json(const char *path, const mcp_json *options, const char *name,
                          const mcp_allocator *allocator, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
