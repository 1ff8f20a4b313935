/* rewrite.h: a whole new text for a file, with the line ends that the file has.
 *
 * A text with CR is taken as it is written (filetext.h). In one without, lines that the file has too,
 * by the comparison of lines.h, keep their line ends, and other lines get that of a neighbour (ends.h).
 */
#ifndef EDITING_REWRITE_H
#define EDITING_REWRITE_H

#include "filetext.h"

/* U+FEFF at the beginning of `text` is a mark: in a new file of UTF-8 it stays, otherwise it is
 * dropped, because a file keeps its own. Begins `changed` (editing_changed_begin()), which the caller
 * frees in any case. Returns MCP_OK, MCP_EINVAL (not UTF-8, or with NUL), MCP_ELIMIT (more than `most`
 * bytes) or MCP_ENOMEM. */
int editing_rewrite(const editing_text *t, mcp_str text, size_t most, common_buffer *changed,
                    mcp_error *error);

#endif
