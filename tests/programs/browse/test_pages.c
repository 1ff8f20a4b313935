/* A list whose pages are in memory only while they are looked at. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pages.h"

static const pages_kind resources = {"resources/list", "resources", "uri", false};
static const pages_kind tools = {"tools/list", "tools", "name", true};

enum { PER_PAGE = 100 };

static void take(pages *p, size_t index, const char *text)
{
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL), MCP_OK);
    assert_true(pages_take(p, index, mcp_json_root(doc)));
    mcp_json_free(doc);
}

/* Answers a request for a page of a list of n entries. The cursor is the first entry. */
static void answer(pages *p, size_t index, size_t n)
{
    char *text = NULL;
    size_t len, from = 0;
    const char *cursor = pages_cursor(p, index);
    if (cursor)
        from = strtoul(cursor, NULL, 10);
    FILE *f = open_memstream(&text, &len);
    fputs("{\"resources\":[", f);
    for (size_t i = from; i < n && i < from + PER_PAGE; i++)
        fprintf(f, "%s{\"uri\":\"mem:%zu\",\"name\":\"%zu\",\"size\":%zu}", i > from ? "," : "", i,
                i, i);
    fputs("]", f);
    if (from + PER_PAGE < n)
        fprintf(f, ",\"nextCursor\":\"%zu\"", from + PER_PAGE);
    fputs("}", f);
    fclose(f);
    take(p, index, text);
    free(text);
}

/* Looks at entries, and reads what is missing. Returns the number of requests. */
static size_t look(pages *p, size_t from, size_t to, size_t n)
{
    size_t requests = 0;
    for (size_t wanted; (wanted = pages_wanted(p, from, to)) != SIZE_MAX; requests++)
        answer(p, wanted, n);
    return requests;
}

static void check_item(pages *p, size_t at)
{
    char key[32];
    item i;
    snprintf(key, sizeof(key), "mem:%zu", at);
    assert_true(pages_item(p, at, &i));
    assert_true(mcp_str_eq(i.key, mcp_str_from(key)));
    assert_int_equal(i.key.ptr[i.key.len], 0);
    assert_int_equal(i.size, at);
}

static void reads_what_is_looked_at(void **state)
{
    (void)state;
    pages p;
    pages_init(&p, &resources);
    assert_int_equal(look(&p, 0, 20, 1000), 1);
    assert_int_equal(p.known, PER_PAGE);
    assert_false(p.is_complete);
    check_item(&p, 19);
    assert_int_equal(look(&p, 0, 20, 1000), 0);
    assert_int_equal(look(&p, 90, 110, 1000), 1);
    check_item(&p, 105);
    assert_int_equal(look(&p, 0, SIZE_MAX, 1000), 8);
    assert_true(p.is_complete);
    assert_int_equal(p.known, 1000);
    check_item(&p, 999);
    pages_reset(&p);
    assert_int_equal(p.known, 0);
    assert_int_equal(look(&p, 0, 1, 5), 1);
    assert_true(p.is_complete);
    pages_reset(&p);
}

static void far_pages_are_dropped_and_read_again(void **state)
{
    (void)state;
    pages p;
    item i;
    pages_init(&p, &resources);
    p.most_bytes = 20000;
    size_t requests = look(&p, 0, 1, 10000);
    for (size_t at = 0; at < 10000; at += 10)
        requests += look(&p, at, at + 10, 10000);
    assert_int_equal(requests, 100);
    assert_true(p.bytes <= 20000 + 10000);
    check_item(&p, 9999);
    assert_false(pages_item(&p, 50, &i));
    assert_int_equal(look(&p, 45, 55, 10000), 1);
    check_item(&p, 50);
    assert_true(p.is_complete);
    assert_int_equal(p.known, 10000);
    pages_reset(&p);
}

static void a_page_that_has_shrunk(void **state)
{
    (void)state;
    pages p;
    pages_init(&p, &resources);
    take(&p, pages_wanted(&p, 0, 1),
         "{\"resources\":[{\"uri\":\"a\"},{\"uri\":\"b\"}],\"nextCursor\":\"1\"}");
    p.most_bytes = 1;
    take(&p, pages_wanted(&p, 0, 9), "{\"resources\":[{\"uri\":\"c\"}]}");
    assert_int_equal(p.known, 3);
    assert_int_equal(pages_wanted(&p, 0, 1), 0);
    take(&p, 0, "{\"resources\":[{\"uri\":\"a\"}],\"nextCursor\":\"1\"}");
    assert_int_equal(p.known, 2);
    pages_reset(&p);
}

static void ends(void **state)
{
    (void)state;
    pages p;
    pages_init(&p, &resources);
    take(&p, pages_wanted(&p, 0, 1), "{\"resources\":[],\"nextCursor\":\"x\"}");
    take(&p, pages_wanted(&p, 0, 1), "{\"resources\":[{\"uri\":\"a\"}],\"nextCursor\":\"x\"}");
    assert_true(p.is_broken);
    assert_int_equal(pages_wanted(&p, 0, 9), SIZE_MAX);
    assert_int_equal(p.known, 1);
    pages_reset(&p);
    pages_wanted(&p, 0, 1);
    pages_break(&p, "refused");
    assert_int_equal(pages_wanted(&p, 0, 9), SIZE_MAX);
    pages_reset(&p);
}

static void definitions_are_kept(void **state)
{
    (void)state;
    pages p;
    item i;
    char *text, *key = malloc(100001);
    memset(key, 'k', 100000);
    key[100000] = 0;
    pages_init(&p, &tools);
    assert_true(
        asprintf(&text,
                 "{\"tools\":[7,{\"name\":\"t\",\"title\":\"T\",\"x\":1},{\"name\":\"%s\"}]}",
                 key) > 0);
    take(&p, pages_wanted(&p, 0, 1), text);
    assert_int_equal(p.known, 2);
    assert_true(pages_item(&p, 0, &i));
    assert_true(mcp_str_eq(i.json, MCP_STR("{\"name\":\"t\",\"title\":\"T\",\"x\":1}")));
    assert_true(mcp_str_eq(i.title, MCP_STR("T")));
    assert_false(i.too_long);
    assert_true(pages_item(&p, 1, &i));
    assert_true(i.too_long);
    pages_reset(&p);
    free(text);
    free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_looked_at),
        cmocka_unit_test(far_pages_are_dropped_and_read_again),
        cmocka_unit_test(a_page_that_has_shrunk),
        cmocka_unit_test(ends),
        cmocka_unit_test(definitions_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
