/* hooks.h: the folder from which git takes the hooks of a repository, if its configuration names one (core.hooksPath).
 * Whoever may write there has the next commit run a program, so nobody writes there. */
#ifndef EDITING_HOOKS_H
#define EDITING_HOOKS_H

#include <mcp/base.h>

/* Finds out whether a file is in such a folder of a repository whose working tree it is in, at any depth. `path` is absolute
 * and without links. Reads the configuration of each repository as it is now, at most EDITING_HOOKS_BYTES of each file.
 * What other files say is not known: those that `include` names, and those of the user and the machine, and those that may
 * not be read. Returns 0, or the errno with which something could not be looked at. */
int editing_in_hooks(const char *path, bool *ret);

enum { EDITING_HOOKS_BYTES = 256 << 10 };

#endif
