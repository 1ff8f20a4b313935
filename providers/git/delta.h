/* delta.h: applies a delta of a pack, which makes one text from another. A delta is untrusted: each
 * instruction is checked against the bounds of both texts. */
#ifndef REPO_DELTA_H
#define REPO_DELTA_H

#include <mcp/base.h>

typedef struct repo_delta {
    mcp_str rest;          /* the instructions */
    uint64_t base, result; /* sizes of the two texts, as the delta gives them */
} repo_delta;

/* Reads the two sizes at the delta's beginning, for which REPO_DELTA_HEAD bytes are always enough.
 * Returns false if they are malformed. */
enum { REPO_DELTA_HEAD = 20 };
bool repo_delta_begin(mcp_str bytes, repo_delta *ret);

/* Writes delta->result bytes. Returns false, with part of them written, if an instruction reads or
 * writes outside of the texts, or if the instructions yield less than the result. delta->base must
 * equal base.len. */
bool repo_delta_apply(const repo_delta *delta, mcp_str base, char *to);

#endif
