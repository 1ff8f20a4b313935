/* forward_request.c: forwards requests to other instances (mcp_http_relays), with libcurl.
 *
 * The request is sent at most once. If libcurl did not begin to send it, because there was no
 * connection, the endpoint may handle it otherwise.
 */
#define _GNU_SOURCE
#include "io/http_client/http_client.h"
#include "io/http_server/net.h"

enum { CONNECT_MS = 2000 };

typedef struct relay {
    mcp_listener *listener;
    mcp_http_relay *relay;
    mcp__transfer *transfer;
} relay;

static int64_t now_of(const relay *r)
{
    return mcp_loop_now(r->listener->net->loop);
}

static bool on_head(void *arg, const mcp__answer *answer)
{
    relay *r = arg;
    static const mcp_str types[] = {
        [MCP__MEDIA_JSON] = {"application/json", 16}, [MCP__MEDIA_SSE] = {"text/event-stream", 17}};
    size_t media = (size_t)answer->media;
    mcp_str type = media < MCP__COUNT(types) ? types[media] : (mcp_str){0};
    return mcp_http_relay_head(r->relay, answer->status, type, now_of(r));
}

static bool on_bytes(void *arg, mcp_str bytes)
{
    relay *r = arg;
    return mcp_http_relay_bytes(r->relay, bytes, now_of(r));
}

static void on_done(void *arg, int rc, const char *text)
{
    relay *r = arg;
    mcp_http_relay *ended = r->relay;
    int64_t now = now_of(r);
    bool unsent = rc != MCP_OK && !r->transfer->begun && !r->transfer->head_reported;
    (void)text;
    mcp__release(&r->listener->net->loop->allocator, r);
    mcp_http_relay_end(ended,
                       rc == MCP_OK ? MCP_HTTP_RELAY_DONE
                       : unsent     ? MCP_HTTP_RELAY_UNSENT
                                    : MCP_HTTP_RELAY_BROKEN,
                       now);
}

static const mcp__transfer_events events = {.head = on_head, .bytes = on_bytes, .done = on_done};

static int put_headers(mcp__headers *to, const mcp_http_relay_request *request)
{
    int rc = MCP_OK;
    for (size_t i = 0; i < request->n_headers && rc == MCP_OK; i++) {
        mcp_str line = mcp_str_from(request->headers[i]);
        const char *colon = memchr(line.ptr, ':', line.len);
        size_t name = colon ? (size_t)(colon - line.ptr) : line.len;
        rc = mcp__headers_add(to, (mcp_str){line.ptr, name},
                              mcp__str_sub(line, MCP__MIN(name + 1, line.len)));
    }
    return rc;
}

static mcp__method method_of(const char *name)
{
    return strcmp(name, "POST") == 0     ? MCP__POST
           : strcmp(name, "DELETE") == 0 ? MCP__DELETE
                                         : MCP__GET;
}

static int start(relay *r, mcp__multi *multi, const mcp_http_relay_request *request)
{
    static const char unix_scheme[] = "unix:";
    const size_t skip = sizeof(unix_scheme) - 1;
    bool local = strncmp(request->address, unix_scheme, skip) == 0;
    mcp__target target = {.unix_socket = local ? request->address + skip : NULL,
                          .proxy = "",
                          .ca_file = r->listener->instance_ca,
                          .connect_ms = CONNECT_MS,
                          .no_redirect = true};
    mcp__transfer_request t = {.method = method_of(request->method),
                               .body = request->body,
                               .once = true,
                               .target = &target,
                               .events = &events,
                               .arg = r};
    mcp__headers headers;
    mcp__buf url;
    mcp__buf_init(&url, &multi->loop->allocator, 0);
    mcp__buf_str(&url, mcp_str_from(local ? "http://localhost" : request->address));
    mcp__buf_str(&url, mcp_str_from(request->path));
    mcp__buf_char(&url, 0);
    mcp__headers_init(&headers, &multi->loop->allocator);
    int rc = url.failed ? url.failed : put_headers(&headers, request);
    t.headers = &headers;
    t.url = url.ptr;
    if (t.method == MCP__POST && !t.body.ptr)
        t.body.ptr = "";
    if (rc == MCP_OK && !local)
        rc = mcp__url_check(mcp_str_from(url.ptr), NULL);
    if (rc == MCP_OK)
        rc = mcp__transfer_start(multi, &t, &r->transfer);
    mcp__headers_free(&headers);
    mcp__buf_free(&url);
    return rc;
}

static int begin(mcp_http_relay *http, const mcp_http_relay_request *request, void **handle,
                 void *user)
{
    mcp_listener *l = user;
    mcp_loop *loop = l->net->loop;
    mcp__multi *multi = NULL;
    int rc = mcp__multi_get(loop, &multi, NULL);
    if (rc != MCP_OK)
        return rc;
    relay *r = mcp__zalloc(&loop->allocator, sizeof(*r));
    if (!r)
        return MCP_ENOMEM;
    mcp__ignore_sigpipe();
    r->listener = l;
    r->relay = http;
    rc = start(r, multi, request);
    if (rc != MCP_OK)
        mcp__release(&loop->allocator, r);
    else
        *handle = r;
    return rc;
}

/* libcurl no longer uses the body, which belongs to the endpoint: abandoned transfers are removed
 * before it is called again. */
static void cancel(void *handle, void *user)
{
    relay *r = handle;
    (void)user;
    mcp__transfer_abandon(r->transfer);
    mcp__release(&r->listener->net->loop->allocator, r);
}

void mcp__relays_set(mcp_listener *l)
{
    mcp_http_set_relays(l->http,
                        MCP_OPTIONS(mcp_http_relays, .send = begin, .cancel = cancel, .user = l));
}
