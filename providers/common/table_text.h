/* table_text.h: an answer of a database as text: a Markdown table. For hosts that accept only text
 * types, and for models, because a table needs fewer tokens than JSON.
 */
#ifndef COMMON_TABLE_TEXT_H
#define COMMON_TABLE_TEXT_H

#include <mcp/json.h>

#include "buffer.h"

#define COMMON_TABLE_MIME "text/markdown"

/* Appends what `json` says: with `row`, one line for each member of an object; else, of an object
 * with "columns" and "rows", one for each row, and behind them that there are more ("next",
 * "truncated"). In a cell NULL is NULL, "|" has a backslash before it, the end of a line is <br>,
 * and what is no plain value stands as JSON. MCP_OK, MCP_ENOMEM; MCP_EPARSE: it is JSON that cannot
 * be read again (two columns of the same name). */
int common_table_text(common_buffer *to, mcp_str json, bool row, const mcp_allocator *alloc);

/* ?format=: *text is whether the value is "text"; "json" is the default. False: neither; `why` says
 * what may be. */
bool common_table_format(const mcp_str *value, bool *text, char why[300]);

#endif
