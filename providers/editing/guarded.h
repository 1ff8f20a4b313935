/* guarded.h: the names that nobody writes, because a program obeys what is in such files.
 *
 * There is one table. A row is a name or the end of a path, and applies to a file, or to a folder and everything in it.
 * Some rows are lifted by an access rule that names the exact path; those of version control are never lifted.
 *
 * Names are compared component by component as the most forgiving file system or program would read them: after
 * NFKC, case folding, and removal of characters that are invisible or that Windows and HFS+ ignore. It is a table of
 * what is obeyed, not of what is dangerous: whoever may write source code may run code at the next build. */
#ifndef EDITING_GUARDED_H
#define EDITING_GUARDED_H

#include <mcp/base.h>

typedef enum editing_guard {
    EDITING_FREE = 0, /* no row matches */
    EDITING_LIFTED,   /* only a rule with the exact path allows it */
    EDITING_NEVER,    /* nothing allows it */
    EDITING_NOT_TEXT, /* the path is not UTF-8, or not a path: nothing allows it */
} editing_guard;

typedef struct editing_guarded {
    const char *pattern; /* as in docs/writing.md; "*" stands for any text without "/" */
    bool folder;         /* a folder and everything in it */
    bool never;          /* no rule lifts it */
    const char *program; /* who obeys it */
} editing_guarded;

/* The i-th row, or NULL past the end. */
const editing_guarded *editing_guarded_row(size_t i);

/* Looks a path up, relative to a root. `*ret` (may be NULL) gets the row that matched, the strictest one if there are
 * several, or NULL. */
editing_guard editing_guarded_look(mcp_str path, const editing_guarded **ret);

/* Returns whether `path` is `folder` or in it, both compared as names of the table are. For folders that only the
 * configuration names, such as core.hooksPath. */
bool editing_guarded_within(mcp_str path, mcp_str folder);

/* Returns whether the folder with this descriptor is itself a repository of git: it has HEAD, objects and refs.
 * What cannot be looked at counts as there. */
bool editing_guarded_bare(int fd);

/* Writes the reason for an error, for example ".envrc is obeyed by direnv; only a rule with the exact path allows
 * this". Without a row: that the path is not UTF-8. */
void editing_guarded_say(editing_guard guard, const editing_guarded *row, mcp_error *err);

#endif
