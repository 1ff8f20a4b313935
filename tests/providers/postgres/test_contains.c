/* Rows that contain a text: random tables, whose rows a slow model looks through as their owner sees
 * them; and what is said about wrong parameters and what takes too long. A column that the role may not
 * read is never looked at. */
#define _GNU_SOURCE
#include "database.h"

#include "containing.h"
#include "rounds.h"

enum { TABLES = 5, ROWS = 60, COLUMNS = 4, TEXTS = 40, CELL = 300 };

static peer p;
static PGconn *model;
static char cells[ROWS][COLUMNS][CELL]; /* as texts; NULL and bytea are "" */

/* ---- the table ------------------------------------------------------------------------------- */

/* The types of the columns, and a value of each for a text $2 and a number $3. A collation that compares
 * "a" and "A" as equal cannot look for a part of a text. */
static const struct {
    const char *type, *value;
} types[] = {
    {"text", "$2::text"},
    {"text COLLATE alike", "$2::text"},
    {"varchar(40)", "$2::text"},
    {"name", "$2::text"},
    {"word", "$2::text"},
    {"mood", "(ARRAY['sad','ok, fine','\xc3\x84X']::mood[])[1 + abs($3::int) % 3]"},
    {"text[]", "ARRAY[$2::text, 'x y', NULL]"},
    {"jsonb", "jsonb_build_object('k', $2::text)"},
    {"pair", "ROW($3::int, $2::text)::pair"},
    {"integer", "$3::int"},
    {"numeric", "$3::int / 8.0"},
    {"float8", "CASE $3::int % 5 WHEN 0 THEN 'Infinity'::float8 WHEN 1 THEN 'NaN' ELSE 1e20 END"},
    {"boolean", "$3::int % 2 = 0"},
    {"date",
     "CASE $3::int % 5 WHEN 0 THEN 'infinity'::date ELSE '0044-03-15 BC'::date + $3::int END"},
    {"timestamptz", "'2001-02-03 04:05:06.5Z'::timestamptz + $3::int * interval '1 hour'"},
    {"uuid", "md5($2::text)::uuid"},
    {"inet", "('10.0.0.' || abs($3::int))::inet"},
    {"bytea", "convert_to($2::text, 'UTF8')"},
};

static bool is_bytea[COLUMNS];

static void add(char *to, size_t room, const char *format, ...) MCP_PRINTF(3, 4);
static void add(char *to, size_t room, const char *format, ...)
{
    size_t len = strlen(to);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(to + len, room - len, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < room - len);
}

static PGresult *ask_model(const char *sql, int n, const char *const *values)
{
    PGresult *r = PQexecParams(model, sql, n, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(r) != PGRES_TUPLES_OK && PQresultStatus(r) != PGRES_COMMAND_OK)
        fail_msg("%s%.500s", PQerrorMessage(model), sql);
    return r;
}

static void run_model(const char *sql)
{
    PQclear(ask_model(sql, 0, NULL));
}

static void fill_rows(const char *insert)
{
    run_model("BEGIN");
    for (int n = 0; n < ROWS; n++) {
        char text[60] = "", key[16], number[16];
        const char *const values[] = {key, text, number};
        containing_text(text, sizeof(text), 6);
        snprintf(key, sizeof(key), "%d", 1000 + n);
        snprintf(number, sizeof(number), "%d", (int)dice(99) - 20);
        PQclear(ask_model(insert, 3, values));
    }
    run_model("COMMIT");
}

static void take_cells(void)
{
    PGresult *r =
        ask_model("SELECT c0::text, c1::text, c2::text, c3::text FROM t ORDER BY n", 0, NULL);
    for (int n = 0; n < ROWS; n++)
        for (int i = 0; i < COLUMNS; i++)
            snprintf(cells[n][i], CELL, "%s", is_bytea[i] ? "" : PQgetvalue(r, n, i));
    PQclear(r);
}

static void fill(void)
{
    char create[600] = "CREATE TABLE t(n integer PRIMARY KEY, secret text";
    char insert[1500] = "INSERT INTO t SELECT $1::int, $2::text || $3::text || md5($2::text)";
    for (size_t i = 0; i < COLUMNS; i++) {
        unsigned which = dice(sizeof(types) / sizeof(*types));
        is_bytea[i] = strcmp(types[which].type, "bytea") == 0;
        add(create, sizeof(create), ", c%zu %s", i, types[which].type);
        add(insert, sizeof(insert), ", CASE WHEN random() < 0.9 THEN %s END", types[which].value);
    }
    add(create, sizeof(create), ")");
    run_model("DROP TABLE IF EXISTS t");
    run_model(create);
    run_model("GRANT SELECT (n, c0, c1, c2, c3) ON t TO reader");
    fill_rows(insert);
    take_cells();
    let_pass(6000); /* until the columns of the last table are forgotten */
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool row_has(int n, const char *what, bool ignore_case)
{
    char key[16];
    snprintf(key, sizeof(key), "%d", 1000 + n);
    bool ret = containing_has(key, what, ignore_case);
    for (int i = 0; i < COLUMNS; i++)
        ret = ret || containing_has(cells[n][i], what, ignore_case);
    return ret;
}

static mcp_json_doc *parse(mcp_str text)
{
    mcp_json_doc *doc;
    assert_int_equal(mcp_json_parse(text, NULL, NULL, &doc, NULL), MCP_OK);
    return doc;
}

/* Sets which rows a page has, and writes the URI of the next page. */
static void take_page(const char *uri, bool seen[ROWS], char next[4000])
{
    char params[4100];
    snprintf(params, sizeof(params), "\"uri\":\"%s\"", uri);
    ask_and_wait(&p, READ, params);
    mcp_json_doc *doc = parse((mcp_str){p.reply, p.len});
    const mcp_json *contents = mcp_json_get(mcp_json_get(mcp_json_root(doc), "result"), "contents");
    if (!contents)
        fail_msg("%s: %s", uri, p.reply);
    mcp_json_doc *page = parse(mcp_json_string(mcp_json_get(mcp_json_at(contents, 0), "text")));
    mcp_str to = mcp_json_string(mcp_json_get(mcp_json_root(page), "next"));
    mcp_json_iter at = {0};
    const mcp_json *rows = mcp_json_get(mcp_json_root(page), "rows");
    for (const mcp_json *row; (row = mcp_json_next(rows, &at, NULL)) != NULL;) {
        int64_t n = mcp_json_int(mcp_json_at(row, 0), 0) - 1000;
        assert_true(n >= 0 && n < ROWS && !seen[n]);
        seen[n] = true;
    }
    snprintf(next, 4000, "%.*s", (int)to.len, to.len ? to.ptr : "");
    mcp_json_free(page);
    mcp_json_free(doc);
}

static unsigned check_text(const char *what, bool ignore_case)
{
    bool seen[ROWS] = {false};
    char encoded[400], uri[4000];
    unsigned found = 0;
    containing_encode(what, encoded, sizeof(encoded));
    snprintf(uri, sizeof(uri), "postgres://shop/public/t/rows?%scontains=%s%s",
             ignore_case ? "i" : "", encoded, dice(2) ? "&limit=3" : "");
    while (*uri)
        take_page(uri, seen, uri);
    for (int n = 0; n < ROWS; n++) {
        if (seen[n] != row_has(n, what, ignore_case))
            fail_msg("row %d %s \"%s\" (%s): %s|%s|%s|%s", n, seen[n] ? "has not" : "has", what,
                     ignore_case ? "ignoring case" : "as written", cells[n][0], cells[n][1],
                     cells[n][2], cells[n][3]);
        found += seen[n];
    }
    return found;
}

static void open_peer(mcp_postgres_options o)
{
    assert_int_equal(peer_open(&p, &o), MCP_OK);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_generated(void **state)
{
    unsigned found = 0;
    (void)state;
    dice_seed();
    run_model("CREATE TYPE mood AS ENUM ('sad', 'ok, fine', '\xc3\x84X')");
    run_model("CREATE TYPE pair AS (a integer, b text)");
    run_model("CREATE DOMAIN word AS text CHECK (length(VALUE) < 99)");
    run_model("CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level2', "
              "deterministic = false)");
    run_model("SET TimeZone = 'UTC'");
    open_peer((mcp_postgres_options){0});
    for (unsigned i = 0; i < rounds(TABLES); i++) {
        fill();
        for (unsigned k = 0; k < TEXTS; k++) {
            char what[60] = "";
            while (!*what)
                containing_text(what, sizeof(what), 3);
            found += check_text(what, dice(2));
        }
    }
    peer_close(&p);
    assert_true(found > TABLES * TEXTS);
}

#define ODD(query) "\"uri\":\"postgres://shop/public/odd/rows?" query "\""

static const exchange exchanges[] = {
    {READ, ODD("contains="), {"contains must have 1 to 1000 bytes"}},
    {READ, ODD("icontains=a%0Ab"), {"icontains must be one line"}},
    {READ, ODD("contains=%FF"), {"contains must be UTF-8"}},
    {READ, ODD("contains=a&icontains=b"), {"cannot be given together"}},
    {READ, ODD("%22contains%22=one"), {"[[1,\\\"one\\\",", "!two"}},
    {READ, ODD("contains=one"), {"[[1,\\\"one\\\",", "!\\\"two\\\""}},
    {READ, ODD("contains=one&n=2"), {"\\\"rows\\\":[]"}},
    {READ, ODD("contains=one&n=1"), {"[[1,"}},
    {READ, ODD("icontains=THE%20END"), {"[[2,\\\"two\\\",{\\\"type\\\":\\\"text\\\""}},
    {READ, ODD("contains=the%20end&format=text"), {"| 2 | two |"}},
    {READ, ODD("contains=nowhere"), {"\\\"rows\\\":[]", "!next"}},
    {READ, ODD("contains=hidden"), {"\\\"rows\\\":[]"}},
    /* no column can have it */
    {READ,
     "\"uri\":\"postgres://shop/second%20one/numbers/rows?contains=x\"",
     {"\\\"rows\\\":[]", "!error"}},
    /* what takes too long is no empty answer */
    {READ, "\"uri\":\"postgres://shop/public/sleeper/rows?icontains=x\"", {LATE, "!rows\\\""}},
};

static void test_cases(void **state)
{
    (void)state;
    run_model("CREATE TABLE odd(n integer PRIMARY KEY, contains text, long text, secret text)");
    run_model("INSERT INTO odd VALUES (1, 'one', NULL, 'hidden'), "
              "(2, 'two', repeat('x', 100000) || 'the end', 'hidden')");
    run_model("GRANT SELECT (n, contains, long) ON odd TO reader");
    run_model("CREATE TABLE \"second one\".numbers(n integer PRIMARY KEY, b bytea)");
    run_model("INSERT INTO \"second one\".numbers VALUES (1, 'x')");
    run_model("GRANT SELECT ON \"second one\".numbers TO reader");
    run_model("CREATE VIEW sleeper AS SELECT n, pg_sleep(60)::text AS t FROM odd");
    run_model("GRANT SELECT ON sleeper TO reader");
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++) {
        open_for(&p, &exchanges[i], open_peer, (mcp_postgres_options){0});
        check_exchange(&p, &exchanges[i]);
    }
    peer_close(&p);
}

/* In a database of another charset, a text that this does not have is an error, and no empty answer. */
static void test_charset(void **state)
{
    static const exchange all[] = {
        {READ,
         "\"uri\":\"postgres://latin/public/t/rows?contains=%C3%A9t\"",
         {"\\\"\xc3\xa9t\xc3\xa9\\\"", NULL}},
        {READ,
         "\"uri\":\"postgres://latin/public/t/rows?icontains=%C3%A9T\"",
         {"\\\"\xc3\xa9t\xc3\xa9\\\"", NULL}},
        {READ,
         "\"uri\":\"postgres://latin/public/t/rows?contains=%E2%82%AC\"",
         {"\"code\":-32602", NULL}},
    };
    char text[200];
    (void)state;
    run_sql("CREATE DATABASE latin TEMPLATE template0 ENCODING LATIN1 LC_COLLATE 'C' LC_CTYPE 'C'");
    snprintf(text, sizeof(text), "host=%s user=postgres dbname=latin client_encoding=UTF8", top);
    PGconn *c = PQconnectdb(text);
    PQclear(PQexec(c, "CREATE TABLE t(t text); INSERT INTO t VALUES ('\xc3\xa9t\xc3\xa9'), ('x'); "
                      "GRANT SELECT ON t TO reader"));
    PQfinish(c);
    snprintf(text, sizeof(text), "host=%s user=reader dbname=latin" PATIENT, top);
    open_peer((mcp_postgres_options){.conninfo = text});
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        check_exchange(&p, &all[i]);
    peer_close(&p);
}

static int setup(void **state)
{
    (void)state;
    model = owner_connect();
    return PQstatus(model) == CONNECTION_OK ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    PQfinish(model);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generated),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_charset),
    };
    int rc = make_database();
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, setup, teardown);
    server("remove");
    return rc;
}
