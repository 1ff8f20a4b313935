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
    bool regex;   /* else it stands for itself */
    bool ignore_case;
} search_needle_options;

/* MCP_EINVAL: `why` says what is wrong with the text; MCP_ENOMEM. Free with search_needle_free(),
 * which takes NULL. */
int search_needle_new(const search_needle_options *options, const mcp_allocator *alloc,
                      search_needle **ret, char why[200]);
void search_needle_free(search_needle *n);

/* The first match that begins at or after `from`, which is where a line begins, in valid UTF-8.
 * MCP_OK; MCP_ENOTFOUND; MCP_ELIMIT: the expression takes too long for a line of this text;
 * MCP_ECANCELLED: stop(user), asked now and then, was true (NULL: never); MCP_ENOMEM. */
int search_needle_find(search_needle *n, mcp_str text, size_t from, bool (*stop)(void *user),
                       void *user, size_t *begin, size_t *end);

#endif
