/* cut.h: the part of a text that fits in an answer. It ends at the end of a line, or within the
 * first line if this is too long, and never within a character. */
#ifndef BRIDGE_CUT_H
#define BRIDGE_CUT_H

#include <mcp/base.h>

typedef struct bridge_cut {
    mcp_str text;         /* points into the whole text */
    uint64_t first, last; /* its lines; the first line of the whole text is 1 */
    uint64_t total;       /* lines of the whole text */
    bool more;            /* something that was asked for follows */
    bool within;          /* it ends within the line `last` */
} bridge_cut;

/* Takes `count` lines (0 for all) from the line `first` on, at most `most` bytes of them. */
void bridge_cut_lines(mcp_str text, uint64_t first, uint64_t count, size_t most, bridge_cut *ret);
/* Takes the last lines, at most `most` bytes; `more` means that there are lines before them. */
void bridge_cut_tail(mcp_str text, size_t most, bridge_cut *ret);

#endif
