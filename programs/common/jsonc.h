/* jsonc.h: configuration files as editors write them: JSON with comments and trailing commas. */
#ifndef PROGRAM_JSONC_H
#define PROGRAM_JSONC_H

#include <mcp/json.h>

#include "file.h"

/* Replaces comments and trailing commas by spaces, in place. The result is JSON with the same
 * offsets. */
void jsonc_strip(char *text, size_t len);

/* Loads a file without changing its text, which the caller frees. MCP_ENOTFOUND, MCP_EIO,
 * MCP_ELIMIT (16 MiB), MCP_ENOMEM; error->text says why. */
int jsonc_load(const char *path, file_trust trust, char **ret, size_t *len, mcp_error *error);

/* Loads and parses a file. Errors as jsonc_load(), and MCP_EPARSE with the line of the error in
 * `line`. */
int jsonc_read(const char *path, file_trust trust, mcp_json_doc **ret, size_t *line,
               mcp_error *error);

/* The offset in valid JSON text of the value at a JSON Pointer (RFC 6901), or with `key` that of
 * the member's key. If the pointer leads nowhere, the offset of the last value on its way. */
size_t jsonc_find(mcp_str json, mcp_str pointer, bool key);

/* The offsets where the value of a member begins and ends, for the object that begins at `object`
 * in valid JSON text. False: there is no member whose name is spelled like this. */
bool jsonc_member(mcp_str json, size_t object, const char *name, size_t *begin, size_t *end);

/* Line and column of an offset, from 1; columns are characters. */
void jsonc_position(mcp_str text, size_t offset, size_t *line, size_t *column);

#endif
