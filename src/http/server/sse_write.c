/* sse_write.c: writes event streams (WHATWG HTML, 9.2, "Server-sent events"). Each event is one
 * chunk. HTTP/1.0 has no chunks: there, the end of the connection ends the stream.
 */
#include "http/server/connection.h"

#include <inttypes.h>
#include <stdio.h>

/* Returns whether events are chunks: the parser keeps the version until the next request. */
static bool is_chunked(const mcp_http_connection *c)
{
    return c->parser.http_minor >= 1;
}

static void chunk_begin(mcp_http_connection *c, size_t len)
{
    if (is_chunked(c))
        mcp__buf_printf(&c->http->out, "%zx\r\n", len);
}

static void chunk_end(mcp_http_connection *c)
{
    if (is_chunked(c))
        mcp__buf_lit(&c->http->out, "\r\n");
}

void mcp__http_sse_begin(mcp_http_connection *c)
{
    mcp__buf *b = &c->http->out;
    if (!is_chunked(c) || c->http->draining)
        c->keep_alive = false;
    mcp__http_put_head(c, 200);
    /* Proxies must neither cache nor buffer the events. */
    mcp__buf_lit(b, "Content-Type: text/event-stream\r\n"
                    "Cache-Control: no-cache, no-transform\r\n"
                    "X-Accel-Buffering: no\r\n");
    if (is_chunked(c))
        mcp__buf_lit(b, "Transfer-Encoding: chunked\r\n");
    mcp__buf_lit(b, "\r\n");
    mcp__http_set_phase(c, MCP__HTTP_STREAMING);
    c->http->metrics.streams++;
    c->http->metrics.streams_begun++;
}

static void put_event(mcp_http_connection *c, mcp_str head, mcp_str message)
{
    mcp__buf *b = &c->http->out;
    c->http->metrics.events++;
    chunk_begin(c, head.len + strlen("data: \n\n") + message.len);
    mcp__buf_str(b, head);
    mcp__buf_lit(b, "data: ");
    mcp__buf_str(b, message);
    mcp__buf_lit(b, "\n\n");
    chunk_end(c);
}

void mcp__http_sse_message(mcp_http_connection *c, mcp_str message)
{
    put_event(c, (mcp_str){0}, message);
}

void mcp__http_sse_event(mcp_http_connection *c, uint64_t stream, uint64_t event, uint64_t retry,
                         mcp_str message)
{
    char head[96];
    int len = snprintf(head, sizeof(head), "id: %" PRIu64 "-%" PRIu64 "\n", stream, event);
    if (retry)
        len += snprintf(head + len, sizeof(head) - (size_t)len, "retry: %" PRIu64 "\n", retry);
    put_event(c, (mcp_str){head, (size_t)len}, message);
}

void mcp__http_sse_typed(mcp_http_connection *c, mcp_str type, mcp_str data)
{
    char head[64];
    int len = snprintf(head, sizeof(head), "event: %.*s\n", (int)type.len, type.ptr);
    put_event(c, (mcp_str){head, (size_t)len}, data);
}

void mcp__http_sse_comment(mcp_http_connection *c)
{
    chunk_begin(c, 3);
    mcp__buf_lit(&c->http->out, ":\n\n");
    chunk_end(c);
}

void mcp__http_sse_raw(mcp_http_connection *c, mcp_str bytes)
{
    if (!bytes.len)
        return; /* an empty chunk would end the stream */
    chunk_begin(c, bytes.len);
    mcp__buf_str(&c->http->out, bytes);
    chunk_end(c);
    mcp__http_flush(c);
}

void mcp__http_sse_end(mcp_http_connection *c, int code)
{
    if (is_chunked(c))
        mcp__buf_lit(&c->http->out, "0\r\n\r\n");
    mcp__http_flush(c);
    mcp__http_finish(c, 200, code);
}
