/* seal_key.h: the key of --seal-key-file, with which instances seal what they tell each other and what
 * clients keep for them. */
#ifndef MCPD_SEAL_KEY_H
#define MCPD_SEAL_KEY_H

#include <mcp/mcp.h>

/* Reads a file with one line of text, or a first and a second line: the key, and the previous or the next
 * one, whose seals are accepted too. Empty lines and lines that begin with # are ignored. Sets the seal of
 * the server, unless it is NULL. The keys are bound to `name`: instances with another name have other keys.
 * Returns MCP_OK, or a negative code with the reason in *error. */
int seal_key_use(const char *path, const char *name, mcp_server *server, mcp_error *error);

/* Reads the only line of a secret file into *ret, which the caller frees. Fails if other users can read the
 * file. */
int seal_key_read_secret(const char *path, char **ret, mcp_error *error);

#endif
