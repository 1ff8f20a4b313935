/* find.h: all places of a text at which another one stands, also those that overlap.
 *
 * Line ends are compared by the rule of filetext.h. A match never begins or ends inside of CRLF. The
 * time is linear in the sizes of both, whatever they are.
 */
#ifndef EDITING_FIND_H
#define EDITING_FIND_H

#include "buffer.h"

/* A passage of the text. */
typedef struct editing_passage {
    size_t begin, end;
} editing_passage;

typedef struct editing_search {
    mcp_str text;
    mcp_str needle; /* not empty */
    bool has_cr;    /* the text has a CR */
    bool cr_ends;   /* CR alone is a line end */
    size_t most;    /* places to keep */
} editing_search;

typedef struct editing_found {
    size_t count;         /* of all */
    bool overlap;         /* some of them overlap */
    common_buffer places; /* the first ones, in ascending order: an array of editing_passage */
} editing_found;

/* Returns MCP_OK, also if there are none, or MCP_ENOMEM. `ret` is initialized; the caller frees its
 * buffer in any case. */
int editing_find(const editing_search *search, const mcp_allocator *alloc, editing_found *ret);

static inline const editing_passage *editing_found_places(const editing_found *f)
{
    return (const editing_passage *)(const void *)f->places.ptr;
}

#endif
