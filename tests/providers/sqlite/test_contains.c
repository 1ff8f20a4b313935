/* Rows that contain a text: random tables, whose rows a slow model looks through, and what is said about
 * wrong parameters and what takes too long. */
#define _GNU_SOURCE
#include "containing.h"
#include "database.h"
#include "rounds.h"

enum { TABLES = 12, ROWS = 60, COLUMNS = 4, TEXTS = 40 };

typedef struct cell {
    char type; /* n, i, r, t or b */
    double number;
    char text[60]; /* of a number as it is shown */
} cell;

static peer p;
static cell cells[ROWS][COLUMNS];

/* ---- the table ------------------------------------------------------------------------------- */

static cell make_cell(void)
{
    cell c = {.type = "nirttttb"[dice(8)]};
    if (c.type == 'i') {
        c.number = (double)dice(30) - 5;
        snprintf(c.text, sizeof(c.text), "%d", (int)c.number);
    } else if (c.type == 'r') {
        c.number = ((double)dice(300) - 50) / 8;
        snprintf(c.text, sizeof(c.text), "%.17g", c.number);
    } else {
        containing_text(c.text, sizeof(c.text) - 4, 6);
        if (c.type == 't' && dice(8) == 0)
            strcat(c.text, "\xfc");
        if (c.type == 't' && dice(8) == 0)
            strcat(c.text, "\nx");
    }
    return c;
}

static void bind(sqlite3_stmt *stmt, int at, const cell *c)
{
    switch (c->type) {
    case 'i': sqlite3_bind_int64(stmt, at, (sqlite3_int64)c->number); break;
    case 'r': sqlite3_bind_double(stmt, at, c->number); break;
    case 't': sqlite3_bind_text(stmt, at, c->text, -1, SQLITE_TRANSIENT); break;
    case 'b': sqlite3_bind_blob(stmt, at, c->text, (int)strlen(c->text), SQLITE_TRANSIENT); break;
    default: sqlite3_bind_null(stmt, at);
    }
}

static void fill(void)
{
    sqlite3 *db;
    sqlite3_stmt *stmt;
    run_sql("DROP TABLE IF EXISTS t; CREATE TABLE t(n INTEGER PRIMARY KEY, c0, c1, c2, c3)");
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO t VALUES(?, ?, ?, ?, ?)", -1, &stmt, NULL),
                     SQLITE_OK);
    for (int n = 0; n < ROWS; n++) {
        sqlite3_bind_int(stmt, 1, 1000 + n);
        for (int i = 0; i < COLUMNS; i++) {
            cells[n][i] = make_cell();
            bind(stmt, i + 2, &cells[n][i]);
        }
        assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(db);
}

/* ---- the model ------------------------------------------------------------------------------- */

/* The bytes of a text that is not UTF-8 are only compared if they are ASCII. */
static bool cell_has(const cell *c, const char *what, bool ignore_case)
{
    char text[64];
    if (c->type == 'n' || c->type == 'b')
        return false;
    snprintf(text, sizeof(text), "%s", c->text);
    for (char *at = text; strchr(c->text, '\xfc') && *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    return containing_has(text, what, ignore_case);
}

static bool row_has(int n, const char *what, bool ignore_case)
{
    char key[16];
    snprintf(key, sizeof(key), "%d", 1000 + n);
    bool ret = containing_has(key, what, ignore_case);
    for (int i = 0; i < COLUMNS; i++)
        ret = ret || cell_has(&cells[n][i], what, ignore_case);
    return ret;
}

/* ---- reading --------------------------------------------------------------------------------- */

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
    snprintf(uri, sizeof(uri), "sqlite://shop/t/rows?%scontains=%s%s", ignore_case ? "i" : "",
             encoded, dice(2) ? "&limit=3" : "");
    while (*uri)
        take_page(uri, seen, uri);
    for (int n = 0; n < ROWS; n++) {
        if (seen[n] != row_has(n, what, ignore_case))
            fail_msg("row %d %s \"%s\" (%s): %s|%s|%s|%s", n, seen[n] ? "has not" : "has", what,
                     ignore_case ? "ignoring case" : "as written", cells[n][0].text,
                     cells[n][1].text, cells[n][2].text, cells[n][3].text);
        found += seen[n];
    }
    return found;
}

static void open_peer(mcp_sqlite_options o)
{
    memset(&p, 0, sizeof(p));
    assert_int_equal(mcp_loop_new(NULL, &p.loop, NULL), MCP_OK);
    assert_int_equal(peer_open(&p, &o, mcp_loop_host(p.loop), NULL), MCP_OK);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_generated(void **state)
{
    unsigned found = 0;
    (void)state;
    dice_seed();
    open_peer((mcp_sqlite_options){0});
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

#define ROWS_URI(query) "\"uri\":\"sqlite://shop/odd/rows?" query "\""

/* A column may be called like the parameter. A text that is too long for a row is searched whole. */
static void test_cases(void **state)
{
    static const exchange exchanges[] = {
        {READ, ROWS_URI("contains="), {"contains must have 1 to 1000 bytes"}},
        {READ, ROWS_URI("icontains=a%0Ab"), {"icontains must be one line"}},
        {READ, ROWS_URI("contains=a%00b"), {"contains must be one line"}},
        {READ, ROWS_URI("contains=%FF"), {"\"code\":-32602"}},
        {READ, ROWS_URI("contains=a&icontains=b"), {"cannot be given together"}},
        {READ, ROWS_URI("%22contains%22=one"), {"[[1,\\\"one\\\",", "!two"}},
        {READ, ROWS_URI("contains=one"), {"[[1,\\\"one\\\",", "!\\\"two\\\""}},
        {READ, ROWS_URI("contains=one&n=2"), {"\\\"rows\\\":[]"}},
        {READ, ROWS_URI("contains=one&n=1"), {"[[1,"}},
        {READ, ROWS_URI("icontains=THE%20END"), {"[[2,\\\"two\\\",{\\\"type\\\":\\\"text\\\""}},
        {READ, ROWS_URI("contains=the%20end&format=text"), {"| 2 | two |"}},
        {READ, ROWS_URI("contains=nowhere"), {"\\\"rows\\\":[]", "!next"}},
    };
    (void)state;
    run_sql("CREATE TABLE odd(n INTEGER PRIMARY KEY, contains TEXT, long TEXT);"
            "INSERT INTO odd VALUES (1, 'one', NULL), (2, 'two', "
            "printf('%.*c', 100000, 'x') || 'the end')");
    open_peer((mcp_sqlite_options){0});
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(*exchanges); i++)
        check_reply(exchanges[i].params, ask_and_wait(&p, READ, exchanges[i].params),
                    exchanges[i].has);
    peer_close(&p);
}

/* The limit of time ends it, and the answer is not an empty one. */
static void test_late(void **state)
{
    static const char *const has[5] = {"It took too long, more than timeout_ms of the source (1)",
                                       "!rows\\\""};
    (void)state;
    run_sql("CREATE TABLE big(n INTEGER PRIMARY KEY, t TEXT);"
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
            "INSERT INTO big SELECT i, printf('%.*c', 10000, 'x') FROM n");
    open_peer((mcp_sqlite_options){.timeout_ms = 1});
    const char *uri = "\"uri\":\"sqlite://shop/big/rows?icontains=%C3%A4y\"";
    check_reply(uri, ask_and_wait(&p, READ, uri), has);
    peer_close(&p);
}

static int setup(void **state)
{
    (void)state;
    make_database("CREATE TABLE t(n)");
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generated),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_late),
    };
    return cmocka_run_group_tests(tests, setup, teardown_database);
}
