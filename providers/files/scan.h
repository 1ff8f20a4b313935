/* scan.h: reads all entries of a folder once and keeps the next served ones.
 *
 * It reads with getdents64() into a large buffer. Cheap checks come first (whether the name is
 * after the key and small enough to be kept, and its type), then the exclusion rules. Entries are
 * not opened, and their status is read only if the file system does not report types.
 */
#ifndef FILES_SCAN_H
#define FILES_SCAN_H

#include "batch.h"
#include "ignore.h"

#define FILES_SCAN_BUFFER ((size_t)64 << 10)

typedef struct files_scan {
    files_ignore *ignore; /* with the folder's rules in `rules` */
    files_ignore_dir *rules;
    char *path;      /* COMMON_PATH_MAX bytes; begins with the folder's relative path */
    size_t len;      /* length of that path, to which names are appended */
    mcp_str after;   /* only names greater than this; empty for all */
    mcp_str prefix;  /* only names that begin with this */
    size_t count;    /* limit of entries that are not kept but still examined and counted */
    size_t extra;    /* result: number of entries that were not kept */
    size_t examined; /* result: entries whose type and rules were checked */
    size_t served;   /* result: served entries (regular files, folders, links) */
} files_scan;

/* Reads the folder `fd` and adds names to `out`. `buffer` has FILES_SCAN_BUFFER bytes.
 * If the folder vanishes or reading fails, `out` has the entries read before. Returns
 * MCP_OK or MCP_ENOMEM. */
int files_scan_folder(files_scan *scan, int fd, void *buffer, files_batch *out);

#endif
