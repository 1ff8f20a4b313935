/* jsonc.h: configuration files as editors write them: JSON with comments and trailing commas. */
#ifndef PROGRAM_JSONC_H
#define PROGRAM_JSONC_H

#include <mcp/json.h>

#include "file.h"

/* Turns comments and trailing commas into spaces, in place: what is left is JSON, at the same
 * offsets. */
void jsonc_strip(char *text, size_t len);

/* The text of a file, which is to be freed, as it is. MCP_ENOTFOUND, MCP_EIO, MCP_ELIMIT (16 MiB),
 * MCP_ENOMEM; error->text says why. */
int jsonc_load(const char *path, file_trust trust, char **ret, size_t *len, mcp_error *error);

/* Reads and parses a file. As jsonc_load(), and MCP_EPARSE; `line` is that of a mistake. */
int jsonc_read(const char *path, file_trust trust, mcp_json_doc **ret, size_t *line,
               mcp_error *error);

/* Where in JSON text, which parses, the value that a JSON Pointer (RFC 6901) leads to begins; with
 * `key` that of its key, where it is a member. Where the pointer leads nowhere: as far as it
 * goes. */
size_t jsonc_find(mcp_str json, mcp_str pointer, bool key);

/* Where the value of a member begins and ends, of the object that begins at `object` in JSON text,
 * which parses. False: there is none whose name is written so. */
bool jsonc_member(mcp_str json, size_t object, const char *name, size_t *begin, size_t *end);

/* Line and column of an offset, from 1; columns are characters. */
void jsonc_position(mcp_str text, size_t offset, size_t *line, size_t *column);

#endif
