/* needle.h: the search expression: plain text or a regular expression.
 *
 * A match is within one line. Lines end with "\n", and a "\r" before it is ignored. A match takes
 * bounded time and memory, however hostile the expression is. A needle may be used by one thread at
 * a time.
 */
#ifndef SEARCH_NEEDLE_H
#define SEARCH_NEEDLE_H

#include <mcp/base.h>

#define SEARCH_NEEDLE_MAX ((size_t)1000) /* bytes */

typedef struct search_needle search_needle;

typedef struct search_needle_options {
    mcp_str text; /* UTF-8, one line, not empty */
    bool regex;   /* otherwise plain text */
    bool ignore_case;
} search_needle_options;

/* Compiles an expression. Returns MCP_OK, MCP_ENOMEM, or MCP_EINVAL with the reason in `why`. Free
 * it with search_needle_free(), which accepts NULL. */
int search_needle_new(const search_needle_options *options, const mcp_allocator *alloc,
                      search_needle **ret, char why[200]);
void search_needle_free(search_needle *n);

/* Finds the first match that begins at or after `from`, which must be the beginning of a line. The
 * text must be valid UTF-8. stop(user) is called repeatedly and may be NULL. Returns MCP_OK,
 * MCP_ENOTFOUND, MCP_ELIMIT if the expression takes too long on a line, MCP_ECANCELLED if
 * stop(user) returned true, or MCP_ENOMEM. */
int search_needle_find(search_needle *n, mcp_str text, size_t from, bool (*stop)(void *user),
                       void *user, size_t *begin, size_t *end);

#endif
