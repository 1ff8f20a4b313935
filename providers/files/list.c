/* list.c: resources/list, one page of the walk at a time.
 *
 * A page of an ordinary tree takes a millisecond or two and is made on the server's thread, because
 * a worker would cost more than it saves. A page of a huge flat folder has to read the whole
 * folder, so a worker makes it. The choice is an estimate: from the size of the directory itself
 * (directories grow with their entries), or from the duration of the last page if the file system
 * does not report a size.
 */
#define _GNU_SOURCE
#include "provider.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum {
    LARGE_FOLDER = 512 << 10, /* bytes; size of a directory with 10,000 to 20,000 entries */
    SLOW_NS = 10 * 1000 * 1000,
    CURSOR_VERSION = 1,
    CURSOR_HEAD = 6, /* version, place, root */
};

typedef struct page {
    files *f;
    mcp_request *req;
    files_cursor cursor;
    files_walk_options options;
    files_walk_result result;
    atomic_bool stop; /* read by the worker */
    int rc;
    int64_t took;
    common_buffer records; /* entries found by a worker */
    /* Folder of the previous entry, for watching. */
    size_t root;
    common_buffer folder;
} page;

/* ---- cursors --------------------------------------------------------------------------------- */

/* Serializes a position. Returns MCP_OK or MCP_ENOMEM. */
static int write_cursor(const files_cursor *c, common_buffer *out)
{
    unsigned char head[CURSOR_HEAD] = {CURSOR_VERSION, (unsigned char)c->place};
    for (int i = 0; i < 4; i++)
        head[2 + i] = (unsigned char)(c->root >> (8 * i));
    int rc = common_buffer_append(out, head, sizeof(head));
    return rc == MCP_OK ? common_buffer_append(out, c->path, c->len) : rc;
}

/* Parses a position. Returns MCP_OK, or MCP_EINVAL if it is invalid. */
static int read_cursor(mcp_str bytes, files_cursor *ret)
{
    *ret = (files_cursor){0};
    if (!bytes.len)
        return MCP_OK;
    const unsigned char *head = (const unsigned char *)bytes.ptr;
    if (bytes.len < CURSOR_HEAD || bytes.len - CURSOR_HEAD >= COMMON_PATH_MAX ||
        head[0] != CURSOR_VERSION || head[1] > FILES_AFTER_TREE)
        return MCP_EINVAL;
    ret->place = (files_place)head[1];
    for (int i = 0; i < 4; i++)
        ret->root |= (size_t)head[2 + i] << (8 * i);
    ret->len = bytes.len - CURSOR_HEAD;
    memcpy(ret->path, bytes.ptr + CURSOR_HEAD, ret->len);
    return MCP_OK;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Writes a time as "2025-01-12T15:00:58Z", and nothing if its year has not four digits. In the computation, years begin in March, so that a leap
 * day is the last day of its year. */
static void put_time(int64_t seconds, char ret[32])
{
    int64_t days = seconds / 86400, rest = seconds % 86400;
    if (rest < 0)
        rest += 86400, days--;
    days += 719468; /* since 0000-03-01 */
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day = days - era * 146097;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= 365 * year + year / 4 - year / 100;
    int64_t month = (5 * day + 2) / 153;
    day -= (153 * month + 2) / 5;
    month += month < 10 ? 3 : -9;
    year += era * 400 + (month <= 2);
    ret[0] = 0;
    if (year < 0 || year > 9999)
        return;
    snprintf(ret, 32, "%04d-%02d-%02dT%02d:%02d:%02dZ", (int)year, (int)month, (int)day + 1,
             (int)(rest / 3600), (int)(rest / 60 % 60), (int)(rest % 60));
}

/* Returns whether the entry is the readme file of a root, which describes the other files. */
static bool is_readme(const files_entry *e)
{
    static const char readme[] = "readme";
    if (e->is_dir || e->name.len < 6 || e->rel.len != e->name.len)
        return false;
    for (size_t i = 0; i < 6; i++)
        if ((e->name.ptr[i] | 0x20) != readme[i])
            return false;
    return true;
}

/* Writes the path below the root; with several roots, preceded by the root's name. */
static int put_title(const files *f, const files_entry *e, common_buffer *out)
{
    const files_root *root = &f->roots.items[e->root];
    size_t at = root->path_len;
    int rc = MCP_OK;
    while (at > 0 && root->path[at - 1] != '/')
        at--;
    if (!e->rel.len || f->roots.count > 1)
        rc = files_put_text(out, root->path_len ? (mcp_str){root->path + at, root->path_len - at}
                                                : MCP_STR("/"));
    if (rc == MCP_OK && e->rel.len && f->roots.count > 1)
        rc = files_put_text(out, MCP_STR("/"));
    return rc == MCP_OK && e->rel.len ? files_put_text(out, e->rel) : rc;
}

/* Returns the MIME type by name only, because reading each file would cost more than
 * everything else. */
static const char *entry_type(const files *f, const files_entry *e)
{
    return e->is_dir ? FILES_MIME_FOLDER : files_mime_of_name(f->mime, e->name);
}

/* The version has no hash, for which each file would have to be read. */
static const char *entry_meta(mcp_request *req, const files *f, const files_entry *e,
                              char ret[FILES_META_SIZE])
{
    editing_version version;
    struct stat st = {.st_ino = e->inode, .st_ctim = e->ctime, .st_size = (off_t)e->size};
    if (e->is_dir || !files_tells_version(f, req, mcp_str_from(f->uri.ptr)))
        return NULL;
    editing_version_make(&st, NULL, &version);
    return files_version_meta(&version, ret);
}

static int reply_entry(mcp_request *req, files *f, const files_entry *e)
{
    char time[32], meta[FILES_META_SIZE];
    f->uri.len = f->name.len = f->title.len = 0;
    int rc = files_put_uri(f, e->root, e->rel, &f->uri);
    if (rc == MCP_OK)
        rc = files_put_text(&f->name, e->name);
    if (rc == MCP_OK)
        rc = put_title(f, e, &f->title);
    if (rc != MCP_OK)
        return rc;
    if (e->gone)
        return mcp_reply_without(req, f->uri.ptr, f->name.ptr);
    put_time(e->mtime.tv_sec, time);
    mcp_annotations notes = {.size = sizeof(notes), .last_modified = *time ? time : NULL};
    if (is_readme(e)) {
        notes.audience = MCP_AUDIENCE_USER | MCP_AUDIENCE_ASSISTANT;
        notes.has_priority = true;
        notes.priority = 0.9;
    }
    return mcp_reply_resource(req, &(mcp_resource){.size = sizeof(mcp_resource),
                                                   .uri = f->uri.ptr,
                                                   .name = f->name.ptr,
                                                   .title = f->title.ptr,
                                                   .mime_type = entry_type(f, e),
                                                   .has_size = !e->is_dir,
                                                   .resource_size = e->size,
                                                   .annotations = &notes,
                                                   .meta = entry_meta(req, f, e, meta)});
}

/* Reports the entry's folder to the watcher, which prefers listed folders. */
static void note_folder(page *p, const files_entry *e)
{
    mcp_str folder = {e->rel.ptr, e->rel.len - (e->rel.len ? e->name.len : 0)};
    if (!p->f->watch || !e->rel.len)
        return;
    if (p->folder.len && p->root == e->root &&
        mcp_str_eq(folder, (mcp_str){p->folder.ptr, p->folder.len - 1}))
        return;
    p->root = e->root;
    p->folder.len = 0;
    common_buffer path;
    common_buffer_init(&path, &p->f->alloc);
    if (common_buffer_append(&p->folder, folder.ptr, folder.len) == MCP_OK)
        common_buffer_append(&p->folder, "", 1);
    folder.len -= folder.len > 0; /* the slash */
    if (files_put_path(p->f, e->root, folder, &path) == MCP_OK)
        files_watch_listed(p->f->watch, path.ptr);
    common_buffer_free(&path);
}

static int emit_reply(const files_entry *e, void *user)
{
    page *p = user;
    note_folder(p, e);
    return reply_entry(p->req, p->f, e);
}

/* ---- on a worker ----------------------------------------------------------------------------- */

typedef struct record {
    files_entry entry; /* without its pointers */
    size_t rel_len, name_len;
} record;

static int emit_record(const files_entry *e, void *user)
{
    page *p = user;
    record r = {.entry = *e, .rel_len = e->rel.len, .name_len = e->name.len};
    int rc = common_buffer_append(&p->records, &r, sizeof(r));
    if (rc == MCP_OK && e->rel.len) /* the name is the end of the path */
        rc = common_buffer_append(&p->records, e->rel.ptr, e->rel.len);
    else if (rc == MCP_OK)
        rc = common_buffer_append(&p->records, e->name.ptr, e->name.len);
    return rc == MCP_OK ? common_buffer_append(&p->records, "", 1) : rc;
}

static int reply_records(page *p)
{
    int rc = MCP_OK;
    for (size_t at = 0; rc == MCP_OK && at < p->records.len;) {
        record r;
        memcpy(&r, p->records.ptr + at, sizeof(r));
        const char *text = p->records.ptr + at + sizeof(r);
        size_t len = r.rel_len ? r.rel_len : r.name_len;
        r.entry.rel = (mcp_str){text, r.rel_len};
        r.entry.name = (mcp_str){text + (len - r.name_len), r.name_len};
        rc = emit_reply(&r.entry, p);
        at += sizeof(r) + len + 1;
    }
    return rc;
}

static int64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void walk(page *p, files_emit_fn *emit)
{
    int64_t begin = nanoseconds();
    p->rc = files_walk_page(&p->f->roots, &p->cursor, &p->options, emit, p, &p->cursor, &p->result);
    p->took = nanoseconds() - begin;
}

static int page_end(page *p)
{
    common_buffer cursor;
    common_buffer_init(&cursor, &p->f->alloc);
    p->f->slow = p->took > SLOW_NS;
    if (p->rc == MCP_OK && p->result.more)
        p->rc = write_cursor(&p->cursor, &cursor);
    if (p->rc == MCP_OK && p->result.more)
        p->rc = mcp_reply_next(p->req, (mcp_str){cursor.ptr, cursor.len});
    common_buffer_free(&cursor);
    common_buffer_free(&p->records);
    common_buffer_free(&p->folder);
    return p->rc;
}

static void walk_work(void *user)
{
    walk(user, emit_record);
}

static bool stopped(void *user)
{
    return atomic_load_explicit(&((page *)user)->stop, memory_order_relaxed);
}

static void on_cancel(mcp_request *req, void *user)
{
    (void)req;
    atomic_store_explicit(&((page *)user)->stop, true, memory_order_relaxed);
}

static void walk_done(mcp_request *req, void *user)
{
    page *p = user;
    mcp_request_on_cancel(req, NULL, NULL);
    if (p->rc == MCP_OK && !mcp_request_cancelled(req))
        p->rc = reply_records(p);
    mcp_reply_finish(req, page_end(p));
}

/* ---- the list -------------------------------------------------------------------------------- */

bool files_is_large_folder(const struct stat *st)
{
    return S_ISDIR(st->st_mode) && st->st_size > LARGE_FOLDER;
}

/* Returns whether the page begins in or at a folder that takes long to read. */
static bool is_long(const page *p)
{
    char rel[COMMON_PATH_MAX];
    struct stat st;
    if (p->f->slow)
        return true;
    if (p->cursor.root >= p->f->roots.count || p->cursor.len >= sizeof(rel))
        return false;
    const files_root *root = &p->f->roots.items[p->cursor.root];
    memcpy(rel, p->cursor.path, p->cursor.len);
    rel[p->cursor.len] = 0;
    if (root->only || !files_rel_valid((mcp_str){rel, p->cursor.len}))
        return false;
    if (files_root_stat(root, rel, &st) == MCP_OK && files_is_large_folder(&st))
        return true;
    char *slash = strrchr(rel, '/');
    *(slash ? slash : rel) = 0;
    return files_root_stat(root, rel, &st) == MCP_OK && files_is_large_folder(&st);
}

static int walk_later(page *p)
{
    p->options.stop = stopped;
    p->options.user = p;
    p->rc = MCP_ECANCELLED; /* in case the work never starts */
    mcp_request_on_cancel(p->req, on_cancel, p);
    int rc = mcp_request_work(p->req, walk_work, walk_done, p);
    if (rc < 0)
        mcp_request_on_cancel(p->req, NULL, NULL);
    return rc;
}

int files_list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    files *f = user;
    page *p = mcp_request_alloc(req, sizeof(*p));
    if (!p)
        return MCP_ENOMEM;
    *p = (page){.f = f, .req = req, .options = {.max = max, .alloc = &f->alloc}};
    int rc = read_cursor(cursor, &p->cursor);
    if (rc != MCP_OK)
        return rc;
    common_buffer_init(&p->records, &f->alloc);
    common_buffer_init(&p->folder, &f->alloc);
    for (size_t i = p->cursor.root; i < f->roots.count; i++)
        files_renew(f, i);
    if (is_long(p))
        return walk_later(p);
    walk(p, emit_reply);
    return page_end(p);
}
