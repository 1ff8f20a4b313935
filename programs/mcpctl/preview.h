/* preview.h: what a call would change, as the tool itself says with the argument dry_run. */
#ifndef MCPCTL_PREVIEW_H
#define MCPCTL_PREVIEW_H

#include "mcpctl.h"

/* Returns whether a call of this tool with these arguments can be tried: it is one of the tools that
 * change files, and its schema has dry_run as a boolean. */
bool preview_is_for(const mcp_json *tool, const char *arguments);

/* Calls the tool with dry_run, and shows the text of its answer on stderr, also if that is an error of the tool.
 * Returns an exit code: EXIT_REMOTE if the tool says that the call would fail. */
int preview_show(ctl *c, const mcp_json *tool, const char *arguments);

#endif
