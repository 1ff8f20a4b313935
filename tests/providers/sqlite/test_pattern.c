/* LIKE, GLOB and the other SQL functions that the provider replaces: they give SQLite's results for
 * any bytes, and end when the time is over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "functions.h"
#include "pattern.h"

enum { PAIRS = 300000, LONGEST = 12 };

static unsigned next_number(unsigned *seed)
{
    return (*seed = *seed * 1664525 + 1013904223) >> 12;
}

/* The parts of which patterns and texts are generated: a few letters, so that matches are frequent,
 * and all kinds of invalid UTF-8. */
static const char *const pieces[] = {"a",
                                     "A",
                                     "b",
                                     "aa",
                                     "ab",
                                     "%",
                                     "_",
                                     "*",
                                     "?",
                                     "[",
                                     "]",
                                     "^",
                                     "-",
                                     "\\",
                                     "!",
                                     "é",
                                     "É",
                                     "日",
                                     "[a-c",
                                     "[^a]",
                                     "[]a]",
                                     "[^]]",
                                     "[a-]",
                                     "[é-]",
                                     "*[",
                                     "**",
                                     "%%",
                                     "*?",
                                     "%_",
                                     "\x80",
                                     "\xbf",
                                     "\xc3",
                                     "\xff",
                                     "\xfe",
                                     "\xc0\x80",
                                     "\xed\xa0\x80",
                                     "\xef\xbf\xbe",
                                     "\xef\xbf\xbd",
                                     "\xf0\x9f\x98\x80",
                                     "\xf8\x88\x80\x80\x80",
                                     "\xc3\xa9\xa9",
                                     "@",
                                     "`",
                                     "Z",
                                     "{"};

static void make_text(unsigned *seed, char *to, bool plain)
{
    size_t n = next_number(seed) % LONGEST;
    *to = 0;
    while (n--)
        strcat(to, plain && next_number(seed) % 4
                       ? pieces[next_number(seed) % 5]
                       : pieces[next_number(seed) % (sizeof(pieces) / sizeof(*pieces))]);
}

typedef struct both {
    sqlite3 *db[2];
    sqlite3_stmt *stmt[2];
} both;

static void open_both(both *b)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(sqlite3_open(":memory:", &b->db[i]), SQLITE_OK);
    assert_int_equal(sqlite_functions_install(b->db[1], NULL), SQLITE_OK);
}

static void close_both(both *b)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(sqlite3_close(b->db[i]), SQLITE_OK);
}

static void prepare(both *b, const char *sql)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(sqlite3_prepare_v2(b->db[i], sql, -1, &b->stmt[i], NULL), SQLITE_OK);
}

/* Returns the code of the step, and stores the value or the error message. */
static int step(sqlite3 *db, sqlite3_stmt *stmt, char result[300])
{
    int rc = sqlite3_step(stmt);
    const char *text =
        rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : sqlite3_errmsg(db);
    snprintf(result, 300, "%s", text ? text : "NULL");
    return rc;
}

static void compare(both *b, const char *sql, const char *const *values, int n)
{
    char result[2][300];
    int rc[2];
    for (int i = 0; i < 2; i++) {
        sqlite3_reset(b->stmt[i]);
        for (int k = 0; k < n; k++)
            sqlite3_bind_text(b->stmt[i], k + 1, values[k], -1, SQLITE_STATIC);
        rc[i] = step(b->db[i], b->stmt[i], result[i]);
    }
    if (rc[0] != rc[1] || strcmp(result[0], result[1]) != 0)
        fail_msg("%s of '%s', '%s', '%s': %d %s, not %d %s", sql, values[0], values[1], values[2],
                 rc[1], result[1], rc[0], result[0]);
}

/* For generated patterns, texts and escape characters, the result is that of SQLite. */
static void test_same(void **state)
{
    static const char *const calls[] = {"SELECT quote(?2 LIKE ?1)", "SELECT quote(?2 GLOB ?1)",
                                        "SELECT quote(?2 LIKE ?1 ESCAPE ?3)",
                                        "SELECT quote(like('%' || ?1 || '%', ?2 || ?2))",
                                        "SELECT quote(glob('*' || ?1, ?2 || ?2))"};
    both b;
    unsigned seed = 1, matched = 0;
    char text[2][10 * LONGEST];
    (void)state;
    open_both(&b);
    for (size_t c = 0; c < sizeof(calls) / sizeof(*calls); c++) {
        prepare(&b, calls[c]);
        int n = sqlite3_bind_parameter_count(b.stmt[0]);
        for (int k = 0; k < PAIRS / 5; k++) {
            make_text(&seed, text[0], false);
            make_text(&seed, text[1], true);
            const char *escape = pieces[next_number(&seed) % (sizeof(pieces) / sizeof(*pieces))];
            compare(&b, calls[c], (const char *const[]){text[0], text[1], escape}, n);
            matched +=
                sqlite3_column_text(b.stmt[1], 0) && *sqlite3_column_text(b.stmt[1], 0) == '1';
        }
        for (int i = 0; i < 2; i++)
            sqlite3_finalize(b.stmt[i]);
    }
    assert_in_range(matched, PAIRS / 100, PAIRS);
    close_both(&b);
}

/* Values of other types, with various lengths, and wrong numbers of arguments. */
static void test_values(void **state)
{
    static const char *const values[] = {
        "NULL", "''",  "12",   "1.5", "x'61'",           "x''", "x'6100'", "'1%'",
        "'%'",  "'_'", "'ab'", "'a'", "char(97, 0, 98)", "'é'", "'\\'",    "zeroblob(3)"};
    static const char *const calls[] = {"SELECT quote(%s LIKE %s)", "SELECT quote(%s GLOB %s)",
                                        "SELECT quote(%s LIKE %s ESCAPE '\\')",
                                        "SELECT quote('a%%' LIKE %s ESCAPE %s)"};
    enum { VALUES = sizeof(values) / sizeof(*values) };
    both b;
    (void)state;
    open_both(&b);
    for (size_t c = 0; c < sizeof(calls) / sizeof(*calls); c++)
        for (int k = 0; k < VALUES * VALUES; k++) {
            char sql[200];
            snprintf(sql, sizeof(sql), calls[c], values[k % VALUES], values[k / VALUES]);
            prepare(&b, sql);
            compare(&b, sql, (const char *const[]){"", "", ""}, 0);
            for (int i = 0; i < 2; i++)
                sqlite3_finalize(b.stmt[i]);
        }
    for (int i = 0; i < 2; i++)
        sqlite3_limit(b.db[i], SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 20);
    static const char *const lengths[] = {"SELECT 'a' GLOB printf('%.*c', 20, '*')",
                                          "SELECT 'a' GLOB printf('%.*c', 21, '*')",
                                          "SELECT 'a' LIKE printf('%.*c', 21, 'é')"};
    for (size_t i = 0; i < 3; i++) {
        prepare(&b, lengths[i]);
        compare(&b, lengths[i], (const char *const[]){"", "", ""}, 0);
        for (int k = 0; k < 2; k++)
            sqlite3_finalize(b.stmt[k]);
    }
    close_both(&b);
}

static bool count_down(void *user, size_t bytes)
{
    int *left = user;
    assert_true(bytes < 4 << 20);
    return --*left > 0;
}

/* A match that would take 10^11 comparisons ends when its budget is used up. */
static void test_ends(void **state)
{
    enum { LONG = 1 << 20, HARD = 100000 };
    static char text[LONG + 1], pattern[HARD + 3];
    static const char *const beginnings[] = {"*", "*?", "*[a-b]", "*[^b]*"};
    (void)state;
    memset(text, 'a', LONG);
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
        size_t len = strlen(beginnings[i]);
        int left = 3;
        memset(pattern, 'a', HARD);
        memcpy(pattern, beginnings[i], len);
        pattern[HARD] = 'b';
        sqlite_pattern rules = {
            .any = '*', .one = '?', .set = '[', .spend = count_down, .user = &left};
        assert_int_equal(sqlite_pattern_match(&rules, pattern, text), SQLITE_MATCHED_STOPPED);
        assert_int_equal(left, 0);
    }
}

/* unhex() of SQLite 3.41 and newer, and json_patch(), which is none. */
static void test_others(void **state)
{
    static const char *const calls[] = {"SELECT quote(unhex('6162'))",
                                        "SELECT quote(unhex('6-1 62', ' -'))",
                                        "SELECT quote(unhex('616'))",
                                        "SELECT quote(unhex('61é62', 'é'))",
                                        "SELECT quote(unhex('6G'))",
                                        "SELECT quote(unhex(''))",
                                        "SELECT quote(unhex(NULL, 'a'))",
                                        "SELECT quote(unhex('61', NULL))",
                                        "SELECT quote(unhex('aF Bc', ' '))",
                                        "SELECT quote(unhex('-', '-'))",
                                        "SELECT quote(unhex('61日62', '日é'))",
                                        "SELECT quote(unhex(6162))"};
    sqlite3_stmt *stmt;
    both b;
    (void)state;
    open_both(&b);
    for (size_t i = 0; sqlite3_libversion_number() >= 3041000 && i < sizeof(calls) / sizeof(*calls);
         i++) {
        prepare(&b, calls[i]);
        compare(&b, calls[i], (const char *const[]){"", "", ""}, 0);
        for (int k = 0; k < 2; k++)
            sqlite3_finalize(b.stmt[k]);
    }
    assert_int_equal(sqlite3_prepare_v2(b.db[1], "SELECT json_patch('{}', '{}')", -1, &stmt, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ERROR);
    sqlite3_finalize(stmt);
    close_both(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
