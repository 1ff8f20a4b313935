/* roster.h: compares the names of two lists: which were added, and which removed. */
#ifndef MCPCTL_ROSTER_H
#define MCPCTL_ROSTER_H

#include <mcp/base.h>

typedef struct roster {
    char **names;
    size_t count, room, bytes;
    bool sorted;
    bool cut; /* incomplete: the list is too long, or there was no memory */
} roster;

/* Adds a copy, up to the first NUL; URIs and names do not contain any. */
void roster_add(roster *r, mcp_str name);
void roster_clear(roster *r);

/* Calls fn for each name that only one of them has, in byte order. Returns their number. */
typedef void roster_fn(bool added, const char *name, void *user);
size_t roster_compare(roster *before, roster *after, roster_fn *fn, void *user);

#endif
