/* completion.h: values that the server proposes for a variable of a template or an argument of a
 * prompt. */
#ifndef MCPCTL_COMPLETION_H
#define MCPCTL_COMPLETION_H

#include "mcpctl.h"

typedef struct completion_query {
    const char *prompt, *uri_template; /* one of them */
    mcp_str argument;
    const char *value;
    const char *const *words; /* name=value: the other arguments */
    size_t n_words;
    bool quietly; /* no errors are reported; there are just no proposals */
} completion_query;

int completion_ask(ctl *c, const completion_query *q, result_fn *fn, void *user);

/* template.c: the URI template with that name. The caller frees it. NULL: none. */
int template_named(ctl *c, const char *name, char **ret);

/* Prompts for a value; "?" shows the proposals for the text before it. `about` may be empty. The
 * caller frees the value. NULL: no more input. */
char *completion_prompt(ctl *c, const completion_query *q, mcp_str about, bool required);

#endif
