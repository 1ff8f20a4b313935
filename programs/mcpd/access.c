/* access.c: the rules of the configuration: how they are read, and who sees what. What a caller may
 * change is in access_do.c.
 */
#define _GNU_SOURCE
#include "access.h"

#include <stdlib.h>
#include <string.h>

#include "access_rules.h"
#include "modules.h"
#include "oauth.h"
#include "source_write.h"

static const char *const keys[ACCESS_ITEMS] = {[MCP_ITEM_RESOURCE] = "resources",
                                               [MCP_ITEM_TEMPLATE] = "templates",
                                               [MCP_ITEM_PROMPT] = "prompts",
                                               [MCP_ITEM_TOOL] = "tools"};

/* What the rules are read from. */
typedef struct reading {
    config *c;          /* NULL without a file */
    const sources *all; /* NULL: none */
    char **folders;     /* the real paths of the sources that are files and folders */
    size_t n_folders;
    mcp_error *error;
    access_rules *made;
} reading;

void access_rule_clear(access_rule *r)
{
    callers_clear(&r->principals);
    callers_clear(&r->groups);
    free(r->views);
    for (size_t k = 0; k < ACCESS_ITEMS; k++)
        globs_clear(&r->what[k]);
}

void access_free(access_rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->count; i++)
        access_rule_clear(&rules->items[i]);
    free(rules->items);
    rates_free(rules->rates);
    views_free(rules->views);
    free(rules);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Adds a glob for URIs or paths. Paths are relative to the configuration's folder. In a folder that
 * is served, a link must not extend what may be changed. */
static int add_place(const reading *in, const access_rule *r, globs *to, mcp_str text)
{
    if (!glob_is_place(text))
        return globs_add_uri(to, text);
    const char *path = config_place(in->c, text);
    if (!path)
        return MCP_ENOMEM;
    return access_rule_grants(r)
               ? globs_add_path_until(to, path, (const char *const *)in->folders, in->n_folders)
               : globs_add_path(to, path);
}

static int add_glob(const reading *in, access_rule *r, unsigned item, const mcp_json *value,
                    const char *pointer)
{
    mcp_str text = mcp_json_string(value);
    globs *to = &r->what[item];
    int rc = memchr(text.ptr, 0, text.len) ? MCP_EINVAL
             : item == MCP_ITEM_RESOURCE   ? add_place(in, r, to, text)
                                           : globs_add(to, text);
    if (rc == MCP_EINVAL)
        return config_wrong(in->c, rc, pointer, "it contains a NUL character");
    if (rc == MCP_ELIMIT)
        return config_wrong(in->c, rc, pointer, "longer than 1024 bytes");
    return rc;
}

/* Adds a string, or a list of strings. */
static int add_globs(const reading *in, access_rule *r, unsigned item, const mcp_json *value,
                     const char *pointer)
{
    char below[160];
    int rc = MCP_OK;
    mcp_json_iter it = {0};
    if (mcp_json_is(value, MCP_JSON_STRING))
        return add_glob(in, r, item, value, pointer);
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(value, &it, NULL)) != NULL;) {
        snprintf(below, sizeof(below), "%s/%zu", pointer, it.index - 1);
        rc = add_glob(in, r, item, v, below);
    }
    return rc;
}

static int read_scopes(config *c, const mcp_json *value, const char *pointer, access_rule *r)
{
    const mcp_json *scope = mcp_json_get(value, "scope");
    mcp_str otherwise = mcp_json_string(mcp_json_get(value, "otherwise"));
    if (!scope)
        return MCP_OK;
    if (r->effect == MCP_EFFECT_DENY)
        return config_wrong(c, MCP_EINVAL, pointer,
                            "scope belongs into a rule that allows: it allows callers with the "
                            "scope, and denies all others");
    r->scopes = config_text(c, scope);
    if (!mcp_str_eq(otherwise, MCP_STR("hide")))
        r->asks = oauth_all_scopes(c, r->scopes);
    return r->scopes && (r->asks || mcp_str_eq(otherwise, MCP_STR("hide"))) ? MCP_OK : MCP_ENOMEM;
}

static unsigned read_operations(const mcp_json *list)
{
    unsigned set = 0;
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        for (int k = 0; k <= MCP_OPERATION_COMMIT; k++)
            if (mcp_str_eq(mcp_json_string(v), mcp_str_from(access_operation_word(k))))
                set |= ACCESS_BIT(k);
    }
    return list ? set : ACCESS_SEEING;
}

/* Reads what the rule says, and to which operations. */
static int read_effect(config *c, const mcp_json *value, const char *pointer, access_rule *r)
{
    mcp_str effect = mcp_json_string(mcp_json_get(value, "effect"));
    const mcp_json *operations = mcp_json_get(value, "operations");
    const mcp_json *metrics = mcp_json_get(value, "metrics");
    r->effect = mcp_str_eq(effect, MCP_STR("allow")) ? MCP_EFFECT_ALLOW
                : mcp_str_eq(effect, MCP_STR("ask")) ? MCP_EFFECT_ASK
                                                     : MCP_EFFECT_DENY;
    r->operations = read_operations(operations);
    r->names = mcp_str_eq(mcp_json_string(metrics), MCP_STR("names"));
    r->metrics = mcp_json_bool(metrics, false) || (r->names && r->effect == MCP_EFFECT_ALLOW);
    r->everything = !metrics;
    if (r->effect == MCP_EFFECT_ASK && (r->operations & ACCESS_SEEING))
        return config_wrong(c, MCP_EINVAL, pointer,
                            "ask is for operations that change something: name them in operations "
                            "(create, change, move, delete, commit), without read and call");
    if (metrics && operations)
        return config_wrong(c, MCP_EINVAL, pointer,
                            "metrics can only be seen: leave out operations, or make two rules");
    return MCP_OK;
}

/* Adds a view to a rule, in which there is room for it. */
static int add_view(config *c, const views *all, const mcp_json *value, const char *pointer,
                    access_rule *r)
{
    mcp_str name = mcp_json_string(value);
    const view *v = views_find(all, name);
    if (!v)
        return config_wrong(c, MCP_EINVAL, pointer, "there is no view %.*s in \"views\"",
                            (int)(name.len < 64 ? name.len : 64), name.ptr);
    r->views[r->n_views++] = v;
    return MCP_OK;
}

static int read_views(config *c, const views *all, const mcp_json *value, const char *pointer,
                      access_rule *r)
{
    char below[100];
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    if (!value)
        return MCP_OK;
    r->views = calloc(mcp_json_count(value) + 1, sizeof(const view *));
    if (!r->views)
        return MCP_ENOMEM;
    snprintf(below, sizeof(below), "%s/view", pointer);
    if (mcp_json_is(value, MCP_JSON_STRING))
        return add_view(c, all, value, below, r);
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(value, &it, NULL)) != NULL;) {
        snprintf(below, sizeof(below), "%s/view/%zu", pointer, it.index - 1);
        rc = add_view(c, all, v, below, r);
    }
    return rc;
}

int access_read_callers(config *c, const views *all, const mcp_json *value, const char *pointer,
                        access_rule *r)
{
    int rc = read_views(c, all, mcp_json_get(value, "view"), pointer, r);
    if (rc == MCP_OK)
        rc = callers_read_principals(c, value, pointer, &r->principals);
    if (rc == MCP_OK)
        rc = callers_read_groups(c, value, pointer, &r->groups);
    return rc;
}

static int read_rule(const reading *in, const mcp_json *value, size_t i, access_rule *r)
{
    char pointer[64];
    snprintf(pointer, sizeof(pointer), "/access/%zu", i);
    int rc = read_effect(in->c, value, pointer, r);
    if (rc == MCP_OK)
        rc = access_read_callers(in->c, in->made->views, value, pointer, r);
    if (rc == MCP_OK)
        rc = read_scopes(in->c, value, pointer, r);
    for (unsigned k = 0; rc == MCP_OK && k < ACCESS_ITEMS; k++) {
        const mcp_json *list = mcp_json_get(value, keys[k]);
        snprintf(pointer, sizeof(pointer), "/access/%zu/%s", i, keys[k]);
        r->has[k] = list != NULL;
        r->everything = r->everything && !list;
        if (list)
            rc = add_globs(in, r, k, list, pointer);
    }
    return rc;
}

/* ---- what sources say themselves ------------------------------------------------------------- */

static access_rule *add_rule(access_rules *made)
{
    access_rule *grown = realloc(made->items, (made->count + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    made->items = grown;
    grown[made->count] = (access_rule){.effect = MCP_EFFECT_DENY};
    return &grown[made->count++];
}

/* One parameter of one source. */
typedef struct writing {
    const reading *in;
    const source *of;
} writing;

static void tell_place(const writing *w, const char *pointer, const char *why)
{
    char whole[96];
    snprintf(whole, sizeof(whole), "/sources/%zu%s", w->of->index, pointer);
    config_wrong(w->in->c, MCP_EINVAL, whole, "write: %s", why);
}

static void tell_wrong(const char *pointer, const char *why, void *user)
{
    const writing *w = user;
    if (w->in->c && w->of->base && !w->of->of_host)
        tell_place(w, pointer, why);
    else
        modules_explain(w->in->error, MCP_EINVAL, "%.100s?write=: %s", w->of->text, why);
}

static int add_write(const char *below, const char *pointer, void *user)
{
    const writing *w = user;
    access_rule *r = add_rule(w->in->made);
    int rc = r ? access_read_write(r, w->of->text, below) : MCP_ENOMEM;
    if (rc == MCP_ELIMIT)
        tell_wrong(pointer, "longer than 1024 bytes", user);
    if (rc == MCP_EINVAL)
        tell_wrong(pointer, access_write_needs, user);
    return rc;
}

/* Adds the rules that sources stand for. They come first, so that a rule of the file can take away
 * what they give. */
static int read_writes(const reading *in)
{
    int rc = MCP_OK;
    for (size_t i = 0; in->all && rc == MCP_OK && i < in->all->count; i++)
        rc = source_write_globs(&in->all->items[i], add_write, tell_wrong,
                                &(writing){in, &in->all->items[i]});
    return rc;
}

/* ---- all rules ------------------------------------------------------------------------------- */

static int read_list(const reading *in)
{
    const mcp_json *list = in->c ? mcp_json_get(config_root(in->c), "access") : NULL;
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        access_rule *r = add_rule(in->made);
        rc = r ? read_rule(in, v, it.index - 1, r) : MCP_ENOMEM;
        if (rc == MCP_OK && (r->operations & ACCESS_SEEING))
            in->made->restrict_seeing = true;
    }
    return rc;
}

static int find_folders(reading *in)
{
    size_t count = in->all ? in->all->count : 0;
    in->folders = calloc(count + 1, sizeof(*in->folders));
    for (size_t i = 0; in->folders && i < count; i++) {
        char *real =
            source_is_module(&in->all->items[i]) ? NULL : realpath(in->all->items[i].text, NULL);
        if (real)
            in->folders[in->n_folders++] = real;
    }
    return in->folders ? MCP_OK : MCP_ENOMEM;
}

int access_read(config *c, const sources *all, access_rules **ret, mcp_error *error)
{
    reading in = {.c = c, .all = all, .error = error, .made = calloc(1, sizeof(*in.made))};
    int rc = in.made ? find_folders(&in) : MCP_ENOMEM;
    *ret = NULL;
    if (rc == MCP_OK)
        rc = views_read(c, &in.made->views);
    if (rc == MCP_OK)
        rc = read_writes(&in);
    if (rc == MCP_OK)
        rc = read_list(&in);
    if (rc == MCP_OK)
        rc = rates_read(c, in.made->views, &in.made->rates);
    for (size_t i = 0; i < in.n_folders; i++)
        free(in.folders[i]);
    free(in.folders);
    if (rc == MCP_OK && (in.made->count || in.made->views || in.made->rates))
        *ret = in.made;
    else
        access_free(in.made);
    return rc;
}

bool access_restricts(const access_rules *rules)
{
    return rules && (rules->restrict_seeing || rules->views);
}

const rates *access_rates(const access_rules *rules)
{
    return rules ? rules->rates : NULL;
}

static void each_group(const access_rule *r, void (*each)(const issuer_test *group, void *user),
                       void *user)
{
    for (size_t i = 0; i < r->groups.n_tests; i++)
        each(&r->groups.tests[i], user);
}

void access_each_group(const access_rules *rules,
                       void (*each)(const issuer_test *group, void *user), void *user)
{
    const access_rule *r;
    for (size_t i = 0; rules && i < rules->count; i++)
        each_group(&rules->items[i], each, user);
    for (size_t i = 0; rules && (r = rates_callers(rules->rates, i)) != NULL; i++)
        each_group(r, each, user);
}

views *access_views(const access_rules *rules)
{
    return rules ? rules->views : NULL;
}

/* ---- checking access ------------------------------------------------------------------------- */

/* Returns whether the rule may match a URI that a template expands to. All these URIs begin with
 * the part before the first expression. */
static bool leads_to(const access_rule *r, mcp_str tmpl)
{
    const char *brace = tmpl.len ? memchr(tmpl.ptr, '{', tmpl.len) : NULL;
    if (brace)
        tmpl.len = (size_t)(brace - tmpl.ptr);
    return globs_may_match(&r->what[MCP_ITEM_RESOURCE], tmpl);
}

/* Whoever serves a URI may ignore its query, and anybody can add one. So a rule that allows compares
 * the part before it, and a rule that denies also the whole. */
static bool covers_resource(const access_rule *r, mcp_str uri)
{
    const globs *list = &r->what[MCP_ITEM_RESOURCE];
    const char *query = uri.len ? memchr(uri.ptr, '?', uri.len) : NULL;
    mcp_str path = {uri.ptr, query ? (size_t)(query - uri.ptr) : uri.len};
    return globs_match(list, path) ||
           (query && r->effect == MCP_EFFECT_DENY && globs_match(list, uri));
}

bool access_covers(const access_rule *r, unsigned item, mcp_str name)
{
    if (r->everything)
        return true;
    if (item == ACCESS_METRICS)
        return r->metrics;
    if (item == ACCESS_NAMES)
        return r->names || (r->metrics && r->effect == MCP_EFFECT_DENY);
    if (!r->has[item])
        return false;
    return item == MCP_ITEM_RESOURCE ? covers_resource(r, name) : globs_match(&r->what[item], name);
}

/* Whether the rule also allows a template, because of the resources that it allows. */
static bool covers_beside(const access_rule *r, unsigned item, mcp_str name)
{
    return item == MCP_ITEM_TEMPLATE && !r->everything && !r->has[item] &&
           r->effect == MCP_EFFECT_ALLOW && r->has[MCP_ITEM_RESOURCE] && leads_to(r, name);
}

bool access_in_view(const access_rules *rules, const mcp_identity *identity, mcp_item item,
                    mcp_str name)
{
    const char *of = mcp_identity_view(identity);
    const view *v = of ? views_find(rules->views, mcp_str_from(of)) : NULL;
    return !of || (v && view_shows(v, item, name));
}

static bool is_about_view(const access_rule *r, const char *of)
{
    for (size_t i = 0; of && i < r->n_views; i++)
        if (strcmp(view_name(r->views[i]), of) == 0)
            return true;
    return !r->views;
}

truth access_is_about(const access_rule *r, const mcp_identity *identity)
{
    if (!is_about_view(r, mcp_identity_view(identity)))
        return NO;
    truth about = callers_include(&r->principals, identity);
    truth member = callers_include(&r->groups, identity);
    return member < about ? member : about;
}

mcp_effect access_effect(const access_rule *r, const mcp_identity *identity)
{
    bool lacks = r->scopes && !mcp_identity_has_scopes(identity, r->scopes);
    return lacks ? MCP_EFFECT_DENY : r->effect;
}

typedef enum decision { DENIED, ALLOWED, ASKED } decision; /* ASKED: for scopes */

static decision decide_by(const access_rule *r, const mcp_identity *identity, truth about)
{
    if (access_effect(r, identity) == MCP_EFFECT_ALLOW)
        return ALLOWED;
    if (r->effect == MCP_EFFECT_DENY)
        return DENIED;
    /* Only a token of an issuer can get more scopes. */
    return r->asks && about == YES && mcp_identity_issuer(identity) ? ASKED : DENIED;
}

/* What no rule decides: only the names in /metrics have to be allowed. */
static decision undecided(unsigned item)
{
    return item == ACCESS_NAMES ? DENIED : ALLOWED;
}

/* Finds the rule that decides. If it is unknown whether a rule is about the caller, the rule counts
 * only if it refuses the caller. *ret is the rule of which ASKED asks for scopes. */
static decision decide(const access_rules *rules, const mcp_identity *identity, unsigned item,
                       mcp_str name, const access_rule **ret)
{
    unsigned seeing = ACCESS_BIT(item == MCP_ITEM_TOOL ? MCP_OPERATION_CALL : MCP_OPERATION_READ);
    *ret = NULL;
    for (size_t i = rules->count; i > 0; i--) {
        const access_rule *r = &rules->items[i - 1];
        if (!(r->operations & seeing))
            continue;
        bool beside = covers_beside(r, item, name);
        if (!beside && !access_covers(r, item, name))
            continue;
        truth about = access_is_about(r, identity);
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
    return undecided(item);
}

bool access_may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    const access_rule *r;
    return access_in_view(user, identity, item, name) &&
           decide(user, identity, item, name, &r) == ALLOWED;
}

const char *access_scopes(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    const access_rule *r;
    bool asks = access_in_view(user, identity, item, name) &&
                decide(user, identity, item, name, &r) == ASKED;
    return asks ? r->asks : NULL;
}

bool access_may_see_metrics(const mcp_identity *identity, const access_rules *rules)
{
    const access_rule *r;
    return !rules || decide(rules, identity, ACCESS_METRICS, (mcp_str){0}, &r) == ALLOWED;
}

bool access_may_see_names(const mcp_identity *identity, const access_rules *rules)
{
    const access_rule *r;
    return !rules || !rules->restrict_seeing ||
           decide(rules, identity, ACCESS_NAMES, (mcp_str){0}, &r) == ALLOWED;
}
