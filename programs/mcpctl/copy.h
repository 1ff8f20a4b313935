/* copy.h: a private copy of a text in a file, for an editor. */
#ifndef MCPCTL_COPY_H
#define MCPCTL_COPY_H

#include "mcpctl.h"

typedef struct copy {
    char *folder, *path; /* NULL if there is none */
} copy;

/* Makes a file, 0600, in a folder of its own, 0700, in XDG_RUNTIME_DIR, TMPDIR or /tmp. Its name is that of the URI as
 * far as it is harmless, so that the editor knows the kind of text. Returns EXIT_OK, or EXIT_LOCAL after reporting the
 * error. */
int copy_make(mcp_str text, const char *uri, copy *ret);
/* Runs the editor. *ret gets what the file has then, and the caller frees it. Returns EXIT_OK, or EXIT_LOCAL after
 * reporting the error. */
int copy_edit(const copy *c, size_t most, char **ret, size_t *len);
/* Reads the file, as copy_edit() does, without reporting errors. Returns whether it could be read. */
bool copy_load(const copy *c, size_t most, char **ret, size_t *len);
/* Removes the file and whatever an editor has left beside it. */
void copy_remove(copy *c);
/* Leaves the file where it is. */
void copy_keep(copy *c);

#endif
