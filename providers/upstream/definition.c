/* definition.c: compares definitions of tools. */
#include <stdio.h>
#include <string.h>

#include "approval.h"

static bool is_same(const mcp_json *a, const mcp_json *b, size_t *steps);

static bool is_same_object(const mcp_json *a, const mcp_json *b, size_t *steps)
{
    mcp_json_iter at_a = {0}, at_b = {0};
    mcp_str key, other;
    for (const mcp_json *v; (v = mcp_json_next(a, &at_a, &key)) != NULL;) {
        const mcp_json *w = mcp_json_next(b, &at_b, &other);
        if (!mcp_str_eq(key, other)) {
            size_t n = mcp_json_count(b);
            *steps -= n < *steps ? n : *steps;
            w = mcp_json_get_str(b, key);
        }
        if (!w || !is_same(v, w, steps))
            return false;
    }
    return true;
}

static bool is_same_array(const mcp_json *a, const mcp_json *b, size_t *steps)
{
    mcp_json_iter at_a = {0}, at_b = {0};
    for (const mcp_json *v; (v = mcp_json_next(a, &at_a, NULL)) != NULL;)
        if (!is_same(v, mcp_json_next(b, &at_b, NULL), steps))
            return false;
    return true;
}

/* The depth is limited by that of the parser. */
static bool is_same(const mcp_json *a, const mcp_json *b, size_t *steps)
{
    mcp_json_type type = mcp_json_typeof(a);
    if (!*steps || type != mcp_json_typeof(b) || mcp_json_count(a) != mcp_json_count(b))
        return false;
    --*steps;
    switch (type) {
    case MCP_JSON_OBJECT: return is_same_object(a, b, steps);
    case MCP_JSON_ARRAY: return is_same_array(a, b, steps);
    case MCP_JSON_STRING: return mcp_str_eq(mcp_json_string(a), mcp_json_string(b));
    case MCP_JSON_BOOL: return mcp_json_bool(a, false) == mcp_json_bool(b, false);
    case MCP_JSON_INT: /* an integer above INT64_MAX is compared as a double, too */
        return mcp_json_int(a, 0) == mcp_json_int(b, 0) &&
               mcp_json_number(a, 0) == mcp_json_number(b, 0);
    case MCP_JSON_REAL:
    case MCP_JSON_BIGINT: /* further digits are not known here */
        return mcp_json_number(a, 0) == mcp_json_number(b, 0);
    default: return true;
    }
}

bool mcp_tool_has(mcp_str member)
{
    return !mcp_str_eq(member, MCP_STR("name")) && !mcp_str_eq(member, MCP_STR("_meta"));
}

/* Adds the name of a member that differs. A name that the specification does not define is chosen
 * by the other server, and is not repeated. */
static void put_member(mcp_str member, char *what, size_t room)
{
    static const char *const known[] = {"title",       "description", "inputSchema", "outputSchema",
                                        "annotations", "execution",   "icons"};
    const char *name = "other members";
    size_t n = strlen(what);
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (mcp_str_eq(member, mcp_str_from(known[i])))
            name = known[i];
    if (room && !strstr(what, name))
        snprintf(what + n, room - n, "%s%s", n ? ", " : "", name);
}

/* Returns how many members of a definition differ from, or are missing in, another one. With `whole`
 * unset, only the missing ones count. */
static size_t differences(const mcp_json *a, const mcp_json *b, bool whole, size_t *steps,
                          char *what, size_t room)
{
    mcp_json_iter it = {0};
    mcp_str key;
    size_t n = 0;
    for (const mcp_json *v; (v = mcp_json_next(a, &it, &key)) != NULL;) {
        const mcp_json *other = mcp_tool_has(key) ? mcp_json_get_str(b, key) : v;
        if (other && (!whole || !mcp_tool_has(key) || is_same(v, other, steps)))
            continue;
        put_member(key, what, room);
        n++;
    }
    return n;
}

/* Returns the number of members that belong to a definition. A repeated member counts twice. */
static size_t members_of(const mcp_json *tool)
{
    mcp_json_iter it = {0};
    mcp_str key;
    size_t n = 0;
    while (mcp_json_next(tool, &it, &key))
        n += mcp_tool_has(key);
    return n;
}

bool upstream_differs(const mcp_json *before, const mcp_json *after, size_t *steps, char *what,
                      size_t room)
{
    enum { MOST_MEMBERS = 256 };
    if (room)
        *what = 0;
    if (mcp_json_count(before) > MOST_MEMBERS || mcp_json_count(after) > MOST_MEMBERS)
        return true;
    size_t n = differences(before, after, true, steps, what, room);
    n += differences(after, before, false, steps, what, room);
    return n || members_of(before) != members_of(after);
}

bool mcp_tool_differs(const mcp_json *before, const mcp_json *after, char *what, size_t room)
{
    size_t steps = UPSTREAM_STEPS;
    return upstream_differs(before, after, &steps, what, room);
}
