/* lists.h: keeps the contents of watched lists, so that a change can be reported in full. */
#ifndef MCPCTL_LISTS_H
#define MCPCTL_LISTS_H

#include "mcpctl.h"

typedef struct lists lists;

/* Reads each list that the server supports. Returns NULL if out of memory. */
lists *lists_new(ctl *c);
void lists_free(lists *l);

/* Reads a list again and prints a line for each entry that was added ("+ uri") or removed ("-
 * uri"). If `w` is not NULL, it adds the members "added", "removed" and "more" instead. If there
 * are many changes, only the first ones are listed, and the others are counted. Lists that cannot
 * be read, or are too long to compare, are reported on stderr. */
void lists_put_changes(lists *l, mcp_change kind, mcp_json_writer *w);

#endif
