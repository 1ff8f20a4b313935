/* queries.h: saved queries of a database: statements by the operator of the server, each a resource
 * or, with parameters, a template. Each database provider runs them and binds their parameters.
 *
 * Immutable once they are registered, so any thread may read them.
 */
#ifndef COMMON_QUERIES_H
#define COMMON_QUERIES_H

#include <mcp/provider.h>
#include <mcp/uri.h>

enum { COMMON_QUERY_PARAMETERS = 32 };

/* The member "queries" of a database's options. `placeholders` says how a statement names its
 * parameters, `more` is what else a parameter may have, with a comma at its end. */
#define COMMON_QUERIES_SCHEMA(placeholders, more)                                                  \
    "\"queries\":{\"type\":\"array\",\"maxItems\":1000,\"description\":\"Saved queries\","         \
    "\"items\":{\"type\":\"object\",\"required\":[\"name\",\"sql\"],"                              \
    "\"additionalProperties\":false,\"properties\":{"                                              \
    "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":64},"                             \
    "\"title\":{\"type\":\"string\"},\"description\":{\"type\":\"string\"},"                       \
    "\"sql\":{\"type\":\"string\",\"minLength\":1,\"description\":\"One statement that reads; its" \
    " parameters as " placeholders "\"},"                                                          \
    "\"parameters\":{\"type\":\"array\",\"maxItems\":32,\"items\":{\"type\":\"object\","           \
    "\"required\":[\"name\"],\"additionalProperties\":false,\"properties\":{"                      \
    "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":64,"                              \
    "\"pattern\":\"^[A-Za-z0-9_]+$\"},"                                                            \
    "\"description\":{\"type\":\"string\"}," more                                                  \
    "\"default\":{\"type\":[\"string\",\"number\"]},"                                              \
    "\"required\":{\"type\":\"boolean\"},"                                                         \
    "\"values\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"                              \
    "\"description\":\"What completion offers\"}}}}}}}"

typedef enum common_parameter_type {
    COMMON_PARAMETER_TEXT,
    COMMON_PARAMETER_INTEGER,
    COMMON_PARAMETER_NUMBER,
} common_parameter_type;

typedef struct common_parameter {
    char *name, *description;
    char *value; /* when it is not given; NULL: SQL's NULL, unless it is required */
    common_parameter_type type;
    bool required;
    char **choice; /* for completion */
    size_t n_choice;
} common_parameter;

typedef struct common_query {
    char *name, *title, *description, *sql;
    char *uri; /* without parameters */
    common_parameter *parameter;
    size_t n_parameter;
    const struct common_queries *all;
} common_query;

/* Zero is empty. */
typedef struct common_queries {
    common_query *query; /* in the order of the options */
    size_t n;
    mcp_read_fn *read;
    void *user; /* of `read` */
} common_queries;

/* Takes them from what COMMON_QUERIES_SCHEMA() describes, NULL: none. Their URIs begin with
 * `prefix`. After a failure there may be some, for common_queries_free(). MCP_OK, MCP_EINVAL,
 * MCP_ENOMEM. */
int common_queries_load(common_queries *all, const mcp_allocator *alloc, const char *prefix,
                        const mcp_json *from, mcp_error *error);
void common_queries_free(common_queries *all, const mcp_allocator *alloc);

const common_query *common_queries_find(const common_queries *all, mcp_str name);
const common_parameter *common_query_parameter(const common_query *q, mcp_str name);
/* Whether these are values for its parameters, or for `format`, where it has no parameter of that
 * name: *text is what that says (table_text.h). Else `why` says what is wrong. */
bool common_query_takes(const common_query *q, const mcp_uri_pair *given, size_t n, bool *text,
                        char why[300]);

/* Registers a template for each that has parameters, named as common_template_name() does,
 * "query.QUERY" being WHAT. They are read with `read`. */
int common_queries_register(common_queries *all, mcp_server *server, const mcp_allocator *alloc,
                            const char *name, const char *prefix, mcp_read_fn *read, void *user,
                            mcp_error *error);
/* The entry of the list; none is made of a query that needs parameters. */
int common_query_reply(mcp_request *req, const common_query *q);

/* What a reader is told of one that does not work, which nothing that he could write mends: its
 * name, the database's words.
 */
#define COMMON_QUERY_BROKEN \
    "The saved query %.64s cannot be run: %.250s. The operator of this server has to correct it"

/* Says what is wrong with one. Returns MCP_EINVAL. */
int common_query_refuse(mcp_error *error, const char *name, const char *format, ...)
    MCP_PRINTF(3, 4);

#endif
