/* seen.h: which entries of a list were passed on already, in case that the list begins again. */
#ifndef MCPCTL_SEEN_H
#define MCPCTL_SEEN_H

#include <common/words.h>

#include "mcpctl.h"

typedef struct seen {
    words ids;
    bool sorted; /* the list has begun again */
    bool lost;   /* there are too many entries, or one has no id */
} seen;

/* Remembers the entries of a page of this method. */
void seen_add(seen *s, const char *method, const mcp_json *page);
/* Called when the list begins again. Returns false if that is not possible without repeating
 * entries. */
bool seen_restart(seen *s);
/* Copies a page without the entries that were remembered before the list began again. The caller
 * frees *ret. Returns whether there was memory. */
bool seen_filter(const seen *s, const char *method, const mcp_json *page, mcp_json_doc **ret);
void seen_clear(seen *s);

#endif
