/* send.c: sends one message, with the properties that the transport queries, and cancels requests.
 */
#include "client/client.h"

int mcp__client_send(mcp_client *client, const mcp__sending *s, mcp_str params, mcp__answer_fn *fn,
                     void *user, int64_t *id)
{
    mcp_channel *channel = client->channel;
    int64_t ours = 0;
    /* An exchange has the same number as its request's id. */
    mcp_exchange exchange =
        client->connection.transport.exchanges ? (mcp_exchange)channel->next_id + 1 : 0;
    uint64_t ms = s->timeout_ms == MCP_NO_TIMEOUT ? 0 : s->timeout_ms;
    mcp__sending sending = *s;
    sending.params = params;
    client->out.sending = &sending;
    int rc = mcp__channel_request(channel, exchange, s->method, params, ms, fn, user, &ours);
    client->out.sending = NULL;
    if (rc == MCP_OK && id)
        *id = ours;
    return rc;
}

int mcp__client_notify(mcp_client *client, mcp_str method, mcp_str params)
{
    const mcp__revision *r =
        client->state == MCP__CLIENT_STARTING ? client->start.trying : client->revision;
    const mcp__sending sending = {.revision = r, .method = method};
    client->out.sending = &sending;
    int rc = mcp__channel_notify(client->channel, 0, method, params);
    client->out.sending = NULL;
    return rc;
}

static void notify_cancelled(mcp_client *client, int64_t id, const char *reason)
{
    mcp__buf b = mcp__channel_take_buf(client->channel);
    mcp__buf_lit(&b, "{\"requestId\":");
    mcp__json_put_int(&b, id);
    if (reason) {
        mcp__buf_lit(&b, ",\"reason\":");
        mcp__json_put_str(&b, mcp_str_from(reason));
    }
    mcp__buf_char(&b, '}');
    if (!b.failed)
        mcp__client_notify(client, MCP_STR("notifications/cancelled"), mcp__buf_view(&b));
    mcp__channel_give_buf(client->channel, &b);
}

void mcp__client_give_up(mcp_client *client, int64_t id, const char *reason)
{
    mcp_channel *channel = client->channel;
    bool exchanges = client->connection.transport.exchanges;
    if (!channel || channel->closed)
        return;
    /* A modern server where each request has a stream of its own is not notified, because closing
     * the stream cancels the request (2026-07-28, basic/patterns/cancellation, "Transport-Specific
     * Cancellation"). */
    if (client->state == MCP__CLIENT_READY && !(exchanges && client->revision->modern))
        notify_cancelled(client, id, reason);
    if (exchanges)
        client->connection.transport.abandon(channel, (mcp_exchange)id, channel->options.user);
}
