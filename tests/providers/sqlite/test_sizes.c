/* Answers of the query tool have at most as many tokens as the call or the source allows, end after a
 * row, and say in an item of their own how to go on. */
#define _GNU_SOURCE
#include "database.h"

#include <mcp/io.h>

static peer p;

static int setup(void **state)
{
    (void)state;
    make_database(
        "CREATE TABLE wide(id INTEGER PRIMARY KEY, t TEXT, b BLOB, r REAL);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700) "
        "INSERT INTO wide SELECT i, substr(hex(zeroblob(150)), 1, i % 300) || char(1, 10), "
        "zeroblob(i % 90), i / 3.0 FROM n;");
    return 0;
}

static void open_on_loop(mcp_sqlite_options o)
{
    memset(&p, 0, sizeof(p));
    assert_int_equal(mcp_loop_new(NULL, &p.loop, NULL), MCP_OK);
    assert_int_equal(peer_open(&p, &o, mcp_loop_host(p.loop), NULL), MCP_OK);
}

static void test_answers(void **state)
{
    static const struct {
        const char *params, *has[5];
    } rows[] = {
        {SQL_WITH("SELECT id FROM wide", "\"limit\":3,\"offset\":2"),
         {"Rows 3 to 5; there are more, in an order of their own without ORDER BY. Go on with "
          "query_sqlite_shop {\\\"sql\\\":\\\"SELECT id FROM "
          "wide\\\",\\\"limit\\\":3,\\\"offset\\\":5}\"",
          "\"libmcp/next\":{\"name\":\"query_sqlite_shop\",\"arguments\":{",
          "\"rows\":[[3],[4],[5]],\"truncated\":true}"}},
        {SQL_WITH("SELECT id FROM wide", "\"limit\":5,\"offset\":695"),
         {"[[696],[697],[698],[699],[700]],\"truncated\":false}", "!Go on"}},
        {SQL_WITH("SELECT id FROM wide", "\"offset\":700"), {"\"rows\":[],\"truncated\":false"}},
        {SQL_WITH("SELECT printf('%.5000c', 'y') AS a, zeroblob(3000) AS b FROM wide",
                  "\"max_tokens\":100"),
         {"[[{\"type\":\"text\",\"size\":5000,\"beginning\":\"yyy",
          ",{\"type\":\"blob\",\"size\":3000}]]", "Rows 1 to 1; there are more"}},
    };
    (void)state;
    open_on_loop((mcp_sqlite_options){0});
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check_reply(rows[i].params, ask_and_wait(&p, CALL, rows[i].params), rows[i].has);
    peer_close(&p);
}

static size_t structured(size_t *rows, bool *more)
{
    mcp_json_doc *doc = NULL;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str text;
    assert_int_equal(mcp_json_parse(mcp_str_from(p.reply), NULL, NULL, &doc, NULL), MCP_OK);
    const mcp_json *content =
        mcp_json_get(mcp_json_get(mcp_json_root(doc), "result"), "structuredContent");
    *rows = mcp_json_count(mcp_json_get(content, "rows"));
    *more = mcp_json_bool(mcp_json_get(content, "truncated"), false);
    mcp_json_add_value(w, content);
    assert_int_equal(mcp_json_writer_finish(w, &text), MCP_OK);
    mcp_json_writer_free(w);
    mcp_json_free(doc);
    return text.len;
}

/* The pages together are the table, and none is larger than allowed. The names of the columns come on
 * top of the rows. */
static void test_pages(void **state)
{
    static const struct {
        const char *more;
        size_t tokens;
    } sizes[] = {{"", 2000}, {"\"max_tokens\":700,", 700}, {"\"max_tokens\":20000,", 20000}};
    (void)state;
    open_on_loop((mcp_sqlite_options){.answer_tokens = 2000});
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        char params[400], first[40];
        size_t rows, at = 0;
        for (bool more = true; more; at += rows) {
            snprintf(params, sizeof(params),
                     SQL_WITH("SELECT * FROM wide ORDER BY id", "%s\"limit\":1000,\"offset\":%zu"),
                     sizes[i].more, at);
            ask_and_wait(&p, CALL, params);
            snprintf(first, sizeof(first), "\"rows\":[[%zu,", at + 1);
            assert_non_null(strstr(p.reply, first));
            assert_true(structured(&rows, &more) <= sizes[i].tokens * 2 + 100);
            assert_true(rows > 0);
        }
        assert_int_equal(at, 700);
    }
    peer_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_pages),
    };
    return cmocka_run_group_tests(tests, setup, teardown_database);
}
