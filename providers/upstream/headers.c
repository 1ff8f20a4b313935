/* headers.c: compares the Mcp-Param- headers of a call with its arguments, before the call is
 * forwarded (2026-07-28, basic/transports/streamable-http, "Custom Headers from Tool Parameters").
 *
 * Only the definition of a tool says which headers its calls need. The definitions come from lists
 * that the caller has read, and otherwise from a list that is read before the call (upstream_ask.learns).
 * The client makes the headers of the next hop anew.
 */
#include <string.h>

#include "session.h"

enum { MOST_TOOLS = 4096 }; /* number of tools with headers that a session remembers */

struct upstream_headers { /* sorted by name */
    mcp_tool_headers *headers;
    char *name; /* of the tool, at the other server */
};

static void headers_free(const upstream *up, const upstream_headers *h)
{
    mcp_tool_headers_free(h->headers);
    common_release(&up->alloc, h->name);
}

void upstream_headers_clear(upstream_session *s)
{
    while (s->n_headers)
        headers_free(s->up, &s->headers[--s->n_headers]);
    common_release(&s->up->alloc, s->headers);
    s->headers = NULL;
    s->room_headers = 0;
}

static mcp_str name_at(const void *array, size_t i)
{
    return mcp_str_from(((const upstream_headers *)array)[i].name);
}

static upstream_headers *find(const upstream_session *s, mcp_str name, size_t *at)
{
    bool found;
    *at = upstream_place(s->headers, s->n_headers, name_at, name, &found);
    return found ? &s->headers[*at] : NULL;
}

static bool make_room(upstream_session *s)
{
    size_t room = s->room_headers ? 2 * s->room_headers : 16;
    if (s->n_headers < s->room_headers)
        return true;
    upstream_headers *grown =
        s->n_headers < MOST_TOOLS
            ? s->up->alloc.resize(s->headers, room * sizeof(*grown), s->up->alloc.user)
            : NULL;
    if (!grown)
        return false;
    s->headers = grown;
    s->room_headers = room;
    return true;
}

/* Takes ownership of `headers`. */
static void add(upstream_session *s, size_t at, mcp_str name, mcp_tool_headers *headers)
{
    upstream_headers *all = make_room(s) ? s->headers : NULL;
    char *copy = all ? common_copy(&s->up->alloc, name.ptr, name.len) : NULL;
    if (!copy) {
        mcp_tool_headers_free(headers);
        return;
    }
    upstream_headers *h = &all[at];
    if (at < s->n_headers)
        memmove(h + 1, h, (s->n_headers - at) * sizeof(*h));
    s->n_headers++;
    *h = (upstream_headers){headers, copy};
}

/* Replaces what is known of a tool. `headers` is NULL if it has none. */
static void remember(upstream_session *s, mcp_str name, mcp_tool_headers *headers)
{
    size_t at;
    upstream_headers *h = find(s, name, &at);
    if (!h && headers) {
        add(s, at, name, headers);
    } else if (h && headers) {
        mcp_tool_headers_free(h->headers);
        h->headers = headers;
    } else if (h) {
        headers_free(s->up, h);
        memmove(h, h + 1, (--s->n_headers - at) * sizeof(*h));
    }
}

void upstream_headers_learn(upstream_session *s, const mcp_json *page)
{
    mcp_json_iter it = {0};
    const mcp_json *tools = mcp_json_get(page, "tools");
    for (const mcp_json *t; (t = mcp_json_next(tools, &it, NULL)) != NULL;) {
        mcp_str name = mcp_json_string(mcp_json_get(t, "name"));
        mcp_tool_headers *headers = NULL;
        if (!name.len || memchr(name.ptr, 0, name.len))
            continue;
        /* A client does not call a tool whose annotations are invalid. */
        (void)mcp_tool_headers_new(mcp_json_get(t, "inputSchema"), &s->up->alloc, &headers, NULL);
        remember(s, name, headers);
    }
}

void upstream_headers_page(const upstream_ask *a, const mcp_json *page)
{
    if (a->item != MCP_ITEM_TOOL || !a->f.req || !mcp_request_has_headers(a->f.req))
        return;
    upstream_headers_learn(a->session, page);
    if (!a->goes_on && !mcp_json_get(page, "nextCursor"))
        a->session->knows_tools = true;
}

int upstream_headers_check(const upstream *up, mcp_request *req, mcp_str tool)
{
    const char *principal = upstream_principal(up, mcp_request_principal(req));
    bool known = false;
    size_t at;
    if (!mcp_request_has_headers(req))
        return MCP_OK;
    for (const upstream_session *s = up->sessions; s; s = s->next) {
        if (!upstream_session_is_of(s, principal))
            continue;
        known |= s->knows_tools;
        const upstream_headers *h = find(s, tool, &at);
        if (h)
            return mcp_request_check_headers(req, h->headers);
    }
    return known ? MCP_OK : MCP_ENOTFOUND;
}
