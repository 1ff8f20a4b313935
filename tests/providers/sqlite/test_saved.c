/* test_saved.c: saved queries from a peer's point of view, and rejected ones. */
#define _GNU_SOURCE
#include "shop.h"

static const char queries[] =
    "{\"queries\":[{\"name\":\"top\",\"title\":\"Top\",\"description\":\"Best "
    "orders\",\"sql\":\"SELECT id FROM \\\"order\\\" WHERE status = :status AND id >= :from ORDER "
    "BY id\",\"parameters\":[{\"name\":"
    "\"status\",\"description\":\"Which\",\"values\":[\"open\",\"done\"],\"default\":\"open\"},{"
    "\"name\":"
    "\"from\",\"type\":\"integer\",\"default\":1}]},"
    "{\"name\":\"all/of them\",\"sql\":\"SELECT count(*) AS n FROM customer\"},"
    "{\"name\":\"one\",\"sql\":\"SELECT name FROM customer WHERE id = "
    ":id\",\"parameters\":[{\"name\":\"id\","
    "\"type\":\"number\",\"required\":true}]}],\"tool\":\"ask\",\"max_rows\":2}";

static int open_json(peer *p, const char *json)
{
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1"),
                                    &p->server, &p->error),
                     MCP_OK);
    assert_int_equal(mcp_json_parse(mcp_str_from(json), NULL, NULL, &doc, &p->error), MCP_OK);
    int rc = mcp_sqlite_mount_json(p->server, path, mcp_json_root(doc), "my shop", NULL, &p->error);
    mcp_json_free(doc);
    if (rc == MCP_OK)
        rc =
            mcp_server_connect(p->server, MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p),
                               &p->channel, &p->error);
    return rc;
}

static void test_saved(void **state)
{
    static peer p;
    static const exchange saved[] = {
        {LIST,
         "",
         {"sqlite://my%20shop/$query/top\",\"name\":\"top\",\"title\":\"Top\"",
          "$query/all%2Fof%20them\"", "!query/one"}},
        {"resources/templates/list",
         "",
         {"sqlite://my%20shop/$query/top{?status,from,format}", "Which (default open)",
          "$query/one{?id,format}"}},
        {READ,
         "\"uri\":\"sqlite://my%20shop/$query/top\"",
         {"\\\"columns\\\":[\\\"id\\\"],\\\"rows\\\":[[1],[3]],\\\"truncated\\\":false"}},
        {READ, "\"uri\":\"sqlite://my%20shop/$query/top?status=done\"", {"[[2]]"}},
        {READ, "\"uri\":\"sqlite://my%20shop/$query/top?from=2&status=open\"", {"[[3]]"}},
        {READ,
         "\"uri\":\"sqlite://my%20shop/$query/top?from=x\"",
         {"-32602", "from must be an integer"}},
        {READ,
         "\"uri\":\"sqlite://my%20shop/$query/top?other=x\"",
         {"-32602", "no parameter other"}},
        {READ, "\"uri\":\"sqlite://my%20shop/$query/all%2Fof%20them\"", {"[[5]]"}},
        {READ, "\"uri\":\"sqlite://my%20shop/$query/one\"", {"-32602", "id is missing"}},
        {READ, "\"uri\":\"sqlite://my%20shop/$query/one?id=2\"", {"Bob"}},
        {READ, "\"uri\":\"sqlite://my%20shop/$query/one?id=2.5\"", {"\\\"rows\\\":[]"}},
        {"tools/list", "", {"\"name\":\"ask\"", "!\"query\""}},
        {CALL,
         "\"name\":\"ask\",\"arguments\":{\"sql\":\"SELECT id FROM customer\",\"limit\":100}",
         {"\"truncated\":true"}},
        {"completion/complete",
         "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"sqlite://my%20shop/$query/"
         "top{?status,from,format}\"},"
         "\"argument\":{\"name\":\"status\",\"value\":\"d\"}",
         {"[\"done\"]"}},
    };
    (void)state;
    assert_int_equal(open_json(&p, queries), MCP_OK);
    for (size_t i = 0; i < sizeof(saved) / sizeof(*saved); i++)
        check_exchange(&p, &saved[i]);
    run_sql("ALTER TABLE customer RENAME TO guest");
    check_exchange(&p, &(exchange){READ,
                                   "\"uri\":\"sqlite://my%20shop/$query/one?id=2\"",
                                   {"-32603", "The saved query one cannot be run: no such table"}});
    run_sql("ALTER TABLE guest RENAME TO customer");
    peer_close(&p);
}

static void test_wrong_queries(void **state)
{
    static peer p;
    static const struct {
        const char *json, *why;
    } wrong[] = {
        {"{\"queries\":[{\"name\":\"q\",\"sql\":\"DELETE FROM customer\"}]}", "q: only SELECT"},
        {"{\"queries\":[{\"name\":\"q\",\"sql\":\"SELECT 1; SELECT 2\"}]}", "only one statement"},
        {"{\"queries\":[{\"name\":\"q\",\"sql\":\"SELECT colour\"}]}", "no such column"},
        {"{\"queries\":[{\"name\":\"q\",\"sql\":\"SELECT :a\"}]}", ":a is not among"},
        {"{\"queries\":[{\"name\":\"q\",\"sql\":\"SELECT ?\"}]}", "? is not among"},
        {"{\"queries\":[{\"name\":\"q\",\"sql\":\"SELECT 1\",\"parameters\":[{\"name\":\"a\"}]}]}",
         "a is not used"},
        {"{\"queries\":[{\"name\":\"q\",\"sql\":\"SELECT :a\",\"parameters\":[{\"name\":\"a "
         "b\"}]}]}",
         "letters"},
        {"{\"queries\":[{\"name\":\"q\",\"sql\":\"SELECT 1\"},{\"name\":\"q\",\"sql\":\"SELECT "
         "2\"}]}",
         "is used twice"},
        {"{\"queries\":[{\"sql\":\"SELECT 1\"}]}", "required"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(open_json(&p, wrong[i].json), MCP_EINVAL);
        if (!strstr(p.error.text, wrong[i].why))
            fail_msg("%s: %s", wrong[i].json, p.error.text);
        peer_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_saved, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_wrong_queries, setup, teardown_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
