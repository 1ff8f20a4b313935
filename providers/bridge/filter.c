/* filter.c: see filter.h. */
#include "filter.h"

#include "entry.h"
#include "pieces.h"

enum { MOST_PAGES = 20 /* of the list of templates */ };

static mcp_str member(const mcp_json *object, const char *key)
{
    return mcp_json_string(mcp_json_get(object, key));
}

static const char *variable(const bridge_walk *w)
{
    return w->ignore_case ? "icontains" : "contains";
}

/* ---- templates ------------------------------------------------------------------------------- */

static void put_token(mcp_json_writer *json, const void *user)
{
    const bridge_walk *w = user;
    if (w->after.len)
        mcp_json_put_str(json, "cursor", (mcp_str){w->after.ptr, w->after.len});
}

int bridge_ask_filters(bridge_walk *w)
{
    w->one = (common_ask){.req = w->req,
                          .method = "resources/templates/list",
                          .put = put_token,
                          .later = bridge_walk_later,
                          .user = w};
    return common_loopback_ask(w->all->bridge->loopback, &w->one);
}

static bool has_variable(const mcp_uri_template *t, const char *name)
{
    for (size_t i = 0; i < mcp_uri_template_variable_count(t); i++)
        if (mcp_str_eq(mcp_uri_template_variable(t, i), mcp_str_from(name)))
            return true;
    return false;
}

/* Keeps the template if resources that fit it look through their contents. */
static int take_template(bridge_walk *w, const mcp_json *tmpl)
{
    mcp_uri_template *t = NULL;
    if (w->n_filters == BRIDGE_FILTERS)
        return MCP_OK;
    int rc = mcp_uri_template_parse(member(tmpl, "uriTemplate"), &w->all->alloc, &t, NULL);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? rc : MCP_OK;
    if (has_variable(t, variable(w)))
        w->filters[w->n_filters++] = t;
    else
        mcp_uri_template_free(t);
    return MCP_OK;
}

/* Without the list there are no filters, and everything is searched like any other resource. */
int bridge_take_filters(bridge_walk *w)
{
    int rc = w->one.rc;
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(w->one.result, "resourceTemplates");
    mcp_str next = member(w->one.result, "nextCursor");
    for (const mcp_json *t; rc == MCP_OK && (t = mcp_json_next(list, &it, NULL)) != NULL;)
        rc = take_template(w, t);
    w->after.len = 0;
    w->filters_known = !next.len || ++w->parts == MOST_PAGES;
    if (rc == MCP_OK && !w->filters_known)
        rc = common_buffer_append(&w->after, next.ptr, next.len);
    common_ask_clear(&w->one);
    w->one = (common_ask){0};
    return rc;
}

void bridge_free_filters(bridge_walk *w)
{
    for (size_t i = 0; i < w->n_filters; i++)
        mcp_uri_template_free(w->filters[i]);
    w->n_filters = 0;
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool fits(const bridge_walk *w, mcp_str uri)
{
    for (size_t i = 0; i < w->n_filters; i++)
        if (mcp_uri_template_match(w->filters[i], uri, &w->all->alloc, NULL) == MCP_OK)
            return true;
    return false;
}

int bridge_filter_entry(bridge_walk *w, mcp_str uri)
{
    const char *parts[] = {"?", variable(w), "="};
    w->filter.len = 0;
    if (!w->n_filters || memchr(uri.ptr, '?', uri.len) || !fits(w, uri))
        return MCP_OK;
    int rc = common_buffer_append(&w->filter, uri.ptr, uri.len);
    for (size_t i = 0; rc == MCP_OK && i < sizeof(parts) / sizeof(*parts); i++)
        rc = common_buffer_append(&w->filter, parts[i], strlen(parts[i]));
    return rc == MCP_OK && !common_pieces_put(&w->filter, w->asked) ? MCP_ENOMEM : rc;
}

/* Only what the source does not do for this text, or in this way, is tried in another one: a
 * database that took too long would again. Why nothing was searched is said once. */
int bridge_filter_failed(bridge_walk *w, bool *again)
{
    const mcp_json *error = w->one.error;
    mcp_str why = member(error, "message");
    int64_t code = mcp_json_int(mcp_json_get(error, "code"), 0);
    *again = !error || code != MCP_CODE_INTERNAL || bridge_is_too_large(error);
    if (*again) {
        w->filter.len = 0;
        return MCP_OK;
    }
    int rc = bridge_end_before(w, (mcp_str){w->filter.ptr, w->filter.len});
    return rc == MCP_OK && !w->why.len && why.len ? common_buffer_append(&w->why, why.ptr, why.len)
                                                  : rc;
}
