/* scrape.h: what a caller gets for /metrics: the sums of all workers, with the names that it may see.
 *
 * Every family has names in the labels "tool", "source" and "group". Hiding them is done here, for the families
 * of the library and those of the program, of this process and of others.
 */
#ifndef MCPD_SCRAPE_H
#define MCPD_SCRAPE_H

#include "access.h"
#include "http.h"
#include "supervisor/board.h"

typedef struct scrape {
    const mcp_identity *identity; /* the caller; NULL if it is anonymous */
    access_rules *rules;          /* NULL: everybody sees everything */
    board *board;                 /* of the workers; NULL without any */
    const listeners *at;
    mcp_http *http; /* the endpoint that is asked */
} scrape;

/* Passes the answer to add(). `text` is what the endpoint would answer. */
void scrape_answer(const scrape *s, mcp_str text, void (*add)(mcp_str text, void *arg), void *arg);

#endif
