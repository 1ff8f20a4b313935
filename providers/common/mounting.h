/* mounting.h: functions that all providers use to mount a source: for its name and prefix, its
 * templates, its options and error texts.
 */
#ifndef COMMON_MOUNTING_H
#define COMMON_MOUNTING_H

#include <mcp/module.h>

#include "buffer.h"

enum { COMMON_NAME_MAX = 64 };

/* Writes "WHAT: WHY" to *error, which may be NULL. If both are too long, WHAT is truncated. */
void common_explain(mcp_error *error, int code, const char *what, const char *why);
/* Calls common_explain() and returns `code`. It is inline so that readers and static analyzers see
 * the return value. */
static inline int common_refuse(mcp_error *error, int code, const char *what, const char *why)
{
    common_explain(error, code, what, why);
    return code;
}

/* Copies the source's name and makes the prefix of its URIs, SCHEME://NAME/ with the encoded name.
 * The caller frees both, even after a failure. `source` is for the error text. Returns MCP_OK,
 * MCP_EINVAL or MCP_ENOMEM. */
int common_set_name(const mcp_allocator *alloc, const char *scheme, mcp_str name,
                    const char *source, char **ret_name, char **ret_prefix, mcp_error *error);

/* ---- what a source offers -------------------------------------------------------------------- */

/* The receiver of the templates and tools of a source: a server that serves them or, if `to` is
 * set, a description of the source. */
typedef struct common_offer {
    mcp_server *server;
    const mcp_description *to;
} common_offer;

/* These do the same as mcp_server_add_template() and mcp_server_add_tool(), but add to the
 * receiver. */
int common_offer_template(common_offer offer, const mcp_resource_template *tmpl, void *user,
                          mcp_error *error);
int common_offer_tool(common_offer offer, const mcp_tool *tool, void *user, mcp_error *error);

/* ---- templates ------------------------------------------------------------------------------- */

/* Appends MODULE.NAME.WHAT and NUL. No two sources have the same module and name, so no two
 * templates have the same name. `prefix` is that of the source, MODULE://NAME/. Returns
 * false if memory is exhausted. */
bool common_template_name(common_buffer *to, const char *prefix, const char *name,
                          const char *what);

typedef struct common_template {
    const char *rest; /* appended to the prefix */
    const char *name; /* WHAT in common_template_name() */
    const char *title, *description, *mime;
} common_template;

typedef struct common_templates {
    const common_template *template;
    size_t n;
    mcp_read_fn *read;
    mcp_complete_fn *complete;
} common_templates;

int common_templates_add(const common_templates *all, common_offer offer,
                         const mcp_allocator *alloc, const char *name, const char *prefix,
                         void *user, mcp_error *error);

/* ---- options --------------------------------------------------------------------------------- */

/* Returns the value of a numeric option, or 0 if the option is absent. */
uint64_t common_number(const mcp_json *options, const char *key);
/* Copies the value of a string option to `room`, NUL-terminated. *ret is NULL if the option is
 * absent. Returns MCP_OK, or MCP_EINVAL if the string is too long or contains NUL. */
int common_text(const mcp_json *options, const char *key, char *room, size_t size, const char **ret,
                mcp_error *error);

/* Defaults for databases. */
enum {
    COMMON_MAX_ROWS = 1000,
    COMMON_MAX_BYTES = 1 << 20,
    COMMON_MAX_READ = 10 << 20,
    COMMON_TIMEOUT_MS = 5000,
    COMMON_TOOL_NAME = 128,
};

/* The schema of a database's options. `more` has the provider's own members with a comma at the
 * end, `queries` is COMMON_QUERIES_SCHEMA(). */
#define COMMON_DATABASE_SCHEMA(more, queries)                                                   \
    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"                      \
    "\"max_rows\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100000,"                      \
    "\"description\":\"Maximum rows in one result; default 1000\"},"                            \
    "\"max_bytes\":{\"type\":\"integer\",\"minimum\":1024,\"maximum\":67108864,"                \
    "\"description\":\"Maximum bytes of rows in one result; default 1048576\"},"                \
    "\"max_read\":{\"type\":\"integer\",\"minimum\":1024,\"maximum\":67108864,"                 \
    "\"description\":\"Maximum bytes of a value in one read; default 10485760\"},"              \
    "\"timeout_ms\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":3600000,"                   \
    "\"description\":\"Maximum time for one request; default 5000\"}," more                     \
    "\"answer_tokens\":{\"type\":\"integer\",\"minimum\":100,\"maximum\":100000,"               \
    "\"description\":\"Maximum tokens (of four bytes) in an answer of the tool; default "       \
    "10000\"},"                                                                                 \
    "\"explain\":{\"type\":\"boolean\",\"description\":\"The tool shows the plan of a query "   \
    "instead of its rows, with the argument explain; default false\"},"                         \
    "\"sample_rows\":{\"type\":\"boolean\",\"description\":\"The page of a table has three of " \
    "its rows; default false\"},"                                                               \
    "\"tool\":{\"type\":\"string\",\"maxLength\":128,"                                          \
    "\"description\":\"Name of the tool for queries; default query_MODULE_NAME; empty: "        \
    "none\"}," queries "}}"

#endif
