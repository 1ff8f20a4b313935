/* range.h: ranges of two commits: which commits are reachable from both, or from only one of
 * them. */
#ifndef REPO_RANGE_H
#define REPO_RANGE_H

#include "store.h"

/* Appends the ids (of 20 bytes each) of the commits at which a walk from `to` has to stop, so that
 * it comes upon none that `from` has too; with `parted` a walk from both. Those behind them may be
 * left out. Where clocks went backwards it looks at 1,000 commits more than it would have to, which
 * is where git would have stopped long ago. MCP_OK; MCP_ELIMIT: too many commits lie between
 * (u->too_large is 0). */
int repo_range_ends(repo_use *u, const git_oid *from, const git_oid *to, bool parted,
                    common_buffer *ret);

/* The newest commit that both have. MCP_ENOTFOUND: none. */
int repo_range_base(repo_use *u, const git_oid *a, const git_oid *b, git_oid *ret);

#endif
