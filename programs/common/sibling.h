/* sibling.h: programs that are installed together and run each other: mcpctl, and those for some of its
 * commands, which are programs of their own so that the others start as fast.
 */
#ifndef PROGRAM_SIBLING_H
#define PROGRAM_SIBLING_H

#include <limits.h>
#include <stdbool.h>

/* Finds a program that belongs to this one: in the same folder, in libexec/mcp beside that, or, if this
 * program is in libexec/mcp itself, where programs are. Stores its path. Returns false if there is
 * none. */
bool sibling_find(const char *name, char to[PATH_MAX]);

/* The programs that are part of mcpctl. A static mcpctl contains them, and is them when it is started by their name:
 * sibling_find() finds the program itself. */
int browse_main(int argc, char **argv);
int web_main(int argc, char **argv);

#endif
