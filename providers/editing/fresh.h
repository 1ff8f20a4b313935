/* fresh.h: the file with the new contents, until it has its place. Inside of this folder only. */
#ifndef EDITING_FRESH_H
#define EDITING_FRESH_H

#include "place.h"

typedef struct editing_fresh {
    int fd;         /* for writing, from editing_fresh_name() on only for reading; -1 */
    struct stat st; /* with its contents */
    char name[EDITING_NEIGHBOUR_SIZE]; /* in the folder of the place; empty while it has no name */
} editing_fresh;

/* Makes an empty file without a name or, where the file system cannot do that, as a neighbour. It has the mode that
 * folder and umask give to a file with `mode`. */
int editing_fresh_make(const editing_place *place, mode_t mode, editing_fresh *ret, mcp_error *err);

/* Writes the contents. */
int editing_fresh_write(editing_fresh *fresh, const editing_place *place, mcp_str content,
                        mcp_error *err);

/* Waits until contents and attributes are on the disk, and gets the status. */
int editing_fresh_sync(editing_fresh *fresh, const editing_place *place, mcp_error *err);

/* Gives it the name of a neighbour that says which file is expected to take its place, and opens it again for reading
 * only, with a lock that keeps sweeps away. */
int editing_fresh_name(editing_fresh *fresh, const editing_place *place, const struct stat *was,
                       mcp_error *err);

/* Gives it the name of the place. If there is something, MCP_EEXIST. */
int editing_fresh_place(editing_fresh *fresh, const editing_place *place, mcp_error *err);

/* Closes it, and removes its name as a neighbour. */
void editing_fresh_drop(editing_fresh *fresh, const editing_place *place);

#endif
