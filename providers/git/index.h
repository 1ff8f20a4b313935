/* index.h: reads git's index of the working tree: the tracked files, what is staged, and the status
 * of the files at that time. It supports versions 2 to 4; for a split or sparse index,
 * its functions return MCP_EUNSUPPORTED. */
#ifndef REPO_INDEX_H
#define REPO_INDEX_H

#include "store.h"
#include "uri.h"

typedef struct repo_index {
    common_buffer bytes;
    uint32_t version, left; /* number of entries not read yet */
    size_t at;
    int64_t written; /* time of the index file in seconds */
    char path[REPO_PATH_MAX + 1];
    size_t len;
} repo_index;

typedef struct repo_tracked {
    mcp_str path; /* valid until the next entry is read */
    unsigned mode;
    git_oid id;
    bool conflict; /* a merge conflict is not resolved */
    bool intended; /* it is to be added ("git add -N"); nothing of it is staged */
    bool skipped;  /* git ignores the file in the working tree (assume-valid, skip-worktree) */
    uint32_t seconds, nanoseconds, size;
} repo_tracked;

/* Opens the index. Returns MCP_OK, MCP_ENOTFOUND (no index, so nothing is tracked), MCP_ELIMIT,
 * MCP_EIO, MCP_EUNSUPPORTED or MCP_ENOMEM. The index must be freed in every case. */
int repo_index_open(const repo_layout *l, repo_index *ret);
void repo_index_free(repo_index *x);

/* Reads the next entry; entries are in byte order of their paths. Returns MCP_OK, MCP_ENOTFOUND
 * after the last entry, MCP_EIO or MCP_EUNSUPPORTED. */
int repo_index_next(repo_index *x, repo_tracked *ret);

#endif
