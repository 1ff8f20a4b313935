/* sweep.c: see sweep.h. */
#define _GNU_SOURCE
#include "sweep.h"

#include <stdio.h>
#include <time.h>

#include "glob.h"

/* What emit answers when the slice is over; no code of the walk's either. */
enum { PAUSE = 2 };

enum {
    MAX_GLOB = 256,              /* characters */
    MOST_EXAMINED = 1000 * 1000, /* names, of one call */
};

static const int64_t slice_ns = 100 * 1000000LL, call_ns = 10 * 1000000000LL;

int64_t files_sweep_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool files_sweep_stopped(const files_sweep *s)
{
    return atomic_load_explicit(&s->stop, memory_order_relaxed);
}

/* ---- on a worker ----------------------------------------------------------------------------- */

static bool stopped(void *user)
{
    return files_sweep_stopped(user);
}

/* Enough for one call; but something has to come of it. */
static bool spent(const files_sweep *s)
{
    return s->examined >= MOST_EXAMINED || (s->seen && files_sweep_now() - s->began > call_ns);
}

/* The slice counts from its first entry on, so that it gets on however long a folder takes to read. */
static bool slice_over(files_sweep *s)
{
    int64_t now = files_sweep_now();
    if (!s->slice_began)
        s->slice_began = now;
    return now - s->slice_began > slice_ns;
}

static void keep_place(files_sweep *s, const files_entry *e)
{
    s->at.root = e->root;
    s->at.place = FILES_AFTER_ENTRY;
    s->at.len = e->rel.len;
    if (e->rel.len)
        memcpy(s->at.path, e->rel.ptr, e->rel.len);
}

static int on_entry(const files_entry *e, void *user)
{
    files_sweep *s = user;
    if (files_sweep_stopped(s))
        return MCP_ECANCELLED;
    if (slice_over(s) && (s->sliced || spent(s)))
        return PAUSE;
    int rc = s->visit(s, e);
    if (rc != MCP_OK)
        return rc;
    s->seen++;
    keep_place(s, e);
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
    s->more = result.more || rc == PAUSE || rc == FILES_SWEEP_ENOUGH;
    return rc;
}

static void work(void *user)
{
    files_sweep *s = user;
    int rc;
    s->slice_began = 0;
    do
        rc = one_page(s);
    while (rc == MCP_OK && s->more && !spent(s) && (!s->sliced || !slice_over(s)));
    s->over = (rc != MCP_OK && rc != PAUSE) || !s->more || spent(s);
    s->rc = rc < 0 ? rc : MCP_OK;
}

/* ---- on the server's thread ------------------------------------------------------------------ */

static void on_cancel(mcp_request *req, void *user)
{
    (void)req;
    atomic_store_explicit(&((files_sweep *)user)->stop, true, memory_order_relaxed);
}

static void done(mcp_request *req, void *user);

static int slice(files_sweep *s)
{
    s->rc = MCP_ECANCELLED; /* should it never be begun */
    s->over = true;
    return mcp_request_work(s->req, work, done, s);
}

static void end(files_sweep *s)
{
    mcp_request_on_cancel(s->req, NULL, NULL);
    mcp_reply_finish(s->req, s->done(s));
}

static void done(mcp_request *req, void *user)
{
    files_sweep *s = user;
    char text[80];
    if (s->over || files_sweep_stopped(s)) {
        end(s);
        return;
    }
    snprintf(text, sizeof text, "%zu %s", s->seen, s->what);
    mcp_request_progress(req, (double)s->examined, 0, text);
    int rc = slice(s);
    if (rc < 0) {
        s->rc = rc;
        end(s);
    }
}

int files_sweep_run(files_sweep *s)
{
    const mcp_host *host = mcp_server_host(s->f->server);
    s->sliced = host && host->work; /* without workers a slice would be done within the other */
    s->began = files_sweep_now();
    mcp_request_on_cancel(s->req, on_cancel, s);
    int rc = slice(s);
    if (rc < 0) {
        s->rc = rc;
        mcp_request_on_cancel(s->req, NULL, NULL);
        rc = s->done(s);
    }
    return rc;
}

/* ---- positions ------------------------------------------------------------------------------- */

int files_sweep_put_cursor(const files_cursor *cursor, files_buffer *out)
{
    char head[48];
    int n = snprintf(head, sizeof head, "%zu.%d.", cursor->root, (int)cursor->place);
    int rc = files_buffer_append(out, head, (size_t)n);
    if (rc == MCP_OK)
        rc = files_buffer_reserve(out, MCP_URI_ENCODED_SIZE(cursor->len));
    if (rc == MCP_OK && cursor->len)
        out->len += mcp_uri_encode_path((mcp_str){cursor->path, cursor->len}, out->ptr + out->len);
    return rc;
}

static bool take_number(mcp_str *text, uint64_t max, uint64_t *ret)
{
    const char *dot = text->len ? memchr(text->ptr, '.', text->len) : NULL;
    size_t len = dot ? (size_t)(dot - text->ptr) : 0;
    if (!files_number((mcp_str){text->ptr, len}, 0, max, ret))
        return false;
    text->ptr += len + 1;
    text->len -= len + 1;
    return true;
}

bool files_sweep_take_cursor(const files *f, mcp_str text, files_cursor *ret)
{
    uint64_t root, place;
    *ret = (files_cursor){0};
    if (!take_number(&text, f->roots.count, &root) || !take_number(&text, FILES_AFTER_TREE, &place))
        return false;
    ret->root = (size_t)root;
    ret->place = (files_place)place;
    return mcp_uri_decode(text, ret->path, sizeof ret->path - 1, &ret->len) == MCP_OK;
}

static int append(files_buffer *out, const char *text)
{
    return files_buffer_append(out, text, strlen(text));
}

int files_sweep_put_more(const files_sweep *s, const char *tool, files_buffer *out)
{
    int rc = MCP_OK;
    if (!s->more)
        return rc;
    rc = append(out, "There is more. Call ");
    if (rc == MCP_OK)
        rc = append(out, tool);
    if (rc == MCP_OK)
        rc = append(out, " again with cursor: ");
    if (rc == MCP_OK)
        rc = files_sweep_put_cursor(&s->at, out);
    return rc == MCP_OK ? append(out, "\n") : rc;
}

int files_sweep_add_cursor(const files_sweep *s, mcp_json_writer *w)
{
    files_buffer text;
    if (!s->more)
        return MCP_OK;
    files_buffer_init(&text, &s->f->alloc);
    int rc = files_sweep_put_cursor(&s->at, &text);
    if (rc == MCP_OK)
        mcp_json_key(w, "cursor"), mcp_json_add_str(w, (mcp_str){text.ptr, text.len});
    files_buffer_free(&text);
    return rc;
}

/* ---- arguments ------------------------------------------------------------------------------- */

bool files_sweep_wants(mcp_str glob, const files_entry *e)
{
    if (!glob.len)
        return true;
    if (!memchr(glob.ptr, '/', glob.len))
        return files_glob_match(glob, e->name);
    if (*glob.ptr == '/')
        glob.ptr++, glob.len--;
    return files_glob_match(glob, e->rel);
}

static size_t characters(mcp_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    return n;
}

int files_sweep_arguments(files_sweep *s, const mcp_json *arguments, const char *tool,
                          const char *glob_name, mcp_str *glob, bool *told)
{
    mcp_str cursor = mcp_json_string(mcp_json_get(arguments, "cursor"));
    *glob = mcp_json_string(mcp_json_get(arguments, glob_name));
    *told = true;
    if (characters(*glob) > MAX_GLOB)
        return mcp_reply_tool_error(s->req, "%s is longer than %d characters", glob_name, MAX_GLOB);
    if (cursor.len && !files_sweep_take_cursor(s->f, cursor, &s->at))
        return mcp_reply_tool_error(
            s->req, "The cursor is not one of %s: leave it out to begin at the start.", tool);
    *told = false;
    return MCP_OK;
}

int files_sweep_number(mcp_request *req, const mcp_json *arguments, const char *name, size_t usual,
                       size_t max, size_t *ret, bool *told)
{
    int64_t number = mcp_json_int(mcp_json_get(arguments, name), (int64_t)usual);
    *told = number < 1 || (uint64_t)number > max;
    if (*told)
        return mcp_reply_tool_error(req, "%s must be a whole number from 1 to %zu", name, max);
    *ret = (size_t)number;
    return MCP_OK;
}
