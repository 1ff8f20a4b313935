/* glob.h: patterns of URIs and names in the configuration: * matches anything but slashes, **
 * matches anything.
 *
 * These are not the globs of .gitignore (providers/common/glob.h): "?" and "[" stand for
 * themselves, because URIs contain them. The time of a match is at most proportional to the length
 * of the text times that of the pattern, whatever a peer sends.
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

/* globs_add() adds a pattern unchanged. globs_add_uri() percent-encodes characters that are not
 * allowed in URIs. They return MCP_OK, MCP_ELIMIT (if the pattern is longer than 1024 bytes) or
 * MCP_ENOMEM. */
int globs_add(globs *list, mcp_str text);
int globs_add_uri(globs *list, mcp_str text);
/* Adds patterns for an absolute path and everything below it, as file:// URIs. Symbolic links
 * before the first * are followed, because resources have the URIs of the real files. */
int globs_add_path(globs *list, const char *path);
/* The same, but follows no links below one of the n folders, which are real paths: whoever may write
 * there can make a link, which must not extend what the pattern allows. */
int globs_add_path_until(globs *list, const char *path, const char *const *folders, size_t n);
/* Adds a pattern for paths relative to a folder. One without a star also stands for everything below
 * the path. Below the folder, links are not followed. */
int globs_add_below(globs *list, const char *folder, const char *below);
/* Returns whether a string is a path, and not a URI (which has a scheme and a colon before any
 * slash) or a pattern that begins with **. */
bool glob_is_place(mcp_str text);
void globs_clear(globs *list);

bool globs_match(const globs *list, mcp_str name);
/* Returns whether a pattern without a star is this name. A path names itself, but not what is below
 * it. */
bool globs_name(const globs *list, mcp_str name);
/* Returns whether a string that begins with `prefix` may match. */
bool globs_may_match(const globs *list, mcp_str prefix);

#endif
