/* post.c: sends a message, and handles an answer of any form.
 *
 * The receiver of an answer may close the exchange that is passing the answer on. Exchanges are
 * therefore only marked as MCP__GONE here, and freed before the loop blocks. The mark is checked
 * after each call of the channel.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>

#include "io/http_client/http_client.h"

enum {
    MOST_BODY = 64 * 1024, /* bytes of a refusal's body that are read */
    MOST_REFUSALS = 4,     /* attempts to authorize a message */
    GRACE_MS = 5000,       /* time-out for the body of a refusal */
};

/* ---- a request ------------------------------------------------------------------------------- */

static int add_header(const char *name, const char *value, void *arg)
{
    mcp_str n = mcp_str_from(name);

    return mcp__header_is_free(n) ? mcp__headers_add(arg, n, mcp_str_from(value)) : MCP_EINVAL;
}

static bool is_get(const mcp__client_exchange *e)
{
    return e->resuming || e->kind == MCP__REQUEST_STREAM;
}

static mcp__method method_of(const mcp__client_exchange *e)
{
    if (is_get(e))
        return MCP__GET;
    return e->kind == MCP__REQUEST_END ? MCP__DELETE : MCP__POST;
}

static const char *method_name(const mcp__client_exchange *e)
{
    static const char *const names[] = {
        [MCP__GET] = "GET", [MCP__POST] = "POST", [MCP__DELETE] = "DELETE"};

    return names[method_of(e)];
}

static const char *url_of(const mcp__client_exchange *e)
{
    const mcp_http_client *http = e->http;

    return http->endpoint && method_of(e) == MCP__POST ? http->endpoint : http->url;
}

static void add(mcp__headers *h, mcp_str name, mcp_str value, int *rc)
{
    if (*rc == MCP_OK)
        *rc = mcp__headers_add(h, name, value);
}

static void add_kind(const mcp__client_exchange *e, mcp__headers *h, int *rc)
{
    mcp_str version = mcp_str_from(mcp_client_version_header(e->http->pump.client));
    mcp_str last = mcp__sse_last_id(&e->sse);

    if (method_of(e) == MCP__POST) {
        add(h, MCP_STR("Content-Type"), MCP_STR("application/json"), rc);
        add(h, MCP_STR("Accept"), MCP_STR("application/json, text/event-stream"), rc);
        return;
    }
    if (version.len && e->http->mode == MCP__STREAMABLE)
        add(h, MCP_STR("MCP-Protocol-Version"), version, rc);
    if (is_get(e))
        add(h, MCP_STR("Accept"), MCP_STR("text/event-stream"), rc);
    if (is_get(e) && last.len)
        add(h, MCP_STR("Last-Event-ID"), last, rc);
}

static int add_secret(mcp_str name, mcp_str value, void *arg)
{
    return mcp__headers_add(arg, name, value);
}

static int put_headers(mcp__client_exchange *e, mcp__headers *h, mcp_error *error)
{
    mcp_http_client *http = e->http;
    int rc = mcp__headers_append(h, &http->headers);

    add_kind(e, h, &rc);
    e->session = 0;
    if (!e->modern && !e->handshake && http->session.len && http->mode == MCP__STREAMABLE) {
        add(h, MCP_STR("Mcp-Session-Id"), mcp__buf_view(&http->session), &rc);
        e->session = http->n_sessions;
    }
    if (rc == MCP_OK && method_of(e) == MCP__POST)
        rc = mcp__headers_append(h, &e->headers);
    if (rc == MCP_OK && http->options.request_headers)
        rc = http->options.request_headers(method_name(e), url_of(e), add_header, h,
                                           http->options.user);
    if (rc >= 0 && http->options.oauth)
        rc = mcp__oauth_put(http->options.oauth, method_name(e), url_of(e), add_secret, h,
                            &e->authorized, error);
    return rc;
}

static uint64_t timeout_of(const mcp__client_exchange *e)
{
    const mcp_http_client_options *o = &e->http->options;

    switch (e->kind) {
    case MCP__REQUEST_TAKE: return e->http->closing ? o->close_ms : o->answer_ms;
    case MCP__REQUEST_END: return o->close_ms;
    default: return 0; /* requests have time-outs in the client, and streams stay open */
    }
}

static const mcp__transfer_events events;

void mcp__client_exchange_start(mcp__client_exchange *e)
{
    mcp_http_client *http = e->http;
    mcp__headers h;
    mcp_error error = {0};

    mcp__headers_init(&h, http->allocator);
    mcp__buf_reset(&e->body, 0);
    e->heard = e->is_cut = false;
    e->due = INT64_MAX;
    if (e == http->stream && http->mode == MCP__HTTP_SSE_OPENING)
        e->due =
            mcp__http_now(http) + (int64_t)http->options.connect_ms; /* until the endpoint event */
    int rc = put_headers(e, &h, &error);
    mcp__transfer_request request = {.method = method_of(e),
                                     .url = url_of(e),
                                     .headers = &h,
                                     .body = mcp__buf_view(&e->message),
                                     .timeout_ms = timeout_of(e),
                                     .decode = !is_get(e),
                                     .once = e->once && !is_get(e),
                                     .target = &http->target,
                                     .jar = http->jar,
                                     .events = &events,
                                     .arg = e};
    if (rc == MCP_OK)
        rc = mcp__transfer_start(http->multi, &request, &e->transfer);
    mcp__headers_free(&h);
    if (rc < 0) {
        mcp__client_exchange_end(e, 0, error.text[0] ? error.text : mcp_error_text(rc));
        return;
    }
    e->stage = MCP__SENT;
    http->n_sent[e->kind]++;
}

/* ---- an answer ------------------------------------------------------------------------------- */

static void take_session(mcp__client_exchange *e, const mcp__answer *answer)
{
    mcp_http_client *http = e->http;

    if (!e->handshake || e->modern || e->resuming || answer->status / 100 != 2)
        return;
    mcp__buf_reset(&http->session, 0);
    mcp__buf_str(&http->session, mcp__buf_view(&answer->session));
    if (http->session.len)
        http->n_sessions++;
}

/* Returns how to interpret the answer. In HTTP+SSE, the answer to a POST only confirms the message;
 * the JSON-RPC response comes on the stream. */
static mcp__http_request_kind asked_now(const mcp__client_exchange *e)
{
    if (is_get(e))
        return MCP__REQUEST_STREAM;
    if (e->kind == MCP__REQUEST_ANSWER && e->http->mode != MCP__STREAMABLE)
        return MCP__REQUEST_TAKE;
    return e->kind;
}

static bool on_head(void *arg, const mcp__answer *answer)
{
    mcp__client_exchange *e = arg;

    e->verdict = mcp__answer_verdict(answer, asked_now(e));
    e->is_long = answer->length > 0 &&
                 (uint64_t)answer->length > mcp_channel_max_message(e->http->pump.channel);
    take_session(e, answer);
    if (e->http->options.oauth)
        mcp__oauth_heard(e->http->options.oauth, &e->authorized, answer->status,
                         mcp__buf_view(&answer->nonce));
    if (answer->status / 100 == 2) /* a stream lives longer than tokens */
        e->refusals = 0;
    if (e->verdict == MCP__VERDICT_EVENTS) {
        mcp__sse_restart(&e->sse);
        e->opened = true;
    }
    if (e->verdict != MCP__VERDICT_EVENTS && e->verdict != MCP__VERDICT_MESSAGE) {
        e->due = mcp__http_now(e->http) + GRACE_MS;
        mcp__http_note(e->http);
    }
    return true;
}

/* Appends to the body of the answer. Returns false if the limit is reached or memory runs out. */
static bool append(mcp__client_exchange *e, mcp_str bytes, size_t most)
{
    size_t n = MCP__MIN(bytes.len, most - e->body.len);

    mcp__buf_add(&e->body, bytes.ptr, n);
    return n == bytes.len && !e->body.failed;
}

static bool on_bytes(void *arg, mcp_str bytes)
{
    mcp__client_exchange *e = arg;
    size_t most;

    switch (e->verdict) {
    case MCP__VERDICT_EVENTS: return mcp__client_exchange_events(e, bytes);
    case MCP__VERDICT_MESSAGE:
        most = mcp_channel_max_message(e->http->pump.channel);
        e->is_cut = e->is_long || !append(e, bytes, most);
        return !e->is_cut;
    default: return append(e, bytes, MOST_BODY);
    }
}

/* The client ignores this if the body was the answer. */
static void end_of_body(mcp__client_exchange *e)
{
    mcp__client_exchange_end(e, 200,
                             e->is_cut ? "the answer is longer than a message may be"
                                       : "the body does not contain the answer to the request");
}

static void on_parsed(mcp__parse_job *job, void *exchange)
{
    mcp__client_exchange *e = exchange;
    mcp_http_client *http = e->http;

    e->parse = NULL;
    if (e->stage == MCP__GONE || !http->pump.channel)
        return;
    mcp__parse_receive(job, http->pump.channel, e->number);
    end_of_body(e);
    mcp__http_note(http);
}

static void receive_body(mcp__client_exchange *e, int rc, const char *text)
{
    mcp_http_client *http = e->http;
    mcp_str body = mcp__buf_view(&e->body);
    int64_t now = mcp__http_now(http);

    if (e->body.failed == MCP_ENOMEM) {
        mcp__client_exchange_end(e, 0, mcp_error_text(MCP_ENOMEM));
        return;
    }
    if (rc < 0 && !e->is_cut) {
        mcp__client_exchange_end(e, 0, text);
        return;
    }
    if (mcp__str_starts(body, MCP_STR("\xEF\xBB\xBF"))) /* may be ignored: RFC 8259, section 8.1 */
        body = mcp__str_sub(body, 3);
    char answer[40]; /* only the answer to the request can be the body; they have the same number */
    if (e->is_cut)
        body = (mcp_str){answer, (size_t)snprintf(answer, sizeof(answer), "{\"id\":%" PRIu64 "}",
                                                  (uint64_t)e->number)};
    if (!e->is_cut)
        e->parse =
            mcp__parse_elsewhere(http->pump.loop, http->pump.channel, body, &e->body, on_parsed, e);
    if (e->parse)
        return;
    if (e->is_cut)
        (void)mcp_channel_receive_oversized(http->pump.channel, e->number, body, (mcp_str){0}, now);
    else
        (void)mcp_channel_receive(http->pump.channel, e->number, body, now);
    end_of_body(e);
}

/* Sends the message again now, or when the authorization has ended. */
static void wait_for_authorization(mcp__client_exchange *e, int rc)
{
    e->stage = rc == MCP_PENDING ? MCP__PARKED : MCP__WAITING;
    e->due = rc == MCP_PENDING ? INT64_MAX : 0;
    mcp__http_note(e->http);
}

/* Lets the OAuth client handle the refusal. Otherwise *error says why it cannot, if it tried. */
static bool authorize(mcp__client_exchange *e, const mcp__answer *answer, mcp_error *error)
{
    mcp_oauth_client *oauth = e->http->options.oauth;

    if (!oauth || e->refusals > MOST_REFUSALS || e->kind == MCP__REQUEST_END)
        return false;
    int rc = mcp__oauth_refused(oauth, answer->status, mcp__buf_view(&answer->challenge),
                                mcp__buf_view(&answer->nonce), &e->authorized, error);
    if (rc >= 0)
        wait_for_authorization(e, rc);
    return rc >= 0;
}

/* Asks the program for authorization. Returns true if the program handles it. */
static bool challenged(mcp__client_exchange *e, const mcp__answer *answer)
{
    const mcp_http_client_options *o = &e->http->options;
    mcp_http_challenge challenge = {.size = sizeof(challenge),
                                    .status = answer->status,
                                    .method = method_name(e),
                                    .url = url_of(e),
                                    .www_authenticate = mcp__buf_view(&answer->challenge),
                                    .body = mcp__buf_view(&e->body),
                                    .attempt = e->refusals};

    if (!o->challenge || e->refusals > MOST_REFUSALS || e->kind == MCP__REQUEST_END)
        return false;
    int rc = o->challenge(&challenge, o->user);
    if (rc < 0 || e->stage == MCP__GONE)
        return e->stage == MCP__GONE;
    wait_for_authorization(e, rc);
    return true;
}

static void refused(mcp__client_exchange *e, const mcp__answer *answer)
{
    mcp_error error = {0};
    char text[sizeof(error.text)];

    mcp__answer_text(answer, text, sizeof(text));
    e->status = answer->status;
    if (e->verdict == MCP__VERDICT_CHALLENGED) {
        e->refusals++;
        if (authorize(e, answer, &error) || challenged(e, answer))
            return;
        if (error.text[0])
            snprintf(text, sizeof(text), "%s", error.text);
    }
    if (mcp__client_exchange_repeat(e, answer, text, sizeof(text)))
        return;
    if (is_get(e))
        mcp__client_exchange_stream_refused(e, text);
    else
        mcp__client_exchange_end(e, answer->status, text);
}

static void accepted(mcp__client_exchange *e)
{
    mcp_http_client *http = e->http;
    bool opens = e->initialized && http->mode == MCP__STREAMABLE && !http->closing;

    mcp__client_exchange_drop(e);
    if (opens)
        mcp__stream_open(http);
}

static void handle_answer(mcp__client_exchange *e, int rc, const char *text)
{
    const mcp__answer *answer = &e->transfer->answer;

    if (!e->transfer->head_reported) {
        if (is_get(e))
            mcp__client_exchange_stream_ended(e, rc, text);
        else
            mcp__client_exchange_end(e, 0, text);
        return;
    }
    switch (e->verdict) {
    case MCP__VERDICT_EVENTS: mcp__client_exchange_stream_ended(e, rc, text); break;
    case MCP__VERDICT_MESSAGE: receive_body(e, rc, text); break;
    case MCP__VERDICT_TAKEN: accepted(e); break;
    default: refused(e, answer); break;
    }
}

static void on_done(void *arg, int rc, const char *text)
{
    mcp__client_exchange *e = arg;
    mcp_http_client *http = e->http;

    if (e->stage == MCP__SENT) {
        e->stage = MCP__WAITING;
        e->due = INT64_MAX;
        http->n_sent[e->kind]--;
    }
    handle_answer(e, rc, text);
    e->transfer = NULL;
    mcp__pump_turn(&http->pump);
    mcp__http_note(http);
}

static const mcp__transfer_events events = {.head = on_head, .bytes = on_bytes, .done = on_done};

void mcp__client_exchange_stop(mcp__client_exchange *e)
{
    mcp__transfer *t = e->transfer;

    mcp__transfer_abandon(t);
    on_done(e, MCP_OK, NULL);
}

void mcp__client_exchange_authorized(mcp__client_exchange *e, int rc, const char *text)
{
    if (e->stage != MCP__PARKED)
        return;
    e->stage = MCP__WAITING;
    e->due = 0;
    if (!text)
        text = mcp_error_text(rc);
    if (rc < 0 && is_get(e))
        mcp__client_exchange_stream_refused(e, text);
    else if (rc < 0)
        mcp__client_exchange_end(e, e->status, text);
}

/* ---- life ------------------------------------------------------------------------------------ */

mcp__client_exchange *mcp__client_exchange_new(mcp_http_client *http, mcp__http_request_kind kind)
{
    mcp__client_exchange *e = mcp__zalloc(http->allocator, sizeof(*e));

    if (!e)
        return NULL;
    e->http = http;
    e->kind = kind;
    mcp__buf_init(&e->message, http->allocator, 0);
    mcp__buf_init(&e->body, http->allocator, 0);
    mcp__headers_init(&e->headers, http->allocator);
    mcp__sse_init(&e->sse, http->allocator, mcp_channel_max_message(http->pump.channel));
    mcp__list_append(&http->exchanges, &e->link);
    mcp__http_note(http);
    return e;
}

void mcp__client_exchange_free(mcp__client_exchange *e)
{
    const mcp_allocator *a = e->http->allocator;

    mcp__list_remove(&e->link);
    mcp__parse_leave(e->parse, NULL, 0);
    mcp__buf_free(&e->message);
    mcp__buf_free(&e->body);
    mcp__headers_free(&e->headers);
    mcp__sse_free(&e->sse);
    mcp__release(a, e);
}

void mcp__client_exchange_drop(mcp__client_exchange *e)
{
    mcp_http_client *http = e->http;

    if (e->stage == MCP__GONE)
        return;
    if (e->stage == MCP__SENT) {
        mcp__transfer_abandon(e->transfer);
        http->n_sent[e->kind]--;
    }
    if (http->stream == e)
        http->stream = NULL;
    if (e->reply)
        http->n_replies--;
    e->stage = MCP__GONE;
    mcp__http_note(http);
}

/* Keeps why a handshake failed. It may be the only true reason: servers that refuse it for any reason
 * often have no HTTP+SSE either. */
static void keep_refusal(const mcp__client_exchange *e, int status, const char *text)
{
    mcp_http_client *http = e->http;

    http->refused.status = status;
    snprintf(http->refused.text, sizeof(http->refused.text), "%s", text);
    mcp__buf_reset(&http->refused.body, 0);
    if (status / 100 != 2 && status != 404 && status != 405) /* with these, nothing is there */
        mcp__buf_str(&http->refused.body, mcp__buf_view(&e->body));
}

void mcp__client_exchange_end(mcp__client_exchange *e, int status, const char *text)
{
    mcp_http_client *http = e->http;
    bool is_reported = e->stage != MCP__GONE && http->pump.channel;
    mcp_exchange_end end = {
        .size = sizeof(end),
        .status = status,
        .text = text,
        .session = e->session != 0,
        .retry_after_ms = e->transfer ? e->transfer->answer.retry_ms : 0,
        .broke_off = e->broke_off,
    };

    if (status / 100 != 2)
        end.body = mcp__buf_view(&e->body);
    if (e->handshake && http->mode == MCP__STREAMABLE && e->transfer)
        keep_refusal(e, status, text);
    mcp__client_exchange_drop(e);
    if (is_reported && e->number)
        mcp_client_exchange_ended(http->pump.client, e->number, &end, mcp__http_now(http));
    mcp__pump_turn(&http->pump);
}
