/* source_write.h: what may be written in a source that is a folder: FOLDER?write=GLOB on the command
 * line, "write" in the configuration file.
 *
 * A glob is relative to the folder, such as **.md or todo.txt. It is short for an access rule about
 * the caller "stdio" (access.h); the folder's files are read with or without it.
 */
#ifndef MCPD_SOURCE_WRITE_H
#define MCPD_SOURCE_WRITE_H

#include "options.h"

/* Returns the length of the path in a word of a file or folder. It is followed by "?write=", or by
 * nothing. */
size_t source_write_path(const char *word);

/* Calls `each` for each glob, until it returns another code than MCP_OK. `pointer` is where the glob
 * stands below the source in the configuration file ("/write/1"), or "". Returns that code, MCP_OK,
 * or MCP_ENOMEM; MCP_EINVAL if the glob has no meaning, after calling `wrong`. */
typedef int source_write_each(const char *glob, const char *pointer, void *user);
typedef void source_write_wrong(const char *pointer, const char *why, void *user);
int source_write_globs(const source *s, source_write_each *each, source_write_wrong *wrong,
                       void *user);

/* Returns whether anything of the source may be written. */
bool source_write_any(const source *s);

#endif
