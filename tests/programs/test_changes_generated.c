/* Generated access rules: the decisions about changes are those of a slow model, and no rule of
 * earlier versions lets anybody change anything.
 */
#include "changes.h"
#include "dice.h"

/* ---- generated rules ------------------------------------------------------------------------- */

enum { N = 0, U = 1, Y = 2 }; /* whether a rule is about a caller */

/* STDIO ANNA NOBODY MEMBER UNCLEAR */
static const struct {
    const char *json;
    int about[CALLERS];
} principals[] =
    {
        {"", {Y, Y, Y, Y, Y}},
        {",\"principal\":\"stdio\"", {Y, N, N, N, N}},
        {",\"principal\":\"anna\"", {N, Y, N, N, N}},
        {",\"principal\":\"*\"", {Y, Y, Y, Y, Y}},
        {",\"principal\":\"an*\"", {N, Y, Y, N, N}},
        {",\"principal\":[\"stdio\",\"anonymous\"]", {Y, N, Y, N, N}},
        {",\"principal\":{\"issuer\":\"https://a\"}", {N, N, N, Y, Y}},
        {",\"principal\":[\"anna\",{\"issuer\":\"https://a\",\"subject\":\"bert\"}]",
         {N, Y, N, N, Y}},
        {",\"principal\":{\"issuer\":\"https://a\",\"claims\":{\"email\":\"*@x\"}}",
         {N, N, N, Y, U}},
},
  groups[] = {
      {"", {Y, Y, Y, Y, Y}},
      {"", {Y, Y, Y, Y, Y}},
      {",\"group\":\"staff\"", {N, N, N, Y, U}},
      {",\"group\":\"other\"", {N, N, N, N, U}},
};

static const char *const globs_of_uris[] = {
    "mem:a",     "mem:a/**", "mem:**",      "mem:a/*",     "**.key", "mem:c",
    "mem:c?x=1", "**",       "mem:a/b.key", "mem:a/b/c/*", "mem:*",  "mem:**?x=*"};
static const char *const globs_of_tools[] = {"t", "u", "*", "t*"};
static const char *const uris[] = {"mem:a",     "mem:a/b",         "mem:a/b.key", "mem:c",
                                   "mem:c?x=1", "mem:a/b.key?y=2", "mem:a/b/c/d"};
static const char *const tools[] = {"t", "u", "tt"};

typedef struct generated {
    size_t principal, group;
    unsigned operations; /* 0: none are named */
    mcp_effect effect;
    bool scope;
    const char *resource, *tool; /* both NULL: everything */
} generated;

/* `earlier`: as in versions without operations. */
static generated generate(bool earlier)
{
    generated g = {.principal = dice(COUNT(principals)), .group = dice(COUNT(groups))};
    unsigned kind = dice(5);
    if (!earlier && dice(5))
        g.operations = dice(2) ? 1 + dice(127) : 4 * (1 + dice(31));
    g.effect = dice(2) ? MCP_EFFECT_ALLOW : MCP_EFFECT_DENY;
    if (g.operations && !(g.operations & 3) && dice(2))
        g.effect = MCP_EFFECT_ASK;
    g.scope = g.effect != MCP_EFFECT_DENY && dice(4) == 0;
    if (kind < 4)
        g.resource = globs_of_uris[dice(COUNT(globs_of_uris))];
    if (kind == 3 || (kind == 4 && dice(2)))
        g.tool = globs_of_tools[dice(COUNT(globs_of_tools))];
    return g;
}

static const char *const words[] = {"read", "call", "create", "change", "move", "delete", "commit"};
static const char *const effects[] = {"deny", "ask", "allow"};

static char *put_rule(char *to, const generated *g)
{
    to += sprintf(to, "{\"effect\":\"%s\"%s%s", effects[g->effect], principals[g->principal].json,
                  groups[g->group].json);
    for (size_t k = 0, n = 0; k < COUNT(words); k++)
        if (g->operations & 1U << k)
            to += sprintf(to, "%s\"%s\"", n++ ? "," : ",\"operations\":[", words[k]);
    to += sprintf(to, "%s%s", g->operations ? "]" : "", g->scope ? ",\"scope\":\"write\"" : "");
    if (g->resource)
        to += sprintf(to, ",\"resources\":[\"%s\"]", g->resource);
    if (g->tool)
        to += sprintf(to, ",\"tools\":\"%s\"", g->tool);
    return to + sprintf(to, "}");
}

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

static bool model_covers(const generated *g, bool tool, const char *name)
{
    if (!g->resource && !g->tool)
        return true;
    if (tool)
        return g->tool && model_match(g->tool, name, strlen(name));
    if (!g->resource)
        return false;
    /* A rule that grants never looks at a query. */
    return model_match(g->resource, name, strcspn(name, "?")) ||
           (g->effect == MCP_EFFECT_DENY && model_match(g->resource, name, strlen(name)));
}

/* What is decided if each rule that may be about the caller is so, or is not, as the bits of `world`
 * say: the last one that matches decides. */
static mcp_effect model_world(const generated *rules, size_t n, unsigned world, size_t caller,
                              int operation, bool tool, const char *name, bool exact)
{
    mcp_effect result = operation <= MCP_OPERATION_CALL ? MCP_EFFECT_ALLOW : MCP_EFFECT_DENY;
    for (size_t i = 0; i < n; i++) {
        const generated *g = &rules[i];
        unsigned operations = g->operations ? g->operations : 3;
        int a = principals[g->principal].about[caller], b = groups[g->group].about[caller];
        int about = a < b ? a : b;
        mcp_effect effect = g->scope && caller != MEMBER ? MCP_EFFECT_DENY : g->effect;
        if (!(operations & 1U << operation) || about == N || (about == U && !(world & 1U << i)) ||
            !model_covers(g, tool, name))
            continue;
        if (exact && effect != MCP_EFFECT_DENY) {
            const char *glob = tool ? g->tool : g->resource;
            size_t len = tool ? strlen(name) : strcspn(name, "?");
            if (!glob || strchr(glob, '*') || strlen(glob) != len || strncmp(glob, name, len) != 0)
                continue;
            effect = MCP_EFFECT_ASK;
        }
        result = effect;
    }
    return result;
}

/* The least of all worlds. */
static mcp_effect model(const generated *rules, size_t n, size_t caller, int operation, bool tool,
                        const char *name, bool exact)
{
    mcp_effect result = MCP_EFFECT_ALLOW;
    size_t unknown = caller == UNCLEAR ? n : 0;
    for (unsigned world = 0; world < 1U << unknown; world++) {
        mcp_effect e = model_world(rules, n, world, caller, operation, tool, name, exact);
        result = e < result ? e : result;
    }
    return result;
}

enum { MOST_RULES = 6 };

/* Compares one question; counts the answers. */
static void compare(access_rules *made, const generated *rules, size_t n, const char *text,
                    size_t counts[3])
{
    size_t caller = dice(CALLERS);
    int operation = (int)dice(COUNT(words));
    bool tool = dice(4) == 0, exact = dice(3) == 0;
    const char *name = tool ? tools[dice(COUNT(tools))] : uris[dice(COUNT(uris))];
    mcp_item item = tool ? MCP_ITEM_TOOL : MCP_ITEM_RESOURCE;
    mcp_effect found;
    if (operation <= MCP_OPERATION_CALL) {
        operation = tool ? MCP_OPERATION_CALL : MCP_OPERATION_READ;
        exact = false;
        found = access_may(who[caller], item, mcp_str_from(name), made) ? MCP_EFFECT_ALLOW
                                                                        : MCP_EFFECT_DENY;
    } else {
        found = effect_of(made, caller, (mcp_operation)operation, item, name, exact);
    }
    mcp_effect expected = model(rules, n, caller, operation, tool, name, exact);
    if (found != expected)
        fail_msg("%s: caller %zu, %s %s%s: %s, expected %s", text, caller, words[operation], name,
                 exact ? " exactly" : "", effects[found], effects[expected]);
    counts[found]++;
}

static void as_a_slow_model_decides(void **state)
{
    size_t counts[3] = {0};
    (void)state;
    for (size_t run = 0; run < 1000; run++) {
        char text[4000], *to = text + sprintf(text, "{" OAUTH "\"access\": [");
        generated rules[MOST_RULES];
        size_t n = 1 + dice(MOST_RULES);
        config *c;
        settings s;
        access_rules *made;
        for (size_t i = 0; i < n; i++) {
            rules[i] = generate(false);
            if (i)
                *to++ = ',';
            to = put_rule(to, &rules[i]);
        }
        strcpy(to, "]}");
        if (read_config(text, &c, &s, &made) != MCP_OK)
            fail_msg("%s: %s", text, told);
        for (size_t i = 0; i < 60; i++)
            compare(made, rules, n, text, counts);
        forget(c, &s, made);
    }
    for (size_t i = 0; i < COUNT(counts); i++)
        if (counts[i] < 1000) /* each answer is given often */
            fail_msg("%zu of %s", counts[i], effects[i]);
}

/* Everything that earlier versions have in a rule, and sources. */
static char *put_earlier(char *to)
{
    static const char *const more[] = {
        "",
        "",
        ",\"templates\":\"mem:{x}\"",
        ",\"prompts\":[\"p*\",\"q\"]",
        ",\"templates\":\"**\",\"prompts\":\"**\"",
        ",\"resources\":[\"/**\",\"d\",\"~/x\"]",
        ",\"metrics\":true",
    };
    generated g = generate(true);
    size_t k = dice(COUNT(more));
    if (k > 4)
        g.resource = g.tool = NULL;
    to = put_rule(to, &g) - 1;
    to += sprintf(to, "%s", more[k]);
    if (g.scope && dice(2))
        to += sprintf(to, ",\"otherwise\":\"%s\"", dice(2) ? "hide" : "challenge");
    return to + sprintf(to, "}");
}

static void no_earlier_rule_lets_anybody_write(void **state)
{
    static const char *const served[] = {"\"/\"",
                                         "\"d\"",
                                         "{\"path\": \"/tmp\"}",
                                         "\"/a?b\"",
                                         "{\"path\": \"d?write=**\"}",
                                         "\"git:d?write=**\"",
                                         "{\"module\": \"git\", \"source\": \"/\"}"};
    static const char *const names[] = {
        "file:///", "file:///f/d/x", "mem:a",         "mem:a/b.key", "t",
        "p1",       "mem:{x}",       "git://d/HEAD/a"};
    size_t asked = 0, with_rules = 0;
    (void)state;
    for (size_t run = 0; run < 700; run++) {
        char text[6000];
        char *to = text + sprintf(text, "{" OAUTH "\"sources\": [%s,%s], \"access\": [",
                                  served[dice(COUNT(served))], served[dice(COUNT(served))]);
        size_t n = dice(MOST_RULES);
        config *c;
        settings s;
        access_rules *made;
        for (size_t i = 0; i < n; i++) {
            if (i)
                *to++ = ',';
            to = put_earlier(to);
        }
        strcpy(to, "]}");
        if (read_config(text, &c, &s, &made) != MCP_OK)
            fail_msg("%s: %s", text, told);
        with_rules += made != NULL;
        for (size_t i = 0; i < 40; i++, asked++) {
            size_t caller = dice(CALLERS);
            int operation = MCP_OPERATION_CREATE + (int)dice(5);
            mcp_item item = (mcp_item)dice(4);
            const char *name = names[dice(COUNT(names))];
            if (effect_of(made, caller, (mcp_operation)operation, item, name, dice(2)) !=
                MCP_EFFECT_DENY)
                fail_msg("%s: caller %zu may %s %s", text, caller, words[operation], name);
        }
        forget(c, &s, made);
    }
    assert_true(asked >= 20000 && with_rules > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_a_slow_model_decides),
        cmocka_unit_test(no_earlier_rule_lets_anybody_write),
    };
    return cmocka_run_group_tests_name("programs: generated changes", tests, make_callers,
                                       free_callers);
}
