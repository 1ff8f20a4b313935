/* watched.h: the subscribed resources of a provider, by their canonical URIs, and whether there are
 * subscribers to changes of the list. Each provider detects changes in its own way.
 */
#ifndef COMMON_WATCHED_H
#define COMMON_WATCHED_H

#include <mcp/base.h>

typedef struct common_watched_item {
    char *uri;
    void *own; /* what the provider remembers of it; from the same allocator, freed with the item */
} common_watched_item;

/* Zero is empty. */
typedef struct common_watched {
    common_watched_item *item;
    size_t n, cap;
    bool list;
} common_watched;

/* Takes `own` over, also by a failure; NULL: nothing. MCP_OK, MCP_ENOMEM. */
int common_watched_add(common_watched *w, const mcp_allocator *alloc, const char *uri, void *own);
void common_watched_remove(common_watched *w, const mcp_allocator *alloc, const char *uri);
void common_watched_clear(common_watched *w, const mcp_allocator *alloc);
/* Whether anybody wants to know anything. */
bool common_watched_any(const common_watched *w);

#endif
