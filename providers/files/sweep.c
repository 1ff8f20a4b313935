/* sweep.c: see sweep.h. */
#define _GNU_SOURCE
#include "sweep.h"

#include <stdio.h>

#include "pieces.h"

/* Returned by on_entry() at the end of a slice; not an error code of the walk. */
enum { PAUSE = 2 };

enum {
    MOST_EXAMINED = 1000 * 1000, /* names examined in one call */
    MOST_FOUND = 1024,           /* entries waiting to be taken */
};

static const int64_t slice_ns = 100 * 1000000LL;

bool files_sweep_stopped(const files_sweep *s)
{
    return atomic_load_explicit(&s->stop, memory_order_relaxed);
}

/* Returns whether the call has reached its limits. The time limit applies only after the first
 * entry. */
static bool spent(const files_sweep *s)
{
    return s->examined >= MOST_EXAMINED ||
           (s->seen > s->seen_before && search_now() - s->began > SEARCH_CALL_NS);
}

/* Returns whether the slice has ended. It begins with its first entry, so it makes progress however
 * long a folder takes to read. */
bool files_sweep_slice_over(files_sweep *s)
{
    int64_t now = search_now();
    if (!s->slice_began)
        s->slice_began = now;
    return now - s->slice_began > slice_ns;
}

static void set_place(files_cursor *c, const files_entry *e)
{
    c->root = e->root;
    c->place = FILES_AFTER_ENTRY;
    c->len = e->rel.len;
    if (e->rel.len)
        memcpy(c->path, e->rel.ptr, e->rel.len);
}

/* ---- records of entries ---------------------------------------------------------------------- */

typedef struct record {
    size_t root, len; /* of the entry's path, which follows the record, with a NUL */
    uint64_t size;
    bool is_dir;
} record;

static int add_record(files_sweep *s, const files_entry *e)
{
    record r = {.root = e->root, .len = e->rel.len, .size = e->size, .is_dir = e->is_dir};
    int rc = common_buffer_reserve(&s->found, sizeof(r) + r.len + 1);
    if (rc == MCP_OK)
        rc = common_buffer_append(&s->found, &r, sizeof(r));
    if (rc == MCP_OK)
        rc = common_buffer_append(&s->found, e->rel.ptr, r.len);
    if (rc == MCP_OK)
        rc = common_buffer_append(&s->found, "", 1);
    s->n_found += rc == MCP_OK;
    return rc;
}

static mcp_str last_component(mcp_str path)
{
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    if (!slash)
        return path.len ? path : MCP_STR("/");
    return (mcp_str){slash + 1, path.len - (size_t)(slash + 1 - path.ptr)};
}

/* Reads the record at `at` into *e. Returns the length of the record. */
static size_t entry_at(const files_sweep *s, size_t at, files_entry *e)
{
    record r;
    memcpy(&r, s->found.ptr + at, sizeof(r));
    const files_root *root = &s->f->roots.items[r.root];
    mcp_str rel = {s->found.ptr + at + sizeof(r), r.len};
    *e = (files_entry){.root = r.root,
                       .rel = rel,
                       .name = last_component(r.len ? rel : (mcp_str){root->path, root->path_len}),
                       .is_dir = r.is_dir,
                       .size = r.size};
    return sizeof(r) + r.len + 1;
}

/* ---- collecting, on a worker ----------------------------------------------------------------- */

static bool stopped(void *user)
{
    return files_sweep_stopped(user);
}

static int on_entry(const files_entry *e, void *user)
{
    files_sweep *s = user;
    if (files_sweep_stopped(s))
        return MCP_ECANCELLED;
    if (s->n_found == MOST_FOUND || files_sweep_slice_over(s))
        return PAUSE;
    if (e->gone)
        return MCP_OK;
    int rc = s->wants(s, e) ? add_record(s, e) : MCP_OK;
    if (rc != MCP_OK)
        return rc;
    s->seen++;
    set_place(&s->at, e);
    return MCP_OK;
}

static int one_page(files_sweep *s)
{
    files_walk_options options = {
        .max = s->page, .stop = stopped, .user = s, .alloc = &s->f->alloc};
    files_walk_result result = {0};
    files_cursor next = s->at;
    int rc = files_walk_page(&s->f->roots, &s->at, &options, on_entry, s, &next, &result);
    s->examined += result.examined;
    if (rc == MCP_OK)
        s->at = next;
    s->walked = rc == MCP_OK && !result.more;
    return rc;
}

/* Collects entries until there are some to be taken. */
static void collect(void *user)
{
    files_sweep *s = user;
    int rc;
    s->found.len = s->n_found = s->taken = 0;
    s->slice_began = 0;
    do
        rc = one_page(s);
    while (rc == MCP_OK && !s->walked && !s->n_found && !spent(s) && !files_sweep_slice_over(s));
    s->rc = rc < 0 ? rc : MCP_OK;
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Returns whether the entry of s->uri matches the request and is visible to the caller. */
static bool may_show(const files_sweep *s)
{
    mcp_str uri = {s->uri.ptr, s->uri.len};
    bool under = !s->under.len ||
                 (uri.len >= s->under.len && memcmp(uri.ptr, s->under.ptr, s->under.len) == 0);
    return under && mcp_request_may(s->req, MCP_ITEM_RESOURCE, uri);
}

/* Removes entries that the caller may not see. Runs on the server's thread. */
static int drop_unseen(files_sweep *s)
{
    size_t to = 0;
    for (size_t at = 0, len; at < s->found.len; at += len) {
        files_entry e;
        len = entry_at(s, at, &e);
        s->uri.len = 0;
        int rc = files_put_uri(s->f, e.root, e.rel, &s->uri);
        if (rc != MCP_OK)
            return rc;
        if (!may_show(s))
            continue;
        memmove(s->found.ptr + to, s->found.ptr + at, len);
        to += len;
    }
    s->found.len = to;
    return MCP_OK;
}

static bool is_left(const files_sweep *s)
{
    return s->taken < s->found.len;
}

static void take_some(void *user)
{
    files_sweep *s = user;
    s->slice_began = 0;
    s->rc = MCP_OK;
    while (is_left(s) && s->rc == MCP_OK && !s->enough) {
        files_entry e;
        size_t len = entry_at(s, s->taken, &e);
        if (s->slow && (files_sweep_stopped(s) || files_sweep_slice_over(s)))
            return;
        int rc = s->take(s, &e);
        s->enough = rc == FILES_SWEEP_ENOUGH;
        s->rc = rc < 0 ? rc : MCP_OK;
        if (rc != MCP_OK)
            return;
        s->within = (files_within){0};
        set_place(&s->last, &e);
        s->taken += len;
    }
}

/* ---- steps, on the server's thread ----------------------------------------------------------- */

static bool is_over(const files_sweep *s)
{
    return s->rc < 0 || s->enough || files_sweep_stopped(s) || (s->walked && !is_left(s)) ||
           spent(s);
}

/* Returns whether the cursor's entry is visible to the caller. */
static bool may_name(files_sweep *s, const files_cursor *c)
{
    s->uri.len = 0;
    return c->root < s->f->roots.count &&
           files_put_uri(s->f, c->root, (mcp_str){c->path, c->len}, &s->uri) == MCP_OK &&
           mcp_request_may(s->req, MCP_ITEM_RESOURCE, (mcp_str){s->uri.ptr, s->uri.len});
}

static bool same_place(const files_cursor *a, const files_cursor *b)
{
    return a->root == b->root && a->place == b->place && a->len == b->len &&
           memcmp(a->path, b->path, a->len) == 0;
}

/* Sets the position for the next call. A cursor must not name a hidden entry, so hidden entries
 * after the last visible one are examined again by the next call. If a call made no other progress,
 * the search ends. */
static void set_next(files_sweep *s)
{
    bool at_walk = !s->enough && !is_left(s) && may_name(s, &s->at);
    files_entry e;
    s->more = s->enough || !s->walked || is_left(s);
    s->next = at_walk ? s->at : s->last;
    s->next_within = s->within;
    if (s->within.offset) {
        entry_at(s, s->taken, &e);
        set_place(&s->next, &e);
    }
    if (same_place(&s->next, &s->from) && s->next_within.offset == s->from_within.offset)
        s->more = false;
}

static void finish(files_sweep *s)
{
    mcp_request_on_cancel(s->req, NULL, NULL);
    if (s->rc == MCP_OK)
        set_next(s);
    common_buffer_free(&s->found);
    common_buffer_free(&s->uri);
    s->done(s);
}

static void go_on(files_sweep *s);

static void on_taken(mcp_request *req, void *user)
{
    (void)req;
    go_on(user);
}

static void on_collected(mcp_request *req, void *user)
{
    files_sweep *s = user;
    (void)req;
    if (s->rc == MCP_OK)
        s->rc = drop_unseen(s);
    if (s->rc == MCP_OK && !s->slow)
        take_some(s);
    go_on(s);
}

static int schedule(files_sweep *s)
{
    s->rc = MCP_ECANCELLED; /* in case the work never starts */
    if (is_left(s))
        return mcp_request_work_sized(s->req, s->f->max_read, take_some, on_taken, s);
    return mcp_request_work(s->req, collect, on_collected, s);
}

static void go_on(files_sweep *s)
{
    char text[80];
    if (!is_over(s)) {
        snprintf(text, sizeof(text), "%zu files and folders searched", s->seen);
        mcp_request_progress(s->req, (double)s->seen, 0, text);
        int rc = schedule(s);
        if (rc >= 0)
            return;
        s->rc = rc;
    }
    finish(s);
    s->later(s);
}

/* Without workers the steps run in a loop, so that they are not nested. */
static int run_here(files_sweep *s)
{
    do {
        if (!is_left(s)) {
            collect(s);
            if (s->rc == MCP_OK)
                s->rc = drop_unseen(s);
        }
        while (s->rc == MCP_OK && is_left(s) && !s->enough && !spent(s))
            take_some(s);
    } while (!is_over(s));
    finish(s);
    return MCP_OK;
}

static void on_cancel(mcp_request *req, void *user)
{
    (void)req;
    atomic_store_explicit(&((files_sweep *)user)->stop, true, memory_order_relaxed);
}

/* Collects the entry that a call before this one left within. It is not served any more if its name does
 * not lead to it in the way of a read. */
static int collect_from(files_sweep *s)
{
    const files_cursor *from = &s->from;
    files_target target;
    files_entry e = {.root = from->root, .rel = {from->path, from->len}};
    int rc = files_put_uri(s->f, e.root, e.rel, &s->uri);
    if (rc == MCP_OK &&
        (files_uri_parse(&s->f->roots, (mcp_str){s->uri.ptr, s->uri.len}, &target) != MCP_OK ||
         target.root != e.root || !mcp_str_eq(mcp_str_from(target.rel), e.rel)))
        return MCP_EINVAL;
    if (rc == MCP_OK)
        rc = add_record(s, &e);
    if (rc == MCP_OK)
        rc = drop_unseen(s);
    if (is_left(s))
        s->within = s->from_within;
    s->seen += is_left(s);
    return rc;
}

int files_sweep_run(files_sweep *s)
{
    const mcp_host *host = mcp_server_host(s->f->server);
    for (size_t i = s->from.root; i < s->f->roots.count; i++)
        files_renew_old(s->f, i);
    s->seen_before = s->seen;
    s->at = s->last = s->from;
    common_buffer_init(&s->found, &s->f->alloc);
    common_buffer_init(&s->uri, &s->f->alloc);
    s->rc = s->from_within.offset ? collect_from(s) : MCP_OK;
    if (s->rc != MCP_OK) {
        finish(s);
        return MCP_OK;
    }
    if (!host || !host->work)
        return run_here(s);
    mcp_request_on_cancel(s->req, on_cancel, s);
    int rc = schedule(s);
    if (rc >= 0)
        return rc;
    s->rc = rc;
    finish(s);
    return MCP_OK;
}

/* ---- positions ------------------------------------------------------------------------------- */

/* Numbers that stand in the place of a files_place. */
enum { WITHIN_ENTRY = FILES_AFTER_TREE + 1, WITHIN_SHOWN_LINE, LAST_PLACE = WITHIN_SHOWN_LINE };

int files_sweep_put_cursor(const files_cursor *cursor, const files_within *within,
                           common_buffer *out)
{
    char head[100];
    int n;
    if (within->offset)
        n = snprintf(head, sizeof(head), "%zu.%d.%llu.%llu.", cursor->root,
                     within->shown ? WITHIN_SHOWN_LINE : WITHIN_ENTRY,
                     (unsigned long long)within->offset, (unsigned long long)within->lines);
    else
        n = snprintf(head, sizeof(head), "%zu.%d.", cursor->root, (int)cursor->place);
    int rc = common_buffer_append(out, head, (size_t)n);
    if (rc == MCP_OK)
        rc = common_buffer_reserve(out, MCP_URI_ENCODED_SIZE(cursor->len));
    if (rc == MCP_OK && cursor->len)
        out->len += mcp_uri_encode_path((mcp_str){cursor->path, cursor->len}, out->ptr + out->len);
    return rc;
}

static bool take_number(mcp_str *text, uint64_t max, uint64_t *ret)
{
    const char *dot = text->len ? memchr(text->ptr, '.', text->len) : NULL;
    size_t len = dot ? (size_t)(dot - text->ptr) : 0;
    if (!common_pieces_number((mcp_str){text->ptr, len}, 0, max, ret))
        return false;
    text->ptr += len + 1;
    text->len -= len + 1;
    return true;
}

bool files_sweep_take_cursor(const files *f, mcp_str text, files_cursor *ret, files_within *within)
{
    uint64_t root, place;
    *ret = (files_cursor){0};
    *within = (files_within){0};
    if (!take_number(&text, f->roots.count, &root) || !take_number(&text, LAST_PLACE, &place))
        return false;
    if (place > FILES_AFTER_TREE && (!take_number(&text, INT64_MAX, &within->offset) ||
                                     !take_number(&text, INT64_MAX, &within->lines) ||
                                     !within->offset || root == f->roots.count))
        return false;
    within->shown = place == WITHIN_SHOWN_LINE;
    ret->root = (size_t)root;
    ret->place = place > FILES_AFTER_TREE ? FILES_AFTER_ENTRY : (files_place)place;
    return mcp_uri_decode(text, ret->path, sizeof(ret->path) - 1, &ret->len) == MCP_OK;
}
