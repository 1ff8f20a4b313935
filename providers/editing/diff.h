/* diff.h: the unified diff of two texts, as editing_patch() accepts it.
 *
 * Lines are compared by Myers' algorithm in linear space, within a bound of work; a stretch of lines
 * for which that is not enough is shown as replaced whole. If both texts have one and the same kind
 * of line end only, lines are shown without CR. Otherwise lines end at LF, and what else they have is
 * shown as it is; editing_patch() takes such a diff byte by byte. In both cases the patch of the old
 * text with the diff is the new text.
 */
#ifndef EDITING_DIFF_H
#define EDITING_DIFF_H

#include "filetext.h"

enum {
    EDITING_CONTEXT = 3,
};

typedef struct editing_counts {
    size_t plus, minus; /* lines added and removed in the whole difference */
    bool truncated;     /* the diff has not all hunks, because of its limit */
} editing_counts;

/* Appends the diff to an initialized buffer, and counts. `name` stands in the two lines of the header;
 * if it is empty, has control characters or is not UTF-8, there is no header. Equal texts have no
 * diff. At most `most` bytes are appended: hunks that do not fit are left out, from the first one on,
 * but counted. The buffer's allocator is used for everything. Returns MCP_OK, or MCP_ENOMEM with the
 * buffer as it was. */
int editing_diff(mcp_str before, mcp_str after, mcp_str name, size_t most, common_buffer *to,
                 editing_counts *ret);

#endif
