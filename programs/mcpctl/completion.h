/* completion.h: values that the server proposes for a variable of a template or an argument of a
 * prompt. */
#ifndef MCPCTL_COMPLETION_H
#define MCPCTL_COMPLETION_H

#include "mcpctl.h"

typedef struct completion_query {
    const char *prompt, *uri_template; /* exactly one of them is set */
    mcp_str argument;
    const char *value;
    const char *const *words; /* the other arguments, as name=value */
    size_t n_words;
    bool quietly; /* errors are not reported, and cause only an empty list of proposals */
} completion_query;

int completion_ask(ctl *c, const completion_query *q, result_fn *fn, void *user);

/* template.c: gets the URI template with that name, which the caller frees; NULL if there is none.
 * Returns an exit code. */
int template_named(ctl *c, const char *name, char **ret);

/* Prompts for a value. If the user types "?", it shows the proposals for the text before the
 * question mark. `about` may be empty. The caller frees the value. Returns NULL at the end of
 * input. */
char *completion_prompt(ctl *c, const completion_query *q, mcp_str about, bool required);

#endif
