/* The globs and rules of mcpd's configuration: what matches, and which principals are allowed. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "glob.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void globs_of_uris(void **state)
{
    static const struct {
        const char *glob, *text;
        bool matches;
    } table[] = {
        {"mem:a", "mem:a", true},
        {"mem:a", "mem:ab", false},
        {"mem:a*", "mem:abc", true},
        {"mem:a*", "mem:a/b", false},
        {"mem:a**", "mem:a/b", true},
        {"mem:*", "mem:", true},
        {"mem:*x", "mem:axbx", true},
        {"mem:*/x", "mem:a/b/x", false},
        {"mem:**/x", "mem:a/b/x", true},
        {"mem:**/a*c/**", "mem:a/b/abc/d", true},
        {"mem:**/a*c/**", "mem:a/b/ab/c/d", false},
        {"**.key", "file:///a/b.key", true},
        {"**.key", "file:///a/b.keys", false},
        {"**/*", "file:///a", true},
        {"mem:a?b[c]", "mem:a?b[c]", true}, /* "?" and brackets stand for themselves */
        {"mem:a?b", "mem:axb", false},
        {"mem:a b\xc3\xa9", "mem:a%20b%C3%A9", true},
        {"mem:%41", "mem:%41", true},
        {"***", "a/b", true},
        {"", "", true},
        {"", "a", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        globs g = {0};
        assert_int_equal(globs_add_uri(&g, mcp_str_from(table[i].glob)), MCP_OK);
        if (globs_match(&g, mcp_str_from(table[i].text)) != table[i].matches)
            fail_msg("%s and %s", table[i].glob, table[i].text);
        globs_clear(&g);
    }
}

static void globs_of_paths(void **state)
{
    static const struct {
        const char *path, *uri;
        bool matches;
    } table[] = {
        {"/nowhere/a b", "file:///nowhere/a%20b", true},
        {"/nowhere/a b", "file:///nowhere/a%20b/c/d", true},
        {"/nowhere/a b", "file:///nowhere/a%20bc", false},
        {"/nowhere/*.md", "file:///nowhere/x.md", true},
        {"/nowhere/*.md", "file:///nowhere/x/y.md", false},
        {"/nowhere/**", "file:///nowhere/x/y", true},
        {"/nowhere/", "file:///nowhere", true},
        {"/", "file:///a", true},
        {"/proc/self/../self/nothing*", "file:///nowhere", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        globs g = {0};
        assert_int_equal(globs_add_path(&g, table[i].path), MCP_OK);
        if (globs_match(&g, mcp_str_from(table[i].uri)) != table[i].matches)
            fail_msg("%s and %s", table[i].path, table[i].uri);
        globs_clear(&g);
    }
}

/* Patterns for which backtracking would take too long. */
static void in_linear_time(void **state)
{
    enum { LONG = 8192 };
    static char text[LONG + 1], pattern[513];
    globs g = {0};
    (void)state;
    memset(text, 'a', LONG);
    for (size_t i = 0; i < 512; i += 4)
        memcpy(pattern + i, i % 8 ? "*aa*" : "a**a", 4);
    pattern[511] = 'b';
    assert_int_equal(globs_add(&g, mcp_str_from(pattern)), MCP_OK);
    assert_false(globs_match(&g, mcp_str_from(text)));
    assert_int_equal(globs_add(&g, (mcp_str){text, 1025}), MCP_ELIMIT);
    globs_clear(&g);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void tell(const char *line)
{
    fail_msg("%s", line);
}

static mcp_identity *identity_of(const char *principal)
{
    mcp_identity *made = NULL;
    if (principal)
        assert_int_equal(mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = principal),
                                          &made, NULL),
                         MCP_OK);
    return made;
}

static const char rules_text[] =
    "{\"access\": ["
    "{\"effect\": \"deny\", \"tools\": \"reboot\"},"
    "{\"principal\": [\"alice\", \"ops-*\"], \"effect\": \"allow\", \"tools\": \"reboot\"},"
    "{\"principal\": \"bob\", \"effect\": \"deny\"},"
    "{\"principal\": \"bob\", \"effect\": \"allow\", \"resources\": [\"mem:a/**\"], \"prompts\": "
    "\"p*\"},"
    "{\"principal\": \"eve\", \"effect\": \"allow\", \"templates\": \"mem:b/{x}\", \"resources\": "
    "\"mem:**\"},"
    "{\"principal\": \"anonymous\", \"effect\": \"deny\", \"templates\": [\"mem:b**\"]},"
    "{\"effect\": \"deny\", \"resources\": \"**/*.key\"},"
    "]}";

static void the_last_rule_decides(void **state)
{
    static const struct {
        const char *who;
        mcp_item item;
        const char *name;
        bool may;
    } table[] = {
        {NULL, MCP_ITEM_TOOL, "reboot", false},
        {NULL, MCP_ITEM_TOOL, "date", true},
        {"carol", MCP_ITEM_TOOL, "reboot", false},
        {"alice", MCP_ITEM_TOOL, "reboot", true},
        {"ops-1", MCP_ITEM_TOOL, "reboot", true},
        {"alices", MCP_ITEM_TOOL, "reboot", false},
        {"bob", MCP_ITEM_TOOL, "date", false},
        {"bob", MCP_ITEM_PROMPT, "p1", true},
        {"bob", MCP_ITEM_PROMPT, "q", false},
        {"bob", MCP_ITEM_RESOURCE, "mem:a/x", true},
        {"bob", MCP_ITEM_RESOURCE, "mem:b", false},
        {"bob", MCP_ITEM_RESOURCE, "mem:a/x.key", false},
        {"alice", MCP_ITEM_RESOURCE, "mem:x/y.key", false},
        {"alice", MCP_ITEM_RESOURCE, "mem:x/y", true},
        {"bob", MCP_ITEM_TEMPLATE, "mem:a/{x}", true},  /* may expand to an allowed resource */
        {"bob", MCP_ITEM_TEMPLATE, "mem:{+all}", true}, /* the same */
        {"bob", MCP_ITEM_TEMPLATE, "mem:b/{x}", false},
        {NULL, MCP_ITEM_TEMPLATE, "mem:b/{x}", false},
        {"anonymous", MCP_ITEM_TEMPLATE, "mem:b/{x}", false},
        {"stdio", MCP_ITEM_TEMPLATE, "mem:b/{x}", true},
        {"eve", MCP_ITEM_TEMPLATE, "mem:b/{x}", true},
    };
    config *c;
    access_rules *rules;
    (void)state;
    assert_int_equal(config_read_text("f", "/f", mcp_str_from(rules_text), tell, &c), MCP_OK);
    assert_int_equal(access_read(c, NULL, &rules, NULL), MCP_OK);
    for (size_t i = 0; i < COUNT(table); i++) {
        mcp_identity *who = identity_of(table[i].who);
        if (access_may(who, table[i].item, mcp_str_from(table[i].name), rules) != table[i].may)
            fail_msg("%s and %s", table[i].who ? table[i].who : "nobody", table[i].name);
        mcp_identity_unref(who);
    }
    access_free(rules);
    config_free(c);
}

/* A rule that allows ignores the query, and one that denies also matches with it. */
static void queries_of_uris(void **state)
{
    static const char text[] =
        "{\"access\": [{\"effect\": \"deny\"},"
        "{\"effect\": \"allow\", \"resources\": [\"mem:**.md\", \"mem:q?v=1\"]},"
        "{\"effect\": \"deny\", \"resources\": [\"mem:**/secret.md\", \"mem:**?raw=*\"]},"
        "{\"principal\": \"bob\", \"effect\": \"allow\", \"resources\": \"mem:**?raw=1\"}]}";
    static const struct {
        const char *uri;
        bool may;
    } table[] = {
        {"mem:a/x.md", true},         {"mem:a/x.md?", true},
        {"mem:a/x.md?v=1", true},     {"mem:a/x.key", false},
        {"mem:a/x.key?.md", false},   {"mem:a/x.key?a?.md", false},
        {"mem:a/secret.md", false},   {"mem:a/secret.md?", false},
        {"mem:a/secret.md?v", false}, {"mem:a/x.md?raw=1", false},
        {"mem:a/x.md?v=1", true},     {"mem:q", false},
        {"mem:q?v=1", false},         {"mem:a/x.md?b=/secret.md", false},
    };
    config *c;
    access_rules *rules;
    mcp_identity *bob = identity_of("bob");
    (void)state;
    assert_int_equal(config_read_text("f", "/f", mcp_str_from(text), tell, &c), MCP_OK);
    assert_int_equal(access_read(c, NULL, &rules, NULL), MCP_OK);
    for (size_t i = 0; i < COUNT(table); i++) {
        mcp_str uri = mcp_str_from(table[i].uri);
        if (access_may(NULL, MCP_ITEM_RESOURCE, uri, rules) != table[i].may ||
            access_may(bob, MCP_ITEM_RESOURCE, uri, rules) != table[i].may)
            fail_msg("%s", table[i].uri);
    }
    mcp_identity_unref(bob);
    access_free(rules);
    config_free(c);
}

static void no_rules(void **state)
{
    config *c;
    access_rules *rules = (access_rules *)state;
    assert_int_equal(config_read_text("f", "/f", MCP_STR("{\"access\": []}"), tell, &c), MCP_OK);
    assert_int_equal(access_read(c, NULL, &rules, NULL), MCP_OK);
    assert_null(rules);
    config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs_of_uris),   cmocka_unit_test(globs_of_paths),
        cmocka_unit_test(in_linear_time),  cmocka_unit_test(the_last_rule_decides),
        cmocka_unit_test(queries_of_uris), cmocka_unit_test(no_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
