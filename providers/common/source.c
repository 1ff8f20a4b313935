/* source.c: creating, freeing and mounting a source, and its canonical URIs. See source.h. */
#include "source.h"

#include <stdio.h>
#include <string.h>

#include "pieces.h"
#include "source_watch.h"

/* ---- creating and freeing -------------------------------------------------------------------- */

common_source *common_source_new(const common_source_kind *kind, size_t size, mcp_server *server,
                                 const mcp_allocator *given)
{
    mcp_allocator alloc = common_allocator(given);
    common_source *s = common_alloc(&alloc, size);
    if (!s)
        return NULL;
    memset(s, 0, size);
    s->kind = kind;
    s->alloc = alloc;
    s->server = server;
    s->fd = -1;
    return s;
}

void common_source_free(void *source)
{
    common_source *s = source;
    if (!s)
        return;
    mcp_allocator alloc = s->alloc;
    common_source_stop_watching(s, NULL);
    s->kind->clear(s);
    common_queries_free(&s->queries, &alloc);
    common_release(&alloc, s->name);
    common_release(&alloc, s->prefix);
    common_release(&alloc, s);
}

void common_source_log(const common_source *s, const char *what, const char *why)
{
    char line[600];
    const mcp_host *host = s->server ? mcp_server_host(s->server) : NULL;
    if (!host || !host->log)
        return;
    snprintf(line, sizeof(line), "%.250s: %.300s", what, why);
    host->log("warning", line, host->user);
}

/* ---- mounting -------------------------------------------------------------------------------- */

static int add_all(common_source *s, common_offer offer, const char *tool, mcp_error *error)
{
    const common_source_kind *kind = s->kind;
    int rc = common_templates_add(&kind->templates, offer, &s->alloc, s->name, s->prefix, s, error);
    if (rc == MCP_OK)
        rc = common_queries_register(&s->queries, offer, &s->alloc, s->name, s->prefix,
                                     kind->templates.read, s, error);
    if (rc == MCP_OK && kind->offer)
        rc = kind->offer(s, offer, error);
    if (rc != MCP_OK || !kind->tool || (tool && !*tool))
        return rc;
    common_query_tool t = *kind->tool;
    t.given = tool;
    t.module = kind->provider.name;
    t.database = s->name;
    t.prefix = s->prefix;
    t.explain = s->explain;
    t.user = s;
    return common_query_tool_add(&t, offer, &s->alloc, error);
}

static int refuse_taken(const common_source_kind *kind, const char *given, mcp_error *error)
{
    char why[120];
    snprintf(why, sizeof(why), "another %.40s has its name; choose one: ?name=NAME", kind->noun);
    return common_refuse(error, MCP_EEXIST, given, why);
}

int common_source_mount(common_source *s, const char *tool, const char *given, mcp_error *error)
{
    const common_source_kind *kind = s->kind;
    int rc = mcp_server_mount(s->server, s->prefix, &kind->provider, s, error);
    if (rc == MCP_OK)
        return add_all(s, (common_offer){.server = s->server}, tool, error);
    return rc == MCP_EEXIST ? refuse_taken(kind, given, error) : rc; /* s was freed */
}

int common_source_describe(common_source *s, const char *tool, const char *given,
                           const mcp_source_path *paths, size_t n_paths, const mcp_description *to,
                           mcp_error *error)
{
    const common_source_kind *kind = s->kind;
    int rc = to->source(
        MCP_OPTIONS(mcp_source, .prefix = s->prefix, .lists = kind->provider.list != NULL,
                    .subscribe = kind->provider.watch || kind->provider.watch_as,
                    .list_changed = kind->provider.watch_list || kind->provider.watch_list_as,
                    .in_process = kind->in_process, .resolve = kind->spell),
        error, to->user);
    if (rc == MCP_EEXIST)
        rc = refuse_taken(kind, given, error);
    for (size_t i = 0; rc == MCP_OK && i < n_paths; i++)
        rc = to->add_path(&paths[i], error, to->user);
    if (rc == MCP_OK)
        rc = add_all(s, (common_offer){.to = to}, tool, error);
    common_source_free(s);
    return rc;
}

/* ---- canonical URIs -------------------------------------------------------------------------- */

int common_source_resolve(mcp_str uri, char *canonical, size_t room, void *source)
{
    common_source *s = source;
    common_buffer made;
    mcp_str rest;
    if (!common_pieces_behind(uri, s->prefix, &rest))
        return MCP_ENOTFOUND;
    char *texts = common_alloc(&s->alloc, uri.len + s->kind->texts_room);
    if (!texts)
        return MCP_ENOMEM;
    common_buffer_init(&made, &s->alloc);
    int rc = common_put(&made, s->prefix) ? s->kind->canonical(s, rest, texts, &made) : MCP_ENOMEM;
    if (rc == MCP_OK && made.len >= room)
        rc = MCP_ELIMIT;
    if (rc == MCP_OK) {
        memcpy(canonical, made.ptr, made.len);
        canonical[made.len] = 0;
    }
    common_buffer_free(&made);
    common_release(&s->alloc, texts);
    return rc;
}

int common_source_spell(const common_source_kind *kind, const char *prefix, mcp_str uri,
                        char *canonical, size_t room)
{
    common_source s = {.kind = kind,
                       .alloc = common_allocator(NULL),
                       .prefix = (char *)(uintptr_t)prefix}; /* is not written to */
    return common_source_resolve(uri, canonical, room, &s);
}
