/* complete.h: a path completes segment by segment.
 *
 * "src/ma" gives the entries of "src" whose names begin with "ma", in byte order, a folder with a slash at
 * its end. Only what is served, and only names that are UTF-8: a completion is a JSON string. A name that
 * begins with a dot shows up when hidden files are served.
 */
#ifndef FILES_COMPLETE_H
#define FILES_COMPLETE_H

#include "root.h"

/* One completion: the whole value, not only its last segment. Borrowed. Other than MCP_OK ends it. */
typedef int files_complete_fn(mcp_str value, void *user);

/* Completes a path relative to the root; at most `max` (0 is 100) are emitted, *ret_total is how many there
 * are. A folder that is not there has none. MCP_ENOMEM, MCP_ELIMIT, what emit returned. */
int files_complete(const files_roots *roots, size_t root, mcp_str value, size_t max,
                   const mcp_allocator *alloc, files_complete_fn *emit, void *user,
                   size_t *ret_total);

/* The same for an absolute path, over all roots: on the way to a root, the root itself. */
int files_complete_absolute(const files_roots *roots, mcp_str value, size_t max,
                            const mcp_allocator *alloc, files_complete_fn *emit, void *user,
                            size_t *ret_total);

#endif
