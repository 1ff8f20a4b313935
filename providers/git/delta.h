/* delta.h: applies a delta of a pack, which makes one text from another. A delta is untrusted: each
 * instruction is checked against the bounds of both texts. */
#ifndef REPO_DELTA_H
#define REPO_DELTA_H

#include <mcp/base.h>

typedef struct repo_delta {
    mcp_str rest;          /* the instructions */
    uint64_t base, result; /* bytes of both texts, as the delta says */
} repo_delta;

/* Takes the two sizes off its beginning, for which REPO_DELTA_HEAD bytes are always enough. False:
 * there are none. */
enum { REPO_DELTA_HEAD = 20 };
bool repo_delta_begin(mcp_str bytes, repo_delta *ret);

/* Writes delta->result bytes. False, with some of them written: an instruction reads or writes
 * outside of the texts, or they make less than the result. delta->base has to be base.len. */
bool repo_delta_apply(const repo_delta *delta, mcp_str base, char *to);

#endif
