/* Statements without their constants: none of a constant is shown, also not where it is uncertain where it
 * ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failalloc.h"
#include "normal.h"

static const struct {
    const char *sql, *shown;
} cases[] = {
    {"", ""},
    {"SELECT * FROM sale WHERE id = 5", "SELECT * FROM sale WHERE id = ?"},
    {"select a1, b.c2 from t3 where x=$1 and y >= -1.5e-3",
     "select a1, b.c2 from t3 where x=$1 and y >= -?"},
    {"SELECT .5, 0xff, 1_000, 2., 3e5", "SELECT ?, ?, ?, ?, ?"},
    {"SELECT 'it''s', 'x'", "SELECT ?, ?"},
    {"SELECT E'a\\'b', e'c\\\\', 'd'", "SELECT ?, ?, ?"},
    {"SELECT B'01', x'ff', N'n', U&'d!0061' UESCAPE '!'", "SELECT ?, ?, ?, U&? UESCAPE ?"},
    {"SELECT'a',date'2026-01-02'", "SELECT?,date?"},
    {"SELECT $$a'b$$, $x$c$$d$x$, 'e'", "SELECT ?, ?, ?"},
    {"SELECT a$1$b FROM x$y", "SELECT a$1$b FROM x$y"},
    {"SELECT 1 -- secret 'x\n, 2 /* a /* b */ 'c */ , 3", "SELECT ? , ? , ?"},
    {"SELECT \"a'1\", \"b\"\"2\" FROM \"c -- d\"", "SELECT \"a'1\", \"b\"\"2\" FROM \"c -- d\""},
    {"  SELECT\n\t1\x01 ;", "SELECT ? ;"},
    {"SELECT 'ä', ü FROM ö", "SELECT ?, ü FROM ö"},
    {"ALTER ROLE x PASSWORD 'secret'", "ALTER ROLE x PASSWORD ?"},
    {"DO $$ SELECT 'a' $$", "DO ?"},
    /* where it is uncertain, the rest is left out */
    {"SELECT 'a\\', ' OR secret = 'b'", "SELECT ? …"},
    {"SELECT 'a\\\\', secret", "SELECT ? …"},
    {"SELECT 'C:\\dir', 'x'", "SELECT ?, ?"},
    {"SELECT 'cut", "SELECT ? …"},
    {"SELECT E'cut\\", "SELECT ? …"},
    {"SELECT $a$cut$b$", "SELECT ? …"},
    {"SELECT /* cut", "SELECT …"},
    {"SELECT \"cut", "SELECT …"},
    {"SELECT '\xff'", " …"},
};

static const char *normal(postgres_sql *to, const char *sql)
{
    postgres_sql_reset(to);
    postgres_put_normal(to, sql);
    return postgres_sql_text(to);
}

static void test_cases(void **state)
{
    postgres_sql to;
    failalloc none = {0};
    mcp_allocator heap = failalloc_allocator(&none);
    (void)state;
    postgres_sql_init(&to, &heap);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_string_equal(normal(&to, cases[i].sql), cases[i].shown);
    postgres_sql_free(&to);
}

/* A prefix of a statement, such as what the database keeps of a long one, shows no more of a constant. */
static void test_prefixes(void **state)
{
    static const char sql[] = "SELECT 'zz', E'z\\'z', $q$zz$q$, \"a\", 99 /* z */ FROM t -- z";
    char text[sizeof(sql)];
    postgres_sql to;
    failalloc none = {0};
    mcp_allocator heap = failalloc_allocator(&none);
    (void)state;
    postgres_sql_init(&to, &heap);
    for (size_t n = 0; n < sizeof(sql); n++) {
        snprintf(text, sizeof(text), "%.*s", (int)n, sql);
        const char *shown = normal(&to, text);
        if (strchr(shown, 'z') || strchr(shown, '9'))
            fail_msg("%s: %s", text, shown);
    }
    postgres_sql_free(&to);
}

static void test_length(void **state)
{
    char text[4000];
    postgres_sql to;
    failalloc none = {0};
    mcp_allocator heap = failalloc_allocator(&none);
    (void)state;
    postgres_sql_init(&to, &heap);
    strcpy(text, "SELECT a");
    for (int i = 0; i < 1000; i++)
        strcat(text, ",b");
    const char *shown = normal(&to, text);
    assert_in_range(strlen(shown), POSTGRES_LONGEST_NORMAL, POSTGRES_LONGEST_NORMAL + 5);
    assert_non_null(strstr(shown, " …"));
    postgres_sql_free(&to);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
