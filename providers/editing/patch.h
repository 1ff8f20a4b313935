/* patch.h: a unified diff of one file is applied, or refused as a whole.
 *
 * Nothing is guessed. Context and removed lines must be what the file has at the line that the hunk
 * names, both line numbers and both counts of each hunk must be right, and hunks are in order. Where a
 * hunk does not fit, but fits at exactly one other place, the refusal says where. The names in its
 * headers must be the file's, or one must end with the other at a slash ("a/" and "b/" are skipped).
 * What is more than a change of text is refused by its name: renames, modes, binary parts, new and
 * deleted files, a second file.
 *
 * Line ends follow the rule of filetext.h, for which the whole patch is one string. A patch with a CR
 * is compared and written byte by byte, with LF between lines. In one without, an added line gets the
 * end of the i-th line removed directly before it, then of the last one, otherwise of the line after
 * it, of the line before it, or LF.
 *
 * An empty line inside a hunk is an empty context line, as editors leave it. Time is linear in the
 * sizes of text, patch and result, and memory beyond the result is needed only for a refusal.
 */
#ifndef EDITING_PATCH_H
#define EDITING_PATCH_H

#include "edit.h"

/* Applies a patch. `name` is the file's path, relative to a folder of the caller's choice; if it is
 * empty, names in the patch are not compared. Begins `changed` as editing_edit_all() does; of `limits`
 * `work` is not used. Returns MCP_OK; MCP_ENOTFOUND if a hunk does not fit the text; MCP_EINVAL for a
 * malformed patch, one without any change, or one of another file; MCP_EUNSUPPORTED for a part that is
 * refused by its name; MCP_ELIMIT; MCP_ENOMEM. After a failure error->offset is the line of the patch,
 * from 1 on. */
int editing_patch(const editing_text *t, mcp_str patch, mcp_str name, const editing_limits *limits,
                  common_buffer *changed, mcp_error *error);

#endif
