/* tool.c: tools/call. */
#include "server/mirror.h"
#include "server/server.h"

int mcp__run_tool(mcp_request *req)
{
    mcp_str name = mcp__param_string(req, "name");
    if (!name.ptr)
        return MCP_EINVAL;
    mcp__entry *entry = mcp__registry_find(req->server, MCP__TOOLS, name);
    if (!entry)
        return mcp_reply_fail(req, MCP__INVALID_PARAMS, "Unknown tool: %.*s", mcp__shown(name),
                              name.ptr);
    const mcp_json *arguments = mcp_json_get(req->in.message.params, "arguments");
    if (arguments && !mcp_json_is(arguments, MCP_JSON_OBJECT))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: \"arguments\" must be an object");
    req->entry = mcp__entry_ref(entry);
    if (entry->mirror) {
        int rc = mcp__mirror_check_tool(req, entry->mirror, arguments);
        if (rc != MCP_OK)
            return rc;
    }
    return entry->call(req, arguments, entry->user);
}

void mcp__tool_tail(mcp_request *req, mcp__buf *b)
{
    if (req->structured.ptr) {
        mcp__buf_lit(b, ",\"structuredContent\":");
        mcp__buf_str(b, req->structured);
    }
    if (req->is_error)
        mcp__buf_lit(b, ",\"isError\":true");
}
