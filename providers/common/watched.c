/* watched.c: see watched.h. */
#include "watched.h"

#include <string.h>

#include "buffer.h"

static void release(const mcp_allocator *alloc, const common_watched_item *item)
{
    common_release(alloc, item->uri);
    common_release(alloc, item->own);
}

static bool grow(common_watched *w, const mcp_allocator *alloc)
{
    size_t cap = w->cap ? w->cap * 2 : 8;
    common_watched_item *grown = w->item ? alloc->resize(w->item, cap * sizeof(*grown), alloc->user)
                                         : common_alloc(alloc, cap * sizeof(*grown));
    if (!grown)
        return false;
    w->item = grown;
    w->cap = cap;
    return true;
}

int common_watched_add(common_watched *w, const mcp_allocator *alloc, const char *uri, void *own)
{
    common_watched_item item = {common_copy(alloc, uri, strlen(uri)), own};
    if (!item.uri || (w->n == w->cap && !grow(w, alloc))) {
        release(alloc, &item);
        return MCP_ENOMEM;
    }
    w->item[w->n++] = item;
    return MCP_OK;
}

void common_watched_remove(common_watched *w, const mcp_allocator *alloc, const char *uri)
{
    for (size_t i = 0; i < w->n; i++) {
        if (strcmp(w->item[i].uri, uri) != 0)
            continue;
        release(alloc, &w->item[i]);
        w->item[i] = w->item[--w->n];
        return;
    }
}

void common_watched_clear(common_watched *w, const mcp_allocator *alloc)
{
    for (size_t i = 0; i < w->n; i++)
        release(alloc, &w->item[i]);
    common_release(alloc, w->item);
    *w = (common_watched){.item = NULL};
}

bool common_watched_any(const common_watched *w)
{
    return w->n || w->list;
}
