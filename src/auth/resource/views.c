/* views.c: the views of a server that are resources of their own (mcp_resource_server_set_views()).
 *
 * A view has metadata and audiences; everything else is of the server. Each has a number, under which the
 * results of checks are cached, so that a token which was good for one resource has to be checked
 * for another. A check that is running keeps the view that it began with.
 */
#include "auth/resource/resource.h"
#include "protocol/identity.h"

static int no_memory(mcp_error *error)
{
    return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a view of a resource server");
}

mcp__rs_view *mcp__rs_view_ref(mcp__rs_view *view)
{
    if (view)
        view->refs++;
    return view;
}

void mcp__rs_view_unref(mcp__rs_view *view)
{
    if (!view || --view->refs)
        return;
    mcp__rs_document_clear(view->rs, &view->document);
    mcp__arena_free(&view->texts);
    mcp__release(view->rs->allocator, view);
}

static void release_all(const mcp_resource_server *rs, mcp__rs_view **views, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mcp__rs_view_unref(views[i]);
    mcp__release(rs->allocator, views);
}

void mcp__rs_views_clear(mcp_resource_server *rs)
{
    release_all(rs, rs->views, rs->n_views);
    rs->views = NULL;
    rs->n_views = 0;
}

static mcp__rs_view *find(mcp__rs_view *const *views, size_t n, mcp_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (mcp_str_eq(mcp_str_from(views[i]->name), name))
            return views[i];
    }
    return NULL;
}

mcp__rs_view *mcp__rs_view_find(const mcp_resource_server *rs, mcp_str name)
{
    return name.len ? find(rs->views, rs->n_views, name) : NULL;
}

/* ---- audiences ------------------------------------------------------------------------------- */

static bool names(const mcp__token_rules *rules, const char *audience)
{
    for (size_t i = 0; i < rules->n_audiences; i++) {
        if (mcp_str_eq(rules->audiences[i], mcp_str_from(audience)))
            return true;
    }
    return false;
}

static int no_audience(mcp_error *error, const mcp__rs_view *view)
{
    return mcp__fail(error, MCP_EINVAL, 0, "the view \"%s\" has an empty audience", view->name);
}

/* Those that are given. */
static int given_audiences(mcp__rs_view *view, const mcp_auth_view *given, mcp__token_rules *rules,
                           mcp_error *error)
{
    if (!given->n_audiences)
        return no_audience(error, view);
    mcp_str *list = mcp__arena_alloc(&view->texts, given->n_audiences * sizeof(*list));
    for (size_t i = 0; list && i < given->n_audiences; i++) {
        const char *one = given->audiences[i];
        if (!one || !*one)
            return no_audience(error, view);
        list[i] = mcp_str_from(mcp__arena_strdup(&view->texts, mcp_str_from(one)));
        if (!list[i].ptr)
            return no_memory(error);
    }
    rules->audiences = list;
    rules->n_audiences = given->n_audiences;
    return list ? MCP_OK : no_memory(error);
}

/* Those of the issuer, and the resource of the view beside that of the server. */
static int own_audience(mcp__rs_view *view, mcp__token_rules *rules, mcp_error *error)
{
    size_t n = rules->n_audiences;
    if (!names(rules, view->rs->options.resource))
        return MCP_OK;
    mcp_str *list = mcp__arena_alloc(&view->texts, (n + 1) * sizeof(*list));
    if (!list)
        return no_memory(error);
    memcpy(list, rules->audiences, n * sizeof(*list));
    list[n] = mcp_str_from(view->resource);
    rules->audiences = list;
    rules->n_audiences = n + 1;
    return MCP_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

static const char *resource_of(mcp__rs_view *view, const char *given)
{
    mcp__buf b;
    if (given)
        return mcp__arena_strdup(&view->texts, mcp_str_from(given));
    mcp__buf_init(&b, view->rs->allocator, 0);
    mcp__buf_str(&b, mcp_str_from(view->rs->options.resource));
    mcp__buf_char(&b, '/');
    mcp__buf_str(&b, mcp_str_from(view->name));
    const char *made = b.failed ? NULL : mcp__arena_strdup(&view->texts, mcp__buf_view(&b));
    mcp__buf_free(&b);
    return made;
}

static int fill(mcp__rs_view *view, const mcp_auth_view *given, mcp_error *error)
{
    const mcp_resource_server *rs = view->rs;
    view->name = mcp__arena_strdup(&view->texts, mcp_str_from(given->name));
    view->resource = view->name ? resource_of(view, given->resource) : NULL;
    if (!view->resource)
        return no_memory(error);
    int rc = mcp__rs_document_make(rs, view->resource, &view->document, error);
    memcpy(view->rules, rs->rules, sizeof(view->rules));
    for (size_t i = 0; rc == MCP_OK && i < rs->n_issuers; i++)
        rc = given->audiences ? given_audiences(view, given, &view->rules[i], error)
                              : own_audience(view, &view->rules[i], error);
    return rc;
}

static int view_new(mcp_resource_server *rs, const mcp_auth_view *given, mcp__rs_view **ret,
                    mcp_error *error)
{
    mcp__rs_view *view = mcp__zalloc(rs->allocator, sizeof(*view));
    if (!view)
        return no_memory(error);
    view->rs = rs;
    view->refs = 1;
    view->number = ++rs->last_view;
    mcp__arena_init(&view->texts, rs->allocator, NULL, 0);
    int rc = fill(view, given, error);
    if (rc == MCP_OK)
        *ret = view;
    else
        mcp__rs_view_unref(view);
    return rc;
}

int mcp_resource_server_set_views(mcp_resource_server *rs, const mcp_auth_view *views, size_t n,
                                  mcp_error *error)
{
    mcp__no_error(error);
    if (!rs)
        return mcp__fail(error, MCP_EINVAL, 0, "no resource server");
    int rc = mcp__check_array(views, n, "mcp_auth_view", error);
    mcp__rs_view **made = n && rc == MCP_OK ? mcp__zalloc(rs->allocator, n * sizeof(*made)) : NULL;
    size_t count = 0;
    if (rc == MCP_OK && n && !made)
        rc = no_memory(error);
    for (; made && rc == MCP_OK && count < n; count += rc == MCP_OK) {
        mcp_auth_view given;
        mcp__take_element(&given, sizeof(given), views, count);
        mcp_str name = mcp_str_from(given.name);
        if (!mcp__is_view(name) || find(made, count, name))
            rc = mcp__fail(error, MCP_EINVAL, 0, "\"%.64s\" cannot be the name of a view%s",
                           given.name ? given.name : "",
                           mcp__is_view(name) ? ": there is another one" : "");
        else
            rc = view_new(rs, &given, &made[count], error);
    }
    if (rc != MCP_OK) {
        release_all(rs, made, count);
        return rc;
    }
    mcp__rs_views_clear(rs);
    rs->views = made;
    rs->n_views = n;
    return MCP_OK;
}
