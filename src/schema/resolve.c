/* resolve.c: resolves a URI reference against its base (RFC 3986 section 5.2).
 *
 * This file has only what schemas need: the syntax is not checked, and only dot segments are
 * normalized. A base may be relative, or have a scheme without a hierarchy (urn:). Two URIs are
 * equal if their bytes are equal.
 */
#include "schema/schema.h"

/* The components of section 3. The `has_` flags distinguish an empty component from a missing
 * one. */
typedef struct pieces {
    mcp_str scheme, authority, path, query;
    bool has_scheme, has_authority, has_query;
} pieces;

bool mcp__schema_split(mcp_str uri, mcp_str *without, mcp_str *fragment)
{
    const char *hash = uri.len ? memchr(uri.ptr, '#', uri.len) : NULL;
    size_t at = hash ? (size_t)(hash - uri.ptr) : uri.len;
    *without = (mcp_str){uri.ptr, at};
    *fragment = hash ? mcp__str_sub(uri, at + 1) : (mcp_str){"", 0};
    return hash != NULL;
}

static size_t until(mcp_str s, const char *stops)
{
    size_t i = 0;
    while (i < s.len && !strchr(stops, s.ptr[i]))
        i++;
    return i;
}

static size_t scheme_length(mcp_str s)
{
    size_t i = 0;
    if (s.len == 0 || !mcp__schema_letter(s.ptr[0]))
        return 0;
    while (i < s.len && (mcp__schema_letter(s.ptr[i]) || mcp__schema_digit(s.ptr[i]) ||
                         s.ptr[i] == '+' || s.ptr[i] == '-' || s.ptr[i] == '.'))
        i++;
    return i < s.len && s.ptr[i] == ':' ? i : 0;
}

/* s must not have a fragment. */
static pieces take_apart(mcp_str s)
{
    pieces p = {0};
    size_t n = scheme_length(s);
    if (n) {
        p.has_scheme = true;
        p.scheme = (mcp_str){s.ptr, n};
        s = mcp__str_sub(s, n + 1);
    }
    if (mcp__str_starts(s, MCP_STR("//"))) {
        s = mcp__str_sub(s, 2);
        n = until(s, "/?");
        p.has_authority = true;
        p.authority = (mcp_str){s.ptr, n};
        s = mcp__str_sub(s, n);
    }
    n = until(s, "?");
    p.path = (mcp_str){s.ptr, n};
    p.has_query = n < s.len;
    p.query = p.has_query ? mcp__str_sub(s, n + 1) : (mcp_str){"", 0};
    return p;
}

static size_t put(char *to, size_t at, mcp_str s)
{
    if (s.len)
        memcpy(to + at, s.ptr, s.len);
    return at + s.len;
}

/* Removes dot segments (section 5.2.4) in place, segment by segment. */
static size_t remove_dots(char *path, size_t len)
{
    size_t from = 0, to = 0;
    while (from < len) {
        size_t end = from + (path[from] == '/');
        while (end < len && path[end] != '/')
            end++;
        mcp_str segment = {path + from, end - from};
        bool last = end == len;
        if (mcp_str_eq(segment, MCP_STR("/.")) || mcp_str_eq(segment, MCP_STR("/.."))) {
            if (segment.len == 3) {
                while (to > 0 && path[to - 1] != '/')
                    to--;
                to -= to > 0;
            }
            if (last)
                path[to++] = '/';
        } else {
            memmove(path + to, path + from, segment.len);
            to += segment.len;
        }
        from = end;
    }
    return to;
}

/* Section 5.2.3: writes the base's path up to its last slash, then the reference's path. */
static size_t put_merged(char *to, size_t at, const pieces *base, mcp_str path)
{
    size_t n = base->path.len;
    while (n && base->path.ptr[n - 1] != '/')
        n--;
    if (n == 0 && base->has_authority)
        return put(to, put(to, at, MCP_STR("/")), path);
    return put(to, put(to, at, (mcp_str){base->path.ptr, n}), path);
}

static size_t put_path(char *to, size_t at, const pieces *base, const pieces *r, bool own)
{
    size_t start = at;
    if (r->path.len == 0 && !own)
        return put(to, at, base->path);
    if (own || r->path.ptr[0] == '/')
        at = put(to, at, r->path);
    else
        at = put_merged(to, at, base, r->path);
    return start + remove_dots(to + start, at - start);
}

int mcp__schema_resolve(mcp__arena *arena, mcp_str base, mcp_str reference, mcp_str *ret)
{
    mcp_str fragment;
    mcp__schema_split(base, &base, &fragment);
    mcp__schema_split(reference, &reference, &fragment);
    pieces b = take_apart(base), r = take_apart(reference);
    size_t at = 0;
    if (base.len > SCHEMA_MAX_URI || reference.len > SCHEMA_MAX_URI)
        return MCP_ELIMIT;
    char *to = mcp__arena_alloc(arena, base.len + reference.len + 8);
    if (!to)
        return MCP_ENOMEM;
    const pieces *scheme = r.has_scheme ? &r : &b;
    const pieces *authority = r.has_scheme || r.has_authority ? &r : &b;
    if (scheme->has_scheme)
        at = put(to, put(to, at, scheme->scheme), MCP_STR(":"));
    if (authority->has_authority)
        at = put(to, put(to, at, MCP_STR("//")), authority->authority);
    at = put_path(to, at, &b, &r, authority == &r);
    const pieces *query = r.has_query || r.path.len || authority == &r ? &r : &b;
    if (query->has_query)
        at = put(to, put(to, at, MCP_STR("?")), query->query);
    *ret = (mcp_str){to, at};
    return at > SCHEMA_MAX_URI ? MCP_ELIMIT : MCP_OK;
}
