/* query_tool.h: the query tool of a database: its name, description and arguments. Each database
 * has its own tool, so that it can be named, allowed and disabled separately.
 *
 * The schemas use only what every model API accepts: one type for each value, "items" for every
 * array, and at the top an object without unions. So parameters are strings; for other types there
 * is a second argument, a string that contains JSON.
 */
#ifndef COMMON_QUERY_TOOL_H
#define COMMON_QUERY_TOOL_H

#include <mcp/json.h>
#include <mcp/server.h>

#include "buffer.h"
#include "mounting.h"

enum {
    COMMON_QUERY_ROWS = 100, /* default of `limit` */
    COMMON_QUERY_VALUES = 64,
    COMMON_QUERY_TOKENS = 10000, /* default of the option answer_tokens */
};

typedef struct common_query_tool {
    const char *given;    /* name from the options; NULL means query_MODULE_NAME */
    const char *module;   /* for example "sqlite"; no two databases have the same module and name */
    const char *database; /* NAME */
    const char *prefix;   /* prefix of its URIs */
    const char *product;  /* for example "SQLite" */
    const char *reads;    /* which statements are read-only, for the description of `sql` */
    const char *places;   /* how a statement refers to parameters, for example "?1, ?2" */
    const char *json;     /* a description of `parameters_json` */
    const char *tables;   /* the table that lists the tables */
    bool explain;         /* it can show the plan of a query instead of its rows */
    int (*call)(mcp_request *req, const mcp_json *arguments, void *user);
    void *user;
} common_query_tool;

/* Offers the tool. Returns MCP_OK, MCP_EEXIST if another source has a tool with this name,
 * MCP_EINVAL for an invalid name, or MCP_ENOMEM. error->text has the details. */
int common_query_tool_add(const common_query_tool *tool, common_offer offer,
                          const mcp_allocator *alloc, mcp_error *error);

/* Gets the parameters of a call: an array or, with `names`, also an object; NULL means none. They
 * live as long as the arguments and *doc, which may be NULL and is freed by the caller. Returns
 * MCP_OK, MCP_ENOMEM, or MCP_EINVAL with the reason in `why`. */
int common_query_tool_values(const mcp_json *arguments, const mcp_allocator *alloc, bool names,
                             mcp_json_doc **doc, const mcp_json **ret, char why[200]);

/* Returns the requested number of rows, at most `most`. */
size_t common_query_tool_limit(const mcp_json *arguments, size_t most);
/* Returns the number of rows to skip. */
size_t common_query_tool_offset(const mcp_json *arguments);
/* Returns how many bytes of rows an answer has: those of max_tokens of the call or of `tokens`, the
 * option of the source. Most clients get the rows twice, as text and as structured content. */
size_t common_query_tool_bytes(const mcp_request *req, const mcp_json *arguments, size_t tokens);
/* Returns the largest size of a value in a row of n columns, so that one row fits. */
size_t common_query_tool_value(size_t bytes, size_t n, size_t most);

/* Returns how many bytes a value has as JSON, of which at most `longest` are written. */
size_t common_query_tool_size(mcp_str value, size_t longest);

/* Replies with the rows in `w`, an object that is still open. With `more` rows an item of its own says
 * how to go on: a row may contain a text that looks like a hint. Returns what a handler returns, or
 * MCP_ELIMIT if the writer has reached its limit. */
int common_query_tool_reply(mcp_request *req, const mcp_allocator *alloc, const mcp_json *arguments,
                            mcp_json_writer *w, size_t rows, bool more);

/* Replies with a plan, whose rows are in `w`, an object that is still open, and a sentence about it in an
 * item of its own. Returns the same. */
int common_query_tool_explained(mcp_request *req, mcp_json_writer *w, const char *sentence);

/* Returns whether the call asks for a plan. */
bool common_query_tool_explains(const mcp_json *arguments);

#endif
