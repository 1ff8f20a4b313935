/* paths.c: finds the paths in a module's source: the source itself, and the options that are paths
 * by the module's schema ("format": "path"). Paths in a configuration file are relative to its
 * folder. Paths in a host's entry are made absolute, because a host may start the program in any
 * folder.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "modules.h"

const char *modules_home(const char *path)
{
    const char *home = strncmp(path, "~/", 2) == 0 ? getenv("HOME") : NULL;
    return home && *home ? home : NULL;
}

char *modules_place(const char *path, const char *base)
{
    char *made = NULL;
    const char *home = base ? modules_home(path) : NULL;
    if (home)
        base = home, path += 2;
    if (!base || *path == '/')
        return absolute_path(path);
    return asprintf(&made, "%s/%s", base, path) < 0 ? NULL : made;
}

static mcp_json_doc *schema_of(const mcp_module *module)
{
    mcp_json_doc *schema = NULL;
    if (module->options_schema)
        mcp_json_parse(mcp_str_from(module->options_schema), NULL, NULL, &schema, NULL);
    return schema;
}

static bool is_path(const mcp_json_doc *schema, mcp_str key)
{
    const mcp_json *properties = mcp_json_get(mcp_json_root(schema), "properties");
    mcp_str format = mcp_json_string(mcp_json_get(mcp_json_get_str(properties, key), "format"));
    return mcp_str_eq(format, MCP_STR("path"));
}

bool modules_has_option(const mcp_module *module, const char *name)
{
    mcp_json_doc *schema = schema_of(module);
    bool has = mcp_json_get(mcp_json_get(mcp_json_root(schema), "properties"), name) != NULL;
    mcp_json_free(schema);
    return has;
}

/* ---- options as JSON ------------------------------------------------------------------------- */

/* Returns false if out of memory, or if there is no current folder. */
static bool put_placed(mcp_json_writer *w, mcp_str path, const char *base)
{
    char *given = strndup(path.ptr, path.len);
    char *placed = given ? modules_place(given, base) : NULL;
    if (placed)
        mcp_json_add_string(w, placed);
    free(placed);
    free(given);
    return placed != NULL;
}

static bool put_all_placed(mcp_json_writer *w, const mcp_json *paths, const char *base)
{
    mcp_json_iter it = {0};
    bool ok = true;
    mcp_json_begin_array(w);
    for (const mcp_json *v; ok && (v = mcp_json_next(paths, &it, NULL)) != NULL;)
        ok = put_placed(w, mcp_json_string(v), base);
    mcp_json_end(w);
    return ok;
}

bool modules_put_options(mcp_json_writer *w, const mcp_module *module, const mcp_json *options,
                         const char *base)
{
    mcp_json_doc *schema = schema_of(module);
    mcp_json_iter it = {0};
    mcp_str key;
    bool ok = true;
    mcp_json_begin_object(w);
    for (const mcp_json *v; ok && (v = mcp_json_next(options, &it, &key)) != NULL;) {
        mcp_str text = mcp_json_string(v);
        mcp_json_key_str(w, key);
        if (text.len && is_path(schema, key))
            ok = put_placed(w, text, base);
        else if (mcp_json_is(v, MCP_JSON_ARRAY) && is_path(schema, key))
            ok = put_all_placed(w, v, base);
        else
            mcp_json_add_value(w, v);
    }
    mcp_json_end(w);
    mcp_json_free(schema);
    return ok;
}

void modules_each_path(const mcp_module *module, const mcp_json *options,
                       void (*each)(mcp_str path, void *user), void *user)
{
    mcp_json_doc *schema = options ? schema_of(module) : NULL;
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(options, &it, &key)) != NULL;) {
        if (is_path(schema, key))
            each(mcp_json_string(v), user);
    }
    mcp_json_free(schema);
}

/* ---- options as text ------------------------------------------------------------------------- */

/* Writes a value, encoded for "NAME=". */
static void put_value(FILE *to, const char *text)
{
    for (; *text; text++)
        if (strchr("%&?", *text))
            fprintf(to, "%%%02X", (unsigned char)*text);
        else
            putc(*text, to);
}

/* Writes "NAME=VALUE" with the path VALUE made absolute. */
static bool put_path(FILE *to, const char *word, size_t len, const char *base)
{
    const char *value = memchr(word, '=', len);
    size_t name = (size_t)(value + 1 - word), size = len - name;
    char *path = malloc(size + 1);
    bool ok = path && mcp_uri_decode((mcp_str){value + 1, size}, path, size, &size) == MCP_OK;
    if (ok)
        path[size] = 0;
    char *placed = ok ? modules_place(path, base) : NULL;
    if (placed) {
        fprintf(to, "%.*s", (int)name, word);
        put_value(to, placed);
    }
    free(placed);
    free(path);
    return placed != NULL;
}

char *modules_place_words(const mcp_module *module, const char *options, const char *base)
{
    char *made = NULL;
    size_t size;
    FILE *to = open_memstream(&made, &size);
    mcp_json_doc *schema = schema_of(module);
    bool ok = to != NULL;
    while (ok && *options) { /* each option begins with "?" or "&" */
        size_t len = 1 + strcspn(options + 1, "&"), name = strcspn(options, "=");
        putc(*options, to);
        if (name < len && is_path(schema, (mcp_str){options + 1, name - 1}))
            ok = put_path(to, options + 1, len - 1, base);
        else
            fprintf(to, "%.*s", (int)len - 1, options + 1);
        options += len;
    }
    mcp_json_free(schema);
    if (to && fclose(to) != 0)
        ok = false;
    if (!ok) {
        free(made);
        made = NULL;
    }
    return made;
}
