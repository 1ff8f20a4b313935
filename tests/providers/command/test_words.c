/* Words of a command line with arguments: a word stays one word for any argument. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include <words.h>

#include "support/failalloc.h"

static const char arguments[] =
    "{\"a\":\"x y\",\"dash\":\"-rf\",\"n\":-5,\"real\":1.5,\"yes\":true,\"empty\":\"\","
    "\"quote\":\"$(id) `id` ; | & > \\\" '\",\"brace\":\"{a}\",\"nul\":\"a\\u0000b\",\"list\":[1],"
    "\"none\":null,\"with-dash_1\":\"w\"}";

static const struct {
    const char *word, *expected; /* if `expected` is NULL, the result is `rc` */
    int rc;
    bool free_dash;
} table[] = {
    {.word = "plain", .expected = "plain"},
    {.word = "", .expected = ""},
    {.word = "{a}", .expected = "x y"},
    {.word = "--to={a}!", .expected = "--to=x y!"},
    {.word = "{a}{a}", .expected = "x yx y"},
    {.word = "{quote}", .expected = "$(id) `id` ; | & > \" '"},
    {.word = "{brace}", .expected = "{a}"}, /* the inserted value is not expanded again */
    {.word = "{{a}", .expected = "{a}"},
    {.word = "{{{a}", .expected = "{x y"},
    {.word = "{print $1}", .expected = "{print $1}"},
    {.word = "{}", .expected = "{}"},
    {.word = "{1}", .expected = "{1}"},
    {.word = "a{", .expected = "a{"},
    {.word = "}", .expected = "}"},
    {.word = "{with-dash_1}", .expected = "w"},
    {.word = "{real} {yes}", .expected = "1.5 true"},
    {.word = "{empty}", .expected = ""},
    {.word = "{missing}", .rc = MCP_PENDING},
    {.word = "x{none}", .rc = MCP_PENDING},
    {.word = "{nul}", .rc = MCP_EINVAL},
    {.word = "{list}", .rc = MCP_EINVAL},
    {.word = "{dash}", .rc = MCP_EINVAL},
    {.word = "{empty}{dash}", .rc = MCP_EINVAL},
    {.word = "-{dash}", .expected = "--rf"},
    {.word = "./{dash}", .expected = "./-rf"},
    {.word = "{dash}", .expected = "-rf", .free_dash = true},
    {.word = "{n}", .expected = "-5"}, /* `n` is in the list `allow` */
};

static void filled(void **state)
{
    static const char *const allow[] = {"n"};
    mcp_json_doc *doc;
    (void)state;
    assert_int_equal(mcp_json_parse(mcp_str_from(arguments), NULL, NULL, &doc, NULL), MCP_OK);
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        command_fill f = {.arguments = mcp_json_root(doc),
                          .allow = allow,
                          .n_allow = 1,
                          .dash = !table[i].free_dash};
        common_buffer to;
        mcp_allocator alloc = common_allocator(NULL);
        common_buffer_init(&to, &alloc);
        common_buffer_append(&to, "before", 7);
        int rc = command_word(&f, table[i].word, &to);
        if (table[i].expected) {
            assert_int_equal(rc, MCP_OK);
            assert_string_equal(to.ptr + 7, table[i].expected);
            assert_int_equal(to.len, 7 + strlen(table[i].expected) + 1);
        } else {
            assert_int_equal(rc, table[i].rc);
            assert_int_equal(to.len, 7);
            assert_true(rc != MCP_EINVAL || (f.why && f.which.len));
        }
        common_buffer_free(&to);
    }
    mcp_json_free(doc);
}

static void every_allocation(void **state)
{
    mcp_json_doc *doc;
    (void)state;
    assert_int_equal(mcp_json_parse(mcp_str_from(arguments), NULL, NULL, &doc, NULL), MCP_OK);
    for (size_t n = 1;; n++) {
        failalloc memory = {.fail_at = n};
        mcp_allocator alloc = failalloc_allocator(&memory);
        command_fill f = {.arguments = mcp_json_root(doc)};
        common_buffer to;
        common_buffer_init(&to, &alloc);
        int rc = command_word(&f, "{a}{n}{real}", &to);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        common_buffer_free(&to);
        assert_int_equal(memory.live, 0);
        if (memory.calls < n)
            break;
    }
    mcp_json_free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filled),
        cmocka_unit_test(every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
