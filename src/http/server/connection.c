/* connection.c: opens and closes a connection, ends its answers, and handles its time-outs.
 *
 * A connection has one timer, which is set for its earliest deadline and checked only when it
 * fires. A request that is answered immediately therefore never moves the timer.
 */
#include "http/server/http_session.h"

enum {
    INPUT_MAX = 4 << 20, /* limit of unparsed bytes, for a transport that ignores MCP_PENDING */
    LINGER_MS = 2000,
    PRESSED_MS = 5000, /* longest time-out of a peer while memory is nearly spent */
    LARGE_WRITE =
        16
        << 10, /* writes of this size are counted until the transport reports its pending output */
};

void mcp__http_set_phase(mcp_http_connection *c, mcp__http_phase phase)
{
    if (c->phase == MCP__HTTP_STREAMING && phase != MCP__HTTP_STREAMING)
        c->http->metrics.streams--;
    if (c->phase == MCP__HTTP_ASKING)
        mcp__http_login_cancel(c);
    c->phase = phase;
    c->since = c->http->now;
    c->starved = false;
    if (phase > MCP__HTTP_BODY)
        mcp__http_end_reading(c);
}

/* ---- answers --------------------------------------------------------------------------------- */

void mcp__http_write(mcp_http_connection *c, mcp_str bytes)
{
    if (c->phase == MCP__HTTP_CLOSED)
        return;
    c->wrote_at = c->http->now;
    c->bytes_out += bytes.len;
    c->http->metrics.bytes_out += bytes.len;
    if (bytes.len >= LARGE_WRITE) {
        c->burst += bytes.len;
        mcp__http_connection_charge(c);
    }
    c->writing = true;
    c->write(c, bytes, c->user);
    c->writing = false;
}

void mcp__http_connection_charge(mcp_http_connection *c)
{
    mcp__http_charge_set(c->http->budget, &c->charge,
                         c->head.bytes.cap + c->recent.header.len + c->body.cap + c->input.cap +
                             c->message + c->burst + c->pending);
}

static void log_request(const mcp_http_connection *c, int status, int code, int64_t duration)
{
    const mcp_http_options *o = &c->http->options;
    if (!o->log)
        return;
    char client[MCP__HTTP_IP_TEXT];
    mcp__http_client_text(c, client);
    mcp_http_record r = {
        .size = sizeof(r),
        .peer = c->peer_name ? c->peer_name : "",
        .principal = c->principal,
        .http_method = mcp_str_from(llhttp_method_name((llhttp_method_t)c->http_method)),
        .path = mcp__http_text(&c->head, c->head.path),
        .status = status,
        .method = mcp__method_of(c->method)->name,
        .code = code,
        .duration_ms = duration,
        .bytes_in = c->bytes_in,
        .bytes_out = c->bytes_out,
        .traceparent = mcp_str_from(c->traceparent),
        .client = client,
        .name = c->name ? mcp_str_from(c->name) : (mcp_str){0},
        .refused = c->login_result != MCP__HTTP_FINE,
        .reason = mcp_str_from(mcp__http_refusal_name((mcp__http_refusal)c->refusal)),
    };
    if (r.refused && c->denial && c->denial->denied) {
        if (c->denial->reason.len)
            r.reason = c->denial->reason;
        r.denied_issuer = c->denial->issuer;
        r.denied_key = c->denial->key;
        r.denied_principal = c->denial->principal;
    }
    o->log(&r, o->user);
}

/* Counts a request. Status 0 means that its answer was never begun. */
static void count(const mcp_http_connection *c, int status, int code, uint64_t us)
{
    enum { OK, ERROR, GONE };
    mcp__http_metrics *m = &c->http->metrics;
    bool streams =
        c->phase == MCP__HTTP_STREAMING && (c->stream_only || c->http_method == HTTP_GET);
    size_t bucket = 0;
    while (bucket < MCP__HTTP_BUCKETS && us > mcp_usage_bounds()[bucket])
        bucket++;
    m->answered[c->method][!status ? GONE : code || status >= 400 ? ERROR : OK]++;
    if (status)
        m->by_status[c->status_row]++;
    if (streams)
        return;
    m->duration[c->method][bucket]++;
    m->duration_sum[c->method] += us;
}

/* Counts and logs the end of a request. */
static void account(mcp_http_connection *c, int status, int code)
{
    bool partial = mcp__http_is_partial(c);
    int64_t duration = partial ? 0 : mcp__http_now(c->http) - c->began;
    int64_t us = partial ? 0 : mcp__http_now_us(c->http) - c->began_us;
    count(c, status, code, (uint64_t)MCP__MAX(us, 0));
    log_request(c, status, code, duration);
}

/* Counts and logs a request whose connection ends before its answer does. */
static void account_broken(mcp_http_connection *c)
{
    if (mcp__http_is_unanswered(c))
        account(c, 0, 0);
    else if (c->phase == MCP__HTTP_STREAMING)
        account(c, 200, 0);
}

void mcp__http_finish(mcp_http_connection *c, int status, int code)
{
    if (c->phase == MCP__HTTP_CLOSED)
        return;
    bool early = mcp__http_is_partial(c);
    mcp__relay_drop(c);
    if (c->ended && !c->input.len)
        c->keep_alive = false;
    account(c, status, code);
    if (c->client || c->in_account)
        mcp__http_uncount_request(c);
    if (c->session)
        mcp__http_session_detach(c);
    c->exchange = 0;
    c->message = 0;
    if (early) {
        c->body_span = (mcp_str){0};
        mcp__buf_reset(&c->body, 0);
        mcp__http_set_phase(c, MCP__HTTP_LINGERING);
        c->close(c, MCP_HTTP_SHUTDOWN, c->user);
        return;
    }
    mcp__http_set_phase(c, MCP__HTTP_IDLE);
    if (!c->keep_alive || (c->http->draining && !c->http->linger_ms)) {
        mcp__http_close(c, MCP_HTTP_CLOSE);
    } else {
        mcp__http_schedule_input(c);
    }
    mcp__http_connection_charge(c);
    if (c->phase != MCP__HTTP_CLOSED)
        mcp__http_connection_arm(c);
}

void mcp__http_schedule_input(mcp_http_connection *c)
{
    if (mcp__http_has_next(c) && !c->congested)
        mcp__http_wake(c->http, &c->timer);
}

void mcp__http_close(mcp_http_connection *c, mcp_http_close how)
{
    if (c->phase == MCP__HTTP_CLOSED)
        return;
    mcp__relay_drop(c);
    if (c->session)
        mcp__http_session_detach(c);
    account_broken(c);
    mcp__http_set_phase(c, MCP__HTTP_CLOSED);
    mcp__http_timer_stop(&c->http->timers, &c->timer);
    c->close(c, how, c->user);
    /* The timer limits how long the peer may take to read the last bytes. */
    if (how != MCP_HTTP_ABORT)
        mcp__http_connection_arm(c);
}

void mcp__http_close_ended(mcp_http_connection *c)
{
    if (c->ended && c->phase <= MCP__HTTP_BODY && !mcp__http_has_request(c))
        mcp__http_close(c, MCP_HTTP_CLOSE);
}

void mcp__http_trim_stream(mcp_http_connection *c)
{
    mcp__buf_free(&c->body);
    mcp__rs_recent_clear(&c->recent, c->http->allocator);
    if (c->http->options.log) { /* the log names the request when the stream ends */
        mcp__http_head_shrink(&c->head);
        return;
    }
    mcp__buf_free(&c->head.bytes);
    mcp__http_head_reset(&c->head);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Returns the time-out `ms`, shortened while memory is nearly spent. */
static uint64_t time_limit(const mcp_http_connection *c, uint64_t ms)
{
    return mcp__http_pressed(c->http) ? MCP__MIN(ms, (uint64_t)PRESSED_MS) : ms;
}

/* Returns the deadline for the rest of a request: for the peer to send it or, if reading has
 * stopped, for the next check of the memory. */
static int64_t rest_deadline(const mcp_http_connection *c, uint64_t ms)
{
    int64_t due = mcp__http_after(c->since, time_limit(c, ms));
    return c->starved ? MCP__MIN(due, c->check_at) : due;
}

/* Returns whether the peer has closed its sending direction, and nobody else needs the answer. */
static bool is_abandoned(const mcp_http_connection *c)
{
    return c->ended && !c->session && !mcp__relay_of(c);
}

static int64_t unanswered_deadline(const mcp_http_connection *c)
{
    if (is_abandoned(c))
        return mcp__http_after(c->ended_at, MCP__HTTP_HALF_CLOSED_MS);
    return c->phase == MCP__HTTP_HELD ? c->check_at
                                      : mcp__http_after(c->wrote_at, c->http->options.heartbeat_ms);
}

static int64_t streaming_deadline(const mcp_http_connection *c)
{
    int64_t heartbeat = mcp__http_after(c->wrote_at, c->http->options.heartbeat_ms);
    return MCP__MIN(heartbeat, mcp__http_stream_expiry(c));
}

static int64_t phase_deadline(const mcp_http_connection *c)
{
    const mcp_http_options *o = &c->http->options;
    switch (c->phase) {
    case MCP__HTTP_HANDSHAKE: return mcp__http_idle_deadline(c, o->handshake_ms);
    case MCP__HTTP_IDLE:
        if (mcp__http_has_next(c) && !c->congested)
            return INT64_MIN;
        return mcp__http_idle_deadline(c, o->idle_ms);
    case MCP__HTTP_HEAD: return rest_deadline(c, o->header_ms);
    case MCP__HTTP_ASKING: return mcp__http_login_deadline(c);
    case MCP__HTTP_BODY: return rest_deadline(c, o->body_ms);
    case MCP__HTTP_HELD:
    case MCP__HTTP_WAITING: return unanswered_deadline(c);
    case MCP__HTTP_STREAMING: return streaming_deadline(c);
    case MCP__HTTP_LINGERING: return mcp__http_after(c->since, LINGER_MS);
    case MCP__HTTP_CLOSED: return INT64_MAX;
    }
    return INT64_MAX;
}

static int64_t stall_deadline(const mcp_http_connection *c)
{
    return c->pending ? mcp__http_after(c->drained_at, time_limit(c, c->http->options.stall_ms))
                      : INT64_MAX;
}

void mcp__http_connection_arm(mcp_http_connection *c)
{
    int64_t phase = phase_deadline(c), stall = stall_deadline(c);
    int64_t due = MCP__MIN(phase, stall);
    if (due != INT64_MAX)
        mcp__http_timer_hasten(&c->http->timers, &c->timer, due);
}

/* Writes a comment to a quiet stream, so that proxies keep it open. The answer to a request that
 * takes long becomes a stream for this purpose. */
static void send_heartbeat(mcp_http_connection *c)
{
    c->wrote_at = c->http->now;
    if (mcp__relay_of(c)) /* the other instance writes the comments */
        return;
    if (c->congested) /* unread output keeps the connection alive too */
        return;
    if (!mcp__http_exchange_alive(c)) {
        mcp__http_end_silently(c);
        return;
    }
    if (c->phase == MCP__HTTP_WAITING && c->stream)
        mcp__http_stream_begin(c->stream);
    else if (c->phase == MCP__HTTP_WAITING && mcp__http_may_stream(c))
        mcp__http_sse_begin(c);
    if (c->phase == MCP__HTTP_STREAMING) {
        mcp__http_sse_comment(c);
        mcp__http_flush(c);
    }
}

static bool waited_long(const mcp_http_connection *c, int64_t since)
{
    return mcp__http_after(since, c->http->budget->hold_ms) <= c->http->now;
}

/* Called when the deadline for the rest of a request has passed. */
static void rest_due(mcp_http_connection *c, mcp__http_refusal slow)
{
    if (!c->starved) {
        mcp__http_refuse_early(c, slow);
    } else if (mcp__http_starves(c) && waited_long(c, c->starved_at)) {
        mcp__http_refuse_early(c, mcp__http_no_room(c, 0));
    } else if (mcp__http_starves(c)) {
        c->check_at = mcp__http_next_check(c->http);
    } else {
        c->starved = false;
        c->resume_input(c, c->user);
    }
}

static void held_due(mcp_http_connection *c)
{
    bool wait = mcp__http_must_wait(c);
    if (wait && !waited_long(c, c->since)) {
        c->check_at = mcp__http_next_check(c->http);
        return;
    }
    if (wait)
        c->refusal = (uint8_t)mcp__http_no_room(c, 0);
    mcp__http_run_held(c);
}

static void unanswered_due(mcp_http_connection *c)
{
    if (is_abandoned(c)) {
        mcp__http_exchange_end(c);
        mcp__http_close(c, MCP_HTTP_CLOSE);
    } else if (c->phase == MCP__HTTP_HELD) {
        held_due(c);
    } else {
        send_heartbeat(c);
    }
}

static void phase_due(mcp_http_connection *c)
{
    switch (c->phase) {
    case MCP__HTTP_HANDSHAKE: mcp__http_close(c, MCP_HTTP_ABORT); break;
    case MCP__HTTP_IDLE:
        if (mcp__http_has_next(c) && !c->congested)
            mcp__http_parse_input(c);
        else
            mcp__http_close(c, MCP_HTTP_CLOSE);
        mcp__http_close_ended(c);
        break;
    case MCP__HTTP_HEAD: rest_due(c, MCP__HTTP_SLOW_HEAD); break;
    case MCP__HTTP_ASKING: mcp__http_login_due(c); break;
    case MCP__HTTP_BODY: rest_due(c, MCP__HTTP_SLOW_BODY); break;
    case MCP__HTTP_HELD:
    case MCP__HTTP_WAITING: unanswered_due(c); break;
    case MCP__HTTP_STREAMING:
        if (mcp__http_stream_expiry(c) <= c->http->now)
            mcp__http_end_stream(c);
        else
            send_heartbeat(c);
        break;
    case MCP__HTTP_LINGERING: mcp__http_close(c, MCP_HTTP_CLOSE); break;
    case MCP__HTTP_CLOSED: break;
    }
}

void mcp__http_connection_due(mcp_http_connection *c)
{
    int64_t now = c->http->now;
    c->burst = 0; /* `pending` includes it by now */
    if (stall_deadline(c) <= now) {
        c->pending = 0;
        if (c->phase == MCP__HTTP_CLOSED) {
            c->close(c, MCP_HTTP_ABORT, c->user);
        } else {
            mcp__http_exchange_end(c);
            mcp__http_close(c, MCP_HTTP_ABORT);
        }
    } else if (phase_deadline(c) <= now) {
        phase_due(c);
    }
    mcp__http_connection_charge(c);
    mcp__http_connection_arm(c);
}

static void set_congested(mcp_http_connection *c, bool congested)
{
    if (c->congested == congested)
        return;
    c->congested = congested;
    if (c->session)
        mcp__http_session_writable(c->session);
    if (c->peer) {
        mcp_channel_set_writable(c->peer->channel, !congested, c->http->now);
        mcp__http_peer_arm(c->peer);
    }
    if (mcp__http_has_next(c) && !congested)
        mcp__http_wake(c->http, &c->timer);
}

void mcp_http_set_pending(mcp_http_connection *c, size_t bytes, int64_t now)
{
    size_t max = c->http->options.max_output;
    if (c->pending == 0 || bytes < c->pending)
        c->drained_at = now;
    c->pending = bytes;
    if (!c->writing)
        c->burst = 0;
    mcp__http_connection_charge(c);
    mcp__http_enter(c->http, now);
    if (bytes > max)
        set_congested(c, true);
    else if (bytes <= max / 2 && !c->writing) /* may send notifications, so not during a write */
        set_congested(c, false);
    mcp__http_connection_arm(c);
    mcp__http_leave(c->http);
}

/* ---- life ------------------------------------------------------------------------------------ */

int mcp_http_accept(mcp_http *http, const mcp_http_connection_options *options, int64_t now,
                    mcp_http_connection **ret, mcp_error *error)
{
    mcp__no_error(error);
    mcp_http_connection_options o;
    if (!http || !ret)
        return mcp__fail(error, MCP_EINVAL, 0, "a connection needs an endpoint and \"ret\"");
    int rc = MCP__TAKE(&o, options, mcp_http_connection_options, error);
    if (rc != MCP_OK)
        return rc;
    if (!o.write || !o.close)
        return mcp__fail(error, MCP_EINVAL, 0, "a connection needs \"write\" and \"close\"");
    mcp_http_connection *c = mcp__zalloc(http->allocator, sizeof(*c));
    char *peer = c && o.peer && http->options.log
                     ? mcp__strdup(http->allocator, mcp_str_from(o.peer))
                     : NULL;
    if (!c || (o.peer && http->options.log && !peer)) {
        mcp__release(http->allocator, c);
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a connection");
    }
    mcp__http_enter(http, now);
    c->http = http;
    c->write = o.write;
    c->close = o.close;
    c->resume_input = o.resume;
    c->user = o.user;
    c->peer_name = peer;
    c->has_ip = o.peer && mcp__http_ip_read_host(mcp_str_from(o.peer), &c->peer_ip);
    c->trusted = o.trusted_host;
    c->proxy = mcp__http_is_proxy(http, &o);
    mcp__http_login_init(c);
    mcp__list_init(&c->in_getters);
    mcp__buf_init(&c->head.bytes, http->allocator, 0);
    mcp__buf_init(&c->body, http->allocator, 0);
    mcp__buf_init(&c->input, http->allocator, INPUT_MAX);
    if (!http->parser_settings.on_message_begin)
        mcp__http_parser_settings(&http->parser_settings);
    llhttp_init(&c->parser, HTTP_REQUEST, &http->parser_settings);
    mcp__http_set_phase(c, o.handshake ? MCP__HTTP_HANDSHAKE : MCP__HTTP_IDLE);
    mcp__http_refusal why = mcp__http_count_peer(c, o.address);
    if (!why && mcp__http_charge_to(http->budget, &c->charge, NULL, o.address) != MCP_OK)
        why = MCP__HTTP_NO_MEMORY;
    if (http->n_connections >= http->options.max_connections)
        why = MCP__HTTP_MANY_CONNECTIONS;
    else if (o.no_files)
        why = MCP__HTTP_NO_FILES;
    mcp__list_append(&http->connections, &c->link);
    http->n_connections++;
    http->metrics.accepted++;
    *ret = c;
    if (why) {
        http->metrics.refused++;
        mcp__http_complain_of(http, &http->complaint, why);
        mcp__http_refuse(c, why);
        mcp__http_close(c, MCP_HTTP_CLOSE); /* without lingering, to save the descriptor */
    }
    mcp__http_connection_arm(c);
    mcp__http_leave(http);
    return why ? mcp__fail(error, MCP_ELIMIT, 0, "too many connections") : MCP_OK;
}

void mcp_http_connection_free(mcp_http_connection *c, int64_t now)
{
    if (!c)
        return;
    mcp_http *http = c->http;
    mcp__http_enter(http, now);
    account_broken(c);
    mcp__http_set_phase(c, MCP__HTTP_CLOSED);
    mcp__http_exchange_end(c);
    mcp__relay_drop(c);
    mcp__forwarded_free(c);
    if (c->session)
        mcp__http_session_detach(c);
    mcp__http_peer_free(c->peer);
    mcp__http_timer_stop(&http->timers, &c->timer);
    mcp__list_remove(&c->link);
    http->n_connections--;
    mcp__http_uncount(c);
    mcp__buf_free(&c->head.bytes);
    mcp__buf_free(&c->body);
    mcp__buf_free(&c->input);
    mcp__http_charge_end(http->budget, &c->charge);
    mcp__http_login_free(c);
    mcp__release(http->allocator, c->name);
    mcp__release(http->allocator, c->peer_name);
    mcp__release(http->allocator, c);
    mcp__http_leave(http);
}

void mcp_http_handshake_done(mcp_http_connection *c, int64_t now)
{
    if (c->phase != MCP__HTTP_HANDSHAKE)
        return;
    mcp__http_set_phase(c, MCP__HTTP_IDLE);
    c->since = now;
}
