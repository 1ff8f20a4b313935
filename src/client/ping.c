/* ping.c: sends pings to a legacy server to check that it is alive (2025-11-25,
 * basic/utilities/ping). Since 2026-07-28 there are neither pings nor sessions.
 *
 * If the program did not run the transport for a while, an answer that arrived in time may be read
 * too late. The client then sends another ping before it considers the server lost.
 */
#include "client/client.h"

enum {
    LATE_MS = 1000
}; /* if a time-out is noticed later than this, the delay was in the program */

int64_t mcp__ping_due(const mcp_client *client)
{
    return client->ping.due;
}

void mcp__ping_begin(mcp_client *client)
{
    uint64_t ms = client->options.ping_ms;
    mcp__ping_end(client);
    if (ms && ms < INT64_MAX / 2 && !client->revision->modern)
        client->ping.due = mcp__client_now(client) + (int64_t)ms;
}

void mcp__ping_end(mcp_client *client)
{
    if (client->ping.id && client->channel)
        mcp__channel_forget(client->channel, client->ping.id);
    client->ping.id = 0;
    client->ping.due = client->ping.unanswered_since = INT64_MAX;
}

/* ---- the server is lost ---------------------------------------------------------------------- */

static void fail_sent(mcp_client *client, const mcp_error *error)
{
    while (!mcp__list_empty(&client->calls.sent)) {
        mcp__call *call = mcp__container(client->calls.sent.next, mcp__call, link);
        mcp__channel_forget(client->channel, call->id);
        mcp__client_give_up(client, call->id, NULL);
        mcp__call_finish(call, MCP_ECLOSED, NULL, error);
    }
}

static void on_lost(mcp_client *client)
{
    uint64_t ms = client->options.ping_timeout_ms;
    mcp_error error;
    mcp__fail(&error, MCP_ECLOSED, 0, "the server did not answer a ping within %llu.%03u s",
              (unsigned long long)(ms / 1000), (unsigned)(ms % 1000));
    mcp__ping_end(client);
    mcp__watch_forget(client);
    client->state = MCP__CLIENT_FAILED; /* so that no call begins and nothing more is sent */
    client->start.rc = MCP_ECLOSED;
    client->start.error = error;
    fail_sent(client, &error);
    mcp__client_fail_waiting(client, MCP_ECLOSED, NULL, &error);
    mcp__subscriptions_report(client, MCP_SUBSCRIPTION_LOST, &error);
    if (client->options.lost)
        client->options.lost(client, error.text, client->options.user);
}

/* ---- sending -------------------------------------------------------------------------------- */

static void schedule_ping(mcp_client *client, uint64_t ms)
{
    client->ping.due = mcp__client_now(client) + (int64_t)ms;
}

static void on_unanswered(mcp_client *client)
{
    int64_t silent_ms = mcp__client_now(client) - client->ping.unanswered_since;
    int64_t limit = (int64_t)client->options.ping_timeout_ms;
    bool is_late = mcp__client_now(client) - client->ping.sent_at > limit + LATE_MS;
    if (is_late || client->calls.suspended) { /* the server may wait for a user's answer */
        client->ping.unanswered_since = INT64_MAX;
        schedule_ping(client, client->calls.suspended ? client->options.ping_ms : 0);
    } else if (silent_ms >= limit) {
        on_lost(client);
    } else {
        schedule_ping(client, MCP__MIN(client->options.ping_ms, (uint64_t)(limit - silent_ms)));
    }
}

static void on_ping(mcp_channel *channel, int rc, const mcp_json *result, void *user)
{
    mcp_client *client = user;
    const mcp_exchange_end *end = client->failure.end;
    int64_t id = client->ping.id;
    (void)channel, (void)result;
    client->ping.id = 0;
    if (client->state != MCP__CLIENT_READY)
        return;
    if (rc == MCP_ETIMEOUT && client->connection.transport.exchanges)
        client->connection.transport.abandon(client->channel, (mcp_exchange)id,
                                             client->channel->options.user);
    if (end && end->status == 404 && end->session) {
        mcp__client_renew(client);
    } else if (rc == MCP_ETIMEOUT || rc == MCP_EIO || rc == MCP_ECLOSED || rc == MCP_EACCESS) {
        on_unanswered(client);
    } else { /* an error is an answer, too */
        client->ping.unanswered_since = INT64_MAX;
        schedule_ping(client, client->options.ping_ms);
    }
}

void mcp__ping_tick(mcp_client *client)
{
    int64_t now = mcp__client_now(client);
    if (client->ping.due > now)
        return;
    const mcp__sending s = {.revision = client->revision,
                            .method = MCP_STR("ping"),
                            .timeout_ms = client->options.ping_timeout_ms};
    client->ping.due = INT64_MAX;
    client->ping.sent_at = now;
    client->ping.unanswered_since = MCP__MIN(client->ping.unanswered_since, now);
    if (mcp__client_send(client, &s, MCP_STR("{}"), on_ping, client, &client->ping.id) != MCP_OK)
        schedule_ping(client, client->options.ping_ms);
}
