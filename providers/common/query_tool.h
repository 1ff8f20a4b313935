/* query_tool.h: the query tool of a database: its name, description and arguments. Each database
 * has its own tool, so that it can be named, allowed and left out.
 *
 * The schemas use only what every model service accepts: one type for each value, items for every
 * array, an object without unions at the top. So parameters are texts; for other types there is
 * another argument, which is JSON in a text.
 */
#ifndef COMMON_QUERY_TOOL_H
#define COMMON_QUERY_TOOL_H

#include <mcp/json.h>
#include <mcp/server.h>

#include "buffer.h"

enum { COMMON_QUERY_ROWS = 100 /* when `limit` is not given */, COMMON_QUERY_VALUES = 64 };

typedef struct common_query_tool {
    const char *given;    /* its name, as the options have it; NULL: query_MODULE_NAME */
    const char *module;   /* "sqlite": no two databases have the same module and name */
    const char *database; /* NAME */
    const char *prefix;   /* of its URIs */
    const char *product;  /* "SQLite" */
    const char *reads;    /* which statements read, for the description of `sql` */
    const char *places;   /* what stands for a parameter in a statement: "?1, ?2" */
    const char *json;     /* what `parameters_json` is, in JSON's words */
    const char *tables;   /* a query that tells the tables */
    int (*call)(mcp_request *req, const mcp_json *arguments, void *user);
    void *user;
} common_query_tool;

/* Registers it. MCP_OK; MCP_EEXIST, which error->text explains: another source has a tool of this
 * name; MCP_EINVAL (a name that no tool can have), MCP_ENOMEM. */
int common_query_tool_add(const common_query_tool *tool, mcp_server *server,
                          const mcp_allocator *alloc, mcp_error *error);

/* The values of a call: an array, or with `names` also an object; NULL: none. They live as long as
 * the arguments and *doc, which is the caller's to free and may be NULL. MCP_OK; MCP_EINVAL: `why`
 * says what is wrong with them; MCP_ENOMEM. */
int common_query_tool_values(const mcp_json *arguments, const mcp_allocator *alloc, bool names,
                             mcp_json_doc **doc, const mcp_json **ret, char why[200]);

/* How many rows are asked for, at most `most`. */
size_t common_query_tool_limit(const mcp_json *arguments, size_t most);

#endif
