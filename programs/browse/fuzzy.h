/* fuzzy.h: whether a text contains the letters of a query in their order, and how well it fits. */
#ifndef BROWSE_FUZZY_H
#define BROWSE_FUZZY_H

#include <mcp/base.h>

enum { FUZZY_LETTERS = 64 };

/* A query. Its words must all be found, each by itself. Capital letters are distinguished only if
 * the query has any. */
typedef struct fuzzy {
    char letters[FUZZY_LETTERS];
    size_t begin[FUZZY_LETTERS / 2 + 1]; /* of each word; ends with the end of the last */
    size_t words;
    bool exact_case;
} fuzzy;

fuzzy fuzzy_of(mcp_str query);
/* Returns the score of a text, or -1 if it does not match. If `places` is not NULL, it gets the
 * offsets of the letters that were found, in the order of the query: FUZZY_LETTERS at most, and
 * their number in *n. Only the last 1000 bytes of a text are searched. */
int fuzzy_score(const fuzzy *f, mcp_str text, size_t *places, size_t *n);

#endif
