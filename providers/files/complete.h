/* complete.h: completes a path segment by segment.
 *
 * "src/ma" gives the entries of "src" whose names begin with "ma", in byte order; a folder ends
 * with a slash. Only served entries are given, and only names in UTF-8, because a completion is a
 * JSON string. A name that begins with a dot is included if hidden files are served.
 */
#ifndef FILES_COMPLETE_H
#define FILES_COMPLETE_H

#include "root.h"

/* Receives one completion: the whole value, not only its last segment. The value is borrowed. Any
 * result except MCP_OK ends the completion. */
typedef int files_complete_fn(mcp_str value, void *user);

typedef struct files_complete_options {
    size_t max;   /* largest number to emit; 0 means 100 */
    size_t count; /* number of further entries to count; 0 means 1,000, because counting a huge
                   * folder would cost more than the completion */
    /* Called before a folder is read. If it returns true, the completion ends with FILES_IS_LARGE.
     * May be NULL. */
    bool (*too_large)(const struct stat *folder);
    const mcp_allocator *alloc;
} files_complete_options;

/* A positive return value, after which the values emitted so far must be discarded. */
enum { FILES_IS_LARGE = 2 };

/* Completes a path relative to the root. *ret_total is the number of completions. If not all were
 * counted, it is a lower bound that is greater than the number of emitted values. A missing folder
 * has no completions. `options` may be NULL. Returns MCP_OK, MCP_EINVAL (no such root), MCP_ENOMEM,
 * MCP_EFILES, FILES_IS_LARGE, or what `emit` returned. */
int files_complete(const files_roots *roots, size_t root, mcp_str value,
                   const files_complete_options *options, files_complete_fn *emit, void *user,
                   size_t *ret_total);

/* Completes an absolute path over all roots. If the value is a prefix of a root's path, the
 * completion is the root. */
int files_complete_absolute(const files_roots *roots, mcp_str value,
                            const files_complete_options *options, files_complete_fn *emit,
                            void *user, size_t *ret_total);

#endif
