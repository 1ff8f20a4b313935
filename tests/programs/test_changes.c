/* Access rules about operations that change something: what they decide, and what a folder's
 * parameter "write" grants. Attackers: a model that a file told what to do, a repository with links
 * of its own, another principal.
 */
#include "changes.h"

/* ---- tables ---------------------------------------------------------------------------------- */

/* For each caller: + allowed, ? asked, - denied. What is no URI is the name of a tool. */
static void check(const char *rules, mcp_operation operation, const char *uri, unsigned flags,
                  const char expected[CALLERS + 1])
{
    static const char signs[] = {
        [MCP_EFFECT_DENY] = '-', [MCP_EFFECT_ASK] = '?', [MCP_EFFECT_ALLOW] = '+'};
    char text[4000], found[CALLERS + 1] = "";
    config *c;
    settings s;
    access_rules *made;
    mcp_item item = strchr(uri, ':') ? MCP_ITEM_RESOURCE : MCP_ITEM_TOOL;
    snprintf(text, sizeof(text), "{" OAUTH "\"access\": [%s]}", rules);
    if (read_config(text, &c, &s, &made) != MCP_OK)
        fail_msg("%s: %s", rules, told);
    for (size_t i = 0; i < CALLERS; i++)
        found[i] = signs[effect_of(made, i, operation, item, uri, flags)];
    if (strcmp(found, expected) != 0)
        fail_msg("%s: %s %s, expected %s", rules, uri, found, expected);
    forget(c, &s, made);
}

#define ALL   "\"operations\":[\"create\",\"change\",\"move\",\"delete\",\"commit\"]"
#define EDIT  "\"operations\":[\"change\"]"
#define EXACT MCP_MAY_EXACT
#define NAMED "{\"effect\":\"allow\",\"tools\":\"t\"}"

static void what_rules_decide(void **state)
{
    static const struct {
        const char *rules;
        mcp_operation operation;
        const char *uri;
        unsigned flags;
        const char *expected; /* STDIO ANNA NOBODY MEMBER UNCLEAR */
    } table[] = {
        {"{\"effect\":\"allow\"}", MCP_OPERATION_CHANGE, "mem:a", 0, "-----"},
        {"{\"effect\":\"allow\"," EDIT "}", MCP_OPERATION_CHANGE, "mem:a", 0, "+++++"},
        {"{\"effect\":\"allow\"," EDIT "}", MCP_OPERATION_DELETE, "mem:a", 0, "-----"},
        {"{\"effect\":\"ask\"," ALL "}", MCP_OPERATION_COMMIT, "mem:a", 0, "?????"},
        {"{\"effect\":\"allow\",\"principal\":\"stdio\"," ALL "}", MCP_OPERATION_CREATE, "mem:a", 0,
         "+----"},
        {"{\"effect\":\"allow\",\"principal\":[\"anna\",\"anonymous\"]," EDIT "}",
         MCP_OPERATION_CHANGE, "mem:a", 0, "-++--"},
        /* the last one decides, whatever it says */
        {"{\"effect\":\"allow\"," ALL "},{\"effect\":\"ask\"," EDIT "}", MCP_OPERATION_CHANGE,
         "mem:a", 0, "?????"},
        {"{\"effect\":\"allow\"," ALL "},{\"effect\":\"ask\"," EDIT "}", MCP_OPERATION_MOVE,
         "mem:a", 0, "+++++"},
        {"{\"effect\":\"deny\"," ALL "},{\"effect\":\"allow\",\"principal\":\"anna\"," EDIT "}",
         MCP_OPERATION_CHANGE, "mem:a", 0, "-+---"},
        {"{\"effect\":\"allow\"," ALL "},{\"effect\":\"deny\",\"resources\":\"**.key\"," ALL "}",
         MCP_OPERATION_CHANGE, "mem:a.key", 0, "-----"},
        /* a rule without operations says nothing about changing */
        {"{\"effect\":\"allow\"," EDIT "},{\"effect\":\"deny\"}", MCP_OPERATION_CHANGE, "mem:a", 0,
         "+++++"},
        /* whoever may be meant loses, and does not win */
        {"{\"effect\":\"allow\",\"group\":\"staff\"," EDIT "}", MCP_OPERATION_CHANGE, "mem:a", 0,
         "---+-"},
        {"{\"effect\":\"allow\"," EDIT "},{\"effect\":\"deny\",\"group\":\"staff\"," EDIT "}",
         MCP_OPERATION_CHANGE, "mem:a", 0, "+++--"},
        {"{\"effect\":\"allow\"," EDIT "},{\"effect\":\"ask\",\"group\":\"staff\"," EDIT "}",
         MCP_OPERATION_CHANGE, "mem:a", 0, "+++??"},
        {"{\"effect\":\"ask\",\"group\":\"staff\"," EDIT "}", MCP_OPERATION_CHANGE, "mem:a", 0,
         "---?-"},
        {"{\"effect\":\"ask\"," EDIT "},{\"effect\":\"allow\",\"group\":\"staff\"," EDIT "}",
         MCP_OPERATION_CHANGE, "mem:a", 0, "???+?"},
        {"{\"effect\":\"allow\",\"principal\":{\"issuer\":\"https://a\",\"claims\":{\"email\":"
         "\"*@x\"}}," EDIT "}",
         MCP_OPERATION_CHANGE, "mem:a", 0, "---+-"},
        /* without the scopes, a rule denies */
        {"{\"effect\":\"allow\",\"scope\":\"write\"," EDIT "}", MCP_OPERATION_CHANGE, "mem:a", 0,
         "---+-"},
        {"{\"effect\":\"allow\"," EDIT "},{\"effect\":\"ask\",\"scope\":\"write\"," EDIT "}",
         MCP_OPERATION_CHANGE, "mem:a", 0, "---?-"},
        /* a query gives nothing and may take away */
        {"{\"effect\":\"allow\",\"resources\":\"mem:a?x=1\"," EDIT "}", MCP_OPERATION_CHANGE,
         "mem:a?x=1", 0, "-----"},
        {"{\"effect\":\"allow\",\"resources\":\"mem:a\"," EDIT "},"
         "{\"effect\":\"deny\",\"resources\":\"mem:a?x=1\"," EDIT "}",
         MCP_OPERATION_CHANGE, "mem:a?x=1", 0, "-----"},
        {"{\"effect\":\"allow\",\"resources\":\"mem:a\"," EDIT "}", MCP_OPERATION_CHANGE,
         "mem:a?x=1", 0, "+++++"},
        /* exactly */
        {"{\"effect\":\"allow\"," ALL "}", MCP_OPERATION_CHANGE, "mem:a", EXACT, "-----"},
        {"{\"effect\":\"allow\",\"resources\":\"mem:**\"," EDIT "}", MCP_OPERATION_CHANGE, "mem:a",
         EXACT, "-----"},
        {"{\"effect\":\"allow\",\"resources\":\"mem:*\"," EDIT "}", MCP_OPERATION_CHANGE, "mem:*",
         EXACT, "-----"},
        {"{\"effect\":\"allow\",\"resources\":\"mem:a\"," EDIT "}", MCP_OPERATION_CHANGE, "mem:a",
         EXACT, "?????"},
        {"{\"effect\":\"allow\",\"resources\":[\"mem:**\",\"mem:a\"]," EDIT "}",
         MCP_OPERATION_CHANGE, "mem:a", EXACT, "?????"},
        {"{\"effect\":\"ask\",\"resources\":\"mem:a\"," EDIT "}", MCP_OPERATION_CHANGE, "mem:a",
         EXACT, "?????"},
        {"{\"effect\":\"allow\",\"resources\":\"/f/d\"," EDIT "}", MCP_OPERATION_CHANGE,
         "file:///f/d", EXACT, "?????"},
        {"{\"effect\":\"allow\",\"resources\":\"/f/d\"," EDIT "}", MCP_OPERATION_CHANGE,
         "file:///f/d/x", EXACT, "-----"},
        {"{\"effect\":\"allow\",\"resources\":\"d\"," EDIT "}", MCP_OPERATION_CHANGE,
         "file:///f/d/x", 0, "+++++"},
        /* a general rule that takes away counts, and one that gives does not hide it */
        {"{\"effect\":\"allow\",\"resources\":\"mem:a\"," EDIT "},{\"effect\":\"deny\"," EDIT "}",
         MCP_OPERATION_CHANGE, "mem:a", EXACT, "-----"},
        {"{\"effect\":\"allow\",\"resources\":\"mem:a\"," EDIT "},"
         "{\"effect\":\"deny\",\"principal\":\"anna\"," EDIT "},{\"effect\":\"allow\"," EDIT "}",
         MCP_OPERATION_CHANGE, "mem:a", EXACT, "?-???"},
        {"{\"effect\":\"allow\",\"resources\":\"mem:a\"," EDIT "},"
         "{\"effect\":\"allow\",\"scope\":\"write\"," EDIT "}",
         MCP_OPERATION_CHANGE, "mem:a", EXACT, "---?-"},
        /* a tool that a rule has to name; calling it is not asked about */
        {"{\"effect\":\"allow\"}", MCP_OPERATION_CALL, "t", EXACT, "-----"},
        {"{\"effect\":\"allow\",\"tools\":\"*\"}", MCP_OPERATION_CALL, "t", EXACT, "-----"},
        {"{\"effect\":\"allow\",\"tools\":[\"t*\",\"u\"]}", MCP_OPERATION_CALL, "t", EXACT,
         "-----"},
        {"{\"effect\":\"allow\",\"operations\":[\"commit\"],\"tools\":\"t\"}", MCP_OPERATION_CALL,
         "t", EXACT, "-----"},
        {NAMED, MCP_OPERATION_CALL, "t", EXACT, "+++++"},
        {"{\"effect\":\"deny\"}," NAMED, MCP_OPERATION_CALL, "t", EXACT, "+++++"},
        {NAMED ",{\"effect\":\"deny\",\"principal\":\"anna\"}", MCP_OPERATION_CALL, "t", EXACT,
         "+-+++"},
        {NAMED ",{\"effect\":\"allow\"}", MCP_OPERATION_CALL, "t", EXACT, "+++++"},
        {"{\"effect\":\"allow\",\"tools\":\"t\",\"scope\":\"write\"}", MCP_OPERATION_CALL, "t",
         EXACT, "---+-"},
        {"{\"effect\":\"allow\",\"tools\":\"t\",\"group\":\"staff\"}", MCP_OPERATION_CALL, "t",
         EXACT, "---+-"},
        {NAMED ",{\"effect\":\"deny\",\"group\":\"staff\"}", MCP_OPERATION_CALL, "t", EXACT,
         "+++--"},
        /* what this version does not know */
        {"{\"effect\":\"allow\"," ALL "}", MCP_OPERATION_CHANGE, "mem:a", 2, "-----"},
        {"{\"effect\":\"allow\"," ALL "}", (mcp_operation)7, "mem:a", 0, "-----"},
        {"{\"effect\":\"allow\"," ALL "}", (mcp_operation)34, "mem:a", 0, "-----"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        check(table[i].rules, table[i].operation, table[i].uri, table[i].flags, table[i].expected);
}

/* Rules about changes alone leave everything visible; others restrict as before. */
static void what_stays_visible(void **state)
{
    static const struct {
        const char *rules;
        bool restricts, sees; /* whether anna sees mem:a and the tool t */
        bool calls;
    } table[] = {
        {"{\"effect\":\"deny\"," ALL "}", false, true, true},
        {"{\"effect\":\"allow\",\"principal\":\"stdio\"," ALL "}", false, true, true},
        {"{\"effect\":\"deny\",\"operations\":[\"read\",\"change\"]}", true, false, true},
        {"{\"effect\":\"deny\",\"operations\":[\"call\"]}", true, true, false},
        {"{\"effect\":\"deny\",\"operations\":[\"call\",\"read\"]}", true, false, false},
        {"{\"effect\":\"deny\"},{\"effect\":\"allow\"," ALL "}", true, false, false},
        {"{\"effect\":\"deny\",\"metrics\":true}", true, true, true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        char text[1000];
        config *c;
        settings s;
        access_rules *made;
        snprintf(text, sizeof(text), "{\"access\": [%s]}", table[i].rules);
        assert_int_equal(read_config(text, &c, &s, &made), MCP_OK);
        if (access_restricts(made) != table[i].restricts ||
            access_may(who[ANNA], MCP_ITEM_RESOURCE, MCP_STR("mem:a"), made) != table[i].sees ||
            access_may(who[ANNA], MCP_ITEM_TOOL, MCP_STR("t"), made) != table[i].calls)
            fail_msg("%s", table[i].rules);
        assert_null(access_scopes(who[ANNA], MCP_ITEM_RESOURCE, MCP_STR("mem:a"), made));
        forget(c, &s, made);
    }
    assert_false(access_restricts(NULL));
}

static void mistakes(void **state)
{
    static const struct {
        const char *text, *told;
    } table[] = {
        {"\"access\": [{\"effect\":\"ask\"}]", "ask is for operations that change something"},
        {"\"access\": [{\"effect\":\"ask\",\"operations\":[\"call\",\"change\"]}]",
         "ask is for operations that change something"},
        {"\"access\": [{\"effect\":\"deny\",\"metrics\":true,\"operations\":[\"read\"]}]",
         "metrics can only be seen"},
        {"\"access\": [{\"effect\":\"allow\",\"operations\":[]}]", "operations"},
        {"\"access\": [{\"effect\":\"allow\",\"operations\":[\"write\"]}]", "operations"},
        {"\"access\": [{\"effect\":\"allow\",\"operations\":[\"move\",\"move\"]}]", "operations"},
        {"\"access\": [{\"effect\":\"deny\",\"scope\":\"x\",\"operations\":[\"move\"]}]",
         "scope belongs into a rule that allows"},
        {"\"sources\": [{\"path\": \"d\", \"write\": \"\"}]", "write"},
        {"\"sources\": [{\"path\": \"d\", \"write\": []}]", "write"},
        {"\"sources\": [{\"path\": \"d\", \"write\": 7}]", "write"},
        {"\"sources\": [{\"module\": \"git\", \"source\": \"d\", \"write\": \"**\"}]", "path"},
        {"\"sources\": [{\"path\": \"d\", \"write\": [\"a\", \"../b\"]}]",
         "it leaves the folder with ..: name the other folder as a source"},
        {"\"sources\": [{\"path\": \"d\", \"write\": \"/etc/**\"}]", "relative to its folder"},
        {"\"sources\": [{\"path\": \"d\", \"write\": \"a//b\"}]", "relative to its folder"},
        {"\"sources\": [{\"path\": \"d\", \"write\": \"a/./b\"}]", "leave out the component"},
        {"\"sources\": [{\"path\": \"d\", \"write\": \"a\\u0000b\"}]", "NUL"},
        {"\"sources\": [{\"path\": \"d*\", \"write\": \"**\"}]", "whose path has no *"},
        {"\"sources\": [{\"path\": \"/proc/version\", \"write\": \"**\"}]", "is about a folder"},
        {"\"sources\": [\"d?write=a/../../b\"]", "it leaves the folder with .."},
        {"\"sources\": [\"d?write=%2e%2e\"]", "it leaves the folder with .."},
        {"\"sources\": [\"d?write=**&hidden=1\"]", "only the parameter write; write & as %26"},
        {"\"sources\": [\"d?write=%zz\"]", "write %25"},
        {"\"sources\": [\"d?write=\"]", "name what may be written"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        char text[1000];
        config *c;
        settings s;
        access_rules *made;
        snprintf(text, sizeof(text), "{%s}", table[i].text);
        int rc = read_config(text, &c, &s, &made);
        if (rc != MCP_EINVAL || !strstr(told, table[i].told) || strncmp(told, "f:1:", 4) != 0)
            fail_msg("%s: %d, %s", table[i].text, rc, told);
        forget(c, &s, made);
    }
}

/* ---- what a folder's parameter grants -------------------------------------------------------- */

static char top[64];

/* d/ and dd/ with docs -> /top/other, d/new/, other/, alias -> d; later has no folder yet. */
static int make_folders(void **state)
{
    char path[200], to[200];
    static const char *const folders[] = {"d", "d/new", "dd", "other"};
    (void)state;
    snprintf(top, sizeof(top), "/tmp/test_changes.XXXXXX");
    if (make_callers(NULL) != 0 || !mkdtemp(top))
        return -1;
    for (size_t i = 0; i < COUNT(folders); i++) {
        snprintf(path, sizeof(path), "%s/%s", top, folders[i]);
        if (mkdir(path, 0700) != 0)
            return -1;
    }
    snprintf(path, sizeof(path), "%s/d/docs", top);
    snprintf(to, sizeof(to), "%s/other", top);
    if (symlink(to, path) != 0)
        return -1;
    snprintf(path, sizeof(path), "%s/dd/docs", top);
    if (symlink(to, path) != 0)
        return -1;
    snprintf(path, sizeof(path), "%s/alias", top);
    return symlink("d", path);
}

static int remove_folders(void **state)
{
    static const char *const all[] = {"alias", "d/docs", "dd/docs", "d/new", "d", "dd", "other"};
    char path[200];
    for (size_t i = 0; i < COUNT(all); i++) {
        snprintf(path, sizeof(path), "%s/%s", top, all[i]);
        (void)remove(path);
    }
    (void)rmdir(top);
    return free_callers(state);
}

/* Replaces each $ by the folder. */
static const char *placed(const char *text)
{
    static char made[2][4000];
    static unsigned turn;
    char *to = made[turn++ % 2], *begin = to;
    for (; *text; text++)
        if (*text == '$')
            to += sprintf(to, "%s", top);
        else
            *to++ = *text;
    *to = 0;
    return begin;
}

static const struct {
    const char *config, *uri; /* $ is the folder */
    mcp_effect effect, exactly;
} grants[] = {
    {"\"sources\": [\"$/d?write=**\"]", "file://$/d/a", MCP_EFFECT_ALLOW, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d?write=**\"]", "file://$/d/new/a.md", MCP_EFFECT_ALLOW, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d?write=**\"]", "file://$/dd/a", MCP_EFFECT_DENY, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d?write=**\"]", "file://$/d", MCP_EFFECT_DENY, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d/?write=**\"]", "file://$/d/a", MCP_EFFECT_ALLOW, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d?write=*.md\"]", "file://$/d/a.md", MCP_EFFECT_ALLOW, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d?write=*.md\"]", "file://$/d/new/a.md", MCP_EFFECT_DENY, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d?write=*.md\"]", "file://$/d/a.md/x", MCP_EFFECT_DENY, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d?write=**.md&write=new\"]", "file://$/d/new/a", MCP_EFFECT_ALLOW,
     MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d?write=**.md&write=new/\"]", "file://$/d/new", MCP_EFFECT_ALLOW,
     MCP_EFFECT_ASK},
    {"\"sources\": [\"$/d?write=CLAUDE.md\"]", "file://$/d/CLAUDE.md", MCP_EFFECT_ALLOW,
     MCP_EFFECT_ASK},
    {"\"sources\": [\"$/d?write=a%26b%20c%3f\"]", "file://$/d/a&b%20c%3F", MCP_EFFECT_ALLOW,
     MCP_EFFECT_ASK},
    {"\"sources\": [{\"path\": \"$/d\", \"write\": \"a&b c?\"}]", "file://$/d/a&b%20c%3F",
     MCP_EFFECT_ALLOW, MCP_EFFECT_ASK},
    {"\"sources\": [{\"path\": \"$/d\", \"write\": [\"x\", \"100%\"]}]", "file://$/d/100%25",
     MCP_EFFECT_ALLOW, MCP_EFFECT_ASK},
    {"\"sources\": [{\"path\": \"$/d?write=**\"}]", "file://$/d/a", MCP_EFFECT_DENY,
     MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d\"]", "file://$/d/a", MCP_EFFECT_DENY, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/later?write=**\"]", "file://$/later/a", MCP_EFFECT_ALLOW, MCP_EFFECT_DENY},
    /* Links to the folder are followed, links in it are not. */
    {"\"sources\": [\"$/alias?write=**\"]", "file://$/d/a", MCP_EFFECT_ALLOW, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d?write=docs/**\", \"$/other\"]", "file://$/other/a", MCP_EFFECT_DENY,
     MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d?write=docs\", \"$/other\"]", "file://$/other", MCP_EFFECT_DENY,
     MCP_EFFECT_DENY},
    /* The same for the paths of rules. */
    {"\"sources\": [\"$/d\", \"$/other\"], \"access\": [{\"effect\":\"allow\"," EDIT
     ",\"resources\":\"$/alias/docs/**\"}]",
     "file://$/other/a", MCP_EFFECT_DENY, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d\", \"$/other\"], \"access\": [{\"effect\":\"allow\"," EDIT
     ",\"resources\":\"$/d/docs\"}]",
     "file://$/other", MCP_EFFECT_DENY, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d\"], \"access\": [{\"effect\":\"allow\"," EDIT
     ",\"resources\":\"$/alias/new/*\"}]",
     "file://$/d/new/a", MCP_EFFECT_ALLOW, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/alias\"], \"access\": [{\"effect\":\"allow\"," EDIT
     ",\"resources\":\"$/d/a\"}]",
     "file://$/d/a", MCP_EFFECT_ALLOW, MCP_EFFECT_ASK},
    {"\"sources\": [\"$/other\"], \"access\": [{\"effect\":\"allow\"," EDIT
     ",\"resources\":\"$/d/docs/**\"}]",
     "file://$/other/a", MCP_EFFECT_ALLOW, MCP_EFFECT_DENY}, /* d is not served */
    {"\"sources\": [\"$/other\", \"$/d\"], \"access\": [{\"effect\":\"allow\"," EDIT
     ",\"resources\":\"$/dd/docs/**\"}]",
     "file://$/other/a", MCP_EFFECT_ALLOW, MCP_EFFECT_DENY}, /* nor is dd */
    {"\"sources\": [\"$/d?write=**\"], \"access\": [{\"effect\":\"deny\"," EDIT
     ",\"resources\":\"$/d/new\"}]",
     "file://$/d/new/a", MCP_EFFECT_DENY, MCP_EFFECT_DENY},
    {"\"sources\": [\"$/d?write=a\"], \"access\": [{\"effect\":\"ask\"," EDIT
     ",\"principal\":\"stdio\"}]",
     "file://$/d/a", MCP_EFFECT_ASK, MCP_EFFECT_ASK},
};

static void what_a_folder_grants(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(grants); i++) {
        char text[4000];
        config *c;
        settings s;
        access_rules *made;
        snprintf(text, sizeof(text), "{%s}", placed(grants[i].config));
        if (read_config(text, &c, &s, &made) != MCP_OK)
            fail_msg("%s: %s", text, told);
        const char *uri = placed(grants[i].uri);
        bool of_source = strstr(text, "write") != NULL;
        for (unsigned flags = 0; flags < 2; flags++) {
            mcp_effect e =
                effect_of(made, STDIO, MCP_OPERATION_CHANGE, MCP_ITEM_RESOURCE, uri, flags);
            if (e != (flags ? grants[i].exactly : grants[i].effect))
                fail_msg("%s: %s, %u: %d", text, uri, flags, e);
            /* Over HTTP a source grants nothing, and nobody may commit. */
            for (size_t k = ANNA; of_source && k < CALLERS; k++)
                assert_int_equal(
                    effect_of(made, k, MCP_OPERATION_CHANGE, MCP_ITEM_RESOURCE, uri, flags),
                    MCP_EFFECT_DENY);
            assert_int_equal(
                effect_of(made, STDIO, MCP_OPERATION_COMMIT, MCP_ITEM_RESOURCE, uri, flags),
                MCP_EFFECT_DENY);
        }
        assert_false(access_restricts(made));
        forget(c, &s, made);
    }
}

/* On the command line, with the sources of the file replaced. */
static void what_words_grant(void **state)
{
    char name[] = "mcpd", word[100], other[] = "git:a?write=**";
    char *argv[] = {name, word, other, NULL};
    char uri[100];
    settings line, now = {0};
    access_rules *made;
    mcp_error error = {0};
    (void)state;
    snprintf(word, sizeof(word), "%s/d?write=new/**&write=a.md", top);
    assert_int_equal(options_parse(3, argv, &line), 0);
    assert_true(options_over(&now, &line));
    assert_string_equal(now.sources.items[0].text, placed("$/d"));
    assert_string_equal(now.sources.items[1].text, "git:a?write=**"); /* the module refuses it */
    assert_string_equal(now.files.items[0], placed("$/d"));
    assert_int_equal(access_read(NULL, &now.sources, &made, &error), MCP_OK);
    static const char *const names[] = {"new/x", "a.md", "b.md"};
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(uri, sizeof(uri), "file://%s/d/%s", top, names[i]);
        for (int k = MCP_OPERATION_CREATE; k <= MCP_OPERATION_COMMIT; k++)
            assert_int_equal(effect_of(made, STDIO, (mcp_operation)k, MCP_ITEM_RESOURCE, uri, 0),
                             i < 2 && k < MCP_OPERATION_COMMIT ? MCP_EFFECT_ALLOW
                                                               : MCP_EFFECT_DENY);
    }
    access_free(made);
    options_clear(&now);
    options_clear(&line);
    strcpy(word, "d?write=../e");
    assert_int_equal(options_parse(2, argv, &line), 0);
    assert_int_equal(access_read(NULL, &line.sources, &made, &error), MCP_EINVAL);
    assert_string_equal(error.text, "d?write=: it leaves the folder with ..: name the other folder "
                                    "as a source of its own");
    assert_null(made);
    options_clear(&line);
}

static void add_line(const char *line, void *user)
{
    strcat(strcat((char *)user, line), "\n");
}

#define UNCLEAR_CHANGES                                                           \
    "may delete everything (ask)\nmay not commit tools t* (deny, if the rule is " \
    "about this caller, which its token does not say)\n"

static void what_the_doctor_says(void **state)
{
    static const char text[] =
        "{" OAUTH "\"sources\": [\"$/d?write=**&write=new\"], \"access\": ["
        "{\"effect\":\"ask\",\"operations\":[\"delete\",\"read\"]},"
        "{\"effect\":\"deny\",\"operations\":[\"commit\"],\"tools\":\"t*\",\"group\":\"staff\"},"
        "{\"effect\":\"allow\",\"scope\":\"write\"," EDIT ",\"resources\":[\"mem:a\",\"mem:b/**\","
        "\"/f/x\",\"/f/*.md\"]},{\"effect\":\"deny\"}]}";
    static const char *const expected[CALLERS] = {
        [STDIO] = "may create, change, move, delete below file://$/d (allow)\n"
                  "may create, change, move, delete file://$/d/new and below it (allow)\n"
                  "may delete everything (ask)\n",
        [ANNA] = "may delete everything (ask)\n",
        [NOBODY] = "may delete everything (ask)\n",
        [MEMBER] = "may delete everything (ask)\nmay not commit tools t* (deny)\n",
        [UNCLEAR] = UNCLEAR_CHANGES,
    };
    static const char more[] = "may change mem:a, below mem:b, file:///f/x and below it, "
                               "file:///f/*.md and below it (allow)\n";
    static const char lacks[] = "may not change mem:a, below mem:b, file:///f/x and below it, "
                                "file:///f/*.md and below it (deny: the token lacks write)\n";
    char plain[1000];
    config *c;
    settings s;
    access_rules *made;
    (void)state;
    snprintf(plain, sizeof(plain), "%s", placed(text));
    char *ask = strstr(plain, ",\"read\"");
    memset(ask, ' ', strlen(",\"read\""));
    if (read_config(plain, &c, &s, &made) != MCP_OK)
        fail_msg("%s", told);
    for (size_t i = 0; i < CALLERS; i++) {
        char lines[4000] = "", all[4000];
        assert_true(access_tell_changes(made, who[i], add_line, lines));
        snprintf(all, sizeof(all), "%s%s", placed(expected[i]), i == MEMBER ? more : lacks);
        assert_string_equal(lines, all);
    }
    forget(c, &s, made);
    assert_false(access_tell_changes(NULL, who[STDIO], add_line, plain));
    assert_int_equal(read_config("{\"access\": [{\"effect\":\"deny\"," ALL "}]}", &c, &s, &made),
                     MCP_OK);
    plain[0] = 0;
    assert_false(access_tell_changes(made, who[STDIO], add_line, plain));
    forget(c, &s, made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_rules_decide), cmocka_unit_test(what_stays_visible),
        cmocka_unit_test(mistakes),          cmocka_unit_test(what_a_folder_grants),
        cmocka_unit_test(what_words_grant),  cmocka_unit_test(what_the_doctor_says),
    };
    return cmocka_run_group_tests_name("programs: changes", tests, make_folders, remove_folders);
}
