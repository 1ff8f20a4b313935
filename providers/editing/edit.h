/* edit.h: changes by exact texts, each with how often it must occur.
 *
 * `before` is searched in the text as it is after the edits before it. All occurrences count, also
 * those that overlap; overlapping ones are always refused, because it is open which is meant. It must
 * occur exactly `count` times, or nothing at all is changed. How line ends match and are written says
 * filetext.h; in detail, for a string without CR that replaces a passage of several lines: what the two
 * have in common at their beginnings and ends stays as it is, and of the rest the i-th line end is
 * written as the i-th one of the passage, then as its last one, otherwise as that of the line in which
 * the passage is, or of the one before it.
 *
 * An edit takes time that is linear in the sizes of text, edit and result. Line numbers count as a
 * reader's do (filetext.h).
 */
#ifndef EDITING_EDIT_H
#define EDITING_EDIT_H

#include "filetext.h"

enum {
    EDITING_LINES_SHOWN = 5,      /* line numbers in a refusal */
    EDITING_MOST_PLACES = 100000, /* the largest count of an edit */
};

typedef struct editing_edit {
    mcp_str before; /* not empty */
    mcp_str after;
    size_t count; /* how often `before` must occur; 0 means once */
} editing_edit;

/* 0 is the default. */
typedef struct editing_limits {
    size_t edits; /* number of edits, or of hunks; default 1000 */
    size_t bytes; /* of all edits together, or of the patch; default 8 MiB */
    size_t text;  /* of the changed text, and of each text on the way to it; default 64 MiB */
    size_t work;  /* of all texts that are searched together; default 1 GiB */
} editing_limits;

/* Fills in the defaults; NULL has only these. */
editing_limits editing_limits_of(const editing_limits *given);

/* Applies the edits in their order. Begins `changed` (editing_changed_begin()), which is freed by the
 * caller in any case and has no meaning after a failure. `limits` may be NULL. Returns MCP_OK;
 * MCP_ENOTFOUND if an edit does not fit the text: the error says which edit, how often `before` occurs
 * and in which lines; MCP_EINVAL for an edit that could never be applied (empty, equal to its
 * replacement, not UTF-8, with NUL); MCP_ELIMIT; MCP_ENOMEM. After a failure error->offset is the index
 * of the edit. */
int editing_edit_all(const editing_text *t, const editing_edit *edits, size_t n,
                     const editing_limits *limits, common_buffer *changed, mcp_error *error);

#endif
