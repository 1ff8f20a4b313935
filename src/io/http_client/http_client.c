/* http_client.c: the HTTP transport of one client.
 *
 * Streamable HTTP has no connection that could be lost: while a server is unreachable, only the
 * calls made at that time fail. With HTTP+SSE of 2024-11-05, the end of the event stream ends the
 * connection.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "io/http_client/http_client.h"

enum {
    MOST_REPLIES = 256, /* answers that the server has not accepted yet */
};

/* ---- time ------------------------------------------------------------------------------------ */

static void on_timer(uv_timer_t *timer)
{
    mcp__http_note(timer->data);
}

static int64_t earliest(const mcp_http_client *http)
{
    int64_t due = INT64_MAX;

    for (mcp__link *l = http->exchanges.next; l != &http->exchanges; l = l->next) {
        const mcp__client_exchange *e = mcp__container(l, mcp__client_exchange, link);
        /* A deadline in the past belongs to an exchange that waits for others to end. */
        if (e->due > mcp__http_now(http))
            due = MCP__MIN(due, e->due);
    }
    return due;
}

static void arm(mcp_http_client *http)
{
    int64_t due = earliest(http);

    if (!http->timer_open)
        return;
    if (due == INT64_MAX)
        uv_timer_stop(&http->timer);
    else
        uv_timer_start(&http->timer, on_timer, (uint64_t)(due - mcp__http_now(http)), 0);
}

uint64_t mcp__http_delay(const mcp_http_client *http, int64_t retry, unsigned failures)
{
    uint64_t ms = retry >= 0 ? (uint64_t)retry : http->options.retry_ms;
    uint64_t most = MCP__MAX(http->options.max_retry_ms, ms);
    unsigned char random = 0;

    if (!failures)
        return ms;
    /* The delay is random, so that the clients of a restarted server do not all reconnect at the
     * same time. */
    (void)uv_random(NULL, NULL, &random, sizeof(random), 0, NULL);
    uint64_t longer = MCP__MAX(ms, (uint64_t)1) << MCP__MIN(failures - 1, 16u);
    return MCP__MIN(longer, most) + MCP__MIN(longer, most) * random / 1024;
}

/* ---- deferred work --------------------------------------------------------------------------- */

/* Returns whether an exchange may start now. Requests are limited separately from notifications and
 * answers, because the server may need an answer before it can answer a request. */
static bool may_start(const mcp_http_client *http, const mcp__client_exchange *e)
{
    if (e->stage != MCP__WAITING || e->due > mcp__http_now(http))
        return false;
    if (e->kind == MCP__REQUEST_STREAM || e->kind == MCP__REQUEST_END)
        return true;
    return http->mode != MCP__HTTP_SSE_OPENING &&
           http->n_sent[e->kind] < http->options.max_exchanges;
}

static void look_at(mcp_http_client *http, mcp__client_exchange *e)
{
    if (may_start(http, e))
        mcp__client_exchange_start(e);
    else if (e->stage == MCP__SENT && e->due <= mcp__http_now(http))
        mcp__client_exchange_stop(e);
    else if (e == http->stream && e->stage == MCP__WAITING && http->mode == MCP__HTTP_OVER)
        mcp__client_exchange_drop(e);
}

static void sweep(mcp_http_client *http)
{
    mcp__multi_flush(http->multi); /* libcurl may still read the message of a dropped exchange */
    for (mcp__link *l = http->exchanges.next, *next; l != &http->exchanges; l = next) {
        mcp__client_exchange *e = mcp__container(l, mcp__client_exchange, link);
        next = l->next;
        if (e->stage == MCP__GONE)
            mcp__client_exchange_free(e);
    }
}

/* Handles all exchanges before the loop blocks, including those that are added meanwhile. */
static void settle(void *arg)
{
    mcp_http_client *http = arg;

    if (http->starved)
        mcp__http_disconnect(http, "there was no memory to send a message");
    for (mcp__link *l = http->exchanges.next; l != &http->exchanges; l = l->next)
        look_at(http, mcp__container(l, mcp__client_exchange, link));
    sweep(http);
    arm(http);
}

void mcp__http_note(mcp_http_client *http)
{
    mcp__pump_note(&http->pump);
}

/* ---- calls from the channel ------------------------------------------------------------------ */

static void forget_session(mcp_http_client *http)
{
    mcp__buf_reset(&http->session, 0);
    if (http->stream && http->mode == MCP__STREAMABLE)
        mcp__client_exchange_drop(http->stream);
}

static int copy_message(mcp__client_exchange *e, mcp_str message, mcp_client *client)
{
    mcp_str name, value;
    int rc = MCP_OK;

    mcp__buf_str(&e->message, message);
    for (size_t i = 0; rc == MCP_OK && mcp_client_header(client, i, &name, &value); i++)
        rc = mcp__headers_add(&e->headers, name, value);
    return e->message.failed ? e->message.failed : rc;
}

static void note_reply(mcp__client_exchange *e)
{
    e->reply = true;
    e->http->n_replies++;
}

/* Returns whether to discard an answer to a request of the server, because too many are pending. */
static bool is_too_much(const mcp_http_client *http, const mcp_client_output *out)
{
    return out->kind == MCP_OUTPUT_RESPONSE && http->n_replies >= MOST_REPLIES;
}

/* Returns whether the program does not wait for the message: a notification, an answer, a ping, or
 * the stream of subscriptions, which the client opens again and again. */
static bool is_background(const mcp_client_output *out)
{
    return out->kind != MCP_OUTPUT_REQUEST || mcp_str_eq(out->method, MCP_STR("ping")) ||
           mcp_str_eq(out->method, MCP_STR("subscriptions/listen"));
}

static void send_message(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    mcp_http_client *http = user;
    mcp_client *client = http->pump.client;
    mcp_client_output out = *mcp_client_sending(client);
    bool is_request = out.kind == MCP_OUTPUT_REQUEST;

    (void)channel;
    if (is_too_much(http, &out))
        return;
    if (out.handshake)
        forget_session(http);
    mcp__client_exchange *e =
        mcp__client_exchange_new(http, is_request ? MCP__REQUEST_ANSWER : MCP__REQUEST_TAKE);
    if (!e || copy_message(e, message, client) < 0) {
        if (e)
            mcp__client_exchange_drop(e);
        http->starved = true;
        mcp__http_note(http);
        return;
    }
    if (out.kind == MCP_OUTPUT_RESPONSE)
        note_reply(e);
    e->number = is_request ? exchange : 0;
    e->authorized.background = is_background(&out);
    e->own_pause = is_request && is_background(&out);
    uint64_t ms = is_request ? out.timeout_ms : http->options.answer_ms;
    e->expires = ms && ms < INT64_MAX / 2 ? mcp__http_now(http) + (int64_t)ms : INT64_MAX;
    e->modern = out.modern;
    e->once = out.once;
    e->handshake = out.handshake;
    e->initialized = out.kind == MCP_OUTPUT_NOTIFICATION &&
                     mcp_str_eq(out.method, MCP_STR("notifications/initialized"));
}

static void abandon(mcp_channel *channel, mcp_exchange exchange, void *user)
{
    mcp_http_client *http = user;

    (void)channel;
    for (mcp__link *l = http->exchanges.next; exchange && l != &http->exchanges; l = l->next) {
        mcp__client_exchange *e = mcp__container(l, mcp__client_exchange, link);
        if (e->number == exchange)
            mcp__client_exchange_drop(e);
    }
}

static bool fall_back(mcp_channel *channel, void *user)
{
    mcp_http_client *http = user;

    (void)channel;
    if (http->options.no_http_sse || http->mode != MCP__STREAMABLE || http->stream)
        return false;
    http->mode = MCP__HTTP_SSE_OPENING;
    mcp__stream_open(http);
    if (!http->stream)
        http->mode = MCP__STREAMABLE;
    return http->stream != NULL;
}

static void wake(mcp_channel *channel, void *user)
{
    mcp_http_client *http = user;

    (void)channel;
    mcp__pump_wake(&http->pump);
}

static int step(uint64_t ms, void *user)
{
    mcp_http_client *http = user;

    return mcp__pump_step(&http->pump, ms);
}

/* ---- closing --------------------------------------------------------------------------------- */

static void drop_all(mcp_http_client *http)
{
    for (mcp__link *l = http->exchanges.next; l != &http->exchanges; l = l->next)
        mcp__client_exchange_drop(mcp__container(l, mcp__client_exchange, link));
}

void mcp__http_disconnect(mcp_http_client *http, const char *why)
{
    char text[256];

    if (http->mode == MCP__HTTP_OVER)
        return;
    snprintf(text, sizeof(text), "%s", why);
    http->mode = MCP__HTTP_OVER;
    http->starved = false;
    drop_all(http);
    mcp__pump_end(&http->pump, text);
    if (http->options.on_end && !http->closing)
        http->options.on_end(text, http->options.user);
}

/* Returns whether servers that have only HTTP+SSE answer a POST with this status (2026-07-28,
 * basic/transports/streamable-http, "Backward Compatibility"). */
static bool is_of_older_servers(int status)
{
    return status == 400 || status == 404 || status == 405;
}

void mcp__http_fall_back_failed(mcp_http_client *http, int status, const char *why)
{
    char text[320];
    bool older = why || is_of_older_servers(http->refused.status);

    snprintf(text, sizeof(text), "%s%s",
             older ? "neither Streamable HTTP nor HTTP+SSE is available there: " : "",
             why ? why : http->refused.text);
    if (!why)
        status = http->refused.status;
    http->mode = MCP__STREAMABLE;
    /* Exchanges added during the loop are skipped. */
    mcp__link *last = http->exchanges.prev;
    for (mcp__link *l = http->exchanges.next;; l = l->next) {
        mcp__client_exchange *e = mcp__container(l, mcp__client_exchange, link);
        if (l != &http->exchanges && e->stage == MCP__WAITING) {
            if (!why)
                mcp__buf_str(&e->body, mcp__buf_view(&http->refused.body));
            mcp__client_exchange_end(e, status, text);
        }
        if (l == last || l == &http->exchanges)
            break;
    }
}

static void authorized(void *arg, int rc, const char *text)
{
    mcp_http_client *http = arg;

    for (mcp__link *l = http->exchanges.next; l != &http->exchanges; l = l->next)
        mcp__client_exchange_authorized(mcp__container(l, mcp__client_exchange, link), rc, text);
    mcp__http_note(http);
}

void mcp_http_client_authorized(mcp_http_client *http, int rc)
{
    if (http)
        authorized(http, rc, NULL);
}

static bool is_last_message(const mcp__client_exchange *e)
{
    return e->kind == MCP__REQUEST_TAKE && (e->stage == MCP__WAITING || e->stage == MCP__SENT);
}

static bool runs_until_gone(mcp_http_client *http, bool (*is_wanted)(const mcp__client_exchange *e))
{
    for (mcp__link *l = http->exchanges.next; l != &http->exchanges; l = l->next) {
        if (is_wanted(mcp__container(l, mcp__client_exchange, link))) {
            mcp__loop_turn(http->pump.loop);
            return true;
        }
    }
    return false;
}

/* Sends the pending notifications and answers to the server, for at most close_ms. Drops all
 * requests. */
static void send_last_messages(mcp_http_client *http)
{
    int64_t due = mcp__http_now(http) + (int64_t)http->options.close_ms;

    uv_run(&http->pump.loop->uv, UV_RUN_NOWAIT); /* the channel may have messages to send */
    if (http->mode == MCP__HTTP_OVER || !http->pump.channel)
        return;
    for (mcp__link *l = http->exchanges.next; l != &http->exchanges; l = l->next) {
        mcp__client_exchange *e = mcp__container(l, mcp__client_exchange, link);
        bool carries = e == http->stream && http->mode == MCP__HTTP_SSE_OPEN;
        if (!is_last_message(e) && !carries)
            mcp__client_exchange_drop(e);
        else if (e->stage == MCP__SENT && !carries)
            e->due = MCP__MIN(e->due, due);
    }
    mcp__http_note(http);
    while (mcp__http_now(http) < due && runs_until_gone(http, is_last_message))
        ;
}

static bool is_session_end(const mcp__client_exchange *e)
{
    return e->kind == MCP__REQUEST_END;
}

/* Ends the session (2025-11-25, basic/transports, "Session Management"). */
static void end_session(mcp_http_client *http)
{
    if (!http->session.len || http->mode != MCP__STREAMABLE || !http->pump.channel)
        return;
    if (!mcp__client_exchange_new(http, MCP__REQUEST_END))
        return;
    /* Only this exchange is left. Its time-out is close_ms. */
    while (runs_until_gone(http, is_session_end))
        ;
}

static void release(mcp_http_client *http)
{
    const mcp_allocator *a = http->allocator;

    if (http->multi) {
        sweep(http);
        mcp__multi_unref(http->multi);
    }
    mcp__headers_free(&http->headers);
    mcp__buf_free(&http->session);
    mcp__buf_free(&http->refused.body);
    mcp__release(a, http->url);
    mcp__release(a, http->unix_socket);
    mcp__release(a, http->proxy);
    mcp__release(a, http->ca_file);
    mcp__release(a, http->endpoint);
    mcp__release(a, http);
}

static void release_if_closed(void *arg)
{
    mcp_http_client *http = arg;

    if (http->freed && !http->timer_open && !http->pump.handles)
        release(http);
}

static void timer_closed(uv_handle_t *handle)
{
    mcp_http_client *http = handle->data;

    http->timer_open = false;
    release_if_closed(http);
}

static void close_handles(mcp_http_client *http)
{
    mcp__oauth_part(&http->authorized);
    mcp__jar_unref(http->jar);
    http->jar = NULL;
    if (http->timer_open)
        uv_close((uv_handle_t *)&http->timer, timer_closed);
    mcp__pump_close(&http->pump);
}

static void http_free(mcp_http_client *http)
{
    close_handles(http);
    while (http->timer_open || http->pump.handles)
        uv_run(&http->pump.loop->uv, UV_RUN_NOWAIT);
    release(http);
}

void mcp_http_client_free(mcp_http_client *http)
{
    if (!http)
        return;
    http->closing = http->freed = true;
    drop_all(http);
    mcp__http_disconnect(http, "the connection was closed");
    http->pump.closed = release_if_closed;
    close_handles(http);
}

void mcp_http_client_close(mcp_http_client *http)
{
    if (!http)
        return;
    http->closing = true;
    send_last_messages(http);
    drop_all(http);
    end_session(http);
    mcp__http_disconnect(http, "the connection was closed");
    http_free(http);
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* Joins the OAuth client, and declares the extensions that it uses. */
static int join_oauth(mcp_http_client *http, mcp_error *error)
{
    mcp_oauth_client *oauth = http->options.oauth;
    size_t n;

    if (!oauth)
        return MCP_OK;
    if (strcmp(mcp__oauth_server(oauth), http->url) != 0)
        return mcp__fail(error, MCP_EINVAL, 0, "the OAuth client is for another URL");
    const char *const *ids = mcp__oauth_extensions(oauth, &n);
    for (size_t i = 0; i < n; i++) {
        if (mcp_client_declare_extension(http->pump.client, ids[i]) < 0)
            return mcp__fail(error, MCP_ENOMEM, 0, "no memory for an HTTP client");
    }
    http->authorized = (mcp__oauth_transport){.wake = authorized, .arg = http};
    mcp__oauth_join(oauth, &http->authorized);
    return MCP_OK;
}

static int open_client(mcp_http_client *http, const char *principal, mcp_error *error)
{
    int rc = mcp__multi_get(http->pump.loop, &http->multi, error);

    if (rc < 0)
        return rc;
    mcp__multi_ref(http->multi);
    http->jar = mcp__jar_new(http->multi);
    uv_timer_init(&http->pump.loop->uv, &http->timer);
    http->timer.data = http;
    http->timer_open = true;
    if (!http->jar)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for an HTTP client");
    return mcp__pump_connect(&http->pump,
                             MCP_OPTIONS(mcp_channel_options, .send = send_message, .wake = wake,
                                         .user = http, .principal = principal),
                             MCP_OPTIONS(mcp_transport_options, .exchanges = true,
                                         .abandon = abandon, .fall_back = fall_back, .step = step),
                             error);
}

int mcp_http_client_connect(mcp_loop *loop, mcp_client *client,
                            const mcp_http_client_options *options, mcp_http_client **ret,
                            mcp_error *error)
{
    mcp__no_error(error);
    mcp_http_client_options given;
    if (!loop || !client || !ret)
        return mcp__fail(error, MCP_EINVAL, 0, "a loop, a client and ret are needed");
    int rc = MCP__TAKE(&given, options, mcp_http_client_options, error);
    if (rc != MCP_OK)
        return rc;
    mcp_http_client *http = mcp__zalloc(&loop->allocator, sizeof(*http));
    if (!http)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for an HTTP client");
    http->allocator = &loop->allocator;
    mcp__pump_init(&http->pump, loop, client, settle, http);
    mcp__list_init(&http->exchanges);
    mcp__buf_init(&http->session, http->allocator, 0);
    mcp__buf_init(&http->refused.body, http->allocator, 0);
    mcp__headers_init(&http->headers, http->allocator);
    http->options = given;
    mcp__ignore_sigpipe();
    rc = mcp__http_client_read_options(http, error);
    if (rc == MCP_OK)
        rc = join_oauth(http, error);
    if (rc == MCP_OK)
        rc = open_client(http, http->options.principal, error);
    mcp__http_client_forget_texts(&http->options);
    if (rc < 0) {
        mcp_http_client_free(
            http); /* later: this may be a callback of another client of the loop */
        return rc;
    }
    *ret = http;
    return MCP_OK;
}
