/* ignore.c: see ignore.h.
 *
 * Each cached folder refers to its parent, so one lookup finds all rule sets that apply to an
 * entry. Whether a folder itself is excluded is cached together with the number of the state of all
 * rules (`epoch`). A changed .gitignore starts a new epoch. */
#define _GNU_SOURCE
#include "ignore.h"

#include "buffer.h"
#include "ignore_read.h"
#include "rules.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { BUCKETS = 256 };

static const mcp_default defaults[] = {
    MCP_DEFAULT(files_ignore_options, max_folders, 256),
    MCP_DEFAULT(files_ignore_options, fresh_ns, 100000000),
};

struct files_ignore_dir {
    files_ignore_dir *parent; /* holds a reference; NULL for the root */
    files_ignore_dir *chain;  /* in the same bucket */
    files_ignore_dir *newer, *older;
    files_rules *rules;
    struct stat seen; /* status of its .gitignore; st_ino is 0 if there is none */
    int64_t checked;  /* monotonic time of the last check; 0 if never */
    uint64_t epoch;   /* epoch for which the next two members are valid */
    bool visible;
    bool included; /* it or an ancestor matches an include */
    bool listed;   /* in the table */
    uint32_t hash;
    unsigned refs;
    size_t len;
    char path[];
};

struct files_ignore {
    mcp_allocator alloc;
    common_beneath at;
    pthread_mutex_t lock;
    bool hidden, no_ignore;
    files_rules *include, *exclude;
    files_above above;
    files_ignore_dir *bucket[BUCKETS];
    files_ignore_dir *newest, *oldest;
    size_t count, max;
    int64_t fresh;
    atomic_bool recheck;
    uint64_t epoch;
    char path[2 * COMMON_PATH_MAX]; /* `above.lead` bytes, then the path to match */
};

/* ---- the table of folders -------------------------------------------------------------------- */

static uint32_t hash_of(const char *path, size_t len)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)path[i]) * 16777619u;
    return h ^ h >> 15;
}

static void unref(files_ignore *ig, files_ignore_dir *d)
{
    while (d && --d->refs == 0) {
        files_ignore_dir *parent = d->parent;
        files_rules_free(d->rules);
        common_release(&ig->alloc, d);
        d = parent;
    }
}

static void take_out_of_age(files_ignore *ig, files_ignore_dir *d)
{
    *(d->newer ? &d->newer->older : &ig->newest) = d->older;
    *(d->older ? &d->older->newer : &ig->oldest) = d->newer;
}

static void put_newest(files_ignore *ig, files_ignore_dir *d)
{
    d->newer = NULL;
    d->older = ig->newest;
    *(ig->newest ? &ig->newest->newer : &ig->oldest) = d;
    ig->newest = d;
}

static void drop(files_ignore *ig, files_ignore_dir *d)
{
    files_ignore_dir **p = &ig->bucket[d->hash % BUCKETS];
    while (*p != d)
        p = &(*p)->chain;
    *p = d->chain;
    take_out_of_age(ig, d);
    d->listed = false;
    ig->count--;
    unref(ig, d);
}

static files_ignore_dir *find(files_ignore *ig, const char *path, size_t len, uint32_t hash)
{
    files_ignore_dir *d = ig->bucket[hash % BUCKETS];
    while (d && (d->hash != hash || d->len != len || memcmp(d->path, path, len) != 0))
        d = d->chain;
    return d;
}

static files_ignore_dir *make(files_ignore *ig, files_ignore_dir *parent, const char *path,
                              size_t len, uint32_t hash)
{
    files_ignore_dir *d = common_alloc(&ig->alloc, sizeof(*d) + len + 1);
    if (!d)
        return NULL;
    *d = (files_ignore_dir){.parent = parent, .hash = hash, .refs = 1, .len = len, .listed = true};
    memcpy(d->path, path, len);
    d->path[len] = '\0';
    if (parent)
        parent->refs++;
    d->chain = ig->bucket[hash % BUCKETS];
    ig->bucket[hash % BUCKETS] = d;
    put_newest(ig, d);
    ig->count++;
    return d;
}

/* Marks the folder and then its ancestors as used, so that a parent is never older than its
 * children. The oldest folder therefore has no children in the table. */
static void touch(files_ignore *ig, files_ignore_dir *d)
{
    files_ignore_dir *keep = d;
    for (; d; d = d->parent) {
        if (d->listed && ig->newest != d) {
            take_out_of_age(ig, d);
            put_newest(ig, d);
        }
    }
    while (ig->count > ig->max && ig->oldest != keep)
        drop(ig, ig->oldest);
}

/* Returns the borrowed entry of a folder. Creates it and its ancestors if necessary. Returns NULL
 * if memory is exhausted. */
static files_ignore_dir *get(files_ignore *ig, const char *path, size_t len)
{
    uint32_t hash = hash_of(path, len);
    files_ignore_dir *d = find(ig, path, len, hash);
    size_t at = 0;
    if (!d) {
        hash = hash_of(path, 0);
        d = find(ig, path, 0, hash);
        if (!d)
            d = make(ig, NULL, path, 0, hash);
        while (d && at < len) {
            const char *slash = memchr(path + at + 1, '/', len - at - 1);
            at = slash ? (size_t)(slash - path) : len;
            hash = hash_of(path, at);
            files_ignore_dir *child = find(ig, path, at, hash);
            d = child ? child : make(ig, d, path, at, hash);
        }
    }
    if (d)
        touch(ig, d);
    return d;
}

/* ---- refreshing rules ------------------------------------------------------------------------ */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Returns whether the file changed in the last moments. A second change within the same clock tick
 * cannot be detected, so such a file is read again next time. */
static bool just_changed(const struct stat *st)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    int64_t age = ((int64_t)t.tv_sec - (int64_t)st->st_ctim.tv_sec) * 1000000000 + t.tv_nsec -
                  st->st_ctim.tv_nsec;
    return st->st_ino && age < 20000000;
}

static int reload(files_ignore *ig, files_ignore_dir *d, const char *file)
{
    files_rules *rules = NULL;
    struct stat st = {0};
    int fd;
    int rc = common_beneath_open(ig->at, file, &fd, &st);
    if (rc == MCP_OK) {
        if (S_ISREG(st.st_mode))
            rc = files_rules_read(&ig->alloc, fd, (size_t)st.st_size, &rules);
        close(fd);
    } else {
        /* A .gitignore without read permission has no rules. Other failures are errors, because
         * otherwise excluded files would become visible. */
        st = (struct stat){0};
        rc = rc == MCP_ENOTFOUND || rc == MCP_EACCESS || rc == COMMON_IS_LINK ? MCP_OK : rc;
    }
    if (rc != MCP_OK)
        return rc;
    if (just_changed(&st))
        st.st_size = -1;
    files_rules_free(d->rules);
    d->rules = rules;
    d->seen = st;
    ig->epoch++;
    return MCP_OK;
}

/* Reads the .gitignore again if its status changed. The status is taken by path, so it may be
 * that of another file if a folder on the path was replaced by a link. That status then differs
 * from that of the file that was read, so the .gitignore is read again. Reading is confined. */
static int refresh(files_ignore *ig, files_ignore_dir *d, int64_t now)
{
    char file[COMMON_PATH_MAX];
    struct stat st;
    if (ig->no_ignore || (d->checked && now - d->checked < ig->fresh))
        return MCP_OK;
    if (!files_path_add(file, d->path, d->len, d->len ? "/.gitignore" : ".gitignore"))
        return MCP_OK;
    if (fstatat(ig->at.fd, file, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
        st = (struct stat){0};
    if (!same_file(&st, &d->seen)) {
        int rc = reload(ig, d, file);
        if (rc != MCP_OK)
            return rc;
    }
    d->checked = now;
    return MCP_OK;
}

static int refresh_chain(files_ignore *ig, files_ignore_dir *d)
{
    int rc = MCP_OK;
    int64_t now = now_ns();
    if (atomic_exchange(&ig->recheck, false)) {
        for (files_ignore_dir *i = ig->newest; i; i = i->older)
            i->checked = 0;
    }
    for (; d && rc == MCP_OK; d = d->parent)
        rc = refresh(ig, d, now);
    return rc;
}

/* ---- decisions ------------------------------------------------------------------------------- */

/* Returns whether git's rules ignore an entry of a folder that is not ignored itself. */
static bool git_ignores(files_ignore *ig, const files_ignore_dir *dir, const char *rel, size_t len,
                        size_t name, bool is_dir)
{
    int said = 0;
    for (const files_ignore_dir *d = dir; d && !said; d = d->parent) {
        size_t skip = d->len ? d->len + 1 : 0;
        said = files_rules_match(d->rules, (mcp_str){rel + skip, len - skip}, name - skip, is_dir);
    }
    if (!said && ig->above.count && len < COMMON_PATH_MAX) {
        memcpy(ig->path + ig->above.lead, rel, len);
        for (size_t i = 0; i < ig->above.count && !said; i++) {
            size_t skip = ig->above.items[i].skip;
            mcp_str path = {ig->path + skip, ig->above.lead + len - skip};
            said = files_rules_match(ig->above.items[i].rules, path, ig->above.lead + name - skip,
                                     is_dir);
        }
    }
    return said > 0;
}

/* Returns whether all rules except the includes allow the entry. */
static bool let_in(files_ignore *ig, const files_ignore_dir *dir, const char *rel, size_t len,
                   size_t name, bool is_dir)
{
    mcp_str last = {rel + name, len - name};
    if (last.len && last.ptr[0] == '.' && !ig->hidden)
        return false;
    if (!(ig->hidden && ig->no_ignore) && mcp_str_eq(last, MCP_STR(".git")))
        return false;
    if (files_rules_match(ig->exclude, (mcp_str){rel, len}, name, is_dir) > 0)
        return false;
    return ig->no_ignore || !git_ignores(ig, dir, rel, len, name, is_dir);
}

static size_t name_of(const char *rel, size_t len)
{
    const char *slash = memrchr(rel, '/', len);
    return slash ? (size_t)(slash - rel) + 1 : 0;
}

/* Updates `visible` and `included` of a folder, after those of its ancestors. */
static void settle(files_ignore *ig, files_ignore_dir *d)
{
    if (d->epoch == ig->epoch)
        return;
    if (!d->parent) {
        d->visible = true;
        d->included = !ig->include;
    } else {
        size_t name = name_of(d->path, d->len);
        mcp_str path = {d->path, d->len};
        settle(ig, d->parent);
        d->visible = d->parent->visible && let_in(ig, d->parent, d->path, d->len, name, true);
        d->included = d->parent->included || files_rules_match(ig->include, path, name, true) > 0;
    }
    d->epoch = ig->epoch;
}

static bool entry_visible(files_ignore *ig, files_ignore_dir *dir, const char *rel, size_t len,
                          size_t name, bool is_dir)
{
    if (!dir->visible || !let_in(ig, dir, rel, len, name, is_dir))
        return false;
    return is_dir || dir->included ||
           files_rules_match(ig->include, (mcp_str){rel, len}, name, false) > 0;
}

static int enter(files_ignore *ig, const char *rel, size_t len, files_ignore_dir **ret)
{
    files_ignore_dir *d = get(ig, rel, len);
    if (!d)
        return MCP_ENOMEM;
    int rc = refresh_chain(ig, d);
    if (rc != MCP_OK)
        return rc;
    settle(ig, d);
    *ret = d;
    return MCP_OK;
}

int files_ignore_visible(files_ignore *ig, const char *rel, size_t len, bool is_dir, bool *ret)
{
    files_ignore_dir *d;
    if (len == 0) {
        *ret = true;
        return MCP_OK;
    }
    size_t name = name_of(rel, len);
    pthread_mutex_lock(&ig->lock);
    int rc = enter(ig, rel, name ? name - 1 : 0, &d);
    if (rc == MCP_OK)
        *ret = entry_visible(ig, d, rel, len, name, is_dir);
    pthread_mutex_unlock(&ig->lock);
    return rc;
}

int files_ignore_enter(files_ignore *ig, const char *rel, size_t len, files_ignore_dir **ret)
{
    files_ignore_dir *d;
    pthread_mutex_lock(&ig->lock);
    int rc = enter(ig, rel, len, &d);
    if (rc == MCP_OK) {
        *ret = d->visible ? d : NULL;
        d->refs += d->visible;
    }
    pthread_mutex_unlock(&ig->lock);
    return rc;
}

void files_ignore_leave(files_ignore *ig, files_ignore_dir *dir)
{
    if (!dir)
        return;
    pthread_mutex_lock(&ig->lock);
    unref(ig, dir);
    pthread_mutex_unlock(&ig->lock);
}

bool files_ignore_entry(files_ignore *ig, files_ignore_dir *dir, const char *rel, size_t len,
                        size_t name, bool is_dir)
{
    pthread_mutex_lock(&ig->lock);
    settle(ig, dir);
    bool visible = entry_visible(ig, dir, rel, len, name, is_dir);
    pthread_mutex_unlock(&ig->lock);
    return visible;
}

void files_ignore_recheck(files_ignore *ig)
{
    atomic_store(&ig->recheck, true);
}

size_t files_ignore_cached(files_ignore *ig)
{
    pthread_mutex_lock(&ig->lock);
    size_t count = ig->count;
    pthread_mutex_unlock(&ig->lock);
    return count;
}

/* ---- creating and freeing -------------------------------------------------------------------- */

int files_ignore_new(common_beneath at, const char *root_path, const files_ignore_options *given,
                     const mcp_allocator *alloc, files_ignore **ret)
{
    files_ignore_options filled = given ? *given : (files_ignore_options){0}, *options = &filled;
    MCP_SET_DEFAULTS(options, defaults);
    mcp_allocator mem = common_allocator(alloc);
    files_ignore *ig = common_alloc(&mem, sizeof(*ig));
    if (!ig)
        return MCP_ENOMEM;
    memset(ig, 0, sizeof(*ig));
    ig->alloc = mem;
    ig->at = at;
    ig->hidden = options->hidden;
    ig->no_ignore = options->no_ignore;
    ig->max = options->max_folders;
    ig->fresh = options->fresh_ns;
    ig->epoch = 1;
    pthread_mutex_init(&ig->lock, NULL);
    int rc = files_rules_of_globs(&mem, options->include, options->include_count, &ig->include);
    if (rc == MCP_OK)
        rc = files_rules_of_globs(&mem, options->exclude, options->exclude_count, &ig->exclude);
    if (rc == MCP_OK && !ig->no_ignore)
        rc = files_above_read(&ig->above, root_path, &mem, ig->path);
    if (rc != MCP_OK) {
        files_ignore_free(ig);
        return rc;
    }
    *ret = ig;
    return MCP_OK;
}

int files_ignore_renew(files_ignore *ig, const char *root_path)
{
    files_above above = {0}, before;
    char lead[COMMON_PATH_MAX];
    int rc = ig->no_ignore ? MCP_OK : files_above_read(&above, root_path, &ig->alloc, lead);
    if (rc != MCP_OK) {
        files_above_free(&above, &ig->alloc);
        return rc;
    }
    pthread_mutex_lock(&ig->lock);
    before = ig->above;
    ig->above = above;
    memcpy(ig->path, lead, above.lead);
    ig->epoch++;
    pthread_mutex_unlock(&ig->lock);
    files_above_free(&before, &ig->alloc);
    files_ignore_recheck(ig);
    return MCP_OK;
}

void files_ignore_free(files_ignore *ig)
{
    if (!ig)
        return;
    mcp_allocator mem = ig->alloc;
    while (ig->oldest)
        drop(ig, ig->oldest);
    files_above_free(&ig->above, &mem);
    files_rules_free(ig->include);
    files_rules_free(ig->exclude);
    pthread_mutex_destroy(&ig->lock);
    common_release(&mem, ig);
}
