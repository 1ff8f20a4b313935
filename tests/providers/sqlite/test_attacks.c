/* Broken and hostile databases: views that fail or never end, dangling keys, other encodings, FIFOs
 * in place of the file, tampered pages; functions that would take forever. */
#define _GNU_SOURCE
#include "database.h"

#include "functions.h"

#include <sys/stat.h>

static peer p;

static void open_shop(mcp_sqlite_options o)
{
    memset(&p, 0, sizeof(p));
    if (peer_open(&p, &o, NULL, NULL) != MCP_OK)
        fail_msg("%s", p.error.text);
}

static void check(const exchange *all, size_t n, mcp_sqlite_options o)
{
    open_shop(o);
    for (size_t i = 0; i < n; i++)
        check_exchange(&p, &all[i]);
    peer_close(&p);
}

#define CHECK(all, ...) check(all, sizeof(all) / sizeof(*(all)), (mcp_sqlite_options){__VA_ARGS__})

static const char schema[] =
    "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'Ada');"
    /* keys */
    "CREATE TABLE nullable(k TEXT PRIMARY KEY, b BLOB); INSERT INTO nullable VALUES (NULL, "
    "x'00ff'), "
    "('a', x'01ff');"
    "CREATE TABLE reals(k REAL PRIMARY KEY, b BLOB); INSERT INTO reals VALUES (9e999, x'00ff'), "
    "(-9e999, x'01ff'), (0.1, x'02ff'), (1e20, x'03ff'), (-0.0, x'04ff');"
    "CREATE TABLE cased(k TEXT PRIMARY KEY COLLATE NOCASE); INSERT INTO cased VALUES ('Ada');"
    "CREATE TABLE wide(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, v, PRIMARY KEY (a, b, c, "
    "d, "
    "e, f, g, h, i, j, k, l, m, n, o, p, q)) WITHOUT ROWID;"
    "INSERT INTO wide VALUES (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,'one'), "
    "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,'two');"
    /* views */
    "CREATE TABLE t(a); INSERT INTO t VALUES (1); CREATE VIEW gone AS SELECT nosuch FROM t;"
    "CREATE VIEW v0 AS SELECT a FROM t;"
    "CREATE VIEW v1 AS SELECT * FROM v0 UNION ALL SELECT * FROM v0;"
    "CREATE VIEW v2 AS SELECT * FROM v1 UNION ALL SELECT * FROM v1;"
    "CREATE VIEW reaching AS SELECT load_extension('x');"
    "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
    "count(*) AS c FROM n;"
    "CREATE TABLE made(a INTEGER PRIMARY KEY, b AS (trim(hex(zeroblob(100000)), '0')));"
    "INSERT INTO made VALUES (1);";

static const exchange wrong[] = {
    {READ, URI("nullable/rows"), {"[null,", "nullable/cell/b/$rowid:1", "cell/b/a"}},
    {READ, URI("nullable/cell/b/$rowid:1"), {"\"blob\":\"AP8=\""}},
    {READ, URI("nullable/row/$rowid:1"), {"{\\\"k\\\":null,"}},
    {READ, URI("nullable/row/$rowid:2"), {NOT_FOUND}}, /* it has a key */
    {READ, URI("nullable/row/$rowid:01"), {NOT_FOUND}},
    {READ, URI("item/row/$rowid:1"), {NOT_FOUND}},
    {READ, URI("nullable/row/"), {NOT_FOUND}},
    {READ, URI("reals/rows"), {"cell/b/9e999", "cell/b/-9e999"}},
    {READ, URI("reals/cell/b/9e999"), {"\"blob\":\"AP8=\""}},
    {READ, URI("reals/cell/b/-9e999"), {"\"blob\":\"Af8=\""}},
    {READ, URI("reals/cell/b/0.1"), {"\"blob\":\"Av8=\""}},
    /* other spellings of a row's URI are rejected */
    {READ, URI("item/row/01"), {NOT_FOUND}},
    {READ, URI("item/row/%201"), {NOT_FOUND}},
    {READ, URI("item/row/1.0"), {NOT_FOUND}},
    {READ, URI("item/cell/name/+1"), {NOT_FOUND}},
    {READ, URI("item/cell/name/1"), {"Ada"}},
    {READ, URI("cased/row/ADA"), {NOT_FOUND}},
    {READ, URI("cased/row/Ada"), {"Ada"}},
    {READ, URI("reals/cell/b/1e%2B20"), {"\"blob\":\"A/8=\""}},
    {READ, URI("reals/cell/b/100000000000000000000"), {NOT_FOUND}},
    {READ, URI("wide"), {"!\\\"key\\\"", "!row{"}},
    {READ, URI("wide/rows"), {"\\\"one\\\"", "\\\"two\\\""}},
    {READ, URI("wide/row/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1"), {NOT_FOUND}},
    /* an invalid view does not hide the other tables */
    {READ, URI(""), {"\\\"name\\\":\\\"gone\\\"", "\\\"name\\\":\\\"v2\\\"", "nullable"}},
    {READ, URI("gone"), {"SELECT nosuch", "\\\"columns\\\":[]"}},
    {READ, URI("gone/rows"), {"-32603", "no such column: nosuch"}},
    {READ, URI("v2/rows"), {"[[1],[1],[1],[1]]"}},
    {READ, URI("reaching/rows"), {"-32603", "load_extension"}},
    {READ, URI("endless/rows"), {"-32603", "took too long"}},
    {READ, URI("endless"), {"\\\"name\\\":\\\"c\\\""}},
    {READ, URI("made/row/1"), {"{\\\"a\\\":1,\\\"b\\\":\\\"\\\"}"}},
    /* the call of a function is a single step of SQLite's virtual machine */
    {CALL,
     SQL("SELECT length(trim(x, y)) FROM (SELECT hex(zeroblob(500000)) AS x, "
         "replace(hex(zeroblob(500000)), '0', 'b') || '0' AS y)"),
     {"[[0]]"}},
    {CALL,
     SQL("SELECT length(replace(x, y, 'z')) FROM (SELECT hex(zeroblob(500000)) AS x, "
         "substr(hex(zeroblob(500000)), 1, 500000) || '1' AS y)"),
     {"[[1000000]]"}},
    {CALL,
     SQL("SELECT instr(x, y) FROM (SELECT hex(zeroblob(500000)) AS x, "
         "substr(hex(zeroblob(500000)), "
         "1, 500000) || '1' AS y)"),
     {"[[0]]"}},
    {CALL,
     SQL("SELECT replace(hex(zeroblob(500000)), '0', '0123456789')"),
     {"isError", "larger than"}},
    {CALL, SQL("SELECT json_patch('{}', '{}')"), {"isError", "not authorized"}},
    {CALL, SQL("SELECT 'a' LIKE printf('%.*c', 2000, '%')"), {"isError"}},
    {CALL, SQL("SELECT 'a' GLOB printf('%.*c', 2000, '*')"), {"isError"}},
};

/* Names that are not valid UTF-8: the named tables can be read, and they do not hide other tables. */
static void test_names(void **state)
{
    static const exchange names[] = {
        {READ, URI(""), {"\\\"name\\\":\\\"a?\\\"", "shop/a%FF\\\"", "item"}},
        {READ, URI("?format=text"), {"CREATE TABLE \\\"a?\\\"", "item"}},
        {READ, URI("a%FF"), {"\\\"name\\\":\\\"b?\\\",\\\"type\\\":\\\"TY?\\\""}},
        {READ, URI("a%FF/rows"), {"[\\\"id\\\",\\\"b?\\\"]", "[[1,\\\"x\\\"]]"}},
        {READ, URI("a%FF/row/1"), {"\\\"b?\\\":\\\"x\\\""}},
        {READ, URI("a%FF/cell/b%FF/1"), {"\"text\":\"x\""}},
        {LIST, "", {"shop/item\""}},
        {CALL, SQL("SELECT * FROM odd"), {"[\"?\"]"}},
    };
    (void)state;
    run_sql(
        "CREATE TABLE \"a\xff\"(id INTEGER PRIMARY KEY, \"b\xff\" TY\xff); INSERT INTO \"a\xff\" "
        "VALUES (1, 'x'); CREATE VIEW odd AS SELECT 1 AS \"c\xff\"");
    CHECK(names, .timeout_ms = 1500);
}

static void test_wrong(void **state)
{
    (void)state;
    CHECK(wrong, .timeout_ms = 1500);
}

/* For text values, the replaced functions give the results of SQLite's own. */
static void test_functions(void **state)
{
    static const char *const pieces[] = {"",          "a",     "ab",   "aa", "b",  " ",
                                         "é",         "éé",    "日本", "日", "\t", "%",
                                         "abcabcabc", "  x  ", "x",    "aab"};
    static const char *const calls[] = {"instr(?1, ?2)",
                                        "replace(?1, ?2, ?3)",
                                        "trim(?1, ?2)",
                                        "ltrim(?1, ?2)",
                                        "rtrim(?1, ?2)",
                                        "trim(?1)",
                                        "ltrim(?1)",
                                        "rtrim(?1)",
                                        "instr(?1 || ?3, ?2)",
                                        "instr(CAST(?1 AS BLOB), CAST(?2 AS BLOB))",
                                        "replace(?1, ?2, NULL)",
                                        "trim(NULL, ?2)",
                                        "instr(12345, 34)"};
    enum { PIECES = sizeof(pieces) / sizeof(*pieces), ALL = PIECES * PIECES * PIECES };
    sqlite3 *db[2];
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(sqlite3_open(":memory:", &db[i]), SQLITE_OK);
    assert_int_equal(sqlite_functions_install(db[1], NULL), SQLITE_OK);
    for (size_t c = 0; c < sizeof(calls) / sizeof(*calls); c++) {
        char sql[100];
        sqlite3_stmt *stmt[2];
        snprintf(sql, sizeof(sql), "SELECT quote(%s)", calls[c]);
        for (int i = 0; i < 2; i++)
            assert_int_equal(sqlite3_prepare_v2(db[i], sql, -1, &stmt[i], NULL), SQLITE_OK);
        for (int n = 0; n < ALL; n++) {
            const int which[] = {n % PIECES, n / PIECES % PIECES, n / PIECES / PIECES};
            for (int i = 0; i < 2; i++) {
                sqlite3_reset(stmt[i]);
                for (int k = 0; k < sqlite3_bind_parameter_count(stmt[i]); k++)
                    sqlite3_bind_text(stmt[i], k + 1, pieces[which[k]], -1, SQLITE_STATIC);
                assert_int_equal(sqlite3_step(stmt[i]), SQLITE_ROW);
            }
            const char *own = (const char *)sqlite3_column_text(stmt[0], 0);
            const char *ours = (const char *)sqlite3_column_text(stmt[1], 0);
            if (strcmp(own, ours) != 0)
                fail_msg("%s of '%s', '%s', '%s': %s, not %s", calls[c], pieces[which[0]],
                         pieces[which[1]], pieces[which[2]], ours, own);
        }
        for (int i = 0; i < 2; i++)
            sqlite3_finalize(stmt[i]);
    }
    for (int i = 0; i < 2; i++)
        sqlite3_close(db[i]);
}

/* ---- the file -------------------------------------------------------------------------------- */

static const exchange utf16[] = {
    {READ, URI("t/row/1"), {"{\\\"id\\\":1,\\\"a\\\":\\\"Adé\\\",\\\"b\\\":"}},
    {READ, URI("t/cell/a/1"), {"\"text\":\"Adé\"", "text/plain"}},
    {READ, URI("t/cell/a/1?offset=1&length=1"), {"\"text\":\"d\""}},
    {READ, URI("t/cell/b/1"), {"\"blob\":\"AP8=\""}},
    {READ, URI("t/rows?a=Ad%C3%A9"), {"[[1,\\\"Adé\\\""}},
};

static void test_utf16(void **state)
{
    (void)state;
    make_database("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b "
                  "BLOB); INSERT INTO t VALUES (1, 'Adé', x'00ff')");
    CHECK(utf16, .path = path);
    remove_database();
}

/* Opening a FIFO in place of the file does not block. When the FIFO is removed, requests succeed
 * again. */
static void test_fifos(void **state)
{
    static const char *const endings[] = {"-journal", "-wal", ""};
    static const exchange row = {READ, URI("item/row/1"), {"Ada"}},
                          none = {READ, URI("item/row/1"), {"\"error\""}};
    char name[120], aside[120];
    (void)state;
    open_shop((mcp_sqlite_options){.timeout_ms = 500});
    check_exchange(&p, &row);
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s%s", path, endings[i]);
        snprintf(aside, sizeof(aside), "%s.aside", path);
        if (!*endings[i])
            assert_int_equal(rename(name, aside), 0);
        assert_int_equal(mkfifo(name, 0600), 0);
        if (i != 1)
            check_exchange(&p, &none);
        else
            ask(&p, READ, row.params);
        assert_int_equal(unlink(name), 0);
        if (!*endings[i])
            assert_int_equal(rename(aside, name), 0);
        check_exchange(&p, &row);
    }
    peer_close(&p);
}

static void run(const char *command)
{
    char line[600];
    int n = snprintf(line, sizeof(line), "cd %s && %s", top, command);
    assert_true(n > 0 && (size_t)n < sizeof(line));
    if (system(line) != 0)
        fail_msg("%s", line);
}

/* Reads the row if the database can be mounted. */
static void try_row(const exchange *row)
{
    mcp_sqlite_options o = {.timeout_ms = 500};
    memset(&p, 0, sizeof(p));
    if (peer_open(&p, &o, NULL, NULL) == MCP_OK)
        check_exchange(&p, row);
    peer_close(&p);
}

/* A journal elsewhere in the file system is not used, and a hot journal is not rolled back. */
static void test_journals(void **state)
{
    static const exchange row = {READ, URI("item/row/1"), {"\"id\":1", "!elsewhere"}},
                          hot = {READ, URI("item/row/100"), {"\"error\"", "!00000000"}};
    struct stat before, after;
    (void)state;
    run("yes elsewhere | head -c 4096 >elsewhere && ln -s elsewhere shop.db-journal");
    try_row(&row);
    run("ln -sf elsewhere shop.db-wal");
    try_row(&row);
    run("yes elsewhere | head -c 4096 | cmp - elsewhere && rm elsewhere shop.db-journal "
        "shop.db-wal");
    run("sqlite3 shop.db 'PRAGMA cache_size = 1; BEGIN; WITH RECURSIVE n(i) AS (SELECT 10 UNION "
        "ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO item SELECT i, hex(zeroblob(200)) FROM "
        "n;' '.shell cp shop.db hot.db; cp shop.db-journal hot.db-journal' >/dev/null");
    run("mv hot.db shop.db && mv hot.db-journal shop.db-journal && test -s shop.db-journal");
    assert_int_equal(stat(path, &before), 0);
    try_row(&hot);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    run("test -s shop.db-journal");
}

/* ---- tampered pages -------------------------------------------------------------------------- */

#ifndef TAMPERED
enum { TAMPERED = 150 };
#endif

static char *load(size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    fclose(f);
    return bytes;
}

static void store(const char *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    fclose(f);
}

static unsigned next_number(unsigned *seed)
{
    return *seed = *seed * 1664525 + 1013904223;
}

/* Any contents of the file give an answer or an error, never a crash or an endless loop. */
static void test_tampered(void **state)
{
    static const exchange any[] = {
        {LIST, "", {"\"id\":1"}},
        {READ, URI(""), {"\"id\":1"}},
        {READ, URI("?format=text"), {"\"id\":1"}},
        {READ, URI("docs/rows"), {"\"id\":1"}},
        {READ, URI("box/rows"), {"\"id\":1"}},
        {READ, URI("item"), {"\"id\":1"}},
        {READ, URI("item/rows"), {"\"id\":1"}},
        {READ, URI("item/row/3"), {"\"id\":1"}},
        {READ, URI("item/cell/name/3"), {"\"id\":1"}},
        {READ, URI("firm/rows"), {"\"id\":1"}},
        {READ, URI("firm/row/k3"), {"\"id\":1"}},
        {CALL, SQL("SELECT * FROM item ORDER BY name"), {"\"id\":1"}},
        {CALL, SQL("SELECT * FROM docs WHERE docs MATCH 'row*'"), {"\"id\":1"}},
    };
    unsigned seed = 1;
    size_t size;
    (void)state;
    run_sql(
        "CREATE INDEX by_name ON item(name); CREATE TABLE firm(k TEXT PRIMARY KEY, v) WITHOUT "
        "ROWID; CREATE VIRTUAL TABLE docs USING fts5(body); CREATE VIRTUAL TABLE box USING "
        "rtree(id, x1, x2);"
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO "
        "item SELECT i, 'row ' || i || hex(zeroblob(i * 20)) FROM n;"
        "INSERT INTO firm SELECT 'k' || id, name FROM item; INSERT INTO docs SELECT 'row ' || id "
        "FROM item; INSERT INTO box SELECT id, id, id + 1 FROM item");
    char *good = load(&size), *bad = malloc(size);
    assert_non_null(bad);
    for (int n = 0; n < TAMPERED; n++) {
        memcpy(bad, good, size);
        for (unsigned k = 1 + next_number(&seed) % 8; k > 0; k--) {
            size_t page = next_number(&seed) / 7 % (size / 4096) * 4096;
            size_t at = page + (next_number(&seed) >> 8) % (k % 2 ? 4096 : 120);
            bad[at] = (char)(next_number(&seed) >> 16);
        }
        store(bad, n % 10 == 9 ? size - 4096 * (size_t)(n % 7) - 100 : size);
        mcp_sqlite_options o = {.timeout_ms = 200};
        memset(&p, 0, sizeof(p));
        if (peer_open(&p, &o, NULL, NULL) == MCP_OK)
            for (size_t i = 0; i < sizeof(any) / sizeof(*any); i++)
                check_exchange(&p, &any[i]);
        peer_close(&p);
    }
    free(good);
    free(bad);
}

static int setup(void **state)
{
    (void)state;
    make_database(schema);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_wrong, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_names, setup, teardown_database),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_utf16),
        cmocka_unit_test_setup_teardown(test_fifos, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_journals, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_tampered, setup, teardown_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
