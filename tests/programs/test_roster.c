/* The names that were added to a list and removed from it. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcpctl/roster.h>

static void fill(roster *r, const char *letters)
{
    for (; *letters; letters++)
        roster_add(r, (mcp_str){letters, 1});
}

static void put(bool added, const char *name, void *user)
{
    fprintf(user, "%c%s", added ? '+' : '-', name);
}

static void differences(void **state)
{
    static const struct {
        const char *before, *after, *differences;
    } cases[] = {
        {"", "", ""},
        {"", "ba", "+a+b"},
        {"ab", "", "-a-b"},
        {"abc", "cab", ""},
        {"abd", "bec", "-a+c-d+e"},
        {"aab", "abbb", ""}, /* a name that occurs twice counts once */
        {"zz", "aaz", "+a"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        roster before = {0}, after = {0};
        char *text = NULL;
        size_t len;
        FILE *f = open_memstream(&text, &len);
        assert_non_null(f);
        fill(&before, cases[i].before);
        fill(&after, cases[i].after);
        size_t count = roster_compare(&before, &after, put, f);
        fclose(f);
        assert_string_equal(text, cases[i].differences);
        assert_int_equal(count, strlen(text) / 2);
        assert_false(before.is_incomplete || after.is_incomplete);
        roster_clear(&before);
        roster_clear(&after);
        free(text);
    }
}

/* The limits on the number of names and on their total length. */
static void limits(void **state)
{
    roster r = {0};
    size_t len = 1 << 20;
    char *name = malloc(len);
    (void)state;
    assert_non_null(name);
    memset(name, 'x', len);
    for (int i = 0; i < 200000; i++)
        roster_add(&r, MCP_STR("name"));
    assert_false(r.is_incomplete);
    roster_add(&r, MCP_STR("name"));
    assert_true(r.is_incomplete);
    roster_clear(&r);
    assert_false(r.is_incomplete);
    for (int i = 0; i < 40; i++)
        roster_add(&r, (mcp_str){name, len});
    assert_true(r.is_incomplete);
    assert_int_equal(r.count, 31);
    roster_clear(&r);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences),
        cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
