/* walk.h: commits in the order of their times, newest first: a heap, and which were in it. For the
 * log and for blame; what is done with parents is theirs. */
#ifndef REPO_WALK_H
#define REPO_WALK_H

#include "store.h"

typedef struct repo_step {
    git_oid id;
    int64_t time;
    size_t order;
    git_oid at;    /* what is at the path, in this commit */
    unsigned mode; /* of that; 0: there is nothing */
} repo_step;

typedef struct repo_walk {
    mcp_allocator alloc;
    repo_step *heap;
    size_t n, cap, pushed;
    git_oid *seen; /* open addressing; zero is free */
    size_t n_seen, seen_cap;
} repo_walk;

void repo_walk_init(repo_walk *w, const mcp_allocator *alloc);
void repo_walk_free(repo_walk *w);
/* A commit that was pushed before is left out. */
int repo_walk_push(repo_walk *w, const repo_step *step);
/* As if it had been pushed and popped. */
int repo_walk_mark(repo_walk *w, const git_oid *id);
bool repo_walk_pop(repo_walk *w, repo_step *ret);
bool repo_walk_seen(const repo_walk *w, const git_oid *id);

#endif
