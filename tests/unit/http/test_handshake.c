/* A connection whose transport begins with a handshake has a separate time-out for it. */
#include "rig.h"

static void accept_shaking(wire *w, rig *r)
{
    *w = (wire){.rig = r};
    assert_int_equal(mcp_http_accept(r->http,
                                     MCP_OPTIONS(mcp_http_connection_options, .write = wire_write,
                                                 .close = wire_close, .user = w, .handshake = true),
                                     r->now, &w->c, NULL),
                     MCP_OK);
}

static void test_too_long(void **state)
{
    (void)state;
    static const struct {
        uint64_t option;
        int64_t ms;
    } cases[] = {{0, 10000}, {300, 300}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        rig r;
        wire w;
        rig_begin(&r, &(mcp_http_options){.handshake_ms = cases[i].option});
        accept_shaking(&w, &r);
        rig_pass(&r, cases[i].ms - 1);
        assert_int_equal(w.closed, 0);
        rig_pass(&r, 2);
        assert_int_equal(w.closed, MCP_HTTP_ABORT + 1); /* nothing can be sent any more */
        assert_string_equal(wire_text(&w), "");
        wire_end(&w);
        rig_end(&r);
    }
}

/* After an explicit call or the first bytes, the connection counts as idle. */
static void test_through(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++) {
        rig r;
        wire w;
        rig_begin(&r, NULL);
        accept_shaking(&w, &r);
        rig_pass(&r, 9000);
        if (told)
            mcp_http_handshake_done(w.c, r.now);
        else
            wire_send(&w, "GET /healthz HTTP/1.1\nHost: localhost\n\n");
        rig_pass(&r, 74999);
        assert_int_equal(w.closed, 0);
        rig_pass(&r, 2);
        assert_int_equal(w.closed, MCP_HTTP_CLOSE + 1);
        wire_end(&w);
        rig_end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
