/* bundle.h: joins parts of resources into one text for a language model, within a budget. */
#ifndef PROGRAM_BUNDLE_H
#define PROGRAM_BUNDLE_H

#include <mcp/base.h>

typedef struct budget {
    bool tokens; /* the limit is in tokens; otherwise in bytes */
    uint64_t limit, used;
} budget;

/* Parses "20K" or "8000t". Returns false if the text is invalid. */
bool budget_parse(const char *text, budget *ret);
/* Returns the cost of a text. Tokens are estimated: one for four ASCII characters, and one for each
 * other character. */
uint64_t budget_cost(const budget *b, mcp_str text);
/* Returns the longest prefix of the text that costs no more than `most`. The prefix ends at a line
 * end if possible. */
mcp_str budget_cut(const budget *b, mcp_str text, uint64_t most);

/* Returns one resource as Markdown: a heading, the URI, and the text in a code fence longer than
 * any in the text. `cut` says that the text is only a part. The caller frees the result. Returns
 * NULL if out of memory. */
char *bundle_section(mcp_str title, mcp_str uri, mcp_str text, bool cut);

#endif
