/* entry.c: see entry.h. */
#define _GNU_SOURCE
#include "entry.h"

#include "filter.h"
#include "text.h"

enum {
    MOST_READ = 4 << 20, /* bytes; larger resources are not searched */
    MOST_PARTS = 10000,  /* parts of one resource */
};

static const int64_t item_ns = 5 * 1000000000LL; /* time limit for searching one resource */

static mcp_str member(const mcp_json *object, const char *key)
{
    return mcp_json_string(mcp_json_get(object, key));
}

/* ---- filters --------------------------------------------------------------------------------- */

/* The path after "scheme://authority/", without the query, decoded if possible. */
static mcp_str path_of(bridge_walk *w, mcp_str uri)
{
    const char *at = memchr(uri.ptr, ':', uri.len), *end = uri.ptr + uri.len;
    const char *query = memchr(uri.ptr, '?', uri.len);
    at = at ? at + 1 : uri.ptr;
    if (end - at > 2 && at[0] == '/' && at[1] == '/') {
        at = memchr(at + 2, '/', (size_t)(end - at - 2));
        at = at ? at + 1 : end;
    }
    mcp_str path = {at, (size_t)((query && query > at ? query : end) - at)};
    size_t len;
    w->scratch.len = 0;
    if (common_buffer_reserve(&w->scratch, path.len + 1) != MCP_OK ||
        mcp_uri_decode(path, w->scratch.ptr, path.len + 1, &len) != MCP_OK)
        return path;
    return (mcp_str){w->scratch.ptr, len};
}

static mcp_str last_of(mcp_str path)
{
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    return slash ? (mcp_str){slash + 1, path.len - (size_t)(slash + 1 - path.ptr)} : path;
}

static unsigned kind_of(const mcp_json *entry)
{
    if (mcp_str_eq(member(entry, "mimeType"), MCP_STR("inode/directory")))
        return SEARCH_FOLDERS;
    mcp_str uri = member(entry, "uri");
    return uri.len > 5 && memcmp(uri.ptr, "file:", 5) == 0 ? SEARCH_FILES : SEARCH_OTHERS;
}

static bool has_part(const search_query *q, mcp_str name, mcp_str title, mcp_str path)
{
    if (!q->part.len)
        return true;
    if (memchr(q->part.ptr, '/', q->part.len))
        return search_contains(path, q->part);
    return search_contains(name, q->part) || search_contains(title, q->part) ||
           search_contains(last_of(path), q->part);
}

static bool begins(mcp_str text, mcp_str with)
{
    return text.len >= with.len && (!with.len || memcmp(text.ptr, with.ptr, with.len) == 0);
}

/* Returns the URI of the file that the folder of this source has at a path, or nothing if memory is
 * exhausted. */
static mcp_str file_at(bridge_walk *w, const char *folder, mcp_str path)
{
    size_t len = strlen(folder), decoded;
    w->scratch.len = w->twin.len = 0;
    if (common_buffer_reserve(&w->scratch, path.len + 1) != MCP_OK ||
        common_buffer_reserve(&w->twin, len + 2 + MCP_URI_ENCODED_SIZE(path.len)) != MCP_OK ||
        mcp_uri_decode(path, w->scratch.ptr, path.len + 1, &decoded) != MCP_OK)
        return (mcp_str){0};
    memcpy(w->twin.ptr, folder, len);
    w->twin.ptr[len++] = '/';
    len += mcp_uri_encode_path((mcp_str){w->scratch.ptr, decoded}, w->twin.ptr + len);
    return (mcp_str){w->twin.ptr, len};
}

static bool is_in_folder(bridge_walk *w, mcp_str file)
{
    for (size_t i = 0; file.len && i < w->all->n; i++)
        if (w->all->sources[i].has && w->all->sources[i].has(file, w->all->sources[i].user))
            return mcp_request_may(w->req, MCP_ITEM_RESOURCE, file);
    return false;
}

/* Returns whether a folder that is served, too, has this file of a repository. Whoever asks for the
 * files of the repository gets them. */
static bool is_twin(bridge_walk *w, mcp_str uri)
{
    const mcp_bridge_options *o = &w->all->bridge->options;
    if (!o->folder || !o->root || !o->roots || !begins(uri, MCP_STR("git:")))
        return false;
    for (size_t i = 0; i < o->roots(o->user); i++) {
        const char *root = o->root(w->req, i, o->user), *folder = o->folder(i, o->user);
        size_t len = root ? strlen(root) : 0;
        mcp_str head = MCP_STR("HEAD/");
        if (!len || !folder || uri.len <= len + head.len || memcmp(uri.ptr, root, len) != 0 ||
            memcmp(uri.ptr + len, head.ptr, head.len) != 0)
            continue;
        mcp_str path = {uri.ptr + len + head.len, uri.len - len - head.len};
        return w->query.under.len < len + head.len && is_in_folder(w, file_at(w, folder, path));
    }
    return false;
}

/* Leaves out what a folder has, and counts it. */
static bool is_first(bridge_walk *w, mcp_str uri)
{
    bool twin = is_twin(w, uri);
    w->twins += twin;
    return !twin;
}

bool bridge_wants(bridge_walk *w, const mcp_json *entry)
{
    const search_query *q = &w->query;
    mcp_str uri = member(entry, "uri");
    if (!(q->kinds & kind_of(entry)) || !begins(uri, q->under))
        return false;
    if (!q->glob.len && !q->part.len)
        return is_first(w, uri);
    mcp_str path = path_of(w, uri), name = member(entry, "name");
    return (search_path_fits(q->glob, name, path) ||
            search_path_fits(q->glob, last_of(path), path)) &&
           has_part(q, name, member(entry, "title"), path) && is_first(w, uri);
}

bool bridge_wants_template(bridge_walk *w, const mcp_json *tmpl)
{
    mcp_str uri = member(tmpl, "uriTemplate");
    if (!begins(uri, w->query.under))
        return false;
    if (w->tool == BRIDGE_SEARCH) /* templates of file: URIs lead to files, which were searched */
        return !begins(uri, MCP_STR("file:"));
    return !w->query.glob.len &&
           has_part(&w->query, member(tmpl, "name"), member(tmpl, "title"), uri);
}

int bridge_put_entry(bridge_walk *w, const mcp_json *entry)
{
    const mcp_json *size = mcp_json_get(entry, "size");
    search_entry e = {.kind = kind_of(entry),
                      .uri = member(entry, "uri"),
                      .has_size = size != NULL,
                      .size = (uint64_t)mcp_json_int(size, 0)};
    if (!begins(e.uri, MCP_STR("file:"))) { /* for file: URIs the name adds nothing */
        e.name = member(entry, "name");
        e.title = member(entry, "title");
        e.description = member(entry, "description");
        e.mime_type = member(entry, "mimeType");
    }
    return search_put_entry(&w->results, &e);
}

/* ---- contents -------------------------------------------------------------------------------- */

static void skip(bridge_walk *w, search_skip why)
{
    w->results.skipped[why]++;
}

/* The URI of the entry, or of the part of it that is read now. */
static mcp_str uri_of(const bridge_walk *w)
{
    const common_buffer *b = w->part.len ? &w->part : &w->filter;
    return b->len ? (mcp_str){b->ptr, b->len} : member(w->entry, "uri");
}

static void put_entry_uri(mcp_json_writer *json, const void *user)
{
    mcp_json_key(json, "uri");
    mcp_json_add_str(json, uri_of(user));
}

/* Returns whether the templates have to be known for this entry. */
bool bridge_needs_filters(const bridge_walk *w)
{
    return !w->filters_known && !w->regex && kind_of(w->entry) == SEARCH_OTHERS;
}

static int begin_entry(bridge_walk *w)
{
    w->parts = w->shown = 0;
    w->part_began = search_now();
    w->filter.len = 0;
    return w->step == BRIDGE_AT_AGAIN ? MCP_OK : bridge_filter_entry(w, member(w->entry, "uri"));
}

/* Returns MCP_OK without sending a request if the entry is too large. */
int bridge_ask_entry(bridge_walk *w)
{
    int rc = w->part.len ? MCP_OK : begin_entry(w);
    if (rc != MCP_OK)
        return rc;
    if (!w->part.len && mcp_json_int(mcp_json_get(w->entry, "size"), 0) > MOST_READ) {
        skip(w, SEARCH_LARGE);
        return MCP_OK;
    }
    w->one = (common_ask){.req = w->req,
                          .method = "resources/read",
                          .put = put_entry_uri,
                          .later = bridge_walk_later,
                          .user = w,
                          .max_reply = 2 * MOST_READ};
    return common_loopback_ask(w->all->bridge->loopback, &w->one);
}

bool bridge_is_too_large(const mcp_json *error)
{
    return mcp_json_get(mcp_json_get(error, "data"), "limit") ||
           begins(member(error, "message"), MCP_STR("Internal error: the reply is larger"));
}

int bridge_end_before(bridge_walk *w, mcp_str uri)
{
    int rc = common_buffer_append(&w->results.ends, uri.ptr, uri.len);
    return rc == MCP_OK ? common_buffer_append(&w->results.ends, "", 1) : rc;
}

static void search_plainly(bridge_walk *w)
{
    common_ask_clear(&w->one);
    w->one = (common_ask){0};
    w->step = BRIDGE_AT_AGAIN;
}

static int fail_filter(bridge_walk *w)
{
    bool again;
    int rc = bridge_filter_failed(w, &again);
    if (again)
        search_plainly(w);
    return rc;
}

/* Handles the contents of the entry. The next step searches its lines or reads the next entry. */
int bridge_take_entry(bridge_walk *w)
{
    int rc = w->one.rc;
    mcp_str text = member(mcp_json_at(mcp_json_get(w->one.result, "contents"), 0), "text");
    bool usable = w->one.result && text.ptr && common_text_check(text);
    if (rc == MCP_OK && w->part.len && !usable)
        return bridge_end_before(w, uri_of(w));
    if (rc == MCP_OK && w->filter.len && !usable)
        return fail_filter(w);
    if (w->one.error)
        skip(w, bridge_is_too_large(w->one.error) ? SEARCH_LARGE : SEARCH_UNREADABLE);
    else if (w->one.result && !usable)
        skip(w, SEARCH_BINARY);
    else if (w->one.result)
        w->step = BRIDGE_AT_LINES;
    return rc;
}

void bridge_next_entry(bridge_walk *w)
{
    common_ask_clear(&w->one);
    w->one = (common_ask){0};
    w->part.len = 0;
    w->at++;
    w->seen++;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Counts the values of rows that are too long for a row, which has their URI instead. */
static size_t long_values(const mcp_json *rows)
{
    size_t count = 0;
    mcp_json_iter at = {0};
    for (const mcp_json *row; (row = mcp_json_next(rows, &at, NULL)) != NULL;) {
        mcp_json_iter in = {0};
        for (const mcp_json *cell; (cell = mcp_json_next(row, &in, NULL)) != NULL;)
            count += mcp_json_get(cell, "uri") && mcp_json_get(cell, "size");
    }
    return count;
}

/* Returns whether the URI is the same resource with other parameters. */
static bool is_part(mcp_str uri, mcp_str current)
{
    const char *query = memchr(current.ptr, '?', current.len);
    size_t len = query ? (size_t)(query - current.ptr) : current.len;
    return uri.len > len && uri.ptr[len] == '?' && memcmp(uri.ptr, current.ptr, len) == 0 &&
           !mcp_str_eq(uri, current);
}

/* Finds what this part says about what it lacks: the part after it, and long values, which a source
 * that looks through its contents itself has compared. */
static int look_for_more(bridge_walk *w, const mcp_json *root)
{
    mcp_str next = member(root, "next");
    if (mcp_json_get(root, "columns") && !w->filter.len)
        w->results.values += long_values(mcp_json_get(root, "rows"));
    return is_part(next, uri_of(w)) ? common_buffer_append(&w->after, next.ptr, next.len) : MCP_OK;
}

/* Appends a value, after its key if it has one, as a line. */
static int put_item(bridge_walk *w, mcp_json_writer *to, mcp_str key, const mcp_json *value)
{
    mcp_str json;
    mcp_json_writer_reset(to);
    mcp_json_add_value(to, value);
    int rc = mcp_json_writer_finish(to, &json);
    if (rc == MCP_OK && key.len &&
        (rc = common_buffer_append(&w->lines, key.ptr, key.len)) == MCP_OK)
        rc = common_buffer_append(&w->lines, ": ", 2);
    if (rc == MCP_OK)
        rc = common_buffer_append(&w->lines, json.ptr, json.len);
    return rc == MCP_OK ? common_buffer_append(&w->lines, "\n", 1) : rc;
}

/* Writes an object as lines: each row, commit or column is one, so that each that matches is found,
 * and shown by itself. */
static int put_items(bridge_walk *w, const mcp_json *root)
{
    mcp_json_iter at = {0};
    mcp_str key;
    int rc = MCP_OK;
    bool rows = mcp_json_get(root, "rows") != NULL;
    mcp_json_writer *to = mcp_json_writer_new(&w->all->alloc, 0);
    if (!to)
        return MCP_ENOMEM;
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(root, &at, &key)) != NULL;) {
        mcp_json_iter in = {0};
        if (mcp_str_eq(key, MCP_STR("next")) || (rows && mcp_str_eq(key, MCP_STR("columns"))))
            continue; /* the same on each page */
        if (!mcp_json_is(v, MCP_JSON_ARRAY))
            rc = put_item(w, to, key, v);
        else
            for (const mcp_json *e; rc == MCP_OK && (e = mcp_json_next(v, &in, NULL)) != NULL;)
                rc = put_item(w, to, (mcp_str){0}, e);
    }
    mcp_json_writer_free(to);
    return rc;
}

/* Changes the text of a resource that is a JSON object to lines. Others are searched as they are; what
 * should have rows and has none is MCP_EUNSUPPORTED. */
static int open_object(bridge_walk *w, mcp_str *text)
{
    mcp_json_doc *doc = NULL;
    int other = w->filter.len ? MCP_EUNSUPPORTED : MCP_OK;
    w->after.len = w->lines.len = 0;
    if (!text->len || *text->ptr != '{' || kind_of(w->entry) != SEARCH_OTHERS)
        return other;
    int rc = mcp_json_parse(*text, NULL, &w->all->alloc, &doc, NULL);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? rc : other; /* not JSON */
    rc = w->filter.len && !mcp_json_is(mcp_json_get(mcp_json_root(doc), "rows"), MCP_JSON_ARRAY)
             ? MCP_EUNSUPPORTED
             : look_for_more(w, mcp_json_root(doc));
    if (rc == MCP_OK)
        rc = put_items(w, mcp_json_root(doc));
    if (rc == MCP_OK)
        *text = (mcp_str){w->lines.ptr ? w->lines.ptr : "", w->lines.len};
    mcp_json_free(doc);
    return rc;
}

/* Continues with the part after the current one, or ends there. */
static int next_part(bridge_walk *w, bool stop)
{
    mcp_str after = {w->after.ptr, w->after.len};
    bool enough = w->shown >= w->query.per_item || search_is_full(&w->results, &w->query);
    if (!after.len || (w->filter.len && enough)) /* that there are more is said with the lines */
        return MCP_OK;
    if (stop || ++w->parts >= MOST_PARTS || search_now() - w->part_began > item_ns)
        return bridge_end_before(w, after);
    w->part.len = 0;
    int rc = common_buffer_append(&w->part, after.ptr, after.len);
    common_ask_clear(&w->one);
    w->one = (common_ask){0};
    w->step = BRIDGE_AT_ENTRY;
    return rc;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool stopped(void *user)
{
    const bridge_walk *w = user;
    return mcp_request_cancelled(w->req) || search_now() - w->slice > item_ns;
}

void bridge_search_lines(void *user)
{
    bridge_walk *w = user;
    w->slice = search_now();
    search_text t = {.uri = uri_of(w),
                     .name = member(w->entry, "name"),
                     .mime_type = member(w->entry, "mimeType"),
                     .text =
                         member(mcp_json_at(mcp_json_get(w->one.result, "contents"), 0), "text"),
                     .stop = stopped,
                     .user = w};
    w->found = open_object(w, &t.text);
    if (w->found == MCP_OK)
        w->found = w->filter.len
                       ? search_put_found(&w->results, &w->query, &t, w->after.len != 0, &w->shown)
                       : search_put_lines(&w->results, &w->query, &t);
}

int bridge_take_lines(bridge_walk *w, bool stop)
{
    int rc = w->found;
    if (rc == MCP_EUNSUPPORTED) { /* not rows */
        w->part.len = 0;
        search_plainly(w);
        return MCP_OK;
    }
    if (rc == MCP_ELIMIT || (rc == MCP_ECANCELLED && !mcp_request_cancelled(w->req))) {
        if (w->part.len)
            return bridge_end_before(w, uri_of(w));
        skip(w, SEARCH_SLOW);
        return MCP_OK;
    }
    w->results.searched += rc == MCP_OK && !w->part.len;
    return rc == MCP_OK ? next_part(w, stop) : rc;
}
