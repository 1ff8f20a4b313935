/* view_sources.c: see view_sources.h. Which tools a source has is what its module says about it
 * (mcp/module.h), so it is known before its process runs, and also if the source is absent. */
#define _GNU_SOURCE
#include "view_sources.h"

#include <stdlib.h>

#include "views.h"

/* Asks the module of a source, and sets what it says in *to, which borrows from *d. */
static int describe(offer *o, const source *s, described *d, view_source *to, mcp_error *error)
{
    int rc = offer_describe(o, s, d, error);
    if (rc == MCP_EUNSUPPORTED) {
        *error = (mcp_error){0};
        to->unknown = true;
        return MCP_OK;
    }
    to->tools = (const char *const *)d->tools.items;
    to->n_tools = d->tools.count;
    to->prompts = (const char *const *)d->prompts.items;
    to->n_prompts = d->prompts.count;
    to->names = d->names;
    to->alone = d->alone;
    return rc;
}

static int bind(offer *o, views *all, described *d, view_source *list, mcp_error *error)
{
    const sources *from = &o->now->sources;
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < from->count; i++) {
        const source *s = &from->items[i];
        bool is_module = source_is_module(s);
        list[i] = (view_source){.path = is_module ? NULL : s->text,
                                .name = s->name,
                                .place = i < o->placing.count ? o->placing.items[i] : NULL};
        if (is_module)
            rc = describe(o, s, &d[i], &list[i], error);
    }
    return rc == MCP_OK ? views_bind(all, o->config, list, from->count) : rc;
}

int view_sources_bind(offer *o, mcp_error *error)
{
    views *all = access_views(o->building_all);
    size_t count = o->now->sources.count;
    if (!all)
        return MCP_OK;
    described *d = calloc(count + 1, sizeof(*d));
    view_source *list = calloc(count + 1, sizeof(*list));
    int rc = d && list ? bind(o, all, d, list, error) : MCP_ENOMEM;
    for (size_t i = 0; d && i < count; i++)
        described_clear(&d[i]);
    free(d);
    free(list);
    return rc;
}
