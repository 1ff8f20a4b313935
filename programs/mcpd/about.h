/* about.h: descriptions of the sources: for the user on stderr, and for the model in the server's
 * instructions. A source may be a connection string with a password in it, so sources are printed
 * only by these functions. */
#ifndef MCPD_ABOUT_H
#define MCPD_ABOUT_H

#include "modules.h"
#include "options.h"

/* Returns a source as on a command line, "git:src?name=x", without passwords. The caller frees it.
 * Returns NULL if out of memory. */
char *about_source(const source *s);

/* Returns a text of one line: the first source, or the folder of prompts, with "and more" if there
 * are several. The caller frees it. Returns NULL if out of memory. */
char *about_first(const settings *s);

/* Returns how the URIs of a source begin (places.h), or NULL if it is not to be mentioned. */
typedef const char *about_place(size_t index, void *user);
/* Returns the instructions for the sources that have a place. The caller frees them. Returns NULL
 * if out of memory, or if there are none. Loads the modules of the sources. */
char *about_all(const settings *s, modules *m, about_place *place_of, void *user);

#endif
