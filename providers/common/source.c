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
    common_source_stop_watching(s);
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

static int add_all(common_source *s, size_t n_templates, const char *tool, mcp_error *error)
{
    const common_source_kind *kind = s->kind;
    common_templates templates = kind->templates;
    templates.n = n_templates;
    int rc = common_templates_add(&templates, s->server, &s->alloc, s->name, s->prefix, s, error);
    if (rc == MCP_OK)
        rc = common_queries_register(&s->queries, s->server, &s->alloc, s->name, s->prefix,
                                     kind->templates.read, s, error);
    if (rc != MCP_OK || !kind->tool || (tool && !*tool))
        return rc;
    common_query_tool t = *kind->tool;
    t.given = tool;
    t.module = kind->provider.name;
    t.database = s->name;
    t.prefix = s->prefix;
    t.user = s;
    return common_query_tool_add(&t, s->server, &s->alloc, error);
}

int common_source_mount(common_source *s, size_t n_templates, const char *tool, const char *given,
                        mcp_error *error)
{
    const common_source_kind *kind = s->kind;
    char why[120];
    int rc = mcp_server_mount(s->server, s->prefix, &kind->provider, s, error);
    if (rc == MCP_OK)
        return add_all(s, n_templates, tool, error);
    if (rc != MCP_EEXIST) /* s has been freed */
        return rc;
    snprintf(why, sizeof(why), "another %.40s has its name; choose one: ?name=NAME", kind->noun);
    return common_refuse(error, rc, given, why);
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
