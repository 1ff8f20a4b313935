/* Access rules about callers of an issuer: claims, groups and scopes, and what they do if a claim is
 * missing. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "access.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define OAUTH                                                                                    \
    "\"oauth\": {\"resource\": \"https://r/mcp\", \"required-scopes\": \"base\", \"issuers\": [" \
    "{\"issuer\": \"https://a\", \"audiences\": [\"x\"], \"groups\": \"groups\"},"               \
    "{\"issuer\": \"https://b\", \"audiences\": [\"x\"], \"groups\": \"/realm/roles\"},"         \
    "{\"issuer\": \"https://c\", \"audiences\": [\"x\"]}]}"

#define ONE                                                       \
    "\"oauth\": {\"resource\": \"https://r/mcp\", \"issuers\": [" \
    "{\"issuer\": \"https://a\", \"audiences\": [\"x\"], \"groups\": \"groups\"}]}"

static char told[1000];

static void tell(const char *line)
{
    snprintf(told, sizeof(told), "%s", line);
}

/* Reads rules; *c must be freed after them. */
static int read_rules(const char *oauth, const char *rules, config **c, access_rules **ret)
{
    char text[4000];
    told[0] = 0;
    *ret = NULL;
    snprintf(text, sizeof(text), "{%s%s\"access\": [%s]}", oauth, *oauth ? ", " : "", rules);
    int rc = config_read_text("f", "/f", mcp_str_from(text), tell, c);
    if (rc != MCP_OK)
        *c = NULL;
    return rc == MCP_OK ? access_read(*c, NULL, ret, NULL) : rc;
}

/* ---- who ------------------------------------------------------------------------------------- */

enum { ANNA, BERT, CARA, STATIC, NOBODY, EVIL, HALF, NUMBERS, CALLERS };

static const mcp_identity_options options[CALLERS] = {
    [ANNA] = {.size = sizeof(options[0]),
              .principal = "https://a#anna",
              .issuer = "https://a",
              .scopes = "base",
              .claims = "{\"sub\":\"anna\",\"groups\":[\"staff\",\"ops\"],"
                        "\"email\":\"anna@x.example\"}"},
    [BERT] = {.size = sizeof(options[0]),
              .principal = "https://b#anna",
              .issuer = "https://b",
              .scopes = "base write",
              .claims =
                  "{\"sub\":\"anna\",\"groups\":[\"ops\"],\"realm\":{\"roles\":[\"staff\"]}}"},
    [CARA] = {.size = sizeof(options[0]),
              .principal = "https://a#cara",
              .issuer = "https://a",
              .scopes = "base write admin",
              .claims = "{\"sub\":\"cara\"}"},
    [STATIC] = {.size = sizeof(options[0]), .principal = "anna"},
    [NOBODY] = {.size = 0},
    /* A static name that looks like a caller of an issuer, and claims without an issuer. */
    [EVIL] = {.size = sizeof(options[0]),
              .principal = "https://a#anna",
              .claims = "{\"sub\":\"anna\",\"groups\":[\"staff\",\"ops\"]}"},
    [HALF] = {.size = sizeof(options[0]),
              .principal = "https://a#half",
              .issuer = "https://a",
              .claims = "{\"sub\":\"half\",\"groups\":\"staff\"}"},
    [NUMBERS] = {.size = sizeof(options[0]),
                 .principal = "https://a#n",
                 .issuer = "https://a",
                 .claims = "{\"sub\":7,\"groups\":[\"staff\",7]}"},
};

/* For each caller: + allowed, - denied, ? asked for scopes. */
static void check(const char *oauth, const char *rules, mcp_item item, const char *name,
                  const char expected[CALLERS + 1])
{
    char found[CALLERS + 1] = "";
    config *c;
    access_rules *made;
    if (read_rules(oauth, rules, &c, &made) != MCP_OK)
        fail_msg("%s: %s", rules, told);
    for (size_t i = 0; i < CALLERS; i++) {
        mcp_identity *who = NULL;
        if (options[i].size)
            assert_int_equal(mcp_identity_new(&options[i], &who, NULL), MCP_OK);
        bool may = access_may(who, item, mcp_str_from(name), made);
        bool asked = access_scopes(who, item, mcp_str_from(name), made) != NULL;
        assert_false(may && asked);
        found[i] = may ? '+' : asked ? '?' : '-';
        mcp_identity_unref(who);
    }
    if (strcmp(found, expected) != 0)
        fail_msg("%s: %s, expected %s", rules, found, expected);
    access_free(made);
    config_free(c);
}

static void who_a_rule_is_about(void **state)
{
    static const struct {
        const char *rules, *expected; /* ANNA BERT CARA STATIC NOBODY EVIL HALF NUMBERS */
    } table[] = {
        {"{\"effect\":\"deny\",\"principal\":\"anna\"}", "+++-++++"},
        {"{\"effect\":\"deny\",\"principal\":\"*\"}", "--------"},
        {"{\"effect\":\"deny\",\"principal\":\"a*\"}", "+++--+++"},
        {"{\"effect\":\"deny\",\"principal\":\"https://**\"}", "+++++-++"},
        {"{\"effect\":\"deny\",\"principal\":{\"issuer\":\"https://a\"}}", "-+-+++--"},
        {"{\"effect\":\"deny\",\"principal\":{\"issuer\":\"https://a\",\"subject\":\"anna\"}}",
         "-++++++-"}, /* the subject of NUMBERS is unknown */
        {"{\"effect\":\"deny\"},{\"effect\":\"allow\",\"principal\":{\"issuer\":\"https://a\","
         "\"subject\":\"anna\"}}",
         "+-------"},
        {"{\"effect\":\"deny\"},{\"effect\":\"allow\",\"principal\":{\"issuer\":\"https://a\","
         "\"claims\":{\"email\":\"*@x.example\"}}}",
         "+-------"},
        {"{\"effect\":\"deny\",\"principal\":{\"issuer\":\"https://a\",\"claims\":{\"email\":"
         "\"*@y\"}}}",
         "++-+++--"}, /* without the claim it is unknown */
        {"{\"effect\":\"deny\",\"principal\":[\"anna\",{\"issuer\":\"https://"
         "b\",\"subject\":\"*\"}]}",
         "+-+-++++"},
        {"{\"effect\":\"deny\",\"group\":{\"issuer\":\"https://a\",\"name\":\"staff\"}}",
         "-+-+++--"},
        {"{\"effect\":\"deny\",\"group\":{\"issuer\":\"https://a\",\"name\":\"other\"}}",
         "++-+++--"},
        {"{\"effect\":\"deny\"},{\"effect\":\"allow\",\"group\":{\"issuer\":\"https://a\","
         "\"name\":\"staff\"}}",
         "+-------"},
        {"{\"effect\":\"deny\"},{\"effect\":\"allow\",\"group\":[{\"issuer\":\"https://a\","
         "\"name\":\"ops\"},{\"issuer\":\"https://b\",\"name\":\"staff\"}]}",
         "++------"},
        /* both must hold */
        {"{\"effect\":\"deny\",\"principal\":{\"issuer\":\"https://a\",\"subject\":\"anna\"},"
         "\"group\":{\"issuer\":\"https://a\",\"name\":\"other\"}}",
         "+++++++-"},
        {"{\"effect\":\"deny\"},{\"effect\":\"allow\",\"principal\":{\"issuer\":\"https://a\","
         "\"subject\":\"cara\"},\"group\":{\"issuer\":\"https://a\",\"name\":\"staff\"}}",
         "--------"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        check(OAUTH, table[i].rules, MCP_ITEM_TOOL, "t", table[i].expected);
    check(ONE, "{\"effect\":\"deny\",\"group\":\"staff\"}", MCP_ITEM_TOOL, "t", "-+-+++--");
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static void scopes(void **state)
{
    static const struct {
        const char *rules;
        mcp_item item;
        const char *name, *expected;
    } table[] = {
        {"{\"effect\":\"allow\",\"scope\":\"write\",\"tools\":\"t\"}", MCP_ITEM_TOOL, "t",
         "?++---??"},
        {"{\"effect\":\"allow\",\"scope\":\"write\",\"tools\":\"t\"}", MCP_ITEM_TOOL, "u",
         "++++++++"},
        {"{\"effect\":\"allow\",\"scope\":\"write\",\"tools\":\"t\",\"otherwise\":\"hide\"}",
         MCP_ITEM_TOOL, "t", "-++-----"},
        {"{\"effect\":\"allow\",\"scope\":\"write admin\",\"otherwise\":\"challenge\"}",
         MCP_ITEM_PROMPT, "p", "??+---??"},
        /* a later rule for callers that cannot have scopes */
        {"{\"effect\":\"allow\",\"scope\":\"write\"},{\"effect\":\"allow\",\"principal\":\"anna\"}",
         MCP_ITEM_TOOL, "t", "?+++--??"},
        /* a deny rule after it hides; one before it does not matter */
        {"{\"effect\":\"allow\",\"scope\":\"write\"},{\"effect\":\"deny\"}", MCP_ITEM_TOOL, "t",
         "--------"},
        {"{\"effect\":\"deny\"},{\"effect\":\"allow\",\"scope\":\"write\"}", MCP_ITEM_TOOL, "t",
         "?++---??"},
        /* members need a scope; whoever may be a member gets nothing without it */
        {"{\"effect\":\"allow\",\"scope\":\"admin\",\"group\":{\"issuer\":\"https://a\",\"name\":"
         "\"staff\"}}",
         MCP_ITEM_TOOL, "t", "?+++++--"},
        /* a template is shown for the resources that it can lead to, and never hidden for them */
        {"{\"effect\":\"deny\"},{\"effect\":\"allow\",\"scope\":\"write\",\"resources\":\"mem:a/"
         "**\"}",
         MCP_ITEM_TEMPLATE, "mem:a/{x}", "?++---??"},
        {"{\"effect\":\"allow\",\"scope\":\"write\",\"resources\":\"mem:a/**\"}", MCP_ITEM_TEMPLATE,
         "mem:{+all}", "++++++++"},
        {"{\"effect\":\"deny\"},{\"effect\":\"allow\",\"scope\":\"write\",\"resources\":\"mem:a/"
         "**\","
         "\"otherwise\":\"hide\"}",
         MCP_ITEM_TEMPLATE, "mem:a/{x}", "-++-----"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        check(OAUTH, table[i].rules, table[i].item, table[i].name, table[i].expected);
}

/* A challenge names all scopes of the operation, with those of every request. */
static void challenges(void **state)
{
    config *c;
    access_rules *rules;
    mcp_identity *anna;
    (void)state;
    assert_int_equal(mcp_identity_new(&options[ANNA], &anna, NULL), MCP_OK);
    assert_int_equal(read_rules(OAUTH,
                                "{\"effect\":\"allow\",\"scope\":\"write\",\"tools\":\"t\"},"
                                "{\"effect\":\"allow\",\"scope\":\"admin base\",\"tools\":\"u\"}",
                                &c, &rules),
                     MCP_OK);
    assert_string_equal(access_scopes(anna, MCP_ITEM_TOOL, MCP_STR("t"), rules), "write base");
    assert_string_equal(access_scopes(anna, MCP_ITEM_TOOL, MCP_STR("u"), rules), "admin base");
    access_free(rules);
    config_free(c);
    mcp_identity_unref(anna);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void mistakes(void **state)
{
    static const struct {
        const char *oauth, *rules, *told;
    } table[] = {
        {OAUTH, "{\"effect\":\"deny\",\"principal\":{\"issuer\":\"https://aa\"}}",
         "there is no issuer \"https://aa\" in oauth; did you mean \"https://a\"?"},
        {"", "{\"effect\":\"deny\",\"principal\":{\"issuer\":\"https://aa\"}}",
         "there is no issuer \"https://aa\" in oauth"},
        {OAUTH, "{\"effect\":\"deny\",\"group\":\"staff\"}", "oauth has several issuers"},
        {"", "{\"effect\":\"deny\",\"group\":\"staff\"}", "groups need the section oauth"},
        {OAUTH, "{\"effect\":\"deny\",\"group\":{\"issuer\":\"https://c\",\"name\":\"g\"}}",
         "the issuer has no \"groups\""},
        {OAUTH, "{\"effect\":\"deny\",\"group\":{\"issuer\":\"https://d\",\"name\":\"g\"}}",
         "there is no issuer"},
        {OAUTH, "{\"effect\":\"deny\",\"group\":{\"issuer\":\"https://a\"}}", "name"},
        {OAUTH, "{\"effect\":\"deny\",\"scope\":\"x\"}", "scope belongs into a rule that allows"},
        {OAUTH, "{\"effect\":\"allow\",\"scope\":\"x  y\"}", "scope"},
        {OAUTH, "{\"effect\":\"allow\",\"scope\":\"x\\\"y\"}", "scope"},
        {OAUTH, "{\"effect\":\"allow\",\"otherwise\":\"hide\"}", "scope"},
        {OAUTH, "{\"effect\":\"deny\",\"principal\":{\"issuer\":\"https://a\",\"sub\":\"x\"}}",
         "unknown key \"sub\""},
        {OAUTH, "{\"effect\":\"deny\",\"principal\":[{\"subject\":\"x\"}]}", "issuer"},
        {OAUTH, "{\"effect\":\"deny\",\"principal\":7}", "principal"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        config *c;
        access_rules *rules;
        int rc = read_rules(table[i].oauth, table[i].rules, &c, &rules);
        if (rc != MCP_EINVAL || !strstr(told, table[i].told) || strncmp(told, "f:1:", 4) != 0)
            fail_msg("%s: %d, %s", table[i].rules, rc, told);
        config_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_a_rule_is_about),
        cmocka_unit_test(scopes),
        cmocka_unit_test(challenges),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests_name("programs: callers", tests, NULL, NULL);
}
