/* index.h: reads git's index of the working tree: the tracked files, what is staged, and their file
 * attributes at that time. Versions 2 to 4; a split or a sparse index is MCP_EUNSUPPORTED. */
#ifndef REPO_INDEX_H
#define REPO_INDEX_H

#include "store.h"
#include "uri.h"

typedef struct repo_index {
    common_buffer bytes;
    uint32_t version, left; /* entries that are not read yet */
    size_t at;
    int64_t written; /* when the index file was written, in seconds */
    char path[REPO_PATH_MAX + 1];
    size_t len;
} repo_index;

typedef struct repo_tracked {
    mcp_str path; /* valid until the next entry is read */
    unsigned mode;
    git_oid id;
    bool conflict; /* unmerged: a conflict of a merge is not resolved */
    bool skipped;  /* git ignores the file in the working tree (skip-worktree) */
    uint32_t seconds, nanoseconds, size;
} repo_tracked;

/* MCP_ENOTFOUND (no index: nothing is tracked), MCP_ELIMIT, MCP_EIO, MCP_EUNSUPPORTED or
 * MCP_ENOMEM. Must be freed in every case. */
int repo_index_open(const repo_layout *l, repo_index *ret);
void repo_index_free(repo_index *x);

/* Entries come in the byte order of their paths. MCP_OK; MCP_ENOTFOUND after the last entry;
 * MCP_EIO. */
int repo_index_next(repo_index *x, repo_tracked *ret);

#endif
