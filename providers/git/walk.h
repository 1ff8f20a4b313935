/* walk.h: visits commits in the order of their times, newest first: a heap of pending commits, and
 * the set of all commits that were ever in it. The caller decides which parents to push. */
#ifndef REPO_WALK_H
#define REPO_WALK_H

#include "store.h"

typedef struct repo_step {
    git_oid id;
    int64_t time;
    size_t order;
    git_oid at;    /* the object at the path in this commit */
    unsigned mode; /* mode of that object; 0 if there is none */
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
/* Queues a commit, unless it was pushed or marked before. */
int repo_walk_push(repo_walk *w, const repo_step *step);
/* Marks the commit as pushed without queueing it. */
int repo_walk_mark(repo_walk *w, const git_oid *id);
bool repo_walk_pop(repo_walk *w, repo_step *ret);
bool repo_walk_seen(const repo_walk *w, const git_oid *id);

#endif
