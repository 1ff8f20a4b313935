/* changes.h: the tools that change files: who gets them, where their journal is, and which files they never write
 * because mcpd itself reads them. See docs/writing.md. */
#ifndef MCPD_CHANGES_H
#define MCPD_CHANGES_H

#include "offer.h"

/* Adds the tools, if a rule gives anybody a right to change something. `files` is NULL if no files are served. Returns
 * MCP_OK, or a negative code with the reason in *error. */
int changes_add(const offer *o, mcp_files *files, mcp_error *error);

#endif
