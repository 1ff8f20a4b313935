/* delta.h: applies a delta of a pack to a base text. A delta is untrusted: each instruction is
 * checked against the bounds of both texts. */
#ifndef REPO_DELTA_H
#define REPO_DELTA_H

#include <mcp/base.h>

typedef struct repo_delta {
    mcp_str rest;          /* the instructions */
    uint64_t base, result; /* sizes of the two texts according to the delta */
} repo_delta;

/* Reads the two sizes at the beginning of a delta, which take at most REPO_DELTA_HEAD bytes.
 * Returns false if they are malformed. */
enum { REPO_DELTA_HEAD = 20 };
bool repo_delta_begin(mcp_str bytes, repo_delta *ret);

/* Writes delta->result bytes to `to`. delta->base must equal base.len. Returns false, possibly
 * after writing a part, if an instruction reads or writes outside of the texts or if the
 * instructions yield less than the result. */
bool repo_delta_apply(const repo_delta *delta, mcp_str base, char *to);

#endif
