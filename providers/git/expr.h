/* expr.h: parses a REV of a URI: a name, a name with steps to its ancestors, or a range of two such
 * expressions. It does not access a repository.
 *
 *     NAME~N   N commits back, following first parents; "~" is "~1"
 *     NAME^N   the N-th parent; "^" is "^1", "^0" is the commit itself
 *     A..B     for a log: commits in B that are not in A; for a difference: from A to B
 *     A...B    for a log: commits in only one of them; for a difference: from their merge base to B
 *
 * Both sides must be named, so that a range has only one spelling. Names cannot contain "~", "^" or
 * "..", so expressions are unambiguous.
 */
#ifndef REPO_EXPR_H
#define REPO_EXPR_H

#include "uri.h"

/* Limit of the commits that the steps of one REV may go back in total. */
enum { REPO_STEPS_MAX = 10000 };

typedef struct repo_range {
    mcp_str from, to;
    bool parted; /* a three-dot range */
} repo_range;

/* Returns whether `rev` is a range. If so, *ret has its two sides, which are not validated yet. */
bool repo_range_split(mcp_str rev, repo_range *ret);

/* Splits a REV into its name and the steps after it. */
void repo_expr_split(mcp_str rev, mcp_str *name, mcp_str *steps);
/* Takes the next step: '~' or '^', and its number. Returns false if nothing is left, or if the next
 * step is malformed (then *steps is not empty). */
bool repo_expr_step(mcp_str *steps, char *kind, unsigned *n);

/* Returns NULL if `rev` is a valid name with or without steps, otherwise the reason why not. */
const char *repo_expr_refused(mcp_str rev);
/* Checks all revisions of a target in the same way. Ranges are accepted where the target
 * may have one. */
const char *repo_target_refused(const repo_target *target);

#endif
