/* result.c: the results of tools, prompts and templates as lines. */
#include "content.h"

#include <mcp/schema.h>

static void put_heading(lines *l, const char *text)
{
    lines_put(l, LOOK_HEADING, mcp_str_from(text));
    lines_end(l);
}

static void put_fit(lines *l, const mcp_json *tool, const mcp_json *structured)
{
    const mcp_json *schema = mcp_json_get(tool, "outputSchema");
    mcp_schema *compiled = NULL;
    mcp_error error = {0};
    if (!schema || mcp_schema_compile(NULL, schema, NULL, &compiled, &error) != MCP_OK)
        return;
    if (mcp_schema_validate(compiled, structured, &error) == MCP_OK)
        lines_put(l, LOOK_GOOD, MCP_STR("it fits the tool's schema"));
    else
        lines_print(l, LOOK_BAD, "it does not fit the tool's schema: %s", error.text);
    lines_end(l);
    mcp_schema_free(compiled);
}

static void put_tool_result(lines *l, const mcp_json *tool, const mcp_json *result)
{
    const mcp_json *structured = mcp_json_get(result, "structuredContent");
    mcp_json_iter it = {0};
    bool failed = mcp_json_bool(mcp_json_get(result, "isError"), false);
    put_heading(l, failed ? "The tool reported a failure" : "Result");
    for (const mcp_json *c; (c = mcp_json_next(mcp_json_get(result, "content"), &it, NULL));)
        content_block(l, c);
    if (!structured)
        return;
    put_heading(l, "Structured result");
    if (!rows_put(l, structured))
        json_put_value(l, structured, 0, 4);
    put_fit(l, tool, structured);
}

static void put_messages(lines *l, const mcp_json *result)
{
    mcp_json_iter it = {0};
    for (const mcp_json *m; (m = mcp_json_next(mcp_json_get(result, "messages"), &it, NULL));) {
        lines_put(l, LOOK_HEADING, mcp_json_string(mcp_json_get(m, "role")));
        lines_end(l);
        content_block(l, mcp_json_get(m, "content"));
    }
}

void result_put(lines *l, list_kind kind, const mcp_json *definition, const mcp_json *result)
{
    if (kind == LIST_TOOLS)
        put_tool_result(l, definition, result);
    else if (kind == LIST_PROMPTS)
        put_messages(l, result);
    else
        content_put(l, mcp_json_get(result, "contents"));
    if (l->is_open)
        lines_end(l);
}
