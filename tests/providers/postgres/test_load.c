/* Many requests and much data: slow queries do not delay quick ones, and memory depends on the
 * request, not on the size of the database. */
#define _GNU_SOURCE
#include "database.h"

#include <malloc.h>

static peer p, quick; /* two peers of the same server, each with its own replies */

static void open_shop(mcp_postgres_options o)
{
    if (peer_open(&p, &o) != MCP_OK)
        fail_msg("%s", p.error.text);
    quick = (peer){.loop = loop, .server = p.server};
    assert_int_equal(peer_connect(&quick), MCP_OK);
}

static void close_shop(void)
{
    mcp_channel_free(quick.channel);
    peer_close(&p);
}

/* ---- slow and quick queries ------------------------------------------------------------------ */

static const exchange by_key[] = {
    {READ, URI("public/customer/row/1"), {"Ada"}},
    {READ, URI("public/kinds/cell/long/9007199254740993?offset=299999"), {"\"text\":\"x\""}},
    {READ, URI("public/sale"), {"foreignKeys"}},
    {LIST, "", {"public/customer/rows"}},
};

static const exchange pages[] = {
    {READ, URI("public/sale/rows"), {"paid"}},
    {READ, URI("public/sale/rows?status=open"), {"[1,1,"}},
    {COMPLETE,
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"postgres://shop/{schema}/{table}/row{/"
     "key*}{?format}\"},\"argument\":{\"name\":\"key\",\"value\":\"2\"},\"context\":{\"arguments\":"
     "{"
     "\"schema\":\"public\",\"table\":\"customer\"}}",
     {"[\"2\",\"20\"]"}},
};

static void all_answered(const exchange *e, size_t n)
{
    for (int round = 0; round < 5; round++)
        for (size_t i = 0; i < n; i++)
            check_exchange(&quick, &e[i]);
}

/* For each number of connections, sends more slow queries, and reads of slow views, than can run at
 * once. All quick requests must be answered before the first slow one. */
static void test_shares(void **state)
{
    static const struct {
        uint64_t connections;
        bool views;
    } cases[] = {{2, false}, {3, false}, {3, true}, {4, false}, {4, true}, {8, true}};
    (void)state;
    run_sql("CREATE VIEW slow AS SELECT pg_sleep(3600)::text AS t, 1 AS x");
    run_sql("GRANT SELECT ON slow TO reader");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        open_shop(
            (mcp_postgres_options){.timeout_ms = 3600000, .connections = cases[i].connections});
        for (int k = 0; k < 12; k++)
            peer_send(&p, 10 + k, CALL, SQL("SELECT pg_sleep(3600)"));
        for (int k = 0; cases[i].views && k < 12; k++)
            peer_send(&p, 30 + k, READ, URI("public/slow/rows"));
        all_answered(by_key, sizeof(by_key) / sizeof(*by_key));
        if (!cases[i].views)
            all_answered(pages, sizeof(pages) / sizeof(*pages));
        assert_int_equal(p.replies, 0);
        close_shop();
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

/* Returns the size of the heap, including libpq's memory. */
static size_t heap(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return __sanitizer_get_current_allocated_bytes();
#else
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#endif
}

/* Returns the largest size of the heap while the request was processed. */
static size_t peak_of(const char *method, const char *params, const char *has)
{
    size_t most = 0, before = p.replies;
    peer_send(&p, 1, method, params);
    for (int64_t until = now() + 60000; p.replies == before && now() < until;) {
        mcp_loop_step(loop, 10);
        most = heap() > most ? heap() : most;
    }
    check_reply(params, p.reply, (const char *const[5]){has});
    return most;
}

/* 100,000 rows of 500 bytes: only one answer and libpq's buffer are in memory at once. */
static void test_large(void **state)
{
    enum { ROOM = 8 << 20 };
    char params[200];
    (void)state;
    run_sql("CREATE TABLE large AS SELECT i AS id, repeat(i::text, 500 / length(i::text)) AS t "
            "FROM generate_series(1, 100000) i");
    run_sql("ALTER TABLE large ADD PRIMARY KEY (id)");
    run_sql("CREATE VIEW larger AS SELECT a.id, a.t FROM large a, generate_series(1, 100)");
    run_sql("GRANT SELECT ON large, larger TO reader");
    open_shop((mcp_postgres_options){0});
    size_t base = peak_of(READ, URI("public/large/rows?limit=1000"), "[1000,");
    assert_true(peak_of(CALL, SQL("SELECT * FROM large"), "\"truncated\":true") < base + ROOM);
    assert_true(peak_of(CALL, SQL("SELECT * FROM large ORDER BY t"), "\"truncated\":true") <
                base + ROOM);
    assert_true(peak_of(CALL, SQL("SELECT * FROM larger"), "\"truncated\":true") < base + ROOM);
    assert_true(peak_of(CALL, SQL("SELECT string_agg(t, '') FROM large"), "too large") <
                base + ROOM);
    assert_true(peak_of(READ, URI("public/larger/rows?limit=1000"), "next") < base + ROOM);
    size_t first = 0;
    for (int offset = 0; offset < 100000; offset += 1000) {
        snprintf(params, sizeof(params), URI("public/large/rows?limit=1000&offset=%d"), offset);
        size_t peak = peak_of(READ, params, "\\\"rows\\\":[[");
        if (!first)
            first = peak;
        assert_true(peak < first + (1 << 20));
    }
    close_shop();
}

/* Reads 3,000 different rows of 300 tables. The last hundred must not need more memory than those
 * before the thousandth. Each hundred is compared as a whole, because the number of open
 * connections varies. */
static void test_many(void **state)
{
    char params[200];
    size_t most = 0, least = SIZE_MAX;
    (void)state;
    run_sql("DO $$ BEGIN FOR i IN 1..300 LOOP EXECUTE format('CREATE TABLE many_%s AS SELECT k AS "
            "id, repeat(k::text, 50) AS t FROM generate_series(1, 20) k', i); EXECUTE format("
            "'ALTER TABLE many_%s ADD PRIMARY KEY (id)', i); EXECUTE format('GRANT SELECT ON "
            "many_%s TO reader', i); END LOOP; END $$");
    open_shop((mcp_postgres_options){0});
    for (int i = 0; i < 3000; i++) {
        snprintf(params, sizeof(params), URI("public/many_%d/row/%d"), 1 + i % 300, 1 + i / 300);
        check_exchange(&p, &(exchange){READ, params, {"\\\"t\\\":"}});
        size_t now = heap();
        if (i >= 900 && i < 1000)
            most = now > most ? now : most;
        if (i >= 2900)
            least = now < least ? now : least;
    }
    assert_true(least < most + (64 << 10));
    close_shop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares), cmocka_unit_test(test_large),
                                       cmocka_unit_test(test_many)};
    int rc = make_database();
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    server("remove");
    return rc;
}
