/* requests.c: splits received bytes into requests, which are handled one after the other.
 *
 * The parser stops at the end of each request and continues when that request is answered.
 * Pipelined requests are thus answered in order. The bytes after a request are buffered, up to a
 * limit.
 *
 * A body that arrives completely in one call is read in place. Only a partial body is copied, when
 * that call returns.
 */
#include "http/server/http_session.h"

enum {
    INPUT_PAUSE =
        64 << 10, /* number of unparsed bytes at which the transport should stop reading */
    BODY_RETAINED = 4 << 10, /* largest buffer for a body that is kept between requests */
    DISCARD_MAX =
        64 << 10, /* a refused body up to this size is read, so that the connection stays open */
    ID_BODY_MAX =
        8 << 10, /* a refused body up to this size is kept, so that the refusal can repeat its id */
};

static mcp_http_connection *connection_of(llhttp_t *parser)
{
    return mcp__container(parser, mcp_http_connection, parser);
}

mcp_str mcp__http_body(mcp_http_connection *c)
{
    return c->body.len ? mcp__buf_view(&c->body) : c->body_span;
}

/* ---- callbacks of the parser ----------------------------------------------------------------- */

/* Stops the parser, so that the request is refused before it is complete. */
static int stop(mcp_http_connection *c, mcp__http_refusal why)
{
    if (!c->refusal)
        c->refusal = (uint8_t)why;
    return HPE_USER;
}

static int on_message_begin(llhttp_t *parser)
{
    mcp_http_connection *c = connection_of(parser);
    mcp__http_set_phase(c, MCP__HTTP_HEAD);
    mcp__http_head_reset(&c->head);
    c->bytes_in = c->bytes_out = 0;
    c->refusal = MCP__HTTP_FINE;
    if (mcp__http_asks(c->http))
        mcp__http_login_reset(c);
    c->forwarded = MCP__HTTP_DIRECT;
    if (c->client || c->in_account)
        mcp__http_uncount_request(c);
    if (c->is_forwarded)
        mcp__forwarded_free(c);
    c->target = MCP__HTTP_ENDPOINT;
    c->stream_only = c->instance_gone = c->cors = c->is_identified = false;
    c->http_method = 0;
    c->method = MCP__METHOD_NONE;
    c->traceparent[0] = 0;
    mcp__release(c->http->allocator, c->name);
    c->name = NULL;
    return 0;
}

/* Counts bytes of the head. Stops with the refusal `why` if the head is too long. */
static int measure(mcp_http_connection *c, size_t len, mcp__http_refusal why)
{
    c->head.received += len;
    if (c->head.received > c->http->options.max_header_bytes)
        return stop(c, why);
    return c->head.bytes.failed ? stop(c, MCP__HTTP_NO_MEMORY) : 0;
}

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
    mcp_http_connection *c = connection_of(parser);
    mcp__buf_add(&c->head.bytes, at, len);
    c->head.target.len += (uint32_t)len;
    return measure(c, len, MCP__HTTP_LONG_TARGET);
}

static int on_header_field(llhttp_t *parser, const char *at, size_t len)
{
    mcp_http_connection *c = connection_of(parser);
    if (c->phase == MCP__HTTP_HEAD) /* of a trailer, only the length and number are checked */
        mcp__http_head_name(&c->head, at, len);
    return measure(c, len, MCP__HTTP_LONG_HEAD);
}

static int on_header_field_complete(llhttp_t *parser)
{
    mcp_http_connection *c = connection_of(parser);
    if (c->phase != MCP__HTTP_HEAD)
        c->head.count++;
    else
        mcp__http_head_name_end(&c->head);
    if (c->head.count > c->http->options.max_headers)
        return stop(c, MCP__HTTP_MANY_HEADERS);
    return measure(c, 4, MCP__HTTP_LONG_HEAD);
}

static int on_header_value(llhttp_t *parser, const char *at, size_t len)
{
    mcp_http_connection *c = connection_of(parser);
    if (c->phase == MCP__HTTP_HEAD)
        mcp__http_head_value(&c->head, at, len);
    return measure(c, len, MCP__HTTP_LONG_HEAD);
}

static int on_header_value_complete(llhttp_t *parser)
{
    mcp_http_connection *c = connection_of(parser);
    if (c->phase != MCP__HTTP_HEAD)
        return 0;
    bool forwarded = c->proxy && c->head.field_kind == MCP__HTTP_FORWARDED_FOR;
    mcp__http_head_value_end(&c->head);
    if (forwarded && !c->head.bytes.failed)
        mcp__http_take_forwarded(c, mcp__http_header(&c->head, MCP__HTTP_FORWARDED_FOR));
    return 0;
}

static bool expects_body(const llhttp_t *parser)
{
    return parser->flags & F_CHUNKED || parser->content_length > 0;
}

/* Returns whether the rest of a refused request is short enough to be read, so that the connection
 * can be used again. */
static bool worth_reading(const mcp_http_connection *c)
{
    return !expects_body(&c->parser) ||
           (!(c->parser.flags & F_CHUNKED) && c->parser.content_length <= DISCARD_MAX &&
            !mcp__http_header(&c->head, MCP__HTTP_EXPECT).ptr);
}

/* Continues with the body when the sender is known. `why` is the result of the checks so far.
 * Returns 0, or HPE_USER if the request is refused before it is complete. */
static int begin_body(mcp_http_connection *c, mcp__http_refusal why)
{
    const llhttp_t *parser = &c->parser;
    if (!why)
        why = mcp__http_admit(c);
    if (why && !worth_reading(c)) {
        c->keep_alive = false;
        return stop(c, why);
    }
    c->refusal = (uint8_t)why;
    if (!why && expects_body(parser) && parser->http_minor >= 1 &&
        mcp__http_header(&c->head, MCP__HTTP_EXPECT).ptr)
        mcp__http_write(c, MCP_STR("HTTP/1.1 100 Continue\r\n\r\n"));
    return 0;
}

static bool needs_login(const mcp_http_connection *c)
{
    return mcp__http_asks(c->http) && c->target != MCP__HTTP_HEALTHZ &&
           c->target != MCP__HTTP_PREFLIGHT && c->target != MCP__HTTP_RESOURCE &&
           c->target != MCP__HTTP_PAGE;
}

/* Checks Transfer-Encoding more strictly than the parser, which reads some of what others on the way
 * may read in another way: the same bytes must not be different requests. It is absent or exactly
 * "chunked", and then there is no Content-Length, nor HTTP/1.0, which does not know chunks (RFC 9112,
 * 6.1). The connection of any other request is closed. */
static mcp__http_refusal check_framing(const mcp_http_connection *c)
{
    const mcp__http_head *head = &c->head;
    bool coded = head->present & 1u << MCP__HTTP_CODING;
    bool chunked = c->parser.flags & F_CHUNKED && c->parser.http_minor >= 1 && !head->duplicate &&
                   !(head->present & 1u << MCP__HTTP_LENGTH);
    if (!coded)
        return MCP__HTTP_FINE;
    if (!chunked)
        return MCP__HTTP_BAD_FRAMING;
    return mcp__str_same(MCP_STR("chunked"), mcp__http_header(head, MCP__HTTP_CODING))
               ? MCP__HTTP_FINE
               : MCP__HTTP_UNKNOWN_CODING;
}

static int on_headers_complete(llhttp_t *parser)
{
    mcp_http_connection *c = connection_of(parser);
    /* Upgrade and CONNECT are not supported. If this were set, the parser would stop. */
    parser->upgrade = 0;
    c->http_method = parser->method;
    c->keep_alive = llhttp_should_keep_alive(parser) && parser->http_minor >= 1;
    if (c->head.bytes.failed)
        return stop(c, MCP__HTTP_NO_MEMORY);
    mcp__http_refusal framing = check_framing(c);
    if (framing)
        return stop(c, framing);
    mcp__http_set_phase(c, MCP__HTTP_BODY);
    c->body.limit =
        parser->flags & F_CHUNKED ? SIZE_MAX : (size_t)MCP__MIN(parser->content_length, SIZE_MAX);
    mcp__http_refusal why = mcp__http_route(c);
    if (!why && needs_login(c) && mcp__http_ask(c, &why)) {
        mcp__http_set_phase(c, MCP__HTTP_ASKING);
        return HPE_PAUSED;
    }
    return begin_body(c, why);
}

/* Returns by how much the body's buffer grows if `bytes` are added. The buffer doubles, up to the
 * length of the body. */
static size_t growth(const mcp_http_connection *c, size_t bytes)
{
    const mcp__buf *b = &c->body;
    if (b->cap - b->len >= bytes)
        return 0;
    return MCP__MAX(bytes, MCP__MIN(b->cap, b->limit - b->cap));
}

/* Copies the received part of the body, before the received bytes become invalid. Returns false if
 * the budget has no room for it. */
static bool keep_body(mcp_http_connection *c)
{
    bool fits = !c->body_span.len ||
                mcp__http_fits(c->http->budget, &c->charge, growth(c, c->body_span.len));
    if (c->body_span.len && fits)
        mcp__buf_str(&c->body, c->body_span);
    c->body_span = (mcp_str){0};
    return fits;
}

/* Returns whether the body is read and discarded. */
static bool discards_body(const mcp_http_connection *c)
{
    mcp__http_refusal why = (mcp__http_refusal)c->refusal;
    return why && (!mcp__http_refusal_reads(why) || c->body.limit > ID_BODY_MAX);
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    mcp_http_connection *c = connection_of(parser);
    if (discards_body(c))
        return 0;
    size_t max = c->refusal ? ID_BODY_MAX : c->http->options.max_body;
    size_t before = c->body.len + c->body_span.len;
    if (len > max || before > max - len)
        return stop(c, MCP__HTTP_LONG_BODY);
    if (before == 0) {
        c->body_span = (mcp_str){at, len};
        return 0;
    }
    if (!keep_body(c) || !mcp__http_fits(c->http->budget, &c->charge, growth(c, len)))
        return stop(c, mcp__http_no_room(c, len));
    mcp__buf_add(&c->body, at, len);
    return c->body.failed ? stop(c, MCP__HTTP_NO_MEMORY) : 0;
}

static int on_message_complete(llhttp_t *parser)
{
    (void)parser;
    return HPE_PAUSED;
}

void mcp__http_parser_settings(llhttp_settings_t *s)
{
    llhttp_settings_init(s);
    s->on_message_begin = on_message_begin;
    s->on_url = on_url;
    s->on_header_field = on_header_field;
    s->on_header_field_complete = on_header_field_complete;
    s->on_header_value = on_header_value;
    s->on_header_value_complete = on_header_value_complete;
    s->on_headers_complete = on_headers_complete;
    s->on_body = on_body;
    s->on_message_complete = on_message_complete;
}

/* ---- requests -------------------------------------------------------------------------------- */

void mcp__http_refuse_early(mcp_http_connection *c, mcp__http_refusal why)
{
    c->keep_alive = false;
    mcp__http_refuse(c, why);
}

static mcp__http_refusal refusal_of(const mcp_http_connection *c, llhttp_errno_t error)
{
    switch (error) {
    case HPE_INVALID_HEADER_TOKEN:
        return c->phase == MCP__HTTP_HEAD && mcp__http_is_mirrored(&c->head) ? MCP__HTTP_BAD_MIRROR
                                                                             : MCP__HTTP_BAD_SYNTAX;
    case HPE_INVALID_VERSION:
    case HPE_PAUSED_H2_UPGRADE: return MCP__HTTP_BAD_VERSION;
    case HPE_UNEXPECTED_CONTENT_LENGTH:
    case HPE_INVALID_CONTENT_LENGTH:
    case HPE_INVALID_TRANSFER_ENCODING: return MCP__HTTP_BAD_FRAMING;
    default: return MCP__HTTP_BAD_SYNTAX;
    }
}

static void run(mcp_http_connection *c)
{
    if (c->body.failed) {
        mcp__buf_reset(&c->body, 0);
        c->refusal = MCP__HTTP_NO_MEMORY;
    }
    if (c->refusal)
        mcp__http_refuse(c, (mcp__http_refusal)c->refusal);
    else
        mcp__http_handle(c);
    c->body_span = (mcp_str){0};
    mcp__buf_reset(&c->body, BODY_RETAINED);
}

/* Runs a complete request, now or when there is memory for an answer. A health probe never
 * waits. */
static void run_request(mcp_http_connection *c)
{
    c->wrote_at = c->began = c->http->now;
    c->began_us = mcp__http_now_us(c->http);
    mcp__http_set_phase(c, MCP__HTTP_WAITING);
    if (c->refusal || c->target == MCP__HTTP_HEALTHZ || !mcp__http_must_wait(c)) {
        run(c);
        return;
    }
    c->http->budget->waited++;
    c->check_at = mcp__http_next_check(c->http);
    mcp__http_set_phase(c, MCP__HTTP_HELD);
}

void mcp__http_run_held(mcp_http_connection *c)
{
    mcp__http_set_phase(c, MCP__HTTP_WAITING);
    run(c);
}

/* Refuses a request whose partial body cannot be kept. */
static void refuse_unkept(mcp_http_connection *c)
{
    mcp__http_refusal why = mcp__http_no_room(c, DISCARD_MAX);
    if (c->phase != MCP__HTTP_HELD) {
        mcp__http_refuse_early(c, why);
        return;
    }
    c->refusal = (uint8_t)why;
    mcp__http_run_held(c);
}

/* Returns whether to continue parsing. The next request is not parsed while much output is
 * unread. */
static bool may_parse(const mcp_http_connection *c)
{
    return c->phase <= MCP__HTTP_BODY && c->phase != MCP__HTTP_ASKING &&
           (c->phase != MCP__HTTP_IDLE ||
            (!c->congested && c->burst <= c->http->options.max_output));
}

/* Passes the input to the parser. */
static llhttp_errno_t execute(mcp_http_connection *c, mcp_str *in)
{
    llhttp_errno_t error = llhttp_execute(&c->parser, in->len ? in->ptr : "", in->len);
    const char *at =
        error == HPE_OK || !in->len ? in->ptr + in->len : llhttp_get_error_pos(&c->parser);
    size_t used = at ? (size_t)(at - in->ptr) : in->len;
    c->bytes_in += used;
    *in = mcp__str_sub(*in, used);
    return error;
}

/* Parses as many requests as can be answered now. `resumed` means that the parser was stopped at the
 * end of a head: it continues even without more input. It is stopped there and at the end of a request
 * only. */
static void parse(mcp_http_connection *c, mcp_str *in, bool resumed)
{
    for (; (in->len || resumed) && may_parse(c); resumed = false) {
        llhttp_errno_t error = execute(c, in);
        if (error == HPE_OK || c->phase == MCP__HTTP_ASKING)
            continue;
        if (error == HPE_PAUSED) {
            llhttp_resume(&c->parser);
            run_request(c);
        } else {
            if (c->phase == MCP__HTTP_IDLE)
                on_message_begin(&c->parser); /* the request failed at its first byte */
            mcp__http_refuse_early(c, c->refusal ? (mcp__http_refusal)c->refusal
                                                 : refusal_of(c, error));
        }
    }
    if (!keep_body(c))
        refuse_unkept(c);
    if (c->phase > MCP__HTTP_STREAMING)
        in->len = 0;
}

static void parse_input(mcp_http_connection *c, bool resumed)
{
    if ((!c->input.len && !resumed) || !may_parse(c))
        return;
    mcp_str in = mcp__buf_view(&c->input);
    parse(c, &in, resumed);
    mcp__buf_consume(&c->input, c->input.len - in.len);
    if (!c->input.len)
        mcp__buf_reset(&c->input, 0);
    mcp__http_schedule_input(c);
}

void mcp__http_parse_input(mcp_http_connection *c)
{
    parse_input(c, false);
}

void mcp__http_run_asked(mcp_http_connection *c)
{
    mcp__http_set_phase(c, MCP__HTTP_BODY);
    llhttp_resume(&c->parser);
    if (begin_body(c, (mcp__http_refusal)c->login_result) == 0) {
        parse_input(c, true);
    } else {
        mcp__buf_reset(&c->input, 0);
        mcp__http_refuse_early(c, (mcp__http_refusal)c->refusal);
    }
    mcp__http_close_ended(c);
    if (c->phase != MCP__HTTP_CLOSED && c->resume_input)
        c->resume_input(c, c->user);
}

static void keep_input(mcp_http_connection *c, mcp_str bytes)
{
    mcp__buf_str(&c->input, bytes);
    if (c->input.failed)
        mcp__http_close(c, MCP_HTTP_ABORT);
    else
        mcp__http_schedule_input(c);
}

static void check_memory(mcp_http_connection *c)
{
    mcp__http_connection_charge(c);
    bool partial = c->phase == MCP__HTTP_HEAD || c->phase == MCP__HTTP_BODY;
    if (!partial || c->starved || !c->resume_input || !mcp__http_starves(c))
        return;
    c->starved = true;
    c->starved_at = c->http->now;
    c->check_at = mcp__http_next_check(c->http);
}

int mcp_http_receive(mcp_http_connection *c, mcp_str bytes, int64_t now)
{
    mcp__http_enter(c->http, now);
    c->http->metrics.bytes_in += bytes.len;
    if (c->phase == MCP__HTTP_HANDSHAKE)
        mcp__http_set_phase(c, MCP__HTTP_IDLE);
    if (c->input.len) {
        keep_input(c, bytes);
        mcp__http_parse_input(c);
    } else {
        parse(c, &bytes, false);
        if (bytes.len)
            keep_input(c, bytes);
    }
    check_memory(c);
    mcp__http_connection_arm(c);
    mcp__http_leave(c->http);
    return mcp_http_wants_input(c) ? MCP_OK : MCP_PENDING;
}

bool mcp_http_wants_input(const mcp_http_connection *c)
{
    return c->phase != MCP__HTTP_CLOSED && !c->ended && !c->congested && !c->starved &&
           c->input.len <
               (c->phase == MCP__HTTP_ASKING ? c->http->options.max_header_bytes : INPUT_PAUSE);
}

void mcp_http_receive_end(mcp_http_connection *c, int64_t now)
{
    mcp__http_enter(c->http, now);
    if (!c->ended) {
        c->ended = true;
        c->ended_at = now;
        mcp__http_parse_input(c);
        /* A request in progress is still answered, until unanswered_deadline(). */
        if (c->phase == MCP__HTTP_STREAMING)
            mcp__http_exchange_end(c);
        if (!mcp__http_has_request(c))
            mcp__http_close(c, MCP_HTTP_CLOSE);
    }
    mcp__http_connection_charge(c);
    mcp__http_connection_arm(c);
    mcp__http_leave(c->http);
}
