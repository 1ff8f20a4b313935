/* scope.c: see scope.h. */
#include "protocol/scope.h"

bool mcp__scope_next(mcp_str *rest, mcp_str *ret)
{
    while (rest->len && rest->ptr[0] == ' ')
        *rest = mcp__str_sub(*rest, 1);
    const char *space = rest->len ? memchr(rest->ptr, ' ', rest->len) : NULL;
    *ret = (mcp_str){rest->ptr, space ? (size_t)(space - rest->ptr) : rest->len};
    *rest = mcp__str_sub(*rest, ret->len);
    return ret->len > 0;
}

bool mcp__scope_valid(mcp_str scope)
{
    for (size_t i = 0; i < scope.len; i++) {
        char c = scope.ptr[i];
        if (c <= ' ' || c >= 0x7F || c == '"' || c == '\\')
            return false;
    }
    return scope.len > 0;
}

bool mcp__scopes_valid(mcp_str list)
{
    for (mcp_str scope; mcp__scope_next(&list, &scope);) {
        if (!mcp__scope_valid(scope))
            return false;
    }
    return true;
}

bool mcp__scope_is_offline(mcp_str scope)
{
    return mcp_str_eq(scope, MCP_STR("offline_access"));
}

static bool has(mcp_str scopes, mcp_str wanted)
{
    for (mcp_str scope; mcp__scope_next(&scopes, &scope);) {
        if (mcp_str_eq(scope, wanted))
            return true;
    }
    return false;
}

/* `depth` bounds the recursion, also if rows imply each other in a circle. A chain that uses no row
 * twice has at most n rows. */
static bool covers(mcp_str granted, mcp_str wanted, const mcp__scope_implies *implies, size_t n,
                   size_t depth)
{
    if (has(granted, wanted))
        return true;
    for (size_t i = 0; i < n && depth; i++) {
        if (mcp_str_eq(implies[i].implied, wanted) &&
            covers(granted, implies[i].scope, implies, n, depth - 1))
            return true;
    }
    return false;
}

bool mcp__scopes_cover(mcp_str granted, mcp_str needed, const mcp__scope_implies *implies, size_t n)
{
    for (mcp_str scope; mcp__scope_next(&needed, &scope);) {
        if (!covers(granted, scope, implies, n, MCP__MIN(n, 8)))
            return false;
    }
    return true;
}
