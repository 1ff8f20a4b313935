/* search.c: the files provider's search source (search.h), which searches by name and by content.
 *
 * A search by content reads whole files one after the other on a worker, up to the largest size
 * that a read may return, and larger ones in blocks (stream.c). Files that are not text are skipped and
 * counted. UTF-16 with a mark is text, in files that are read whole.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "content.h"
#include "shown.h"
#include "stream.h"
#include "text.h"

enum {
    PAGE = 10000,            /* entries until parent folders are read again */
    KEPT_BUFFER = 256 << 10, /* bytes of the buffer that is reused between files */
};

static const int64_t file_ns =
    5 * 1000000000LL; /* limit for searching one file, or one slice of it */

typedef struct search {
    files_sweep sweep; /* must be the first member */
    search_turn *turn;
    int64_t file_began;
    common_buffer bytes, text, uri, name; /* of the current file; the text only of UTF-16 */
    files_stream stream;                  /* of a large one */
} search;

/* ---- by name --------------------------------------------------------------------------------- */

static bool fits(const search_query *q, const files_entry *e)
{
    if (!(q->kinds & (e->is_dir ? SEARCH_FOLDERS : SEARCH_FILES)) ||
        !search_path_fits(q->glob, e->name, e->rel))
        return false;
    return !q->part.len ||
           search_contains(memchr(q->part.ptr, '/', q->part.len) ? e->rel : e->name, q->part);
}

static bool wants_entry(const files_sweep *sweep, const files_entry *e)
{
    return fits(((const search *)sweep)->turn->query, e);
}

static int put_uri(search *s, const files_entry *e)
{
    s->uri.len = 0;
    return files_put_uri(s->sweep.f, e->root, e->rel, &s->uri);
}

static int take_entry(files_sweep *sweep, const files_entry *e)
{
    search *s = (search *)sweep;
    if (search_is_full(s->turn->results, s->turn->query))
        return FILES_SWEEP_ENOUGH;
    int rc = put_uri(s, e);
    if (rc != MCP_OK)
        return rc;
    return search_put_entry(s->turn->results,
                            &(search_entry){.kind = e->is_dir ? SEARCH_FOLDERS : SEARCH_FILES,
                                            .uri = {s->uri.ptr, s->uri.len},
                                            .has_size = !e->is_dir,
                                            .size = e->size});
}

/* ---- by content ------------------------------------------------------------------------------ */

/* Returns whether the file takes too long or the request was cancelled. */
static bool stopped(void *user)
{
    const search *s = user;
    return files_sweep_stopped(&s->sweep) || search_now() - s->file_began > file_ns;
}

static int skip_file(search *s, search_skip why)
{
    s->turn->results->skipped[why]++;
    return MCP_OK;
}

static int read_text(search *s, int fd, const struct stat *st)
{
    files_reader r = {.fd = fd, .limit = s->sweep.f->max_read, .stop = stopped, .user = s};
    if (s->bytes.cap > KEPT_BUFFER)
        common_buffer_free(&s->bytes);
    s->bytes.len = 0;
    return files_read_whole(&r, (uint64_t)st->st_size, &s->bytes);
}

/* Gets the text in which to search. What is no text in its charset stays as it is, and is no text. */
static int as_text(search *s, mcp_str *ret)
{
    *ret = (mcp_str){s->bytes.ptr ? s->bytes.ptr : "", s->bytes.len};
    const char *charset = files_shown_charset(*ret);
    common_buffer_free(&s->text);
    if (!charset)
        return MCP_OK;
    int rc = files_shown_decode(*ret, charset, &s->text);
    if (rc == MCP_OK)
        *ret = (mcp_str){s->text.ptr, s->text.len};
    return rc == MCP_EPARSE ? MCP_OK : rc;
}

/* Describes the file. */
static int describe(search *s, const files_entry *e, search_text *t)
{
    s->name.len = 0;
    int rc = put_uri(s, e);
    if (rc == MCP_OK)
        rc = files_put_text(&s->name, e->name);
    const char *type = files_mime_of_name(s->sweep.f->mime, e->name);
    t->stop = stopped;
    t->user = s;
    t->uri = (mcp_str){s->uri.ptr, s->uri.len};
    t->name = (mcp_str){s->name.ptr, s->name.len};
    t->mime_type = mcp_str_from(type ? type : "");
    return rc;
}

/* Searches the contents of a file. Matches found before a time-out are kept. */
static int search_bytes(search *s, const files_entry *e)
{
    search_text t = {0};
    int rc = as_text(s, &t.text);
    if (rc != MCP_OK)
        return rc;
    if (!common_text_check(t.text))
        return skip_file(s, SEARCH_BINARY);
    rc = describe(s, e, &t);
    if (rc != MCP_OK)
        return rc;
    rc = search_put_lines(s->turn->results, s->turn->query, &t);
    if ((rc == MCP_ELIMIT || rc == MCP_ECANCELLED) && !files_sweep_stopped(&s->sweep))
        return skip_file(s, SEARCH_SLOW);
    s->turn->results->searched += rc == MCP_OK;
    return rc;
}

/* Ends the item of a large file that is not searched further in this call. */
static int end_large(search *s, bool more)
{
    if (!s->stream.begun)
        return MCP_OK;
    if (s->sweep.within.offset)
        files_stream_note(&s->stream);
    s->stream.begun = false;
    return search_end_item(s->turn->results, (mcp_str){s->uri.ptr, s->uri.len}, &s->stream.item,
                           more);
}

/* Searches the next part of a large file. */
static int search_large(search *s, int fd, const struct stat *st, const files_entry *e)
{
    search_text t = {0};
    files_stream *stream = &s->stream;
    search_results *results = s->turn->results;
    if (s->bytes.cap > KEPT_BUFFER)
        common_buffer_free(&s->bytes);
    int rc = stream->begun ? MCP_OK : describe(s, e, &t);
    if (rc == MCP_OK && !stream->begun)
        files_stream_begin(stream, &s->sweep, s->turn, &t, (uint64_t)st->st_size);
    if (rc == MCP_OK)
        rc = files_stream_search(stream, fd, &s->bytes);
    if (rc == FILES_SWEEP_PART || rc == MCP_ENOMEM)
        return rc;
    if (rc != FILES_SWEEP_ENOUGH)
        s->sweep.within.offset = 0;
    int ended = end_large(s, rc == MCP_EEXIST);
    if (ended != MCP_OK || rc == FILES_SWEEP_ENOUGH)
        return ended != MCP_OK ? ended : rc;
    results->searched += rc == MCP_OK || rc == MCP_EEXIST;
    switch (rc) {
    case MCP_OK:
    case MCP_EEXIST: return MCP_OK;
    case MCP_EUNSUPPORTED: return skip_file(s, SEARCH_LARGE);
    case MCP_EPARSE: return skip_file(s, SEARCH_BINARY);
    case MCP_EIO: return skip_file(s, SEARCH_UNREADABLE);
    case MCP_ECANCELLED:
    case MCP_ELIMIT: return files_sweep_stopped(&s->sweep) ? rc : skip_file(s, SEARCH_SLOW);
    default: return rc;
    }
}

static int search_file(search *s, const files_entry *e)
{
    struct stat st;
    int fd = -1;
    int rc = files_root_open(&s->sweep.f->roots.items[e->root], e->rel.ptr, &fd, &st);
    if (rc == MCP_ENOMEM || rc == MCP_EFILES)
        return rc;
    if (rc != MCP_OK || !S_ISREG(st.st_mode)) {
        if (fd >= 0)
            close(fd);
        return skip_file(s, SEARCH_UNREADABLE);
    }
    s->file_began = search_now();
    bool large = (uint64_t)st.st_size > s->sweep.f->max_read || s->sweep.within.offset;
    rc = large ? search_large(s, fd, &st, e) : read_text(s, fd, &st);
    close(fd);
    if (large)
        return rc;
    switch (rc) {
    case MCP_OK: return search_bytes(s, e);
    case MCP_ELIMIT: return skip_file(s, SEARCH_LARGE);
    case MCP_EIO: return skip_file(s, SEARCH_UNREADABLE);
    case MCP_ECANCELLED: return files_sweep_stopped(&s->sweep) ? rc : skip_file(s, SEARCH_SLOW);
    default: return rc;
    }
}

static bool wants_file(const files_sweep *sweep, const files_entry *e)
{
    return !e->is_dir && fits(((const search *)sweep)->turn->query, e);
}

static int take_file(files_sweep *sweep, const files_entry *e)
{
    search *s = (search *)sweep;
    return search_is_full(s->turn->results, s->turn->query) ? FILES_SWEEP_ENOUGH
                                                            : search_file(s, e);
}

/* ---- running --------------------------------------------------------------------------------- */

static void done(files_sweep *sweep)
{
    search *s = (search *)sweep;
    search_turn *t = s->turn;
    int ended = end_large(s, false);
    sweep->rc = sweep->rc == MCP_OK ? ended : sweep->rc;
    common_buffer *buffers[] = {&s->bytes, &s->text, &s->uri, &s->name};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
        common_buffer_free(buffers[i]);
    t->rc = sweep->rc;
    t->more = sweep->more;
    t->seen = sweep->seen;
    if (t->rc == MCP_OK && t->more)
        t->rc = files_sweep_put_cursor(&sweep->next, &sweep->next_within, &t->next);
}

static void later(void *user)
{
    search_turn *t = ((search *)user)->turn;
    t->later(t->user);
}

static int run(search_turn *t, void *user)
{
    files *f = user;
    bool by_name = t->query->needle == NULL;
    search *s = mcp_request_alloc(t->req, sizeof(*s));
    if (!s)
        return t->rc = MCP_ENOMEM;
    *s = (search){.sweep = {.f = f,
                            .req = t->req,
                            .page = PAGE,
                            .under = t->query->under,
                            .began = t->began,
                            .seen = t->seen,
                            .wants = by_name ? wants_entry : wants_file,
                            .take = by_name ? take_entry : take_file,
                            .slow = !by_name,
                            .done = done,
                            .later = later},
                  .turn = t};
    if (t->from.len && !files_sweep_take_cursor(f, t->from, &s->sweep.from, &s->sweep.from_within))
        return t->rc = MCP_EINVAL;
    common_buffer *buffers[] = {&s->bytes, &s->text, &s->uri, &s->name};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
        common_buffer_init(buffers[i], &f->alloc);
    return files_sweep_run(&s->sweep);
}

static bool has(mcp_str uri, void *user)
{
    const files *f = user;
    files_target target;
    struct stat st;
    int fd;
    if (files_uri_parse(&f->roots, uri, &target) != MCP_OK ||
        files_root_open(&f->roots.items[target.root], target.rel, &fd, &st) != MCP_OK)
        return false;
    close(fd);
    return true;
}

search_source mcp_files_search(mcp_files *handle)
{
    return (search_source){.prefix = "file:", .run = run, .has = has, .user = handle};
}
