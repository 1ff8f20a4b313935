/* Contents as lines: Markdown, JSON, tables, differences; fuzzy matching. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "content.h"
#include "search.h"

static void check_lines(lines *l, size_t columns, const char *want)
{
    screen s = {.utf8 = true};
    lines_layout(l, &s, columns);
    assert_true(screen_resize(&s, l->n_rows, columns));
    lines_draw(l, &s, (area){0, 0, l->n_rows, columns}, 0, SIZE_MAX);
    char *shown = screen_text(&s);
    assert_string_equal(shown, want);
    free(shown);
    screen_free(&s);
}

static void texts_by_their_type(void **state)
{
    (void)state;
    static const struct {
        const char *type, *uri, *text, *want;
    } rows[] = {
        {"text/plain", "a.txt", "one\r\ntwo words that are wrapped\n\n\tx",
         "one\ntwo words that are\nwrapped\n\n    x\n"},
        {"text/plain", "a.txt", "a\x1b[2Jb", "a\\x1b[2Jb\n"},
        {"text/markdown", "a", "# T\n\npara *x*\n\n- a\n- b\n", "T\n\npara x\n\n- a\n- b\n"},
        {"", "a.md", "1. one is wrapped at twenty\n2. two\n\n> q\n",
         " 1. one is wrapped\n    at twenty\n 2. two\n\n  q\n"},
        {"text/markdown", "a", "[x](http://y) <http://z>\n", "x <http://y> http://z\n"},
        {"text/markdown", "a", "```\na  b\n c\n```\n![alt](u)\n",
         "    a  b\n     c\n\n[image: alt]\n"},
        {"text/markdown", "a", "|a|b|\n|---|---|\n|xx|1|\n|y|22|\n", "a  │ b\nxx │  1\ny  │ 22\n"},
        {"application/json", "a", "{\"a\":[1,\"x\"],\"b\":{}}",
         "{\n  a: [\n    1\n    \"x\"\n  ]\n  b: {}\n}\n"},
        {"application/json", "a", "{\"a b\":1,\"\":{\"x: 1\":2}}",
         "{\n  \"a b\": 1\n  \"\": {\n    \"x: 1\": 2\n  }\n}\n"},
        {"application/json", "a", "{no json", "{no json\n"},
        {"application/json", "a", "[{\"n\":1,\"s\":\"x\"},{\"n\":22,\"s\":null}]",
         "n  │ s\n 1 │ x\n22 │ NULL\n"},
        {"application/json", "a", "{\"columns\":[\"id\"],\"rows\":[[1],[2]],\"next\":\"u\"}",
         "id\n 1\n 2\nnext: u\n"},
        {"application/json", "a",
         "{\"commits\":[{\"id\":\"0123456789\",\"subject\":\"Fix it\",\"author\":{\"name\":\"A\","
         "\"time\":\"2026-07-28T12\"},\"decorations\":[\"main\",\"v1\"]}],\"next\":\"u\"}",
         "01234567 2026-07-28\n         A (main,\n         v1) Fix it\nnext: u\n"},
        {"application/json", "a", "{\"commits\":[{\"id\":\"x\"}]}",
         "{\n  commits: [\n    {\n      id: \"x\"\n    }\n  ]\n}\n"},
        {"text/csv", "a", "a,b\n\"x, \"\"y\"\"\",2\n", "a      │ b\nx, \"y\" │ 2\n"},
        {"text/csv", "a", "one column\nx\n", "one column\nx\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        lines l = {0};
        content_text(&l, mcp_str_from(rows[i].text), mcp_str_from(rows[i].type),
                     mcp_str_from(rows[i].uri));
        check_lines(&l, 21, rows[i].want);
        lines_clear(&l);
    }
}

/* md4c leaves a span that it has not entered, or does not leave one: what follows must not look like
 * it. Each text has one "Z", which has this look. */
static void spans_that_are_not_balanced(void **state)
{
    static const struct {
        const char *text;
        look want;
    } rows[] = {
        {"**Z**\n", LOOK_BOLD},
        {"[a](*)*\n\n**Z**\n", LOOK_BOLD},
        {"[a](*)*\n\nZ\n", LOOK_PLAIN},
        {"*[a](**)\n\nZ\n", LOOK_PLAIN},
        {"# [a](*)* Z\n", LOOK_HEADING},
        {"> [a](*)*\n>\n> Z\n", LOOK_DIM},
        {"> *[a](**)\n\nZ\n", LOOK_PLAIN},
        {"[a](*)*[a](*)*[a](*)*[a](*)*\n\n`Z`\n", LOOK_STRING},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        lines l = {0};
        content_text(&l, mcp_str_from(rows[i].text), MCP_STR("text/markdown"), MCP_STR("a"));
        const char *at = memchr(l.text, 'Z', l.len);
        assert_non_null(at);
        size_t run = l.n_runs;
        while (run && l.runs[run - 1].at > (size_t)(at - l.text))
            run--;
        assert_int_not_equal(run, 0);
        assert_int_equal(l.runs[run - 1].look, rows[i].want);
        lines_clear(&l);
    }
}

/* Markdown that would become much more than it is: it is shown as text. */
static void markdown_is_bounded(void **state)
{
    enum { REFERENCES = 100000, ADDRESS = 20000 };
    static char text[REFERENCES + ADDRESS + 1], deep[10001];
    lines l = {0};
    (void)state;
    for (size_t i = 0; i < REFERENCES; i += 5)
        memcpy(text + i, "[a]\n\n", 5);
    memset(text + REFERENCES, 'x', ADDRESS);
    memcpy(text + REFERENCES, "[a]: /", 6);
    assert_false(markdown_lines(&l, mcp_str_from(text)));
    memset(deep, '>', sizeof(deep) - 1);
    assert_false(markdown_lines(&l, mcp_str_from(deep)));
    assert_int_equal(l.count, 0);
    content_text(&l, mcp_str_from(deep), MCP_STR("text/markdown"), MCP_STR("a"));
    assert_int_equal(l.len, sizeof(deep) - 1);
    lines_clear(&l);
}

static void folds(void **state)
{
    (void)state;
    lines l = {0};
    assert_true(json_put(&l, MCP_STR("{\"a\":{\"b\":[1,2]},\"c\":3}"), 1));
    check_lines(&l, 30, "{\n  a: { … 5 lines\n  c: 3\n}\n");
    assert_true(lines_fold(&l, 1));
    check_lines(&l, 30, "{\n  a: {\n    b: [ … 3 lines\n  }\n  c: 3\n}\n");
    assert_false(lines_fold(&l, 4));
    assert_true(lines_fold(&l, 0));
    check_lines(&l, 30, "{ … 8 lines\n");
    lines_clear(&l);
}

static void bytes(void **state)
{
    (void)state;
    lines l = {0};
    content_bytes(&l, MCP_STR("\x00\x01 text of 18 bytes"));
    check_lines(&l, 80,
                "00000000  00 01 20 74 65 78 74 20  6f 66 20 31 38 20 62 79  .. text of 18 by\n"
                "00000010  74 65 73                                          tes\n");
    lines_clear(&l);
}

static int score(const char *query, const char *text)
{
    fuzzy f = fuzzy_of(mcp_str_from(query));
    return fuzzy_score(&f, mcp_str_from(text), NULL, NULL);
}

static void fuzzy_matching(void **state)
{
    (void)state;
    assert_true(score("abc", "a_b_c") > 0);
    assert_true(score("abc", "acb") < 0);
    assert_true(score("ABC", "abc") < 0);
    assert_true(score("main src", "src/main.c") > 0);
    /* each first text is better than the second */
    static const char *const rows[][3] = {
        {"main", "src/main.c", "main/src/other.c"},
        {"rm", "read_me", "worm"},
        {"test", "a_test", "t_e_s_t"},
        {"file", "file", "file.txt"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_true(score(rows[i][0], rows[i][1]) > score(rows[i][0], rows[i][2]));
    size_t places[FUZZY_LETTERS], n;
    fuzzy f = fuzzy_of(MCP_STR("ac"));
    assert_true(fuzzy_score(&f, MCP_STR("xabc"), places, &n) >= 0);
    assert_int_equal(n, 2);
    assert_int_equal(places[0], 1);
    assert_int_equal(places[1], 3);
}

static const pages_kind resources = {"resources/list", "resources", "uri", false};

static void take(pages *p, const char *text)
{
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL), MCP_OK);
    assert_true(pages_take(p, pages_wanted(p, 0, SIZE_MAX), mcp_json_root(doc)));
    mcp_json_free(doc);
}

static bool never(void *user)
{
    (void)user;
    return false;
}

static void check_match(const search_state *s, size_t at, const char *key)
{
    item i = item_unpack(s->items[at].packed);
    assert_true(mcp_str_eq(i.key, mcp_str_from(key)));
}

static void searching_goes_on_with_the_pages(void **state)
{
    (void)state;
    pages p;
    search_state s = {0};
    pages_init(&p, &resources);
    take(&p, "{\"resources\":[{\"uri\":\"mem:axxb\"},{\"uri\":\"mem:c\"}],\"nextCursor\":\"1\"}");
    search_begin(&s, MCP_STR("ab"), MCP_STR(""));
    assert_true(search_step(&s, &p, never, NULL));
    assert_int_equal(s.count, 1);
    assert_false(search_is_done(&s, &p));
    assert_false(search_step(&s, &p, never, NULL));
    take(&p, "{\"resources\":[{\"uri\":\"mem:ab\"},{\"uri\":\"mem:abc\"}]}");
    assert_true(search_step(&s, &p, never, NULL));
    assert_true(search_is_done(&s, &p));
    assert_int_equal(s.total, 3);
    check_match(&s, 0, "mem:ab");
    check_match(&s, 2, "mem:axxb");
    search_begin(&s, MCP_STR("abc"), MCP_STR("ab"));
    assert_true(search_is_done(&s, &p));
    assert_int_equal(s.count, 1);
    check_match(&s, 0, "mem:abc");
    search_begin(&s, MCP_STR("c"), MCP_STR("abc"));
    assert_false(search_is_done(&s, &p));
    search_step(&s, &p, never, NULL);
    assert_int_equal(s.count, 2);
    pages_reset(&p); /* the list has changed */
    take(&p, "{\"resources\":[{\"uri\":\"mem:cc\"}]}");
    search_step(&s, &p, never, NULL);
    assert_int_equal(s.count, 1);
    check_match(&s, 0, "mem:cc");
    search_clear(&s);
    pages_reset(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_by_their_type),
        cmocka_unit_test(spans_that_are_not_balanced),
        cmocka_unit_test(markdown_is_bounded),
        cmocka_unit_test(folds),
        cmocka_unit_test(bytes),
        cmocka_unit_test(fuzzy_matching),
        cmocka_unit_test(searching_goes_on_with_the_pages),
    };
    setlocale(LC_ALL, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
