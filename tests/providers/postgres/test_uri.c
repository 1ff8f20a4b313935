/* URIs of the PostgreSQL provider: which are valid, and their canonical spelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failalloc.h"
#include "uri.h"

static const struct {
    const char *rest, *canonical; /* if `canonical` is NULL, the URI is invalid */
} cases[] = {
    {"", ""},
    {"?format=text", "?format=text"},
    {"public", "public"},
    {"public/sale", "public/sale"},
    {"p%75blic/s%61le", "public/sale"},
    {"public/sale/rows", "public/sale/rows"},
    {"public/sale/rows?status=open&limit=1", "public/sale/rows?status=open&limit=1"},
    {"public/sale/rows?a", "public/sale/rows?a="},
    {"public/sale/row/1", "public/sale/row/1"},
    {"public/sale/row/a%2Fb/", "public/sale/row/a%2Fb/"},
    {"public/sale/cell/photo/1/2?offset=1", "public/sale/cell/photo/1/2?offset=1"},
    {"odd%20one/n%2fame%25%C3%A9%3F", "odd%20one/n%2Fame%25%C3%A9%3F"},
    {"%24query/x", "%24query/x"},
    {"$query/top?from=1", "$query/top?from=1"},
    {"public/$function/total(integer,%20text)", "public/$function/total%28integer%2C%20text%29"},
    {"public/%24function", "public/%24function"},
    {"/", NULL},
    {"public/", NULL},
    {"public//rows", NULL},
    {"public/sale/", NULL},
    {"public/sale/other", NULL},
    {"public/sale/row", NULL},
    {"public/sale/rows/1", NULL},
    {"public/sale/cell/photo", NULL},
    {"public/$other/x", NULL},
    {"$query", NULL},
    {"$query/", NULL},
    {"$other/x", NULL},
    {"public/$function/", NULL},
    {"public?", NULL},
    {"public?a=1&", NULL},
    {"public?=1", NULL},
    {"public#x", NULL},
    {"public%00", NULL},
    {"public%", NULL},
    {"public%4", NULL},
    {"public/sale/row/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3", NULL},
};

static void test_spellings(void **state)
{
    postgres_target t;
    char room[1000];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int rc = postgres_uri_parse(mcp_str_from(cases[i].rest), room, &t);
        if ((rc == MCP_OK) != (cases[i].canonical != NULL))
            fail_msg("%s: %d", cases[i].rest, rc);
        if (rc != MCP_OK)
            continue;
        mcp_allocator alloc = common_allocator(NULL);
        postgres_sql to;
        postgres_sql_init(&to, &alloc);
        postgres_uri_put(&to, "", &t);
        assert_string_equal(postgres_sql_text(&to), cases[i].canonical);
        postgres_sql_free(&to);
    }
}

static void test_pieces(void **state)
{
    postgres_target t;
    char room[1000];
    (void)state;
    assert_int_equal(postgres_uri_parse(MCP_STR("a%2Fb/c/cell/d%22/%65/?x=1&y=%3D"), room, &t),
                     MCP_OK);
    assert_int_equal(t.kind, POSTGRES_KIND_CELL);
    assert_string_equal(t.schema.ptr, "a/b");
    assert_string_equal(t.name.ptr, "c");
    assert_string_equal(t.column.ptr, "d\"");
    assert_int_equal(t.n_key, 2);
    assert_string_equal(t.key[0].ptr, "e");
    assert_string_equal(t.key[1].ptr, "");
    assert_string_equal(postgres_uri_param(&t, "y")->ptr, "=");
    assert_null(postgres_uri_param(&t, "z"));
}

/* Any name stays a single identifier. */
static void test_names(void **state)
{
    static const char *const names[][2] = {{"sale", "\"sale\""},
                                           {"a\"b", "\"a\"\"b\""},
                                           {"\"; DROP TABLE x; --", "\"\"\"; DROP TABLE x; --\""},
                                           {"", "\"\""}};
    mcp_allocator alloc = common_allocator(NULL);
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        postgres_sql to;
        postgres_sql_init(&to, &alloc);
        postgres_put_name(&to, names[i][0]);
        assert_string_equal(postgres_sql_text(&to), names[i][1]);
        postgres_sql_free(&to);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator alloc = failalloc_allocator(&f);
        postgres_sql to;
        postgres_target t = {.kind = POSTGRES_KIND_TABLE,
                             .schema = MCP_STR("a schema of some length that is longer than most"),
                             .name =
                                 MCP_STR("a table that makes the buffer grow once more, or so")};
        postgres_sql_init(&to, &alloc);
        postgres_uri_put(&to, "postgres://shop/", &t);
        const char *text = postgres_sql_text(&to);
        assert_true(text != NULL || f.calls >= n);
        postgres_sql_free(&to);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
