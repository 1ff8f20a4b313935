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

/* Returns whether all instructions stay within the base and the result, and fill the result
 * exactly. A small delta can claim a large result, so check it before allocating memory for the
 * result. */
bool repo_delta_valid(const repo_delta *delta, mcp_str base);

/* Writes delta->result bytes to `to`. The delta must be valid. */
void repo_delta_apply(const repo_delta *delta, mcp_str base, char *to);

#endif
