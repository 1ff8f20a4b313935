/* The functions with which providers parse URIs: prefixes, numbers, parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "failalloc.h"
#include "pieces.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_behind(void **state)
{
    static const struct {
        const char *uri, *rest; /* `rest` is NULL if the URI does not have the prefix */
    } cases[] = {
        {"notes://a%20b/", ""},     {"NOTES://a%20b/x/y?z", "x/y?z"}, {"nOtEs://a%20b/x", "x"},
        {"notes://a%20b", NULL},    {"notes://A%20b/", NULL},         {"notes://other/", NULL},
        {"note://a%20b/x", NULL},   {"notess://a%20b/x", NULL},       {"", NULL},
        {"notes:/a%20b/xxx", NULL}, {"n\xcftes://a%20b/x", NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        mcp_str rest = {NULL, 0};
        bool ours = common_pieces_behind(mcp_str_from(cases[i].uri), "notes://a%20b/", &rest);
        if (ours != (cases[i].rest != NULL) ||
            (ours && !mcp_str_eq(rest, mcp_str_from(cases[i].rest))))
            fail_msg("%s: %d %.*s", cases[i].uri, ours, (int)rest.len, rest.ptr ? rest.ptr : "");
    }
}

static void test_number(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        uint64_t value;
    } cases[] = {
        {"1", true, 1},     {"007", true, 7},
        {"500", true, 500}, {"501", false, 0},
        {"0", false, 0},    {"", false, 0},
        {"-1", false, 0},   {"+1", false, 0},
        {" 1", false, 0},   {"1 ", false, 0},
        {"1e2", false, 0},  {"18446744073709551617", false, 0},
        {"0x1", false, 0},  {"000000000000000001", true, 1},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t value = 0;
        bool ok = common_pieces_number(mcp_str_from(cases[i].text), 1, 500, &value);
        if (ok != cases[i].ok || (ok && value != cases[i].value))
            fail_msg("\"%s\": %d %llu", cases[i].text, ok, (unsigned long long)value);
    }
}

static void test_only(void **state)
{
    static const char *const two[] = {"offset", "length", NULL}, *const none[] = {NULL};
    const mcp_uri_pair pairs[] = {{MCP_STR("length"), MCP_STR("1")},
                                  {MCP_STR("offset"), MCP_STR("")},
                                  {MCP_STR("Offset"), MCP_STR("2")}};
    char long_name[5000], why[300];
    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = 0;
    const mcp_uri_pair long_pair = {mcp_str_from(long_name), MCP_STR("")};
    (void)state;
    assert_true(common_pieces_only(pairs, 0, none, why));
    assert_true(common_pieces_only(pairs, 2, two, why));
    assert_false(common_pieces_only(pairs, 3, two, why));
    assert_string_equal(why, "the parameter Offset is not supported here, only offset and length");
    assert_false(common_pieces_only(pairs, 1, none, why));
    assert_string_equal(why,
                        "the parameter length is not supported here: this URI has no parameters");
    assert_false(common_pieces_only(&long_pair, 1, two, why));
    assert_true(strlen(why) < sizeof(why));
}

/* Encoding and decoding round-trip for all bytes. */
static void test_round_trip(void **state)
{
    char all[256], room[512];
    failalloc memory = {0};
    mcp_allocator a = failalloc_allocator(&memory);
    common_buffer b;
    mcp_str back;
    (void)state;
    for (size_t i = 0; i < sizeof(all); i++)
        all[i] = (char)i;
    common_buffer_init(&b, &a);
    assert_true(common_pieces_put(&b, (mcp_str){all, sizeof(all)}));
    common_pieces p = {.rest = {b.ptr, b.len}, .room = room, .nul = true};
    assert_true(common_pieces_take(&p, "/?#", &back));
    assert_int_equal(p.rest.len, 0);
    assert_int_equal(back.len, sizeof(all));
    assert_memory_equal(back.ptr, all, sizeof(all));
    p = (common_pieces){.rest = {b.ptr, b.len}, .room = room};
    assert_false(common_pieces_take(&p, "/?#", &back));
    common_buffer_free(&b);
    memory.fail_at = memory.calls + 1;
    assert_false(common_pieces_put(&b, MCP_STR("x")));
    common_buffer_free(&b);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_behind),
        cmocka_unit_test(test_number),
        cmocka_unit_test(test_only),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
