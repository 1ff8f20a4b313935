/* entry.h: the entry for a host's configuration file (mcpd --print-config). */
#ifndef MCPD_ENTRY_H
#define MCPD_ENTRY_H

#include "modules.h"
#include "options.h"

/* What a host has to start, or over HTTP to reach; `tokens`: only with one. Prints JSON to stdout and where it belongs to stderr. 0, or 1 after saying what is wrong. */
int entry_print(const settings *line, const settings *now, bool tokens, modules *m);

/* The path made absolute without following symbolic links, so that a link keeps meaning what it
 * will point to; with ".." in it, as the file system resolves it. NULL after a message; free()
 * it. */
char *absolute_path(const char *path);

#endif
