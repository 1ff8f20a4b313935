/* nest.h: which blocks and spans of a Markdown text are open, for functions that md4c calls.
 *
 * md4c 0.4 does not always leave a span that it has entered, or leaves one that it has not entered:
 * "[a](*)*". So nobody may rely on its calls to be balanced.
 */
#ifndef PROGRAM_NEST_H
#define PROGRAM_NEST_H

#include <stdbool.h>
#include <stddef.h>

enum { NEST_SPAN = 0x80 }; /* added to the type of a span, so that it is no block's */

typedef struct nest {
    unsigned char *kinds; /* of the open nodes, outermost first */
    size_t depth, room;
} nest;

/* Opens a node: its type, which is less than NEST_SPAN, and for a span NEST_SPAN. Returns false if out
 * of memory. */
bool nest_enter(nest *n, unsigned kind);
/* Returns the number of the innermost open node of this kind, from 1, or 0 if there is none. A span is
 * searched only in its block, and not for long. Its caller ends that node and all within it, which is
 * done by setting `depth` to one less. */
size_t nest_find(const nest *n, unsigned kind);
void nest_clear(nest *n);

#endif
