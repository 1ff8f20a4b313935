/* complete.h: completes a path segment by segment.
 *
 * "src/ma" gives the entries of "src" whose names begin with "ma", in byte order; a folder ends
 * with a slash. Only entries that are served, and only names in UTF-8, because a completion is a
 * JSON string. A name that begins with a dot is included if hidden files are served.
 */
#ifndef FILES_COMPLETE_H
#define FILES_COMPLETE_H

#include "root.h"

/* Receives one completion: the whole value, not only its last segment. Borrowed. Any result except
 * MCP_OK ends the completion. */
typedef int files_complete_fn(mcp_str value, void *user);

typedef struct files_complete_options {
    size_t max;   /* largest number to emit; 0 means 100 */
    size_t count; /* number of others to count; 0 means 1,000, because counting a huge folder would
                * cost more than the completion */
    /* Called before a folder is read; true ends the completion with FILES_IS_LARGE. May be NULL. */
    bool (*too_large)(const struct stat *folder);
    const mcp_allocator *alloc;
} files_complete_options;

/* A positive result: the values emitted so far must be discarded. */
enum { FILES_IS_LARGE = 2 };

/* Completes a path relative to the root. *ret_total is how many there are; when not all were
 * counted, how many at least, and more than were emitted. A folder that is not there has none.
 * `options` may be NULL. MCP_ENOMEM, MCP_EFILES, FILES_IS_LARGE, what emit returned. */
int files_complete(const files_roots *roots, size_t root, mcp_str value,
                   const files_complete_options *options, files_complete_fn *emit, void *user,
                   size_t *ret_total);

/* The same for an absolute path, over all roots: on the way to a root, the root itself. */
int files_complete_absolute(const files_roots *roots, mcp_str value,
                            const files_complete_options *options, files_complete_fn *emit,
                            void *user, size_t *ret_total);

#endif
