/* Random tables whose keys have values of every type, also such as SQLite itself would never store
 * in their columns. Each row has a URI; no two rows share one; what is read by it is what was stored.
 * The model is SQLite, which is asked for the row with a number. Each row has its number as a BLOB,
 * whose URI a page shows, so the test does not know how keys are spelled. */
#define _GNU_SOURCE
#include "database.h"
#include "dice.h"
#include "rounds.h"

#include <math.h>

enum { TABLES = 40, ROWS = 60, KEYS = 3 };

typedef struct value {
    int type;
    sqlite3_int64 i;
    double d;
    size_t len;
    char bytes[24];
} value;

static sqlite3 *db;
static sqlite3_stmt *model; /* the key of the row with a number */
static peer p;
static const char *const names[KEYS] = {"k0", "k1", "k2"};
static const char *types[KEYS] = {"", "", ""};
static size_t n_key;
static unsigned values_read;

/* ---- values ---------------------------------------------------------------------------------- */

/* Texts that another value's spelling may look like. */
static const char *const odd[] = {
    "",
    "1",
    "-1",
    "1.5",
    "01",
    "1.50",
    " 1",
    "1 ",
    "1e3",
    "1000",
    "x'31'",
    "x'3A'",
    "x''",
    "X'31'",
    "$text:1",
    "$integer:1",
    "$real:1",
    "$blob:31",
    "$rowid:1",
    "$null",
    "NULL",
    "null",
    "9e999",
    "-9e999",
    "Inf",
    "-0",
    "0",
    "0.0",
    "+1",
    "1.",
    ".5",
    "0x10",
    "a/b",
    "a%2Fb",
    ".",
    "..",
    "?",
    "#",
    "\xc3\xa9",
    "2024-01-01",
    "9223372036854775807",
    "9223372036854775808",
    "12345678901234567890",
    "1e400",
    "1e-400",
};

static value make_text(const char *text)
{
    value v = {.type = SQLITE_TEXT, .len = strlen(text)};
    assert_true(v.len < sizeof(v.bytes));
    memcpy(v.bytes, text, v.len);
    return v;
}

static value make_integer(void)
{
    static const sqlite3_int64 edges[] = {
        0, 1, -1, 1000, INT64_MAX, INT64_MIN, 1ll << 53, (1ll << 53) + 1, 10, 1ll << 62};
    return (value){.type = SQLITE_INTEGER,
                   .i = dice(2) ? edges[dice(10)] : (sqlite3_int64)dice(30) - 15};
}

static value make_real(void)
{
    static const double edges[] = {0,         -0.0,      1,
                                   1.5,       -1.5,      1000,
                                   INFINITY,  -INFINITY, 1e22,
                                   5e-324,    1.0 / 3,   9007199254740992.0,
                                   0.1 + 0.2, 1e15,      123456789012345680.0};
    double d = edges[dice(15)];
    if (!dice(3))
        d = (double)dice(1000000) / (1 + (double)dice(1000)) * pow(10, (double)dice(40) - 20);
    return (value){.type = SQLITE_FLOAT, .d = d};
}

static value make_blob(void)
{
    value v = {.type = SQLITE_BLOB, .len = dice(4)};
    for (size_t i = 0; i < v.len; i++)
        v.bytes[i] = (char)(dice(2) ? '0' + (int)dice(10) : (int)dice(256));
    return v;
}

static value make_number_text(void)
{
    char text[40];
    value v = make_real();
    snprintf(text, sizeof(text), "%.*g", (int)dice(17) + 1, v.d);
    return make_text(text);
}

static value make_value(void)
{
    switch (dice(6)) {
    case 0: return make_integer();
    case 1: return make_real();
    case 2: return make_blob();
    case 3: return make_number_text();
    case 4: return dice(6) ? make_integer() : (value){.type = SQLITE_NULL};
    default: return make_text(odd[dice(sizeof(odd) / sizeof(*odd))]);
    }
}

static void bind(sqlite3_stmt *stmt, int at, const value *v)
{
    switch (v->type) {
    case SQLITE_INTEGER: sqlite3_bind_int64(stmt, at, v->i); return;
    case SQLITE_FLOAT: sqlite3_bind_double(stmt, at, v->d); return;
    case SQLITE_TEXT: sqlite3_bind_text(stmt, at, v->bytes, (int)v->len, SQLITE_TRANSIENT); return;
    case SQLITE_BLOB: sqlite3_bind_blob(stmt, at, v->bytes, (int)v->len, SQLITE_TRANSIENT); return;
    default: sqlite3_bind_null(stmt, at);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

static void add(char *to, const char *format, const char *word)
{
    sprintf(to + strlen(to), format, word);
}

static void create(bool untyped)
{
    static const char *const all[] = {
        "",        "INTEGER",     "INT",  "REAL", "NUMERIC",
        "TEXT",    "VARCHAR",     "BLOB", "DATE", "CHAR(5) COLLATE NOCASE",
        "BOOLEAN", "DECIMAL(9,2)"};
    char sql[600] = "DROP TABLE IF EXISTS t; CREATE TABLE t(n BLOB";
    bool rowids = dice(3) > 0;
    n_key = rowids ? dice(KEYS + 1) : 1 + dice(KEYS);
    for (size_t i = 0; i < n_key; i++) {
        types[i] = untyped ? "" : all[dice(12)];
        add(sql, ", %s ", names[i]);
        add(sql, "%s", types[i]);
    }
    for (size_t i = 0; i < n_key; i++)
        add(sql, i ? ", %s" : ", PRIMARY KEY(%s", names[i]);
    add(sql, "%s", n_key ? "))" : ")");
    add(sql, "%s", rowids ? "" : " WITHOUT ROWID");
    run_sql(sql);
}

static size_t fill(void)
{
    sqlite3_stmt *insert;
    unsigned char number[2];
    size_t rows = 0;
    assert_int_equal(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
    char sql[100] = "INSERT OR IGNORE INTO t VALUES (?";
    add(sql, "%s", &", ?, ?, ?)"[3 * (KEYS - n_key)]);
    if (sqlite3_prepare_v2(db, sql, -1, &insert, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    for (size_t i = 0; i < ROWS; i++) {
        number[0] = (unsigned char)(rows >> 8), number[1] = (unsigned char)rows;
        sqlite3_bind_blob(insert, 1, number, 2, SQLITE_STATIC);
        for (size_t k = 0; k < n_key; k++) {
            value v = make_value();
            bind(insert, 2 + (int)k, &v);
        }
        int rc = sqlite3_step(insert);
        assert_true(rc == SQLITE_DONE || rc == SQLITE_MISMATCH); /* of an INTEGER PRIMARY KEY */
        rows += rc == SQLITE_DONE && sqlite3_changes(db) == 1;
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    return rows;
}

/* Gives the columns types that their values never passed through, as a program that writes the file
 * itself could. */
static void retype(void)
{
    static const char *const others[] = {"TEXT", "NUM", "BLOB"};
    static unsigned version = 1000;
    char sql[900] = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = ", piece[100];
    for (size_t i = 0; i < n_key; i++)
        add(sql, "%s", "replace(");
    add(sql, "%s", "sql");
    for (size_t i = 0; i < n_key; i++) {
        types[i] = others[dice(3)];
        snprintf(piece, sizeof(piece), ", ', %s ', ', %s %s ')", names[i], names[i], types[i]);
        add(sql, "%s", piece);
    }
    snprintf(piece, sizeof(piece), "; PRAGMA schema_version = %u", version += 1000);
    add(sql, " WHERE name = 't'%s", piece);
    run_sql(sql);
}

/* ---- reading --------------------------------------------------------------------------------- */

static mcp_json_doc *parse(mcp_str text)
{
    mcp_json_doc *doc;
    assert_int_equal(mcp_json_parse(text, NULL, NULL, &doc, NULL), MCP_OK);
    return doc;
}

/* Reads a resource. *ret becomes the member of its contents. */
static mcp_json_doc *read_uri(mcp_str uri, const char *member, mcp_str *ret)
{
    static char params[2000];
    snprintf(params, sizeof(params), "\"uri\":\"%.*s\"", (int)uri.len, uri.ptr);
    ask(&p, READ, params);
    mcp_json_doc *doc = parse((mcp_str){p.reply, p.len});
    const mcp_json *contents = mcp_json_get(mcp_json_get(mcp_json_root(doc), "result"), "contents");
    if (!contents)
        fail_msg("%.*s (%s, %s, %s): %s", (int)uri.len, uri.ptr, types[0], types[1], types[2],
                 p.reply);
    *ret = mcp_json_string(mcp_json_get(mcp_json_at(contents, 0), member));
    return doc;
}

static bool is_real(const mcp_json *json, double d)
{
    if (!isfinite(d))
        return mcp_str_eq(mcp_json_string(json), mcp_str_from(d > 0 ? "Inf" : "-Inf"));
    /* JSON does not distinguish 1 and 1.0 */
    return !(mcp_json_number(json, -7) < d) && !(mcp_json_number(json, 7) > d);
}

/* Returns whether the JSON value is that of the model's row. */
static bool is_stored(const mcp_json *json, int at)
{
    mcp_str text = mcp_json_string(json);
    switch (sqlite3_column_type(model, at)) {
    case SQLITE_NULL: return mcp_json_typeof(json) == MCP_JSON_NULL;
    case SQLITE_INTEGER:
        return mcp_json_typeof(json) == MCP_JSON_INT &&
               mcp_json_int(json, 7) == sqlite3_column_int64(model, at);
    case SQLITE_FLOAT: return is_real(json, sqlite3_column_double(model, at));
    case SQLITE_TEXT:
        return mcp_json_typeof(json) == MCP_JSON_STRING &&
               mcp_str_eq(text, (mcp_str){(const char *)sqlite3_column_text(model, at),
                                          (size_t)sqlite3_column_bytes(model, at)});
    default:
        return mcp_str_eq(mcp_json_string(mcp_json_get(json, "type")), MCP_STR("blob")) &&
               mcp_json_int(mcp_json_get(json, "size"), -1) == sqlite3_column_bytes(model, at);
    }
}

static void check_value(mcp_str uri, const mcp_json *json, int at)
{
    if (!is_stored(json, at))
        fail_msg("%.*s (%s, %s, %s): key %d is not %s: %s", (int)uri.len, uri.ptr, types[0],
                 types[1], types[2], at, (const char *)sqlite3_column_text(model, at), p.reply);
    values_read++;
}

/* Checks the row that has the same key as a cell. */
static void check_row(mcp_str cell)
{
    static const char head[] = "sqlite://shop/t/";
    char uri[700];
    mcp_str text;
    int len = (int)strlen(head);
    snprintf(uri, sizeof(uri), "%srow%.*s", head, (int)cell.len - len - 6, cell.ptr + len + 6);
    mcp_json_doc *doc = read_uri(mcp_str_from(uri), "text", &text), *row = parse(text);
    for (size_t i = 0; i < n_key; i++)
        check_value(mcp_str_from(uri), mcp_json_get(mcp_json_root(row), names[i]), (int)i);
    mcp_json_free(row);
    mcp_json_free(doc);
}

static unsigned digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return (unsigned)(strchr(digits, c) - digits);
}

/* Reads the number of the row that has this URI. */
static int number_of(mcp_str uri)
{
    mcp_str base64;
    mcp_json_doc *doc = read_uri(uri, "blob", &base64);
    assert_int_equal(base64.len, 4);
    unsigned bits = digit(base64.ptr[0]) << 12 | digit(base64.ptr[1]) << 6 | digit(base64.ptr[2]);
    mcp_json_free(doc);
    return (int)(bits >> 2);
}

/* Reads each row of the page by its URI. */
static void check_page(const mcp_json *page)
{
    bool seen[ROWS] = {false};
    for (size_t at = 0; at < mcp_json_count(page); at++) {
        const mcp_json *row = mcp_json_at(page, at);
        size_t n = mcp_json_count(row) - n_key - 1; /* the rowid, if it is shown */
        mcp_str uri = mcp_json_string(mcp_json_get(mcp_json_at(row, n), "uri"));
        assert_true(uri.len > 0);
        int number = number_of(uri);
        if (seen[number])
            fail_msg("%.*s is the URI of two rows", (int)uri.len, uri.ptr);
        seen[number] = true;
        sqlite3_bind_blob(model, 1, (char[]){(char)(number >> 8), (char)number}, 2,
                          SQLITE_TRANSIENT);
        assert_int_equal(sqlite3_step(model), SQLITE_ROW);
        for (size_t i = 0; i < n_key; i++)
            check_value(uri, mcp_json_at(row, n + 1 + i), (int)i);
        check_row(uri);
        sqlite3_reset(model);
    }
}

static void check_table(size_t rows)
{
    mcp_str text;
    mcp_json_doc *doc = read_uri(MCP_STR("sqlite://shop/t/rows"), "text", &text);
    mcp_json_doc *result = parse(text);
    const mcp_json *page = mcp_json_get(mcp_json_root(result), "rows");
    char sql[100] = "SELECT ";
    for (size_t i = 0; i < n_key; i++)
        add(sql, "%s, ", names[i]);
    add(sql, "%s", "n FROM t NOT INDEXED WHERE n = ?");
    assert_int_equal(mcp_json_count(page), rows);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &model, NULL), SQLITE_OK);
    check_page(page);
    sqlite3_finalize(model);
    mcp_json_free(result);
    mcp_json_free(doc);
}

static void test_keys(void **state)
{
    mcp_sqlite_options o = {0};
    (void)state;
    make_database("CREATE TABLE t(n)");
    assert_int_equal(peer_open(&p, &o, NULL, NULL), MCP_OK);
    for (unsigned i = 0; i < rounds(TABLES); i++) {
        bool foreign = dice(4) == 0;
        create(foreign);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK); /* has no schema yet */
        size_t rows = fill();
        if (foreign && n_key)
            retype();
        sqlite3_close(db);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        check_table(rows);
        sqlite3_close(db);
    }
    peer_close(&p);
    print_message("# %u values\n", values_read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_keys, teardown_database)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
