/* scan.h: one pass over the entries of one folder, keeping those that are served and come next.
 *
 * Reads with getdents64 into a large buffer. The cheap questions come first (is it after the key,
 * is it small enough to be kept, what is its type), the rules about what is left out next; nothing
 * is opened or looked at by stat, except where the file system does not tell types.
 */
#ifndef FILES_SCAN_H
#define FILES_SCAN_H

#include "batch.h"
#include "ignore.h"

#define FILES_SCAN_BUFFER ((size_t)64 << 10)

typedef struct files_scan {
    files_ignore *ignore; /* and the folder's rules there */
    files_ignore_dir *rules;
    char *path;      /* COMMON_PATH_MAX bytes, beginning with the folder's relative path: */
    size_t len;      /* its length; names are appended to it */
    mcp_str after;   /* only names greater than this; empty: all */
    mcp_str prefix;  /* only names that begin with this */
    size_t count;    /* limit of entries that are too large to be kept but still examined and
                      * counted */
    size_t extra;    /* result: how many of those there were */
    size_t examined; /* result: entries whose type and rules were checked */
    size_t served;   /* result: those that are served (regular files, folders, links) */
} files_scan;

/* `buffer` has FILES_SCAN_BUFFER bytes. If the folder vanishes or fails during the scan, `out` has
 * the entries read before. MCP_ENOMEM. */
int files_scan_folder(files_scan *scan, int fd, void *buffer, files_batch *out);

#endif
