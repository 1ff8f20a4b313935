/* needle.h: the search expression: a text or a regular expression.
 *
 * Independent of files. A match is on one line; lines end with "\n", and a "\r" before it is
 * ignored. However hostile the expression is, a match takes bounded time and memory. One thread at
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

/* MCP_EINVAL, with the reason in `why`; MCP_ENOMEM. Free with search_needle_free(), which accepts
 * NULL. */
int search_needle_new(const search_needle_options *options, const mcp_allocator *alloc,
                      search_needle **ret, char why[200]);
void search_needle_free(search_needle *n);

/* Finds the first match that begins at or after `from`, which must be the beginning of a line; the
 * text is valid UTF-8. MCP_OK; MCP_ENOTFOUND; MCP_ELIMIT: the expression takes too long on a line;
 * MCP_ECANCELLED: stop(user) returned true (it is called now and then; may be NULL); MCP_ENOMEM. */
int search_needle_find(search_needle *n, mcp_str text, size_t from, bool (*stop)(void *user),
                       void *user, size_t *begin, size_t *end);

#endif
