/* lines.h: the lines of two texts, and which of them are common.
 *
 * The comparison is Myers' algorithm in linear space ("An O(ND) Difference Algorithm and Its
 * Variations"). Its work has a bound; a stretch for which it does not suffice counts as changed as a
 * whole. The unchanged lines of both texts are the same, in the same order.
 */
#ifndef EDITING_LINES_H
#define EDITING_LINES_H

#include "buffer.h"

typedef struct editing_line {
    const char *ptr;
    size_t len; /* without the line end */
    uint32_t hash;
    uint8_t width; /* of its line end; only the last line has none */
    bool changed;  /* has no equal line on the other side */
} editing_line;

typedef struct editing_lines {
    editing_line *line;
    size_t n;
    mcp_allocator alloc;
} editing_lines;

/* Where lines end. In each case lines are equal if they are so before the end, and both or none have
 * one. */
typedef enum editing_split {
    EDITING_SPLIT_LF,   /* only at LF */
    EDITING_SPLIT_ENDS, /* at LF and CRLF */
    EDITING_SPLIT_CR,   /* at CR too */
} editing_split;

/* Returns MCP_OK, or MCP_ENOMEM (also for more than 2^30 lines). The caller frees it in any case. */
int editing_lines_split(mcp_str text, editing_split how, const mcp_allocator *alloc,
                        editing_lines *ret);
void editing_lines_free(editing_lines *l);

/* Marks what is changed. Returns MCP_OK or MCP_ENOMEM. */
int editing_lines_compare(editing_lines *before, editing_lines *after);

#endif
