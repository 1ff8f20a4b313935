/* access.c: the rules of the configuration. */
#include "access.h"

#include <stdlib.h>

#include "callers.h"
#include "glob.h"
#include "oauth.h"

enum {
    ITEMS = MCP_ITEM_TOOL + 1,
    METRICS = ITEMS /* /metrics, which is no item of the protocol */
};

static const char *const keys[ITEMS] = {[MCP_ITEM_RESOURCE] = "resources",
                                        [MCP_ITEM_TEMPLATE] = "templates",
                                        [MCP_ITEM_PROMPT] = "prompts",
                                        [MCP_ITEM_TOOL] = "tools"};

typedef struct rule {
    callers principals, groups;
    const char *scopes; /* that the things need; NULL if none */
    const char *asks;   /* the scopes of a challenge, with those of all requests; NULL: none */
    bool allow, everything, metrics;
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
        callers_clear(&rules->items[i].principals);
        callers_clear(&rules->items[i].groups);
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

static int read_scopes(config *c, const mcp_json *value, const char *pointer, rule *r)
{
    const mcp_json *scope = mcp_json_get(value, "scope");
    mcp_str otherwise = mcp_json_string(mcp_json_get(value, "otherwise"));
    if (!scope)
        return MCP_OK;
    if (!r->allow)
        return config_wrong(c, MCP_EINVAL, pointer,
                            "scope belongs into a rule that allows: it allows callers with the "
                            "scope, and denies all others");
    r->scopes = config_text(c, scope);
    if (!mcp_str_eq(otherwise, MCP_STR("hide")))
        r->asks = oauth_all_scopes(c, r->scopes);
    return r->scopes && (r->asks || mcp_str_eq(otherwise, MCP_STR("hide"))) ? MCP_OK : MCP_ENOMEM;
}

static int read_rule(config *c, const mcp_json *value, size_t i, rule *r)
{
    char pointer[64];
    r->allow = mcp_str_eq(mcp_json_string(mcp_json_get(value, "effect")), MCP_STR("allow"));
    r->metrics = mcp_json_bool(mcp_json_get(value, "metrics"), false);
    r->everything = !r->metrics;
    snprintf(pointer, sizeof(pointer), "/access/%zu", i);
    int rc = callers_read_principals(c, value, pointer, &r->principals);
    if (rc == MCP_OK)
        rc = callers_read_groups(c, value, pointer, &r->groups);
    if (rc == MCP_OK)
        rc = read_scopes(c, value, pointer, r);
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

/* Returns whether the rule may match a URI that a template expands to. All these URIs begin with
 * the part before the first expression. */
static bool leads_to(const rule *r, mcp_str tmpl)
{
    const char *brace = tmpl.len ? memchr(tmpl.ptr, '{', tmpl.len) : NULL;
    if (brace)
        tmpl.len = (size_t)(brace - tmpl.ptr);
    return globs_may_match(&r->what[MCP_ITEM_RESOURCE], tmpl);
}

/* Whoever serves a URI may ignore its query, and anybody can add one. So a rule that allows compares
 * the part before it, and a rule that denies also the whole. */
static bool covers_resource(const rule *r, mcp_str uri)
{
    const globs *list = &r->what[MCP_ITEM_RESOURCE];
    const char *query = uri.len ? memchr(uri.ptr, '?', uri.len) : NULL;
    mcp_str path = {uri.ptr, query ? (size_t)(query - uri.ptr) : uri.len};
    return globs_match(list, path) || (query && !r->allow && globs_match(list, uri));
}

static bool covers(const rule *r, unsigned item, mcp_str name)
{
    if (r->everything)
        return true;
    if (item == METRICS)
        return r->metrics;
    if (!r->has[item])
        return false;
    return item == MCP_ITEM_RESOURCE ? covers_resource(r, name) : globs_match(&r->what[item], name);
}

/* Whether the rule also allows a template, because of the resources that it allows. */
static bool covers_beside(const rule *r, unsigned item, mcp_str name)
{
    return item == MCP_ITEM_TEMPLATE && !r->everything && !r->has[item] && r->allow &&
           r->has[MCP_ITEM_RESOURCE] && leads_to(r, name);
}

typedef enum decision { DENIED, ALLOWED, ASKED } decision; /* ASKED: for scopes */

static decision decide_by(const rule *r, const mcp_identity *identity, truth about)
{
    if (!r->allow)
        return DENIED;
    if (!r->scopes || mcp_identity_has_scopes(identity, r->scopes))
        return ALLOWED;
    /* Only a token of an issuer can get more scopes. */
    return r->asks && about == YES && mcp_identity_issuer(identity) ? ASKED : DENIED;
}

/* Finds the rule that decides. If it is unknown whether a rule is about the caller, the rule counts
 * only if it refuses the caller. *ret is the rule of which ASKED asks for scopes. */
static decision decide(const access_rules *rules, const mcp_identity *identity, unsigned item,
                       mcp_str name, const rule **ret)
{
    *ret = NULL;
    for (size_t i = rules->count; i > 0; i--) {
        const rule *r = &rules->items[i - 1];
        bool beside = covers_beside(r, item, name);
        if (!beside && !covers(r, item, name))
            continue;
        truth about = callers_include(&r->principals, identity);
        truth member = callers_include(&r->groups, identity);
        about = member < about ? member : about;
        if (about == NO)
            continue;
        decision d = decide_by(r, identity, about);
        if (d == ASKED && !*ret)
            *ret = r;
        /* A rule about resources never denies a template. */
        if (d == ALLOWED ? about == YES : !beside)
            return d == DENIED && *ret ? ASKED : d;
    }
    *ret = NULL;
    return ALLOWED;
}

bool access_may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    const rule *r;
    return decide(user, identity, item, name, &r) == ALLOWED;
}

const char *access_scopes(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    const rule *r;
    return decide(user, identity, item, name, &r) == ASKED ? r->asks : NULL;
}

bool access_may_see_metrics(const mcp_identity *identity, const access_rules *rules)
{
    const rule *r;
    return !rules || decide(rules, identity, METRICS, (mcp_str){0}, &r) == ALLOWED;
}
