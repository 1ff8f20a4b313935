/* task_forward.c: forwards requests about tasks of other instances (mcp/sys/server.h, "tasks of
 * several instances").
 *
 * The id of a task names the instance where it runs. A request in a legacy session, which may be here, is
 * forwarded without its session: the other instance does not have it. So questions of a task reach only
 * the sessions at its own instance. Such a request may have been forwarded here because of its session. It
 * is forwarded once more then, and no further, because it has no session any more.
 */
#include "http/server/http_session.h"

#include <mcp/sys/server.h>

bool mcp__http_task_forward(mcp_http_connection *c, const mcp__message *message,
                            const mcp__http_session *session, mcp__http_refusal *why)
{
    mcp_http *http = c->http;
    mcp_task_instance instance = {.size = sizeof(instance)};
    if (message->kind != MCP__REQUEST || !mcp__method_is(message->method, MCP__ABOUT_TASK) ||
        (c->is_forwarded && !session) || c->instance_gone || !http->relays.send)
        return false;
    mcp_str id = mcp_json_string(mcp_json_get(message->params, "taskId"));
    int rc = id.ptr
                 ? mcp_server_get_task_instance(http->server, mcp__http_binding(c), id, &instance)
                 : MCP_ENOTFOUND;
    if (rc != MCP_OK || strcmp(instance.instance, http->fleet->instance) == 0) {
        *why = MCP__HTTP_NO_MEMORY;
        return rc == MCP_ENOMEM;
    }
    mcp__forward_head head = mcp__forward_head_of(c);
    if (session)
        head = (mcp__forward_head){.revision = mcp_str_from(session->revision->name)};
    mcp__forwarded_free(c);
    *why = mcp__relay_start(c, instance.instance, mcp_str_from(instance.address), &head);
    return true;
}
