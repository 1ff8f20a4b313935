/* bundle.h: pieces of resources as one text for a language model, within a budget. */
#ifndef MCPCTL_BUNDLE_H
#define MCPCTL_BUNDLE_H

#include "entries.h"

typedef struct budget {
    bool tokens; /* else bytes */
    uint64_t limit, used;
} budget;

/* "20K", "8000t". False: it is neither. */
bool budget_parse(const char *text, budget *ret);
/* What a text costs. Tokens are an estimate: four ASCII characters, or one other, each. */
uint64_t budget_cost(const budget *b, mcp_str text);
/* The longest beginning of the text that costs no more; ends with a line where there is one. */
mcp_str budget_cut(const budget *b, mcp_str text, uint64_t most);

/* One resource in Markdown: heading, URI, and the text in a fence that it cannot end. To be freed;
 * NULL: no memory. `cut`: it is not all of it. */
char *bundle_section(const entry *e, mcp_str text, bool cut);

#endif
