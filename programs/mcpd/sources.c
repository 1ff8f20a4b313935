/* sources.c: mounts the sources of the settings into a server. Missing ones are left out, as
 * absent.h describes.
 */
#define _GNU_SOURCE
#include "sources.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <common/text.h>

#include "isolate.h"
#include "log.h"

/* Returns XDG_DATA_HOME or its default in the home folder, or NULL if there is none. The caller
 * frees it. */
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

static int mount_files(offer *o, mcp_server *server, const texts *files, mcp_error *error)
{
    const settings *s = o->now;
    char *home = data_home();
    int rc = mcp_files_mount(
        server,
        MCP_OPTIONS(mcp_files_options, .sources = files->items, .n_sources = files->count,
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

/* ---- modules --------------------------------------------------------------------------------- */

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

/* Adds --answer-tokens to the options of a source whose tools have such a limit, unless the options
 * have one. *ret stays NULL if there is nothing to add. */
static int add_answer_tokens(const offer *o, const mcp_module *module, const mcp_json *options,
                             mcp_json_doc **ret)
{
    static const char name[] = "answer_tokens";
    mcp_json_iter it = {0};
    mcp_str key, text;
    if (!o->now->answer_tokens || mcp_json_get(options, name) || !modules_has_option(module, name))
        return MCP_OK;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    for (const mcp_json *v; (v = mcp_json_next(options, &it, &key)) != NULL;) {
        mcp_json_key_str(w, key);
        mcp_json_add_value(w, v);
    }
    mcp_json_put_uint(w, name, o->now->answer_tokens);
    mcp_json_end(w);
    int rc = mcp_json_writer_finish(w, &text);
    if (rc == MCP_OK)
        rc = mcp_json_parse(text, NULL, NULL, ret, NULL);
    mcp_json_writer_free(w);
    return rc;
}

static int leave_out(offer *o, const source *s, const char *path, mcp_error *error);

/* What to do with a source. If `to` is set, the source is described to it; otherwise, if `server`
 * is set, it is mounted there. If both are NULL, the module only checks whether it works. */
typedef struct purpose {
    mcp_server *server;
    const mcp_description *to;
} purpose;

/* Checks everything else about a source that does not exist yet, such as its options and name. */
static int check_absent(const mcp_module *module, const char *text, const mcp_json *options,
                        const char *name, mcp_error *error)
{
    described d = {.n_templates = 0};
    mcp_description to = described_by(&d);
    mcp_error why = {0};
    int rc = modules_can_describe(module) ? modules_describe(module, text, options, name, &to, &why)
                                          : MCP_OK;
    if (rc != MCP_OK)
        *error = why;
    described_clear(&d);
    return rc;
}

static int mount_or_try(offer *o, const source *s, const mcp_module *module, purpose what_for,
                        const char *placed, const mcp_json *options, const char *name,
                        mcp_error *error)
{
    bool apart = !s->in_process && !o->now->no_isolate;
    if (what_for.to)
        return modules_describe(module, placed, options, name, what_for.to, error);
    if (!what_for.server)
        return apart ? isolate_try(o, module, placed, options, name, error)
                     : modules_try(module, placed, options, name, error);
    return apart ? isolate_mount(o, module, what_for.server, placed, options, name, error)
                 : modules_mount(module, what_for.server, placed, options, name, error);
}

static int mount_placed(offer *o, const source *s, const mcp_module *module, purpose what_for,
                        const char *what, const mcp_json *options, const char *name,
                        mcp_error *error)
{
    mcp_server *server = what_for.server;
    mcp_json_doc *doc = NULL, *bounded = NULL;
    char *placed = offer_place(module, what, s->base);
    int rc = placed ? MCP_OK : MCP_ENOMEM;
    if (rc == MCP_OK && options && s->base)
        rc = place_options(module, options, s->base, &doc);
    if (doc)
        options = mcp_json_root(doc);
    if (rc == MCP_OK)
        rc = add_answer_tokens(o, module, options, &bounded);
    if (bounded)
        options = mcp_json_root(bounded);
    if (rc == MCP_OK)
        rc = mount_or_try(o, s, module, what_for, placed, options, name, error);
    if (server && rc == MCP_ENOTFOUND && module->source_is_path && absent_is(placed)) {
        rc = check_absent(module, placed, options, name, error);
        if (rc == MCP_OK)
            rc = leave_out(o, s, placed, error);
    } else if (server && rc == MCP_OK && module->source_is_path) {
        rc = places_keep_path(&o->placing, (size_t)(s - o->now->sources.items), placed);
    }
    mcp_json_free(bounded);
    mcp_json_free(doc);
    free(placed);
    return rc;
}

/* Reports schema errors of options at their place in the configuration file. */
static int check_options(const offer *o, const source *s, const mcp_module *module)
{
    char pointer[64];
    if (!o->config || s->of_host || !s->options || !module->options_schema)
        return MCP_OK;
    snprintf(pointer, sizeof(pointer), "/sources/%zu/options", s->index);
    return config_check(o->config, mcp_str_from(module->options_schema), pointer, s->options);
}

static int mount_module(offer *o, const source *s, purpose what_for, mcp_error *error)
{
    const mcp_module *module;
    modules_word w;
    int rc;
    if (!s->module) {
        rc = modules_read_word(o->modules, s->text, &w, error);
        if (rc != MCP_OK)
            return rc;
        rc = mount_placed(o, s, w.module, what_for, w.source, mcp_json_root(w.options), w.name,
                          error);
        modules_clear_word(&w);
        return rc;
    }
    rc = modules_find(o->modules, mcp_str_from(s->module), &module, error);
    if (rc == MCP_OK && (rc = check_options(o, s, module)) != MCP_OK)
        error->text[0] = 0; /* the error was reported already */
    return rc == MCP_OK ? mount_placed(o, s, module, what_for, s->text, s->options, s->name, error)
                        : rc;
}

int offer_try(offer *o, const source *s, mcp_error *error)
{
    return mount_module(o, s, (purpose){.server = NULL}, error);
}

int offer_describe(offer *o, const source *s, described *ret, mcp_error *error)
{
    mcp_description to = described_by(ret);
    return mount_module(o, s, (purpose){.to = &to}, error);
}

/* ---- all sources ----------------------------------------------------------------------------- */

/* Reports where in the configuration file the failing source is. */
static int locate(const offer *o, const source *s, int rc, mcp_error *error)
{
    char pointer[64];
    if (rc >= 0 || !o->config || !s->base || !error->text[0] || o->looking)
        return rc;
    snprintf(pointer, sizeof(pointer), "/sources/%zu", s->index);
    config_wrong(o->config, rc, pointer, "%s", error->text);
    error->text[0] = 0;
    return rc;
}

/* Adds an absent source to the list, unless its absence is an error. */
static int leave_out(offer *o, const source *s, const char *path, mcp_error *error)
{
    if (o->strict)
        return MCP_ENOTFOUND;
    if (!absent_add(&o->coming, path, error->text, (size_t)(s - o->now->sources.items)))
        return MCP_ENOMEM;
    error->text[0] = 0;
    return MCP_OK;
}

/* Adds a file or folder to the list of paths, or to the absent sources. */
static int take_path(offer *o, const source *s, texts *files, mcp_error *error)
{
    if (!s->base && o->strict) /* mounting it reports the error */
        return texts_add(files, s->text) ? MCP_OK : MCP_ENOMEM;
    bool there = access(s->text, R_OK) == 0;
    if (!there && (s->base || absent_is(s->text))) {
        snprintf(error->text, sizeof(error->text), "%.200s: %s", s->text, strerror(errno));
        return absent_is(s->text) ? locate(o, s, leave_out(o, s, s->text, error), error)
                                  : locate(o, s, MCP_ENOTFOUND, error);
    }
    return texts_add(files, s->text) ? MCP_OK : MCP_ENOMEM;
}

/* Mounts the sources in the order of the settings. All files and folders are one mount. */
static int mount_all(offer *o, mcp_server *server, texts *paths, mcp_error *error)
{
    const sources *all = &o->now->sources;
    bool files = false;
    int rc = places_begin(&o->placing, all->count);
    for (size_t i = 0; rc == MCP_OK && i < all->count; i++)
        if (!source_is_module(&all->items[i]))
            rc = take_path(o, &all->items[i], paths, error);
    for (size_t i = 0; rc == MCP_OK && i < all->count; i++) {
        const source *one = &all->items[i];
        if (source_is_module(one))
            rc = locate(o, one, mount_module(o, one, (purpose){.server = server}, error), error);
        else if (!files && paths->count)
            files = true, rc = mount_files(o, server, paths, error);
        if (rc == MCP_OK && !absent_is_at(&o->coming, i))
            rc = places_keep(&o->placing, i, one, server);
    }
    return rc;
}

/* Logs each absent source once, if there are other sources. */
static int tell_absent(const offer *o, mcp_error *error)
{
    char line[400];
    const absent *list = &o->coming;
    if (list->count && list->count == o->now->sources.count) {
        const source *first = &o->now->sources.items[list->items[0].index];
        snprintf(error->text, sizeof(error->text), "%s", list->items[0].text);
        return locate(o, first, MCP_ENOTFOUND, error);
    }
    for (size_t i = 0; i < list->count; i++) {
        if (absent_has(&o->absent, list->items[i].text))
            continue;
        snprintf(line, sizeof(line), "%.300s: it will be available as soon as it exists",
                 list->items[i].text);
        log_line("error", line, NULL);
    }
    return MCP_OK;
}

int sources_mount(offer *o, mcp_server *server, mcp_error *error)
{
    texts paths = {0};
    absent_clear(&o->coming);
    int rc = mount_all(o, server, &paths, error);
    texts_clear(&paths);
    return rc == MCP_OK ? tell_absent(o, error) : rc;
}

/* Checks that a source without prefixes is the only one. */
static bool check_alone(const described *d, size_t count)
{
    if (d->alone && count > 1)
        say("a source with \"transparent\" keeps its URIs and names, so it has to be the only one");
    return !d->alone || count <= 1;
}

bool sources_check(offer *o)
{
    described d = {.n_templates = 0};
    bool right = true;
    for (size_t i = 0; i < o->now->sources.count; i++) {
        const source *one = &o->now->sources.items[i];
        mcp_error error = {0};
        int rc = source_is_module(one) ? offer_describe(o, one, &d, &error) : MCP_OK;
        if (rc == MCP_OK || rc == MCP_EUNSUPPORTED)
            continue;
        (void)locate(o, one, rc, &error);
        if (error.text[0])
            say("%s", error.text);
        right = false;
    }
    right = check_alone(&d, o->now->sources.count) && right;
    described_clear(&d);
    return right;
}
