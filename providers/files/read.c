/* read.c: resources/read of files, parts of files, and folders.
 *
 * A template's URI is a file's URI with a query, so all reads are handled here. The path is taken
 * from the URI itself, because a matched variable is decoded, and "%2F" in it would look like "/".
 * The numbers are taken from the match. Without a query every template means the whole file.
 *
 * A read may take long for three reasons: much data, a search for lines in a large file, or a large
 * folder. Then it runs on a worker. Small reads are faster on the server's thread.
 */
#define _GNU_SOURCE
#include "provider.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "content.h"
#include "file_parts.h"
#include "folder.h"
#include "pieces.h"
#include "shown.h"
#include "text.h"

enum {
    INLINE_BYTES = 256 << 10,
};

#define MAX_NUMBER ((uint64_t)1 << 53) /* largest integer that is exact in JSON */

typedef struct job {
    files *f;
    mcp_request *req;
    files_part part;
    const char *uri; /* without the query; points into the request */
    files_target target;
    int fd;
    struct stat st;
    atomic_bool stop; /* read by the worker */
    common_buffer out;
    uint64_t begin;      /* offset of the first of the lines */
    common_buffer text;  /* the same as a text, if the file is in UTF-16 */
    const char *charset; /* then */
    files_folder folder;
    int rc;
} job;

/* ---- parsing the query ----------------------------------------------------------------------- */

typedef struct number {
    const char *name;
    files_part_kind kind;
    size_t member; /* of files_part */
    uint64_t min, max;
} number;

#define FROM(min)                                  min, MAX_NUMBER
#define BETWEEN(min, max)                          min, max
#define PART(kind, name, title, about, parameters) parameters
#define NUMBER(kind, member, name, value, bounds, about) \
    {name, FILES_##kind, offsetof(files_part, member), bounds},

static const number numbers[] = {COMMON_PARTS(PART, NUMBER, NUMBER)};

enum { N_NUMBERS = sizeof(numbers) / sizeof(*numbers) };

bool files_is_part_name(mcp_str name)
{
    for (size_t i = 0; i < N_NUMBERS; i++)
        if (mcp_str_eq(name, mcp_str_from(numbers[i].name)))
            return true;
    return false;
}

/* Gets the text of a number by its name. Returns false if it is absent. */
typedef bool number_fn(const char *name, mcp_str *text, void *user);

/* Makes a part from the numbers. Returns MCP_OK, or MCP_EINVAL with the reason in `why`. */
static int make_part(const files *f, number_fn *get, void *user, files_part *ret, char why[256])
{
    files_part part = {FILES_WHOLE, 0, 0};
    for (size_t i = 0; i < N_NUMBERS; i++) {
        const number *n = &numbers[i];
        bool is_length = n->kind == FILES_BYTES && n->member == offsetof(files_part, count);
        uint64_t max = is_length ? f->max_read : n->max;
        mcp_str text;
        if (!get(n->name, &text, user))
            continue;
        if (part.kind != FILES_WHOLE && part.kind != n->kind) {
            snprintf(why, 256,
                     "%s cannot be combined with the others: use one of" COMMON_FILE_FORMS
                         COMMON_FOLDER_FORMS " alone",
                     n->name);
            return MCP_EINVAL;
        }
        part.kind = n->kind;
        if (!common_pieces_number(text, n->min, max, (uint64_t *)((char *)&part + n->member))) {
            snprintf(why, 256, "%s must be a whole number from %llu to %llu", n->name,
                     (unsigned long long)n->min, (unsigned long long)max);
            return MCP_EINVAL;
        }
    }
    *ret = part;
    return MCP_OK;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static int fail(const job *j, int code, const char *data, const char *format, ...) MCP_PRINTF(4, 5);

static int fail(const job *j, int code, const char *data, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return mcp_reply_fail_data(j->req, code, data, "%s", text);
}

/* Replies "not found". The reason is only logged, because a hidden file must look like
 * a missing one. */
static int not_found(const job *j, int rc)
{
    files_log(j->f, "not served", mcp_str_from(j->uri), rc);
    return MCP_ENOTFOUND;
}

/* Replies that the result is too large. The message repeats the error's data, for models. */
static int too_large(const job *j)
{
    mcp_json_writer *w = mcp_json_writer_new(&j->f->alloc, 0);
    mcp_str data = {0};
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "uri", j->uri);
    mcp_json_put_uint(w, "size", (uint64_t)j->st.st_size);
    mcp_json_put_uint(w, "limit", j->f->max_read);
    if (j->part.kind == FILES_LINES)
        mcp_json_put_uint(w, "offset", j->begin);
    mcp_json_put_string(w, "uriTemplate", files_templates[FILES_BYTES].uri_template);
    mcp_json_end(w);
    int rc = w ? mcp_json_writer_finish(w, &data) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = fail(j, MCP_CODE_INTERNAL, mcp_request_strdup(j->req, data),
                  "%s %.500s has %lld bytes, more than the limit of %zu for one read. Read it in "
                  "parts:" COMMON_FILE_FORMS " added to its URI",
                  j->part.kind == FILES_WHOLE ? "The file" : "That part of", j->uri,
                  (long long)j->st.st_size, j->f->max_read);
    mcp_json_writer_free(w);
    return rc;
}

static int failed(const job *j)
{
    switch (j->rc) {
    case MCP_ELIMIT: return too_large(j);
    case MCP_ENOTFOUND:
    case MCP_EACCESS: return not_found(j, j->rc);
    case MCP_EIO:
        files_log(j->f, "cannot be read", mcp_str_from(j->uri), j->rc);
        return fail(j, MCP_CODE_INTERNAL, NULL, "%.500s cannot be read now: input or output failed",
                    j->uri);
    default: return j->rc;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool stopped(void *user)
{
    return atomic_load_explicit(&((job *)user)->stop, memory_order_relaxed);
}

static int read_file(job *j)
{
    files_reader r = {.fd = j->fd, .limit = j->f->max_read, .stop = stopped, .user = j};
    const files_part *p = &j->part;
    uint64_t size = (uint64_t)j->st.st_size;
    uint64_t count = p->count ? p->count : UINT64_MAX;
    switch (p->kind) {
    case FILES_BYTES:
        if (!p->count && p->from < size && size - p->from > r.limit)
            return MCP_ELIMIT;
        return files_read_bytes(&r, p->from, p->count ? count : r.limit, &j->out);
    case FILES_LINES: return files_read_lines(&r, p->from, count, &j->out, &j->begin);
    case FILES_TAIL: return files_read_tail(&r, size, count, &j->out);
    case FILES_WHOLE:
    case FILES_TREE:
    case FILES_PART_KINDS: break;
    }
    return size > r.limit ? MCP_ELIMIT : files_read_whole(&r, size, &j->out);
}

/* Whoever asks for bytes gets bytes. */
static int show(job *j)
{
    if (j->part.kind == FILES_BYTES || !j->out.len)
        return MCP_OK;
    j->charset = j->part.kind == FILES_WHOLE
                     ? files_shown_charset((mcp_str){j->out.ptr, j->out.len})
                     : files_shown_charset_of(j->fd);
    if (!j->charset)
        return MCP_OK;
    int rc = files_shown_decode((mcp_str){j->out.ptr, j->out.len}, j->charset, &j->text);
    if (rc != MCP_EPARSE)
        return rc;
    j->charset = NULL;
    common_buffer_free(&j->text);
    return MCP_OK;
}

static void read_something(job *j)
{
    bool folder = S_ISDIR(j->st.st_mode);
    j->rc = folder ? files_folder_write(&j->folder, &j->out) : read_file(j);
    if (j->rc == MCP_OK && !folder)
        j->rc = show(j);
}

static void read_work(void *user)
{
    job *j = user;
    j->folder.asking.here = false;
    read_something(j);
}

/* Returns the largest number of bytes that will be read. */
static uint64_t to_look_at(const job *j)
{
    uint64_t bytes = (uint64_t)j->st.st_size;
    if (j->part.kind == FILES_BYTES && j->part.count && j->part.count < bytes)
        bytes = j->part.count;
    return bytes;
}

static bool takes_long(const job *j)
{
    if (S_ISDIR(j->st.st_mode))
        return j->part.from > 1 || files_is_large_folder(&j->st);
    uint64_t bytes = to_look_at(j);
    if (j->part.kind == FILES_WHOLE && bytes > j->f->max_read)
        return false; /* rejected without reading */
    return bytes > INLINE_BYTES;
}

/* Returns the largest number of bytes that will be held in memory. A text of UTF-16 has up to three bytes for two. */
static size_t to_hold(const job *j)
{
    uint64_t bytes = S_ISDIR(j->st.st_mode) ? 0 : to_look_at(j);
    size_t most = bytes < j->f->max_read ? (size_t)bytes : j->f->max_read;
    bool twice = most && j->part.kind != FILES_BYTES && files_shown_charset_of(j->fd);
    return twice ? most + most / 2 * 3 : most;
}

static mcp_str last_name(const job *j)
{
    const char *path = j->target.path, *slash = strrchr(path, '/');
    return mcp_str_from(slash ? slash + 1 : path);
}

static int reply_content(mcp_request *req, const files *f, mcp_str uri, const files_cached *c)
{
    char meta[FILES_META_SIZE], type[FILES_TYPE_SIZE];
    mcp_content content = {.size = sizeof(content),
                           .kind = MCP_CONTENT_TEXT,
                           .mime_type = files_shown_type(c->type, c->charset, type)};
    if (c->text) {
        content.text = c->bytes;
    } else {
        content.bytes = c->bytes.ptr;
        content.bytes_len = c->bytes.len;
    }
    if (c->version.text[0] && files_tells_version(f, req, uri))
        content.meta = files_version_meta(&c->version, meta);
    return mcp_reply_content(req, &content);
}

static const files_root *root_of(const job *j)
{
    return &j->f->roots.items[j->target.root];
}

static bool is_whole_file(const job *j)
{
    return j->part.kind == FILES_WHOLE && !j->target.slash;
}

/* Caches a file that was read as a whole, if it is small. */
static void keep(job *j, const files_cached *content)
{
    if (!is_whole_file(j) || !S_ISREG(j->st.st_mode))
        return;
    if (!j->f->cache)
        j->f->cache = files_cache_new(&j->f->alloc);
    if (j->f->cache)
        files_cache_put(j->f->cache, mcp_str_from(j->uri), j->fd, &j->st, content);
}

static int reply(job *j)
{
    bool folder = S_ISDIR(j->st.st_mode);
    mcp_str stored = {j->out.ptr ? j->out.ptr : "", j->out.len};
    files_cached content = {.bytes = j->charset ? (mcp_str){j->text.ptr, j->text.len} : stored,
                            .charset = j->charset};
    content.text = folder || j->charset || common_text_check(content.bytes);
    content.type = folder ? FILES_MIME_FOLDER : files_mime_of_name(j->f->mime, last_name(j));
    if (!content.type)
        content.type = files_mime_of_content(content.text);
    if (S_ISREG(j->st.st_mode))
        editing_version_make(&j->st, is_whole_file(j) ? &stored : NULL, &content.version);
    keep(j, &content);
    return reply_content(j->req, j->f, mcp_str_from(j->uri), &content);
}

static void give_back(job *j)
{
    close(j->fd);
    common_asking_free(&j->folder.asking);
    common_buffer_free(&j->out);
    common_buffer_free(&j->text);
}

/* Replies and frees the job's resources. */
static int finish(job *j)
{
    int rc = j->rc == MCP_OK ? reply(j) : failed(j);
    give_back(j);
    return rc;
}

static int read_later(job *j);

static void read_done(mcp_request *req, void *user)
{
    job *j = user;
    int rc;
    mcp_request_on_cancel(req, NULL, NULL);
    if (!common_asking_again(&j->folder.asking, &j->rc))
        rc = finish(j);
    else if ((rc = read_later(j)) >= 0)
        return;
    mcp_reply_finish(req, rc);
}

static void on_cancel(mcp_request *req, void *user)
{
    (void)req;
    atomic_store_explicit(&((job *)user)->stop, true, memory_order_relaxed);
}

static int read_later(job *j)
{
    j->rc = MCP_ECANCELLED; /* in case the work never starts */
    mcp_request_on_cancel(j->req, on_cancel, j);
    int rc = mcp_request_work_sized(j->req, to_hold(j), read_work, read_done, j);
    if (rc < 0) {
        mcp_request_on_cancel(j->req, NULL, NULL);
        give_back(j);
    }
    return rc;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool part_fits(const job *j)
{
    bool of_folder = j->part.kind == FILES_TREE;
    return j->part.kind == FILES_WHOLE || of_folder == (S_ISDIR(j->st.st_mode) != 0);
}

static int misfit(const job *j)
{
    bool folder = S_ISDIR(j->st.st_mode);
    return fail(j, MCP_CODE_INVALID_PARAMS, NULL, "%.500s is a %s", j->uri,
                folder ? "folder: read it without parameters, or with" COMMON_FOLDER_FORMS
                         " added to its URI"
                       : "file, not a folder: the parameters of folders," COMMON_FOLDER_FORMS
                         " are not allowed");
}

static int open_target(job *j)
{
    files_renew_old(j->f, j->target.root);
    int rc = files_root_open(root_of(j), j->target.rel, &j->fd, &j->st);
    if ((rc == MCP_ENOTFOUND || rc == MCP_EACCESS) && files_renew(j->f, j->target.root))
        rc = files_root_open(root_of(j), j->target.rel, &j->fd, &j->st);
    if (rc == MCP_OK && j->target.slash && !S_ISDIR(j->st.st_mode)) {
        close(j->fd);
        j->fd = -1;
        rc = MCP_ENOTFOUND;
    }
    if (rc != MCP_OK && root_of(j)->gone && !j->target.rel_len)
        return fail(j, MCP_CODE_INTERNAL, NULL, "%.500s cannot be read now: %s", j->uri,
                    files_root_why(root_of(j)));
    if (rc == MCP_ENOTFOUND || rc == MCP_EACCESS)
        return not_found(j, rc);
    if (rc == MCP_ELIMIT)
        return fail(j, MCP_CODE_INTERNAL, NULL, "Too many files are open; try again");
    return rc;
}

static void set_folder(job *j)
{
    j->folder = (files_folder){.f = j->f,
                               .target = &j->target,
                               .depth = (size_t)j->part.from,
                               .max = (size_t)j->part.count,
                               .stop = stopped,
                               .user = j};
    common_asking_init(&j->folder.asking, j->req, &j->f->alloc);
}

/* Reads the resource and replies. Returns what a handler returns. */
static int read_part(mcp_request *req, files *f, mcp_str uri, files_part part)
{
    const char *query = memchr(uri.ptr, '?', uri.len);
    if (query)
        uri.len = (size_t)(query - uri.ptr);
    job *j = mcp_request_alloc(req, sizeof(*j));
    if (!j)
        return MCP_ENOMEM;
    *j = (job){.f = f, .req = req, .part = part, .fd = -1};
    j->uri = mcp_request_strdup(req, uri);
    if (!j->uri)
        return MCP_ENOMEM;
    if (memchr(uri.ptr, 0, uri.len))
        return not_found(j, MCP_EPARSE);
    int rc = files_uri_parse(&f->roots, mcp_str_from(j->uri), &j->target);
    if (rc != MCP_OK)
        return not_found(j, rc);
    rc = open_target(j);
    if (rc != MCP_OK)
        return rc;
    common_buffer_init(&j->out, &f->alloc);
    common_buffer_init(&j->text, &f->alloc);
    set_folder(j);
    if (!part_fits(j)) {
        close(j->fd);
        return misfit(j);
    }
    if (takes_long(j))
        return read_later(j);
    read_something(j);
    return finish(j);
}

/* ---- callbacks of the server ----------------------------------------------------------------- */

int files_read_cached(mcp_request *req, mcp_str uri, void *user)
{
    files *f = user;
    files_cached content;
    if (!f->cache || !files_cache_get(f->cache, uri, &content))
        return MCP_ENOTFOUND;
    return reply_content(req, f, uri, &content);
}

int files_read_resource(mcp_request *req, mcp_str uri, void *user)
{
    files_part whole = {FILES_WHOLE, 0, 0};
    if (memchr(uri.ptr, '?', uri.len)) /* queries of templates are not handled here */
        return MCP_ENOTFOUND;
    return read_part(req, user, uri, whole);
}

typedef struct matched {
    const mcp_uri_match *match;
} matched;

static bool get_matched(const char *name, mcp_str *text, void *user)
{
    const matched *m = user;
    return mcp_uri_match_get(m->match, name, text);
}

int files_read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    files_part part = {FILES_WHOLE, 0, 0};
    char why[256];
    matched arg = {match};
    if (!memchr(uri.ptr, '?', uri.len)) /* the common case, without a lookup for each parameter */
        return read_part(req, user, uri, part);
    if (make_part(user, get_matched, &arg, &part, why) != MCP_OK)
        return mcp_reply_fail(req, MCP_CODE_INVALID_PARAMS, "%s", why);
    return read_part(req, user, uri, part);
}
