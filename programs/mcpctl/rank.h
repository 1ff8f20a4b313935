/* rank.h: ranks texts for a query: BM25 over weighted fields (Robertson, Zaragoza, Taylor: "Simple
 * BM25 extension to multiple weighted fields", 2004). A word that only begins with or contains a
 * query word counts too, but less.
 */
#ifndef MCPCTL_RANK_H
#define MCPCTL_RANK_H

#include <mcp/base.h>

typedef struct ranking ranking;

typedef struct rank_field {
    mcp_str text;
    double weight;
} rank_field;

/* Words beyond the 32nd are ignored. NULL: no memory. */
ranking *ranking_new(const char *query);
void ranking_free(ranking *r);
size_t ranking_words(const ranking *r);

/* Adds a document. Documents are numbered from 0. False: no memory. */
bool ranking_add(ranking *r, const rank_field *fields, size_t count);

/* Called after all documents were added. 0: the document contains no query word. */
double ranking_score(const ranking *r, size_t document);
/* The number of query words in the document. */
size_t ranking_matched(const ranking *r, size_t document);

#endif
