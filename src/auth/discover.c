/* discover.c: the URLs of metadata, and the comparison of resources; see discover.h. */
#include <mcp/uri.h>

#include "auth/challenge.h"
#include "auth/discover.h"
#include "uri/uri.h"

#define RESOURCE_PATH "/.well-known/oauth-protected-resource"

static bool is_http(const mcp_uri *uri)
{
    return (mcp_uri_scheme_is(uri, "https") || mcp_uri_scheme_is(uri, "http")) && uri->host.len &&
           !uri->has_userinfo && !uri->has_fragment;
}

/* Parses an http or https URL without user, password and fragment, and sets *origin to the length
 * of its scheme, host and port. */
static int parse(mcp_str url, mcp_uri *uri, size_t *origin)
{
    int rc = mcp_uri_parse(url, uri, NULL);
    if (rc != MCP_OK || !is_http(uri))
        return rc == MCP_ENOMEM ? rc : MCP_EINVAL;
    *origin = url.len - (uri->has_query ? uri->query.len + 1 : 0) - uri->path.len;
    return MCP_OK;
}

int mcp__resource_url(mcp__buf *to, mcp_str server, size_t i)
{
    mcp_uri uri;
    size_t origin;
    int rc = parse(server, &uri, &origin);
    if (rc != MCP_OK || i == 0)
        return rc != MCP_OK ? rc : mcp__resource_metadata_url(to, server);
    if (i > 1 || (uri.path.len <= 1 && !uri.has_query))
        return MCP_ENOTFOUND; /* the URL is the same as in the step before */
    mcp__buf_add(to, server.ptr, origin);
    mcp__buf_lit(to, RESOURCE_PATH);
    return to->failed;
}

int mcp__issuer_url(mcp__buf *to, mcp_str issuer, size_t i)
{
    static const char *const names[] = {"/.well-known/oauth-authorization-server",
                                        "/.well-known/openid-configuration",
                                        "/.well-known/openid-configuration"};
    const size_t last = MCP__COUNT(names) - 1;
    mcp_uri uri;
    size_t origin;
    int rc = parse(issuer, &uri, &origin);
    if (rc != MCP_OK || uri.has_query)
        return rc == MCP_ENOMEM ? rc : MCP_EINVAL;
    mcp_str path = mcp__str_sub(issuer, origin);
    if (path.len && path.ptr[path.len - 1] == '/')
        path.len--;
    if (i > last || (i == last && !path.len))
        return MCP_ENOTFOUND; /* the URL is the same as in the step before */
    mcp_str name = mcp_str_from(names[i]);
    mcp__buf_add(to, issuer.ptr, origin);
    mcp__buf_str(to, i < last ? name : path);
    mcp__buf_str(to, i < last ? path : name);
    return to->failed;
}

bool mcp__oauth_url(mcp_str url, bool loopback)
{
    mcp_uri uri;
    size_t origin;
    if (parse(url, &uri, &origin) != MCP_OK)
        return false;
    return mcp_uri_scheme_is(&uri, "https") || (loopback && mcp__url_is_loopback(url));
}

/* ---- resources ------------------------------------------------------------------------------- */

static int port_of(const mcp_uri *uri)
{
    if (uri->port >= 0)
        return uri->port;
    return mcp_uri_scheme_is(uri, "https") ? 443 : 80;
}

static bool same_origin(const mcp_uri *a, const mcp_uri *b)
{
    return mcp__str_same(a->scheme, b->scheme) && mcp__str_same(a->host, b->host) &&
           a->is_ip_literal == b->is_ip_literal && port_of(a) == port_of(b);
}

/* Returns whether a path has a segment "." or "..", which may be encoded. */
static bool has_dots(mcp_str path)
{
    while (path.len) {
        char segment[8];
        size_t len = 0;
        path = mcp__str_sub(path, 1); /* the slash */
        const char *slash = path.len ? memchr(path.ptr, '/', path.len) : NULL;
        mcp_str raw = {path.ptr, slash ? (size_t)(slash - path.ptr) : path.len};
        path = mcp__str_sub(path, raw.len);
        if (mcp_uri_decode(raw, segment, sizeof(segment), &len) == MCP_OK && len && len <= 2 &&
            memcmp(segment, "..", len) == 0)
            return true;
    }
    return false;
}

static bool is_above(mcp_str folder, mcp_str path)
{
    while (folder.len && folder.ptr[folder.len - 1] == '/')
        folder.len--;
    return mcp__str_starts(path, folder) && (path.len == folder.len || path.ptr[folder.len] == '/');
}

bool mcp__resource_covers(mcp_str resource, mcp_str server)
{
    mcp_uri a, b;
    size_t origin;
    if (parse(resource, &a, &origin) != MCP_OK || parse(server, &b, &origin) != MCP_OK)
        return false;
    if (mcp_str_eq(resource, server))
        return true;
    if (!same_origin(&a, &b) || has_dots(a.path) || has_dots(b.path))
        return false;
    if (a.has_query)
        return b.has_query && mcp_str_eq(a.query, b.query) && mcp_str_eq(a.path, b.path);
    return is_above(a.path, b.path);
}

static mcp_str without_query(mcp_str url)
{
    const char *mark = url.len ? memchr(url.ptr, '?', url.len) : NULL;
    return (mcp_str){url.ptr, mark ? (size_t)(mark - url.ptr) : url.len};
}

bool mcp__resource_same(mcp_str a, mcp_str b)
{
    a = without_query(a);
    b = without_query(b);
    return mcp__resource_covers(a, b) && mcp__resource_covers(b, a);
}
