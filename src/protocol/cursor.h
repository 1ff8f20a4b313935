/* cursor.h: the opaque token between two pages of a list (2026-07-28, server/utilities/pagination).
 *
 * A cursor contains the list, the part of it (the registered entries, or a mounted provider, by its
 * prefix) and the position in that part. A checksum ensures that a cursor of another list, another caller or
 * another kind of server is rejected instead of giving a wrong page. A cursor is not a secret and
 * gives no access.
 */
#ifndef MCP_SRC_CURSOR_H
#define MCP_SRC_CURSOR_H

#include "base/base.h"

typedef struct mcp__cursor {
    uint8_t list;  /* identifies the list */
    uint64_t part; /* 0 for registered entries, else mcp__cursor_part() of a mount */
    mcp_str position;
} mcp__cursor;

enum { MCP__CURSOR_MAX_POSITION = 16 << 10 };

/* Returns what stands for the mount with this prefix in a cursor. It depends on the prefix alone, so
 * that a cursor never reaches another mount, whatever is mounted before it. */
uint64_t mcp__cursor_part(mcp_str prefix);

/* Appends the token as a JSON string, including the quotes. `caller` is mcp_identity_binding(). */
void mcp__put_cursor(mcp__buf *b, const mcp__cursor *cursor, mcp_str caller);

/* Reads a token; the position is decoded into `room` (at least token.len bytes). Returns false if
 * the token is malformed, or belongs to another list, caller or kind of server. */
bool mcp__read_cursor(mcp_str token, uint8_t list, mcp_str caller, char *room, mcp__cursor *ret);

#endif
