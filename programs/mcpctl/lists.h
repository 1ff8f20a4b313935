/* lists.h: the contents of watched lists, so that a change can be reported in full. */
#ifndef MCPCTL_LISTS_H
#define MCPCTL_LISTS_H

#include "mcpctl.h"

typedef struct lists lists;

/* Reads each list that the server supports. NULL: no memory. */
lists *lists_new(ctl *c);
void lists_free(lists *l);

/* Reads a list again and prints a line for each entry that was added ("+ uri") or removed ("-
 * uri"). If `w` is not NULL, it adds the members "added", "removed" and "more" instead. Of very
 * many changes only the first are listed, and the number of the others. Lists that cannot be read,
 * or are too long to compare, are reported on stderr. */
void lists_put_changes(lists *l, mcp_change kind, mcp_json_writer *w);

#endif
