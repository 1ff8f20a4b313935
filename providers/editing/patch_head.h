/* patch_head.h: the lines of a unified diff that are not in a hunk, and the first line of one. */
#ifndef EDITING_PATCH_HEAD_H
#define EDITING_PATCH_HEAD_H

#include <mcp/base.h>

/* "@@ -begin[0],count[0] +begin[1],count[1] @@" */
typedef struct editing_hunk {
    uint64_t begin[2], count[2];
} editing_hunk;

/* Returns whether the line, without its end, is the first one of a hunk. */
bool editing_hunk_read(mcp_str line, editing_hunk *ret);

/* Checks a line outside of hunks. `name` is the file's, or empty; `begun` says that a hunk came before.
 * Returns MCP_OK; MCP_EINVAL if it is not a line of a unified diff, or names another file;
 * MCP_EUNSUPPORTED for what is more than a change of text. `line_no` is its number, for the error. */
int editing_patch_head(mcp_str line, mcp_str name, bool begun, size_t line_no, mcp_error *error);

#endif
