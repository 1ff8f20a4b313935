/* Answers of the query tool have at most as many tokens as the call or the source allows, end after a
 * row, and say in an item of their own how to go on. */
#define _GNU_SOURCE
#include "database.h"

static peer p;

static const char setup[] =
    "CREATE TABLE wide AS SELECT i AS id, repeat('x', i % 300) AS t, E'\\x01\\n' AS c FROM "
    "generate_series(1, 700) i; GRANT SELECT ON wide TO reader";

#define NEXT(arguments) \
    "\"libmcp/next\":{\"name\":\"query_postgres_shop\",\"arguments\":{" arguments "}}"
#define TEN       "SELECT i FROM generate_series(1, 10) i"
#define THOUSANDS "1000000000000000000000000000000000000000000000000000000000000 + "
#define LONG_SUM  THOUSANDS THOUSANDS THOUSANDS THOUSANDS THOUSANDS THOUSANDS THOUSANDS THOUSANDS
#define LONGER    LONG_SUM LONG_SUM LONG_SUM LONG_SUM

static const exchange answers[] = {
    {CALL,
     SQL_WITH(TEN, "\"limit\":3,\"offset\":2"),
     {"\"text\":\"Rows 3 to 5; there are more, in an order of their own without ORDER BY. Go on "
      "with query_postgres_shop {\\\"sql\\\":\\\"" TEN "\\\",\\\"limit\\\":3,\\\"offset\\\":5}\"",
      NEXT("\"sql\":\"" TEN "\",\"limit\":3,\"offset\":5"),
      "\"rows\":[[3],[4],[5]],\"truncated\":true}"}},
    {CALL,
     SQL_WITH(TEN " ORDER BY 1", "\"limit\":5"),
     {"\"Rows 1 to 5; there are more. Go on with"}},
    {CALL,
     SQL_WITH(TEN, "\"limit\":5,\"offset\":5"),
     {"[[6],[7],[8],[9],[10]],\"truncated\":false}", "!Go on"}},
    {CALL, SQL_WITH(TEN, "\"offset\":10"), {"\"columns\":[\"i\"],\"rows\":[],\"truncated\":false"}},
    {CALL,
     SQL_WITH("EXPLAIN (COSTS off) SELECT 1 UNION ALL SELECT 2", "\"offset\":1,\"limit\":1"),
     {"\"rows\":[[\"  ->  Result\"]],\"truncated\":true", "Rows 2 to 2; there are more"}},
    /* a long statement is not repeated in the text */
    {CALL,
     SQL_WITH("SELECT " LONGER "i AS sum FROM generate_series(1, 2) i", "\"limit\":1"),
     {"\"text\":\"Rows 1 to 1; there are more, in an order of their own without ORDER BY. Go on "
      "with the same arguments and offset 1.\"",
      "\"libmcp/next\""}},
    /* a row that does not fit is the only one, and its values are cut */
    {CALL,
     SQL_WITH("SELECT repeat('y', 5000) AS a, i FROM generate_series(1, 2) i",
              "\"max_tokens\":100"),
     {"[[{\"type\":\"text\",\"size\":5000,\"begins\":\"yyy", "Rows 1 to 1; there are more"}},
    {CALL, SQL_WITH("SELECT 1", "\"offset\":-1"), {"isError", "offset"}},
};

static void test_answers(void **state)
{
    (void)state;
    assert_int_equal(peer_open(&p, &(mcp_postgres_options){0}), MCP_OK);
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
        check_exchange(&p, &answers[i]);
    peer_close(&p);
}

/* Returns the length of the structured content of the reply, and how many rows it has. */
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

/* The pages together are the table, and none is larger than allowed. The names of the columns and the
 * hint come on top of the rows. */
static void read_pages(const char *more_arguments, size_t tokens)
{
    char params[400], first[40];
    size_t rows, at = 0;
    for (bool more = true; more; at += rows) {
        snprintf(params, sizeof(params),
                 SQL_WITH("SELECT * FROM wide ORDER BY id", "%s\"limit\":1000,\"offset\":%zu"),
                 more_arguments, at);
        ask_and_wait(&p, CALL, params);
        snprintf(first, sizeof(first), "\"rows\":[[%zu,", at + 1);
        assert_non_null(strstr(p.reply, first));
        assert_true(structured(&rows, &more) <= tokens * 2 + 100);
        assert_true(rows > 0);
    }
    assert_int_equal(at, 700);
}

static void test_pages(void **state)
{
    (void)state;
    assert_int_equal(peer_open(&p, &(mcp_postgres_options){.answer_tokens = 2000}), MCP_OK);
    read_pages("", 2000);
    read_pages("\"max_tokens\":700,", 700);
    read_pages("\"max_tokens\":20000,", 20000);
    peer_close(&p);
}

/* A client that shows its model the structured content alone gets the hint there, and twice as many
 * rows, because it does not get them as text. */
static void test_structured_alone(void **state)
{
    static const char call[] =
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"claude-code\",\"version\":\"1\"},"
        "\"io.modelcontextprotocol/clientCapabilities\":{}}," SQL_WITH(
            "SELECT * FROM wide ORDER BY "
            "id",
            "\"limit\":1000") "}}";
    static const char *const has[5] = {
        "\"content\":[{\"type\":\"text\",\"text\":\"See the structured content.\"}]",
        "\"truncated\":true,\"note\":\"Rows 1 to ", "!libmcp/next"};
    size_t rows;
    bool more;
    (void)state;
    assert_int_equal(peer_open(&p, &(mcp_postgres_options){.answer_tokens = 1000}), MCP_OK);
    size_t before = p.replies;
    mcp_channel_receive(p.channel, 0, mcp_str_from(call), now());
    assert_true(run_until(&p, &p.replies, before + 1, HANGS_MS));
    check_reply(call, p.reply, has);
    size_t len = structured(&rows, &more);
    assert_true(len > 1000 * 3 && len < 1000 * 4 + 400);
    peer_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_structured_alone),
    };
    int rc = make_database();
    if (rc == 0)
        run_sql(setup);
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    server("remove");
    return rc;
}
