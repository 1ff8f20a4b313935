/* about.h: descriptions of the sources: for the user on stderr, and for the model in the server's
 * instructions. A source may be a connection string with a password in it, so sources are printed
 * only by these functions. */
#ifndef MCPD_ABOUT_H
#define MCPD_ABOUT_H

#include "modules.h"
#include "options.h"

/* A source as the user wrote it, "git:src?name=x", without passwords. The caller frees it. NULL: no
 * memory. */
char *about_source(const source *s);

/* The first source, or the folder of prompts, with "and more" if there are several: for one line.
 * The caller frees it; NULL: no memory. */
char *about_first(const settings *s);

/* The instructions, for the sources whose index passes `seen` (NULL: for all). The caller frees
 * them. NULL: no memory, or no sources. Loads the sources' modules. */
typedef bool about_seen(size_t index, void *user);
char *about_all(const settings *s, modules *m, about_seen *seen, void *user);

#endif
