/* events.c: reads event streams, and resumes them after they end.
 *
 *   stream of a POST, modern    If it ends without the answer, the exchange ends. The client then
 *                               decides whether to repeat the call.
 *   stream of a POST, legacy    It is resumed by GET with Last-Event-ID, if it had an id, until the
 *                               answer arrives (2025-11-25, basic/transports, "Resumability and
 *                               Redelivery").
 *   GET, legacy                 It is opened again, with Last-Event-ID if it had an id.
 *   GET of HTTP+SSE             When it ends, the connection ends.
 *
 * A server may end a stream on purpose so that the client polls it (`retry`). This looks like a
 * stream that broke off. Only an event between two ends shows that the server is working.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "io/http_client/http_client.h"

enum {
    MOST_FAILURES = 5,           /* failures in a row after which a stream of a POST is given up */
    LEAST_DELAY_MS = 20,         /* least delay, even if the server allows a shorter one */
    LEAST_STREAM_DELAY_MS = 100, /* the same for a stream that is reopened without limit */
    ANSWERED_MS = 500,           /* time for the server to end the stream after the answer */
};

static bool is_session_stream(const mcp__client_exchange *e)
{
    return e == e->http->stream;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void receive(mcp__client_exchange *e, const mcp__sse_event *event)
{
    mcp_http_client *http = e->http;
    mcp_exchange number = is_session_stream(e) ? 0 : e->number;
    int64_t now = mcp__http_now(http);

    if (event->is_cut)
        (void)mcp_channel_receive_oversized(http->pump.channel, number, event->data, (mcp_str){0},
                                            now);
    else
        (void)mcp_channel_receive(http->pump.channel, number, event->data, now);
    if (e->stage == MCP__GONE || e->answered || !number)
        return;
    e->answered = !mcp_client_awaits(http->pump.client, number);
    if (!e->answered)
        return;
    e->due = now + ANSWERED_MS;
    mcp__http_note(http);
}

/* Sets the endpoint for messages (2024-11-05). It must have the same origin as the stream, or a
 * server could direct the client's messages and tokens to another server. */
static void take_endpoint(mcp__client_exchange *e, mcp_str reference)
{
    mcp_http_client *http = e->http;
    char *url = NULL;
    int rc = mcp__multi_resolve(http->multi, http->url, reference, &url);

    if (rc == MCP_OK && mcp__url_check(mcp_str_from(url), NULL) == MCP_OK &&
        mcp__url_same_origin(mcp_str_from(http->url), mcp_str_from(url))) {
        http->endpoint = url;
        http->mode = MCP__HTTP_SSE_OPEN;
        e->due = INT64_MAX;
        mcp__http_note(http);
        return;
    }
    mcp__release(http->allocator, url);
    mcp__client_exchange_drop(e);
    mcp__http_fall_back_failed(http, 200, "the server names an endpoint of another origin");
}

static void take_event(mcp__client_exchange *e, const mcp__sse_event *event)
{
    bool is_message = event->type.len == 0 || mcp_str_eq(event->type, MCP_STR("message"));
    bool opening = is_session_stream(e) && e->http->mode == MCP__HTTP_SSE_OPENING;

    e->heard = true;
    e->failures = 0;
    if (opening && mcp_str_eq(event->type, MCP_STR("endpoint")) && !event->is_cut)
        take_endpoint(e, event->data);
    else if (!opening && is_message && event->data.len)
        receive(e, event);
}

/* Lets the server wait if the streams of the client have brought too much. */
static void slow_down(const mcp__client_exchange *e, size_t bytes, size_t events)
{
    int64_t now = mcp__http_now(e->http);
    uint64_t ms = mcp__flow_take(&e->http->flow, now, bytes, events);

    if (ms)
        mcp__transfer_hold(e->transfer, now + (int64_t)ms);
}

bool mcp__client_exchange_events(mcp__client_exchange *e, mcp_str bytes)
{
    mcp__sse_event event;
    size_t len = bytes.len, events = 0;
    int rc;

    while ((rc = mcp__sse_next(&e->sse, &bytes, &event)) == MCP_PENDING) {
        take_event(e, &event);
        if (e->stage == MCP__GONE)
            return false;
        mcp__transfer_took_event(e->transfer);
        events++;
    }
    slow_down(e, len, events);
    mcp__pump_turn(&e->http->pump);
    return rc == MCP_OK && e->stage != MCP__GONE;
}

/* ---- the end of a stream --------------------------------------------------------------------- */

static void retry_later(mcp__client_exchange *e)
{
    uint64_t ms = mcp__http_delay(e->http, e->sse.retry, e->failures);
    uint64_t least = is_session_stream(e) ? LEAST_STREAM_DELAY_MS : LEAST_DELAY_MS;

    if (e->transfer)
        least = MCP__MAX(least, e->transfer->answer.retry_ms);
    e->stage = MCP__WAITING;
    e->due = mcp__http_now(e->http) + (int64_t)MCP__MAX(ms, least);
    mcp__http_note(e->http);
}

static const char *ending(int rc, const char *text, const char *fallback)
{
    return rc < 0 && text ? text : fallback;
}

/* Handles the end of a stream that a POST began. */
static void call_stream_ended(mcp__client_exchange *e, int rc, const char *text)
{
    bool resumable = !e->modern && mcp__sse_last_id(&e->sse).len &&
                     e->session == (e->http->session.len ? e->http->n_sessions : 0);

    if (!e->heard)
        e->failures++;
    if (e->answered) {
        mcp__client_exchange_drop(e);
    } else if (!resumable || e->failures > MOST_FAILURES) {
        e->broke_off = true;
        mcp__client_exchange_end(e, 200,
                                 ending(rc, text, "the event stream ended before the answer"));
    } else {
        e->resuming = true;
        retry_later(e);
    }
}

static void connection_ended(mcp__client_exchange *e, int rc, const char *text)
{
    mcp_http_client *http = e->http;

    mcp__client_exchange_drop(e);
    if (http->mode == MCP__HTTP_SSE_OPENING)
        mcp__http_fall_back_failed(http, 0, ending(rc, text, "no endpoint was named in time"));
    else
        mcp__http_disconnect(http, ending(rc, text, "the server ended the event stream"));
}

void mcp__client_exchange_stream_ended(mcp__client_exchange *e, int rc, const char *text)
{
    if (!is_session_stream(e)) {
        call_stream_ended(e, rc, text);
        return;
    }
    if (e->http->mode != MCP__STREAMABLE) {
        connection_ended(e, rc, text);
        return;
    }
    if (!e->heard)
        e->failures++;
    retry_later(e);
}

/* ---- no stream ------------------------------------------------------------------------------- */

/* Returns whether a status is temporary. */
static bool is_temporary(int status)
{
    return status == 408 || status == 425 || status == 429 || status >= 500;
}

/* Returns whether the next attempt may have another outcome. The client is authorized again when
 * another request needs it, or when the authorization server is back. */
static bool may_succeed_later(const mcp__client_exchange *e)
{
    return is_temporary(e->status) || (e->status == 401 && e->http->options.oauth);
}

/* Handles a refused GET for unsolicited messages. 405 means that the server has no such stream;
 * some servers answer 404 instead. If the stream was open before, 404 means that the session has
 * ended, and some servers answer 400. This has to be reported, because the client may send no other
 * request for a long time. */
static void session_stream_refused(mcp__client_exchange *e, const char *text)
{
    mcp_http_client *http = e->http;
    bool gone = e->opened && (e->status == 404 || e->status == 400);
    mcp_exchange_end end = {
        .size = sizeof(end), .status = e->status, .text = text, .session = gone && e->session != 0};

    mcp__client_exchange_drop(e);
    if (end.status >= 400)
        mcp_client_exchange_ended(http->pump.client, 0, &end, mcp__http_now(http));
    mcp__pump_turn(&http->pump);
}

void mcp__client_exchange_stream_refused(mcp__client_exchange *e, const char *text)
{
    mcp_http_client *http = e->http;

    e->failures++;
    if (is_session_stream(e) && http->mode != MCP__STREAMABLE) {
        int status = e->status;
        bool none = e->verdict != MCP__VERDICT_CHALLENGED && !is_temporary(status);
        mcp__client_exchange_drop(e);
        mcp__http_fall_back_failed(http, status, none ? NULL : text);
    } else if (is_session_stream(e) && may_succeed_later(e)) {
        e->refusals = 0;
        retry_later(e);
    } else if (!is_session_stream(e) && is_temporary(e->status) && e->failures <= MOST_FAILURES) {
        retry_later(e);
    } else if (is_session_stream(e)) {
        session_stream_refused(e, text);
    } else {
        mcp__client_exchange_end(e, e->status == 405 ? 200 : e->status, text);
    }
}

void mcp__stream_open(mcp_http_client *http)
{
    if (http->stream || http->closing || (http->mode == MCP__STREAMABLE && http->options.no_stream))
        return;
    http->stream = mcp__client_exchange_new(http, MCP__REQUEST_STREAM);
    if (http->stream) {
        http->stream->sse.retry = -1;
        http->stream->authorized.background = http->mode == MCP__STREAMABLE;
    }
}
