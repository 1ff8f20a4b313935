/* said.h: what the other server said about itself, for said.c and remember.c. */
#ifndef UPSTREAM_SAID_H
#define UPSTREAM_SAID_H

#include "session.h"

/* The kinds of items that a server declares, by their names in its capabilities. */
enum { UPSTREAM_KINDS = 3 };
typedef struct upstream_kind {
    const char *name;
    mcp_item item;
} upstream_kind;
extern const upstream_kind upstream_kinds[UPSTREAM_KINDS];

/* What it said to one principal. */
struct upstream_said {
    upstream_said *next; /* last the one that was added first */
    bool named;          /* false for the anonymous principal */
    char *principal, *instructions;
    char title[100], version[40];
    unsigned items; /* the kinds of items that it has declared: 1u << MCP_ITEM_RESOURCE and so on */
};

/* Makes a record; the texts are copied, and truncated if they are long. A principal of NULL is the
 * anonymous one. Returns NULL if out of memory. */
upstream_said *upstream_said_make(const upstream *up, const char *principal, mcp_str title,
                                  mcp_str version, mcp_str instructions, unsigned items);
/* Makes the record of a session. Returns NULL if nothing is known yet, or if out of memory. */
upstream_said *upstream_said_of(const upstream_session *s);
void upstream_said_free(const upstream *up, upstream_said *said);
/* Keeps a record, which replaces that of the same principal. */
void upstream_said_put(upstream *up, upstream_said *said);
/* Returns an open session of the principal whose server has said something, or NULL. */
const upstream_session *upstream_said_session(const upstream *up, const char *principal);

#endif
