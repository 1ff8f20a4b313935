/* offer.c: sources, tools, rules and annotations, put into a server as one build (mcp_server_rebuild()). */
#define _GNU_SOURCE
#include "offer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "about.h"
#include "commands.h"

/* XDG_DATA_HOME, or its default below the home folder; NULL: none. free() it. */
static char *data_home(void)
{
    const char *set = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    char *path = NULL;
    if (set && *set)
        return strdup(set);
    if (!home || !*home || asprintf(&path, "%s/.local/share", home) < 0)
        return NULL;
    return path;
}

static int mount_files(offer *o, mcp_server *server, mcp_error *error)
{
    const settings *s = o->now;
    char *home = data_home();
    int rc = mcp_files_mount(
        server,
        MCP_OPTIONS(mcp_files_options, .sources = s->files.items, .n_sources = s->files.count,
                    .hidden = s->hidden, .no_ignore = s->no_ignore, .include = s->include.items,
                    .n_include = s->include.count, .exclude = s->exclude.items,
                    .n_exclude = s->exclude.count, .max_read = (size_t)s->max_read,
                    .watch_budget = (size_t)s->watch_budget, .no_watch = s->no_watch,
                    .data_home = home, .data_dirs = getenv("XDG_DATA_DIRS"),
                    .handle = &o->watching),
        error);
    free(home);
    return rc;
}

/* ---- modules ------------------------------------------------------------------------------------- */

char *offer_place(const mcp_module *module, const char *what, const char *base)
{
    return module->source_is_path && base ? modules_place(what, base) : strdup(what);
}

static int place_options(const mcp_module *module, const mcp_json *options, const char *base,
                         mcp_json_doc **ret)
{
    mcp_str text;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    bool ok = modules_put_options(w, module, options, base);
    int rc = ok ? mcp_json_writer_finish(w, &text) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = mcp_json_parse(text, NULL, NULL, ret, NULL);
    mcp_json_writer_free(w);
    return rc;
}

/* With no server it is looked whether the source works, and nothing mounted. */
static int mount_placed(const source *s, const mcp_module *module, mcp_server *server,
                        const char *what, const mcp_json *options, const char *name,
                        mcp_error *error)
{
    mcp_json_doc *doc = NULL;
    char *placed = offer_place(module, what, s->base);
    int rc = placed ? MCP_OK : MCP_ENOMEM;
    if (rc == MCP_OK && options && s->base)
        rc = place_options(module, options, s->base, &doc);
    if (rc == MCP_OK)
        rc = server ? modules_mount(module, server, placed, doc ? mcp_json_root(doc) : options,
                                    name, error)
                    : modules_try(module, placed, doc ? mcp_json_root(doc) : options, name, error);
    mcp_json_free(doc);
    free(placed);
    return rc;
}

/* What the module's schema says about the options stands where they are, in the configuration file. */
static int check_options(const offer *o, const source *s, const mcp_module *module)
{
    char pointer[64];
    if (!o->config || !s->options || !module->options_schema)
        return MCP_OK;
    snprintf(pointer, sizeof pointer, "/sources/%zu/options", s->index);
    return config_check(o->config, mcp_str_from(module->options_schema), pointer, s->options);
}

static int mount_module(offer *o, const source *s, mcp_server *server, mcp_error *error)
{
    const mcp_module *module;
    modules_word w;
    int rc;
    if (!s->module) {
        rc = modules_read_word(o->modules, s->text, &w, error);
        if (rc != MCP_OK)
            return rc;
        rc = mount_placed(s, w.module, server, w.source, mcp_json_root(w.options), w.name, error);
        modules_clear_word(&w);
        return rc;
    }
    rc = modules_find(o->modules, mcp_str_from(s->module), &module, error);
    if (rc == MCP_OK && (rc = check_options(o, s, module)) != MCP_OK)
        error->text[0] = 0; /* it was told */
    return rc == MCP_OK ? mount_placed(s, module, server, s->text, s->options, s->name, error) : rc;
}

int offer_try(offer *o, const source *s, mcp_error *error)
{
    return mount_module(o, s, NULL, error);
}

/* ---- tools ---------------------------------------------------------------------------------------- */

static bool offered(const mcp_request *req, void *user)
{
    const offer *o = user;
    return o->now->resource_tools || mcp_bridge_tools_only(req, NULL);
}

/* ---- all of it ----------------------------------------------------------------------------------- */

/* Says where in the configuration file the source stands that cannot be had. */
static int locate(const offer *o, const source *s, int rc, mcp_error *error)
{
    char pointer[64];
    if (rc >= 0 || !o->config || !s->base || !error->text[0])
        return rc;
    snprintf(pointer, sizeof pointer, "/sources/%zu", s->index);
    config_wrong(o->config, rc, pointer, "%s", error->text);
    error->text[0] = 0;
    return rc;
}

/* Of a configuration file: whether it is there, so that its place can be named. */
static int check_path(const offer *o, const source *s, mcp_error *error)
{
    if (!s->base || access(s->text, R_OK) == 0)
        return MCP_OK;
    snprintf(error->text, sizeof error->text, "%.200s: %s", s->text, strerror(errno));
    return locate(o, s, MCP_ENOTFOUND, error);
}

/* In the order of the lists; files and folders are one mount. */
static int mount_sources(offer *o, mcp_server *server, mcp_error *error)
{
    const settings *s = o->now;
    bool files = false;
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < s->sources.count; i++)
        if (!source_is_module(&s->sources.items[i]))
            rc = check_path(o, &s->sources.items[i], error);
    for (size_t i = 0; rc == MCP_OK && i < s->sources.count; i++) {
        const source *one = &s->sources.items[i];
        if (source_is_module(one))
            rc = locate(o, one, mount_module(o, one, server, error), error);
        else if (!files)
            files = true, rc = mount_files(o, server, error);
    }
    return rc;
}

/* The resources as tools: for everybody, or for clients that show tools alone. */
static int add_tools(offer *o, mcp_server *server, mcp_error *error)
{
    search_source files;
    int rc = MCP_OK;
    if (!o->bridge)
        rc = mcp_bridge_new(server, MCP_OPTIONS(mcp_bridge_options, .offered = offered, .user = o),
                            &o->bridge, error);
    if (o->watching)
        files = mcp_files_search(o->watching);
    return rc == MCP_OK ? mcp_bridge_add_tools(o->bridge, &files, o->watching != NULL, error) : rc;
}

static int build(mcp_server *server, void *user, mcp_error *error)
{
    offer *o = user;
    o->watching = NULL;
    int rc = mount_sources(o, server, error);
    if (rc == MCP_OK && !o->now->no_resource_tools)
        rc = add_tools(o, server, error);
    return rc == MCP_OK ? commands_add(o->config, server, error) : rc;
}

static int allow(mcp_server *server, access_rules *rules)
{
    return mcp_server_set_access(
        server, rules ? MCP_OPTIONS(mcp_access, .may = access_may, .user = rules) : NULL);
}

static void annotate(mcp_server *server, notes *n)
{
    mcp_server_set_resource_hook(server, n ? notes_apply : NULL, n);
}

/* Without memory for them those of before stay: they are no more than a hint. */
static void instruct(mcp_server *server, const offer *o)
{
    char *made = o->now->instructions ? NULL : about_all(o->now, o->modules);
    const char *text = made ? made : o->now->instructions;
    if (text)
        mcp_server_set_instructions(server, text);
    free(made);
}

int offer_make(offer *o, mcp_server *server, mcp_error *error)
{
    access_rules *rules = NULL;
    notes *said = NULL;
    mcp_files *watching = o->watching;
    int rc = o->config ? access_read(o->config, &rules) : MCP_OK;
    if (rc == MCP_OK && o->config)
        rc = notes_read(o->config, &said);
    if (rc == MCP_OK) {
        annotate(server, said);
        rc = mcp_server_rebuild(server, build, o, error);
        if (rc != MCP_OK)
            annotate(server, o->notes);
    }
    if (rc != MCP_OK) {
        o->watching = watching;
        access_free(rules);
        notes_free(said);
        return rc;
    }
    allow(server, rules);
    instruct(server, o);
    offer_clear(o);
    o->rules = rules;
    o->notes = said;
    return MCP_OK;
}

void offer_leave(offer *o)
{
    mcp_bridge_free(o->bridge);
    o->bridge = NULL;
}

void offer_clear(offer *o)
{
    access_free(o->rules);
    notes_free(o->notes);
    o->rules = NULL;
    o->notes = NULL;
}
