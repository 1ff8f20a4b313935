/* browser.h: opens an address in the user's browser. */
#ifndef PROGRAM_BROWSER_H
#define PROGRAM_BROWSER_H

#include <stdbool.h>

/* Returns whether an address may be given to a browser: https, or http of this machine, in printable
 * ASCII without quotes and blanks. */
bool browser_accepts(const char *url);
/* Returns whether there is a browser: the variable BROWSER, or a display. */
bool browser_exists(void);
/* Starts the browser, without a shell, and does not wait for it. Returns false if the address is not
 * acceptable or nothing could be started. */
bool browser_open(const char *url);
/* Does the same with a file that the program has made, whose path must be absolute and without
 * characters that a URL cannot contain. */
bool browser_open_file(const char *path);

#endif
