/* origin.c: is a request for us, and may what sent it talk to us?
 *
 * A page of a stranger in somebody's browser can reach a server on that somebody's machine: directly, and
 * then its Origin gives it away, or under a name of the stranger's that was pointed here (DNS rebinding),
 * and then the Host does. So both are compared with what is allowed, and the loopback is.
 */
#include "http/server/http.h"

static const mcp_str loopback[] = {{"localhost", 9}, {"127.0.0.1", 9}, {"[::1]", 5}};

static bool is_loopback(mcp_str name)
{
    for (size_t i = 0; i < MCP__COUNT(loopback); i++) {
        if (mcp__str_same(name, loopback[i]))
            return true;
    }
    return false;
}

/* Cuts ":port" off. False: what is behind the name is no port. */
static bool cut_port(mcp_str *host)
{
    size_t at = 0;
    if (host->len && host->ptr[0] == '[') {
        while (at < host->len && host->ptr[at] != ']')
            at++;
        at++;
    } else {
        while (at < host->len && host->ptr[at] != ':')
            at++;
    }
    if (at > host->len)
        return false;
    for (size_t i = at + 1; i < host->len; i++) {
        if (host->ptr[i] < '0' || host->ptr[i] > '9')
            return false;
    }
    bool ok = at == host->len || host->ptr[at] == ':';
    host->len = at;
    return ok && host->len;
}

static bool listed(const char *const *list, size_t n, mcp_str value)
{
    for (size_t i = 0; i < n; i++) {
        mcp_str allowed = mcp_str_from(list[i]);
        if (mcp_str_eq(allowed, MCP_STR("*")) || mcp__str_same(allowed, value))
            return true;
    }
    return false;
}

bool mcp__http_host_allowed(const mcp_http_options *o, mcp_str host)
{
    if (!cut_port(&host))
        return false;
    return is_loopback(host) || listed(o->allow_hosts, o->n_allow_hosts, host);
}

bool mcp__http_origin_allowed(const mcp_http_options *o, mcp_str origin)
{
    static const mcp_str schemes[] = {{"http://", 7}, {"https://", 8}};
    if (listed(o->allow_origins, o->n_allow_origins, origin))
        return true;
    for (size_t i = 0; i < MCP__COUNT(schemes); i++) {
        size_t len = schemes[i].len;
        if (origin.len <= len || !mcp__str_same((mcp_str){origin.ptr, len}, schemes[i]))
            continue;
        mcp_str host = mcp__str_sub(origin, len);
        return cut_port(&host) && is_loopback(host);
    }
    return false;
}
