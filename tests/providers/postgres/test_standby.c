/* A standby as a source: it is read, and changes to the schema are noticed there, although it cannot
 * listen to notices. */
#define _GNU_SOURCE
#include "database.h"

static peer p;

static void test_standby(void **state)
{
    static const exchange read = {READ, URI("public/later/rows"), {"\\\"columns\\\":[\\\"a\\\"]"}};
    static char text[160], sql[64];
    mcp_postgres_options o = {.poll_ms = 50};
    (void)state;
    snprintf(text, sizeof(text), "host=%s/standby user=reader dbname=shop", top);
    o.conninfo = text;
    assert_int_equal(peer_open(&p, &o), MCP_OK);
    peer_send(&p, 5, "subscriptions/listen", "\"notifications\":{\"resourcesListChanged\":true}");
    run_sql("CREATE TABLE later(a integer); GRANT SELECT ON later TO reader");
    /* The first look at the schema may come after a table, which is then no change. */
    for (int i = 0; i < 100 && !run_until(&p, &p.changes, 1, 200); i++) {
        snprintf(sql, sizeof(sql), "CREATE TABLE more_%d(a integer)", i);
        run_sql(sql);
    }
    assert_true(p.changes > 0);
    check_exchange(&p, &read);
    p.changes = 0;
    run_sql("DROP TABLE later");
    assert_true(run_until(&p, &p.changes, 1, 20000));
    peer_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_standby)};
    int rc = make_database();
    if (rc == 0)
        rc = server("standby");
    if (rc == 0)
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    server("remove");
    return rc;
}
