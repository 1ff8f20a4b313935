/* preview.h: what a call would change, as the tool itself says with the argument dry_run (common/dry_run.h). */
#ifndef MCPCTL_PREVIEW_H
#define MCPCTL_PREVIEW_H

#include "mcpctl.h"

/* Calls the tool with dry_run, and shows the text of its answer on stderr, also if that is an error of the tool.
 * Returns an exit code: EXIT_REMOTE if the tool says that the call would fail. */
int preview_show(ctl *c, const mcp_json *tool, const char *arguments);

#endif
