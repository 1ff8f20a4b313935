/* A standby as a source: it is read, and changes of the schema are noticed there, although it cannot
 * listen to notices. */
#define _GNU_SOURCE
#include "database.h"

static peer p;

static void test_standby(void **state)
{
    static const exchange read = {READ, URI("public/later/rows"), {"\\\"columns\\\":[\\\"a\\\"]"}};
    static char text[160];
    mcp_postgres_options o = {.poll_ms = 50};
    (void)state;
    snprintf(text, sizeof(text), "host=%s/standby user=reader dbname=shop", top);
    o.conninfo = text;
    assert_int_equal(peer_open(&p, &o), MCP_OK);
    peer_send(&p, 5, "subscriptions/listen", "\"notifications\":{\"resourcesListChanged\":true}");
    for (int round = 0; round < 2; round++) {
        p.changes = 0;
        run_sql(round ? "DROP TABLE later"
                      : "CREATE TABLE later(a integer); GRANT SELECT ON later TO reader");
        assert_true(run_until(&p, &p.changes, 1, 20000));
        if (!round)
            check_exchange(&p, &read);
    }
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
