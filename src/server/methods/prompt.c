/* prompt.c: prompts/get. */
#include "server/core/access.h"
#include "server/core/decide.h"
#include "server/methods/methods.h"

static int get(mcp_request *req, const mcp__entry *entry, const mcp_json *arguments)
{
    int rc = mcp__decide(req, MCP_OPERATION_READ, MCP_ITEM_PROMPT, entry->key);
    return rc == MCP_OK ? entry->get(req, arguments, entry->user) : rc;
}

static int check_arguments(mcp_request *req, const mcp__entry *entry, const mcp_json *arguments)
{
    if (arguments && !mcp_json_is(arguments, MCP_JSON_OBJECT))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: \"arguments\" must be an object");
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(arguments, &it, &key)) != NULL;) {
        if (!mcp_json_is(v, MCP_JSON_STRING))
            return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                                  "Invalid params: argument \"%.*s\" must be a string",
                                  mcp__shown(key), key.ptr);
    }
    for (size_t i = 0; i < entry->n_arguments; i++) {
        if (entry->required[i] && !mcp_json_get(arguments, entry->arguments[i]))
            return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                                  "Invalid params: argument \"%s\" is required",
                                  entry->arguments[i]);
    }
    return MCP_OK;
}

int mcp__run_prompt(mcp_request *req)
{
    mcp_str name = mcp__param_string(req, "name");
    if (!name.ptr)
        return MCP_EINVAL;
    mcp__entry *entry = mcp__registry_find(req->server, MCP__PROMPTS, name);
    const mcp__mount *mount = entry ? NULL : mcp__mount_named(req->server, MCP__PROMPTS, name);
    if (mount)
        return mcp__run_mounted(req, mount, MCP_ITEM_PROMPT, name);
    if (!entry || !mcp__may_see(req->server, mcp_request_identity(req), entry))
        return mcp__refuse_named(req, MCP_ITEM_PROMPT, name, entry != NULL);
    req->target.entry = mcp__entry_ref(entry);
    const mcp_json *arguments = mcp_json_get(req->in.message.params, "arguments");
    int rc = check_arguments(req, entry, arguments);
    return rc == MCP_OK ? get(req, entry, arguments) : rc;
}

int mcp__again_prompt(mcp_request *req)
{
    if (!req->target.entry)
        return mcp__run_prompt(req);
    return get(req, req->target.entry, mcp_json_get(req->in.message.params, "arguments"));
}

void mcp__prompt_tail(mcp_request *req, mcp__buf *b)
{
    if (!req->reply.description.ptr)
        return;
    mcp__buf_lit(b, ",\"description\":");
    mcp__json_put_str(b, req->reply.description);
}
