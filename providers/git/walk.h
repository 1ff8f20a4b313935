/* walk.h: commits in the order of their times, newest first: a heap, and the set of commits that
 * were in it. Log and blame use it and decide themselves what happens with parents. */
#ifndef REPO_WALK_H
#define REPO_WALK_H

#include "store.h"

typedef struct repo_step {
    git_oid id;
    int64_t time;
    size_t order;
    git_oid at;    /* the object at the path, in this commit */
    unsigned mode; /* its mode; 0: nothing is there */
} repo_step;

typedef struct repo_walk {
    mcp_allocator alloc;
    repo_step *heap;
    size_t n, cap, pushed;
    git_oid *seen; /* hash set with open addressing; a zero id marks a free slot */
    size_t n_seen, seen_cap;
} repo_walk;

void repo_walk_init(repo_walk *w, const mcp_allocator *alloc);
void repo_walk_free(repo_walk *w);
/* A commit that was pushed before is ignored. */
int repo_walk_push(repo_walk *w, const repo_step *step);
/* Marks the commit as pushed, without queueing it. */
int repo_walk_mark(repo_walk *w, const git_oid *id);
bool repo_walk_pop(repo_walk *w, repo_step *ret);
bool repo_walk_seen(const repo_walk *w, const git_oid *id);

#endif
