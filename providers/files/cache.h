/* cache.h: caches the contents of small files that were just read, so that repeated reads of a file
 * cost one fstat() instead of open, stat, read and close.
 *
 * An answer from the cache is never older than a tenth of a second: an entry is valid for
 * FILES_CACHE_MS after all checks of the path (containment, exclusions, permissions), and only
 * while the inode is the same and unchanged.
 *
 * The check uses an open descriptor, not the path: writing, replacing, renaming, removing and
 * changing the permissions of a file all change the time stamp of its inode, or its link count.
 * Changes along the path (a folder that is moved out of the root, a new ignore rule) and writes
 * through a mapping are seen when the entry expires.
 */
#ifndef FILES_CACHE_H
#define FILES_CACHE_H

#include <mcp/base.h>

#include <sys/stat.h>

enum {
    FILES_CACHE_MS = 100,
    FILES_CACHE_FILE = 16 << 10, /* largest cached file */
};

typedef struct files_cache files_cache;

typedef struct files_cached {
    mcp_str bytes;
    bool text;
    const char *type; /* its MIME type; lives as long as the files_mime that it came from */
} files_cached;

/* NULL: no memory. */
files_cache *files_cache_new(const mcp_allocator *alloc);
void files_cache_free(files_cache *cache);

/* Whether the file read by this URI, spelled exactly like this, is cached and unchanged. *ret is
 * borrowed until the next put. */
bool files_cache_get(files_cache *cache, mcp_str uri, files_cached *ret);

/* Caches what was read from fd by the URI; `st` is the state before reading. It is cached only if
 * later changes can be detected, and if there are memory and descriptors for it. */
void files_cache_put(files_cache *cache, mcp_str uri, int fd, const struct stat *st,
                     const files_cached *content);

#endif
