/* glob.h: patterns of URIs and names in the configuration: * matches anything but slashes, **
 * matches anything.
 *
 * Not the globs of .gitignore (providers/files/glob.h): "?" and "[" are themselves here, because
 * URIs have them. A match takes at most time proportional to the text times the pattern, whatever a
 * peer sends.
 */
#ifndef MCPD_GLOB_H
#define MCPD_GLOB_H

#include <stdbool.h>

#include <mcp/base.h>

typedef struct glob {
    char *text;
    size_t literal; /* length of the part before the first * */
} glob;

typedef struct globs {
    glob *items;
    size_t count;
} globs;

/* Adds a pattern as it is; as a URI, with characters that are not allowed in one percent-encoded.
 * MCP_OK, MCP_ELIMIT (1024 bytes), MCP_ENOMEM. */
int globs_add(globs *list, mcp_str text);
int globs_add_uri(globs *list, mcp_str text);
/* Adds patterns for an absolute path and everything below it, as file:// URIs. Symbolic links
 * before the first * are followed, because resources have the URIs of the real files. */
int globs_add_path(globs *list, const char *path);
/* Whether a text is a path: not a URI (with a scheme and a colon before any slash), and not a
 * pattern that begins with **. */
bool glob_is_place(mcp_str text);
void globs_clear(globs *list);

bool globs_match(const globs *list, mcp_str name);
/* Whether a text that begins with `prefix` may match. */
bool globs_may_match(const globs *list, mcp_str prefix);

#endif
