/* bundle.h: joins parts of resources to one text for a language model, within a budget. */
#ifndef MCPCTL_BUNDLE_H
#define MCPCTL_BUNDLE_H

#include "entries.h"

typedef struct budget {
    bool tokens; /* else bytes */
    uint64_t limit, used;
} budget;

/* Parses "20K" or "8000t". False: invalid. */
bool budget_parse(const char *text, budget *ret);
/* What a text costs. Tokens are estimated: one for four ASCII characters, and one for each other
 * character. */
uint64_t budget_cost(const budget *b, mcp_str text);
/* The longest beginning of the text that costs no more than `most`; ends at a line end if
 * possible. */
mcp_str budget_cut(const budget *b, mcp_str text, uint64_t most);

/* One resource as Markdown: a heading, the URI, and the text in a code fence longer than any in it.
 * `cut`: it is only a part. The caller frees it. NULL: no memory. */
char *bundle_section(const entry *e, mcp_str text, bool cut);

#endif
