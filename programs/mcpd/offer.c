/* offer.c: registers sources, tools, rules and annotations in a server as one build
 * (mcp_server_rebuild()). */
#define _GNU_SOURCE
#include "offer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "about.h"
#include "capacity.h"
#include "changes.h"
#include "commands.h"
#include "log.h"
#include "sources.h"
#include "upstreams.h"
#include "view_sources.h"

/* ---- tools ----------------------------------------------------------------------------------- */

static void look_again(offer *o, mcp_server *server);

static bool offered(const mcp_request *req, void *user)
{
    const offer *o = user;
    return o->now->resource_tools || mcp_bridge_tools_only(req, NULL);
}

static size_t roots(void *user)
{
    return ((const offer *)user)->places.count;
}

static const char *root(const mcp_request *req, size_t index, void *user)
{
    const source_places *p = &((const offer *)user)->places;
    return places_may(p, index, req) ? p->items[index] : NULL;
}

static const char *folder(size_t index, void *user)
{
    const source_places *p = &((const offer *)user)->places;
    return index < p->count ? p->paths[index] : NULL;
}

/* ---- the build ------------------------------------------------------------------------------- */

/* Adds the resource tools: for all clients, or only for clients that show nothing but tools. */
static int add_tools(offer *o, mcp_server *server, mcp_error *error)
{
    search_source files;
    int rc = MCP_OK;
    if (!o->bridge)
        rc = mcp_bridge_new(server,
                            MCP_OPTIONS(mcp_bridge_options, .offered = offered, .roots = roots,
                                        .root = root, .folder = folder, .user = o),
                            &o->bridge, error);
    if (rc == MCP_OK)
        mcp_bridge_limit(o->bridge, (size_t)capacity_settings(o->now).answer_tokens);
    if (o->watching)
        files = mcp_files_search(o->watching);
    return rc == MCP_OK ? mcp_bridge_add_tools(o->bridge, &files, o->watching != NULL, error) : rc;
}

static int build(mcp_server *server, void *user, mcp_error *error)
{
    offer *o = user;
    o->watching = NULL;
    int rc = sources_mount(o, server, error);
    if (rc == MCP_OK)
        rc = view_sources_bind(o, error);
    if (rc == MCP_OK && !o->now->no_resource_tools)
        rc = add_tools(o, server, error);
    if (rc == MCP_OK)
        rc = changes_add(o, o->watching, error);
    return rc == MCP_OK ? commands_add(o->config, server, error) : rc;
}

/* Rules that are only about changes leave everything visible, and lists public. */
static int allow(mcp_server *server, access_rules *rules)
{
    bool restricted = access_restricts(rules);
    return mcp_server_set_access(server,
                                 rules ? MCP_OPTIONS(mcp_access, .queries = true,
                                                     .may = restricted ? access_may : NULL,
                                                     .scopes = restricted ? access_scopes : NULL,
                                                     .may_do = access_may_do, .user = rules)
                                       : NULL);
}

static void annotate(mcp_server *server, notes *n)
{
    mcp_server_set_resource_hook(server, n ? notes_apply : NULL, n);
}

/* ---- instructions ---------------------------------------------------------------------------- */

typedef struct reader {
    const offer *o;
    const mcp_request *req; /* NULL for all callers */
} reader;

static const char *place_of(size_t index, void *user)
{
    const reader *r = user;
    return places_may(&r->o->places, index, r->req) ? r->o->places.items[index] : NULL;
}

/* Returns the instructions of the caller's view, or NULL. */
static const char *view_says(const offer *o, const mcp_request *req)
{
    const char *name = mcp_identity_view(mcp_request_identity(req));
    const view *v = name ? views_find(access_views(o->rules), mcp_str_from(name)) : NULL;
    return v ? view_instructions(v) : NULL;
}

/* Generates the instructions for a caller. With access rules, they mention only the sources that
 * the caller may see. What other servers say depends on the caller, too. */
static const char *make_instructions(mcp_request *req, void *user)
{
    const offer *o = user;
    const char *given = view_says(o, req);
    if (!given)
        given = o->now->instructions;
    if (given)
        return mcp_request_strdup(req, mcp_str_from(given));
    char *whole = NULL, *own = about_all(o->now, o->modules, place_of, &(reader){o, req});
    const char *copy = NULL;
    size_t size;
    FILE *to = own ? open_memstream(&whole, &size) : NULL;
    if (to) {
        fputs(own, to);
        upstreams_introduce(req, to);
        if (fclose(to) == 0)
            copy = mcp_request_strdup(req, mcp_str_from(whole));
    }
    free(whole);
    free(own);
    return copy;
}

/* Sets the instructions. On failure the old ones stay, because they are only a hint. */
static void instruct(mcp_server *server, offer *o)
{
    const char *own = o->now->instructions;
    char *generated = own ? NULL : about_all(o->now, o->modules, place_of, &(reader){o, NULL});
    const char *text = generated ? generated : own;
    if (text)
        mcp_server_set_instructions(server, text);
    mcp_server_set_instructions_hook(
        server,
        access_views(o->rules) || ((o->rules || upstreams_any()) && !own) ? make_instructions
                                                                          : NULL,
        o);
    free(generated);
}

/* ---- polling for absent sources -------------------------------------------------------------- */

static void stop_looking(offer *o)
{
    if (o->timer)
        o->host->timer_stop(o->timer, o->host->user);
    o->timer = NULL;
}

static void on_time(void *arg)
{
    offer *o = arg;
    mcp_error error = {0};
    bool came = absent_any_came(&o->absent);
    o->looking = true;
    int rc = came ? offer_make(o, o->server, &error) : MCP_ENOTFOUND;
    o->looking = false;
    if (rc == MCP_OK) {
        log_notice("a source that was missing is available now");
        return; /* the new build started polling again if necessary */
    }
    /* The source may be incomplete, for example a repository that is being cloned. The same error
     * is logged once. */
    if (came && error.text[0] && strcmp(error.text, o->logged) != 0)
        log_line("error", error.text, NULL);
    if (came)
        snprintf(o->logged, sizeof(o->logged), "%s", error.text);
    look_again(o, o->server);
}

static void look_again(offer *o, mcp_server *server)
{
    enum { EVERY_MS = 2000 };
    stop_looking(o);
    o->server = server;
    o->host = mcp_server_host(server);
    if (o->absent.count && o->host && o->host->timer_start)
        o->timer = o->host->timer_start(EVERY_MS, on_time, o, o->host->user);
}

static void limit_upstreams(const settings *s)
{
    const settings all = capacity_settings(s);
    upstreams_use_limits(all.max_upstream_calls, all.max_upstream_sessions,
                         all.max_upstream_sessions_in_all, all.max_upstream_bytes);
}

int offer_make(offer *o, mcp_server *server, mcp_error *error)
{
    access_rules *rules = NULL;
    notes *added = NULL;
    mcp_files *watching = o->watching;
    int rc = upstreams_use_approvals(o->now->approved, o->now->withhold_changed, error);
    if (rc == MCP_OK)
        rc = upstreams_use_memory(o->now->remember, error);
    if (rc == MCP_OK)
        rc = access_read(o->config, &o->now->sources, &rules, error);
    if (rc == MCP_OK && o->config)
        rc = notes_read(o->config, &added);
    if (rc == MCP_OK) {
        annotate(server, added);
        o->building = access_restricts(rules) ? rules : NULL;
        o->building_all = rules;
        rc = mcp_server_rebuild(server, build, o, error);
        o->building = o->building_all = NULL;
        if (rc != MCP_OK)
            annotate(server, o->notes);
    }
    if (rc != MCP_OK) {
        absent_clear(&o->coming);
        places_clear(&o->placing);
        o->watching = watching;
        access_free(rules);
        notes_free(added);
        return rc;
    }
    absent_clear(&o->absent);
    o->absent = o->coming;
    o->coming = (absent){0};
    allow(server, rules);
    mcp_server_set_rates_hook(server, access_rates(rules) ? rates_take : NULL,
                              (void *)(uintptr_t)access_rates(rules));
    offer_clear(o);
    o->all_rules = rules;
    o->rules = access_restricts(rules) ? rules : NULL;
    o->notes = added;
    o->places = o->placing;
    o->placing = (source_places){0};
    limit_upstreams(o->now);
    instruct(server, o);
    look_again(o, server);
    return MCP_OK;
}

void offer_leave(offer *o)
{
    stop_looking(o);
    absent_clear(&o->absent);
    mcp_bridge_free(o->bridge);
    o->bridge = NULL;
}

void offer_clear(offer *o)
{
    access_free(o->all_rules);
    notes_free(o->notes);
    places_clear(&o->places);
    o->rules = o->all_rules = NULL;
    o->notes = NULL;
}
