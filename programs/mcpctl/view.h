/* view.h: JSON of known forms, as a person reads it. It knows no session and no settings. */
#ifndef MCPCTL_VIEW_H
#define MCPCTL_VIEW_H

#include "table.h"

/* Writes it as a table, if it is an array of objects without anything inside of them, or an object
 * with "columns" and "rows"; and as a log, if it is an object with "commits". False: it is neither,
 * or too large, or there was no memory; nothing is written. */
bool view_put(FILE *to, mcp_str json, const table_look *look);

#endif
