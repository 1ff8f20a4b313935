/* index.h: reads git's index of the working tree: the tracked files, what is staged, and their file
 * attributes at that time. Versions 2 to 4; a split or a sparse index is MCP_EUNSUPPORTED. */
#ifndef REPO_INDEX_H
#define REPO_INDEX_H

#include "store.h"
#include "uri.h"

typedef struct repo_index {
    common_buffer bytes;
    uint32_t version, left; /* entries that were not taken yet */
    size_t at;
    int64_t written; /* seconds: when the file was */
    char path[REPO_PATH_MAX + 1];
    size_t len;
} repo_index;

typedef struct repo_tracked {
    mcp_str path; /* until the next is taken */
    unsigned mode;
    git_oid id;
    bool conflict; /* a merge has not decided it */
    bool skipped;  /* git does not look at the file */
    uint32_t seconds, nanoseconds, size;
} repo_tracked;

/* MCP_ENOTFOUND: there is none (nothing is tracked); MCP_ELIMIT, MCP_EIO, MCP_EUNSUPPORTED,
 * MCP_ENOMEM. Free it in every case. */
int repo_index_open(const repo_layout *l, repo_index *ret);
void repo_index_free(repo_index *x);

/* In the order of the paths' bytes. MCP_OK; MCP_ENOTFOUND: that was all; MCP_EIO. */
int repo_index_next(repo_index *x, repo_tracked *ret);

#endif
