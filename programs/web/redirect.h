/* redirect.h: the file that leads the browser to the page.
 *
 * The command line of a browser can be read by every user of the machine, and so could a code on it.
 * It has only the path of a file, which nobody else can read.
 */
#ifndef WEB_REDIRECT_H
#define WEB_REDIRECT_H

#include <stdbool.h>

typedef struct redirect {
    char *folder, *path; /* NULL while there is no file */
} redirect;

/* Writes a file (0600) in a new folder (0700) of $XDG_RUNTIME_DIR or, if that is not a folder of
 * this user alone, of $TMPDIR or /tmp. It leads to `url`. Returns false after reporting the error. */
bool redirect_write(redirect *r, const char *url);
/* Removes the file and its folder. */
void redirect_remove(redirect *r);

#endif
