/* reply.c: results of list_resources, find_resources and search_resources: text for models, and the
 * same data as structured content for programs.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "walk.h"

static int put(common_buffer *b, const char *text)
{
    return common_buffer_append(b, text, strlen(text));
}

static int put_str(common_buffer *b, mcp_str text)
{
    return text.len ? common_buffer_append(b, text.ptr, text.len) : MCP_OK;
}

static mcp_str member(const mcp_json *object, const char *key)
{
    return mcp_json_string(mcp_json_get(object, key));
}

static const char *name_of(const bridge_walk *w)
{
    static const char *const names[] = {"list_resources", "find_resources", "search_resources"};
    return names[w->tool];
}

/* ---- templates ------------------------------------------------------------------------------- */

static int name(common_buffer *to, const char *before, mcp_str uri)
{
    int rc = put(to, to->len ? ", " : before);
    return rc == MCP_OK ? put_str(to, uri) : rc;
}

/* Adds a template that was not searched to the list of such templates. Templates that offer a
 * search themselves are listed separately. */
static int name_template(bridge_walk *w, mcp_str uri)
{
    enum { MOST = 8 };
    if (memmem(uri.ptr, uri.len, "/-/search/", 10))
        return name(&w->searches, "Other revisions are searched by: ", uri);
    if (w->n_templates > MOST)
        return MCP_OK;
    return name(&w->templates,
                "Resources of these templates are not searched (fill one in and read it): ",
                w->n_templates == MOST ? MCP_STR("…") : uri);
}

static int put_named(bridge_walk *w, const common_buffer *named)
{
    int rc = put_str(&w->notes, (mcp_str){named->ptr, named->len});
    return rc == MCP_OK && named->len ? put(&w->notes, ".\n") : rc;
}

static int put_line(bridge_walk *w, const mcp_json *tmpl)
{
    common_buffer *to = &w->results.text;
    mcp_str title = member(tmpl, "title"), about = member(tmpl, "description");
    int rc =
        put(to, w->n_templates == 1 ? "Templates: fill in the parts in braces, then read the URI.\n"
                                    : "");
    if (rc == MCP_OK)
        rc = put(to, "template\t-\t");
    if (rc == MCP_OK)
        rc = put_str(to, member(tmpl, "uriTemplate"));
    if (rc == MCP_OK)
        rc = put(to, "\t");
    if (rc == MCP_OK)
        rc = put_str(to, title.len ? title : member(tmpl, "name"));
    if (rc == MCP_OK && about.len && (rc = put(to, ": ")) == MCP_OK)
        rc = put_str(to, about);
    return rc == MCP_OK ? put(to, "\n") : rc;
}

int bridge_put_template(bridge_walk *w, const mcp_json *tmpl)
{
    static const char *const keys[] = {"uriTemplate", "name", "title", "description", "mimeType"};
    mcp_json_writer *json = w->results.json;
    if (w->tool == BRIDGE_SEARCH)
        return name_template(w, member(tmpl, "uriTemplate"));
    if (w->n_templates == 1) { /* the first template follows the entries */
        mcp_json_end(json);
        mcp_json_put_array(json, "templates");
    }
    mcp_json_begin_object(json);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (member(tmpl, keys[i]).ptr)
            mcp_json_put_str(json, keys[i], member(tmpl, keys[i]));
    mcp_json_end(json);
    return put_line(w, tmpl);
}

/* ---- what was not searched ------------------------------------------------------------------- */

static const char *next_of(const common_buffer *uris, size_t *at)
{
    if (*at >= uris->len)
        return NULL;
    const char *uri = uris->ptr + *at;
    *at += strlen(uri) + 1;
    return uri;
}

static int put_ends(bridge_walk *w)
{
    enum { MOST = 8 };
    size_t at = 0, n = 0;
    common_buffer *to = &w->notes;
    int rc = MCP_OK;
    for (const char *uri; rc == MCP_OK && n <= MOST && (uri = next_of(&w->results.ends, &at));
         n++) {
        rc = put(to, n ? ", " : "Not searched to their end; the rest begins at: ");
        if (rc == MCP_OK)
            rc = put(to, n == MOST ? "…" : uri);
    }
    if (rc == MCP_OK && w->why.len)
        rc = put(to, ". The reason: ");
    if (rc == MCP_OK)
        rc = put_str(to, (mcp_str){w->why.ptr, w->why.len});
    return rc == MCP_OK && n ? put(to, ".\n") : rc;
}

static int put_values(bridge_walk *w)
{
    char text[120];
    size_t n = w->results.values;
    if (!n)
        return MCP_OK;
    snprintf(text, sizeof(text),
             n == 1 ? "%zu long value of a row was not searched: the row has its URI.\n"
                    : "%zu long values of rows were not searched: the rows have their URIs.\n",
             n);
    return put(&w->notes, text);
}

static int put_odd(bridge_walk *w)
{
    char text[80];
    if (!w->results.odd)
        return MCP_OK;
    snprintf(text, sizeof(text), "Lines that are not UTF-8 text were not searched: %zu.\n",
             w->results.odd);
    return put(&w->notes, text);
}

int bridge_take_left_out(bridge_walk *w, const mcp_json *page)
{
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(mcp_json_get(page, "_meta"), "libmcp/left-out");
    int rc = MCP_OK;
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(list, &it, NULL)) != NULL;)
        rc = name(&w->left_out,
                  "These sources do not answer now, and are left out: ", mcp_json_string(v));
    return rc;
}

int bridge_note_names(bridge_walk *w, mcp_str uri)
{
    return name(&w->names, "There are more columns, or they could not be asked for; read ", uri);
}

/* Writes the arguments that show the other lines of a resource. */
static int put_again(bridge_walk *w, mcp_str uri)
{
    mcp_str json;
    mcp_json_writer *to = mcp_json_writer_new(&w->all->alloc, 0);
    mcp_json_begin_object(to);
    mcp_json_put_str(to, "query", w->asked);
    if (w->regex)
        mcp_json_put_bool(to, "regex", true);
    if (w->ignore_case)
        mcp_json_put_bool(to, "ignore_case", true);
    mcp_json_put_str(to, "under", uri);
    mcp_json_put_uint(to, "per_file", BRIDGE_LINES);
    mcp_json_put_uint(to, "limit", BRIDGE_LINES);
    mcp_json_end(to);
    int rc = to ? mcp_json_writer_finish(to, &json) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = put_str(&w->notes, json);
    mcp_json_writer_free(to);
    return rc == MCP_OK ? put(&w->notes, "\n") : rc;
}

/* Says how to see all lines of the resources of which some were left out. */
static int put_more_lines(bridge_walk *w)
{
    enum { MOST = 3 };
    const common_buffer *more = &w->results.more;
    size_t at = 0, n = 0;
    int rc = MCP_OK;
    mcp_str last = {0};
    for (const char *uri; rc == MCP_OK && n < MOST && (uri = next_of(more, &at));) {
        mcp_str whole = {uri, strcspn(uri, "?")}; /* not only a part of it */
        if (mcp_str_eq(whole, last))
            continue;
        last = whole;
        rc =
            put(&w->notes, n++ ? "The next: go on with search_resources "
                               : "Not all lines of a file are shown; go on with search_resources ");
        if (rc == MCP_OK)
            rc = put_again(w, whole);
    }
    return rc == MCP_OK && at < more->len ? put(&w->notes, "And others.\n") : rc;
}

/* ---- end of the text ------------------------------------------------------------------------- */

static int put_summary(bridge_walk *w)
{
    static const char *const names[SEARCH_SKIPS] = {"binary", "large", "slow", "unreadable"};
    const search_results *r = &w->results;
    char text[300];
    const char *nothing = w->cursor.len || r->ends.len ? "Nothing so far. " : "Nothing was found. ";
    int n = snprintf(text, sizeof(text), "%s%zu %s searched", r->count ? "" : nothing, r->searched,
                     r->searched == 1 ? "file" : "files");
    for (search_skip i = 0; i < SEARCH_SKIPS; i++)
        if (r->skipped[i])
            n += snprintf(text + n, sizeof(text) - (size_t)n, ", %zu %s", r->skipped[i], names[i]);
    if (r->until)
        snprintf(text + n, sizeof(text) - (size_t)n, ", and one up to byte %llu of %llu",
                 (unsigned long long)r->until, (unsigned long long)r->of);
    int rc = put(&w->notes, text);
    if (rc == MCP_OK)
        rc = put(&w->notes, ".\n");
    if (rc == MCP_OK)
        rc = put_odd(w);
    if (rc == MCP_OK)
        rc = put_ends(w);
    if (rc == MCP_OK)
        rc = put_values(w);
    if (rc == MCP_OK)
        rc = put_more_lines(w);
    if (r->count) /* where else it might be matters only if nothing was found */
        return rc;
    if (rc == MCP_OK)
        rc = put_named(w, &w->searches);
    return rc == MCP_OK ? put_named(w, &w->templates) : rc;
}

static int put_twins(bridge_walk *w)
{
    char text[80];
    if (!w->twins)
        return MCP_OK;
    snprintf(text, sizeof(text), "%zu %s in the folder, too.\n", w->twins,
             w->twins == 1 ? "file at HEAD is" : "files at HEAD are");
    return put(&w->notes, text);
}

static int put_nothing(bridge_walk *w)
{
    if (w->results.count || w->n_templates)
        return MCP_OK;
    return put(&w->notes, w->cursor.len ? "Nothing so far.\n" : "Nothing was found.\n");
}

static int put_more(bridge_walk *w)
{
    common_buffer *to = &w->notes;
    int rc = w->more_templates
                 ? put(to, "There are more templates: call list_resources with templates: true.\n")
                 : MCP_OK;
    if (!w->cursor.len || rc != MCP_OK)
        return rc;
    const char *parts[] = {"There is more. Call ", name_of(w), " again with cursor: "};
    for (size_t i = 0; rc == MCP_OK && i < sizeof(parts) / sizeof(*parts); i++)
        rc = put(to, parts[i]);
    if (rc == MCP_OK)
        rc = put_str(to, (mcp_str){w->cursor.ptr, w->cursor.len});
    return rc == MCP_OK ? put(to, "\n") : rc;
}

/* ---- structured content ---------------------------------------------------------------------- */

static void put_json_ends(const search_results *r)
{
    size_t at = 0;
    if (!r->ends.len)
        return;
    mcp_json_put_array(r->json, "partial");
    for (const char *uri; (uri = next_of(&r->ends, &at)) != NULL;)
        mcp_json_add_string(r->json, uri);
    mcp_json_end(r->json);
}

static int end_json(bridge_walk *w, mcp_str *ret)
{
    static const char *const names[SEARCH_SKIPS] = {"binary", "large", "slow", "unreadable"};
    const search_results *r = &w->results;
    mcp_json_writer *json = r->json;
    mcp_json_end(json);
    if (w->tool == BRIDGE_SEARCH) {
        mcp_json_put_uint(json, "searched", r->searched);
        mcp_json_put_object(json, "skipped");
        for (search_skip i = 0; i < SEARCH_SKIPS; i++)
            if (r->skipped[i])
                mcp_json_put_uint(json, names[i], r->skipped[i]);
        if (r->values)
            mcp_json_put_uint(json, "values", r->values);
        mcp_json_end(json);
        put_json_ends(r);
    }
    if (w->cursor.len)
        mcp_json_put_str(json, "cursor", (mcp_str){w->cursor.ptr, w->cursor.len});
    if (w->structured && w->notes.len)
        mcp_json_put_str(json, "note", (mcp_str){w->notes.ptr, w->notes.len});
    mcp_json_end(json);
    return mcp_json_writer_finish(json, ret);
}

/* Adds a link to each resource with matches, for hosts that let users open them. */
static int put_links(bridge_walk *w)
{
    const common_buffer *links = &w->results.links;
    int rc = MCP_OK;
    for (size_t at = 0; rc == MCP_OK && at < links->len;) {
        const char *uri = links->ptr + at, *name = uri + strlen(uri) + 1;
        const char *type = name + strlen(name) + 1;
        rc =
            mcp_reply_content(w->req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_LINK, .uri = uri,
                                                  .name = name, .mime_type = *type ? type : NULL));
        at += (size_t)(type - uri) + strlen(type) + 1;
    }
    return rc;
}

/* ---- reply ----------------------------------------------------------------------------------- */

/* The entries or lines, links to them, and what is to be said about them, each in items of their
 * own: a line of a file is never taken for a hint. */
static int put_texts(bridge_walk *w)
{
    const common_buffer *text = &w->results.text, *notes = &w->notes;
    int rc = MCP_OK;
    if (text->len && !w->structured)
        rc = mcp_reply_str(w->req, (mcp_str){text->ptr, text->len}, NULL);
    if (rc == MCP_OK && !w->structured)
        rc = put_links(w);
    if (rc == MCP_OK && notes->len)
        rc = mcp_reply_str(w->req, (mcp_str){notes->ptr, notes->len}, NULL);
    else if (rc == MCP_OK && w->structured)
        rc = mcp_reply_text(w->req, "See the structured content.");
    return rc;
}

static int reply(bridge_walk *w)
{
    mcp_str json;
    int rc = w->tool == BRIDGE_SEARCH ? put_summary(w) : put_nothing(w);
    if (rc == MCP_OK)
        rc = put_twins(w);
    if (rc == MCP_OK)
        rc = put_named(w, &w->names);
    if (rc == MCP_OK)
        rc = put_named(w, &w->left_out);
    if (rc == MCP_OK)
        rc = put_more(w);
    if (rc == MCP_OK)
        rc = end_json(w, &json);
    if (rc == MCP_OK)
        rc = put_texts(w);
    return rc == MCP_OK ? mcp_reply_structured(w->req, json) : rc;
}

int bridge_walk_reply(bridge_walk *w)
{
    switch (w->rc) {
    case MCP_OK: return reply(w);
    case MCP_EINVAL:
        return mcp_reply_tool_error(
            w->req, "The cursor is not valid for %s: leave it out to start from the beginning.",
            name_of(w));
    case MCP_EFILES: return mcp_reply_tool_error(w->req, "Too many files are open; try again");
    case MCP_EREMOTE: {
        mcp_str why = member(w->page.error ? w->page.error : w->one.error, "message");
        return mcp_reply_tool_error(w->req, "The resources cannot be listed: %.*s", (int)why.len,
                                    why.ptr ? why.ptr : "");
    }
    default: return w->rc;
    }
}
