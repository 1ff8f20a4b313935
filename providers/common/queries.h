/* queries.h: saved queries of a database. They are statements written by the operator of the
 * server; each is a resource or, with parameters, a template. Each database provider binds the
 * parameters and runs the statement.
 *
 * Saved queries are immutable after they are registered, so any thread may read them.
 */
#ifndef COMMON_QUERIES_H
#define COMMON_QUERIES_H

#include <mcp/provider.h>
#include <mcp/uri.h>

#include "mounting.h"

enum { COMMON_QUERY_PARAMETERS = 32, COMMON_QUERY_CHANGES = 1000000 };

/* The properties of a query that make it a statement that changes rows. */
#define COMMON_QUERY_WRITES                                                                    \
    "\"write\":{\"type\":\"boolean\",\"description\":\"sql is one INSERT, UPDATE, DELETE or "  \
    "MERGE, and a "                                                                            \
    "tool for those whom an access rule with the operation commit names\"},"                   \
    "\"rows\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000000,\"description\":\"With " \
    "write: how many rows it may change; more are undone; 1 unless given\"},"

/* The schema of the member "queries" in a database's options. `placeholders` explains how a
 * statement refers to its parameters; `own` and `more` have further properties of a query and of a
 * parameter, each followed by a comma. */
#define COMMON_QUERIES_SCHEMA(placeholders, own, more)                                             \
    "\"queries\":{\"type\":\"array\",\"maxItems\":1000,\"description\":\"Saved queries\","         \
    "\"items\":{\"type\":\"object\",\"required\":[\"name\",\"sql\"],"                              \
    "\"additionalProperties\":false,\"properties\":{"                                              \
    "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":64},"                             \
    "\"title\":{\"type\":\"string\"},\"description\":{\"type\":\"string\"}," own                   \
    "\"sql\":{\"type\":\"string\",\"minLength\":1,\"description\":\"One read-only statement, with" \
    " parameters as " placeholders "\"},"                                                          \
    "\"parameters\":{\"type\":\"array\",\"maxItems\":32,\"items\":{\"type\":\"object\","           \
    "\"required\":[\"name\"],\"additionalProperties\":false,\"properties\":{"                      \
    "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":64,"                              \
    "\"pattern\":\"^[A-Za-z0-9_]+$\"},"                                                            \
    "\"description\":{\"type\":\"string\"}," more                                                  \
    "\"default\":{\"type\":[\"string\",\"number\"]},"                                              \
    "\"required\":{\"type\":\"boolean\"},"                                                         \
    "\"values\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"                              \
    "\"description\":\"Values for completion\"}}}}}}}"

typedef enum common_parameter_type {
    COMMON_PARAMETER_TEXT,
    COMMON_PARAMETER_INTEGER,
    COMMON_PARAMETER_NUMBER,
} common_parameter_type;

typedef struct common_parameter {
    char *name, *description;
    char *value; /* the default; NULL means SQL's NULL, unless the parameter is required */
    common_parameter_type type;
    bool required;
    char **choice; /* values for completion */
    size_t n_choice;
} common_parameter;

typedef struct common_query {
    char *name, *title, *description, *sql;
    char *uri; /* without parameters */
    common_parameter *parameter;
    size_t n_parameter;
    bool write;  /* it changes rows */
    size_t rows; /* how many of them, at most */
    const struct common_queries *all;
} common_query;

/* Zero-initialized, it is empty. */
typedef struct common_queries {
    common_query *query; /* in the order of the options */
    size_t n;
    mcp_read_fn *read;
    void *user; /* of `read` */
} common_queries;

/* Loads the queries from JSON as described by COMMON_QUERIES_SCHEMA(); NULL means none. Their
 * URIs begin with `prefix`. Those that change rows go into `writes` and nowhere else, so whatever reads
 * queries cannot find them; if it is NULL, they are refused. Call common_queries_free() for both even
 * after a failure. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
int common_queries_load(common_queries *all, common_queries *writes, const mcp_allocator *alloc,
                        const char *prefix, const mcp_json *from, mcp_error *error);
void common_queries_free(common_queries *all, const mcp_allocator *alloc);

const common_query *common_queries_find(const common_queries *all, mcp_str name);
const common_parameter *common_query_parameter(const common_query *q, mcp_str name);
/* Returns whether each pair is a valid value for a parameter of the query. A pair named "format" is
 * also allowed if no parameter has this name; *text becomes its value (table_text.h). If a pair is
 * invalid, `why` has the reason. */
bool common_query_takes(const common_query *q, const mcp_uri_pair *given, size_t n, bool *text,
                        char why[300]);

/* Offers a template for each query with parameters. It is named by common_template_name() with
 * "query.QUERY" as WHAT, and read by `read`. */
int common_queries_register(common_queries *all, common_offer offer, const mcp_allocator *alloc,
                            const char *name, const char *prefix, mcp_read_fn *read, void *user,
                            mcp_error *error);
/* Adds the list entry of a query. Queries with required parameters have none. */
int common_query_reply(mcp_request *req, const common_query *q);

/* The message to a client if a query fails because of the query itself: its name and the database's
 * message.
 */
#define COMMON_QUERY_BROKEN \
    "The saved query %.64s cannot be run: %.250s. The operator of this server has to correct it"

/* Sets *error for an invalid query. Returns MCP_EINVAL. */
int common_query_refuse(mcp_error *error, const char *name, const char *format, ...)
    MCP_PRINTF(3, 4);

#endif
