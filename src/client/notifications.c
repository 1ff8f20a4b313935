/* notifications.c: handles the notifications of a server and calls the program's callbacks.
 *
 * A notification is accepted on any exchange. A false notification causes at most one unneeded
 * request. A malformed one is reported and dropped.
 */
#include "client/client.h"

#include "protocol/shape.h"

/* Returns whether the notification has the shape of its revision, and reports it if not. Before the
 * server has answered the handshake, it is that of the revision which the client proposes. */
static bool is_well_formed(mcp_client *client, const mcp__message *message)
{
    const mcp__revision *r = client->revision ? client->revision : client->start.trying;
    mcp_error why = {0}, what = {0};
    if (!r || mcp__shape_params(r, message->method, message->params, &why) == MCP_OK)
        return true;
    mcp__fail(&what, MCP_EPROTOCOL, 0, "a notification is malformed and ignored: %.*s: %s",
              (int)message->method.len, message->method.ptr, why.text);
    if (client->options.misbehaved)
        client->options.misbehaved(client, what.text, client->options.user);
    return false;
}

static mcp__call *call_of_token(mcp_client *client, const mcp_json *token)
{
    int64_t handle = mcp_json_is(token, MCP_JSON_INT) ? mcp_json_int(token, 0) : 0;
    mcp__call *call = handle > 0 ? mcp__call_find(client, (mcp_call_id)handle) : NULL;
    bool is_running = call && (call->phase == MCP__CALL_SENT || call->task);
    return is_running && call->options.progress ? call : NULL;
}

/* Restarts the time-out after a progress notification, within the limit for the whole call. */
static void extend_timeout(const mcp__call *call)
{
    const mcp_client *client = call->client;
    uint64_t ms = call->options.timeout_ms, limit = call->options.max_timeout_ms;
    int64_t now = mcp__client_now(client);
    if (ms >= INT64_MAX / 2 || client->calls.suspended || call->phase != MCP__CALL_SENT)
        return;
    int64_t at = now + (int64_t)ms;
    if (limit < INT64_MAX / 2)
        at = MCP__MIN(at, call->began_at + (int64_t)limit);
    mcp__channel_set_timeout(client->channel, call->id, at);
}

static void on_progress(mcp_client *client, const mcp_json *params)
{
    mcp__call *call = call_of_token(client, mcp_json_get(params, "progressToken"));
    const mcp_json *value = mcp_json_get(params, "progress"),
                   *total = mcp_json_get(params, "total");
    double progress = mcp_json_number(value, -1);
    if (!call || call->cancelled || mcp_json_number(value, 1) != progress)
        return;
    if (call->progressed && !(progress > call->progress))
        return;
    call->progressed = true;
    call->progress = progress;
    extend_timeout(call);
    bool has_total = mcp_json_number(total, -1) == mcp_json_number(total, 1);
    const mcp_progress p = {.size = sizeof(p),
                            .progress = progress,
                            .has_total = has_total,
                            .total = mcp_json_number(total, 0),
                            .message = mcp_json_string(mcp_json_get(params, "message"))};
    call->options.progress(client, call->handle, &p, call->options.user);
}

static void on_message(mcp_client *client, const mcp_json *params)
{
    if (client->options.log)
        client->options.log(client, mcp_json_string(mcp_json_get(params, "level")),
                            mcp_json_string(mcp_json_get(params, "logger")),
                            mcp_json_get(params, "data"), client->options.user);
}

static void on_changed(mcp_client *client, mcp_change change, mcp_str uri)
{
    mcp__cache_changed(client, change, uri);
    mcp__subscriptions_changed(client, change, uri);
}

static void on_resource(mcp_client *client, const mcp_json *params)
{
    const mcp_json *uri = mcp_json_get(params, "uri");
    if (mcp_json_is(uri, MCP_JSON_STRING))
        on_changed(client, MCP_CHANGE_RESOURCE, mcp_json_string(uri));
}

static void on_resources(mcp_client *client, const mcp_json *params)
{
    (void)params;
    on_changed(client, MCP_CHANGE_RESOURCES, (mcp_str){0});
}

static void on_prompts(mcp_client *client, const mcp_json *params)
{
    (void)params;
    on_changed(client, MCP_CHANGE_PROMPTS, (mcp_str){0});
}

static void on_tools(mcp_client *client, const mcp_json *params)
{
    (void)params;
    on_changed(client, MCP_CHANGE_TOOLS, (mcp_str){0});
}

static void on_complete(mcp_client *client, const mcp_json *params)
{
    mcp_str id = mcp_json_string(mcp_json_get(params, "elicitationId"));
    if (id.len && !client->revision->modern)
        mcp__round_completed(client, id);
}

/* A legacy server withdraws a question; a modern one ends a subscription. */
static void on_cancelled(mcp_client *client, const mcp_json *params)
{
    const mcp_json *id = mcp_json_get(params, "requestId");
    if (client->revision->modern) {
        mcp__listen_cancelled(client, params);
        return;
    }
    mcp__incoming *in = id && mcp__is_id(id) ? mcp__channel_find(client->channel, id) : NULL;
    if (in)
        mcp__client_question_cancelled(in);
}

void mcp__client_notified(mcp_channel *channel, const mcp__message *message)
{
    static const struct {
        const char *method;
        void (*take)(mcp_client *client, const mcp_json *params);
    } methods[] = {
        {"notifications/progress", on_progress},
        {"notifications/message", on_message},
        {"notifications/resources/updated", on_resource},
        {"notifications/resources/list_changed", on_resources},
        {"notifications/prompts/list_changed", on_prompts},
        {"notifications/tools/list_changed", on_tools},
        {"notifications/subscriptions/acknowledged", mcp__listen_acknowledged},
        {"notifications/elicitation/complete", on_complete},
        {"notifications/cancelled", on_cancelled},
    };
    mcp_client *client = channel->state;
    if (!is_well_formed(client, message))
        return;
    client->connection.noted =
        mcp__call_of_message(client, client->connection.heard, message->params);
    if (client->revision && client->state != MCP__CLIENT_LOST) {
        for (size_t i = 0; i < MCP__COUNT(methods); i++) {
            if (mcp_str_eq(message->method, mcp_str_from(methods[i].method)))
                methods[i].take(client, message->params);
        }
    }
    if (client->options.notification)
        client->options.notification(client, message->method, message->params,
                                     client->options.user);
}
