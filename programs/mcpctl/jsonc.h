/* jsonc.h: configuration files as editors write them: JSON with comments and trailing commas. */
#ifndef MCPCTL_JSONC_H
#define MCPCTL_JSONC_H

#include <mcp/json.h>

/* Turns comments and trailing commas into spaces, in place: what is left is JSON, at the same offsets. */
void jsonc_strip(char *text, size_t len);

/* Reads and parses a file. MCP_ENOTFOUND, MCP_EIO, MCP_ELIMIT (16 MiB), MCP_EPARSE, MCP_ENOMEM; `line` is that of
 * a mistake. */
int jsonc_read(const char *path, mcp_json_doc **ret, size_t *line, mcp_error *error);

#endif
