/* glob.h: patterns of URIs and names in the configuration: * stands for anything but a slash, **
 * for anything.
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
    size_t literal; /* how much of it stands before the first * */
} glob;

typedef struct globs {
    glob *items;
    size_t count;
} globs;

/* As it is; as a URI, with what cannot stand in one percent-encoded. MCP_OK, MCP_ELIMIT (1024
 * bytes), MCP_ENOMEM. */
int globs_add(globs *list, mcp_str text);
int globs_add_uri(globs *list, mcp_str text);
/* An absolute path: what is there and everything below it, as file:// URIs. Symbolic links before
 * the first * are followed, because the URIs are those of what is behind them. */
int globs_add_path(globs *list, const char *path);
/* Whether it is written as a path, and not as a URI (a scheme and a colon come before any slash) or
 * with ** first. */
bool glob_is_place(mcp_str text);
void globs_clear(globs *list);

bool globs_match(const globs *list, mcp_str name);
/* Whether something that begins with `prefix` may match. */
bool globs_may_match(const globs *list, mcp_str prefix);

#endif
