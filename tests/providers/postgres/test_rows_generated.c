/* Random tables, policies, rows, grants and callers, with the requests of all callers mixed on few
 * connections. What each caller gets is compared with a slow and obvious model: a session of its
 * own, in which its role logs in. */
#define _GNU_SOURCE
#include "callers.h"
#include "rounds.h"

enum { ROLES = 4, TABLES = 4, CALLERS = 8, ROUNDS = 6, WAVES = 12, ROWS = 25 };

static peer shop, caller[CALLERS];
static char gate[160];
static unsigned seed = 20261123;

static struct {
    int role, level;
    char tag;
} who[CALLERS];

static unsigned dice(unsigned n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % n;
}

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

/* ---- the database ---------------------------------------------------------------------------- */

static void add_policy(char *sql, size_t room, int table, int i)
{
    static const char *const conditions[] = {
        "owner = current_user",
        "level <= current_setting('app.level')::int",
        "tag = current_setting('request.jwt.claims')::json ->> 'tag'",
        "id % 3 = 1",
        "owner = current_user AND level > 2",
        "pg_has_role(current_user, 'g1', 'MEMBER')",
        "EXISTS (SELECT 1 FROM t0 AS o WHERE o.id = t.id + 1)",
    };
    /* a policy of t0 that reads t0 would recurse */
    const char *condition = conditions[dice(table ? 7 : 6)];
    char to[20] = "PUBLIC";
    if (dice(2))
        snprintf(to, sizeof(to), "g%u", dice(ROLES));
    add(sql, room, "CREATE POLICY p%d ON t%d AS %s FOR SELECT TO %s USING (", i, table,
        dice(4) ? "PERMISSIVE" : "RESTRICTIVE", to);
    if (strstr(condition, "t.id"))
        add(sql, room, "EXISTS (SELECT 1 FROM t0 AS o WHERE o.id = t%d.id + 1)", table);
    else
        add(sql, room, "%s", condition);
    add(sql, room, ");");
}

static void add_table(char *sql, size_t room, int t)
{
    add(sql, room,
        "DROP TABLE IF EXISTS t%d CASCADE; CREATE TABLE t%d(id integer PRIMARY KEY, owner text, "
        "level integer, tag text); INSERT INTO t%d SELECT i, 'g' || floor(random() * %d), "
        "floor(random() * 6), chr(97 + floor(random() * 3)::int) FROM generate_series(1, %d) i;",
        t, t, t, ROLES, ROWS);
    if (dice(5))
        add(sql, room, "ALTER TABLE t%d ENABLE ROW LEVEL SECURITY;", t);
    for (int i = 0, n = (int)dice(4); i < n; i++)
        add_policy(sql, room, t, i);
    for (int r = 0; r < ROLES; r++)
        if (dice(5))
            add(sql, room, "GRANT SELECT ON t%d TO g%d;", t, r);
}

static void make_tables(void)
{
    char sql[16 << 10] = "";
    for (int t = 0; t < TABLES; t++)
        add_table(sql, sizeof(sql), t);
    run_sql(sql);
}

/* ---- callers --------------------------------------------------------------------------------- */

static void make_callers(void)
{
    char claims[100];
    for (int i = 0; i < CALLERS; i++) {
        who[i].role = (int)dice(ROLES);
        who[i].level = (int)dice(6);
        who[i].tag = (char)('a' + dice(3));
        snprintf(claims, sizeof(claims), "{\"r\":\"v%d\",\"level\":%d,\"tag\":\"%c\"}", who[i].role,
                 who[i].level, who[i].tag);
        caller_open(&caller[i], &shop, claims);
    }
}

/* A session in which the caller's role logs in, with the caller's settings. */
static PGconn *session_of(int i)
{
    char text[300];
    snprintf(text, sizeof(text), "host=%s user=g%d dbname=shop", top, who[i].role);
    PGconn *c = PQconnectdb(text);
    snprintf(text, sizeof(text),
             "SELECT set_config('app.level', '%d', false), set_config('request.jwt.claims', "
             "'{\"tag\":\"%c\"}', false)",
             who[i].level, who[i].tag);
    PGresult *r = PQexec(c, text);
    assert_int_equal(PQresultStatus(r), PGRES_TUPLES_OK);
    PQclear(r);
    return c;
}

/* ---- requests and what they must return ------------------------------------------------------ */

typedef enum kind { ROWS_OF, ROW, VALUE, COUNT, KEYS, KINDS } kind;

typedef struct request {
    kind kind;
    int table, id;
    char params[400], expected[8 << 10];
} request;

static PGresult *ask_model(PGconn *c, const char *format, int table, int id)
{
    char sql[300];
    snprintf(sql, sizeof(sql), format, table, id);
    return PQexec(c, sql);
}

/* Appends the rows as they are in the text of a reply. */
static void add_rows(char *to, size_t room, const PGresult *r)
{
    for (int i = 0; i < PQntuples(r); i++)
        add(to, room, "%s[%s,\\\"%s\\\",%s,\\\"%s\\\"]", i ? "," : "", PQgetvalue(r, i, 0),
            PQgetvalue(r, i, 1), PQgetvalue(r, i, 2), PQgetvalue(r, i, 3));
}

static void expect_rows(PGconn *c, request *q)
{
    PGresult *r = ask_model(c, "SELECT * FROM t%d ORDER BY id", q->table, 0);
    snprintf(q->params, sizeof(q->params), URI("public/t%d/rows"), q->table);
    if (PQresultStatus(r) == PGRES_TUPLES_OK) {
        add(q->expected, sizeof(q->expected), "\\\"rows\\\":[");
        add_rows(q->expected, sizeof(q->expected), r);
        add(q->expected, sizeof(q->expected), "]}");
    } else {
        add(q->expected, sizeof(q->expected), NOT_FOUND);
    }
    PQclear(r);
}

static void expect_row(PGconn *c, request *q, bool cell)
{
    PGresult *r = ask_model(c, "SELECT tag, owner FROM t%d WHERE id = %d", q->table, q->id);
    bool found = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1;
    snprintf(q->params, sizeof(q->params),
             cell ? URI("public/t%d/cell/owner/%d") : URI("public/t%d/row/%d"), q->table, q->id);
    if (!found)
        add(q->expected, sizeof(q->expected), NOT_FOUND);
    else if (cell)
        add(q->expected, sizeof(q->expected), "\"text\":\"%s\"", PQgetvalue(r, 0, 1));
    else
        add(q->expected, sizeof(q->expected), "\\\"tag\\\":\\\"%s\\\"}", PQgetvalue(r, 0, 0));
    PQclear(r);
}

static void expect_count(PGconn *c, request *q)
{
    PGresult *r = ask_model(c, "SELECT count(*) FROM t%d WHERE id > %d", q->table, q->id);
    snprintf(q->params, sizeof(q->params), URI("$query/count%d?from=%d"), q->table, q->id);
    if (PQresultStatus(r) == PGRES_TUPLES_OK)
        add(q->expected, sizeof(q->expected), "\\\"rows\\\":[[%s]]", PQgetvalue(r, 0, 0));
    else
        add(q->expected, sizeof(q->expected), "-32603");
    PQclear(r);
}

static void expect_keys(PGconn *c, request *q)
{
    PGresult *r = ask_model(c, "SELECT id FROM t%d ORDER BY id", q->table, 0);
    snprintf(q->params, sizeof(q->params),
             "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"postgres://shop/{schema}/{table}/row{/"
             "key*}{?format}\"},\"argument\":{\"name\":\"key\",\"value\":\"\"},\"context\":{"
             "\"arguments\":{\"schema\":\"public\",\"table\":\"t%d\"}}",
             q->table);
    bool found = PQresultStatus(r) == PGRES_TUPLES_OK;
    add(q->expected, sizeof(q->expected), "%s", found ? "\"values\":[" : "-32602");
    for (int i = 0; i < PQntuples(r); i++)
        add(q->expected, sizeof(q->expected), "%s\"%s\"", i ? "," : "", PQgetvalue(r, i, 0));
    add(q->expected, sizeof(q->expected), "%s", found ? "]" : "");
    PQclear(r);
}

static void make_request(PGconn *c, request *q)
{
    *q = (request){.kind = (kind)dice(KINDS), .table = (int)dice(TABLES), .id = (int)dice(ROWS)};
    switch (q->kind) {
    case ROWS_OF: expect_rows(c, q); return;
    case ROW:
    case VALUE: expect_row(c, q, q->kind == VALUE); return;
    case COUNT: expect_count(c, q); return;
    default: expect_keys(c, q);
    }
}

/* ---- the test -------------------------------------------------------------------------------- */

/* Sends a request for each caller, then waits for all answers. */
static void run_wave(PGconn *const *model, unsigned round, unsigned wave)
{
    static request all[CALLERS];
    size_t before[CALLERS];
    for (int i = 0; i < CALLERS; i++)
        make_request(model[i], &all[i]);
    for (int i = 0; i < CALLERS; i++) {
        before[i] = caller[i].replies;
        peer_send(&caller[i], 1, all[i].kind == KEYS ? COMPLETE : READ, all[i].params);
    }
    for (int i = 0; i < CALLERS; i++) {
        if (!run_until(&caller[i], &caller[i].replies, before[i] + 1, 60000))
            fail_msg("no answer to %s", all[i].params);
        if (!strstr(caller[i].reply, all[i].expected))
            fail_msg("round %u, wave %u, caller %d (g%d, level %d, tag %c): %s\nexpected "
                     "%s\ngot %s",
                     round, wave, i, who[i].role, who[i].level, who[i].tag, all[i].params,
                     all[i].expected, caller[i].reply);
    }
}

static void run_round(unsigned round)
{
    PGconn *model[CALLERS];
    make_tables();
    make_callers();
    for (int i = 0; i < CALLERS; i++)
        model[i] = session_of(i);
    for (unsigned wave = 0; wave < WAVES; wave++)
        run_wave(model, round, wave);
    for (int i = 0; i < CALLERS; i++) {
        PQfinish(model[i]);
        caller_close(&caller[i]);
    }
}

static void test_generated(void **state)
{
    char run_as[500] =
        "{\"claim\":\"r\",\"issuer\":\"" ISSUER "\",\"claims\":\"request.jwt.claims\","
        "\"settings\":{\"app.level\":\"level\"},\"roles\":{";
    char queries[1000] = "[";
    (void)state;
    for (int i = 0; i < ROLES; i++)
        add(run_as, sizeof(run_as), "%s\"v%d\":\"g%d\"", i ? "," : "", i, i);
    add(run_as, sizeof(run_as), "}}");
    for (int i = 0; i < TABLES; i++)
        add(queries, sizeof(queries),
            "%s{\"name\":\"count%d\",\"sql\":\"SELECT count(*) FROM t%d WHERE id > $1\","
            "\"parameters\":[{\"name\":\"from\",\"required\":true}]}",
            i ? "," : "", i, i);
    add(queries, sizeof(queries), "]");
    make_tables();
    for (unsigned round = 0; round < rounds(ROUNDS); round++) {
        mcp_postgres_options o = {.conninfo = gate, .connections = 2 + round % 2};
        if (shop_open(&shop, run_as, queries, o) != MCP_OK)
            fail_msg("%s", shop.error.text);
        run_round(round);
        peer_close(&shop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_generated)};
    char sql[500] = "CREATE ROLE gate LOGIN NOINHERIT;";
    int rc = make_database();
    if (rc == 0) {
        for (int i = 0; i < ROLES; i++)
            add(sql, sizeof(sql), "CREATE ROLE g%d LOGIN; GRANT g%d TO gate;", i, i);
        add(sql, sizeof(sql), "GRANT g1 TO g2;");
        run_sql(sql);
        snprintf(gate, sizeof(gate), "host=%s user=gate dbname=shop" PATIENT, top);
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    }
    server("remove");
    return rc;
}
