/* rank.h: ranks texts for a query: BM25 over weighted fields (Robertson, Zaragoza, Taylor: "Simple
 * BM25 extension to multiple weighted fields", 2004). A word that only begins with or contains a
 * query word counts less than the word itself.
 */
#ifndef PROGRAM_RANK_H
#define PROGRAM_RANK_H

#include <mcp/base.h>

typedef struct ranking ranking;

typedef struct rank_field {
    mcp_str text;
    double weight;
} rank_field;

/* Words beyond the 32nd are ignored. Returns NULL if out of memory. */
ranking *ranking_new(const char *query);
void ranking_free(ranking *r);
size_t ranking_words(const ranking *r);

/* Adds a document. Documents are numbered from 0. Returns false if out of memory. */
bool ranking_add(ranking *r, const rank_field *fields, size_t count);

/* Returns the score of a document, or 0 if it contains no query word. Call it after all documents
 * have been added. */
double ranking_score(const ranking *r, size_t document);
/* Returns the number of query words in the document. */
size_t ranking_matched(const ranking *r, size_t document);

#endif
