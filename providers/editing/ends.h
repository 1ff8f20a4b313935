/* ends.h: line ends: where they are, and which one a new line gets.
 *
 * LF and CRLF are line ends. CR alone is one only if `cr_ends` says so (filetext.h).
 */
#ifndef EDITING_ENDS_H
#define EDITING_ENDS_H

#include <mcp/base.h>

/* Returns the length of the line end at an offset: 0, 1 or 2. */
static inline size_t editing_end_at(mcp_str text, size_t at, bool cr_ends)
{
    if (at >= text.len || (text.ptr[at] != '\n' && text.ptr[at] != '\r'))
        return 0;
    if (text.ptr[at] == '\n')
        return 1;
    return at + 1 < text.len && text.ptr[at + 1] == '\n' ? 2 : cr_ends;
}

/* Returns the length of the line end before an offset: 0, 1 or 2. It does not begin before `from`. */
size_t editing_end_before(mcp_str text, size_t from, size_t at, bool cr_ends);

/* Finds the next line end from `from` on. Returns its length, or 0 with *ret = text.len. */
size_t editing_next_end(mcp_str text, size_t from, bool cr_ends, size_t *ret);

/* Returns the number of the line at an offset, from 1 on. */
size_t editing_line_at(mcp_str text, size_t offset, bool cr_ends);

/* The line ends for new lines in a text. A passage of it is replaced: the i-th new line end is the
 * i-th one of the passage, then its last one. If the passage has none, it is that of the line where
 * the passage ends, otherwise the last one of the text, otherwise LF. Passages are in ascending order;
 * all together take time that is linear in the text. */
typedef struct editing_ends {
    mcp_str text;
    bool cr_ends;
    size_t at, to;      /* the part of the passage whose line ends are not used up */
    mcp_str repeated;   /* the last one that was given; empty before the first */
    size_t next, width; /* the first line end behind the last passage that had none */
    mcp_str last;       /* the last one of the text, or LF, if there is none behind the passage */
} editing_ends;

void editing_ends_init(editing_ends *e, mcp_str text, bool cr_ends);
void editing_ends_passage(editing_ends *e, size_t begin, size_t end);
mcp_str editing_ends_take(editing_ends *e);

#endif
