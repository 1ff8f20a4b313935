/* lists.h: the contents of watched lists, so that a change can be reported in full. */
#ifndef MCPCTL_LISTS_H
#define MCPCTL_LISTS_H

#include "mcpctl.h"

typedef struct lists lists;

/* Reads each list that the server offers. NULL: no memory. */
lists *lists_new(ctl *c);
void lists_free(lists *l);

/* Reads one of them once more, and writes a line for what was added ("+ uri") and removed ("-
 * uri"); or, where `w` is not NULL, the members "added", "removed" and "more". Of very many the
 * first, and how many more there are. What cannot be read, or is too long to be compared, is said
 * on stderr. */
void lists_put_changes(lists *l, mcp_change kind, mcp_json_writer *w);

#endif
