/* respond.c: writes complete answers, each in one write unless the body is long.
 *
 * A table defines the refusals: the HTTP status, and a sentence that says what was wrong, or which
 * limit was reached and which option sets that limit. The sentence is sent as a JSON-RPC error,
 * with the id of the request if its body was read.
 */
#include "http/server/connection.h"
#include "jsonrpc/envelope.h"
#include "protocol/revision.h"

_Static_assert((int)MCP__HTTP_REFUSALS <= (int)MCP__HTTP_MOST_REFUSALS, "each has a counter");

enum {
    ONE_WRITE = 64 << 10, /* a longer body is written separately, without a copy */
    OUT_KEPT = 256 << 10, /* largest output buffer that is kept */
    SMALL = 4 << 10,      /* an answer below this size is sent even if the budget is used up */
};

/* OPTION names the option that causes the refusal. LIMIT also inserts its value for %zu. */
#define OPTION(member) .option = #member
#define LIMIT(member)  .limit = offsetof(mcp_http_options, member), .has_limit = true, OPTION(member)

static const struct refusal {
    int status;
    bool final; /* closes the connection */
    bool has_limit;
    bool anonymous; /* sent without an id, because the message may not be a request */
    bool plain;     /* sent as plain text, so that the client tries no older transport */
    int code;       /* of the JSON-RPC error; 0 means that the status decides */
    size_t limit;   /* offset of the option whose value replaces %zu */
    const char *option;
    const char *text;
} refusals[MCP__HTTP_REFUSALS] = {
    [MCP__HTTP_BAD_SYNTAX] = {400, true, .text = "this is not HTTP/1.1"},
    [MCP__HTTP_BAD_FRAMING] = {400, true,
                               .text = "the length of the body is not clear: one Content-Length "
                                       "or, in HTTP/1.1, \"Transfer-Encoding: chunked\", not "
                                       "both"},
    [MCP__HTTP_UNKNOWN_CODING] = {501, true,
                                  .text = "the only Transfer-Encoding that is supported is "
                                          "\"chunked\""},
    [MCP__HTTP_BAD_VERSION] = {505, true, .text = "only HTTP/1.1 and HTTP/1.0 are supported"},
    [MCP__HTTP_BAD_MIRROR] = {400, true, .code = MCP__HEADER_MISMATCH,
                              .text = "Header mismatch: a header that repeats a part of the "
                                      "message has invalid characters"},
    [MCP__HTTP_NO_HOST] = {400, .text = "the request needs a Host header"},
    [MCP__HTTP_DUPLICATE] = {400, .text = "a header that may have only one value occurs twice"},
    [MCP__HTTP_BAD_HOST] = {403, .anonymous = true, OPTION(allow_hosts),
                            .text = "requests for this Host are not allowed; the operator of the "
                                    "server can allow them"},
    [MCP__HTTP_BAD_ORIGIN] = {403, .anonymous = true, OPTION(allow_origins),
                              .text = "requests from this Origin are not allowed; the operator of "
                                      "the server can allow them"},
    [MCP__HTTP_NO_PATH] = {404, .anonymous = true, .text = "there is nothing at this path"},
    [MCP__HTTP_LONG_TARGET] = {414, true, LIMIT(max_header_bytes),
                               .text = "the request's target alone is longer than its head may "
                                       "be, %zu bytes"},
    [MCP__HTTP_LONG_HEAD] = {431, true, LIMIT(max_header_bytes),
                             .text = "the request's headers are longer than %zu bytes"},
    [MCP__HTTP_MANY_HEADERS] = {431, true, LIMIT(max_headers),
                                .text = "the request has more than %zu headers"},
    [MCP__HTTP_LONG_BODY] = {413, LIMIT(max_body),
                             .text = "the request's body is longer than %zu bytes"},
    [MCP__HTTP_SLOW_HEAD] = {408, true, LIMIT(header_ms),
                             .text = "the headers took longer than %zu ms"},
    [MCP__HTTP_SLOW_BODY] = {408, true, LIMIT(body_ms), .text = "the body took longer than %zu ms"},
    [MCP__HTTP_NOT_ALLOWED] = {405, .text = "this HTTP method is not allowed here"},
    [MCP__HTTP_POST_ONLY] = {405, .text = "only POST is served without a legacy session"},
    [MCP__HTTP_UNAUTHORIZED] = {401, .text = "a valid token is required: the Authorization header "
                                             "is missing, or its token is unknown or expired"},
    [MCP__HTTP_BAD_LOGIN] = {400, .text = "the Authorization header is malformed"},
    [MCP__HTTP_FORBIDDEN] = {403, .text = "the token does not permit this request"},
    [MCP__HTTP_MANY_LOGINS] = {429, .text = "too many tokens were refused: try again later"},
    [MCP__HTTP_NO_LOGIN] = {503, .text = "the token cannot be checked now: try again later"},
    [MCP__HTTP_SLOW_LOGIN] = {503, true, LIMIT(login_ms),
                              .text = "the token could not be checked within %zu ms"},
    [MCP__HTTP_NOT_ACCEPTABLE] = {406, .text = "Accept has to list application/json and "
                                               "text/event-stream, for GET the latter"},
    [MCP__HTTP_NEEDS_STREAM] = {406, .text = "the answer is an event stream: Accept has to list "
                                             "text/event-stream"},
    [MCP__HTTP_BAD_TYPE] = {415, .text = "Content-Type has to be application/json"},
    [MCP__HTTP_BAD_CODING] = {415, .text = "a Content-Encoding is not supported"},
    [MCP__HTTP_BAD_EXPECT] = {417, .text = "only \"Expect: 100-continue\" is supported"},
    [MCP__HTTP_BAD_REVISION] = {400, .text = "the MCP-Protocol-Version of this request is not "
                                             "one that is served"},
    [MCP__HTTP_NO_SESSION] = {404, .text = "there is no such session: initialize a new one"},
    [MCP__HTTP_NEEDS_SESSION] = {400, .text = "this needs a session: send initialize first, then "
                                              "its Mcp-Session-Id"},
    [MCP__HTTP_GET_FIRST] = {405, .anonymous = true, .plain = true,
                             .text = "this is HTTP+SSE of 2024-11-05: GET opens a stream, which "
                                     "says where to send messages"},
    [MCP__HTTP_NO_STREAM] = {404, .text = "there is no such stream: open a new one with GET"},
    [MCP__HTTP_UNREAD] = {429, .text = "the event stream of this session is not being read"},
    [MCP__HTTP_NOT_MODERN] = {400, .text = "this is HTTP+SSE of 2024-11-05: messages of newer "
                                           "revisions without a session go to the MCP endpoint"},
    [MCP__HTTP_MANY_CONNECTIONS] = {503, true, LIMIT(max_connections),
                                    .text = "there are %zu connections already"},
    [MCP__HTTP_MANY_PER_ADDRESS] = {503, true, LIMIT(max_per_address),
                                    .text = "there are %zu connections from this address already"},
    [MCP__HTTP_MANY_PER_PRINCIPAL] = {503, LIMIT(max_per_principal),
                                      .text = "%zu connections carry requests of this client "
                                              "already: close some of its streams"},
    [MCP__HTTP_MANY_SESSIONS] = {503, LIMIT(max_sessions),
                                 .text = "there are %zu sessions in use already"},
    [MCP__HTTP_MANY_SESSIONS_EACH] = {503, LIMIT(max_sessions_each),
                                      .text = "%zu sessions of this client are in use already: "
                                              "end some of them"},
    [MCP__HTTP_MANY_STREAMS] = {429, LIMIT(max_streams),
                                .text = "this session has %zu event streams already"},
    [MCP__HTTP_DRAINING] = {503, .text = "the server is about to end: no new sessions"},
    [MCP__HTTP_NO_MEMORY] = {503, .text = "out of memory"},
    [MCP__HTTP_BAD_EVENT] = {400, .text = "this Last-Event-ID is not, or no longer, known: "
                                          "nothing can be replayed"},
    [MCP__HTTP_BAD_MESSAGE] = {400, .anonymous = true,
                               .text = "the body is not a message that can be accepted"},
    [MCP__HTTP_UNEXPECTED] = {400, .anonymous = true, .text = "a response was not asked for"},
    [MCP__HTTP_NO_ANSWER] = {503, .text = "the request was cancelled, so there is no answer"},
    [MCP__HTTP_NO_ROOM] = {503, LIMIT(max_memory),
                           .text = "requests and answers of all clients fill the memory for them, "
                                   "%zu bytes: try again later"},
    [MCP__HTTP_NO_SHARE] = {503, LIMIT(max_share),
                            .text = "requests and answers of this client fill its share of memory, "
                                    "%zu bytes: read the answers, then try again"},
    [MCP__HTTP_NO_FILES] = {503, true, OPTION(keep_files),
                            .text = "no file descriptor is left for another connection, by the "
                                    "server's limit of open files: try again later"},
    [MCP__HTTP_CUT] = {503, true,
                       .text = "the server ended before the request was answered: whether it was "
                               "carried out is not known"},
    [MCP__HTTP_BAD_FORWARDED] = {403, .anonymous = true,
                                 .text =
                                     "this request says that another instance forwarded it, which "
                                     "is not so, or it was received before"},
    [MCP__HTTP_MISDIRECTED] = {421, .anonymous = true,
                               .text = "this request was forwarded to an instance that has ended"},
    [MCP__HTTP_NO_INSTANCE] = {502, .text = "the instance that has this session did not answer: "
                                            "whether the request was carried out is not known"},
    [MCP__HTTP_NO_RANDOM] = {503,
                             .text =
                                 "no session can be created: the source of random bytes failed"},
};

const char *mcp__http_refusal_name(mcp__http_refusal why)
{
    static const char *const names[MCP__HTTP_REFUSALS] = {[MCP__HTTP_FINE] = "",
#define NAME(name) [MCP__HTTP_##name] = #name,
                                                          MCP__HTTP_REFUSAL_MAP(NAME)
#undef NAME
    };
    return names[why];
}

/* ---- heads ------------------------------------------------------------------------------------------- */

static void put_header(mcp__buf *b, const char *name, const char *value)
{
    if (value)
        mcp__buf_printf(b, "%s: %s\r\n", name, value);
}

static void put_cors(mcp_http_connection *c, mcp__buf *b)
{
    mcp__buf_lit(b, "Access-Control-Allow-Origin: ");
    mcp__buf_str(b, mcp__http_header(&c->head, MCP__HTTP_ORIGIN));
    mcp__buf_lit(b, "\r\nVary: Origin\r\n"
                    "Access-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate, "
                    "DPoP-Nonce\r\n");
}

void mcp__http_put_head(mcp_http_connection *c, int status)
{
    mcp__buf *b = &c->http->out;
    uint8_t i = 0;
    while (mcp__http_statuses[i].status != status && i + 1 < MCP__HTTP_STATUSES)
        i++;
    c->status_row = i;
    mcp__buf_str(b, mcp__http_statuses[i].line);
    if (c->http->options.date) {
        mcp__buf_lit(b, "Date: ");
        mcp__buf_str(b, c->http->options.date(c->http->date_user));
        mcp__buf_lit(b, "\r\n");
    }
    if (!c->keep_alive)
        mcp__buf_lit(b, "Connection: close\r\n");
    if (c->cors)
        put_cors(c, b);
    put_header(b, "DPoP-Nonce", c->denial ? c->denial->nonce : NULL);
}

static void put_preflight(const mcp_http_connection *c, mcp__buf *b)
{
    mcp_str headers = mcp__http_header(&c->head, MCP__HTTP_REQUEST_HEADERS);
    mcp__buf_lit(b, "Access-Control-Allow-Methods: POST, GET, DELETE\r\n"
                    "Access-Control-Max-Age: 600\r\n");
    if (!headers.len)
        return;
    mcp__buf_lit(b, "Access-Control-Allow-Headers: ");
    mcp__buf_str(b, headers);
    mcp__buf_lit(b, "\r\n");
}

static void put_length(mcp__buf *b, size_t length)
{
    char digits[24];
    char *at = digits + sizeof(digits);
    do {
        *--at = (char)('0' + length % 10);
        length /= 10;
    } while (length);
    mcp__buf_lit(b, "Content-Length: ");
    mcp__buf_add(b, at, (size_t)(digits + sizeof(digits) - at));
    mcp__buf_lit(b, "\r\n");
}

/* ---- answers -------------------------------------------------------------------------------------------- */

void mcp__http_flush(mcp_http_connection *c)
{
    mcp__buf *b = &c->http->out;
    if (b->failed)
        mcp__http_close(c, MCP_HTTP_ABORT);
    else if (b->len)
        mcp__http_write(c, mcp__buf_view(b));
    mcp__buf_reset(b, OUT_KEPT);
}

static void write_answer(mcp_http_connection *c, const mcp__http_answer *a)
{
    mcp__buf *b = &c->http->out;
    mcp__http_put_head(c, a->status);
    if (a->type) {
        mcp__buf_lit(b, "Content-Type: ");
        mcp__buf_str(b, mcp_str_from(a->type));
        mcp__buf_lit(b, "\r\n");
    }
    put_header(b, "Allow", a->allow);
    mcp__buf_str(b, a->lines);
    put_header(b, "Mcp-Session-Id", a->session);
    put_header(b, "Retry-After", a->retry ? "1" : NULL);
    if (a->preflight)
        put_preflight(c, b);
    if (a->status != 204 && a->status != 304)
        put_length(b, a->body.len);
    mcp__buf_lit(b, "\r\n");
    bool with_body = c->http_method != HTTP_HEAD;
    bool apart = a->body.len > ONE_WRITE && with_body;
    if (with_body && !apart)
        mcp__buf_str(b, a->body);
    mcp__http_flush(c);
    if (apart && c->phase != MCP__HTTP_CLOSED)
        mcp__http_write(c, a->body);
}

void mcp__http_respond(mcp_http_connection *c, const mcp__http_answer *answer)
{
    if ((c->ended && !c->input.len) || c->http->draining)
        c->keep_alive = false;
    write_answer(c, answer);
    mcp__http_finish(c, answer->status, answer->code);
}

void mcp__http_reply(mcp_http_connection *c, int status, const mcp_output_info *info,
                     const char *session, mcp_str message)
{
    mcp__http_answer a = {.status = status, .body = message, .session = session};
    a.type = "application/json";
    a.code = info->code;
    if (!info->scopes && !info->retry_after_s) {
        mcp__http_answer_fitting(c, &a);
        return;
    }
    mcp__buf lines;
    mcp__buf_init(&lines, c->http->allocator, 0);
    if (info->scopes)
        mcp__http_put_scope_challenge(c, info->scopes, &lines);
    else
        mcp__buf_printf(&lines, "Retry-After: %d\r\n", info->retry_after_s);
    a.lines = lines.failed ? (mcp_str){0} : mcp__buf_view(&lines);
    mcp__http_answer_fitting(c, &a);
    mcp__buf_free(&lines);
}

const char *mcp__http_option_of(mcp__http_refusal why)
{
    return refusals[why].option;
}

const char *mcp__http_option_name(const mcp_http *http, const char *member)
{
    const mcp_http_options *o = &http->options;
    const char *name = o->option_name ? o->option_name(member, o->user) : NULL;
    return name ? name : member;
}

size_t mcp__http_limit_of(const mcp_http *http, mcp__http_refusal why)
{
    const mcp_http_options *o = &http->options;
    if (why == MCP__HTTP_NO_ROOM || why == MCP__HTTP_NO_SHARE)
        return why == MCP__HTTP_NO_ROOM ? http->budget->max_memory : http->budget->max_share;
    /* Time-outs have the type uint64_t, all other limits size_t. */
    uint64_t wide = 0;
    size_t narrow = 0;
    const char *at = (const char *)o + refusals[why].limit;
    if (why == MCP__HTTP_MANY_SESSIONS_EACH)
        return mcp__http_sessions_each(http);
    bool is_time =
        why == MCP__HTTP_SLOW_HEAD || why == MCP__HTTP_SLOW_BODY || why == MCP__HTTP_SLOW_LOGIN;
    if (is_time)
        memcpy(&wide, at, sizeof(wide));
    else
        memcpy(&narrow, at, sizeof(narrow));
    return is_time ? (size_t)wide : narrow;
}

bool mcp__http_refusal_reads(mcp__http_refusal why)
{
    return !refusals[why].anonymous;
}

/* Reads the id of a refused request, if its body is complete. A partial message does not show
 * whether it is a request. The id of a response must not be sent back, because the client would
 * take it for the id of one of its own requests. */
static void put_id(mcp_http_connection *c, const struct refusal *r, mcp__buf *id)
{
    mcp_str body = mcp__http_body(c);
    mcp_json_doc *doc = NULL;
    mcp__message m;
    bool costs = body.len > ONE_WRITE && r->has_limit && r->status == 503;
    if (r->anonymous || costs || mcp__http_is_partial(c) || c->http_method != HTTP_POST ||
        mcp_json_parse(body, NULL, c->http->allocator, &doc, NULL) != MCP_OK)
        return;
    mcp__message_read(mcp_json_root(doc), &m);
    if (m.kind == MCP__REQUEST)
        mcp__put_id(id, m.id);
    mcp_json_free(doc);
}

static void put_text(const mcp_http *http, mcp__http_refusal why, mcp__buf *text)
{
    const struct refusal *r = &refusals[why];
    const char *at = r->has_limit ? strstr(r->text, "%zu") : NULL;
    if (at) {
        mcp__buf_add(text, r->text, (size_t)(at - r->text));
        mcp__buf_printf(text, "%zu%s", mcp__http_limit_of(http, why), at + 3);
    } else {
        mcp__buf_str(text, mcp_str_from(r->text));
    }
    if (r->option)
        mcp__buf_printf(text, " (%s)", mcp__http_option_name(http, r->option));
}

static const char *allowed(const mcp_http_connection *c, mcp__http_refusal why)
{
    if (why == MCP__HTTP_POST_ONLY)
        return "POST";
    if (why == MCP__HTTP_NOT_ALLOWED && c->target == MCP__HTTP_DUPLEX)
        return "GET, POST";
    if (refusals[why].status != 405)
        return NULL;
    const char *others = c->target == MCP__HTTP_PAGE ? "GET, HEAD, POST" : "GET";
    return c->target == MCP__HTTP_ENDPOINT ? "POST, GET, DELETE" : others;
}

static int code_of(mcp__http_refusal why)
{
    int code = refusals[why].status == 503 ? MCP__INTERNAL_ERROR : MCP__INVALID_REQUEST;
    return refusals[why].code ? refusals[why].code : code;
}

/* Refuses a request. `known` is the id of the request as JSON text; if it is empty, the id is read
 * from the body. */
static void refuse_with(mcp_http_connection *c, mcp__http_refusal why, mcp_str known)
{
    const struct refusal *r = &refusals[why];
    const mcp_allocator *a = c->http->allocator;
    mcp__buf id, text, body, lines;
    mcp__buf_init(&id, a, 0);
    mcp__buf_init(&text, a, 0);
    mcp__buf_init(&body, a, 0);
    mcp__buf_init(&lines, a, 0);
    c->refusal = (uint8_t)why;
    if (why != MCP__HTTP_NO_ROOM && why != MCP__HTTP_NO_SHARE)
        c->http->metrics.by_refusal[why]++;
    if (known.len)
        mcp__buf_str(&id, known);
    else
        put_id(c, r, &id);
    const mcp__http_denial *denial = mcp__http_denial_of(c, why);
    if (why >= MCP__HTTP_UNAUTHORIZED && why <= MCP__HTTP_SLOW_LOGIN)
        mcp__http_count_reason(&c->http->metrics, denial && denial->reason.len
                                                      ? denial->reason
                                                      : mcp_str_from(mcp__http_refusal_name(why)));
    if (denial && denial->message.len)
        mcp__buf_str(&text, denial->message);
    else
        put_text(c->http, why, &text);
    mcp__put_error(&body, id.failed ? (mcp_str){0} : mcp__buf_view(&id), MCP__NO_ID_ABSENT,
                   code_of(why), mcp__buf_view(&text), (mcp_str){0});
    mcp__http_answer answer = {.status = r->status, .type = "application/json"};
    answer.retry = r->status == 503 || r->status == 429;
    if (body.failed || text.failed)
        answer.type = NULL; /* out of memory: send only the status */
    else
        answer.body = mcp__buf_view(r->plain ? &text : &body);
    if (answer.type && r->plain)
        answer.type = "text/plain; charset=utf-8";
    answer.allow = allowed(c, why);
    if (why == MCP__HTTP_UNAUTHORIZED && !(denial && denial->challenges))
        put_header(&lines, "WWW-Authenticate", c->http->options.challenge);
    if (denial)
        mcp__buf_str(&lines, denial->lines);
    answer.retry &= !(denial && denial->retries);
    answer.lines = lines.failed ? (mcp_str){0} : mcp__buf_view(&lines);
    if (r->final)
        c->keep_alive = false;
    mcp__http_respond(c, &answer);
    mcp__buf_free(&id);
    mcp__buf_free(&text);
    mcp__buf_free(&body);
    mcp__buf_free(&lines);
}

void mcp__http_refuse(mcp_http_connection *c, mcp__http_refusal why)
{
    refuse_with(c, why, (mcp_str){0});
}

void mcp__http_complain_of(mcp_http *http, mcp__http_complaint *complaint, mcp__http_refusal why)
{
    mcp__buf text;
    mcp__buf_init(&text, http->allocator, 0);
    put_text(http, why, &text);
    mcp__http_complain(http, complaint, text.failed ? MCP_STR("-") : mcp__buf_view(&text));
    mcp__buf_free(&text);
}

/* ---- answers and memory ---------------------------------------------------------------------------------- */

bool mcp__http_has_room(const mcp_http_connection *c, mcp_str message)
{
    return message.len < SMALL || mcp__http_fits(c->http->budget, &c->charge, message.len);
}

/* Copies the id of a message that this server wrote. The caller frees the buffer, which is empty on
 * failure. */
static void find_id(const mcp_http_connection *c, mcp_str message, mcp__buf *id)
{
    mcp__buf_init(id, c->http->allocator, 0);
    if (!mcp__scan_id(message, c->http->allocator, id) || id->failed)
        id->len = 0;
}

void mcp__http_answer_fitting(mcp_http_connection *c, const mcp__http_answer *answer)
{
    mcp__buf id;
    if (mcp__http_has_room(c, answer->body)) {
        mcp__http_respond(c, answer);
        return;
    }
    find_id(c, answer->body, &id);
    refuse_with(c, mcp__http_no_room(c, answer->body.len), mcp__buf_view(&id));
    mcp__buf_free(&id);
}

mcp_str mcp__http_fitting(mcp_http_connection *c, mcp_str message, mcp__buf *instead, int *code)
{
    mcp__buf id, text;
    mcp__buf_init(instead, c->http->allocator, 0);
    if (mcp__http_has_room(c, message))
        return message;
    mcp__http_refusal why = mcp__http_no_room(c, message.len);
    mcp__buf_init(&text, c->http->allocator, 0);
    find_id(c, message, &id);
    put_text(c->http, why, &text);
    mcp__put_error(instead, mcp__buf_view(&id), MCP__NO_ID_ABSENT, code_of(why),
                   mcp__buf_view(&text), (mcp_str){0});
    *code = code_of(why);
    mcp__buf_free(&id);
    mcp__buf_free(&text);
    return instead->failed ? (mcp_str){0} : mcp__buf_view(instead);
}

int mcp__http_put_cut(const mcp_http *http, mcp_str id, mcp__buf *error)
{
    mcp__buf text;
    mcp__buf_init(error, http->allocator, 0);
    mcp__buf_init(&text, http->allocator, 0);
    put_text(http, MCP__HTTP_CUT, &text);
    mcp__put_error(error, id, MCP__NO_ID_ABSENT, code_of(MCP__HTTP_CUT), mcp__buf_view(&text),
                   (mcp_str){0});
    mcp__buf_free(&text);
    return code_of(MCP__HTTP_CUT);
}

void mcp__http_cut_off(mcp_http_connection *c, mcp_str id)
{
    mcp__buf error;
    if (c->phase != MCP__HTTP_STREAMING) {
        refuse_with(c, MCP__HTTP_CUT, id);
        return;
    }
    int code = mcp__http_put_cut(c->http, id, &error);
    if (!error.failed)
        mcp__http_sse_message(c, mcp__buf_view(&error));
    mcp__http_sse_end(c, code);
    mcp__buf_free(&error);
}
