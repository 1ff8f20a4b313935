/* content.h: contents as lines: Markdown, JSON, tables, differences, logs, bytes. */
#ifndef BROWSE_CONTENT_H
#define BROWSE_CONTENT_H

#include <mcp/json.h>

#include "lines.h"
#include "peer.h"

/* The heading and the fields of an entry. */
void content_entry(lines *l, const item *i);
/* The contents of resources/read. */
void content_put(lines *l, const mcp_json *contents);
/* A block of a prompt or of a tool's result. */
void content_block(lines *l, const mcp_json *block);
/* A text of a MIME type, which may be empty; the URI's extension counts too. */
void content_text(lines *l, mcp_str text, mcp_str type, mcp_str uri);
/* A text that is to be judged, such as the difference of a file or a question about one. Where a line goes on in another
 * row it is indented further, so that no part of a line looks like a line. */
enum { CHANGE_INDENT = 2, CHANGE_HANG = 10 };
void content_change(lines *l, mcp_str text);
/* Bytes as hexadecimal numbers. */
void content_bytes(lines *l, mcp_str bytes);

/* result.c: the result of a tool or a prompt, or the contents that a template leads to. Structured
 * results are checked against the schema in the tool's definition. */
void result_put(lines *l, list_kind kind, const mcp_json *definition, const mcp_json *result);

/* markdown.c. Returns false if the text could not be parsed. */
bool markdown_lines(lines *l, mcp_str text);

/* json_text.c: JSON text with folds. Returns false if it is not JSON. `fold` is the depth from which
 * objects and arrays are folded at first. */
bool json_put(lines *l, mcp_str text, unsigned fold);
void json_put_value(lines *l, const mcp_json *value, unsigned depth, unsigned fold);

/* table_text.c: tables with aligned columns. */
typedef struct grid grid;
/* The first row is the heading. Returns NULL if out of memory or if there are too many columns. */
grid *grid_new(size_t columns);
void grid_free(grid *g);
/* Adds a cell, row by row. Only the beginning of a long cell is kept. */
void grid_add(grid *g, mcp_str text);
/* Completes the last row. */
void grid_end_row(grid *g);
void grid_put(const grid *g, lines *l, unsigned indent);
/* Comma-separated values (RFC 4180). Returns false if it has no columns. */
bool csv_put(lines *l, mcp_str text, char separator);
/* The tables and histories of common/rows.h. Returns false for other JSON. */
bool rows_put(lines *l, const mcp_json *root);

#endif
