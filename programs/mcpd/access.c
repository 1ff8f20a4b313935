/* access.c: the rules of the configuration. */
#include "access.h"

#include <stdlib.h>

#include "glob.h"

enum { ITEMS = MCP_ITEM_TOOL + 1 };

static const char *const keys[ITEMS] = {[MCP_ITEM_RESOURCE] = "resources",
                                        [MCP_ITEM_TEMPLATE] = "templates",
                                        [MCP_ITEM_PROMPT] = "prompts",
                                        [MCP_ITEM_TOOL] = "tools"};

typedef struct rule {
    globs who; /* principals, unencoded; if empty, all principals */
    bool allow, everything;
    bool has[ITEMS];
    globs what[ITEMS];
} rule;

struct access_rules {
    rule *items;
    size_t count;
};

void access_free(access_rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->count; i++) {
        globs_clear(&rules->items[i].who);
        for (size_t k = 0; k < ITEMS; k++)
            globs_clear(&rules->items[i].what[k]);
    }
    free(rules->items);
    free(rules);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Adds a glob for URIs or paths. Paths are relative to the configuration's folder. */
static int add_place(config *c, globs *to, mcp_str text)
{
    if (!glob_is_place(text))
        return globs_add_uri(to, text);
    const char *path = config_place(c, text);
    return path ? globs_add_path(to, path) : MCP_ENOMEM;
}

static int add_glob(config *c, globs *to, const mcp_json *value, bool places, const char *pointer)
{
    mcp_str text = mcp_json_string(value);
    int rc = memchr(text.ptr, 0, text.len) ? MCP_EINVAL
             : places                      ? add_place(c, to, text)
                                           : globs_add(to, text);
    if (rc == MCP_EINVAL)
        return config_wrong(c, rc, pointer, "it contains a NUL character");
    if (rc == MCP_ELIMIT)
        return config_wrong(c, rc, pointer, "longer than 1024 bytes");
    return rc;
}

/* Adds a string, or a list of strings. */
static int add_globs(config *c, globs *to, const mcp_json *value, bool places, const char *pointer)
{
    char below[160];
    int rc = MCP_OK;
    mcp_json_iter it = {0};
    if (mcp_json_is(value, MCP_JSON_STRING))
        return add_glob(c, to, value, places, pointer);
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(value, &it, NULL)) != NULL;) {
        snprintf(below, sizeof(below), "%s/%zu", pointer, it.index - 1);
        rc = add_glob(c, to, v, places, below);
    }
    return rc;
}

static int read_rule(config *c, const mcp_json *value, size_t i, rule *r)
{
    char pointer[64];
    int rc = MCP_OK;
    r->allow = mcp_str_eq(mcp_json_string(mcp_json_get(value, "effect")), MCP_STR("allow"));
    r->everything = true;
    const mcp_json *who = mcp_json_get(value, "principal");
    snprintf(pointer, sizeof(pointer), "/access/%zu/principal", i);
    if (who)
        rc = add_globs(c, &r->who, who, false, pointer);
    for (size_t k = 0; rc == MCP_OK && k < ITEMS; k++) {
        const mcp_json *list = mcp_json_get(value, keys[k]);
        snprintf(pointer, sizeof(pointer), "/access/%zu/%s", i, keys[k]);
        r->has[k] = list != NULL;
        r->everything = r->everything && !list;
        if (list)
            rc = add_globs(c, &r->what[k], list, k == MCP_ITEM_RESOURCE, pointer);
    }
    return rc;
}

int access_read(config *c, access_rules **ret)
{
    const mcp_json *list = mcp_json_get(config_root(c), "access");
    size_t count = mcp_json_count(list);
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    *ret = NULL;
    if (!count)
        return MCP_OK;
    access_rules *made = calloc(1, sizeof(*made));
    if (made)
        made->items = calloc(count, sizeof(*made->items));
    if (!made || !made->items)
        rc = MCP_ENOMEM;
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        rc = read_rule(c, v, made->count, &made->items[made->count]);
        made->count++;
    }
    if (rc == MCP_OK)
        *ret = made;
    else
        access_free(made);
    return rc;
}

/* ---- checking access ------------------------------------------------------------------------- */

static bool is_about(const rule *r, mcp_str principal)
{
    return !r->who.count || globs_match(&r->who, principal);
}

/* Returns whether the rule may match a URI that a template expands to. All these URIs begin with
 * the part before the first expression. */
static bool leads_to(const rule *r, mcp_str tmpl)
{
    const char *brace = tmpl.len ? memchr(tmpl.ptr, '{', tmpl.len) : NULL;
    if (brace)
        tmpl.len = (size_t)(brace - tmpl.ptr);
    return globs_may_match(&r->what[MCP_ITEM_RESOURCE], tmpl);
}

static bool covers(const rule *r, mcp_item item, mcp_str name)
{
    if (r->everything)
        return true;
    if (r->has[item])
        return globs_match(&r->what[item], name);
    return item == MCP_ITEM_TEMPLATE && r->allow && r->has[MCP_ITEM_RESOURCE] && leads_to(r, name);
}

bool access_may(const char *principal, mcp_item item, mcp_str name, void *user)
{
    const access_rules *rules = user;
    mcp_str who = mcp_str_from(principal ? principal : "anonymous");
    for (size_t i = rules->count; i > 0; i--) {
        const rule *r = &rules->items[i - 1];
        if (is_about(r, who) && covers(r, item, name))
            return r->allow;
    }
    return true;
}
