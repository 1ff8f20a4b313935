/* put.h: writes files beneath an opened folder: makes, replaces, moves and removes them.
 *
 * Every path is opened by openat2() with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_XDEV: nothing leads out of
 * the folder, through a link or to another mount. Without openat2() nothing is written.
 *
 * Whoever reads a file sees the old or the new one. A replaced file is exchanged with a neighbour, a file with a hidden
 * name in the same folder, and what came out is compared with what was expected. If somebody saved the file in between,
 * it is exchanged back and the call returns MCP_ESTATE: a save by somebody else is never lost. Of two calls at the same
 * time for one file, one wins.
 *
 * Only plain files are touched: regular, with one link, writable, of the user of this process, without setuid, setgid
 * and capabilities. A replaced file keeps mode, group, access control list, extended attributes and flags; where that
 * is not possible, it is refused. A new file gets what the folder and the umask give it, and is never executable.
 *
 * This file knows neither rights nor guarded names (guarded.h) nor texts: the caller has decided all of that. */
#ifndef EDITING_PUT_H
#define EDITING_PUT_H

#include "beneath.h"
#include "version.h"

/* Size of the longest name in a folder, including NUL. */
enum { EDITING_NAME_SIZE = 256 };

/* What is about to happen, for a journal: all checks have passed, and the new contents are on the disk. The change has
 * happened if and only if the path afterwards has the inode of `fresh` (made, replaced), the new path has that of `was`
 * (moved), or the path has not that of `was` (removed). */
typedef struct editing_about {
    int old;                  /* descriptor of the old contents, for pread(); -1 for a new file */
    const struct stat *was;   /* NULL for a new file */
    const struct stat *fresh; /* NULL for a move or a removal */
} editing_about;

typedef struct editing_change {
    common_beneath at; /* the folder */
    const char *rel;   /* a relative path without empty, "." and ".." components */
    common_beneath to; /* of a move, with to_rel: on the same mount */
    const char *to_rel;
    mcp_str content; /* of a new or replaced file */
    mcp_str
        if_match; /* the version that must be there (version.h); empty: the one that is found first */
    /* May be NULL. Called once, immediately before the change. If it does not return MCP_OK, nothing is changed, and
     * the call returns its code. If it has set no text in `err`, the call does. */
    int (*about)(const editing_about *about, mcp_error *err, void *user);
    void *user;
} editing_change;

typedef struct editing_outcome {
    /* After success what is there now (not after a removal). After MCP_ESTATE what the call lost to; an empty text
     * if nothing is there. */
    struct stat st;
    editing_version version;
    /* The name, in the folder of the path, of a save by somebody else that could not be put back, because there was
     * another one after it; usually empty. */
    char saved[EDITING_NAME_SIZE];
} editing_outcome;

/* These return MCP_OK, or with a text in `err` that says what happened, where, and what to do next:
 *   MCP_ENOTFOUND     no such file or folder
 *   MCP_EEXIST        there is something already
 *   MCP_ESTATE        the version is another one, also if that happened during the call
 *   MCP_EACCESS       no permission, outside, behind a link, on another mount, or refused by name
 *   MCP_EUNSUPPORTED  the kernel or the file system has no way to do this without a risk
 *   MCP_ELIMIT        no space, quota exceeded, or the file would be too large
 *   MCP_EFILES, MCP_ENOMEM, MCP_EIO, or the code of `about`
 * After a failure the file is what it was, or what somebody else has made of it. */
int editing_create(const editing_change *change, editing_outcome *ret, mcp_error *err);
int editing_replace(const editing_change *change, editing_outcome *ret, mcp_error *err);
int editing_move(const editing_change *change, editing_outcome *ret, mcp_error *err);
int editing_remove(const editing_change *change, editing_outcome *ret, mcp_error *err);

/* Makes the folders of a path that are missing, with the mode that the umask gives. Returns MCP_OK, also if a folder
 * cannot be opened, which the change itself then says; otherwise the codes above. */
int editing_make_folders(common_beneath at, const char *rel, mcp_error *err);

typedef struct editing_swept {
    size_t removed; /* neighbours that were removed */
    size_t
        rescued; /* saves of somebody else, which are now visible under the name "mcpd-saved-..." */
    size_t alive;                  /* neighbours that are too young, in use, or not ours */
    char saved[EDITING_NAME_SIZE]; /* the name of the last rescued one */
} editing_swept;

/* Removes the neighbours that a process left in this folder (not below it) when it was killed, if they are at least
 * `age` seconds old and no process uses them. */
int editing_sweep(common_beneath at, const char *rel, unsigned age, editing_swept *ret,
                  mcp_error *err);

/* Returns whether a name looks like that of a neighbour. Such files are neither shown nor written. */
bool editing_is_neighbour(const char *name);

#endif
