/* filter.h: runs another program with an input, and gets its output. */
#ifndef MCPCTL_FILTER_H
#define MCPCTL_FILTER_H

#include <mcp/base.h>

enum { FILTER_NO_PROGRAM = 127 };

/* Runs a program, which is looked up in PATH, and writes the input to its stdin. *ret gets the
 * output, at most 1 MiB, NUL-terminated, which the caller frees; NULL if there is none to be had. The
 * program has a minute between two pieces of its output, because it may ask the user. Returns the exit
 * status, FILTER_NO_PROGRAM if there is no such program, or -1 after another failure. */
int filter_run(const char *const argv[], mcp_str input, char **ret);

#endif
