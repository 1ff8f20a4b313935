/* place.h: where a change happens: an opened folder and a name in it, and the neighbours of that name. Inside of this
 * folder only. */
#ifndef EDITING_PLACE_H
#define EDITING_PLACE_H

#include "put.h"

typedef struct editing_place {
    common_beneath at;
    const char *rel;  /* borrowed */
    const char *name; /* the last component of `rel` */
    int dir;          /* open for reading, because fsync() needs that; -1 */
    struct stat st;   /* of the folder */
    bool folds;       /* the file system may store another name than the one that it is given */
} editing_place;

/* Opens the folder. On failure there is a text in `err`, and nothing to close. */
int editing_place_open(common_beneath at, const char *rel, editing_place *ret, mcp_error *err);
void editing_place_close(editing_place *place);

/* Opens a folder beneath another one for reading. Returns a descriptor, or -1. */
int editing_open_folder(common_beneath at, const char *rel);

/* Opens a name of the folder beneath it, never through a link or to another mount. Returns a descriptor, or -1. */
int editing_place_at(const editing_place *place, const char *name, int flags);

/* Gets what is at a name, without following links. Returns 0, or an errno. */
int editing_place_stat(const editing_place *place, const char *name, struct stat *ret);

/* Returns whether the folder is still at its path, because a folder that was opened may be moved. If not, errno is 0, or
 * says why this could not be found out. */
bool editing_place_holds(const editing_place *place);

/* Returns whether the entry with this inode has exactly the name of the place. Reads the folder only if the file
 * system folds names. */
bool editing_place_spelled(const editing_place *place, ino_t ino);

/* ---- neighbours ---- */

/* ".mcpd-" and 16 random digits; after a "-" each, the inode of the file with our contents (0: none), and the mark of
 * the file that a change expects to come out under this name; ".tmp". */
enum { EDITING_NEIGHBOUR_SIZE = 72 };

/* Makes a name. `fresh` and `was` may be NULL. Both NULL: a name without numbers, for a file that has our contents.
 * Returns 0, or an errno. */
int editing_neighbour_name(const struct stat *fresh, const struct stat *was,
                           char ret[EDITING_NEIGHBOUR_SIZE]);

/* What is in the file under a neighbour's name. */
typedef enum editing_holds {
    EDITING_HOLDS_OURS,
    EDITING_HOLDS_EXPECTED,
    EDITING_HOLDS_OTHER
} editing_holds;
editing_holds editing_neighbour_holds(const char *name, const struct stat *st);

/* Returns whether both are the same file with the same contents, as far as status tells. The time of the last change of
 * the inode is left out, because a rename changes it. */
bool editing_same(const struct stat *a, const struct stat *b);

/* Returns whether no process has the file open for writing, as far as the file system knows. */
bool editing_is_quiet(int fd);

/* Renames a neighbour that holds somebody's save to a visible name, which `ret` gets. */
void editing_rescue(int dir, const char *neighbour, char ret[EDITING_NAME_SIZE]);

/* Removes a name. A second attempt is made, because a leftover would last until the next sweep. */
int editing_unlink(int dir, const char *name);

#endif
