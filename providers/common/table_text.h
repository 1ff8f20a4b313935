/* table_text.h: formats the JSON answer of a database as a Markdown table, for hosts that accept
 * only text types, and for models, because a table needs fewer tokens than JSON.
 */
#ifndef COMMON_TABLE_TEXT_H
#define COMMON_TABLE_TEXT_H

#include <mcp/json.h>

#include "buffer.h"

#define COMMON_TABLE_MIME "text/markdown"

/* Appends a Markdown table. With `row`, `json` is an object, and each member is a line. Otherwise
 * it is an object with "columns" and "rows"; if there are more rows ("next", "truncated"), a note
 * follows the table. In a cell, NULL is written as NULL, "|" is escaped by a backslash, line ends
 * become <br>, and arrays and objects are JSON. Returns MCP_OK, MCP_ENOMEM, or MCP_EPARSE if the
 * JSON cannot be parsed again, because two columns have the same name. */
int common_table_text(common_buffer *to, mcp_str json, bool row, const mcp_allocator *alloc);

/* Parses ?format=. *text is true for "text" and false for "json", the default. Returns false for
 * any other value; `why` then lists the valid ones. */
bool common_table_format(const mcp_str *value, bool *text, char why[300]);

#endif
