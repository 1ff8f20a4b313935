/* watched.h: the canonical URIs of a provider's watched resources, and whether its list is watched.
 * Each provider detects changes in its own way.
 */
#ifndef COMMON_WATCHED_H
#define COMMON_WATCHED_H

#include <mcp/base.h>

typedef struct common_watched_item {
    char *uri;
    void *own; /* state kept by the provider; from the same allocator, freed with the item */
} common_watched_item;

/* Zero-initialized, it is empty. */
typedef struct common_watched {
    common_watched_item *item;
    size_t n, cap;
    bool list;
} common_watched;

/* Takes ownership of `own`, which may be NULL, even after a failure. Returns
 * MCP_OK or MCP_ENOMEM. */
int common_watched_add(common_watched *w, const mcp_allocator *alloc, const char *uri, void *own);
void common_watched_remove(common_watched *w, const mcp_allocator *alloc, const char *uri);
void common_watched_clear(common_watched *w, const mcp_allocator *alloc);
/* Returns whether a resource or the list is watched. */
bool common_watched_any(const common_watched *w);

#endif
