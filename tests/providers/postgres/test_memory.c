/* Every allocation of the provider fails in turn, while it mounts, connects, answers, reconnects
 * and watches: the result is an error, not a crash, every request is answered, no memory is leaked,
 * and the next request succeeds. libpq's own allocations do not fail here. */
#define _GNU_SOURCE
#include "callers.h"

#include "failalloc.h"

static const char queries[] =
    "[{\"name\":\"top\",\"sql\":\"SELECT id, total FROM sale WHERE status = $1 ORDER BY id\","
    "\"parameters\":[{\"name\":\"status\",\"values\":[\"open\",\"paid\"],\"default\":\"open\"}]}]";

static const exchange tried[] = {
    {LIST, "", {"/part/rows"}},
    {READ, URI(""), {"part"}},
    {READ, URI("?format=text"), {"CREATE TABLE"}},
    {READ, URI("public/sale"), {"foreignKeys"}},
    {READ, URI("public/$function/writes()"), {"plpgsql"}},
    {READ, URI("public/sale/rows?status=open&limit=1"), {"next"}},
    {READ, URI("public/customer/row/1"), {"Ada"}},
    {READ, URI("public/customer/cell/photo/1"), {"iVBORw0KGgo="}},
    {READ, URI("$query/top?status=paid"), {"[[2,20]]"}},
    {CALL,
     SQL_WITH("SELECT name FROM customer WHERE id = $1", "\"parameters_json\":\"[1]\""),
     {"Ada"}},
    {CALL, "\"name\":\"database_health_shop\"", {"\"unused_indexes\":["}},
    {COMPLETE,
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"postgres://shop/{schema}/{table}/row{/"
     "key*}{?format}\"},\"argument\":{\"name\":\"key\",\"value\":\"2\"},\"context\":{\"arguments\":"
     "{"
     "\"schema\":\"public\",\"table\":\"customer\"}}",
     {"[\"2\",\"20\"]"}},
    {COMPLETE,
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"postgres://shop/{schema}/"
     "{table}{?format}\"},\"argument\":{\"name\":\"table\",\"value\":\"k\"},\"context\":{"
     "\"arguments\":{\"schema\":\"public\"}}",
     {"[\"keyless\",\"kinds\"]"}},
    {CALL,
     "\"name\":\"database_health_shop\",\"arguments\":{\"query\":\"SELECT * FROM sale WHERE total "
     "= "
     "1\",\"indexes\":[\"CREATE INDEX ON sale (total)\"]}",
     {"\"cost_without\":"}},
};
static size_t n_tried = sizeof(tried) / sizeof(*tried); /* the last one needs hypopg */

static failalloc ours;
static peer p;
static mcp_json_doc *saved, *roles;
static bool with_roles; /* requests run as their caller */

static int connect_caller(void)
{
    mcp_server *server = p.server;
    if (!with_roles)
        return peer_connect(&p);
    caller_open(&p, &(peer){.server = server, .loop = loop}, "{\"role\":[\"r\"],\"x\":[1,2]}");
    return MCP_OK;
}

static int open_all(void)
{
    mcp_allocator a = failalloc_allocator(&ours);
    memset(&p, 0, sizeof(p));
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    p.loop = loop;
    int rc = peer_serve(&p, mcp_loop_host(loop), &a);
    if (rc == MCP_OK)
        rc = mcp_postgres_mount(p.server,
                                MCP_OPTIONS(mcp_postgres_options, .conninfo = conninfo,
                                            .allocator = &a, .poll_ms = 50, .database_health = true,
                                            .explain = !with_roles,
                                            .run_as = with_roles ? mcp_json_root(roles) : NULL,
                                            .queries = mcp_json_root(saved)),
                                &p.error);
    return rc == MCP_OK ? connect_caller() : rc;
}

static void close_all(void)
{
    ours.fail_at = 0;
    peer_close(&p);
    assert_int_equal(ours.live, 0);
}

/* After a failure, the provider may need a moment to reconnect. */
static void must_work(const exchange *e)
{
    for (int i = 0; !strstr(ask_and_wait(&p, e->method, e->params), e->has[0]); i++) {
        if (i == 100)
            fail_msg("%s {%s}: %.500s", e->method, e->params, p.reply);
        mcp_loop_step(loop, 20);
    }
}

/* If mounting succeeds in spite of a failed allocation (for example, when only a warning about a
 * saved query was lost), requests succeed. */
static void test_mounting(void **state)
{
    (void)state;
    for (size_t at = 1;; at++) {
        ours = (failalloc){.fail_at = at};
        int rc = open_all();
        bool happened = ours.calls >= at;
        ours.fail_at = 0;
        if (rc == MCP_OK)
            must_work(&tried[0]);
        else if (!happened || (rc != MCP_ENOMEM && !p.error.text[0]))
            fail_msg("%zu: %d %s", at, rc, p.error.text);
        close_all();
        if (!happened)
            return;
    }
}

/* Uses the existing connection, or begins after it was terminated if `lost`. Returns false if there
 * were fewer allocations, so none failed. */
static bool try_one(const exchange *e, size_t at, bool lost)
{
    ours = (failalloc){0};
    assert_int_equal(open_all(), MCP_OK);
    if (lost) {
        must_work(&tried[6]);
        run_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'");
    }
    ours.calls = 0;
    ours.fail_at = at;
    peer_send(&p, 1, e->method, e->params);
    if (!run_until(&p, &p.replies, 1, 20000))
        fail_msg("%s {%s}: no answer when %zu fails", e->method, e->params, at);
    bool happened = ours.calls >= at;
    ours.fail_at = 0;
    must_work(e);
    close_all();
    return happened;
}

static void test_asking(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_tried; i++)
        for (size_t at = 1; try_one(&tried[i], at, false); at++)
            ;
}

static void test_reconnecting(void **state)
{
    (void)state;
    for (size_t at = 1; try_one(&tried[6], at, true); at++)
        ;
}

/* Subscribers whose request succeeded are notified. */
static bool watch_one(size_t at)
{
    ours = (failalloc){0};
    assert_int_equal(open_all(), MCP_OK);
    ours.calls = 0;
    ours.fail_at = at;
    peer_send(&p, 1, "subscriptions/listen",
              "\"notifications\":{\"resourceSubscriptions\":[\"postgres://shop/public/sale/"
              "row/1\"]}");
    for (int i = 0; i < 10; i++)
        mcp_loop_step(loop, 10);
    bool happened = ours.calls >= at;
    ours.fail_at = 0;
    for (int i = 0; !p.replies && !p.updates; i++) {
        if (i == 300)
            fail_msg("not told when %zu fails", at);
        run_sql("UPDATE sale SET total = total + 1 WHERE id = 1");
        run_until(&p, &p.updates, 1, 100);
    }
    close_all();
    return happened;
}

static void test_watching(void **state)
{
    (void)state;
    for (size_t at = 1; watch_one(at); at++)
        ;
}

/* The same with a role and settings for the caller. */
static void test_roles(void **state)
{
    static const size_t some[] = {5, 8};
    (void)state;
    with_roles = true;
    for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
        for (size_t at = 1; try_one(&tried[some[i]], at, false); at++)
            ;
    for (size_t at = 1; watch_one(at); at++)
        ;
    for (size_t at = 1;; at++) {
        ours = (failalloc){.fail_at = at};
        memset(&p, 0, sizeof(p));
        assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
        p.loop = loop;
        mcp_allocator a = failalloc_allocator(&ours);
        int rc = peer_serve(&p, mcp_loop_host(loop), NULL);
        if (rc == MCP_OK)
            rc = mcp_postgres_mount(p.server,
                                    MCP_OPTIONS(mcp_postgres_options, .conninfo = conninfo,
                                                .allocator = &a, .run_as = mcp_json_root(roles)),
                                    &p.error);
        bool happened = ours.calls >= at;
        if (rc != MCP_OK && (!happened || rc != MCP_ENOMEM))
            fail_msg("%zu: %d %s", at, rc, p.error.text);
        close_all();
        if (!happened)
            break;
    }
    with_roles = false;
}

static int setup(void **state)
{
    static const char map[] = "{\"claim\":\"role\",\"issuer\":\"" ISSUER
                              "\",\"roles\":{\"q\":\"other\",\"r\":\"reader\"},\"claims\":"
                              "\"a.claims\",\"settings\":{\"a.x\":\"x\"}}";
    (void)state;
    run_sql("CREATE ROLE other; GRANT other TO reader");
    if (strcmp(sql_value("SELECT count(*) FROM pg_available_extensions WHERE name = 'hypopg'"),
               "1") == 0) {
        run_sql("CREATE EXTENSION hypopg");
    } else {
        puts("# without hypothetical indexes, because hypopg is not installed "
             "(scripts/install-deps --tests)");
        n_tried--;
    }
    if (mcp_json_parse(mcp_str_from(map), NULL, NULL, &roles, NULL) != MCP_OK)
        return 1;
    return mcp_json_parse(mcp_str_from(queries), NULL, NULL, &saved, NULL);
}

static int teardown(void **state)
{
    (void)state;
    mcp_json_free(saved);
    mcp_json_free(roles);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mounting),     cmocka_unit_test(test_asking),
        cmocka_unit_test(test_reconnecting), cmocka_unit_test(test_watching),
        cmocka_unit_test(test_roles),
    };
    int rc = make_database();
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, setup, teardown);
    server("remove");
    return rc;
}
