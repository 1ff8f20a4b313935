/* selection.h: selects resources for a language model: scores them for a query, and includes as much of
 * their texts as a budget allows. The caller finds and reads the resources.
 *
 * A priority of 1 means "required" (2026-07-28, server/resources, "Annotations") and comes before
 * everything else.
 */
#ifndef PROGRAM_SELECTION_H
#define PROGRAM_SELECTION_H

#include "bundle.h"

typedef enum selected_outcome {
    FATE_IN,
    FATE_CUT,
    FATE_FOLDER,
    FATE_BINARY,
    FATE_NO_MATCH,
    FATE_NOT_LOOKED_AT, /* not read: undecided */
    FATE_UNREADABLE,
    FATE_NO_ROOM,
    SELECTED_OUTCOMES,
} selected_outcome;
/* "included", "not text" … */
extern const char *const selected_outcomes[SELECTED_OUTCOMES];

typedef struct selected {
    /* set by the caller, who owns the strings */
    mcp_str uri, name, title, type, about;
    double priority; /* from 0 to 1; 0.5 if unknown */
    double recency;  /* from 0 to 1, where 1 is the current time; 0 if unknown */
    size_t place;    /* decides between equal scores */
    char *text;      /* NULL if it was not read */
    size_t len;
    /* set by the functions below */
    double match, score; /* the match is at most 1 */
    selected_outcome outcome;
    uint64_t cost;
    char *section; /* Markdown; NULL if nothing is included */
    mcp_str part;  /* the part of the text that is included */
} selected;

typedef struct selection {
    selected *items;
    size_t count;
    const char *query;
    bool keeps_all; /* what matches no word is included too */
    budget budget;
    size_t words; /* of the query; set by selection_score() */
} selection;

extern const char selection_heading[]; /* comes before all sections */

/* Returns what can be decided by the MIME type and the URI, or FATE_NOT_LOOKED_AT. */
selected_outcome selected_first_look(mcp_str type, mcp_str uri);
static inline bool selected_is_in(const selected *a)
{
    return a->outcome == FATE_IN || a->outcome == FATE_CUT;
}

/* Computes the scores and sorts by them. Texts that were read count too. Returns false if out of
 * memory. */
bool selection_score(selection *s);
/* Includes resources whose texts were read, in their order, and sets `budget.used`. Returns how many
 * are included. */
size_t selection_fill(selection *s);
/* Frees the sections. */
void selection_clear(selection *s);

#endif
