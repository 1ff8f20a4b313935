/* effective.c: merges the command line and the configuration file into one configuration file, and
 * writes it without secrets. */
#define _GNU_SOURCE
#include "effective.h"

#include <stdlib.h>

#include <common/text.h>

#include "entry.h"
#include "glob.h"
#include "secrets.h"
#include "source_write.h"

/* Paths are made absolute, because the new file may be in any folder. Returns false on failure. */
static bool put_text(mcp_json_writer *w, const option *o, const char *text)
{
    bool plain = o && (!o->is_path || strcmp(text, "-") == 0);
    char *absolute = plain ? NULL : absolute_path(text);
    bool ok = absolute || plain;
    if (ok)
        mcp_json_add_string(w, absolute ? absolute : text);
    free(absolute);
    return ok;
}

/* Returns the reference by which the file gives an option, if its value is in force. */
static const mcp_json *reference_of(const offer *of, const option *o)
{
    const mcp_json *value = of->config ? mcp_json_get(config_written(of->config), o->name) : NULL;
    if (!mcp_json_is(value, MCP_JSON_OBJECT))
        return NULL;
    const char *now = *(const char *const *)(const void *)((const char *)of->now + o->at);
    mcp_str of_file = mcp_json_string(mcp_json_get(config_root(of->config), o->name));
    return now && mcp_str_eq(of_file, mcp_str_from(now)) ? value : NULL;
}

static bool put_option(mcp_json_writer *w, const option *o, const offer *of)
{
    const settings *s = of->now;
    const mcp_json *reference = reference_of(of, o);
    const void *at = (const char *)s + o->at;
    const texts *list = at;
    bool ok = true;
    mcp_json_key(w, o->name);
    if (reference) {
        mcp_json_add_value(w, reference);
        return true;
    }
    switch (o->kind) {
    case OPTION_FLAG: mcp_json_add_bool(w, *(const bool *)at); break;
    case OPTION_CHOICE: mcp_json_add_string(w, *(const char *const *)at); break;
    case OPTION_TEXT: return put_text(w, o, *(const char *const *)at);
    case OPTION_LIST:
        mcp_json_begin_array(w);
        for (size_t i = 0; ok && i < list->count; i++)
            ok = put_text(w, o, list->items[i]);
        mcp_json_end(w);
        break;
    case OPTION_COUNT:
        if (*(const uint64_t *)at == OPTION_AUTO)
            mcp_json_add_string(w, "auto");
        else
            mcp_json_add_uint(w, *(const uint64_t *)at);
        break;
    case OPTION_SIZE:
    case OPTION_SECONDS: mcp_json_add_uint(w, *(const uint64_t *)at); break;
    }
    return ok;
}

/* Writes a module's source; a path is made absolute. */
static bool put_module(mcp_json_writer *w, const offer *o, const source *s)
{
    const mcp_module *module;
    mcp_error error;
    if (modules_find(o->modules, mcp_str_from(s->module), &module, &error) != MCP_OK)
        return false;
    char *placed = offer_place(module, s->text, s->base);
    bool ok = placed != NULL;
    const mcp_json *text = mcp_json_get(s->written, "source");
    const mcp_json *options = s->written ? mcp_json_get(s->written, "options") : s->options;
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "module", s->module);
    if (mcp_json_is(text, MCP_JSON_OBJECT))
        mcp_json_put_value(w, "source", text);
    else
        mcp_json_put_string(w, "source", placed ? placed : "");
    if (s->name)
        mcp_json_put_string(w, "name", s->name);
    if (options) {
        mcp_json_key(w, "options");
        ok = modules_put_options(w, module, options, s->base) && ok;
    }
    mcp_json_end(w);
    free(placed);
    return ok;
}

static int put_write(const char *below, const char *pointer, void *user)
{
    (void)pointer;
    mcp_json_add_string(user, below);
    return MCP_OK;
}

/* A wrong glob was reported when the rules were read. */
static void ignore(const char *pointer, const char *why, void *user)
{
    (void)pointer, (void)why, (void)user;
}

static bool put_path(mcp_json_writer *w, const source *s)
{
    if (!source_write_any(s))
        return put_text(w, NULL, s->text);
    mcp_json_begin_object(w);
    mcp_json_key(w, "path");
    bool ok = put_text(w, NULL, s->text);
    mcp_json_key(w, "write");
    mcp_json_begin_array(w);
    ok = source_write_globs(s, put_write, ignore, w) == MCP_OK && ok;
    mcp_json_end(w);
    mcp_json_end(w);
    return ok;
}

static bool put_source(mcp_json_writer *w, const offer *o, const source *s)
{
    if (s->module)
        return put_module(w, o, s);
    if (!source_is_module(s))
        return put_path(w, s);
    char *word = modules_absolute(o->modules, s->text, s->base);
    if (word)
        mcp_json_add_string(w, word);
    free(word);
    return word != NULL;
}

/* ---- sections without options ---------------------------------------------------------------- */

static void put_place(mcp_json_writer *w, config *c, const mcp_json *value)
{
    mcp_str text = mcp_json_string(value);
    const char *placed = glob_is_place(text) ? config_place(c, text) : NULL;
    if (placed)
        mcp_json_add_string(w, placed);
    else
        mcp_json_add_value(w, value);
}

/* Writes an access rule with its path globs made absolute. */
static void put_rule(mcp_json_writer *w, config *c, const mcp_json *rule)
{
    mcp_json_iter it = {0};
    mcp_str key;
    mcp_json_begin_object(w);
    for (const mcp_json *v; (v = mcp_json_next(rule, &it, &key)) != NULL;) {
        bool places = mcp_str_eq(key, MCP_STR("resources")) || mcp_str_eq(key, MCP_STR("match"));
        mcp_json_iter each = {0};
        mcp_json_key_str(w, key);
        if (!places)
            mcp_json_add_value(w, v);
        else if (mcp_json_is(v, MCP_JSON_STRING))
            put_place(w, c, v);
        else {
            mcp_json_begin_array(w);
            for (const mcp_json *one; (one = mcp_json_next(v, &each, NULL)) != NULL;)
                put_place(w, c, one);
            mcp_json_end(w);
        }
    }
    mcp_json_end(w);
}

/* Writes the section oauth with its paths made absolute. */
static void put_oauth(mcp_json_writer *w, config *c, const mcp_json *value)
{
    bool object = mcp_json_is(value, MCP_JSON_OBJECT);
    mcp_json_iter it = {0};
    mcp_str key;
    if (!object && !mcp_json_is(value, MCP_JSON_ARRAY)) {
        mcp_json_add_value(w, value);
        return;
    }
    if (object)
        mcp_json_begin_object(w);
    else
        mcp_json_begin_array(w);
    for (const mcp_json *v; (v = mcp_json_next(value, &it, &key)) != NULL;) {
        bool file = object && (mcp_str_eq(key, MCP_STR("client-secret-file")) ||
                               mcp_str_eq(key, MCP_STR("ca-file")));
        if (object)
            mcp_json_key_str(w, key);
        if (file && mcp_json_is(v, MCP_JSON_STRING))
            mcp_json_add_string(w, config_place(c, mcp_json_string(v)));
        else
            put_oauth(w, c, v);
    }
    mcp_json_end(w);
}

/* Returns whether a word of a view names a folder or a file, and not only sources with a name. */
static bool names_path(const sources *all, const char *placed)
{
    globs paths = {0};
    bool found = false;
    if (globs_add(&paths, mcp_str_from(placed)) != MCP_OK)
        return false;
    for (size_t i = 0; i < all->count && !found; i++)
        found = !source_is_module(&all->items[i]) &&
                globs_match(&paths, mcp_str_from(all->items[i].text));
    globs_clear(&paths);
    return found;
}

static void put_word(mcp_json_writer *w, const offer *o, const mcp_json *word)
{
    const char *placed = config_place(o->config, mcp_json_string(word));
    if (placed && names_path(&o->now->sources, placed))
        mcp_json_add_string(w, placed);
    else
        mcp_json_add_value(w, word);
}

/* Writes a view with the paths of its sources made absolute. */
static void put_view(mcp_json_writer *w, const offer *o, const mcp_json *one_view)
{
    mcp_json_iter it = {0};
    mcp_str key;
    mcp_json_begin_object(w);
    for (const mcp_json *v; (v = mcp_json_next(one_view, &it, &key)) != NULL;) {
        mcp_json_iter each = {0};
        mcp_json_key_str(w, key);
        if (!mcp_str_eq(key, MCP_STR("sources")))
            mcp_json_add_value(w, v);
        else if (mcp_json_is(v, MCP_JSON_STRING))
            put_word(w, o, v);
        else {
            mcp_json_begin_array(w);
            for (const mcp_json *one; (one = mcp_json_next(v, &each, NULL)) != NULL;)
                put_word(w, o, one);
            mcp_json_end(w);
        }
    }
    mcp_json_end(w);
}

static void put_views(mcp_json_writer *w, const offer *o)
{
    const mcp_json *all = mcp_json_get(config_written(o->config), "views");
    mcp_json_iter it = {0};
    mcp_str name;
    if (!all)
        return;
    mcp_json_key(w, "views");
    mcp_json_begin_object(w);
    for (const mcp_json *v; (v = mcp_json_next(all, &it, &name)) != NULL;) {
        mcp_json_key_str(w, name);
        put_view(w, o, v);
    }
    mcp_json_end(w);
}

static void put_sections(mcp_json_writer *w, config *c)
{
    static const char *const names[] = {"access", "rates", "annotations"};
    const mcp_json *root = config_written(c), *tokens = mcp_json_get(root, "tokens");
    const mcp_json *tools = mcp_json_get(root, "tools");
    if (tokens)
        mcp_json_put_value(w, "tokens", tokens);
    if (mcp_json_get(root, "oauth"))
        mcp_json_key(w, "oauth"), put_oauth(w, c, mcp_json_get(root, "oauth"));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const mcp_json *section = mcp_json_get(root, names[i]);
        mcp_json_iter it = {0};
        if (!section)
            continue;
        mcp_json_key(w, names[i]);
        mcp_json_begin_array(w);
        for (const mcp_json *v; (v = mcp_json_next(section, &it, NULL)) != NULL;)
            put_rule(w, c, v);
        mcp_json_end(w);
    }
    if (tools)
        mcp_json_put_value(w, "tools", tools);
}

/* Writes everything, with the secrets that the file itself has. */
static bool put_all(mcp_json_writer *w, const offer *o)
{
    size_t count;
    const settings *now = o->now;
    const option *table = options_table(&count);
    bool ok = true;
    mcp_json_begin_object(w);
    mcp_json_key(w, "sources");
    mcp_json_begin_array(w);
    /* The files of hosts stay where they are, and so do the secrets in them. */
    for (size_t i = 0; ok && i < now->sources.count; i++)
        ok = now->sources.items[i].of_host || put_source(w, o, &now->sources.items[i]);
    mcp_json_end(w);
    for (size_t i = 0; ok && i < count; i++)
        if (!table[i].line_only && option_is_given(&table[i], now))
            ok = put_option(w, &table[i], o);
    if (o->config)
        put_sections(w, o->config), put_views(w, o);
    mcp_json_end(w);
    return w && ok;
}

int effective_print(const offer *o)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0), *shown = mcp_json_writer_new(NULL, 0);
    mcp_json_doc *doc = NULL;
    mcp_str text;
    bool ok = put_all(w, o);
    int rc = ok && shown ? mcp_json_writer_finish(w, &text) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = mcp_json_parse(text, NULL, NULL, &doc, NULL);
    if (rc == MCP_OK) {
        secrets_put(shown, mcp_json_root(doc), o->config);
        rc = mcp_json_writer_finish(shown, &text);
    }
    if (rc == MCP_OK)
        config_pretty(stdout, text);
    else if (ok)
        say("the configuration cannot be written as JSON: %s", mcp_error_text(rc));
    mcp_json_free(doc);
    mcp_json_writer_free(shown);
    mcp_json_writer_free(w);
    return rc == MCP_OK ? 0 : 1;
}
