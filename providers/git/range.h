/* range.h: finds the commits that are reachable from both sides of a range, or from only one. */
#ifndef REPO_RANGE_H
#define REPO_RANGE_H

#include "store.h"

/* Appends the ids (20 bytes each) of the commits at which a walk from `to` has to stop, so that it
 * meets no commit that is reachable from `from`. With `parted`, the walk starts from both, and
 * stops at commits reachable from both. Ancestors of these commits may be omitted. Because clocks
 * may have been wrong, the search examines 1,000 more commits than necessary, which is more than
 * git does. Returns MCP_OK, MCP_ELIMIT with u->too_large 0 if too many commits are between the
 * sides, or the errors of store.h. */
int repo_range_ends(repo_use *u, const git_oid *from, const git_oid *to, bool parted,
                    common_buffer *ret);

/* Finds the newest common ancestor. Returns MCP_ENOTFOUND if there is none. */
int repo_range_base(repo_use *u, const git_oid *a, const git_oid *b, git_oid *ret);

#endif
