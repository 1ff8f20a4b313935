/* nest.c: the stack of open blocks and spans of a Markdown text. */
#include "nest.h"

#include <stdlib.h>

enum { FARTHEST = 200 /* spans that are looked at for one that ends */ };

bool nest_enter(nest *n, unsigned kind)
{
    if (n->depth == n->room) {
        size_t room = n->room * 2 + 64;
        unsigned char *grown = realloc(n->kinds, room);
        if (!grown)
            return false;
        n->kinds = grown;
        n->room = room;
    }
    n->kinds[n->depth++] = (unsigned char)kind;
    return true;
}

size_t nest_find(const nest *n, unsigned kind)
{
    size_t least = kind & NEST_SPAN && n->depth > FARTHEST ? n->depth - FARTHEST : 0;
    for (size_t at = n->depth; at > least; at--) {
        if (n->kinds[at - 1] == kind)
            return at;
        if (kind & NEST_SPAN && !(n->kinds[at - 1] & NEST_SPAN))
            return 0;
    }
    return 0;
}

void nest_clear(nest *n)
{
    free(n->kinds);
    *n = (nest){0};
}
