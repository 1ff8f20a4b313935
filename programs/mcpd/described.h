/* described.h: collects what modules say about sources before these are opened (mcp/module.h). */
#ifndef MCPD_DESCRIBED_H
#define MCPD_DESCRIBED_H

#include <mcp/module.h>

typedef struct described_texts {
    char **items;
    size_t count;
} described_texts;

/* One source or several. Zero-initialize it. */
typedef struct described {
    described_texts prefixes, tools, prompts, paths;
    char *names; /* how the names of the last source's own tools and prompts begin; NULL: none */
    size_t n_templates, n_resources, n_prompts;
    bool in_process;  /* requested by the module of the last source */
    bool alone;       /* one of them has to be the only source */
    bool lists_items; /* the provider of the last source has lists that the description omits */
} described;

/* Returns the functions that add to `d`. A prefix or the name of a tool that another source has
 * already is refused with MCP_EEXIST. */
mcp_description described_by(described *d);
void described_clear(described *d);

#endif
