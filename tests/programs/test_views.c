/* The views of the configuration: what they show is what a slow model says, together with the rules,
 * and a view never shows or lets anybody change what the same caller may not without it; and the
 * mistakes in the section.
 */
#include "changes.h"
#include "dice.h"

/* ---- the sources ----------------------------------------------------------------------------- */

enum { DOCS = 1, SUB = 2, SHOP = 4, TWO = 8, PEER = 16, ALL = 31, NOBODYS = 32 };

static const char *const shop_tools[] = {"query_shop", "peer_query"}, *const shop_prompts[] = {
                                                                          "shop_p"};

static const view_source served[] = {
    {.path = "/f/docs", .place = "file:///f/docs"},
    {.path = "/f/docs/sub", .place = "file:///f/docs/sub"},
    {.name = "shop",
     .place = "sqlite://shop/",
     .tools = shop_tools,
     .n_tools = 2,
     .prompts = shop_prompts,
     .n_prompts = 1},
    {.place = "mcp+peer_two:", .names = "peer_two_"}, /* its module chose the name */
    {.name = "peer", .place = "mcp+peer:", .names = "peer_"},
};

/* Everything that is asked about, and the sources to which it belongs. */
static const struct {
    mcp_item item;
    const char *name;
    unsigned of;
} things[] = {
    {MCP_ITEM_RESOURCE, "file:///f/docs", DOCS},
    {MCP_ITEM_RESOURCE, "file:///f/docs/x.md", DOCS},
    {MCP_ITEM_RESOURCE, "file:///f/docs/sub", DOCS | SUB},
    {MCP_ITEM_RESOURCE, "file:///f/docs/sub/x.key", DOCS | SUB},
    {MCP_ITEM_RESOURCE, "file:///f/docs2/x.md", 0},
    {MCP_ITEM_RESOURCE, "file:///f", 0},
    {MCP_ITEM_RESOURCE, "sqlite://shop/", SHOP},
    {MCP_ITEM_RESOURCE, "sqlite://shop/sale/1", SHOP},
    {MCP_ITEM_RESOURCE, "sqlite://shopping/sale", 0},
    {MCP_ITEM_RESOURCE, "mcp+peer:a/b?x=1", PEER},
    {MCP_ITEM_RESOURCE, "ui://mcp+peer/a", PEER},
    {MCP_ITEM_RESOURCE, "mcp+peer_two:a", TWO},
    {MCP_ITEM_RESOURCE, "ui://mcp+peer_two/a", TWO},
    {MCP_ITEM_RESOURCE, "other:x", 0},
    {MCP_ITEM_TOOL, "query_shop", SHOP},
    {MCP_ITEM_TOOL, "peer_query", SHOP}, /* whatever its name begins with */
    {MCP_ITEM_TOOL, "peer_x", PEER},
    {MCP_ITEM_TOOL, "peer_two", PEER},
    {MCP_ITEM_TOOL, "peer_two_x", TWO},
    {MCP_ITEM_TOOL, "read_resource", ALL | NOBODYS},
    {MCP_ITEM_TOOL, "deploy", NOBODYS}, /* commands */
    {MCP_ITEM_TOOL, "peer_command", NOBODYS},
    {MCP_ITEM_TEMPLATE, "file:///{+path}", DOCS | SUB},
    {MCP_ITEM_TEMPLATE, "file:///f/docs/sub/{+path}", DOCS | SUB},
    {MCP_ITEM_TEMPLATE, "sqlite://shop/{table}", SHOP},
    {MCP_ITEM_TEMPLATE, "sqlite://shop/{table}/{key}", SHOP},
    {MCP_ITEM_TEMPLATE, "mcp+peer:{x}", PEER},
    {MCP_ITEM_TEMPLATE, "mcp+pe{x}", PEER | TWO},
    {MCP_ITEM_TEMPLATE, "{+uri}", ALL},
    {MCP_ITEM_TEMPLATE, "other:{x}", 0},
    {MCP_ITEM_PROMPT, "shop_p", SHOP},
    {MCP_ITEM_PROMPT, "peer_p", PEER},
    {MCP_ITEM_PROMPT, "peer_two_p", TWO},
    {MCP_ITEM_PROMPT, "review", ALL | NOBODYS},
};

/* What a view may write in "sources". Relative words are paths in /f. */
static const struct {
    const char *word;
    unsigned names;
} words_of_sources[] = {
    {"docs", DOCS},
    {"/f/docs", DOCS},
    {"docs/sub", SUB},
    {"docs/**", SUB},
    {"docs**", DOCS | SUB},
    {"shop", SHOP},
    {"peer", PEER},
    {"peer_two", TWO},
    {"peer*", PEER | TWO},
    {"*", DOCS | SHOP | PEER | TWO},
    {"**", ALL},
};

static const char *const globs_of_tools[] = {"query_shop", "peer_*", "*",      "read_resource",
                                             "deploy",     "d*",     "nothing"};
static const char *const globs_of_uris[] = {"file:///f/docs/**", "**.key", "sqlite://shop/**",
                                            "mcp+peer:**",       "**",     "file:///f/docs",
                                            "mcp+peer_two:a"};

/* ---- generated configurations ---------------------------------------------------------------- */

enum { VIEWS = 3, MOST = 3, RULES = 4 };

typedef struct gen_view {
    size_t n_sources, n_tools; /* 0: all */
    size_t sources[MOST], tools[MOST];
} gen_view;

typedef struct gen_rule {
    size_t caller;  /* CALLERS: everybody */
    unsigned views; /* bits; 0: all, and none */
    mcp_effect effect;
    bool change;            /* about changing, and not about reading and calling */
    const char *uri, *tool; /* both NULL: everything */
} gen_rule;

typedef struct gen {
    gen_view views[VIEWS];
    gen_rule rules[RULES];
    size_t n_rules;
} gen;

static const char *const callers[] = {[STDIO] = "stdio", [ANNA] = "anna", [NOBODY] = "anonymous"};
enum { ASKING = NOBODY + 1 };

static gen generate(void)
{
    gen g = {.n_rules = dice(RULES + 1)};
    for (size_t i = 0; i < VIEWS; i++) {
        gen_view *v = &g.views[i];
        v->n_sources = dice(MOST + 1);
        v->n_tools = dice(2) ? dice(MOST + 1) : 0;
        for (size_t k = 0; k < MOST; k++) {
            v->sources[k] = dice(COUNT(words_of_sources));
            v->tools[k] = dice(COUNT(globs_of_tools));
        }
    }
    for (size_t i = 0; i < g.n_rules; i++) {
        gen_rule *r = &g.rules[i];
        unsigned kind = dice(4);
        r->caller = dice(2) ? dice(ASKING) : CALLERS;
        r->views = dice(2) ? 1 + dice((1U << VIEWS) - 1) : 0;
        r->change = dice(3) == 0;
        r->effect = dice(2)                ? MCP_EFFECT_ALLOW
                    : r->change && dice(2) ? MCP_EFFECT_ASK
                                           : MCP_EFFECT_DENY;
        if (kind == 1)
            r->tool = globs_of_tools[dice(COUNT(globs_of_tools))];
        if (kind > 1)
            r->uri = globs_of_uris[dice(COUNT(globs_of_uris))];
    }
    return g;
}

static char *put_words(char *to, const char *key, size_t n, const char *(*word)(const size_t *at),
                       const size_t *at, bool *first)
{
    if (!n)
        return to;
    to += sprintf(to, "%s\"%s\":", *first ? "" : ",", key);
    *first = false;
    if (n == 1 && dice(2))
        return to + sprintf(to, "\"%s\"", word(at));
    for (size_t i = 0; i < n; i++)
        to += sprintf(to, "%s\"%s\"", i ? "," : "[", word(at + i));
    return to + sprintf(to, "]");
}

static const char *source_word(const size_t *at)
{
    return words_of_sources[*at].word;
}

static const char *tool_word(const size_t *at)
{
    return globs_of_tools[*at];
}

static const char tools_section[] =
    "\"tools\":[{\"name\":\"deploy\",\"description\":\"d\",\"command\":[\"true\"]},"
    "{\"name\":\"peer_command\",\"description\":\"d\",\"command\":[\"true\"]}]";

static void put_config(char *to, const gen *g)
{
    static const char *const effects[] = {"deny", "ask", "allow"};
    to += sprintf(to, "{%s,\"views\":{", tools_section);
    for (size_t i = 0; i < VIEWS; i++) {
        bool first = true;
        to += sprintf(to, "%s\"v%zu\":{", i ? "," : "", i);
        to = put_words(to, "sources", g->views[i].n_sources, source_word, g->views[i].sources,
                       &first);
        to = put_words(to, "tools", g->views[i].n_tools, tool_word, g->views[i].tools, &first);
        to += sprintf(to, "}");
    }
    to += sprintf(to, "},\"access\":[");
    for (size_t i = 0; i < g->n_rules; i++) {
        const gen_rule *r = &g->rules[i];
        to += sprintf(to, "%s{\"effect\":\"%s\"", i ? "," : "", effects[r->effect]);
        if (r->caller != CALLERS)
            to += sprintf(to, ",\"principal\":\"%s\"", callers[r->caller]);
        for (size_t k = 0, n = 0; k < VIEWS; k++)
            if (r->views & 1U << k)
                to += sprintf(to, "%s\"v%zu\"", n++ ? "," : ",\"view\":[", k);
        to += sprintf(to, "%s%s", r->views ? "]" : "",
                      r->change ? ",\"operations\":[\"change\"]" : "");
        if (r->uri)
            to += sprintf(to, ",\"resources\":\"%s\"", r->uri);
        if (r->tool)
            to += sprintf(to, ",\"tools\":\"%s\"", r->tool);
        to += sprintf(to, "}");
    }
    sprintf(to, "]}");
}

/* ---- the model ------------------------------------------------------------------------------- */

/* A glob, one star at a time. */
static bool model_match(const char *glob, const char *text, size_t len)
{
    if (!*glob)
        return len == 0;
    if (*glob != '*')
        return len && *glob == *text && model_match(glob + 1, text + 1, len - 1);
    bool many = glob[1] == '*';
    for (size_t i = 0; i <= len; i++) {
        if (model_match(glob + 1 + many, text + i, len - i))
            return true;
        if (i < len && !many && text[i] == '/')
            return false;
    }
    return false;
}

static bool model_shows(const gen_view *v, size_t thing)
{
    unsigned named = 0;
    bool is_tool = things[thing].item == MCP_ITEM_TOOL, matches = !v->n_tools;
    for (size_t i = 0; i < v->n_sources; i++)
        named |= words_of_sources[v->sources[i]].names;
    for (size_t i = 0; i < v->n_tools; i++)
        matches = matches || model_match(globs_of_tools[v->tools[i]], things[thing].name,
                                         strlen(things[thing].name));
    if (is_tool && !matches)
        return false;
    if (!v->n_sources || things[thing].of & named)
        return true;
    return is_tool && things[thing].of == NOBODYS && v->n_tools; /* a command that is named */
}

static bool model_covers(const gen_rule *r, size_t thing)
{
    const char *name = things[thing].name;
    if (!r->uri && !r->tool)
        return true;
    if (things[thing].item == MCP_ITEM_TOOL)
        return r->tool && model_match(r->tool, name, strlen(name));
    if (things[thing].item != MCP_ITEM_RESOURCE || !r->uri)
        return false;
    return model_match(r->uri, name, strcspn(name, "?")) ||
           (r->effect == MCP_EFFECT_DENY && model_match(r->uri, name, strlen(name)));
}

/* What the rules say in a view; VIEWS stands for none. */
static mcp_effect model_rules(const gen *g, size_t caller, size_t in, size_t thing, bool change)
{
    mcp_effect result = change ? MCP_EFFECT_DENY : MCP_EFFECT_ALLOW;
    for (size_t i = 0; i < g->n_rules; i++) {
        const gen_rule *r = &g->rules[i];
        bool about = (r->caller == CALLERS || r->caller == caller) && r->change == change &&
                     (!r->views || (in < VIEWS && r->views & 1U << in));
        if (about && model_covers(r, thing))
            result = r->effect;
    }
    return result;
}

static mcp_effect model(const gen *g, size_t caller, size_t in, size_t thing, bool change)
{
    bool shown = in == VIEWS || model_shows(&g->views[in], thing);
    return shown ? model_rules(g, caller, in, thing, change) : MCP_EFFECT_DENY;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static mcp_identity
    *in_view[ASKING][VIEWS + 2]; /* VIEWS: in none; the last one: in one that is gone */

static int make_all(void **state)
{
    static const char *const names[] = {"v0", "v1", "v2", NULL, "gone"};
    if (make_callers(state) != 0)
        return -1;
    for (size_t c = 0; c < ASKING; c++)
        for (size_t v = 0; v < COUNT(names); v++) {
            mcp_identity_options o = options[c];
            o.size = sizeof(o);
            o.view = names[v];
            if ((o.principal || o.view) && mcp_identity_new(&o, &in_view[c][v], NULL) != MCP_OK)
                return -1;
        }
    return 0;
}

static int free_all(void **state)
{
    for (size_t c = 0; c < ASKING; c++)
        for (size_t v = 0; v < VIEWS + 2; v++)
            mcp_identity_unref(in_view[c][v]);
    return free_callers(state);
}

static mcp_effect asked(access_rules *made, size_t caller, size_t in, size_t thing, bool change)
{
    const mcp_identity *identity = in_view[caller][in];
    mcp_str name = mcp_str_from(things[thing].name);
    if (change)
        return access_may_do(identity, MCP_OPERATION_CHANGE, things[thing].item, name, 0, made);
    return access_may(identity, things[thing].item, name, made) ? MCP_EFFECT_ALLOW
                                                                : MCP_EFFECT_DENY;
}

/* A rule about resources also allows templates, which the model does not know. */
static bool is_known(const gen *g, size_t thing)
{
    for (size_t i = 0; i < g->n_rules; i++)
        if (things[thing].item == MCP_ITEM_TEMPLATE && g->rules[i].uri)
            return false;
    return true;
}

static bool has_view_rules(const gen *g)
{
    bool any = false;
    for (size_t i = 0; i < g->n_rules; i++)
        any = any || g->rules[i].views;
    return any;
}

static void compare(access_rules *made, const gen *g, const char *text, size_t counts[3])
{
    bool change = dice(4) == 0;
    size_t caller = dice(ASKING), in = dice(VIEWS + 1), thing = dice(COUNT(things));
    if (!is_known(g, thing))
        return;
    mcp_effect found = asked(made, caller, in, thing, change);
    mcp_effect expected = model(g, caller, in, thing, change);
    if (found != expected)
        fail_msg("%s: %s in %zu, %s: %d, expected %d", text, callers[caller], in,
                 things[thing].name, (int)found, (int)expected);
    if (!has_view_rules(g) && found > asked(made, caller, VIEWS, thing, change))
        fail_msg("%s: %s gets more in %zu: %s", text, callers[caller], in, things[thing].name);
    assert_int_equal(asked(made, caller, VIEWS + 1, thing, change), MCP_EFFECT_DENY);
    counts[found]++;
}

static void as_a_slow_model_decides(void **state)
{
    size_t counts[3] = {0};
    (void)state;
    dice_seed();
    for (size_t run = 0; run < 1500; run++) {
        char text[6000];
        config *c;
        settings s;
        access_rules *made;
        gen g = generate();
        put_config(text, &g);
        if (read_config(text, &c, &s, &made) != MCP_OK)
            fail_msg("%s: %s", text, told);
        assert_true(access_restricts(made));
        if (views_bind(access_views(made), c, served, COUNT(served)) != MCP_OK)
            fail_msg("%s: %s", text, told);
        for (size_t i = 0; i < 100; i++)
            compare(made, &g, text, counts);
        forget(c, &s, made);
    }
    for (size_t i = 0; i < COUNT(counts); i++)
        if (counts[i] < 300) /* each answer is given often */
            fail_msg("%zu of %zu", counts[i], i);
}

/* A view that names sources shows nothing until it knows them. */
static void before_the_sources_are_known(void **state)
{
    config *c;
    settings s;
    access_rules *made;
    (void)state;
    assert_int_equal(
        read_config("{\"views\":{\"v0\":{\"sources\":\"docs\"},\"v1\":{}}}", &c, &s, &made),
        MCP_OK);
    for (size_t i = 0; i < COUNT(things); i++) {
        assert_int_equal(asked(made, STDIO, 0, i, false), MCP_EFFECT_DENY);
        assert_int_equal(asked(made, STDIO, 1, i, false), MCP_EFFECT_ALLOW);
        assert_int_equal(asked(made, STDIO, VIEWS, i, false), MCP_EFFECT_ALLOW);
    }
    /* Names in /metrics are decided by rules alone. */
    assert_true(access_may_see_names(who[STDIO], made));
    assert_true(access_may_see_metrics(who[STDIO], made));
    forget(c, &s, made);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void mistakes(void **state)
{
    static const view_source absent[] = {{.path = "/f/docs", .place = NULL}};
    static const view_source unknown[] = {{.path = "/f/docs", .place = "file:///f/docs"},
                                          {.name = "x", .place = "x://x/", .unknown = true}};
    static const struct {
        const char *text;
        const view_source *list;
        size_t n;
        const char *told; /* NULL: it is right */
    } table[] = {
        {"{\"views\":{\"a\":{\"sources\":\"doc\"}}}", served, COUNT(served),
         "/views/a/sources: no source has this name or path"},
        {"{\"views\":{\"a\":{\"sources\":[\"docs\",\"shops\"]}}}", served, COUNT(served),
         "/views/a/sources/1: no source"},
        {"{\"views\":{\"a\":{\"sources\":\"sqlite:shop\"}}}", served, COUNT(served), "no source"},
        {"{\"views\":{\"a\":{\"sources\":\"later\"}}}", absent, COUNT(absent), NULL},
        {"{\"views\":{\"a\":{\"sources\":\"docs\"}}}", unknown, COUNT(unknown),
         "the source x cannot be left out"},
        {"{\"views\":{\"a\":{\"sources\":[\"docs\",\"x\"]}}}", unknown, COUNT(unknown), NULL},
        {"{\"views\":{\"a\":{\"tools\":\"t\"}}}", unknown, COUNT(unknown), NULL},
        {"{\"views\":{\"a/b\":{}}}", NULL, 0, "a~1b"},
        {"{\"views\":{\".\":{}}}", NULL, 0, "views"},
        {"{\"views\":{}}", NULL, 0, "views"},
        {"{\"views\":{\"a\":{\"access\":[]}}}", NULL, 0, "access"},
        {"{\"views\":{\"a\":{}},\"access\":[{\"effect\":\"deny\",\"view\":\"b\"}]}", NULL, 0,
         "there is no view b"},
        {"{\"access\":[{\"effect\":\"deny\",\"view\":[\"b\"]}]}", NULL, 0, "there is no view b"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        config *c;
        settings s;
        access_rules *made;
        int rc = read_config(table[i].text, &c, &s, &made);
        if (rc == MCP_OK)
            rc = views_bind(access_views(made), c, table[i].list, table[i].n);
        assert_int_equal(rc == MCP_OK, table[i].told == NULL);
        const char *pointer =
            table[i].told && table[i].told[0] == '/' ? strchr(table[i].told, ':') : NULL;
        if (table[i].told && !strstr(told, pointer ? pointer + 2 : table[i].told))
            fail_msg("%s: %s", table[i].text, told);
        forget(c, &s, made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_a_slow_model_decides),
        cmocka_unit_test(before_the_sources_are_known),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, make_all, free_all);
}
