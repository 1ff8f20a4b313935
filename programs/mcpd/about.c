/* about.c: see about.h.
 *
 * A client gets less information than the user who started the server. Of a source that is not a
 * path (a connection string), it gets only the module and the name in URIs, and not the machine or
 * the role.
 */
#define _GNU_SOURCE
#include "about.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <files.h>

/* ---- for the user ---------------------------------------------------------------------------- */

char *about_source(const source *s)
{
    char *whole = NULL;
    if (!source_is_module(s))
        return strdup(s->text);
    const char *name = s->module && s->name ? s->name : NULL;
    if (asprintf(&whole, "%s%s%s%s%s", s->module ? s->module : "", s->module ? ":" : "", s->text,
                 name ? "?name=" : "", name ? name : "") < 0)
        return NULL;
    modules_remove_passwords(whole);
    return whole;
}

char *about_first(const settings *s)
{
    char *ret = NULL;
    char *first = s->sources.count ? about_source(&s->sources.items[0]) : strdup(s->prompts);
    if (!first || asprintf(&ret, "%s%s", first, s->sources.count > 1 ? " and more" : "") < 0)
        ret = NULL;
    free(first);
    return ret;
}

/* ---- for the model --------------------------------------------------------------------------- */

/* The text depends on what a client can use: the methods, or the tools if they are listed for it
 * (offer.c). */
static const char by_methods[] = "\nList them with resources/list; read one by its URI.";
static const char by_tools[] =
    "\nList them with resources/list or list_resources; read one by its URI with resources/read or "
    "read_resource, also by path (src/a.c:12). find_resources finds names, "
    "search_resources contents.";
static const char by_either[] =
    "\nList them with resources/list, or the tool list_resources if there is one; read one by "
    "its URI, with resources/read or read_resource.";
static const char how_to_files[] =
    " Parts of a large file:" COMMON_FILE_FORMS " lines count from 1. More of a "
    "folder:" COMMON_FOLDER_FORMS " too.";
static const char how_to_modules[] = " Other URIs: resources/templates/list";

static bool is_utf8(const char *text)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str json;
    mcp_json_add_string(w, text);
    bool ok = w && mcp_json_writer_finish(w, &json) == MCP_OK;
    mcp_json_writer_free(w);
    return ok;
}

/* Writes how the URIs of a module's source begin, which a model has to know, and what it is. */
static void put_module(FILE *to, const char *place, const mcp_module *module, const char *name,
                       const char *text)
{
    bool shown = !name && module->source_is_path && is_utf8(text);
    fprintf(to, "\n- %s (%s%s%s)", place, module->name, shown ? ": " : "", shown ? text : "");
    if (module->size >= offsetof(mcp_module, uses) + sizeof(module->uses) && module->uses)
        fprintf(to, ": %s", module->uses);
}

/* Writes a source of the command line. If its options are invalid, mounting reports the error. */
static void put_word(FILE *to, const char *place, modules *m, const char *word)
{
    modules_word w;
    mcp_error error;
    if (modules_read_word(m, word, &w, &error) != MCP_OK)
        return;
    put_module(to, place, w.module, w.name, w.source);
    modules_clear_word(&w);
}

static void put_named(FILE *to, const char *place, modules *m, const source *s)
{
    const mcp_module *module;
    mcp_error error;
    if (modules_find(m, mcp_str_from(s->module), &module, &error) == MCP_OK)
        put_module(to, place, module, s->name, s->text);
}

static void put_source(FILE *to, const char *place, modules *m, const source *s)
{
    if (s->module)
        put_named(to, place, m, s);
    else if (source_is_module(s))
        put_word(to, place, m, s->text);
    else
        fprintf(to, "\n- %s", place);
}

static void put_how_to(FILE *to, const settings *s, bool files, bool others)
{
    bool tools = s->resource_tools && !s->no_resource_tools;
    fputs(tools ? by_tools : s->no_resource_tools ? by_methods : by_either, to);
    if (files)
        fputs(how_to_files, to);
    if (others)
        fprintf(to, "%s%s.", how_to_modules,
                tools                  ? ", list_resources"
                : s->no_resource_tools ? ""
                                       : " (and list_resources)");
}

/* Writes the sources; returns how many there are, including those beyond the limit. */
static size_t put_sources(FILE *to, const settings *s, modules *m, about_place *place_of,
                          void *user, size_t *files)
{
    enum { MOST = 20 };
    size_t n = 0;
    *files = 0;
    for (size_t i = 0; i < s->sources.count; i++) {
        const char *place = place_of(i, user);
        if (!place)
            continue;
        *files += !source_is_module(&s->sources.items[i]);
        if (n++ < MOST)
            put_source(to, place, m, &s->sources.items[i]);
    }
    if (n > MOST)
        fprintf(to, "\n- and %zu more", n - MOST);
    return n;
}

/* Returns whether a folder is written by its own parameter. What rules say depends on the caller. */
static bool is_written(const settings *s)
{
    for (size_t i = 0; i < s->sources.count; i++)
        if (s->sources.items[i].writes || s->sources.items[i].write)
            return true;
    return false;
}

char *about_all(const settings *s, modules *m, about_place *place_of, void *user)
{
    char *text = NULL;
    size_t size = 0, files;
    FILE *to = s->sources.count ? open_memstream(&text, &size) : NULL;
    if (!to)
        return NULL;
    fputs("Resources of this server (URIs, or how these begin; then what may follow):", to);
    size_t n = put_sources(to, s, m, place_of, user, &files);
    put_how_to(to, s, files > 0, files < n);
    fputs(is_written(s)
              ? " Resources are read-only, except for files that edit_file and write_file "
                "change, if you have these tools."
              : " Resources are read-only.",
          to);
    if (fclose(to) == 0 && n)
        return text;
    free(text);
    return NULL;
}
