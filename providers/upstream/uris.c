/* uris.c: see uris.h. */
#include "uris.h"

#include <stdio.h>
#include <string.h>

static bool begins(mcp_str uri, const char *prefix)
{
    size_t len = strlen(prefix);
    return *prefix && uri.len > len && memcmp(uri.ptr, prefix, len) == 0;
}

static bool is_ui(const upstream *up, mcp_str uri)
{
    return begins(uri, up->ui_prefix);
}

bool upstream_uri_is_below(const upstream *up, mcp_str uri)
{
    return is_ui(up, uri) || uri.len > strlen(up->prefix);
}

mcp_str upstream_uri_there(const upstream *up, mcp_request *req, mcp_str uri)
{
    bool ui = is_ui(up, uri);
    size_t len = strlen(ui ? up->ui_prefix : up->prefix);
    mcp_str rest = {uri.ptr + len, uri.len - len};
    char *copy = ui ? mcp_request_alloc(req, rest.len + 6) : NULL;
    if (!ui)
        return rest;
    if (copy)
        snprintf(copy, rest.len + 6, "ui://%.*s", (int)rest.len, rest.ptr);
    return (mcp_str){copy, copy ? rest.len + 5 : 0};
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool is_unreserved(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~", c));
}

/* Returns whether a path segment is "." or "..". The other server might resolve such a URI to
 * another resource than the one that was checked. */
static bool has_dots(const char *uri)
{
    for (const char *at = uri; *at;) {
        size_t len = strcspn(at, "/:?#");
        if ((len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
            return true;
        at += len + (at[len] != 0);
    }
    return false;
}

/* Writes a canonical form, so that URIs that the other server might treat as equal are equal here:
 * unreserved characters are never percent-encoded. */
static int canonicalize(mcp_str uri, char *to, size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < uri.len; i++) {
        int high = uri.ptr[i] == '%' && i + 2 < uri.len ? digit(uri.ptr[i + 1]) : -1;
        int low = high >= 0 ? digit(uri.ptr[i + 2]) : -1;
        int c = low >= 0 ? high * 16 + low : (unsigned char)uri.ptr[i];
        if (c == 0)
            return MCP_ENOTFOUND;
        bool stays = low >= 0 && !is_unreserved(c);
        if (n + 4 > room)
            return MCP_ELIMIT;
        if (stays)
            n += (size_t)snprintf(to + n, room - n, "%%%02X", (unsigned)c);
        else
            to[n++] = (char)c;
        i += low >= 0 ? 2 : 0;
    }
    to[n] = 0;
    return MCP_OK;
}

/* The prefix alone is no resource, but stands for all of them in questions about access. */
int upstream_uri_resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    upstream *up = user;
    bool ui = is_ui(up, uri);
    size_t start = strlen(ui ? up->ui_prefix : up->prefix);
    int begun = snprintf(canonical, room, "%s%s", up->prefix, ui ? "ui://" : "");
    if (begun < 0 || (size_t)begun >= room)
        return MCP_ELIMIT;
    int rc = canonicalize((mcp_str){uri.ptr + start, uri.len - start}, canonical + begun,
                          room - (size_t)begun);
    if (rc != MCP_OK)
        return rc;
    return has_dots(canonical + strlen(up->prefix)) ? MCP_ENOTFOUND : MCP_OK;
}

char *upstream_uri_canonical(mcp_str original, const mcp_allocator *alloc)
{
    char *ret = common_alloc(alloc, original.len + 4);
    if (ret && (canonicalize(original, ret, original.len + 4) != MCP_OK || has_dots(ret))) {
        common_release(alloc, ret);
        return NULL;
    }
    return ret;
}
