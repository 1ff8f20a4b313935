/* names.c: see names.h. */
#define _GNU_SOURCE
#include "names.h"

#include <ctype.h>
#include <stdio.h>

/* ---- parts of a name ------------------------------------------------------------------------- */

static bool begins(mcp_str text, const char *with)
{
    size_t len = strlen(with);
    return text.len >= len && memcmp(text.ptr, with, len) == 0;
}

static mcp_str after(mcp_str text, size_t at)
{
    return (mcp_str){text.ptr + at, text.len - at};
}

/* Takes ":12" or ":12:5" from the end of a name. Returns the line, or 0. */
static uint64_t take_line(mcp_str *name)
{
    uint64_t number = 0;
    size_t at = name->len;
    for (int parts = 0; parts < 2; parts++) {
        size_t end = at;
        uint64_t value = 0, unit = 1;
        while (at && isdigit((unsigned char)name->ptr[at - 1]) && end - at < 9) {
            value += (uint64_t)(name->ptr[--at] - '0') * unit;
            unit *= 10;
        }
        if (at == end || at < 2 || name->ptr[at - 1] != ':')
            break;
        at--;
        name->len = at;
        number = value;
    }
    return number;
}

/* "a.py:12" is no URI of the scheme "a.py". */
static bool is_uri(mcp_str name)
{
    size_t at = 0;
    mcp_str path = name;
    while (at < name.len && (isalnum((unsigned char)name.ptr[at]) || strchr("+-.", name.ptr[at])))
        at++;
    if (!at || at == name.len || name.ptr[at] != ':')
        return false;
    take_line(&path);
    return path.len > at;
}

/* ---- making URIs ----------------------------------------------------------------------------- */

/* Encodes the characters that no URI has, and nothing else. */
static size_t encode_rest(mcp_str uri, char *to)
{
    size_t len = 0;
    for (size_t i = 0; i < uri.len; i++) {
        unsigned char c = (unsigned char)uri.ptr[i];
        if (c <= ' ' || c >= 0x7f || strchr("\"<>\\^`{|}", c)) {
            static const char digits[] = "0123456789ABCDEF";
            to[len++] = '%';
            to[len++] = digits[c >> 4];
            to[len++] = digits[c & 15];
        } else {
            to[len++] = (char)c;
        }
    }
    return len;
}

/* Adds the URI that begins with `head` and a slash, if it has none, and goes on with a path. */
static int add(mcp_request *req, bridge_names *to, mcp_str head, mcp_str path, uint64_t line)
{
    if (to->n == BRIDGE_NAMES)
        return MCP_OK;
    char *uri = mcp_request_alloc(req, head.len + 2 + MCP_URI_ENCODED_SIZE(path.len));
    if (!uri)
        return MCP_ENOMEM;
    size_t len = head.len;
    memcpy(uri, head.ptr, len);
    if (path.len && len && uri[len - 1] != '/')
        uri[len++] = '/';
    len += mcp_uri_encode_path(path, uri + len);
    for (size_t i = 0; i < to->n; i++)
        if (mcp_str_eq(to->items[i].uri, (mcp_str){uri, len}))
            return MCP_OK;
    to->items[to->n].uri = (mcp_str){uri, len};
    to->items[to->n].line = line;
    to->items[to->n++].file = begins(head, "file:");
    return MCP_OK;
}

static int add_uri(mcp_request *req, bridge_names *to, mcp_str uri, uint64_t line)
{
    char *made = mcp_request_alloc(req, 3 * uri.len + 1);
    if (!made)
        return MCP_ENOMEM;
    to->items[to->n].uri = (mcp_str){made, encode_rest(uri, made)};
    to->items[to->n].line = line;
    to->items[to->n++].file = begins(uri, "file:");
    return MCP_OK;
}

/* ---- relative paths -------------------------------------------------------------------------- */

static mcp_str root_at(const bridge_tools *all, const mcp_request *req, size_t index)
{
    const mcp_bridge_options *o = &all->bridge->options;
    const char *root = o->root ? o->root(req, index, o->user) : NULL;
    return root ? mcp_str_from(root) : (mcp_str){0};
}

static bool is_more(const bridge_tools *all, size_t index)
{
    const mcp_bridge_options *o = &all->bridge->options;
    return o->root && index < o->roots(o->user);
}

/* Returns whether the source has paths. Another server is not asked on suspicion. */
static bool has_paths(mcp_str root)
{
    return root.len && (begins(root, "file:") || root.ptr[root.len - 1] == '/');
}

/* Adds the path below one root. A path that begins with the root's name may be meant from outside. */
static int add_below(mcp_request *req, bridge_names *to, mcp_str root, mcp_str path, uint64_t line)
{
    bool git = begins(root, "git:");
    mcp_str name = bridge_last_piece(root);
    char head[300];
    int n = snprintf(head, sizeof(head), "%.*s%s", root.len < 200 ? (int)root.len : 200, root.ptr,
                     git ? "HEAD/" : "");
    mcp_str below = git ? (mcp_str){head, (size_t)n} : root;
    int rc = add(req, to, below, path, line);
    if (rc != MCP_OK || path.len < name.len || memcmp(path.ptr, name.ptr, name.len) != 0)
        return rc;
    if (path.len == name.len)
        return add(req, to, root, (mcp_str){0}, line);
    return path.ptr[name.len] == '/' ? add(req, to, below, after(path, name.len + 1), line) : rc;
}

static int add_path(bridge_tools *all, mcp_request *req, mcp_str path, uint64_t line,
                    bridge_names *to)
{
    int rc = MCP_OK;
    if (path.len && *path.ptr == '/')
        return add(req, to, MCP_STR("file://"), path, line);
    while (begins(path, "./"))
        path = after(path, 2);
    for (int files = 1; files >= 0; files--)
        for (size_t i = 0; rc == MCP_OK && is_more(all, i); i++) {
            mcp_str root = root_at(all, req, i);
            if (has_paths(root) && begins(root, "file:") == (files == 1))
                rc = add_below(req, to, root, path, line);
        }
    return rc;
}

/* ---- names ----------------------------------------------------------------------------------- */

mcp_str bridge_last_piece(mcp_str uri)
{
    const char *query = uri.len ? memchr(uri.ptr, '?', uri.len) : NULL;
    size_t len = query ? (size_t)(query - uri.ptr) : uri.len;
    len -= len && uri.ptr[len - 1] == '/';
    const char *slash = len ? memrchr(uri.ptr, '/', len) : NULL;
    size_t at = slash ? (size_t)(slash - uri.ptr) + 1 : 0;
    return (mcp_str){uri.ptr + at, len - at};
}

int bridge_names_of(bridge_tools *all, mcp_request *req, mcp_str name, bridge_names *ret)
{
    mcp_str path = name;
    ret->n = 0;
    uint64_t line = take_line(&path);
    if (is_uri(name)) {
        int rc = add_uri(req, ret, name, 0);
        return rc == MCP_OK && line && begins(name, "file:") ? add_uri(req, ret, path, line) : rc;
    }
    int rc = add_path(all, req, name, 0, ret);
    return rc == MCP_OK && line ? add_path(all, req, path, line, ret) : rc;
}

int bridge_under_of(bridge_tools *all, mcp_request *req, mcp_str name, bridge_names *names,
                    mcp_str *ret)
{
    names->n = 0;
    *ret = name;
    if (!name.len)
        return MCP_OK;
    int rc = is_uri(name) ? add_uri(req, names, name, 0) : add_path(all, req, name, 0, names);
    if (rc != MCP_OK || !names->n)
        return rc;
    size_t files = 0;
    for (size_t i = 0; i < names->n; i++)
        files += names->items[i].file;
    *ret = files < 2 ? names->items[0].uri : (mcp_str){0};
    return rc;
}
