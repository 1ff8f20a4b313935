/* sibling.h: programs that mcpctl runs for some of its commands, so that the others start as fast. */
#ifndef MCPCTL_SIBLING_H
#define MCPCTL_SIBLING_H

#include <limits.h>
#include <stdbool.h>

/* Finds a program in the folder of mcpctl, or in libexec/mcp beside that. */
bool sibling_find(const char *name, char to[PATH_MAX]);

#endif
