/* cache.h: the contents of small files that were just read, so that a file which is asked for again
 * and again costs one look at its inode instead of open, stat, read and close.
 *
 * Nothing is answered that a read a tenth of a second earlier would not have answered: an entry is
 * good for FILES_CACHE_MS after the whole way to the file was gone (containment, what is left out,
 * permissions), and only while the inode is the same and unchanged since.
 *
 * The look goes through a descriptor that is kept, not along the path: writing, replacing,
 * renaming, removing and changing the permissions of a file all change the time stamp of its inode,
 * or the number of its names. What changes on the way to it (a folder that is moved out of the
 * root, a new ignore rule), and what is written through a mapping, is seen when the entry's time is
 * over.
 */
#ifndef FILES_CACHE_H
#define FILES_CACHE_H

#include <mcp/base.h>

#include <sys/stat.h>

enum {
    FILES_CACHE_MS = 100,
    FILES_CACHE_FILE = 16 << 10, /* the largest file that is kept */
};

typedef struct files_cache files_cache;

typedef struct files_cached {
    mcp_str bytes;
    bool text;
    const char *type; /* its MIME type; as long as the files_mime that it came from */
} files_cached;

/* NULL: no memory. */
files_cache *files_cache_new(const mcp_allocator *alloc);
void files_cache_free(files_cache *cache);

/* Whether the file that was read by this URI, in exactly this spelling, is there and unchanged;
 * *ret is borrowed until the next put. */
bool files_cache_get(files_cache *cache, mcp_str uri, files_cached *ret);

/* Keeps what was read by the URI from fd, whose state before the reading was `st`, where it can be
 * told later whether it changed. Without memory or descriptors it is not kept. */
void files_cache_put(files_cache *cache, mcp_str uri, int fd, const struct stat *st,
                     const files_cached *content);

#endif
