/* origin.c: checks http and https URLs, and compares their origins. */
#include "uri/uri.h"

static bool is_http(const mcp_uri *u)
{
    return (mcp_uri_scheme_is(u, "http") || mcp_uri_scheme_is(u, "https")) && u->has_authority &&
           u->host.len;
}

static int port_of(const mcp_uri *u)
{
    if (u->port >= 0)
        return u->port;
    return mcp_uri_scheme_is(u, "https") ? 443 : 80;
}

static bool is_upgrade(const mcp_uri *from, const mcp_uri *to)
{
    return mcp_uri_scheme_is(from, "http") && port_of(from) == 80 &&
           mcp_uri_scheme_is(to, "https") && port_of(to) == 443;
}

bool mcp__url_same_origin(mcp_str from, mcp_str to)
{
    mcp_uri a, b;
    if (mcp_uri_parse(from, &a, NULL) < 0 || mcp_uri_parse(to, &b, NULL) < 0 || !is_http(&a) ||
        !is_http(&b))
        return false;
    if (!mcp__str_same(a.host, b.host) || a.is_ip_literal != b.is_ip_literal)
        return false;
    return (mcp__str_same(a.scheme, b.scheme) && port_of(&a) == port_of(&b)) || is_upgrade(&a, &b);
}

int mcp__url_check(mcp_str url, mcp_error *error)
{
    mcp_uri u;
    int rc = mcp_uri_parse(url, &u, error);
    if (rc == MCP_ENOMEM)
        return rc;
    if (rc < 0 || !is_http(&u))
        return mcp__fail(error, MCP_EINVAL, 0, "this is not an http:// or https:// URL");
    /* Passwords in URLs leak into logs and error messages. Fragments are never sent. */
    if (u.has_userinfo)
        return mcp__fail(error, MCP_EINVAL, 0,
                         "a URL must not contain a user or password; send a header instead");
    if (u.has_fragment)
        return mcp__fail(error, MCP_EINVAL, 0, "a URL must not contain a fragment (#)");
    return MCP_OK;
}

static bool is_loopback_number(mcp_str host)
{
    if (!mcp__str_starts(host, MCP_STR("127.")))
        return false;
    size_t dots = 0;
    for (size_t i = 0; i < host.len; i++) {
        if (host.ptr[i] == '.')
            dots++;
        else if (host.ptr[i] < '0' || host.ptr[i] > '9')
            return false;
    }
    return dots == 3;
}

bool mcp__url_is_loopback(mcp_str url)
{
    mcp_uri u;
    if (mcp_uri_parse(url, &u, NULL) < 0 || !is_http(&u))
        return false;
    if (u.is_ip_literal)
        return mcp_str_eq(u.host, MCP_STR("::1"));
    return mcp__str_same(u.host, MCP_STR("localhost")) || is_loopback_number(u.host);
}
