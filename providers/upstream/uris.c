/* uris.c: see uris.h.
 *
 * Another server may treat many spellings of a URI as one: it strips white space, changes upper case
 * to lower case, removes what it does not need, or parses the URI as a browser does. The rules and
 * lists of the configuration are compared with one spelling. So only URIs in a form that none of
 * this changes are passed on.
 */
#include "uris.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <mcp/uri.h>

static bool begins(mcp_str text, const char *with)
{
    size_t len = strlen(with);
    return text.len >= len && memcmp(text.ptr, with, len) == 0;
}

static mcp_str behind(mcp_str text, size_t n)
{
    return (mcp_str){text.ptr + n, text.len - n};
}

/* ---- the normal form ------------------------------------------------------------------------- */

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_unreserved(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~", c));
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Returns whether the character before or behind a "%XX" ends a segment. */
static bool is_edge(mcp_str uri, size_t at)
{
    return at >= uri.len || strchr("/:?&=", uri.ptr[at]);
}

/* Returns whether each "%XX" is in upper case and necessary, and is no control character or a blank
 * that others remove. */
static bool is_encoded_well(mcp_str uri)
{
    for (size_t i = 0; i < uri.len; i++) {
        if (uri.ptr[i] != '%')
            continue;
        int high = i + 2 < uri.len ? digit(uri.ptr[i + 1]) : -1;
        int low = high >= 0 ? digit(uri.ptr[i + 2]) : -1;
        int c = high * 16 + low;
        if (low < 0 || c < ' ' || c == 0x7f || is_unreserved(c) ||
            (c == ' ' && (is_edge(uri, i - 1) || is_edge(uri, i + 3))))
            return false;
    }
    return true;
}

/* Returns whether the text has neither letters in upper case nor "%XX". */
static bool is_lower(mcp_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '%' || is_upper(text.ptr[i]))
            return false;
    return true;
}

static bool has_empty_segment(mcp_str path)
{
    for (size_t i = 1; i < path.len; i++)
        if (path.ptr[i] == '/' && path.ptr[i - 1] == '/')
            return true;
    return false;
}

/* Some servers resolve "." and ".." also where RFC 3986 does not. */
static bool has_dots(mcp_str uri)
{
    for (size_t from = 0, at = 0; at <= uri.len; at++) {
        if (at < uri.len && !strchr("/:?", uri.ptr[at]))
            continue;
        size_t len = at - from;
        if ((len == 1 || len == 2) && memcmp(uri.ptr + from, "..", len) == 0)
            return true;
        from = at + 1;
    }
    return false;
}

static bool is_port(mcp_str written, int port)
{
    char text[16];
    int len = snprintf(text, sizeof(text), ":%d", port);
    return !written.len ||
           (written.len == (size_t)len && memcmp(written.ptr, text, written.len) == 0);
}

/* The authority is a host in lower case, which a port without leading zeros may follow. */
static bool is_authority_normal(const mcp_uri *uri)
{
    size_t brackets = uri->is_ip_literal ? 2 : 0;
    size_t begin = uri->scheme.len + 3 + uri->host.len + brackets;
    size_t end = (size_t)(uri->path.ptr - uri->text.ptr);
    if (!uri->has_authority)
        return true;
    return !uri->has_userinfo && is_lower(uri->host) && begin <= end &&
           is_port((mcp_str){uri->text.ptr + begin, end - begin}, uri->port);
}

/* Returns whether an address is written as everybody writes it. A host that ends with a number is an
 * address for those who parse URIs as browsers do. */
static bool is_host_normal(const mcp_uri *uri)
{
    char host[INET6_ADDRSTRLEN], again[INET6_ADDRSTRLEN];
    unsigned char address[16];
    size_t last = uri->host.len;
    while (last && uri->host.ptr[last - 1] != '.')
        last--;
    bool number = last < uri->host.len && digit(uri->host.ptr[last]) >= 0;
    int family = uri->is_ip_literal ? AF_INET6 : AF_INET;
    if (!uri->is_ip_literal && !number)
        return !uri->host.len ||
               (last < uri->host.len && !memchr(uri->host.ptr, '%', uri->host.len));
    snprintf(host, sizeof(host), "%.*s", (int)(uri->host.len < 64 ? uri->host.len : 0),
             uri->host.ptr);
    return inet_pton(family, host, address) == 1 &&
           inet_ntop(family, address, again, sizeof(again)) && strcmp(host, again) == 0;
}

/* Schemes whose URIs have more than one spelling for those who parse them as browsers do. */
static const struct {
    const char *scheme;
    int port;
} special[] = {{"http", 80}, {"https", 443}, {"ws", 80}, {"wss", 443}, {"ftp", 21}, {"file", 0}};

static bool is_special_normal(const mcp_uri *uri)
{
    for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++) {
        if (!mcp_str_eq(uri->scheme, mcp_str_from(special[i].scheme)))
            continue;
        bool file = !special[i].port, local = mcp_str_eq(uri->host, MCP_STR("localhost"));
        return uri->has_authority && begins(uri->path, "/") && uri->port != special[i].port &&
               (file ? !local && uri->port < 0 : uri->host.len > 0) && is_host_normal(uri);
    }
    return true;
}

/* Skips the prefixes of mcpds behind the other server. */
static mcp_str skip_prefixes(mcp_str text)
{
    while (begins(text, "mcp+")) {
        size_t n = 4;
        while (n < text.len && is_unreserved(text.ptr[n]) && !is_upper(text.ptr[n]))
            n++;
        if (n == text.len || text.ptr[n] != ':')
            break;
        text = behind(text, n + 1);
    }
    return text;
}

/* Returns whether this is a URI of RFC 3986 without user and fragment, in its own normal form. */
static bool is_normal(mcp_str text)
{
    mcp_uri uri;
    text = skip_prefixes(text);
    return mcp_uri_parse(text, &uri, NULL) == MCP_OK && !uri.has_fragment && is_lower(uri.scheme) &&
           is_encoded_well(text) && !has_dots(text) && is_authority_normal(&uri) &&
           !has_empty_segment(uri.path) && is_special_normal(&uri);
}

/* Returns whether a variable stands where a port does. */
static bool is_of_port(mcp_str text, mcp_str variable)
{
    size_t n = variable.len;
    for (size_t i = 0; i + n + 3 <= text.len; i++) {
        const char *at = text.ptr + i;
        if (at[0] == ':' && at[1] == '{' && memcmp(at + 2, variable.ptr, n) == 0 &&
            at[2 + n] == '}')
            return true;
    }
    return false;
}

/* Returns whether a template leads to such URIs if its variables have this value. */
static bool expands_well(const mcp_uri_template *t, const char *value, const mcp_allocator *alloc)
{
    size_t n = mcp_uri_template_variable_count(t);
    mcp_uri_pair *pairs = common_alloc(alloc, (n + 1) * sizeof(*pairs));
    char *uri = NULL;
    for (size_t i = 0; pairs && i < n; i++) {
        mcp_str name = mcp_uri_template_variable(t, i);
        bool port = is_of_port(mcp_uri_template_text(t), name);
        pairs[i] = (mcp_uri_pair){.name = name, .value = mcp_str_from(port ? "1" : value)};
    }
    bool ok = pairs && mcp_uri_template_expand_strings(t, pairs, n, alloc, &uri, NULL) == MCP_OK;
    ok = ok && is_normal((mcp_str){uri, strcspn(uri, "#")});
    common_release(alloc, uri);
    common_release(alloc, pairs);
    return ok;
}

/* A variable that may have slashes may have to begin with one. */
static bool is_template_normal(mcp_str text, const mcp_allocator *alloc)
{
    mcp_uri_template *t = NULL;
    bool ok = mcp_uri_template_parse(text, alloc, &t, NULL) == MCP_OK &&
              (begins(text, "{") || expands_well(t, "a", alloc) || expands_well(t, "/a", alloc));
    mcp_uri_template_free(t);
    return ok;
}

bool upstream_uri_exists(mcp_item item, mcp_str original, const mcp_allocator *alloc)
{
    return item == MCP_ITEM_TEMPLATE ? is_template_normal(original, alloc) : is_normal(original);
}

mcp_str upstream_uri_path(mcp_item item, mcp_str original)
{
    for (size_t i = 0; i < original.len; i++) {
        bool expression = item == MCP_ITEM_TEMPLATE && original.ptr[i] == '{' &&
                          i + 1 < original.len && strchr("?&", original.ptr[i + 1]);
        if (original.ptr[i] == '?' || expression)
            return (mcp_str){original.ptr, i};
    }
    return original;
}

/* ---- prefixes -------------------------------------------------------------------------------- */

static bool is_ui(const upstream *up, mcp_str uri)
{
    return *up->ui_prefix && begins(uri, up->ui_prefix);
}

bool upstream_uri_is_below(const upstream *up, mcp_str uri)
{
    const char *prefix = is_ui(up, uri) ? up->ui_prefix : up->prefix;
    return begins(uri, prefix) && uri.len > strlen(prefix);
}

mcp_str upstream_uri_there(const upstream *up, mcp_request *req, mcp_str uri)
{
    static const char scheme[] = "ui://";
    const size_t n = sizeof(scheme) - 1;
    bool ui = is_ui(up, uri);
    mcp_str rest = behind(uri, strlen(ui ? up->ui_prefix : up->prefix));
    char *copy = ui ? mcp_request_alloc(req, n + rest.len + 1) : NULL;
    if (!ui)
        return rest;
    if (copy) {
        memcpy(copy, scheme, n);
        memcpy(copy + n, rest.ptr, rest.len);
        copy[n + rest.len] = 0;
    }
    return (mcp_str){copy, copy ? n + rest.len : 0};
}

/* The prefix alone is no resource, but stands for all of them in questions about access. */
int upstream_uri_resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    const upstream *up = user;
    bool ui = is_ui(up, uri);
    const char *prefix = ui ? up->ui_prefix : up->prefix;
    if (!begins(uri, prefix))
        return MCP_ENOTFOUND;
    mcp_str rest = behind(uri, strlen(prefix));
    int head = snprintf(canonical, room, "%s%s", up->prefix, ui ? "ui://" : "");
    if (head < 0 || (size_t)head + rest.len >= room)
        return MCP_ELIMIT;
    memcpy(canonical + head, rest.ptr, rest.len);
    canonical[(size_t)head + rest.len] = 0;
    size_t from = strlen(up->prefix);
    bool exists = is_normal((mcp_str){canonical + from, (size_t)head + rest.len - from});
    return exists || !rest.len ? MCP_OK : MCP_ENOTFOUND;
}
