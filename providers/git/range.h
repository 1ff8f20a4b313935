/* range.h: ranges of two commits: which commits are reachable from both, or from only one of
 * them. */
#ifndef REPO_RANGE_H
#define REPO_RANGE_H

#include "store.h"

/* Appends the ids (20 bytes each) of the commits at which a walk from `to` has to stop so that it
 * meets no commit reachable from `from`; with `parted`, a walk from both. Commits behind these may
 * be omitted. Because clocks may have been wrong, it examines 1,000 commits more than necessary,
 * which is further than git goes. MCP_OK; MCP_ELIMIT: too many commits lie between (u->too_large is
 * 0). */
int repo_range_ends(repo_use *u, const git_oid *from, const git_oid *to, bool parted,
                    common_buffer *ret);

/* The newest common ancestor. MCP_ENOTFOUND if there is none. */
int repo_range_base(repo_use *u, const git_oid *a, const git_oid *b, git_oid *ret);

#endif
