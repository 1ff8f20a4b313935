/* view.h: shows known forms of JSON in a readable way. It does not depend on sessions or
 * settings. */
#ifndef MCPCTL_VIEW_H
#define MCPCTL_VIEW_H

#include "table.h"

/* Writes an array of flat objects, or an object with "columns" and "rows", as a table, and an
 * object with "commits" as a log. Returns false without writing anything if the JSON has another
 * form or is too large, or if out of memory. */
bool view_put(FILE *to, mcp_str json, const table_look *look);

#endif
