/* dispatch.c: the table of methods, and the way from a request to its handler. */
#include "server/core/build.h"
#include "server/core/method.h"
#include "server/input/input.h"
#include "server/methods/methods.h"
#include "server/tasks/tasks.h"

static const mcp__method methods[] = {
    {.name = "resources/read",
     .revisions = MCP__IN_ALL,
     .needs = MCP__RESOURCES,
     .array = "contents",
     .cacheable = true,
     .run = mcp__run_read,
     .again = mcp__again_read},
    {.name = "tools/call",
     .revisions = MCP__IN_ALL,
     .needs = MCP__TOOLS,
     .array = "content",
     .slow = true,
     .limited = true,
     .rate = MCP__RATE_CALLS,
     .run = mcp__run_tool,
     .again = mcp__again_tool,
     .check = mcp__tool_check,
     .tail = mcp__tool_tail},
    {.name = "resources/list",
     .revisions = MCP__IN_ALL,
     .needs = MCP__RESOURCES,
     .array = "resources",
     .cacheable = true,
     .is_list = true,
     .run = mcp__run_list,
     .resume = mcp__resume_list,
     .tail = mcp__list_tail},
    {.name = "resources/templates/list",
     .revisions = MCP__IN_ALL,
     .needs = MCP__RESOURCES,
     .array = "resourceTemplates",
     .cacheable = true,
     .is_list = true,
     .run = mcp__run_list,
     .tail = mcp__list_tail},
    {.name = "tools/list",
     .revisions = MCP__IN_ALL,
     .needs = MCP__TOOLS,
     .array = "tools",
     .cacheable = true,
     .is_list = true,
     .run = mcp__run_list,
     .tail = mcp__list_tail},
    {.name = "prompts/list",
     .revisions = MCP__IN_ALL,
     .needs = MCP__PROMPTS,
     .array = "prompts",
     .cacheable = true,
     .is_list = true,
     .run = mcp__run_list,
     .tail = mcp__list_tail},
    {.name = "prompts/get",
     .revisions = MCP__IN_ALL,
     .needs = MCP__PROMPTS,
     .array = "messages",
     .run = mcp__run_prompt,
     .again = mcp__again_prompt,
     .tail = mcp__prompt_tail},
    {.name = "completion/complete",
     .revisions = MCP__IN_ALL,
     .needs = MCP__NEEDS_COMPLETION,
     .within = "{\"completion\":{", /* the tail closes the inner one */
     .array = "values",
     .limited = true,
     .rate = MCP__RATE_COMPLETIONS,
     .run = mcp__run_complete,
     .tail = mcp__complete_tail},
    {.name = "tasks/get",
     .revisions = MCP__IN_TASKS,
     .needs = MCP__NEEDS_TASKS,
     .limited = true,
     .rate = MCP__RATE_POLLS,
     .run = mcp__run_task_get,
     .tail = mcp__task_tail},
    {.name = "tasks/update",
     .revisions = MCP__IN_MODERN,
     .needs = MCP__NEEDS_TASKS,
     .run = mcp__run_task_update},
    {.name = "tasks/cancel",
     .revisions = MCP__IN_TASKS,
     .needs = MCP__NEEDS_TASKS,
     .run = mcp__run_task_cancel,
     .tail = mcp__task_tail},
    {.name = "tasks/result",
     .revisions = MCP__IN_2025_11_25,
     .needs = MCP__NEEDS_TASKS,
     .limited = true,
     .rate = MCP__RATE_POLLS,
     .run = mcp__run_task_result,
     .tail = mcp__task_tail},
    {.name = "tasks/list",
     .revisions = MCP__IN_2025_11_25,
     .needs = MCP__NEEDS_TASKS,
     .limited = true,
     .rate = MCP__RATE_POLLS,
     .run = mcp__run_task_list,
     .tail = mcp__task_list_tail},
    {.name = "server/discover",
     .revisions = MCP__IN_MODERN,
     .needs = MCP__NEEDS_NOTHING,
     .cacheable = true,
     .is_list = true,
     .run = mcp__run_discover},
    {.name = "subscriptions/listen",
     .revisions = MCP__IN_MODERN,
     .needs = MCP__NEEDS_NOTHING,
     .run = mcp__run_listen},
    {.name = "initialize",
     .revisions = MCP__IN_LEGACY,
     .needs = MCP__NEEDS_NOTHING,
     .run = mcp__run_initialize},
    {.name = "ping",
     .revisions = MCP__IN_LEGACY,
     .needs = MCP__NEEDS_NOTHING,
     .run = mcp__run_ping},
    {.name = "logging/setLevel",
     .revisions = MCP__IN_LEGACY,
     .needs = MCP__NEEDS_LOGGING,
     .run = mcp__run_set_level},
    {.name = "resources/subscribe",
     .revisions = MCP__IN_LEGACY,
     .needs = MCP__NEEDS_SUBSCRIBE,
     .run = mcp__run_subscribe},
    {.name = "resources/unsubscribe",
     .revisions = MCP__IN_LEGACY,
     .needs = MCP__NEEDS_SUBSCRIBE,
     .run = mcp__run_unsubscribe},
};

static const mcp__method *find(mcp_str name)
{
    for (size_t i = 0; i < MCP__COUNT(methods); i++) {
        if (mcp_str_eq(name, mcp_str_from(methods[i].name)))
            return &methods[i];
    }
    return NULL;
}

static bool offered(const mcp_server *server, const mcp__method *method)
{
    switch (method->needs) {
    case MCP__NEEDS_NOTHING: return true;
    case MCP__NEEDS_SUBSCRIBE:
        return mcp__server_offers(server, MCP__RESOURCES) && !server->options.no_subscribe;
    case MCP__NEEDS_LOGGING: return server->options.logging;
    case MCP__NEEDS_TASKS: return server->tasks != NULL;
    case MCP__NEEDS_COMPLETION: return mcp__server_completes(server);
    default: return mcp__server_offers(server, (mcp__kind)method->needs);
    }
}

void mcp__dispatch(mcp_request *req)
{
    mcp_str name = req->in.message.method;
    const mcp__method *method = find(name);
    int outcome;
    if (method && (method->revisions & req->revision->bit) && offered(req->server, method)) {
        req->method = method;
        if (method->run != mcp__run_listen) /* which may last for ever */
            mcp__build_take(req);
        outcome = method->limited ? mcp__rate_take(req, method->rate) : MCP_OK;
        if (outcome == MCP_OK && method->again)
            outcome = mcp__input_open(req);
        if (outcome == MCP_OK)
            outcome = method->run(req);
    } else {
        outcome =
            mcp_reply_fail(req, MCP__METHOD_NOT_FOUND,
                           "Method not found: %.*s is not offered by this server in revision %s",
                           mcp__shown(name), name.ptr, req->revision->name);
    }
    mcp__request_finish(req, outcome);
}
