/* walk.c: see walk.h.
 *
 * The walk uses a stack of levels, one for each folder from the root to the position. A level reads
 * its folder when it is on top and has no names left. The next name is the one after the position's
 * component below that level, so a level can be emptied at any time and read again. To bound
 * memory, the lowest levels of a deep stack are emptied. */
#define _GNU_SOURCE
#include "walk.h"

#include "buffer.h"
#include "fileuri.h"
#include "scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

enum {
    KEPT_LEVELS = 12, /* levels at the top of the stack that keep names and a descriptor */
    FEW = 64,         /* names taken in the first scan of a folder with many subfolders */
};

static const mcp_default defaults[] = {
    MCP_DEFAULT(files_walk_options, max, 1000, .maximum = 1 << 20),
    MCP_DEFAULT(files_walk_options, budget, 20000),
};

typedef struct level {
    size_t len; /* length of the folder's relative path, a prefix of the position */
    int fd;     /* -1 if not open */
    bool scanned;
    bool few; /* the first scan took only FEW names */
    files_batch batch;
    files_ignore_dir *rules;
} level;

typedef struct walker {
    const files_roots *roots;
    const files_root *root; /* the current one */
    files_cursor at;        /* the position */
    mcp_allocator alloc;
    files_walk_options opt;
    files_emit_fn *emit;
    void *user;
    files_walk_result *result;
    files_cursor *out;
    size_t begin;     /* for files_dir_page(): length of the folder's path */
    size_t max_depth; /* for files_dir_page(): number of levels to list */
    level *levels;
    size_t depth, cap;
    bool cut; /* the page ends here, and more entries follow */
    char *buffer;
    char path[COMMON_PATH_MAX]; /* scratch space for a scan */
} walker;

static level *top(walker *w)
{
    return &w->levels[w->depth - 1];
}

/* Returns the offset of names in a folder whose path has this length. */
static size_t name_at(size_t len)
{
    return len ? len + 1 : 0;
}

static size_t depth_of(const walker *w)
{
    size_t depth = w->at.len > w->begin;
    for (size_t i = name_at(w->begin); i < w->at.len; i++)
        depth += w->at.path[i] == '/';
    return depth;
}

/* ---- levels ---------------------------------------------------------------------------------- */

static void empty_level(level *lv)
{
    files_batch_free(&lv->batch);
    lv->scanned = false;
    if (lv->fd >= 0)
        close(lv->fd);
    lv->fd = -1;
}

static void pop_level(walker *w)
{
    level *lv = top(w);
    empty_level(lv);
    if (w->root->ignore)
        files_ignore_leave(w->root->ignore, lv->rules);
    w->at.len = lv->len;
    w->at.path[lv->len] = '\0';
    w->at.place = FILES_AFTER_TREE;
    w->depth--;
}

static int reserve_level(walker *w)
{
    if (w->depth < w->cap)
        return MCP_OK;
    size_t cap = w->cap ? 2 * w->cap : 16;
    level *levels = w->levels ? w->alloc.resize(w->levels, cap * sizeof(*levels), w->alloc.user)
                              : common_alloc(&w->alloc, cap * sizeof(*levels));
    if (!levels)
        return MCP_ENOMEM;
    w->levels = levels;
    w->cap = cap;
    return MCP_OK;
}

/* Returns whether an error has to be reported. Entries that vanished or are unreadable are skipped,
 * but a lack of memory or descriptors must not skip entries. */
static bool serious(int rc)
{
    return rc == MCP_ENOMEM || rc == MCP_EFILES || rc == MCP_ECANCELLED;
}

static int open_level(walker *w, level *lv)
{
    char path[COMMON_PATH_MAX];
    if (lv->fd >= 0)
        return MCP_OK;
    memcpy(path, w->at.path, lv->len);
    path[lv->len] = '\0';
    return files_root_open_folder(w->root, path, &lv->fd);
}

/* Pushes the folder that the first `len` bytes of the position name. Returns MCP_ENOTFOUND if it
 * must not be entered. */
static int push_level(walker *w, size_t len)
{
    level lv = {.len = len, .fd = -1};
    int rc = reserve_level(w);
    if (rc == MCP_OK && w->root->ignore)
        rc = files_ignore_enter(w->root->ignore, w->at.path, len, &lv.rules);
    if (rc != MCP_OK)
        return rc;
    if (w->root->ignore && !lv.rules)
        return MCP_ENOTFOUND;
    rc = open_level(w, &lv);
    if (rc != MCP_OK) {
        if (w->root->ignore)
            files_ignore_leave(w->root->ignore, lv.rules);
        return rc;
    }
    w->levels[w->depth++] = lv;
    if (w->depth > KEPT_LEVELS)
        empty_level(&w->levels[w->depth - 1 - KEPT_LEVELS]);
    return MCP_OK;
}

/* Returns the component of the position below this level, or an empty string if the position is
 * the folder itself. */
static mcp_str key_of(const walker *w, const level *lv)
{
    size_t from = name_at(lv->len);
    if (w->at.len <= lv->len)
        return (mcp_str){NULL, 0};
    const char *name = w->at.path + from;
    const char *slash = memchr(name, '/', w->at.len - from);
    return (mcp_str){name, slash ? (size_t)(slash - name) : w->at.len - from};
}

/* Returns how many names to take. Each subfolder contributes its own entries, so a page seldom
 * needs many names of a folder with many subfolders, and sorting all of them again for every page
 * would cost as much as the page. On most file systems the link count shows the number of
 * subfolders; on others all names are taken. */
static size_t names_wanted(const walker *w, level *lv)
{
    size_t wanted = w->opt.max - w->result->given + 1;
    struct stat st;
    bool again = lv->few;
    lv->few = !again && wanted > FEW && fstat(lv->fd, &st) == 0 && st.st_nlink > 2 + FEW;
    return lv->few ? FEW : wanted;
}

static int scan_level(walker *w, level *lv)
{
    files_scan scan = {.ignore = w->root->ignore,
                       .rules = lv->rules,
                       .path = w->path,
                       .len = lv->len,
                       .after = key_of(w, lv)};
    bool was_open = lv->fd >= 0;
    int rc = open_level(w, lv);
    lv->scanned = true;
    files_batch_free(&lv->batch);
    files_batch_init(&lv->batch, &w->alloc, names_wanted(w, lv));
    if (rc != MCP_OK)
        return serious(rc) ? rc : MCP_OK;
    memcpy(w->path, w->at.path, lv->len);
    if (was_open)
        lseek(lv->fd, 0, SEEK_SET);
    rc = files_scan_folder(&scan, lv->fd, w->buffer, &lv->batch);
    w->result->scans++;
    w->result->examined += scan.examined;
    return rc;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* `st` is NULL for a root that is gone. */
static int deliver(walker *w, bool is_dir, const struct stat *st)
{
    mcp_str rel = {w->at.path, w->at.len};
    mcp_str name = rel.len ? rel : (mcp_str){w->root->path, w->root->path_len};
    if (w->result->given == w->opt.max) {
        w->cut = true; /* this entry is the first of the next page */
        return MCP_OK;
    }
    const char *slash = name.len ? memrchr(name.ptr, '/', name.len) : NULL;
    if (slash)
        name = (mcp_str){slash + 1, name.len - (size_t)(slash + 1 - name.ptr)};
    else if (!name.len)
        name = MCP_STR("/");
    const files_entry entry = {
        .root = (size_t)(w->root - w->roots->items),
        .rel = rel,
        .name = name,
        .is_dir = is_dir,
        .gone = !st,
        .size = is_dir ? 0 : (uint64_t)st->st_size,
        .mtime = st ? st->st_mtim : (struct timespec){0},
        .ctime = st ? st->st_ctim : (struct timespec){0},
        .inode = st ? st->st_ino : 0,
        .depth = depth_of(w),
    };
    int rc = w->emit(&entry, w->user);
    w->result->given += rc == MCP_OK;
    if (rc == MCP_OK && w->result->given == w->opt.max && w->out)
        *w->out = w->at;
    return rc;
}

/* Gets the status of the entry at the position, following links to files, and to folders in volumes.
 * Returns MCP_ENOTFOUND if the entry is not listed. */
static int look(walker *w, const level *lv, unsigned char type, struct stat *st)
{
    char real[COMMON_PATH_MAX];
    if (type == DT_LNK) {
        w->result->examined++;
        int rc = files_root_resolve(w->root, w->at.path, real, st);
        if (serious(rc))
            return rc;
        bool is = rc == MCP_OK &&
                  (S_ISREG(st->st_mode) || files_root_in_volume(w->root, w->at.path, real));
        return is ? MCP_OK : MCP_ENOTFOUND;
    }
    const char *name = w->at.path + name_at(lv->len);
    if (fstatat(lv->fd, name, st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
        return MCP_ENOTFOUND;
    return S_ISDIR(st->st_mode) == (type == DT_DIR) && (type == DT_DIR || S_ISREG(st->st_mode))
               ? MCP_OK
               : MCP_ENOTFOUND;
}

static int visit(walker *w, const files_slot *slot)
{
    level *lv = top(w);
    struct stat st;
    size_t from = name_at(lv->len);
    if (from)
        w->at.path[from - 1] = '/';
    memcpy(w->at.path + from, slot->name, (size_t)slot->len + 1);
    w->at.len = from + slot->len;
    w->at.place = FILES_AFTER_ENTRY;
    size_t index = (size_t)(w->root - w->roots->items);
    if (files_roots_owner(w->roots, index, w->at.path, w->at.len) != index)
        return MCP_OK;
    int rc = look(w, lv, slot->type, &st);
    if (rc != MCP_OK)
        return serious(rc) ? rc : MCP_OK;
    bool is_dir = S_ISDIR(st.st_mode);
    rc = deliver(w, is_dir, &st);
    if (rc != MCP_OK || w->cut || !is_dir || depth_of(w) >= w->max_depth)
        return rc;
    rc = push_level(w, w->at.len);
    return serious(rc) ? rc : MCP_OK;
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Returns whether the page has used its budget. A folder is always read to its end, so a page
 * exceeds its budget by at most one folder. It reads at least one folder, so that it makes
 * progress. */
static bool spent(const walker *w)
{
    return w->result->scans > 0 && w->result->examined >= w->opt.budget;
}

static int step(walker *w)
{
    level *lv = top(w);
    const files_slot *slot = lv->scanned ? files_batch_take(&lv->batch) : NULL;
    if (slot)
        return visit(w, slot);
    if (lv->scanned && !lv->batch.more) {
        pop_level(w);
        return MCP_OK;
    }
    if (w->opt.stop && w->opt.stop(w->opt.user))
        return MCP_ECANCELLED;
    if (spent(w)) {
        if (w->out && w->result->given < w->opt.max)
            *w->out = w->at;
        w->cut = true;
        return MCP_OK;
    }
    /* A second scan of the same folder means that most entries of the first were
     * skipped (dead links). */
    if (lv->scanned && !lv->few)
        w->result->examined += w->opt.budget / 4;
    return scan_level(w, lv);
}

static int run(walker *w)
{
    int rc = MCP_OK;
    while (rc == MCP_OK && w->depth && !w->cut)
        rc = step(w);
    return rc;
}

static int visit_file_root(walker *w)
{
    struct stat st;
    int rc = files_root_stat(w->root, "", &st);
    if (rc != MCP_OK)
        return serious(rc) ? rc : MCP_OK;
    return deliver(w, false, &st);
}

/* Says once, where the listing is, that the rest of the root is missing. */
static int pass_gone(walker *w)
{
    w->at.place = FILES_AFTER_TREE;
    w->at.len = 0;
    w->at.path[0] = '\0';
    return deliver(w, true, NULL);
}

static int begin_root(walker *w)
{
    struct stat st;
    if (w->root->gone)
        return pass_gone(w);
    w->at.place = FILES_AFTER_ENTRY;
    if (w->root->only)
        return visit_file_root(w);
    if (fstat(w->root->at.fd, &st) < 0)
        return MCP_OK;
    int rc = deliver(w, true, &st);
    if (rc != MCP_OK || w->cut)
        return rc;
    rc = push_level(w, 0);
    return serious(rc) ? rc : MCP_OK;
}

/* Builds the stack down to the position. If a folder on the path is missing or excluded by now, the
 * stack ends above it, and the walk continues in its parent. */
static int resume_root(walker *w)
{
    if (w->at.len == 0 && w->at.place == FILES_AFTER_TREE)
        return MCP_OK;
    if (w->root->gone)
        return pass_gone(w);
    if (w->root->only)
        return MCP_OK;
    int rc = push_level(w, 0);
    size_t last = w->at.len; /* end of the path of the deepest folder to enter */
    if (w->at.place == FILES_AFTER_TREE) {
        const char *slash = memrchr(w->at.path, '/', w->at.len);
        last = slash ? (size_t)(slash - w->at.path) : 0;
    }
    for (size_t end = 0; rc == MCP_OK && end < last;) {
        const char *from = w->at.path + name_at(end);
        const char *slash = memchr(from, '/', w->at.len - name_at(end));
        end = slash ? (size_t)(slash - w->at.path) : w->at.len;
        if (files_roots_owner(w->roots, w->at.root, w->at.path, end) != w->at.root)
            break;
        rc = push_level(w, end);
    }
    return serious(rc) ? rc : MCP_OK;
}

static int walk_roots(walker *w)
{
    int rc = MCP_OK;
    while (rc == MCP_OK && !w->cut && w->at.root < w->roots->count) {
        files_cursor *at = &w->at;
        w->root = &w->roots->items[at->root];
        rc = at->place == FILES_BEFORE_ROOT ? begin_root(w) : resume_root(w);
        if (rc == MCP_OK)
            rc = run(w);
        if (rc == MCP_OK && !w->cut) {
            at->root++;
            at->place = FILES_BEFORE_ROOT;
            at->len = 0;
            at->path[0] = '\0';
        }
    }
    return rc;
}

static int start(walker *w, const files_roots *roots, const files_walk_options *options,
                 files_emit_fn *emit, void *user, files_walk_result *result)
{
    w->roots = roots;
    w->emit = emit;
    w->user = user;
    w->result = result;
    if (options)
        w->opt = *options;
    MCP_SET_DEFAULTS(&w->opt, defaults);
    w->alloc = common_allocator(w->opt.alloc);
    w->max_depth = SIZE_MAX;
    *result = (files_walk_result){0};
    w->buffer = common_alloc(&w->alloc, FILES_SCAN_BUFFER);
    return w->buffer ? MCP_OK : MCP_ENOMEM;
}

static void finish(walker *w)
{
    while (w->depth)
        pop_level(w);
    if (w->levels)
        common_release(&w->alloc, w->levels);
    common_release(&w->alloc, w->buffer);
}

static bool cursor_valid(const files_roots *roots, const files_cursor *c)
{
    if (c->root >= roots->count || c->len >= COMMON_PATH_MAX || c->place > FILES_AFTER_TREE)
        return false;
    if (c->place == FILES_BEFORE_ROOT)
        return c->len == 0;
    return files_rel_valid((mcp_str){c->path, c->len});
}

int files_walk_page(const files_roots *roots, const files_cursor *in,
                    const files_walk_options *options, files_emit_fn *emit, void *user,
                    files_cursor *out, files_walk_result *result)
{
    walker w;
    bool first = in->root == 0 && in->place == FILES_BEFORE_ROOT && in->len == 0;
    if (!first && !cursor_valid(roots, in))
        return MCP_EINVAL;
    memset(&w, 0, offsetof(walker, path));
    w.at = *in;
    w.at.path[in->len] = '\0';
    w.out = out;
    int rc = start(&w, roots, options, emit, user, result);
    if (rc == MCP_OK)
        rc = walk_roots(&w);
    result->more = rc == MCP_OK && w.cut;
    finish(&w);
    return rc;
}

/* Resolves the folder to its real path, if it is not one in a volume, and pushes it. */
static int enter_folder(walker *w, const char *rel)
{
    char real[COMMON_PATH_MAX];
    struct stat st;
    bool linked = false;
    int fd;
    int rc = common_beneath_open_dir(w->root->at, rel, &fd);
    if (rc == MCP_OK)
        close(fd);
    else if (rc == COMMON_IS_LINK)
        rc = files_root_resolve(w->root, rel, real, &st), linked = true;
    if (rc != MCP_OK)
        return rc;
    if (linked && !files_root_in_volume(w->root, rel, real))
        rel = real;
    size_t len = strlen(rel);
    if (len >= COMMON_PATH_MAX)
        return MCP_ENOTFOUND;
    memcpy(w->at.path, rel, len + 1);
    w->at.len = w->begin = len;
    w->at.place = FILES_AFTER_ENTRY;
    return push_level(w, len);
}

int files_dir_page(const files_roots *roots, size_t root, const char *rel, size_t depth,
                   const files_walk_options *options, files_emit_fn *emit, void *user,
                   files_walk_result *result)
{
    walker w;
    if (root >= roots->count || !files_rel_valid(mcp_str_from(rel)))
        return MCP_EINVAL;
    if (roots->items[root].only)
        return MCP_ENOTFOUND;
    memset(&w, 0, sizeof(w));
    w.root = &roots->items[root];
    w.at.root = root;
    int rc = start(&w, roots, options, emit, user, result);
    w.max_depth = depth ? depth : 1;
    if (rc == MCP_OK)
        rc = enter_folder(&w, rel);
    if (rc == MCP_OK)
        rc = run(&w);
    result->more = rc == MCP_OK && w.cut;
    finish(&w);
    return rc;
}
