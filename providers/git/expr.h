/* expr.h: parses a REV of a URI: a name, a name with steps to its ancestors, or a range of two. It
 * does not access a repository.
 *
 *     NAME~N   N commits back, always to the first parent; "~" is "~1"
 *     NAME^N   the N-th parent; "^" is "^1", "^0" the commit itself
 *     A..B     of a log, what B has and A has not; of a difference, both sides
 *     A...B    what only one of both has; of a difference, from where they parted
 *
 * Both sides are named, so that there is one spelling of a range. No name has "~", "^" or ".." in
 * it, so that nothing is ambiguous.
 */
#ifndef REPO_EXPR_H
#define REPO_EXPR_H

#include "uri.h"

/* Commits that the steps of one REV may go back in total. */
enum { REPO_STEPS_MAX = 10000 };

typedef struct repo_range {
    mcp_str from, to;
    bool parted; /* "..." */
} repo_range;

/* Whether it is a range; if so, *ret has its two sides, which are not validated yet. */
bool repo_range_split(mcp_str rev, repo_range *ret);

/* Splits a REV into its name and the steps after it. */
void repo_expr_split(mcp_str rev, mcp_str *name, mcp_str *steps);
/* Takes the next step: '~' or '^', and its number. Returns false if nothing is left, or if the next
 * step is malformed (then *steps is not empty). */
bool repo_expr_step(mcp_str *steps, char *kind, unsigned *n);

/* Returns NULL if `rev` is a valid name with or without steps, otherwise the reason why not. */
const char *repo_expr_refused(mcp_str rev);
/* The same for all revisions of a target; ranges are accepted where a target may have one. */
const char *repo_target_refused(const repo_target *target);

#endif
