/* postgres.h: a PostgreSQL database as MCP resources with postgres:// URIs. This is the provider's
 * only public header.
 *
 * One call mounts one database at "postgres://NAME/"; docs/postgres.md lists its URIs. Every statement
 * runs in a read-only transaction, which is rolled back, except saved statements with "write", each of
 * which is a tool for those whom mcp_access.may_do allows MCP_OPERATION_COMMIT on it.
 */
#ifndef MCP_POSTGRES_H
#define MCP_POSTGRES_H

#include <mcp/module.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A member that is zero has its default value. All strings are copied. */
typedef struct mcp_postgres_options {
    size_t size;
    const char *conninfo; /* libpq's connection string ("host=/run/postgresql dbname=shop"), or what
                       * follows "postgresql:" in a URI ("//host/shop"); required, may be empty */
    const char *name;     /* used in URIs; default is the database's name */

    uint64_t max_rows;      /* rows in one answer; default 1000 */
    uint64_t max_bytes;     /* bytes of rows in one answer; default 1 MiB. Further rows are on the
                           * next page */
    uint64_t max_read;      /* bytes of the largest read of a value; default 10 MiB */
    uint64_t answer_tokens; /* tokens (of four bytes) in an answer of the tool; default 10000 */
    uint64_t timeout_ms;    /* time limit of a request in milliseconds; default 5000 */
    uint64_t connections;   /* maximum, not counting the one for watching; default 4 */
    uint64_t poll_ms; /* milliseconds between checks for changes to the schema; default 2000 */
    bool superuser;   /* run queries even if the role may read the server's files */
    const char *tool; /* name of the query tool; default "query_postgres_NAME"; "" disables it */
    const mcp_json *queries; /* saved queries and statements that change rows, as in
                              * mcp_postgres_schema; NULL means none */
    const mcp_json *run_as;  /* the roles of callers, as in mcp_postgres_schema; NULL means that all
                              * requests use the role of `conninfo` */

    const mcp_allocator *allocator; /* also called from the host's worker threads */
    bool explain;     /* the query tool can show the plan of a query instead of its rows */
    bool sample_rows; /* the page of a table has three of its rows */
    /* There is a tool that says what the statistics show. With rules, a caller has it only if a rule
     * names it without a wildcard. With `explain` it also says whether hypothetical indexes would help a query. */
    bool database_health;
} mcp_postgres_options;

/* Mounts the database. The server's host needs timers, descriptors and workers. A database that
 * cannot be reached now is not an error; it is contacted again when needed. It is an error if the
 * database does not exist or refuses the role. Returns MCP_OK, MCP_EINVAL (the connection string or
 * a saved query is invalid), MCP_EACCESS, MCP_EEXIST (the name or the tool's name is taken),
 * MCP_EUNSUPPORTED (the host lacks functions) or MCP_ENOMEM; error->text has the details, but never
 * the contents of the connection string. */
int mcp_postgres_mount(mcp_server *server, const mcp_postgres_options *options, mcp_error *error);

/* The JSON Schema of the options except conninfo and name, and a function that mounts a database
 * with options in JSON. */
extern const char mcp_postgres_schema[];
int mcp_postgres_mount_json(mcp_server *server, const char *conninfo, const mcp_json *options,
                            const char *name, const mcp_allocator *allocator, mcp_error *error);

/* Describes what such a mount offers without contacting the database, for mcp_module.describe. */
int mcp_postgres_describe_json(const char *conninfo, const mcp_json *options, const char *name,
                               const mcp_allocator *allocator, const mcp_description *to,
                               mcp_error *error);

/* Checks whether the database can be read now and whether its saved queries can be run, without
 * mounting it. Blocks for some seconds at most. Returns the errors of mcp_postgres_mount(), or
 * MCP_EREMOTE if the database does not answer. */
int mcp_postgres_check_json(const char *conninfo, const mcp_json *options, const char *name,
                            const mcp_allocator *allocator, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
