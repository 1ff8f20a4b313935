/* walk.h: iterates over the served entries in order, a page at a time.
 *
 * The order is that of the paths compared component by component as bytes, a folder before what is
 * in it, the roots as they were given; the root folder itself is the first entry. A cursor is a
 * position in that order and not a place in a list, so that what is made or deleted between two
 * pages neither repeats nor loses anything else.
 *
 * Nothing is kept between pages. A page reads the folders on the path to its position, and of each
 * only the names that follow, as many as it needs. So its cost is that of these folders, not of the
 * tree.
 *
 * Listed are regular files and folders. A link is listed as the file that it leads to when that
 * lies beneath the same root and is served; links to folders are not listed (they could form
 * loops). What has a path of 4,096 bytes or more, vanishes meanwhile, or cannot be read, is passed
 * over.
 */
#ifndef FILES_WALK_H
#define FILES_WALK_H

#include "root.h"

typedef struct files_entry {
    size_t root;
    mcp_str rel;  /* "" is the root itself; NUL-terminated */
    mcp_str name; /* the last component; for the top of the file system, "/" */
    bool is_dir;
    uint64_t size; /* 0 for a folder */
    struct timespec mtime;
    size_t depth; /* components below the start of the listing */
} files_entry;

/* Called for each entry, which is borrowed. Any result except MCP_OK ends the listing and becomes
 * its result. */
typedef int files_emit_fn(const files_entry *entry, void *user);

/* What the position follows. */
typedef enum files_place {
    FILES_BEFORE_ROOT = 0, /* the root `root` comes next, `path` is empty */
    FILES_AFTER_ENTRY,     /* the entry; what is in it comes next */
    FILES_AFTER_TREE,      /* the entry and all that is in it */
} files_place;

/* A position; all zero is the beginning. To be stored, take root, place and path[0..len); one that
 * comes back from outside is checked by files_walk_page(). */
typedef struct files_cursor {
    size_t root;
    files_place place;
    size_t len;
    char path[COMMON_PATH_MAX];
} files_cursor;

typedef struct files_walk_options {
    size_t max;    /* entries in a page; 0 is 1,000 */
    size_t budget; /* entries examined before no further folder is begun; 0 means 20,000 */
    bool (*stop)(
        void *user); /* called before each folder; true ends with MCP_ECANCELLED; may be NULL */
    void *user;
    const mcp_allocator *alloc;
} files_walk_options;

typedef struct files_walk_result {
    bool more; /* `cursor` is where the next page begins; even a short page may have a next one */
    size_t given;    /* entries delivered */
    size_t examined; /* entries whose type, rules or target were looked at */
    size_t scans;    /* folders read, a folder counted as often as it was */
} files_walk_result;

/* One page of all roots. `in` and `out` may be the same. MCP_EINVAL for an impossible cursor,
 * MCP_ENOMEM, MCP_ECANCELLED, MCP_EFILES (no descriptors), what emit returned. */
int files_walk_page(const files_roots *roots, const files_cursor *in,
                    const files_walk_options *options, files_emit_fn *emit, void *user,
                    files_cursor *out, files_walk_result *result);

/* What is in the folder `rel`, `depth` levels of it (1: its entries; 0 is 1), in the same order, at
 * most options->max. result->more says that it was cut. A folder reached through a link lists where
 * it really is. MCP_ENOTFOUND, MCP_EACCESS, and as above. */
int files_dir_page(const files_roots *roots, size_t root, const char *rel, size_t depth,
                   const files_walk_options *options, files_emit_fn *emit, void *user,
                   files_walk_result *result);

#endif
