/* bypass.c: passes bytes around the parser, where it would find nothing new in them.
 *
 * The parser stops before a long value that it would not interpret, such as that of Authorization,
 * and is given only the end of this value.
 *
 * A request whose head repeats the former one is taken without the parser, which still has the
 * method, version and flags of the former request. For the parser this request does not exist: the
 * next one follows the former one.
 */
#include "http/server/session.h"

enum {
    LONG_VALUE = 128, /* from this length on, values of headers are not left to the parser */
    /* Such a request has no Content-Length, or more to it than head and body. */
    SPECIAL = F_CHUNKED | F_TRANSFER_ENCODING | F_UPGRADE | F_CONNECTION_UPGRADE,
};

/* ---- long values ---------------------------------------------------------------------------- */

bool mcp__http_precedes_long(const mcp_http_connection *c)
{
    return c->head.opaque && c->name_end && c->parsed_end - c->name_end > LONG_VALUE &&
           !memchr(c->name_end, '\r', LONG_VALUE);
}

llhttp_errno_t mcp__http_take_value(mcp_http_connection *c, mcp_str *in)
{
    size_t n = mcp__http_plain(*in), from = 0;
    while (n && in->ptr[n - 1] == ' ')
        n--;
    while (from < n && in->ptr[from] == ' ')
        from++;
    c->at_value = false;
    llhttp_resume(&c->parser);
    if (n - from < 2)
        return HPE_OK;
    mcp_str value = {in->ptr + from, n - 1 - from};
    mcp__http_head_value(&c->head, value.ptr, value.len);
    c->bytes_in += n - 1;
    *in = mcp__str_sub(*in, n - 1);
    return mcp__http_measure(c, value.len, MCP__HTTP_LONG_HEAD) ? HPE_USER : HPE_OK;
}

/* ---- heads that repeat the former one ------------------------------------------------------- */

/* Returns whether a part of the head is not a matter of the next request. Of a proxy, the headers about
 * its client are read while they are parsed; what another instance forwards is checked once. */
static bool is_unique(const mcp_http_connection *c)
{
    return c->proxy || mcp__http_header(&c->head, MCP__HTTP_HOP).ptr;
}

void mcp__http_keep_head(mcp_http_connection *c)
{
    const char *start = c->started_at;
    bool whole = start && c->body_span.len && !c->body.len;
    c->started_at = NULL;
    if (whole && c->keep_alive && !c->refusal && !(c->parser.flags & SPECIAL) && !is_unique(c))
        mcp__http_repeat_keep(&c->head, (mcp_str){start, (size_t)(c->body_span.ptr - start)},
                              c->body_span.len);
}

bool mcp__http_take_head(mcp_http_connection *c, mcp_str *in)
{
    size_t body = 0;
    size_t len = mcp__http_repeat_take(&c->head, *in, c->http->options.max_header_bytes, &body);
    if (!len)
        return false;
    mcp__http_begin_request(c);
    c->bytes_in = len;
    c->parser.content_length = c->direct = body;
    *in = mcp__str_sub(*in, len);
    return true;
}

llhttp_errno_t mcp__http_take_body(mcp_http_connection *c, mcp_str *in)
{
    size_t len = MCP__MIN(in->len, c->direct);
    int rc = mcp__http_add_body(c, in->ptr, len);
    c->bytes_in += len;
    c->direct -= len;
    *in = mcp__str_sub(*in, len);
    if (c->direct)
        return (llhttp_errno_t)rc;
    c->parser.content_length = 0;
    c->complete = true;
    return rc ? (llhttp_errno_t)rc : HPE_PAUSED;
}
