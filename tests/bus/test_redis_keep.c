/* Values on Redis with a real server: they are kept, replaced, expire; what is refused or lost is said; a random
 * history against a slow model.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "server.h"

static int keep(instance *i, const char *name, mcp_str value, uint64_t ttl_ms)
{
    return i->bus.keep(mcp_str_from(name), value, ttl_ms, i->bus.user);
}

static int fetch(instance *i, const char *name, uint64_t number)
{
    return i->bus.fetch(mcp_str_from(name), number, i->bus.user);
}

/* Keeps a value and waits for the outcome. */
static int keep_now(instance *i, const char *name, const char *value, uint64_t ttl_ms)
{
    size_t before = i->n_kept;
    assert_int_equal(keep(i, name, mcp_str_from(value), ttl_ms), MCP_OK);
    WAIT_FOR(i->n_kept > before);
    return i->kept;
}

static int fetch_now(instance *i, const char *name)
{
    static uint64_t number = 1000;
    size_t before = i->n_fetched;
    assert_int_equal(fetch(i, name, ++number), MCP_OK);
    WAIT_FOR(i->n_fetched > before);
    assert_int_equal(i->number, number);
    return i->fetched;
}

static void test_values(void **state)
{
    static char large[MCP_BUS_VALUE_BYTES];
    (void)state;
    connect_bus(&a);
    connect_bus(&b);
    assert_int_equal(fetch_now(&b, "t1"), MCP_ENOTFOUND);
    assert_int_equal(keep_now(&a, "t1", "one", 60000), MCP_OK);
    assert_int_equal(keep_now(&a, "t2", "two", 60000), MCP_OK);
    assert_int_equal(fetch_now(&b, "t1"), MCP_OK);
    assert_string_equal(b.value, "one");
    assert_int_equal(fetch_now(&b, "t2"), MCP_OK);
    assert_string_equal(b.value, "two");
    assert_int_equal(keep_now(&b, "t1", "other", 60000), MCP_OK);
    assert_int_equal(fetch_now(&a, "t1"), MCP_OK);
    assert_string_equal(a.value, "other");
    assert_in_range(ask("PTTL mcp:bus:test:t1")->integer, 1, 60000);
    assert_int_equal(keep_now(&b, "t1", "short", 1), MCP_OK);
    WAIT_FOR(fetch_now(&a, "t1") == MCP_ENOTFOUND);
    memset(large, 'x', sizeof(large));
    assert_int_equal(keep(&a, "large", (mcp_str){large, sizeof(large)}, 60000), MCP_OK);
    assert_int_equal(keep(&a, "zero", (mcp_str){"a\0b", 3}, 60000), MCP_OK);
    WAIT_FOR(a.n_kept == 4);
    assert_int_equal(fetch_now(&b, "large"), MCP_OK);
    assert_int_equal(b.value_len, sizeof(large));
    assert_int_equal(fetch_now(&b, "zero"), MCP_OK);
    assert_int_equal(b.value_len, 3);
    ask("SETRANGE mcp:bus:test:large %d x", MCP_BUS_VALUE_BYTES);
    assert_int_equal(fetch_now(&b, "large"), MCP_EREMOTE);
    ask("RPUSH mcp:bus:test:list x");
    assert_int_equal(fetch_now(&b, "list"), MCP_EREMOTE);
    assert_int_equal(b.state, MCP_BUS_CONNECTED);
    publish(&a, "an entry");
    WAIT_FOR(b.n_received == 1);
    close_bus(&a);
    close_bus(&b);
}

/* What is under way is bounded. */
static void test_limits(void **state)
{
    static char large[MCP_BUS_VALUE_BYTES];
    size_t keeps = 0, fetches = 0;
    (void)state;
    connect_bus(&a);
    while (keep(&a, "t1", MCP_STR("x"), 60000) == MCP_OK)
        keeps++;
    assert_in_range(keeps, 16, 1000);
    assert_int_equal(keep(&a, "t1", MCP_STR("x"), 60000), MCP_ELIMIT);
    while (fetch(&a, "t1", fetches) == MCP_OK)
        fetches++;
    assert_in_range(fetches, 100, 10000);
    assert_int_equal(fetch(&a, "t1", 0), MCP_ELIMIT);
    WAIT_FOR(a.n_kept == keeps && a.n_fetched == fetches);
    assert_int_equal(a.number, fetches - 1);
    memset(large, 'x', sizeof(large));
    a.n_kept = keeps = 0;
    while (keep(&a, "t1", (mcp_str){large, sizeof(large)}, 60000) == MCP_OK)
        keeps++;
    assert_in_range(keeps, 1, 8);
    WAIT_FOR(a.n_kept == keeps);
    assert_int_equal(keep_now(&a, "t1", "again", 60000), MCP_OK);
    close_bus(&a);
}

/* Everything that was accepted has one outcome, when the connection is lost too. */
static void test_lost(void **state)
{
    (void)state;
    connect_bus(&a);
    kill(server_pid, SIGSTOP);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(keep(&a, "t1", MCP_STR("x"), 60000), MCP_OK);
        assert_int_equal(fetch(&a, "t1", i), MCP_OK);
    }
    kill(server_pid, SIGKILL);
    WAIT_FOR(a.state == MCP_BUS_DOWN);
    assert_int_equal(a.n_kept, 10);
    assert_int_equal(a.n_fetched, 10);
    assert_int_equal(a.kept, MCP_EREMOTE);
    assert_int_equal(a.fetched, MCP_EREMOTE);
    assert_int_equal(a.number, 9);
    assert_int_equal(keep(&a, "t1", MCP_STR("x"), 60000), MCP_ESTATE);
    assert_int_equal(fetch(&a, "t1", 1), MCP_ESTATE);
    kill_server();
    start_server("no");
    WAIT_FOR(a.state == MCP_BUS_CONNECTED);
    assert_int_equal(keep_now(&a, "t1", "back", 60000), MCP_OK);
    assert_int_equal(keep(&a, "t1", MCP_STR("x"), 60000), MCP_OK);
    assert_int_equal(fetch(&a, "t1", 1), MCP_OK);
    close_bus(&a); /* nothing is reported any more */
    assert_int_equal(a.n_kept, 11);
}

static void test_refused(void **state)
{
    (void)state;
    connect_bus(&a);
    ask("CONFIG SET maxmemory 1");
    assert_int_equal(keep_now(&a, "t1", "x", 60000), MCP_ELIMIT);
    ASSERT_HAS(a.refusal, "OOM");
    ask("CONFIG SET maxmemory 0");
    assert_int_equal(keep_now(&a, "t1", "x", 60000), MCP_OK);
    ask("ACL SETUSER old on >pw ~mcp:bus:test +ping +info +select +xadd +xread +xrange +xrevrange");
    assert_int_equal(open_on(&b, place, "old", "pw", mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(b.state == MCP_BUS_CONNECTED);
    assert_int_equal(keep_now(&b, "t1", "x", 60000), MCP_EREMOTE);
    ASSERT_HAS(b.refusal, "NOPERM");
    assert_int_equal(fetch_now(&b, "t1"), MCP_EREMOTE);
    publish(&b, "entries still travel");
    WAIT_FOR(a.n_received == 1);
    ask("ACL SETUSER new on >pw ~mcp:bus:test ~mcp:bus:test:* +ping +info +select +xadd +xread "
        "+xrange +xrevrange +get +set");
    close_bus(&b);
    assert_int_equal(open_on(&b, place, "new", "pw", mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(b.state == MCP_BUS_CONNECTED);
    assert_int_equal(keep_now(&b, "t1", "y", 60000), MCP_OK);
    assert_int_equal(fetch_now(&b, "t1"), MCP_OK);
    close_bus(&a);
    close_bus(&b);
}

/* ---- a random history -------------------------------------------------------------------------- */

enum { NAMES = 8, STEPS = 3000, ANSWERS = 4096 };

static uint64_t seed = 1;
static unsigned any(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

/* Values and questions in any mixture are answered in their order. */
static void test_history(void **state)
{
    static char expected[ANSWERS][16];
    char model[NAMES][16] = {{0}}, name[16], value[16];
    uint64_t sent = 0, seen = 0;
    (void)state;
    connect_bus(&a);
    ask("FLUSHALL");
    WAIT_FOR(a.state == MCP_BUS_CONNECTED && a.n_gaps < 1000);
    a.n_kept = a.n_fetched = 0;
    for (int i = 0; i < STEPS; i++) {
        unsigned which = any(NAMES);
        snprintf(name, sizeof(name), "n%u", which);
        snprintf(value, sizeof(value), "v%d", i);
        if (any(3) == 0 && keep(&a, name, mcp_str_from(value), 600000) == MCP_OK)
            memcpy(model[which], value, sizeof(value));
        if (fetch(&a, name, sent) == MCP_OK)
            memcpy(expected[sent++ % ANSWERS], model[which], sizeof(value));
        /* One step of the loop may bring several answers; the last one is compared. */
        mcp_loop_step(loop, any(4) ? 0 : 1);
        if (a.n_fetched > seen) {
            seen = a.n_fetched;
            assert_int_equal(a.number, seen - 1);
            const char *e = expected[a.number % ANSWERS];
            assert_int_equal(a.fetched, *e ? MCP_OK : MCP_ENOTFOUND);
            assert_string_equal(a.value, e);
        }
    }
    WAIT_FOR(a.n_fetched == sent);
    close_bus(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_limits),  cmocka_unit_test(test_lost),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_history),
    };
    if (system("command -v redis-server >/dev/null") != 0) {
        puts("skipped: redis-server is not installed (scripts/install-deps --tests)");
        return 77;
    }
    return cmocka_run_group_tests(tests, set_up_server, tear_down_server);
}
