/* The SQLite provider from a peer's point of view: requests, and what the replies must contain.
 * There is no host, so requests are answered synchronously; test_workers.c tests workers. */
#define _GNU_SOURCE
#include "shop.h"

#include "failalloc.h"

static const exchange exchanges[] = {
    /* the list: the database, tables and views in order, their rows; nothing of SQLite's own */
    {LIST,
     "",
     {"\"uri\":\"sqlite://shop/\",\"name\":\"shop\"", "sqlite://shop/customer\"",
      "sqlite://shop/customer/rows\"", "!sqlite_", "!docs_data"}},
    {LIST,
     "",
     {"sqlite://shop/odd%20name%2F%25%C3%A9%3F%23%22q\",\"name\":\"odd name/%é?#\\\"q\"",
      "sqlite://shop/%24query\"", "\"name\":\"open_orders/rows\"", "!nextCursor"}},
    {LIST, "\"cursor\":\"x\"", {"-32602"}},
    /* requests for missing items: the error names the item and similar ones */
    {READ,
     URI("customer/row/1?x=1"),
     {"-32602", "the parameter x is not supported here, only format",
      "\"data\":{\"uri\":\"sqlite://shop/customer/row/1?x=1\"}"}},
    {READ,
     URI("customer/cell/name/1?offset=0&x=1"),
     {"the parameter x is not supported here, only offset and "
      "length\",\"data\":{\"uri\":\"sqlite:"}},
    {READ, URI("customer?x=1"), {"format must be", "\"data\":{\"uri\":\"sqlite://shop/customer?x"}},
    /* the schema */
    {READ,
     URI(""),
     {"\\\"name\\\":\\\"order\\\",\\\"type\\\":\\\"table\\\"", "open_orders",
      "\\\"primaryKey\\\":2", "application/json", "!sqlite_"}},
    {READ,
     URI("?format=text"),
     {"CREATE TABLE customer(id", "CREATE INDEX order_status", "CREATE VIEW open_orders",
      "text/plain"}},
    {READ, URI("?format=xml"), {"-32602", "json or text"}},
    {READ, URI("?other=1"), {"-32602"}},
    {READ,
     URI("order"),
     {"\\\"onDelete\\\":\\\"CASCADE\\\"", "\\\"default\\\":\\\"'open'\\\"", "\\\"partial\\\":true",
      "\\\"columns\\\":[\\\"status\\\"]", "sqlite://shop/order/row{/key*}{?format}"}},
    {READ,
     URI("order?format=text"),
     {"CREATE TABLE \\\"order\\\"", "CREATE INDEX", "!customer(id,"}},
    {READ,
     URI("pair"),
     {"\\\"columns\\\":[\\\"x\\\",\\\"y\\\"],\\\"references\\\":{\\\"table\\\":"
      "\\\"part\\\",\\\"columns\\\":[\\\"a\\\",\\\"b\\\"]}"}},
    {READ,
     URI("customer"),
     {"\\\"unique\\\":true", "\\\"notNull\\\":true", "\\\"key\\\":[\\\"id\\\"]"}},
    {READ, URI("made"), {"\\\"generated\\\":\\\"virtual\\\"", "\\\"generated\\\":\\\"stored\\\""}},
    {READ, URI("docs"), {"virtual table", "\\\"key\\\":[\\\"rowid\\\"]"}},
    {READ, URI("open_orders"), {"\\\"type\\\":\\\"view\\\"", "!row{"}},
    {READ, URI("odd%20name%2F%25%C3%A9%3F%23%22q"), {"\\\"key\\\":[\\\"_rowid_\\\"]"}},
    /* missing items */
    {READ, URI("none"), {NOT_FOUND}},
    {READ, URI("none?format=text"), {NOT_FOUND}},
    {READ, URI("CUSTOMER"), {NOT_FOUND}},
    {READ, URI("sqlite_schema"), {NOT_FOUND}},
    {READ, URI("sqlite_master/rows"), {NOT_FOUND}},
    {READ, URI("customer/"), {NOT_FOUND}},
    {READ, URI("customer/none"), {NOT_FOUND}},
    {READ, URI("customer/rows/1"), {NOT_FOUND}},
    {READ, URI("customer/row"), {NOT_FOUND}},
    {READ, URI("customer/row/1/2"), {NOT_FOUND}},
    {READ, URI("customer/row/99"), {NOT_FOUND}},
    {READ, URI("customer/row/Ada"), {NOT_FOUND}},
    {READ, URI("customer/row/1%20OR%201=1"), {NOT_FOUND}},
    {READ, URI("customer%22%3B%20DROP%20TABLE%20loose/rows"), {NOT_FOUND}},
    {READ, URI("customer%00/rows"), {"-32602"}},
    {READ, URI("open_orders/row/1"), {NOT_FOUND}},
    {READ, URI("$query"), {NOT_FOUND}},
    {READ, URI("$query/none"), {NOT_FOUND}},
    {READ, URI("$other/none"), {NOT_FOUND}},
    {READ, "\"uri\":\"sqlite://other/customer\"", {NOT_FOUND}},
    /* rows */
    {READ, URI("%24query"), {"\\\"name\\\":\\\"$query\\\""}},
    {READ,
     URI("order/rows"),
     {"\\\"columns\\\":[\\\"id\\\",\\\"customer\\\",\\\"status\\\",\\\"total\\\"]",
      "[1,1,\\\"open\\\",9.5],[2,1,\\\"done\\\",\\\"Inf\\\"],[3,2,\\\"open\\\",null]", "!next"}},
    {READ,
     URI("order/rows?limit=2"),
     {"[2,1,", "!\\\"open\\\",null",
      "\\\"next\\\":\\\"sqlite://shop/order/rows?limit=2&offset=2\\\""}},
    {READ, URI("order/rows?limit=2&offset=2"), {"[[3,2,", "!next"}},
    {READ, URI("order/rows?offset=9"), {"\\\"rows\\\":[]"}},
    {READ, URI("order/rows?status=open&limit=1"), {"[[1,1,", "rows?status=open&limit=1&offset=1"}},
    {READ, URI("order/rows?status=open&customer=2"), {"\\\"rows\\\":[[3,2,"}},
    {READ, URI("order/rows?status=none"), {"\\\"rows\\\":[]"}},
    {READ, URI("order/rows?total=9.5"), {"\\\"rows\\\":[[1,"}},
    {READ, URI("order/rows?colour=red"), {"-32602", "order has no column colour"}},
    {READ, URI("order/rows?limit=0"), {"-32602", "limit must be a whole number from 1 to 1000"}},
    {READ, URI("order/rows?limit=1001"), {"-32602", "limit must be"}},
    {READ, URI("order/rows?limit=x"), {"-32602", "limit must be"}},
    {READ, URI("order/rows?offset=-1"), {"-32602", "offset must be"}},
    {READ, URI("open_orders/rows?name=Bob"), {"\\\"rows\\\":[[3,\\\"Bob\\\"]]"}},
    {READ, URI("odd%20name%2F%25%C3%A9%3F%23%22q/rows?%22limit%22=4"), {"\\\"rows\\\":[[2,"}},
    {READ, URI("docs/rows"), {"[1,\\\"hello world\\\"]"}},
    {READ, URI("made/rows"), {"[1,2,3]"}},
    /* values */
    {READ,
     URI("loose/rows"),
     {"[1,5],[2,\\\"5\\\"]",
      "[3,{\\\"type\\\":\\\"blob\\\",\\\"size\\\":1,\\\"uri\\\":\\\"sqlite://shop/loose/cell/v/"
      "3\\\"}]",
      "[4,null]", "[5,{\\\"type\\\":\\\"text\\\",\\\"size\\\":3",
      "[6,9007199254740993],[7,\\\"a\\\\u0000b\\\"]"}},
    {READ, URI("loose/rows?v=5"), {"\\\"rows\\\":[[1,5],[2,\\\"5\\\"]]"}},
    {READ, URI("loose/rows?v=x%2735%27"), {"\\\"rows\\\":[[3,{"}},
    {READ, URI("loose/rows?rowid=2"), {"\\\"rows\\\":[[2,\\\"5\\\"]]"}},
    {READ, URI("loose/row/6"), {"{\\\"rowid\\\":6,\\\"v\\\":9007199254740993}"}},
    /* rows by key */
    {READ,
     URI("customer/row/1"),
     {"{\\\"id\\\":1,\\\"name\\\":\\\"Ada\\\",\\\"email\\\":\\\"ada@example.org\\\"}"}},
    {READ, URI("customer/row/-3"), {"Eve"}},
    {READ, "\"uri\":\"SQLITE://shop/customer/row/1\"", {"Ada"}},
    {READ, URI("part/row/a%2Fb/1"), {"sqlite://shop/part/cell/photo/a%2Fb/1"}},
    {READ, URI("part/row/a/b/1"), {NOT_FOUND}},
    {READ, URI("part/row//2"), {"\\\"note\\\":5"}},
    {READ, URI("part/row/x/2"), {NOT_FOUND}},
    {READ, URI("named/row/h%C3%A9llo%20w%C3%B6rld%2F%25"), {"\\\"half\\\":2"}},
    {READ, URI("named/row/x%2700%27"), {"\\\"half\\\":1"}},
    {READ,
     URI("named/row/$blob:0102"),
     {"\\\"half\\\":3", "sqlite://shop/named/cell/name/$blob:0102"}},
    {READ, URI("named/row/x%270102%27"), {NOT_FOUND}},
    {READ, URI("odd%20name%2F%25%C3%A9%3F%23%22q/row/1"), {"\\\"_rowid_\\\":1"}},
    {READ, URI("made/row/1"), {"{\\\"a\\\":1,\\\"b\\\":2,\\\"c\\\":3}"}},
    /* cells */
    {READ, URI("part/cell/photo/a%2Fb/1"), {"\"blob\":\"iVBORw0KGgoA\"", "image/png"}},
    {READ, URI("part/cell/photo/a%2Fb/1?offset=1&length=3"), {"\"blob\":\"UE5H\"", "octet-stream"}},
    {READ, URI("part/cell/photo//2"), {"\"text\":\"null\"", "application/json"}},
    {READ, URI("customer/cell/name/1"), {"\"text\":\"Ada\"", "text/plain"}},
    {READ, URI("customer/cell/name/1?offset=1"), {"\"text\":\"da\""}},
    {READ, URI("customer/cell/name/1?offset=9"), {"\"text\":\"\""}},
    {READ, URI("customer/cell/id/1"), {"\"text\":\"1\""}},
    {READ, URI("customer/cell/none/1"), {NOT_FOUND}},
    {READ, URI("customer/cell/name/99"), {NOT_FOUND}},
    {READ, URI("customer/cell/name"), {NOT_FOUND}},
    {READ, URI("customer/cell/name/1?length=0"), {"-32602", "length must be"}},
    {READ, URI("loose/cell/v/3"), {"\"blob\":\"NQ==\""}},
    {READ, URI("loose/cell/v/5"), {"\"blob\":\"YmH/\""}},
    {READ, URI("made/cell/b/1"), {"\"text\":\"2\""}},
    /* templates, all of which can be read and completed */
    {"resources/templates/list",
     "",
     {"sqlite://shop/{table}/rows{?contains,icontains,limit,offset,format}",
      "sqlite://shop/{table}/row{/key*}{?format}",
      "sqlite://shop/{table}/cell/{column}{/key*}{?offset,length}"}},
#define COMPLETE(t, n, v)                                           \
    "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"sqlite://shop/" t \
    "\"},\"argument\":{\"name\":\"" n "\",\"value\":\"" v "\"}"
#define TABLE(t) ",\"context\":{\"arguments\":{\"table\":\"" t "\"}}"
    {"completion/complete",
     COMPLETE("{table}{?format}", "table", "o"),
     {"[\"odd name/%é?#\\\"q\",\"open_orders\",\"order\"]"}},
    {"completion/complete", COMPLETE("{table}{?format}", "table", "order"), {"[\"order\"]"}},
    {"completion/complete", COMPLETE("{table}{?format}", "table", "zz"), {"\"values\":[]"}},
    {"completion/complete", COMPLETE("{table}{?format}", "format", "t"), {"\"values\":[\"text\"]"}},
    {"completion/complete",
     COMPLETE("{table}/row{/key*}{?format}", "key", "2") TABLE("customer"),
     {"[\"2\",\"20\",\"21\"]"}},
    {"completion/complete",
     COMPLETE("{table}/row{/key*}{?format}", "key", "") TABLE("customer"),
     {"[\"-3\",\"1\",\"2\",\"20\",\"21\"]"}},
    {"completion/complete",
     COMPLETE("{table}/row{/key*}{?format}", "key", "-") TABLE("customer"),
     {"[\"-3\"]"}},
    {"completion/complete",
     COMPLETE("{table}/row{/key*}{?format}", "key", "h") TABLE("named"),
     {"[\"héllo wörld/%\"]"}},
    {"completion/complete",
     COMPLETE("{table}/row{/key*}{?format}", "key", "1") TABLE("none"),
     {"\"values\":[]"}},
    {"completion/complete", COMPLETE("{table}/row{/key*}{?format}", "key", "1"), {"\"values\":[]"}},
    {"completion/complete",
     COMPLETE("{table}/cell/{column}{/key*}{?offset,length}", "column", "n") TABLE("customer"),
     {"[\"name\"]"}},
    /* as text */
    {READ,
     URI("customer/row/1?format=text"),
     {"\"mimeType\":\"text/markdown\"", "| id | 1 |\\n| name | Ada |\\n"}},
    {READ, URI("customer/row/1?format=json"), {"application/json", "{\\\"id\\\":1,"}},
    {READ, URI("customer/row/99?format=text"), {NOT_FOUND}},
    {READ, URI("customer/row/1?format=csv"), {"-32602", "format must be json or text"}},
    {READ,
     URI("customer/rows?format=text&id=1&limit=1"),
     {"text/markdown", "| id | name | email |\\n", "| --- | --- | --- |\\n", "| 1 | Ada |",
      "!Next"}},
    {READ,
     URI("customer/rows?limit=1&format=text"),
     {"\\n\\nNext page: sqlite://shop/customer/rows?format=text&limit=1&offset=1\\n"}},
    {READ, URI("customer/rows?format=x"), {"-32602", "format must be json or text"}},
    {READ, URI("formats/rows?%22format%22=x&format=text"), {"| 1 | x |", "!| 2 |"}},
    {"completion/complete",
     COMPLETE("{table}/rows{?contains,icontains,limit,offset,format}", "format", "t"),
     {"[\"text\"]"}},
    /* the tool */
    {"tools/list",
     "",
     {"\"name\":\"query_sqlite_shop\"", "\"readOnlyHint\":true", "or query sqlite_schema"}},
    {CALL,
     SQL("SELECT id, name FROM customer WHERE id IN (1, 2) ORDER BY id"),
     {"\"structuredContent\":{\"columns\":[\"id\",\"name\"],\"rows\":[[1,\"Ada\"],[2,\"Bob\"]],"
      "\"truncated\":false}"}},
    {CALL, SQL_WITH("SELECT ?1, ?2", "\"parameters\":[\"1\",\"é\"]"), {"[[\"1\",\"é\"]]"}},
    {CALL, SQL_WITH("SELECT name FROM customer WHERE id = ?", "\"parameters\":[\"1\"]"), {"Ada"}},
    {CALL,
     SQL_WITH("SELECT name FROM customer LIMIT ?", "\"parameters\":[\"1\"]"),
     {"\"truncated\":false"}},
    {CALL,
     SQL_WITH("SELECT ?1, :b, @c",
              "\"parameters_json\":\"{\\\"1\\\":0,\\\"b\\\":null,\\\"c\\\":\\\"é\\\"}\""),
     {"[[0,null,\"é\"]]"}},
    {CALL,
     SQL_WITH(
         "SELECT :a, :b, @c, $d",
         "\"parameters_json\":\"{\\\"a\\\":1,\\\"b\\\":null,\\\"c\\\":\\\"é\\\",\\\"d\\\":1.5}\""),
     {"[[1,null,\"é\",1.5]]"}},
    {CALL,
     SQL_WITH("SELECT ?, ?", "\"parameters_json\":\"[true, 18446744073709551615]\""),
     {"[[1,18446744073709552000.0]]"}},
    {CALL, SQL_WITH("SELECT ?", "\"parameters_json\":\"[[1]]\""), {"isError", "Parameter 1"}},
    {CALL, SQL_WITH("SELECT ?", "\"parameters_json\":\"[1\""), {"isError", "is not JSON"}},
    {CALL, SQL_WITH("SELECT ?", "\"parameters_json\":\"5\""), {"isError", "an array or an object"}},
    {CALL,
     SQL_WITH("SELECT ?", "\"parameters\":[\"1\"],\"parameters_json\":\"[1]\""),
     {"isError", "not in both"}},
    {CALL, SQL_WITH("SELECT ?", "\"parameters\":[1]"), {"isError", "/parameters/0"}},
    {CALL, SQL("SELECT ?"), {"isError", "Parameter 1"}},
    {CALL,
     SQL_WITH("SELECT id FROM customer ORDER BY id", "\"limit\":2"),
     {"\"rows\":[[-3],[1]],\"truncated\":true"}},
    {CALL, SQL("SELECT x'00ff'"), {"{\"type\":\"blob\",\"size\":2,\"base64\":\"AP8=\"}"}},
    {CALL, SQL("SELECT CAST(x'ff' AS TEXT)"), {"{\"type\":\"blob\",\"size\":1"}},
    {CALL, SQL("SELECT body FROM docs WHERE docs MATCH 'hello'"), {"hello world"}},
    {CALL, SQL("SELECT * FROM box"), {"[[1,2,3]]"}},
    {CALL, SQL("SELECT * FROM open_orders"), {"Bob"}},
    {CALL, SQL("EXPLAIN QUERY PLAN SELECT * FROM customer WHERE id = 1"), {"SEARCH customer"}},
    {CALL, SQL("PRAGMA table_info(customer)"), {"\"email\""}},
    {CALL, SQL("SELECT name FROM pragma_table_info('customer')"), {"\"email\""}},
    {CALL, SQL("PRAGMA user_version"), {"\"rows\":[[0]]"}},
    {CALL, SQL("SELECT value FROM json_each('[1,2]')"), {"[[1],[2]]"}},
    {CALL, SQL("SELECT 1; -- and nothing more"), {"\"rows\":[[1]]"}},
    {CALL, SQL("SELECT colour"), {"isError", "no such column: colour"}},
    {CALL, SQL("SELEC 1"), {"isError", "syntax error"}},
    {CALL, SQL(""), {"isError", "there is no statement"}},
    {CALL, SQL("-- nothing"), {"isError", "there is no statement"}},
    {CALL, SQL("SELECT 1\\u0000"), {"isError", "NUL"}},
    {CALL, SQL("SELECT json_extract('{', '$')"), {"isError", "malformed JSON"}},
    {CALL, SQL("SELECT abs(-9223372036854775808)"), {"isError", "integer overflow"}},
};

static void test_exchanges(void **state)
{
    static peer p;
    mcp_sqlite_options o = {0};
    (void)state;
    assert_int_equal(peer_open(&p, &o, NULL, NULL), MCP_OK);
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++)
        check_exchange(&p, &exchanges[i]);
    peer_close(&p);
}

/* Hostile statements: each attempts to change or reach something, or never ends. */
static const exchange attacks[] = {
    {CALL, SQL("ATTACH '/etc/passwd' AS p"), {"isError", "only SELECT, EXPLAIN"}},
    {CALL, SQL("DETACH main"), {"isError", "only SELECT"}},
    {CALL, SQL("SELECT load_extension('/tmp/x.so')"), {"isError"}},
    {CALL, SQL("SELECT fts3_tokenizer('simple')"), {"isError"}},
    {CALL, SQL("SELECT readfile('/etc/passwd')"), {"isError"}},
    {CALL, SQL("SELECT writefile('/tmp/x', 'x')"), {"isError"}},
    {CALL, SQL("PRAGMA writable_schema = 1"), {"isError", "only SELECT"}},
    {CALL, SQL("PRAGMA writable_schema"), {"isError", "only SELECT"}},
    {CALL, SQL("PRAGMA query_only = 0"), {"isError", "only SELECT"}},
    {CALL, SQL("PRAGMA user_version = 5"), {"isError", "only SELECT"}},
    {CALL, SQL("PRAGMA journal_mode = DELETE"), {"isError"}},
    {CALL, SQL("PRAGMA journal_mode"), {"isError"}},
    {CALL, SQL("PRAGMA database_list"), {"isError"}},
    {CALL, SQL("SELECT * FROM pragma_database_list"), {"isError"}},
    {CALL, SQL("PRAGMA temp_store_directory = '/tmp'"), {"isError"}},
    {CALL, SQL("PRAGMA mmap_size = 1000000000"), {"isError"}},
    {CALL, SQL("PRAGMA hard_heap_limit = 0"), {"isError"}},
    {CALL, SQL("PRAGMA wal_checkpoint"), {"isError"}},
    {CALL, SQL("SELECT 1; SELECT 2"), {"isError", "only one statement"}},
    {CALL, SQL("SELECT 1; DROP TABLE customer"), {"isError", "only one statement"}},
    {CALL, SQL("SELECT 1;;; /* */ garbage"), {"isError", "only one statement"}},
    {CALL, SQL("DROP TABLE customer"), {"isError", "only SELECT"}},
    {CALL, SQL("DELETE FROM customer"), {"isError", "only SELECT"}},
    {CALL, SQL("UPDATE customer SET name = ''"), {"isError", "only SELECT"}},
    {CALL, SQL("INSERT INTO customer VALUES (9, '', '')"), {"isError", "only SELECT"}},
    {CALL, SQL("INSERT INTO customer VALUES (9, '', '') RETURNING id"), {"isError"}},
    {CALL, SQL("WITH x AS (SELECT 1) DELETE FROM customer"), {"isError"}},
    {CALL, SQL("CREATE TABLE x(a)"), {"isError", "only SELECT"}},
    {CALL, SQL("CREATE TEMP TABLE x(a)"), {"isError", "only SELECT"}},
    {CALL, SQL("CREATE TEMP VIEW x AS SELECT 1"), {"isError"}},
    {CALL, SQL("INSERT INTO docs(docs) VALUES ('rebuild')"), {"isError"}},
    {CALL, SQL("BEGIN EXCLUSIVE"), {"isError", "only SELECT"}},
    {CALL, SQL("COMMIT"), {"isError"}},
    {CALL, SQL("SAVEPOINT x"), {"isError"}},
    {CALL, SQL("VACUUM"), {"isError"}},
    {CALL, SQL("VACUUM INTO '/tmp/x'"), {"isError"}},
    {CALL, SQL("REINDEX"), {"isError"}},
    {CALL, SQL("ANALYZE"), {"isError"}},
    {CALL,
     SQL("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"),
     {"isError", "took too long"}},
    {CALL,
     SQL("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"),
     {"\"truncated\":true"}},
    {CALL,
     SQL("SELECT * FROM customer a, customer b, customer c, customer d, customer e, customer f, "
         "customer g, customer h, customer i, customer j, customer k ORDER BY random()"),
     {"isError"}},
    {CALL, SQL("SELECT zeroblob(1000000000)"), {"isError"}},
    {CALL, SQL("SELECT hex(zeroblob(9000000))"), {"isError"}},
    {CALL, SQL("SELECT printf('%.*c', 100000000, 'x')"), {"!xxx"}}, /* NULL, or an error */
    {CALL,
     SQL("WITH RECURSIVE n(i, s) AS (SELECT 1, 'x' UNION ALL SELECT i + 1, s || s FROM n) SELECT "
         "max(length(s)) FROM n"),
     {"isError"}},
    {CALL,
     SQL("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT group_concat(i) "
         "FROM n"),
     {"isError"}},
    {CALL,
     SQL("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, "
         "randomblob(100000) AS r FROM n ORDER BY r"),
     {"isError"}},
    {CALL, SQL("SELECT 'a' LIKE printf('%.*c', 5000, '%')"), {"isError"}},
};

static void test_attacks(void **state)
{
    static peer p;
    mcp_sqlite_options o = {.timeout_ms = 300,
                            /* processing large strings is slow with AddressSanitizer */
                            .max_bytes = 64 << 10};
    (void)state;
    assert_int_equal(peer_open(&p, &o, NULL, NULL), MCP_OK);
    for (size_t i = 0; i < sizeof(attacks) / sizeof(*attacks); i++)
        check_exchange(&p, &attacks[i]);
    assert_non_null(strstr(ask(&p, CALL, SQL("SELECT count(*) FROM customer")), "[[5]]"));
    assert_non_null(strstr(ask(&p, CALL, SQL("PRAGMA user_version")), "[[0]]"));
    peer_close(&p);
}

static void test_large(void **state)
{
    static peer p;
    mcp_sqlite_options o = {.max_read = 300000, .max_bytes = 4096};
    static const exchange large[] = {
        {READ,
         URI("big/cell/b/1"),
         {"-32603", "\"size\":1000000,\"limit\":300000", "uriTemplate", "cell/b/1"}},
        {READ, URI("big/cell/t/1"), {"-32603", "\"size\":1000000,\"limit\":300000"}},
        {READ, URI("big/cell/t/1?offset=999999"), {"\"text\":\"x\""}},
        {READ, URI("big/cell/b/1?offset=999998&length=300000"), {"\"blob\":\"AAA=\""}},
        {READ, URI("big/cell/t/1?length=300001"), {"-32602", "from 1 to 300000"}},
        {READ,
         URI("big/row/1"),
         {"\\\"t\\\":{\\\"type\\\":\\\"text\\\",\\\"size\\\":1000000,\\\"uri\\\":\\\"sqlite://shop/"
          "big/cell/t/1\\\"}",
          "\\\"b\\\":{\\\"type\\\":\\\"blob\\\",\\\"size\\\":1000000", "\\\"s\\\":\\\"small\\\""}},
        {READ,
         URI("big/rows"),
         {"\\\"size\\\":1000000,\\\"uri\\\":\\\"sqlite://shop/big/cell/t/1\\\"", "small", "[2,"}},
        {READ, URI("firm/row/1"), {"-32603", "\"limit\":300000"}},
        {READ, URI("firm/cell/t/1"), {"-32603", "\"limit\":300000"}},
        {READ, URI("many/rows"), {"\\\"next\\\":\\\"sqlite://shop/many/rows?limit=100&offset="}},
        {CALL, SQL("SELECT t FROM big"), {"isError", "larger than 4096"}},
        {CALL, SQL("SELECT t FROM many"), {"\"truncated\":true"}},
        {CALL, SQL("SELECT printf('%.*c', 5000, 'x')"), {"!xxx"}},
    };
    (void)state;
    run_sql("CREATE TABLE big(id INTEGER PRIMARY KEY, t TEXT, b BLOB, s TEXT);"
            "INSERT INTO big VALUES (1, printf('%.*c', 1000000, 'x'), zeroblob(1000000), 'small'), "
            "(2, '', '', '');"
            "CREATE TABLE firm(id INTEGER PRIMARY KEY, t TEXT) WITHOUT ROWID;"
            "INSERT INTO firm SELECT id, t FROM big;"
            "CREATE TABLE many(id INTEGER PRIMARY KEY, t TEXT);"
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) INSERT "
            "INTO many SELECT i, printf('%.*c', 1000, 'y') FROM n;");
    assert_int_equal(peer_open(&p, &o, NULL, NULL), MCP_OK);
    for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
        check_exchange(&p, &large[i]);
    peer_close(&p);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static int count(const char *reply, const char *what)
{
    int n = 0;
    for (; (reply = strstr(reply, what)) != NULL; reply++)
        n++;
    return n;
}

/* For every page size, each entry is listed exactly once, even if tables are created between pages. */
static void test_pages(void **state)
{
    static peer p;
    (void)state;
    for (size_t page = 1; page < 8; page++) {
        mcp_sqlite_options o = {.path = path, .size = sizeof(o)};
        char cursor[1200] = "", seen[200] = "";
        int entries = 0, pages = 0;
        assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                    .page_size = page),
                                        &p.server, &p.error),
                         MCP_OK);
        assert_int_equal(mcp_sqlite_mount(p.server, &o, &p.error), MCP_OK);
        mcp_server_connect(p.server, MCP_OPTIONS(mcp_channel_options, .send = keep, .user = &p),
                           &p.channel, &p.error);
        do {
            const char *reply = ask(&p, LIST, cursor);
            int n = count(reply, "\"uri\"");
            assert_in_range(n, 0, page);
            entries += n;
            /* adds entries before and after the position, which must not repeat other entries */
            if (++pages == 3)
                run_sql("CREATE TABLE \"!aaa\"(x); CREATE TABLE zzz(x)");
            if (strstr(reply, "shop/zzz\""))
                strcat(seen, "z");
            if (strstr(reply, "shop/%21aaa\""))
                strcat(seen, "a");
            const char *next = strstr(reply, "\"nextCursor\":\"");
            cursor[0] = 0;
            if (next)
                snprintf(cursor, sizeof(cursor), "\"cursor\":\"%.*s\"",
                         (int)strcspn(next + 14, "\""), next + 14);
            assert_true(pages < 100);
        } while (cursor[0]);
        assert_string_equal(seen, "z");
        assert_int_equal(entries, 1 + 2 * 13 + 2);
        run_sql("DROP TABLE \"!aaa\"; DROP TABLE zzz");
        peer_close(&p);
    }
}

/* ---- sources --------------------------------------------------------------------------------- */

static void test_sources(void **state)
{
    static peer p;
    static const struct {
        const char *file;
        int rc;
    } cases[] = {{"none.db", MCP_ENOTFOUND},
                 {"folder", MCP_EACCESS},
                 {"text.db", MCP_EACCESS},
                 {"shop.db/x", MCP_ENOTFOUND},
                 {"empty.db", MCP_OK}};
    char file[300];
    (void)state;
    snprintf(file, sizeof(file),
             "cd %s && mkdir folder && echo 'no database, but long enough to look like "
             "one at first sight, with a header of 100 bytes' >text.db && : >empty.db",
             top);
    assert_int_equal(system(file), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        snprintf(file, sizeof(file), "%s/%s", top, cases[i].file);
        mcp_sqlite_options o = {.path = file};
        assert_int_equal(peer_open(&p, &o, NULL, NULL), cases[i].rc);
        if (cases[i].rc != MCP_OK)
            assert_non_null(strstr(p.error.text, cases[i].file));
        peer_close(&p);
    }
    snprintf(file, sizeof(file), "cd %s && rm -r folder text.db empty.db", top);
    assert_int_equal(system(file), 0);
}

static void test_two_databases(void **state)
{
    static peer p;
    mcp_sqlite_options o = {0}, other = {.size = sizeof(other), .path = path};
    (void)state;
    assert_int_equal(peer_open(&p, &o, NULL, NULL), MCP_OK);
    assert_int_equal(mcp_sqlite_mount(p.server, &other, &p.error), MCP_EEXIST);
    assert_non_null(strstr(p.error.text, "?name="));
    other.name = "second";
    assert_int_equal(mcp_sqlite_mount(p.server, &other, &p.error), MCP_OK);
    check_exchange(
        &p, &(exchange){"tools/list", "", {"\"query_sqlite_shop\"", "\"query_sqlite_second\""}});
    check_exchange(&p, &(exchange){READ, "\"uri\":\"sqlite://second/customer/row/1\"", {"Ada"}});
    check_exchange(&p, &(exchange){CALL, SQL("SELECT 1"), {"[[1]]"}});
    check_exchange(
        &p, &(exchange){CALL,
                        "\"name\":\"query_sqlite_second\",\"arguments\":{\"sql\":\"SELECT 1\"}",
                        {"[[1]]"}});
    peer_close(&p);
}

/* Two source names that give the same tool name, and a tool name that is given twice. */
static void test_tool_names(void **state)
{
    static const struct {
        const char *name[2], *tool[2];
    } sources[] = {{{"a b", "a_b"}, {NULL, NULL}}, {{"a", "b"}, {"look", "look"}}};
    static peer p;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        mcp_sqlite_options o = {.name = sources[i].name[0], .tool = sources[i].tool[0]};
        mcp_sqlite_options other = {.size = sizeof(other),
                                    .path = path,
                                    .name = sources[i].name[1],
                                    .tool = sources[i].tool[1]};
        assert_int_equal(peer_open(&p, &o, NULL, NULL), MCP_OK);
        assert_int_equal(mcp_sqlite_mount(p.server, &other, &p.error), MCP_EEXIST);
        assert_non_null(strstr(p.error.text, "another source has the tool"));
        assert_non_null(strstr(p.error.text, "?tool="));
        peer_close(&p);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Reads 10,000 different rows of eleven tables, which are more than are cached: no memory is
 * leaked. */
static void test_flat(void **state)
{
    static peer p;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    mcp_sqlite_options o = {.allocator = &a};
    char params[100], sql[4000] = "";
    size_t live = 0;
    (void)state;
    for (int i = 0; i < 11; i++)
        sprintf(sql + strlen(sql),
                "CREATE TABLE f%d(id INTEGER PRIMARY KEY, t TEXT); WITH RECURSIVE n(i) AS (SELECT "
                "1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO f%d SELECT i, 'row ' "
                "|| i FROM n;",
                i, i);
    run_sql(sql);
    assert_int_equal(peer_open(&p, &o, NULL, &a), MCP_OK);
    for (int i = 0; i < 10000; i++) {
        snprintf(params, sizeof(params), URI("f%d/row/%d"), i % 11, i / 11 + 1);
        const char *reply = ask(&p, READ, params);
        snprintf(params, sizeof(params), "row %d\\\"", i / 11 + 1);
        if (!strstr(reply, params))
            fail_msg("%d: %s", i, reply);
        if (i == 100)
            live = f.live;
    }
    assert_int_equal(f.live, live);
    sqlite3_int64 most = sqlite3_memory_used();
    assert_true(most < 3 << 20);
    peer_close(&p);
    assert_int_equal(f.live, 0);
}

/* The schema changes while a prepared statement is cached. */
static void test_schema_changes(void **state)
{
    static peer p;
    mcp_sqlite_options o = {0};
    (void)state;
    run_sql(
        "CREATE TABLE moving(id INTEGER PRIMARY KEY, a TEXT); INSERT INTO moving VALUES (1, 'x')");
    assert_int_equal(peer_open(&p, &o, NULL, NULL), MCP_OK);
    check_exchange(&p,
                   &(exchange){READ, URI("moving/row/1"), {"{\\\"id\\\":1,\\\"a\\\":\\\"x\\\"}"}});
    run_sql("ALTER TABLE moving ADD COLUMN b DEFAULT 7");
    check_exchange(
        &p,
        &(exchange){READ, URI("moving/row/1"), {"{\\\"id\\\":1,\\\"a\\\":\\\"x\\\",\\\"b\\\":7}"}});
    run_sql("DROP TABLE moving; CREATE TABLE moving(k TEXT, l TEXT, PRIMARY KEY(k, l)); INSERT "
            "INTO moving VALUES ('1', '2')");
    check_exchange(&p, &(exchange){READ, URI("moving/row/1"), {NOT_FOUND}});
    check_exchange(
        &p,
        &(exchange){READ, URI("moving/row/1/2"), {"{\\\"k\\\":\\\"1\\\",\\\"l\\\":\\\"2\\\"}"}});
    check_exchange(&p, &(exchange){CALL, SQL("SELECT count(*) FROM moving"), {"[[1]]"}});
    run_sql(
        "CREATE VIRTUAL TABLE later USING rtree(id, x1, x2); INSERT INTO later VALUES (7, 1, 2)");
    check_exchange(&p, &(exchange){CALL, SQL("SELECT id FROM later"), {"[[7]]"}});
    run_sql("DROP TABLE moving");
    check_exchange(&p, &(exchange){READ, URI("moving/row/1/2"), {NOT_FOUND}});
    peer_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_exchanges, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_attacks, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_large, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_pages, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_sources, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_two_databases, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_tool_names, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_flat, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_schema_changes, setup, teardown_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
