/* cache.c: a small table with one entry per hash; a later file replaces an earlier one.
 *
 * A file that was changed a moment ago is not cached. Time stamps are only as precise as the
 * kernel's tick, so a second change within the same tick could not be detected.
 */
#define _GNU_SOURCE
#include "cache.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"

#define XFS_MAGIC ((long)0x58465342)

enum { PLACES = 64, SETTLED_MS = 50 };

typedef struct place {
    char *uri; /* NULL if the place is empty */
    size_t uri_len;
    int fd; /* of the file; owned */
    char *bytes;
    files_cached content;
    struct stat st;
    int64_t verified; /* ms of the monotonic clock */
} place;

struct files_cache {
    mcp_allocator alloc;
    place places[PLACES];
};

files_cache *files_cache_new(const mcp_allocator *alloc)
{
    files_cache *cache = common_alloc(alloc, sizeof(*cache));
    if (cache) {
        memset(cache, 0, sizeof(*cache));
        cache->alloc = *alloc;
    }
    return cache;
}

static void clear(files_cache *cache, place *p)
{
    if (p->uri)
        close(p->fd);
    common_release(&cache->alloc, p->uri);
    common_release(&cache->alloc, p->bytes);
    *p = (place){0};
}

void files_cache_free(files_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < PLACES; i++)
        clear(cache, &cache->places[i]);
    mcp_allocator alloc = cache->alloc;
    common_release(&alloc, cache);
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t files_cache_now(void)
{
    return clock_ms(CLOCK_MONOTONIC_COARSE);
}

/* Hashes the end of the URI, where files of one folder differ. */
static place *place_of(files_cache *cache, mcp_str uri)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = uri.len, word = 0;
    size_t n = uri.len < 32 ? uri.len : 32;
    for (; n >= sizeof(word); n -= sizeof(word)) {
        memcpy(&word, uri.ptr + uri.len - n, sizeof(word));
        hash = (hash ^ word) * odd;
        hash ^= hash >> 32;
    }
    for (; n > 0; n--)
        hash = (hash ^ (unsigned char)uri.ptr[uri.len - n]) * odd;
    return &cache->places[(hash ^ hash >> 32) % PLACES];
}

static bool is_of(const place *p, mcp_str uri)
{
    return p->uri && p->uri_len == uri.len && memcmp(p->uri, uri.ptr, uri.len) == 0;
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool unchanged(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_mode == b->st_mode &&
           a->st_nlink == b->st_nlink && a->st_size == b->st_size &&
           same_time(a->st_mtim, b->st_mtim) && same_time(a->st_ctim, b->st_ctim);
}

/* Calls fstat directly where possible: some C libraries implement fstat() by the
 * slower fstatat(). */
static bool look(int fd, struct stat *st)
{
#if defined(__x86_64__) && defined(SYS_fstat)
    return syscall(SYS_fstat, fd, st) == 0;
#else
    return fstat(fd, st) == 0;
#endif
}

bool files_cache_get(files_cache *cache, mcp_str uri, files_cached *ret)
{
    place *p = place_of(cache, uri);
    struct stat st;
    if (!is_of(p, uri) || files_cache_now() - p->verified > FILES_CACHE_MS)
        return false;
    if (!look(p->fd, &st) || !unchanged(&st, &p->st))
        return false;
    *ret = p->content;
    return true;
}

/* Returns whether the inodes of this file system show every change. Those of network file systems
 * and of /proc may not. */
static bool tells_changes(int fd)
{
    static const long telling[] = {EXT4_SUPER_MAGIC, XFS_MAGIC,        BTRFS_SUPER_MAGIC,
                                   TMPFS_MAGIC,      F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC};
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof(telling) / sizeof(*telling); i++)
        if ((long)fs.f_type == telling[i])
            return true;
    return false;
}

static bool settled(const struct stat *st)
{
    int64_t changed = (int64_t)st->st_ctim.tv_sec * 1000 + st->st_ctim.tv_nsec / 1000000;
    return clock_ms(CLOCK_REALTIME_COARSE) - changed > SETTLED_MS;
}

void files_cache_put(files_cache *cache, mcp_str uri, int fd, const struct stat *st,
                     const files_cached *content)
{
    if (content->bytes.len > FILES_CACHE_FILE || content->bytes.len != (uint64_t)st->st_size ||
        !settled(st) || !tells_changes(fd))
        return;
    place *p = place_of(cache, uri);
    if (is_of(p, uri) && unchanged(st, &p->st)) {
        p->verified = files_cache_now();
        return;
    }
    clear(cache, p);
    char *name = common_copy(&cache->alloc, uri.ptr, uri.len);
    char *bytes = common_copy(&cache->alloc, content->bytes.ptr, content->bytes.len);
    int kept = name && bytes ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (kept < 0) {
        common_release(&cache->alloc, name);
        common_release(&cache->alloc, bytes);
        return;
    }
    *p = (place){.uri = name,
                 .uri_len = uri.len,
                 .fd = kept,
                 .bytes = bytes,
                 .content = *content,
                 .st = *st,
                 .verified = files_cache_now()};
    p->content.bytes.ptr = bytes;
}
