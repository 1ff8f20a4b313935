/* cache.c: a small table, one place per hash; whoever comes later takes it.
 *
 * The surprising thing: a file that was changed within the last moments is not kept. Time stamps are as
 * coarse as the kernel's tick, so a second change within the same tick could not be seen.
 */
#define _GNU_SOURCE
#include "cache.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>

#include "buffer.h"

#define XFS_MAGIC ((long)0x58465342)

enum { PLACES = 64, SETTLED_MS = 50 };

typedef struct place {
    const files_root *root; /* NULL: empty */
    char *rel;
    char *bytes;
    files_cached content;
    struct stat st;
    int64_t verified; /* milliseconds of the monotonic clock */
} place;

struct files_cache {
    mcp_allocator alloc;
    place places[PLACES];
};

files_cache *files_cache_new(const mcp_allocator *alloc)
{
    files_cache *cache = files_alloc(alloc, sizeof *cache);
    if (cache) {
        memset(cache, 0, sizeof *cache);
        cache->alloc = *alloc;
    }
    return cache;
}

static void clear(files_cache *cache, place *p)
{
    files_release(&cache->alloc, p->rel);
    files_release(&cache->alloc, p->bytes);
    *p = (place){0};
}

void files_cache_free(files_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < PLACES; i++)
        clear(cache, &cache->places[i]);
    mcp_allocator alloc = cache->alloc;
    files_release(&alloc, cache);
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static place *place_of(files_cache *cache, const files_root *root, const char *rel)
{
    uint64_t hash = 0xcbf29ce484222325u ^ (uintptr_t)root;
    for (const char *c = rel; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    return &cache->places[(hash ^ hash >> 32) % PLACES];
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool unchanged(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_mode == b->st_mode &&
           a->st_size == b->st_size && same_time(a->st_mtim, b->st_mtim) &&
           same_time(a->st_ctim, b->st_ctim);
}

static const char *name_in(const files_root *root, const char *rel)
{
    return root->only ? root->only : rel;
}

bool files_cache_get(files_cache *cache, const files_root *root, const char *rel, files_cached *ret)
{
    place *p = place_of(cache, root, rel);
    struct stat st;
    if (p->root != root || strcmp(p->rel, rel) != 0 ||
        clock_ms(CLOCK_MONOTONIC_COARSE) - p->verified > FILES_CACHE_MS)
        return false;
    if (fstatat(root->at.fd, name_in(root, rel), &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !unchanged(&st, &p->st))
        return false;
    *ret = p->content;
    return true;
}

/* File systems whose inodes tell of every change; others (network, /proc) may not. */
static bool tells_changes(int fd)
{
    static const long telling[] = {EXT4_SUPER_MAGIC, XFS_MAGIC,        BTRFS_SUPER_MAGIC,
                                   TMPFS_MAGIC,      F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC};
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++)
        if ((long)fs.f_type == telling[i])
            return true;
    return false;
}

static bool settled(const struct stat *st)
{
    int64_t changed = (int64_t)st->st_ctim.tv_sec * 1000 + st->st_ctim.tv_nsec / 1000000;
    return clock_ms(CLOCK_REALTIME_COARSE) - changed > SETTLED_MS;
}

void files_cache_put(files_cache *cache, const files_root *root, const char *rel, int fd,
                     const struct stat *st, const files_cached *content)
{
    if (content->bytes.len > FILES_CACHE_FILE || content->bytes.len != (uint64_t)st->st_size ||
        !settled(st) || !tells_changes(fd))
        return;
    place *p = place_of(cache, root, rel);
    if (p->root == root && strcmp(p->rel, rel) == 0 && unchanged(st, &p->st)) {
        p->verified = clock_ms(CLOCK_MONOTONIC_COARSE);
        return;
    }
    clear(cache, p);
    p->rel = files_copy(&cache->alloc, rel, strlen(rel));
    p->bytes = files_copy(&cache->alloc, content->bytes.ptr, content->bytes.len);
    if (!p->rel || !p->bytes) {
        clear(cache, p);
        return;
    }
    p->root = root;
    p->content = *content;
    p->content.bytes.ptr = p->bytes;
    p->st = *st;
    p->verified = clock_ms(CLOCK_MONOTONIC_COARSE);
}
