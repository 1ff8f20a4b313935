/* url.c: compares URLs in their normal form (RFC 3986 sections 6.2.2 and 6.2.3); see dpop.h. */
#include <mcp/uri.h>

#include "auth/dpop.h"
#include "uri/uri.h"

/* Removes the last segment of the path that begins at `start`, with the slash before it. */
static void remove_segment(mcp__buf *to, size_t start)
{
    while (to->len > start && to->ptr[to->len - 1] != '/')
        to->len--;
    if (to->len > start)
        to->len--;
}

/* Appends a normal path without its dot segments (RFC 3986 section 5.2.4). */
static void put_path(mcp__buf *to, mcp_str path)
{
    size_t start = to->len;
    while (path.ptr && path.len) {
        path = mcp__str_sub(path, 1); /* the slash */
        const char *slash = path.len ? memchr(path.ptr, '/', path.len) : NULL;
        mcp_str segment = {path.ptr, slash ? (size_t)(slash - path.ptr) : path.len};
        path = mcp__str_sub(path, segment.len);
        bool up = mcp_str_eq(segment, MCP_STR(".."));
        if (up)
            remove_segment(to, start);
        if (!up && !mcp_str_eq(segment, MCP_STR("."))) {
            mcp__buf_char(to, '/');
            mcp__buf_str(to, segment);
        } else if (!slash) {
            mcp__buf_char(to, '/');
        }
    }
    if (to->len == start)
        mcp__buf_char(to, '/');
}

/* Appends text with normalized percent-encoding. If `lower` is set, converts the text to lower
 * case, but not the digits of percent-encoded characters. */
static void put_normal(mcp__buf *to, mcp_str text, bool lower)
{
    char piece[3];
    for (size_t at = 0; at < text.len;) {
        size_t n = mcp__uri_normal(text, &at, piece);
        if (n == 1 && lower)
            piece[0] = mcp__lower(piece[0]);
        mcp__buf_add(to, piece, n);
        if (!n)
            return; /* mcp_uri_parse() refuses such text */
    }
}

static int put_url(mcp__buf *to, mcp_str text)
{
    mcp_uri uri;
    mcp__buf path;
    int rc = mcp_uri_parse(text, &uri, NULL);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? rc : MCP_EPARSE;
    bool https = mcp_uri_scheme_is(&uri, "https");
    if ((!https && !mcp_uri_scheme_is(&uri, "http")) || !uri.host.len || uri.has_userinfo)
        return MCP_EPARSE;
    mcp__buf_printf(to, "%s://%s", https ? "https" : "http", uri.is_ip_literal ? "[" : "");
    put_normal(to, uri.host, true);
    mcp__buf_printf(to, "%s:%d", uri.is_ip_literal ? "]" : "",
                    uri.port >= 0 ? uri.port
                    : https       ? 443
                                  : 80);
    mcp__buf_init(&path, to->allocator, 0);
    put_normal(&path, uri.path, false);
    if (!path.failed)
        put_path(to, mcp__buf_view(&path));
    rc = path.failed;
    mcp__buf_free(&path);
    return rc != MCP_OK ? rc : to->failed;
}

int mcp__dpop_same_url(mcp_str a, mcp_str b, const mcp_allocator *allocator, bool *same)
{
    mcp__buf first, second;
    mcp__buf_init(&first, mcp__allocator(allocator), 0);
    mcp__buf_init(&second, mcp__allocator(allocator), 0);
    int rc = put_url(&first, a);
    if (rc == MCP_OK)
        rc = put_url(&second, b);
    if (rc == MCP_OK)
        *same =
            first.ptr && second.ptr && mcp_str_eq(mcp__buf_view(&first), mcp__buf_view(&second));
    mcp__buf_free(&first);
    mcp__buf_free(&second);
    return rc;
}
