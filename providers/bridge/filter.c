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
    return w->tool == BRIDGE_FIND ? "named" : w->ignore_case ? "icontains" : "contains";
}

/* The name that is asked for: a part of it, or a pattern. One that fits every name is none, nor is one with what
 * a database does not know. */
static mcp_str name_of(const search_query *q)
{
    static const char general[] = "*?";
    bool some = false, strange = false;
    mcp_str name = q->part.len ? q->part : q->glob;
    for (size_t i = 0; i < name.len; i++) {
        some = some || !memchr(general, name.ptr[i], sizeof(general));
        strange = strange || name.ptr[i] == '/' || (!q->part.len && name.ptr[i] == '[');
    }
    return some && !strange ? name : (mcp_str){"", 0};
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
    mcp_str text = w->tool == BRIDGE_FIND ? name_of(&w->query) : w->asked;
    const char *parts[] = {"?", variable(w), "="};
    w->filter.len = 0;
    if (!w->n_filters || memchr(uri.ptr, '?', uri.len) || !fits(w, uri))
        return MCP_OK;
    int rc = common_buffer_append(&w->filter, uri.ptr, uri.len);
    for (size_t i = 0; rc == MCP_OK && i < sizeof(parts) / sizeof(*parts); i++)
        rc = common_buffer_append(&w->filter, parts[i], strlen(parts[i]));
    return rc == MCP_OK && !common_pieces_put(&w->filter, text) ? MCP_ENOMEM : rc;
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

/* ---- names ----------------------------------------------------------------------------------- */

static bool begins(mcp_str text, mcp_str with)
{
    return text.len >= with.len && (!with.len || memcmp(text.ptr, with.ptr, with.len) == 0);
}

bool bridge_may_have_names(const bridge_walk *w)
{
    const search_query *q = &w->query;
    mcp_str uri = member(w->entry, "uri");
    return w->tool == BRIDGE_FIND && name_of(q).len && (q->kinds & SEARCH_OTHERS) &&
           (!w->filters_known || w->n_filters) && !begins(uri, MCP_STR("file:")) &&
           (begins(uri, q->under) || begins(q->under, uri));
}

static void put_uri(mcp_json_writer *json, const void *user)
{
    const bridge_walk *w = user;
    mcp_json_put_str(json, "uri", (mcp_str){w->filter.ptr, w->filter.len});
}

int bridge_ask_names(bridge_walk *w)
{
    int rc = bridge_filter_entry(w, member(w->entry, "uri"));
    if (rc != MCP_OK || !w->filter.len)
        return rc;
    w->one = (common_ask){.req = w->req,
                          .method = "resources/read",
                          .put = put_uri,
                          .later = bridge_walk_later,
                          .user = w};
    return common_loopback_ask(w->all->bridge->loopback, &w->one);
}

/* Adds the line of a column: the table, and "column customer_email text"; or of a type: "enum 'a', 'b'". */
static int put_name(bridge_walk *w, const mcp_json *named)
{
    mcp_str column = member(named, "column"), type = member(named, "type");
    mcp_str words[] = {column.len ? MCP_STR("column") : type, column, type};
    search_entry e = {
        .kind = SEARCH_OTHERS, .uri = member(named, "uri"), .name = member(named, "name")};
    int rc = MCP_OK;
    if (!e.uri.len || !words[0].len || !begins(e.uri, w->query.under))
        return MCP_OK;
    w->scratch.len = 0;
    for (size_t i = 0; rc == MCP_OK && i < (column.len ? 3 : 1) && words[i].len; i++) {
        rc = common_buffer_append(&w->scratch, " ", i > 0);
        if (rc == MCP_OK)
            rc = common_buffer_append(&w->scratch, words[i].ptr, words[i].len);
    }
    e.description = (mcp_str){w->scratch.ptr, w->scratch.len};
    return rc == MCP_OK ? search_put_entry(&w->results, &e) : rc;
}

static int put_names(bridge_walk *w, const mcp_json *root)
{
    mcp_json_iter at = {0};
    const mcp_json *list = mcp_json_get(root, "named"), *one;
    bool more = mcp_json_bool(mcp_json_get(root, "more"), false);
    int rc = MCP_OK;
    while (rc == MCP_OK && (one = mcp_json_next(list, &at, NULL)) != NULL) {
        more = more || search_is_full(&w->results, &w->query);
        if (search_is_full(&w->results, &w->query))
            break;
        rc = put_name(w, one);
    }
    return rc == MCP_OK && more ? bridge_note_names(w, (mcp_str){w->filter.ptr, w->filter.len})
                                : rc;
}

/* A database that cannot answer is said. */
int bridge_take_names(bridge_walk *w)
{
    mcp_json_doc *doc = NULL;
    int rc = w->one.rc;
    mcp_str text = member(mcp_json_at(mcp_json_get(w->one.result, "contents"), 0), "text");
    if (rc == MCP_OK && w->filter.len && w->one.error)
        rc = bridge_note_names(w, (mcp_str){w->filter.ptr, w->filter.len});
    if (rc == MCP_OK && text.len)
        rc = mcp_json_parse(text, NULL, &w->all->alloc, &doc, NULL);
    if (rc == MCP_OK && doc)
        rc = put_names(w, mcp_json_root(doc));
    mcp_json_free(doc);
    return rc == MCP_ENOMEM || rc == MCP_ECANCELLED || rc == MCP_ECLOSED ? rc : MCP_OK;
}
