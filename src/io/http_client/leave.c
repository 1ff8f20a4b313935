/* leave.c: ends the session of a client in the background. The request belongs to the multi handle
 * of the loop, so it can outlive the client.
 */
#define _GNU_SOURCE
#include "io/http_client/http_client.h"

static bool stop_at_head(void *arg, const mcp__answer *answer)
{
    (void)arg, (void)answer;
    return false;
}

static void on_left(void *arg, int rc, const char *text)
{
    mcp_loop *loop = arg;

    (void)rc, (void)text;
    loop->leaving--;
}

/* Sends the DELETE of the session (2025-11-25, basic/transports, "Session Management"). */
static void end_session(mcp_http_client *http)
{
    static const mcp__transfer_events events = {.head = stop_at_head, .done = on_left};
    mcp_loop *loop = http->pump.loop;

    if (!http->session.len || http->mode != MCP__STREAMABLE || !http->pump.channel)
        return;
    mcp__client_exchange *e = mcp__client_exchange_new(http, MCP__REQUEST_END);
    if (!e)
        return;
    mcp__client_exchange_start(e);
    if (e->stage != MCP__SENT)
        return;
    e->transfer->events = &events;
    e->transfer->arg = loop;
    loop->leaving++;
    e->transfer = NULL;
    e->stage = MCP__WAITING; /* so that it is freed without its transfer */
    http->n_sent[e->kind]--;
}

void mcp_http_client_leave(mcp_http_client *http)
{
    if (!http)
        return;
    http->closing = true;
    end_session(http);
    mcp_http_client_free(http);
}
