/* about.h: descriptions of the sources: for the user on stderr, and for the model in the server's
 * instructions. A source may be a connection string with a password in it, so sources are printed
 * only by these functions. */
#ifndef MCPD_ABOUT_H
#define MCPD_ABOUT_H

#include "modules.h"
#include "options.h"

/* A source as a person wrote it, "git:src?name=x", without the passwords in it; free() it. NULL: no
 * memory. */
char *about_source(const source *s);

/* The first of them, or the folder of prompts, "and more": for one line. The same. */
char *about_first(const settings *s);

/* The instructions, of the sources whose index passes `seen` (NULL: of all); free() them. NULL: no
 * memory, or no sources. Modules are loaded for it. */
typedef bool about_seen(size_t index, void *user);
char *about_all(const settings *s, modules *m, about_seen *seen, void *user);

#endif
