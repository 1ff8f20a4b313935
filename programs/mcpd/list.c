/* list.c: mcpd --list-modules. Every module that is found is loaded, to check that this is
 * possible. Its options are described from the schema that validates them.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <common/help.h>

#include "modules.h"

enum { COLUMN = 25, MOST = 64 };

/* ---- names ----------------------------------------------------------------------------------- */

typedef struct names {
    char items[MOST][40];
    size_t count;
} names;

static void add(names *n, mcp_str name)
{
    if (n->count == MOST || name.len >= sizeof(n->items[0]))
        return;
    for (size_t i = 0; i < n->count; i++)
        if (mcp_str_eq(mcp_str_from(n->items[i]), name))
            return;
    memcpy(n->items[n->count], name.ptr, name.len);
    n->items[n->count++][name.len] = 0;
}

/* Adds NAME.so if NAME can be used in a source. */
static void add_folder(names *n, const char *path)
{
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char source[sizeof(e->d_name) + 1];
        size_t len = strlen(e->d_name);
        if (len < 4 || strcmp(e->d_name + len - 3, ".so") != 0)
            continue;
        snprintf(source, sizeof(source), "%.*s:", (int)len - 3, e->d_name);
        if (modules_is_source(source))
            add(n, (mcp_str){source, len - 3});
    }
    if (d)
        closedir(d);
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void collect(const modules *m, names *n)
{
    char folder[4096];
    for (size_t i = 0; modules_known_at(i); i++)
        add(n, mcp_str_from(modules_known_at(i)->name));
    for (size_t i = 0; modules_at(m, i); i++)
        add(n, mcp_str_from(modules_at(m, i)->name));
    for (int installed = 0; installed <= 1; installed++)
        if (modules_folder(installed, folder, sizeof(folder)))
            add_folder(n, folder);
    qsort(n->items, n->count, sizeof(n->items[0]), compare);
}

/* ---- printing a module ----------------------------------------------------------------------- */

/* Returns how the value of an option is written after a source, or NULL if it cannot be written
 * there. */
static const char *value_of(const mcp_json *schema)
{
    mcp_str type = mcp_json_string(mcp_json_get(schema, "type"));
    if (mcp_str_eq(type, MCP_STR("integer")) || mcp_str_eq(type, MCP_STR("number")))
        return "=N";
    if (mcp_str_eq(type, MCP_STR("boolean")))
        return "=true|false";
    return mcp_str_eq(type, MCP_STR("array")) || mcp_str_eq(type, MCP_STR("object")) ? "" : "=TEXT";
}

static void put_option(FILE *to, mcp_str name, const mcp_json *schema)
{
    const char *value = value_of(schema);
    mcp_str about = mcp_json_string(mcp_json_get(schema, "description"));
    char left[80], text[1000];
    snprintf(left, sizeof(left), "  %.*s%s", (int)(name.len < 40 ? name.len : 40), name.ptr, value);
    snprintf(text, sizeof(text), "%.*s%s", (int)about.len, about.len ? about.ptr : "",
             *value ? "" : " (in a configuration file only)");
    help_entry(to, left, text, COLUMN);
}

static int put_options(FILE *to, const char *schema)
{
    mcp_json_doc *doc = NULL;
    mcp_json_iter it = {0};
    mcp_str name;
    help_entry(to, "  name=TEXT", "The name of the source in URIs.", COLUMN);
    int rc = schema ? mcp_json_parse(mcp_str_from(schema), NULL, NULL, &doc, NULL) : MCP_OK;
    const mcp_json *properties = mcp_json_get(mcp_json_root(doc), "properties");
    for (const mcp_json *v; (v = mcp_json_next(properties, &it, &name)) != NULL;)
        put_option(to, name, v);
    mcp_json_free(doc);
    return rc == MCP_ENOMEM ? rc : MCP_OK;
}

static int put_one(modules *m, FILE *to, mcp_str name)
{
    const mcp_module *module;
    const modules_known *known = modules_know(name);
    mcp_error error = {0};
    char source[80];
    int rc = modules_find(m, name, &module, &error);
    snprintf(source, sizeof(source), "%.*s:%s", (int)name.len, name.ptr,
             known ? known->what : "WHAT");
    if (rc != MCP_OK) {
        help_entry(to, source, error.text, COLUMN);
        return rc == MCP_ENOMEM ? rc : MCP_OK;
    }
    help_entry(to, source, module->about ? module->about : "", COLUMN);
    return put_options(to, module->options_schema);
}

int modules_list(modules *m, FILE *to)
{
    names *n = calloc(1, sizeof(*n));
    int rc = n ? MCP_OK : MCP_ENOMEM;
    if (n)
        collect(m, n);
    fputs("Sources of modules, each with its options, as in "
          "'sqlite:shop.db?name=shop&max_rows=50':\n",
          to);
    for (size_t i = 0; rc == MCP_OK && i < n->count; i++)
        rc = put_one(m, to, mcp_str_from(n->items[i]));
    free(n);
    return rc;
}
