/* cache.h: the contents of small files that were just read, so that a file which is asked for again and
 * again costs one look at its inode instead of open, stat, read and close.
 *
 * Nothing is answered that a read a tenth of a second earlier would not have answered: an entry is good
 * for FILES_CACHE_MS after the whole way to the file was gone (containment, what is left out,
 * permissions), and only while the inode is the same and unchanged since.
 *
 * The look at the inode is the one place where a path is not resolved beneath the root: it follows a folder
 * that was swapped for a link. It only ever says "still the same inode", and the bytes are those that were
 * read beneath; so all that can differ is that a file is answered up to FILES_CACHE_MS after its folder was
 * moved out of the root and a link to it was put in its place. A confined look (openat2, fstat, close) costs
 * 1.5 µs more, on an answer of 2.8.
 */
#ifndef FILES_CACHE_H
#define FILES_CACHE_H

#include "root.h"

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

/* Whether the file that was read by this URI, in exactly this spelling, is there and unchanged; *ret is
 * borrowed until the next put. */
bool files_cache_get(files_cache *cache, mcp_str uri, files_cached *ret);

/* Keeps what was read by the URI: `rel` beneath the root, from fd, whose state before the reading was `st`,
 * where it can be told later whether it changed. Without memory it is not kept. */
void files_cache_put(files_cache *cache, mcp_str uri, const files_root *root, const char *rel,
                     int fd, const struct stat *st, const files_cached *content);

#endif
