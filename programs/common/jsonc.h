/* jsonc.h: configuration files as editors write them: JSON with comments and trailing commas. */
#ifndef PROGRAM_JSONC_H
#define PROGRAM_JSONC_H

#include <mcp/json.h>

#include "file.h"

/* Replaces comments and trailing commas by spaces, in place. The result is JSON with the same
 * offsets. */
void jsonc_strip(char *text, size_t len);

/* Loads a file and returns its text unchanged. The caller frees the text. Fails with MCP_ENOTFOUND,
 * MCP_EIO, MCP_ELIMIT (16 MiB), MCP_ENOMEM; error->text says why. */
int jsonc_load(const char *path, file_trust trust, char **ret, size_t *len, mcp_error *error);

/* Loads and parses a file, which may begin with a byte order mark. Returns the errors of jsonc_load(), and MCP_EPARSE with the line of the
 * error in `line`. */
int jsonc_read(const char *path, file_trust trust, mcp_json_doc **ret, size_t *line,
               mcp_error *error);

/* Returns the offset in valid JSON text of the value at a JSON Pointer (RFC 6901) or, if `key` is
 * set, of the member's key. If there is no such value, returns the offset of the last value that
 * exists on the pointer's path. */
size_t jsonc_find(mcp_str json, mcp_str pointer, bool key);

/* Gets the offsets where the value of a member begins and ends, for the object that begins at
 * `object` in valid JSON text. Returns false if no member's name has exactly this spelling. */
bool jsonc_member(mcp_str json, size_t object, const char *name, size_t *begin, size_t *end);

/* Gets the line and the column of an offset, both counted from 1. Columns count characters. */
void jsonc_position(mcp_str text, size_t offset, size_t *line, size_t *column);

#endif
