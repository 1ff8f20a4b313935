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

struct upstream_headers {
    upstream_headers *next;
    mcp_tool_headers *headers;
    char name[]; /* of the tool, at the other server */
};

static void headers_free(const upstream *up, upstream_headers *h)
{
    mcp_tool_headers_free(h->headers);
    common_release(&up->alloc, h);
}

void upstream_headers_clear(upstream_session *s)
{
    while (s->headers) {
        upstream_headers *h = s->headers;
        s->headers = h->next;
        headers_free(s->up, h);
    }
    s->n_headers = 0;
}

static void forget(upstream_session *s, mcp_str name)
{
    upstream_headers **at = &s->headers, *h;
    while ((h = *at) != NULL && !mcp_str_eq(mcp_str_from(h->name), name))
        at = &h->next;
    if (!h)
        return;
    *at = h->next;
    s->n_headers--;
    headers_free(s->up, h);
}

/* Replaces what is known of a tool. */
static void remember(upstream_session *s, mcp_str name, mcp_tool_headers *headers)
{
    upstream_headers *h = NULL;
    forget(s, name);
    if (headers && s->n_headers < MOST_TOOLS)
        h = common_alloc(&s->up->alloc, sizeof(*h) + name.len + 1);
    if (!h) {
        mcp_tool_headers_free(headers);
        return;
    }
    *h = (upstream_headers){.next = s->headers, .headers = headers};
    memcpy(h->name, name.ptr, name.len);
    h->name[name.len] = 0;
    s->headers = h;
    s->n_headers++;
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
    if (!mcp_request_has_headers(req))
        return MCP_OK;
    for (const upstream_session *s = up->sessions; s; s = s->next) {
        if (!upstream_session_is_of(s, principal))
            continue;
        known |= s->knows_tools;
        for (const upstream_headers *h = s->headers; h; h = h->next) {
            if (mcp_str_eq(mcp_str_from(h->name), tool))
                return mcp_request_check_headers(req, h->headers);
        }
    }
    return known ? MCP_OK : MCP_ENOTFOUND;
}
