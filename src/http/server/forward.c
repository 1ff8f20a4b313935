/* forward.c: forwards a request to the instance that has its session, and passes the answer back.
 *
 * A single answer is collected and sent as one; an event stream is passed on as it arrives. If the
 * instance was not reached, or another process answers at its address, nothing was done there: the
 * request is then handled once more, here (http_session.c decides how). In all other cases it is
 * never sent twice.
 */
#include "http/server/http_session.h"

enum { MOST_HEADERS = 64 };

struct mcp_http_relay {
    mcp_http_connection *c;
    void *handle;    /* of the transport */
    mcp__buf text;   /* the address, the path and the headers, each with a NUL */
    size_t path;     /* where the path is in `text` */
    mcp__buf body;   /* of the request */
    mcp__buf answer; /* its body, if it is no event stream */
    int status;      /* of the answer; 0 before its head */
    bool json;       /* the type of the answer */
    bool streams;
};

static void relay_free(mcp_http_relay *r)
{
    mcp_http *http = r->c->http;
    r->c->other.relay = NULL;
    mcp__buf_wipe(&r->text); /* has the token */
    mcp__buf_free(&r->body);
    mcp__buf_free(&r->answer);
    mcp__release(http->allocator, r);
}

void mcp__relay_drop(mcp_http_connection *c)
{
    mcp_http_relay *r = mcp__relay_of(c);
    if (!r)
        return;
    void *handle = r->handle;
    relay_free(r);
    if (handle)
        c->http->relays.cancel(handle, c->http->relays.user);
}

void mcp_http_set_relays(mcp_http *http, const mcp_http_relays *relays)
{
    http->relays = *relays;
}

/* ---- the request ----------------------------------------------------------------------------- */

typedef struct header_list {
    size_t at[MOST_HEADERS]; /* offsets in `text` */
    size_t n;
} header_list;

static void put_header(mcp__buf *b, header_list *list, mcp_str name, mcp_str value)
{
    if (!value.ptr || list->n == MOST_HEADERS)
        return;
    list->at[list->n++] = b->len;
    mcp__buf_str(b, name);
    mcp__buf_lit(b, ": ");
    mcp__buf_str(b, value);
    mcp__buf_char(b, 0);
}

/* The headers Mcp-Param-*, DPoP, and those with which the program authenticates callers. */
static void put_params(const mcp_http_connection *c, mcp__buf *b, header_list *list)
{
    mcp_str name, value;
    for (uint32_t at = 0; mcp__http_next_param(&c->head, &at, &name, &value);)
        put_header(b, list, name, value);
}

/* Headers that decide who sent the request, or what it means. */
static void put_headers(const mcp_http_connection *c, const mcp__forward_head *head, mcp__buf *b,
                        header_list *list)
{
    static const struct {
        mcp_str name;
        mcp__http_known known;
    } kept[] = {
        {{"Accept", 6}, MCP__HTTP_ACCEPT},
        {{"Authorization", 13}, MCP__HTTP_AUTHORIZATION},
        {{"Mcp-Method", 10}, MCP__HTTP_METHOD},
        {{"Mcp-Name", 8}, MCP__HTTP_NAME},
        {{"Last-Event-ID", 13}, MCP__HTTP_LAST_EVENT},
        {{"traceparent", 11}, MCP__HTTP_TRACEPARENT},
    };
    if (c->http_method == HTTP_POST)
        put_header(b, list, MCP_STR("Content-Type"), MCP_STR("application/json"));
    put_header(b, list, MCP_STR("Mcp-Session-Id"), head->session);
    put_header(b, list, MCP_STR("MCP-Protocol-Version"), head->revision);
    for (size_t i = 0; i < MCP__COUNT(kept); i++)
        put_header(b, list, kept[i].name, mcp__http_header(&c->head, kept[i].known));
    put_params(c, b, list);
}

mcp__forward_head mcp__forward_head_of(const mcp_http_connection *c)
{
    return (mcp__forward_head){.session = mcp__http_header(&c->head, MCP__HTTP_SESSION),
                               .revision = mcp__http_header(&c->head, MCP__HTTP_REVISION)};
}

static int put_request(mcp_http_relay *r, const char *instance, mcp_str address,
                       const mcp__forward_head *head, header_list *list)
{
    mcp__buf forwarded;
    mcp__buf_str(&r->text, address);
    mcp__buf_char(&r->text, 0);
    r->path = r->text.len;
    mcp__buf_str(&r->text, mcp__http_text(&r->c->head, r->c->head.path));
    mcp__buf_char(&r->text, 0);
    put_headers(r->c, head, &r->text, list);
    mcp__buf_init(&forwarded, r->c->http->allocator, 0);
    int rc = mcp__forwarded_put(r->c, instance, head, mcp__buf_view(&r->body), &forwarded);
    put_header(&r->text, list, MCP_STR(MCP__FORWARDED_HEADER), mcp__buf_view(&forwarded));
    mcp__buf_free(&forwarded);
    return rc == MCP_OK ? r->text.failed : rc;
}

static int send(mcp_http_relay *r, const header_list *list)
{
    const mcp_http *http = r->c->http;
    const char *headers[MOST_HEADERS];
    for (size_t i = 0; i < list->n; i++)
        headers[i] = r->text.ptr + list->at[i];
    const mcp_http_relay_request request = {
        .size = sizeof(request),
        .address = r->text.ptr,
        .method = llhttp_method_name((llhttp_method_t)r->c->http_method),
        .path = r->text.ptr + r->path,
        .headers = headers,
        .n_headers = list->n,
        .body = mcp__buf_view(&r->body),
    };
    return http->relays.send(r, &request, &r->handle, http->relays.user);
}

mcp__http_refusal mcp__relay_start(mcp_http_connection *c, const char *instance, mcp_str address,
                                   const mcp__forward_head *head)
{
    mcp_http *http = c->http;
    mcp_str body = mcp__http_body(c);
    header_list list = {.n = 0};
    if (!http->relays.send)
        return MCP__HTTP_NO_SESSION;
    if (!mcp__http_fits(http->budget, &c->charge, body.len))
        return mcp__http_no_room(c, body.len);
    mcp_http_relay *r = mcp__zalloc(http->allocator, sizeof(*r));
    if (!r)
        return MCP__HTTP_NO_MEMORY;
    r->c = c;
    mcp__buf_init(&r->text, http->allocator, 0);
    mcp__buf_init(&r->body, http->allocator, 0);
    mcp__buf_init(&r->answer, http->allocator, http->options.max_reply);
    c->other.relay = r;
    mcp__buf_str(&r->body, body);
    int rc = r->body.failed ? r->body.failed : put_request(r, instance, address, head, &list);
    if (rc == MCP_OK)
        rc = send(r, &list);
    if (rc != MCP_OK) {
        relay_free(r);
        return rc == MCP_ENOMEM ? MCP__HTTP_NO_MEMORY : MCP__HTTP_NO_INSTANCE;
    }
    http->metrics.forwarded++;
    c->message = r->body.cap + r->text.cap;
    mcp__http_connection_charge(c);
    return MCP__HTTP_FINE;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void begin_stream(mcp_http_relay *r)
{
    mcp_http_connection *c = r->c;
    r->streams = true;
    mcp__http_sse_begin(c);
    mcp__http_flush(c);
    if (!mcp__relay_of(c))
        return;
    mcp__buf_free(&r->body);
    mcp__buf_wipe(&r->text);
    c->message = 0;
    if (c->http_method == HTTP_GET)
        mcp__http_trim_stream(c);
    mcp__http_connection_charge(c);
    if (c->http->draining && c->http_method == HTTP_GET)
        mcp__http_end_stream(c);
}

static void leave(mcp_http *http)
{
    mcp__http_leave(http);
    mcp__http_call_wake(http);
}

bool mcp_http_relay_head(mcp_http_relay *r, int status, mcp_str type, int64_t now)
{
    mcp_http_connection *c = r->c;
    mcp_http *http = c->http;
    mcp_str json = MCP_STR("application/json"), events = MCP_STR("text/event-stream");
    mcp__http_enter(http, now);
    r->status = status;
    r->json = mcp__str_starts(type, json);
    if (status == 200 && mcp__str_starts(type, events) && c->head.accepts & MCP__HTTP_SSE)
        begin_stream(r);
    bool goes_on = mcp__relay_of(c) != NULL;
    if (goes_on)
        mcp__http_connection_arm(c);
    leave(http);
    return goes_on;
}

bool mcp_http_relay_bytes(mcp_http_relay *r, mcp_str bytes, int64_t now)
{
    mcp_http_connection *c = r->c;
    mcp_http *http = c->http;
    mcp__http_enter(http, now);
    if (!r->streams)
        mcp__buf_str(&r->answer, bytes);
    else if (!mcp__http_has_room(c, bytes))
        mcp__http_close(c, MCP_HTTP_ABORT); /* the client does not read */
    else
        mcp__http_sse_raw(c, bytes);
    bool goes_on = mcp__relay_of(c) != NULL;
    if (goes_on && !r->streams) {
        c->message = r->body.cap + r->text.cap + r->answer.cap;
        mcp__http_connection_charge(c);
    }
    leave(http);
    return goes_on;
}

static void answer(mcp_http_connection *c, const mcp_http_relay *r)
{
    mcp__http_answer a = {.status = r->status,
                          .body = mcp__buf_view(&r->answer),
                          .retry = r->status == 503 || r->status == 429};
    if (a.body.len)
        a.type = r->json ? "application/json" : "text/plain; charset=utf-8";
    if (r->answer.failed == MCP_ELIMIT || !mcp__http_has_status(r->status))
        mcp__http_refuse(c, MCP__HTTP_NO_INSTANCE);
    else if (r->answer.failed)
        mcp__http_refuse(c, MCP__HTTP_NO_MEMORY);
    else
        mcp__http_answer_fitting(c, &a);
}

/* Handles the request again, because the instance is gone. */
static void handle_here(mcp_http_connection *c)
{
    c->instance_gone = true;
    mcp__http_handle(c);
}

static void finish(mcp_http_connection *c, const mcp_http_relay *r, mcp_http_relay_outcome how)
{
    if (r->streams && how == MCP_HTTP_RELAY_DONE)
        mcp__http_sse_end(c, 0);
    else if (r->streams)
        mcp__http_close(c, MCP_HTTP_CLOSE); /* without the last chunk: the stream broke off */
    else if (how == MCP_HTTP_RELAY_UNSENT || (how == MCP_HTTP_RELAY_DONE && r->status == 421))
        handle_here(c);
    else if (how == MCP_HTTP_RELAY_DONE)
        answer(c, r);
    else
        mcp__http_refuse(c, MCP__HTTP_NO_INSTANCE);
}

void mcp_http_relay_end(mcp_http_relay *r, mcp_http_relay_outcome how, int64_t now)
{
    mcp_http_connection *c = r->c;
    mcp_http *http = c->http;
    mcp__http_enter(http, now);
    mcp_http_relay ended = *r;
    /* The buffers live until the end of this function. */
    mcp__buf_init(&r->text, http->allocator, 0);
    mcp__buf_init(&r->body, http->allocator, 0);
    mcp__buf_init(&r->answer, http->allocator, 0);
    relay_free(r);
    c->message = 0;
    c->body_span = mcp__buf_view(&ended.body); /* for the id in an error, or to handle it here */
    finish(c, &ended, how);
    c->body_span = (mcp_str){0};
    mcp__http_connection_charge(c);
    mcp__http_connection_arm(c);
    mcp__buf_wipe(&ended.text);
    mcp__buf_free(&ended.body);
    mcp__buf_free(&ended.answer);
    leave(http);
}
