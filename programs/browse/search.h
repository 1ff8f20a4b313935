/* search.h: the entries of a list that match a query, the best ones first.
 *
 * The list is searched from its beginning to its end, a part at a time, so that a frame is never
 * late. Pages that are not in memory are requested again. Only the best matches are kept, as copies,
 * because their pages may be dropped meanwhile.
 */
#ifndef BROWSE_SEARCH_H
#define BROWSE_SEARCH_H

#include "fuzzy.h"
#include "pages.h"

typedef struct match {
    int score;
    size_t at;    /* in the list */
    char *packed; /* the packed entry */
} match;

typedef struct search_state {
    bool is_on;
    fuzzy query;
    match *items;
    size_t count, room;
    size_t total;        /* of all matches, of which `count` are kept */
    size_t next;         /* the first entry that was not searched yet */
    uint64_t generation; /* of the list */
} search_state;

/* Begins to search. If the query only continues the one before, and all matches were kept, only
 * these are searched again. */
void search_begin(search_state *s, mcp_str query, mcp_str before);
void search_clear(search_state *s);
/* Searches entries that are in memory until they end or `is_late` returns true. Returns whether
 * something was found or the search went on. */
bool search_step(search_state *s, pages *p, bool (*is_late)(void *), void *user);
/* Returns whether all entries were searched. */
bool search_is_done(const search_state *s, const pages *p);

/* The text that is shown for an entry. Its name is searched too. */
mcp_str item_label(const item *i);

#endif
