/* walk.h: iterates over the served entries in order, one page at a time.
 *
 * Paths are ordered component by component as bytes, with a folder before its entries, and the
 * roots in the given order; the root folder itself is its first entry. A cursor is a position in
 * this order instead of an index, so entries that are created or deleted between two pages do not
 * cause others to be repeated or lost.
 *
 * Nothing is kept between pages. A page reads the folders on the path to its position, and of each
 * only as many of the following names as it needs. So a page costs as much as these folders,
 * independent of the size of the tree.
 *
 * Regular files and folders are listed. A link is listed as the file that it leads to, if that file
 * is beneath the same root and is served. Links to folders are not listed, because they could form
 * loops, except in volumes that Kubernetes makes (files_root_in_volume()). Entries with a path of
 * 4,096 bytes or more, that vanish meanwhile, or that cannot be read, are skipped. A root that is
 * gone has one entry, which says so.
 */
#ifndef FILES_WALK_H
#define FILES_WALK_H

#include "root.h"

typedef struct files_entry {
    size_t root;
    mcp_str rel;  /* path relative to the root; "" is the root itself; NUL-terminated */
    mcp_str name; /* the last component; "/" for the top of the file system */
    bool is_dir;
    bool gone;     /* stands for a root that cannot be listed now (files_root_renew()) */
    uint64_t size; /* 0 for a folder */
    struct timespec mtime, ctime;
    uint64_t inode;
    size_t depth; /* number of components below the start of the listing */
} files_entry;

/* Called for each entry, which is borrowed. Any result except MCP_OK ends the listing and
 * becomes its result. */
typedef int files_emit_fn(const files_entry *entry, void *user);

/* What precedes the position. */
typedef enum files_place {
    FILES_BEFORE_ROOT = 0, /* nothing: the root `root` comes next; `path` is empty */
    FILES_AFTER_ENTRY,     /* the entry `path`; its contents come next */
    FILES_AFTER_TREE,      /* the entry `path` and its contents */
} files_place;

/* A position. A zero-initialized one is the beginning. To store a position, save root, place and
 * path[0..len). files_walk_page() validates a stored position. */
typedef struct files_cursor {
    size_t root;
    files_place place;
    size_t len;
    char path[COMMON_PATH_MAX];
} files_cursor;

typedef struct files_walk_options {
    size_t max;    /* entries in a page; 0 means 1,000, at most 1,048,576 */
    size_t budget; /* entries examined after which no further folder is read; 0 means 20,000 */
    bool (*stop)(
        void *user); /* called before each folder; true ends with MCP_ECANCELLED; may be NULL */
    void *user;
    const mcp_allocator *alloc;
} files_walk_options;

typedef struct files_walk_result {
    bool more;    /* the next page begins at *out; even a short page may be followed by another */
    size_t given; /* entries emitted */
    size_t examined; /* entries whose type, rules or target were checked */
    size_t scans;    /* number of times that a folder was read */
} files_walk_result;

/* Emits one page of all roots. `in` and `out` may be the same. Returns MCP_OK, MCP_EINVAL for
 * an invalid cursor, MCP_ENOMEM, MCP_ECANCELLED, MCP_EFILES (no descriptors left), or what
 * `emit` returned. */
int files_walk_page(const files_roots *roots, const files_cursor *in,
                    const files_walk_options *options, files_emit_fn *emit, void *user,
                    files_cursor *out, files_walk_result *result);

/* Emits the contents of the folder `rel` in the same order, at most options->max entries. `depth`
 * is the number of levels; 1 means only its entries, and 0 means 1. result->more is true if entries
 * are missing. A folder that is reached through a link is listed under its real path, except in
 * volumes. Returns
 * MCP_ENOTFOUND, MCP_EACCESS, or the results of files_walk_page(). */
int files_dir_page(const files_roots *roots, size_t root, const char *rel, size_t depth,
                   const files_walk_options *options, files_emit_fn *emit, void *user,
                   files_walk_result *result);

#endif
