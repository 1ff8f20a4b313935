/* tools.c: the resources once more, as tools, for hosts that know only tools.
 *
 * They answer in text that a model reads easily: a line per entry as a folder's listing has it,
 * and the contents of a file as they are. What goes wrong is told in words that say what to do
 * next. read_resource is here, what goes through all files in tools_list.c and tools_search.c.
 */
#define _GNU_SOURCE
#include "tools.h"

#include <stdio.h>

static const char read_schema[] =
    "{\"type\":\"object\",\"required\":[\"uri\"],\"properties\":{"
    "\"uri\":{\"type\":\"string\",\"description\":\"A file:// URI, as list_resources gives it\"},"
    "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"First byte (from 0)\"},"
    "\"length\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Number of bytes\"},"
    "\"line\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"First line (from 1)\"},"
    "\"lines\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Number of lines\"},"
    "\"tail\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Only the last lines, this "
    "many\"},"
    "\"depth\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":64,\"description\":\"Of a folder: "
    "levels to list\"},"
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000,\"description\":\"Of a "
    "folder: "
    "entries at the most\"}},\"additionalProperties\":false}";

/* ---- read_resource --------------------------------------------------------------------------- */

typedef struct numbers {
    const mcp_json *arguments;
    char text[32];
} numbers;

/* A number of the arguments as a query would spell it; what is none becomes a text that is
 * refused. */
static bool get_argument(const char *name, mcp_str *text, void *user)
{
    numbers *n = user;
    const mcp_json *value = mcp_json_get(n->arguments, name);
    if (!value || mcp_json_is(value, MCP_JSON_NULL))
        return false;
    if (mcp_json_is(value, MCP_JSON_STRING)) {
        *text = mcp_json_string(value);
        return true;
    }
    int64_t number = mcp_json_int(value, -1);
    text->len = (size_t)snprintf(n->text, sizeof n->text, "%lld", (long long)number);
    text->ptr = n->text;
    return true;
}

static int call_read(mcp_request *req, const mcp_json *arguments, void *user)
{
    files_part part;
    char why[256];
    numbers n = {.arguments = arguments};
    mcp_str uri = mcp_json_string(mcp_json_get(arguments, "uri"));
    if (!uri.len)
        return mcp_reply_tool_error(req, "uri is missing: give a file:// URI, as list_resources "
                                         "shows them.");
    if (memchr(uri.ptr, '?', uri.len))
        return mcp_reply_tool_error(req, "Leave the query out of uri: offset, length, line, lines, "
                                         "tail, depth and limit are arguments.");
    if (files_part_make(user, get_argument, &n, &part, why) != MCP_OK)
        return mcp_reply_tool_error(req, "%s", why);
    return files_read(req, user, uri, part, true);
}

/* ---- registration ---------------------------------------------------------------------------- */

#define READ_ONLY                                                                      \
    .read_only = MCP_HINT_YES, .destructive = MCP_HINT_NO, .idempotent = MCP_HINT_YES, \
    .open_world = MCP_HINT_NO

static const mcp_tool tools[] = {
    {.size = sizeof(mcp_tool),
     .name = "list_resources",
     .title = "List files and folders",
     .description = "Lists the files and folders that can be read, one line each: kind, size in "
                    "bytes, file:// URI, separated by tabs. Read them with read_resource.",
     .input_schema = files_list_input,
     .output_schema = files_list_output,
     READ_ONLY,
     .call = files_call_list},
    {.size = sizeof(mcp_tool),
     .name = "find_resources",
     .title = "Find files and folders by name",
     .description = "Finds files and folders by a part of their name or path, or by a glob. One "
                    "line each, as list_resources has them.",
     .input_schema = files_find_input,
     .output_schema = files_list_output,
     READ_ONLY,
     .call = files_call_find},
    {.size = sizeof(mcp_tool),
     .name = "search_resources",
     .title = "Search in files",
     .description = "Searches the contents of text files, line by line, for a text or a regular "
                    "expression. Each file's URI, then its lines: number, colon, text. Read around "
                    "a line with read_resource: line and lines.",
     .input_schema = files_search_input,
     .output_schema = files_search_output,
     READ_ONLY,
     .call = files_call_search},
    {.size = sizeof(mcp_tool),
     .name = "read_resource",
     .title = "Read a file or folder",
     .description = "Reads a file, or lists a folder, by its file:// URI. Of a large file read a "
                    "part: offset and length (bytes), line and lines, or tail (last lines).",
     .input_schema = read_schema,
     READ_ONLY,
     .call = call_read},
};

int files_add_tools(mcp_server *server, files *f, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < sizeof tools / sizeof *tools; i++)
        rc = mcp_server_add_tool(server, &tools[i], f, error);
    return rc;
}
