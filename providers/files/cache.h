/* cache.h: caches the contents of small files that were just read, so that a repeated read costs
 * one fstat() instead of open, stat, read and close.
 *
 * Contents from the cache are at most a tenth of a second old. An entry is valid for FILES_CACHE_MS
 * after all checks of its path (containment, exclusions, permissions), and only while the inode is
 * the same and unchanged.
 *
 * The check uses an open descriptor instead of the path. Writing, replacing, renaming, removing a
 * file or changing its permissions changes the time stamps of its inode or its link count. Changes
 * along the path (a folder that is moved out of the root, a new ignore rule) and writes through a
 * memory mapping take effect when the entry expires.
 */
#ifndef FILES_CACHE_H
#define FILES_CACHE_H

#include <mcp/base.h>
#include <version.h>

#include <sys/stat.h>

enum {
    FILES_CACHE_MS = 100,
    FILES_CACHE_FILE = 16 << 10, /* bytes of the largest cached file */
};

typedef struct files_cache files_cache;

typedef struct files_cached {
    mcp_str bytes;
    bool text;
    const char *charset;     /* of the file, if the bytes are not its own (shown.h); static */
    const char *type;        /* MIME type; borrowed from the files_mime */
    editing_version version; /* empty if it has none: a folder */
} files_cached;

/* Returns the time in ms of the clock that FILES_CACHE_MS is measured with. */
int64_t files_cache_now(void);

/* Returns NULL if memory is exhausted. */
files_cache *files_cache_new(const mcp_allocator *alloc);
void files_cache_free(files_cache *cache);

/* Looks up a file that was read by exactly this URI. Returns whether it is cached and unchanged.
 * *ret is borrowed until the next files_cache_put(). */
bool files_cache_get(files_cache *cache, mcp_str uri, files_cached *ret);

/* Caches what was read from `fd` by this URI; `st` is the status before reading. Does nothing if
 * later changes could not be detected, or if memory or descriptors are exhausted. */
void files_cache_put(files_cache *cache, mcp_str uri, int fd, const struct stat *st,
                     const files_cached *content);

#endif
