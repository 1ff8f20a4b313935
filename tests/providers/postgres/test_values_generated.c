/* Random tables with values of every type, under random settings of the role and the database: what
 * is read is what is stored, and each row has a URI of its own.
 *
 * The model is PostgreSQL: another session, with settings of its own, reads a value's text as a
 * value again and compares it with the stored one byte by byte (the operator "*="). Each row carries
 * its number as bytea, whose URI a page shows, so the test does not know how keys are spelled. */
#define _GNU_SOURCE
#include "database.h"
#include "dice.h"
#include "rounds.h"

enum { TABLES = 6, ROWS = 30, COLUMNS = 4, SETTINGS = 4 };

static peer p;
static PGconn *model;
static unsigned values_read;

/* ---- types ----------------------------------------------------------------------------------- */

#define ONE_OF(type, list) "(ARRAY[" list "]::" type "[])[1 + floor(random() * 8)]"

/* For each type expressions of special and of random values. An array gives NULL beyond its end. */
static const struct {
    const char *type;
    bool key; /* it can be a key */
    const char *some, *any;
} types[] = {
    {"boolean", true, "random() < 0.5", "random() < 0.5"},
    {"smallint", true, ONE_OF("int2", "0,1,-1,32767,-32768"), "(random() * 200)::int2"},
    {"integer", true, ONE_OF("int4", "0,1,-1,2147483647"), "(random() * 1e6)::int4"},
    {"bigint", true, ONE_OF("int8", "0,9223372036854775807,-9007199254740993"),
     "((random() - 0.5) * 1e18)::int8"},
    {"real", true,
     ONE_OF("float4", "'-0',0.1,16777217,3.1415927,'NaN','Infinity',1e-45,3.4028235e38"),
     "((random() - 0.5) * power(10::float8, floor(random() * 60 - 30)))::float4"},
    {"double precision", true,
     ONE_OF("float8",
            "0.1::float8 + 0.2::float8,0.3,'NaN','-Infinity',1e15,2099999997690001,5e-324,1e22"),
     "(random() - 0.5) * power(10::float8, floor(random() * 600 - 300))"},
    {"numeric", true,
     ONE_OF("numeric", "0,0.00,1.50,'NaN','Infinity',1e30,-0.000001,12345678901234567890.123"),
     "round(((random() - 0.5) * 1e12)::numeric, floor(random() * 8)::int)"},
    {"numeric(12,4)", true, ONE_OF("numeric", "0,1.5,2,'NaN'"), "(random() * 1e6)::numeric(12,4)"},
    {"money", true, ONE_OF("text", "'0','-1.50','1234567.89'") "::money",
     "(random() * 1e9)::numeric::money"},
    {"text", true, ONE_OF("text", "'','a/b','%41','.','..',E'\\\\x41',E'a\\n\\tb','NULL'"),
     "md5(random()::text)"},
    {"varchar(20)", true, ONE_OF("text", "'é','😀',' a ','1','$text:1'"),
     "substr(md5(random()::text), 1, 20)"},
    {"char(5)", true, ONE_OF("text", "'','a','ab  c'"), "substr(md5(random()::text), 1, 4)"},
    {"name", true, ONE_OF("name", "'a','A B'"), "md5(random()::text)::name"},
    {"date", true,
     ONE_OF("date", "'infinity','4713-01-01 BC','5874897-12-31','2001-02-03','12001-02-03'"),
     "date '2000-01-01' + (random() * 20000)::int"},
    {"time", true, ONE_OF("time", "'24:00','00:00:00.000001'"),
     "'00:00'::time + random() * interval '1 day'"},
    {"timetz", true, ONE_OF("timetz", "'24:00-15:59','01:02:03.4+05:30:15'"),
     "('10:00:00+0' || floor(random() * 9))::timetz"},
    {"timestamp", true,
     ONE_OF("timestamp", "'-infinity','0044-03-15 BC','2001-02-03 04:05:06.789','20001-02-03'"),
     "timestamp '1900-01-01' + random() * interval '500 years'"},
    {"timestamptz", true,
     ONE_OF("timestamptz", "'infinity','0044-03-15 BC','1883-11-18 12:00-05','2011-10-30 00:30Z'"),
     "timestamptz '1900-01-01Z' + random() * interval '500 years'"},
    {"interval", true,
     ONE_OF("interval",
            "'1 mon -3 days 04:05:06.7','-1 year 2 mons','0','-00:00:00.5','1 day -1 sec'"),
     "make_interval((random() * 4 - 2)::int, (random() * 20 - 10)::int, 0, (random() * 9 - "
     "4)::int, 0, 0, random() * 99 - 50)"},
    {"uuid", true, ONE_OF("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
     "md5(random()::text)::uuid"},
    {"inet", true, ONE_OF("inet", "'::1','10.0.0.1/8','::ffff:1.2.3.4'"),
     "('10.0.0.' || floor(random() * 255))::inet"},
    {"cidr", true, ONE_OF("cidr", "'10.0.0.0/8','::/0'"),
     "('10.0.' || floor(random() * 255) || '.0/24')::cidr"},
    {"macaddr", true, ONE_OF("macaddr", "'08:00:2b:01:02:03'"),
     "substr(md5(random()::text), 1, 12)::macaddr"},
    {"bit(3)", true, ONE_OF("text", "'000','101'") "::bit(3)",
     "(floor(random() * 8)::int)::bit(3)"},
    {"varbit", true, ONE_OF("varbit", "'','1','01'"),
     "(floor(random() * 999)::int)::bit(10)::varbit"},
    {"jsonb", true, ONE_OF("jsonb", "'{\"x\": 12345678901234567890.50}','null','\"a\"','[1.0]'"),
     "jsonb_build_object('a', random(), 'b', ARRAY[random()])"},
    {"int4range", true, ONE_OF("int4range", "'empty','(,)','[1,9)'"),
     "int4range(0, (random() * 99)::int)"},
    {"tstzrange", true, ONE_OF("tstzrange", "'(,)','[2001-01-01Z,2002-01-01Z)'"),
     "tstzrange(now(), now() + random() * interval '9 days')"},
    {"integer[]", true, ONE_OF("text", "'{}','{1,NULL}','[0:1]={5,6}','{{1},{2}}'") "::int4[]",
     "ARRAY[(random() * 99)::int]"},
    {"text[]", true,
     ONE_OF("text", "'{}','{NULL,\"NULL\",\"a,b\"}','{\"\\\\\",\"\\\"\"}'") "::text[]",
     "ARRAY[md5(random()::text), 'x y']"},
    {"double precision[]", true, ONE_OF("text", "'{0.30000000000000004,NaN}'") "::float8[]",
     "ARRAY[random(), -random() / 3]"},
    {"interval[]", true, ONE_OF("text", "'{1 mon -3 days,-1 year}'") "::interval[]",
     "ARRAY[random() * interval '-9 days']"},
    {"timestamptz[]", true, ONE_OF("text", "'{2011-10-30 00:30Z}'") "::timestamptz[]",
     "ARRAY[now() - random() * interval '9 years']"},
    {"mood", true, ONE_OF("mood", "'sad','ok, fine'"), "'sad'::mood"},
    {"positive", true, "(1 + floor(random() * 9))::int::positive",
     "(1 + floor(random() * 999))::int::positive"},
    {"pair", true, "ROW(floor(random() * 9)::int, 0.1::float8 + random(), now())::pair",
     "ROW(NULL, random() / 3, now() - random() * interval '9 years')::pair"},
    {"pg_lsn", true, ONE_OF("pg_lsn", "'0/0','16/B374D848'"),
     "('0/' || to_hex((random() * 1e6)::int))::pg_lsn"},
    {"tsvector", true, ONE_OF("tsvector", "'','a b:1A'"),
     "to_tsvector('simple', md5(random()::text))"},
    {"json", false, ONE_OF("json", "'{\"b\":1,\"b\":2}','1.50','\"a\"'"),
     "json_build_array(random())"},
    {"point", false, "point(random() / 3, random() * 1e20)",
     "point(0.1::float8 + 0.2::float8, '-0')"},
    {"path", false, ONE_OF("text", "'[(0,0.1),(1,2)]','((0,0.30000000000000004))'") "::path",
     "path '((0,0),(1e-5,1))'"},
    {"xml", false, ONE_OF("xml", "'<a/>','a<b/>c'"), "'x'::xml"},
};

static const char *chosen[COLUMNS]; /* the types of c0, c1, ...; c0 is the key */

/* ---- settings -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *value[5]; /* as in SQL */
} settings[] = {
    {"extra_float_digits", {"-15", "-3", "0", "1", "3"}},
    {"IntervalStyle", {"sql_standard", "postgres_verbose", "iso_8601", "postgres", "sql_standard"}},
    {"DateStyle", {"'SQL, DMY'", "'German'", "'Postgres, MDY'", "'ISO, YMD'", "'SQL, MDY'"}},
    {"TimeZone",
     {"'Asia/Kathmandu'", "'America/New_York'", "'+03:30'", "'Europe/London'", "'UTC'"}},
    {"bytea_output", {"escape", "hex", "escape", "escape", "hex"}},
    {"array_nulls", {"off", "on", "off", "on", "off"}},
    {"standard_conforming_strings", {"off", "on", "off", "on", "off"}},
    {"quote_all_identifiers", {"on", "off", "on", "off", "on"}},
    {"xmloption", {"document", "content", "document", "content", "document"}},
    {"xmlbinary", {"hex", "base64", "hex", "base64", "hex"}},
    {"client_encoding", {"LATIN1", "SQL_ASCII", "UTF8", "EUC_JP", "WIN1251"}},
    {"search_path", {"'second one'", "pg_catalog", "public", "''", "public"}},
    {"transform_null_equals", {"on", "off", "on", "off", "on"}},
    {"timezone_abbreviations", {"'India'", "'Default'", "'Australia'", "'Default'", "'India'"}},
    {"enable_seqscan", {"off", "on", "off", "on", "off"}},
};

/* Gives the role, the database, or the role in this database random settings. */
static void set_settings(void)
{
    static const char *const whose[] = {"ROLE reader", "DATABASE shop",
                                        "ROLE reader IN DATABASE shop"};
    char sql[300];
    for (size_t i = 0; i < 3; i++) {
        snprintf(sql, sizeof(sql), "ALTER %s RESET ALL", whose[i]);
        run_sql(sql);
    }
    for (size_t i = 0; i < SETTINGS; i++) {
        unsigned which = dice(2) ? dice(4) : dice(sizeof(settings) / sizeof(*settings));
        snprintf(sql, sizeof(sql), "ALTER %s SET %s = %s", whose[dice(3)], settings[which].name,
                 settings[which].value[dice(5)]);
        run_sql(sql);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

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
        fail_msg("%s%.500s, %s", PQerrorMessage(model), sql, n > 1 ? values[1] : "");
    return r;
}

static void create(void)
{
    char sql[1000] = "CREATE TABLE t(", insert[4000] = "INSERT INTO t SELECT ";
    for (size_t i = 0; i < COLUMNS; i++) {
        unsigned which;
        do
            which = dice(sizeof(types) / sizeof(*types));
        while (i == 0 && !types[which].key);
        chosen[i] = types[which].type;
        add(sql, sizeof(sql), "c%zu %s, ", i, chosen[i]);
        add(insert, sizeof(insert),
            i ? "CASE WHEN random() < 0.5 THEN %s ELSE %s END, "
              : "coalesce(CASE WHEN random() < 0.5 THEN %s END, %s), ",
            types[which].some, types[which].any);
    }
    add(sql, sizeof(sql), "n bytea, PRIMARY KEY(c0))");
    add(insert, sizeof(insert),
        "int2send(i::int2) FROM generate_series(0, %d) AS i ON CONFLICT DO NOTHING", ROWS - 1);
    PQclear(ask_model("DROP TABLE IF EXISTS t", 0, NULL));
    PQclear(ask_model(sql, 0, NULL));
    PQclear(ask_model("GRANT SELECT ON t TO reader", 0, NULL));
    PQclear(ask_model(insert, 0, NULL));
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
    static char params[4000];
    snprintf(params, sizeof(params), "\"uri\":\"%.*s\"", (int)uri.len, uri.ptr);
    ask_and_wait(&p, READ, params);
    mcp_json_doc *doc = parse((mcp_str){p.reply, p.len});
    const mcp_json *contents = mcp_json_get(mcp_json_get(mcp_json_root(doc), "result"), "contents");
    if (!contents)
        fail_msg("%.*s (%s): %s", (int)uri.len, uri.ptr, chosen[0], p.reply);
    *ret = mcp_json_string(mcp_json_get(mcp_json_at(contents, 0), member));
    return doc;
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

/* Checks that a text is that of the value in column `i` of a row. Composite values contain more than
 * their text tells, so their texts are compared. */
static void check_text(mcp_str uri, int number, size_t i, mcp_str text)
{
    char sql[300], row[16], *copy = strndup(text.ptr, text.len);
    const char *values[] = {row, copy};
    const char *same = strcmp(chosen[i], "pair") == 0
                           ? "c%zu::text = $2::text::%s::text"
                           : "(SELECT a FROM (SELECT c%zu) AS a) OPERATOR(pg_catalog.*=) (SELECT b "
                             "FROM (SELECT $2::text::%s) AS b)";
    snprintf(row, sizeof(row), "%d", number);
    strcpy(sql, "SELECT ");
    add(sql, sizeof(sql), same, i, chosen[i]);
    /* nor does the text depend on the settings: a page has what psql prints, a cell what a cast gives */
    add(sql, sizeof(sql),
        " AND $2 IN (c%zu::text, pg_catalog.format('%%s', c%zu)), c%zu::text FROM t WHERE n = "
        "int2send($1::int4::int2)",
        i, i, i);
    PGresult *r = ask_model(sql, 2, values);
    if (PQntuples(r) != 1 || *PQgetvalue(r, 0, 0) != 't')
        fail_msg("%.*s: row %d, column %zu (%s) is %s, not %.200s", (int)uri.len, uri.ptr, number,
                 i, chosen[i], copy, PQntuples(r) ? PQgetvalue(r, 0, 1) : "there");
    PQclear(r);
    free(copy);
    values_read++;
}

/* Checks a value in a page. JSON's numbers are compared as such: the cell has all digits. */
static void check_json(mcp_str uri, int number, size_t i, const mcp_json *value, mcp_str cell)
{
    char text[60];
    if (strncmp(chosen[i], "json", 4) == 0)
        return;
    switch (mcp_json_typeof(value)) {
    case MCP_JSON_STRING: check_text(uri, number, i, mcp_json_string(value)); return;
    case MCP_JSON_BOOL:
        check_text(uri, number, i, mcp_str_from(mcp_json_bool(value, false) ? "true" : "false"));
        return;
    default:
        assert_true(cell.len < sizeof(text));
        snprintf(text, sizeof(text), "%.*s", (int)cell.len, cell.ptr);
        double d = strtod(text, NULL), shown = mcp_json_number(value, d + 1);
        if (shown < d || shown > d)
            fail_msg("%.*s: %.17g is not %s", (int)uri.len, uri.ptr, shown, text);
    }
}

static void check_cell(mcp_str n_uri, int number, size_t i, const mcp_json *value)
{
    static const char head[] = "postgres://shop/public/t/cell/";
    char uri[3000];
    mcp_str text;
    int len = (int)strlen(head);
    snprintf(uri, sizeof(uri), "%sc%zu%.*s", head, i, (int)n_uri.len - len - 1,
             n_uri.ptr + len + 1);
    mcp_json_doc *doc = read_uri(mcp_str_from(uri), "text", &text);
    if (mcp_json_typeof(value) == MCP_JSON_NULL) {
        assert_true(mcp_str_eq(text, MCP_STR("null")));
    } else {
        check_text(mcp_str_from(uri), number, i, text);
        check_json(n_uri, number, i, value, text);
    }
    mcp_json_free(doc);
}

static void check_row(mcp_str n_uri)
{
    static const char head[] = "postgres://shop/public/t/";
    char uri[3000];
    mcp_str text;
    int len = (int)strlen(head);
    snprintf(uri, sizeof(uri), "%srow%.*s", head, (int)n_uri.len - len - 6, n_uri.ptr + len + 6);
    mcp_json_doc *doc = read_uri(mcp_str_from(uri), "text", &text), *row = parse(text);
    mcp_str again = mcp_json_string(mcp_json_get(mcp_json_get(mcp_json_root(row), "n"), "uri"));
    if (!mcp_str_eq(again, n_uri))
        fail_msg("%s is the row of %.*s", uri, (int)again.len, again.ptr);
    mcp_json_free(row);
    mcp_json_free(doc);
}

static void check_table(void)
{
    bool seen[ROWS] = {false};
    mcp_str text;
    mcp_json_doc *doc = read_uri(MCP_STR("postgres://shop/public/t/rows"), "text", &text);
    mcp_json_doc *result = parse(text);
    const mcp_json *page = mcp_json_get(mcp_json_root(result), "rows");
    PGresult *r = ask_model("SELECT count(*) FROM t", 0, NULL);
    assert_int_equal(mcp_json_count(page), atoi(PQgetvalue(r, 0, 0)));
    PQclear(r);
    for (size_t at = 0; at < mcp_json_count(page); at++) {
        const mcp_json *row = mcp_json_at(page, at);
        mcp_str uri = mcp_json_string(mcp_json_get(mcp_json_at(row, COLUMNS), "uri"));
        assert_true(uri.len > 0);
        int number = number_of(uri);
        if (seen[number])
            fail_msg("%.*s (%s) is the URI of two rows", (int)uri.len, uri.ptr, chosen[0]);
        seen[number] = true;
        for (size_t i = 0; i < COLUMNS; i++)
            check_cell(uri, number, i, mcp_json_at(row, i));
        check_row(uri);
    }
    mcp_json_free(result);
    mcp_json_free(doc);
}

static void test_values(void **state)
{
    char text[160];
    (void)state;
    snprintf(text, sizeof(text), "host=%s user=postgres dbname=shop", top);
    run_sql("CREATE TYPE mood AS ENUM ('sad', 'ok, fine'); CREATE DOMAIN positive AS integer CHECK "
            "(value > 0); CREATE TYPE pair AS (a integer, b double precision, c timestamptz)");
    for (unsigned i = 0; i < rounds(TABLES); i++) {
        mcp_postgres_options o = {0};
        set_settings();
        model = PQconnectdb(text);
        /* The model has what an installation has, not what was set. It compiles nothing: where
         * enable_seqscan is off, each of its statements appears dear enough to be compiled, which
         * takes 0.1 s. */
        PQclear(PQexec(model,
                       "SET extra_float_digits = 1; SET IntervalStyle = postgres; SET "
                       "DateStyle = 'ISO, MDY'; SET TimeZone = 'UTC'; SET array_nulls = on; "
                       "SET standard_conforming_strings = on; SET search_path = public; SET "
                       "client_encoding = UTF8; SET xmloption = content; SET "
                       "transform_null_equals = off; SET timezone_abbreviations = 'Default'; "
                       "SET enable_seqscan = on; SET jit = off"));
        create();
        assert_int_equal(peer_open(&p, &o), MCP_OK);
        check_table();
        peer_close(&p);
        PQfinish(model);
    }
    print_message("# %u values\n", values_read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values)};
    int rc = make_database();
    dice_seed();
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    server("remove");
    return rc;
}
