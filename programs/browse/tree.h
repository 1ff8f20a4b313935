/* tree.h: the paths of a list as a tree, which is made while the list is read.
 *
 * A folder is a run of entries that follow each other and have the beginning of their paths in
 * common. Only folders are kept; the entries stay in the pages of the list. So a tree of a million
 * files needs memory for its folders only. In a list that is not sorted, a folder may occur more
 * than once.
 */
#ifndef BROWSE_TREE_H
#define BROWSE_TREE_H

#include "pages.h"

#define TREE_NONE ((size_t)-1)

typedef struct tree_node {
    size_t first, end;                      /* the entries in it, also in folders below it */
    size_t self;                            /* the entry that is the folder itself, or TREE_NONE */
    size_t parent, child, last_child, next; /* TREE_NONE if there is none */
    size_t name;                            /* where its name is in `names` */
    size_t rows; /* that are visible while the folders above it are open, with its own */
    unsigned depth, name_len;
    bool is_open;
} tree_node;

typedef struct tree {
    bool is_on;
    tree_node *nodes; /* the first one is the root, which has no row */
    size_t count, room;
    char *names;
    size_t names_len, names_room;
    size_t at;           /* the folder that the last entry was added to */
    size_t next;         /* the first entry that was not added yet */
    uint64_t generation; /* of the list */
} tree;

typedef struct tree_row {
    size_t node;  /* the folder of the row, or the one that has the entry */
    size_t entry; /* TREE_NONE for a folder */
    unsigned depth;
} tree_row;

void tree_clear(tree *t);
/* Adds the entries that are in memory, until is_late() returns true. */
void tree_step(tree *t, pages *p, bool (*is_late)(void *), void *user);
size_t tree_rows(const tree *t);
/* Gets a row. Returns false if there is none. */
bool tree_row_at(const tree *t, size_t row, tree_row *ret);
/* Opens or closes the folder of a row. */
void tree_toggle(tree *t, size_t node);
/* Returns the row of a folder whose parents are open. */
size_t tree_row_of(const tree *t, size_t node);
mcp_str tree_name(const tree *t, size_t node);
/* Returns the last part of an entry's path. */
mcp_str tree_leaf(mcp_str uri);

#endif
