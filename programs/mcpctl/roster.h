/* roster.h: compares the names of two lists and finds those that were added and removed. */
#ifndef MCPCTL_ROSTER_H
#define MCPCTL_ROSTER_H

#include <mcp/base.h>

typedef struct roster {
    char **names;
    size_t count, room, bytes;
    bool sorted;
    bool is_incomplete; /* names are missing: the list is too long, or memory ran out */
} roster;

/* Adds a copy of the name, up to the first NUL (URIs and names contain none). */
void roster_add(roster *r, mcp_str name);
void roster_clear(roster *r);

/* Calls fn for each name that only one of the lists has, in byte order. Returns the number of these
 * names. */
typedef void roster_fn(bool added, const char *name, void *user);
size_t roster_compare(roster *before, roster *after, roster_fn *fn, void *user);

#endif
