/* Limits on the calls of a caller that two instances count together, with late messages and without the bus. */
#include "share_rig.h"

static mcp_channel *at_a, *at_b, *other;

/* Calls until a call is refused, and returns how many were accepted. */
static int calls(side *s, mcp_channel *peer)
{
    int n = 0;
    s->r.now = now_ms;
    for (;; n++) {
        rig_sent(&s->r);
        rig_call_tool(&s->r, peer, n, "t");
        if (!strstr(rig_sent(&s->r), "\"result\""))
            return n;
    }
}

static void open_limited(void)
{
    limit = 2; /* with a burst of 8 */
    open_two();
    pass(100000);
    assert_int_equal(rig_connect(&a.r, "somebody", NULL, &at_a), MCP_OK);
    assert_int_equal(rig_connect(&b.r, "somebody", NULL, &at_b), MCP_OK);
    assert_int_equal(rig_connect(&b.r, "another", NULL, &other), MCP_OK);
}

static void close_limited(void)
{
    mcp_channel_free(at_a);
    mcp_channel_free(at_b);
    mcp_channel_free(other);
    close_two();
}

static void test_limits(void **state)
{
    (void)state;
    open_limited();
    assert_int_equal(calls(&a, at_a), 8);
    pass(50);
    assert_int_equal(a.len, 0); /* it waits for more */
    pass(150);
    assert_null(strstr(a.entry, "somebody"));
    carry(&a, &b);
    assert_int_equal(calls(&b, at_b), 0);
    assert_int_equal(calls(&b, other), 8);
    pass(150);
    carry(&b, &a);
    pass(4000);
    assert_int_equal(calls(&b, at_b), 8);
    pass(150);
    carry(&b, &a);
    assert_int_equal(calls(&a, at_a), 0);

    /* at both at once: what was too much is subtracted */
    pass(10000);
    assert_int_equal(calls(&a, at_a), 8);
    assert_int_equal(calls(&b, at_b), 8);
    pass(150);
    carry(&a, &b);
    carry(&b, &a);
    pass(4000);
    assert_int_equal(calls(&a, at_a), 0);
    pass(4000);
    assert_int_equal(calls(&a, at_a), 8);
    close_limited();
}

/* What is heard late subtracts at most one burst, and nothing is counted for others while there is no bus. */
static void test_late(void **state)
{
    (void)state;
    open_limited();
    for (int i = 0; i < 10; i++) {
        assert_int_equal(calls(&a, at_a), 8);
        pass(4000);
    }
    carry(&a, &b);
    pass(150);
    carry(&a, &b); /* what was accepted in 36 seconds */
    assert_int_equal(calls(&b, at_b), 0);
    pass(8010);
    assert_int_equal(calls(&b, at_b), 8);
    a.events.state(MCP_BUS_DOWN, "gone", a.events.user);
    pass(60000);
    assert_int_equal(calls(&a, at_a), 8);
    connect_bus(&a);
    pass(1000);
    assert_int_equal(a.len, 0);
    assert_int_equal(calls(&b, at_b), 8);

    /* a change does not wait for counts */
    pass(10000);
    assert_int_equal(calls(&a, at_a), 8);
    mcp_server_resource_updated(a.r.server, "mem:x");
    pass(20);
    carry(&a, &b);
    assert_has(told(&b), UPDATED);
    close_limited();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
