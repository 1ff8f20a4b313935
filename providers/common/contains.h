/* contains.h: the parameters `contains` and `icontains` of rows: only rows in which the text of a
 * value contains a text, as it is written, or ignoring case. A search asks for these, so that a
 * database looks through its rows itself.
 */
#ifndef COMMON_CONTAINS_H
#define COMMON_CONTAINS_H

#include <mcp/uri.h>

enum { COMMON_CONTAINS_MAX = 1000 /* bytes */ };

typedef struct common_contains {
    mcp_str text; /* empty if neither parameter is given; UTF-8, one line */
    bool ignore_case;
} common_contains;

/* Returns whether this is the name of one of the two parameters. */
bool common_contains_is(mcp_str name);
/* Reads them. Returns false if they are invalid, with the reason in `why`. */
bool common_contains_read(const mcp_uri_pair *pairs, size_t n, common_contains *ret, char why[300]);
/* Returns whether the text consists of what is in numbers, so that a number may contain it. */
bool common_contains_number(const common_contains *c);

#endif
