/* roster.h: the names of a list, and which were added and removed. */
#ifndef MCPCTL_ROSTER_H
#define MCPCTL_ROSTER_H

#include <mcp/base.h>

typedef struct roster {
    char **names;
    size_t count, room, bytes;
    bool sorted;
    bool cut; /* the list is too long, or there was no memory: a name is missing */
} roster;

/* A copy, up to the first NUL, which URIs and names do not contain. */
void roster_add(roster *r, mcp_str name);
void roster_clear(roster *r);

/* Each name that one of them has alone, in the order of their bytes. Returns how many there are. */
typedef void roster_fn(bool added, const char *name, void *user);
size_t roster_compare(roster *before, roster *after, roster_fn *fn, void *user);

#endif
