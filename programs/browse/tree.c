/* tree.c: the paths of a list as a tree, which is made while the list is read. */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 200000, BETWEEN_LOOKS = 128, ROOT = 0, DEEPEST = 100 };

void tree_clear(tree *t)
{
    bool is_on = t->is_on;
    free(t->nodes);
    free(t->names);
    memset(t, 0, sizeof(*t));
    t->is_on = is_on;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Takes the next part of a path: first "file:///" or "mem:", then what is between slashes. Returns
 * false at the end. */
static bool next_part(mcp_str uri, size_t *at, mcp_str *part)
{
    size_t begin = *at, end = begin;
    if (begin == 0) {
        const char *colon = uri.len ? memchr(uri.ptr, ':', uri.len) : NULL;
        end = colon ? (size_t)(colon - uri.ptr) + 1 : 0;
        bool has_host =
            colon && uri.len > end + 1 && uri.ptr[end] == '/' && uri.ptr[end + 1] == '/';
        if (has_host)
            for (end += 2; end < uri.len && uri.ptr[end] != '/';)
                end++;
    }
    if (begin || !end) {
        while (end < uri.len && uri.ptr[end] == '/')
            end++;
        begin = end;
        while (end < uri.len && uri.ptr[end] != '/')
            end++;
    }
    *part = (mcp_str){uri.ptr + begin, end - begin};
    *at = end;
    return end > begin;
}

mcp_str tree_leaf(mcp_str uri)
{
    size_t at = 0;
    mcp_str part, last = uri;
    while (next_part(uri, &at, &part))
        last = part;
    return last;
}

mcp_str tree_name(const tree *t, size_t node)
{
    return (mcp_str){t->names + t->nodes[node].name, t->nodes[node].name_len};
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool make_room(tree *t, size_t name)
{
    if (t->count == MOST_NODES)
        return false;
    if (t->count == t->room) {
        size_t room = t->room ? t->room * 2 : 64;
        tree_node *grown = realloc(t->nodes, room * sizeof(*grown));
        if (!grown)
            return false;
        t->nodes = grown;
        t->room = room;
    }
    if (t->names_len + name > t->names_room) {
        size_t room = (t->names_len + name) * 2 + 256;
        char *grown = realloc(t->names, room);
        if (!grown)
            return false;
        t->names = grown;
        t->names_room = room;
    }
    return true;
}

/* Changes the number of visible rows of a folder, and of those above it as far as they are open. */
static void add_rows(tree *t, size_t node, size_t more, size_t less)
{
    for (;;) {
        t->nodes[node].rows += more - less;
        if (node == ROOT || !t->nodes[t->nodes[node].parent].is_open)
            return;
        node = t->nodes[node].parent;
    }
}

/* Returns the new folder, or TREE_NONE. */
static size_t add_node(tree *t, size_t parent, mcp_str name, size_t first)
{
    if (!make_room(t, name.len))
        return TREE_NONE;
    size_t at = t->count++;
    t->nodes[at] = (tree_node){.first = first,
                               .end = first,
                               .self = TREE_NONE,
                               .parent = parent,
                               .child = TREE_NONE,
                               .last_child = TREE_NONE,
                               .next = TREE_NONE,
                               .name = t->names_len,
                               .name_len = (unsigned)name.len,
                               .depth = at == ROOT ? 0 : t->nodes[parent].depth + 1};
    if (name.len)
        memcpy(t->names + t->names_len, name.ptr, name.len);
    t->names_len += name.len;
    if (at == ROOT) {
        t->nodes[at].is_open = true;
        return at;
    }
    tree_node *up = &t->nodes[parent];
    if (up->last_child != TREE_NONE)
        t->nodes[up->last_child].next = at;
    else
        up->child = at;
    up->last_child = at;
    /* open at first: the first level, and the way to the first entry */
    t->nodes[at].is_open = t->nodes[at].depth == 1 || first == 0;
    t->nodes[at].rows = 1;
    if (up->is_open)
        add_rows(t, parent, 1, 0);
    return at;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Returns the folder that the entry belongs to: the one of the last entry as far as their paths agree,
 * then new ones. With `is_folder` the last part is a folder too. */
static size_t folder_of(tree *t, mcp_str uri, bool is_folder, size_t entry)
{
    mcp_str parts[DEEPEST];
    size_t n = 0, at = 0, same = 0, chain[DEEPEST + 1], depth = t->nodes[t->at].depth;
    while (n < DEEPEST && next_part(uri, &at, &parts[n]))
        n++;
    n -= n && !is_folder;
    for (size_t node = t->at; depth > 0; node = t->nodes[node].parent)
        chain[--depth] = node;
    depth = t->nodes[t->at].depth;
    while (same < n && same < depth && mcp_str_eq(parts[same], tree_name(t, chain[same])))
        same++;
    size_t node = same ? chain[same - 1] : ROOT;
    for (; same < n && node != TREE_NONE; same++)
        node = add_node(t, node, parts[same], entry);
    return node;
}

static bool add_entry(tree *t, const item *i, size_t entry)
{
    bool is_folder = mcp_str_eq(i->type, MCP_STR("inode/directory"));
    size_t node = folder_of(t, i->key, is_folder, entry);
    if (node == TREE_NONE)
        return false;
    t->at = node;
    if (is_folder && t->nodes[node].first == entry)
        t->nodes[node].self = entry;
    else if (t->nodes[node].is_open)
        add_rows(t, node, 1, 0);
    for (;; node = t->nodes[node].parent) {
        t->nodes[node].end = entry + 1;
        if (node == ROOT)
            return true;
    }
}

void tree_step(tree *t, pages *p, bool (*is_late)(void *), void *user)
{
    item i;
    if (t->generation != p->generation || !t->count) {
        tree_clear(t);
        t->generation = p->generation;
        add_node(t, TREE_NONE, (mcp_str){0}, 0);
    }
    for (size_t n = 1; t->count && t->next < p->known && pages_item(p, t->next, &i); n++) {
        if (!add_entry(t, &i, t->next))
            return;
        t->next++;
        if (n % BETWEEN_LOOKS == 0 && is_late(user))
            return;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

size_t tree_rows(const tree *t)
{
    return t->count ? t->nodes[ROOT].rows : 0;
}

/* Returns the number of entries of a folder that are neither it nor in folders below it, up to the
 * folder `until`. */
static size_t own_before(const tree_node *n, size_t at, size_t until)
{
    size_t begin = at > n->first ? at : n->first + (n->self != TREE_NONE);
    return until > begin ? until - begin : 0;
}

bool tree_row_at(const tree *t, size_t row, tree_row *ret)
{
    size_t node = ROOT;
    if (row >= tree_rows(t))
        return false;
    for (;;) { /* `row` counts from the first row below the folder */
        const tree_node *n = &t->nodes[node];
        size_t at = n->first + (n->self != TREE_NONE), child = n->child, below = TREE_NONE;
        for (; child != TREE_NONE; child = t->nodes[child].next) {
            size_t own = own_before(n, at, t->nodes[child].first);
            if (row < own)
                break;
            row -= own;
            at = t->nodes[child].end;
            if (row < t->nodes[child].rows) {
                below = child;
                break;
            }
            row -= t->nodes[child].rows;
        }
        if (below == TREE_NONE) {
            *ret = (tree_row){node, at + row, n->depth + 1};
            return true;
        }
        if (row == 0) {
            *ret = (tree_row){below, TREE_NONE, t->nodes[below].depth};
            return true;
        }
        row--;
        node = below;
    }
}

/* Returns the rows below an open folder. */
static size_t rows_below(const tree *t, size_t node)
{
    const tree_node *n = &t->nodes[node];
    size_t rows = 0, at = n->first + (n->self != TREE_NONE);
    for (size_t c = n->child; c != TREE_NONE; c = t->nodes[c].next) {
        rows += own_before(n, at, t->nodes[c].first) + t->nodes[c].rows;
        at = t->nodes[c].end;
    }
    return rows + own_before(n, at, n->end);
}

void tree_toggle(tree *t, size_t node)
{
    tree_node *n = &t->nodes[node];
    size_t before = n->rows;
    n->is_open = !n->is_open;
    add_rows(t, node, n->is_open ? 1 + rows_below(t, node) : 1, before);
}

size_t tree_row_of(const tree *t, size_t node)
{
    size_t row = 0;
    while (node != ROOT) {
        const tree_node *up = &t->nodes[t->nodes[node].parent];
        size_t at = up->first + (up->self != TREE_NONE);
        for (size_t c = up->child; c != node; c = t->nodes[c].next) {
            row += own_before(up, at, t->nodes[c].first) + t->nodes[c].rows;
            at = t->nodes[c].end;
        }
        row += own_before(up, at, t->nodes[node].first);
        node = t->nodes[node].parent;
        row += node != ROOT;
    }
    return row;
}
