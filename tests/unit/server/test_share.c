/* Two instances on a bus that the test plays: what travels, what does not, what waits while the bus is
 * down, what is ignored; with every allocation failing.
 */
#include "server/share/bus_entry.h"
#include "share_rig.h"

#include <mcp/sys/forward.h>

static side c;
static const char key2[] = "another key of 32 bytes, at least";

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_change(void **state)
{
    (void)state;
    open_two();
    for (int i = 0; i < 1000; i++)
        mcp_server_resource_updated(a.r.server, "mem:x");
    assert_int_equal(usage(&a).waiting, 1);
    assert_int_equal(usage(&a).pending, 0);
    pass(100);
    assert_null(strstr(a.entry, "mem:x"));
    assert_int_equal(usage(&a).waiting, 0);
    assert_int_equal(usage(&a).pending, 1);
    carry(&a, &b);
    assert_int_equal(usage(&a).pending, 0);
    assert_has(told(&b), UPDATED);
    assert_null(strstr(told(&b), UPDATED));
    assert_int_equal(b.len, 0); /* what was received is not sent on */
    assert_int_equal(usage(&b).received, 1);
    assert_int_equal(usage(&a).received, 0);
    assert_int_equal(usage(&a).sent, 1);

    mcp_server_list_changed(a.r.server, MCP_ITEM_TOOL);
    pass(100);
    carry(&a, &b);
    const char *text = told(&b);
    assert_has(text, TOOLS);
    assert_null(strstr(text, LIST));
    mcp_server_list_changed_for(a.r.server, MCP_ITEM_TOOL, "somebody");
    mcp_server_resources_changed_by(a.r.server, "mem:new");
    pass(100);
    carry(&a, &b);
    text = told(&b);
    assert_null(strstr(text, TOOLS));
    assert_has(text, LIST);
    mcp_server_list_changed_for(a.r.server, MCP_ITEM_TOOL, NULL);
    pass(100);
    carry(&a, &b);
    assert_has(told(&b), TOOLS);
    pass(10000);
    assert_int_equal(a.len + b.len, 0);
    close_two();
}

static void test_down(void **state)
{
    (void)state;
    open_two();
    a.events.state(MCP_BUS_DOWN, "refused", a.events.user);
    assert_string_equal(usage(&a).why, "refused");
    for (int i = 0; i < 5000; i++) {
        char uri[20];
        snprintf(uri, sizeof(uri), "mem:%d", i % 10);
        mcp_server_resource_updated(a.r.server, uri);
    }
    pass(60000);
    assert_int_equal(a.len, 0);
    assert_int_equal(usage(&a).waiting, 10);
    connect_bus(&a);
    pass(100);
    carry(&a, &b);
    assert_int_equal(usage(&a).waiting, 0);

    /* too many: one mark for all */
    a.events.state(MCP_BUS_DOWN, "refused", a.events.user);
    for (int i = 0; i < 5000; i++) {
        char uri[20];
        snprintf(uri, sizeof(uri), "mem:%d", i);
        mcp_server_resource_updated(a.r.server, uri);
    }
    assert_true(usage(&a).waiting <= 1);
    assert_int_equal(usage(&a).overflows, 1);
    connect_bus(&a);
    pass(100);
    carry(&a, &b);
    const char *text = told(&b);
    assert_has(text, UPDATED);
    assert_has(text, TOOLS);
    assert_has(text, LIST);
    assert_int_equal(b.n_gaps, 1);
    close_two();
}

/* The first change after a pause is sent at once, with all of its turn; the next ones after the interval. */
static void test_interval(void **state)
{
    (void)state;
    open_two();
    pass(1000);
    mcp_server_resource_updated(a.r.server, "mem:x");
    mcp_server_resource_updated(a.r.server, "mem:y");
    pass(10);
    carry(&a, &b);
    assert_has(told(&b), UPDATED);
    for (int i = 0; i < 20; i++)
        mcp_server_resource_updated(a.r.server, "mem:x");
    pass(30);
    assert_int_equal(a.len, 0);
    pass(30);
    carry(&a, &b);
    assert_has(told(&b), UPDATED);
    pass(1000);
    assert_int_equal(a.len, 0);
    assert_int_equal(usage(&a).sent, 2);
    close_two();
}

/* An entry that may not have been stored is sent again, and counts once. */
static void test_again(void **state)
{
    (void)state;
    open_two();
    mcp_server_resource_updated(a.r.server, "mem:x");
    pass(100);
    b.events.received((mcp_str){a.entry, a.len}, b.events.user);
    assert_has(told(&b), UPDATED);
    a.len = 0;
    a.events.published(MCP_EIO, "it is full", a.events.user);
    assert_true(usage(&a).why[0]);
    mcp_server_resource_updated(a.r.server, "mem:y");
    pass(200);
    assert_int_equal(a.len, 0); /* after a pause */
    pass(200);
    carry(&a, &b);
    assert_null(strstr(told(&b), UPDATED));
    assert_int_equal(usage(&b).replayed, 1);
    assert_string_equal(usage(&a).why, "");
    pass(100);
    carry(&a, &b);
    assert_int_equal(usage(&b).received, 2);
    assert_int_equal(usage(&b).gaps, 0);
    close_two();
}

static void test_replay_and_loss(void **state)
{
    (void)state;
    open_two();
    mcp_server_resource_updated(a.r.server, "mem:x");
    pass(100);
    mcp_str entry = carry(&a, &b);
    assert_has(told(&b), UPDATED);
    b.events.received(entry, b.events.user);
    assert_null(strstr(told(&b), UPDATED));
    assert_int_equal(usage(&b).replayed, 1);

    /* one is lost: the next says so */
    mcp_server_resource_updated(a.r.server, "mem:y");
    pass(100);
    carry(&a, NULL);
    mcp_server_resource_updated(a.r.server, "mem:z");
    pass(100);
    carry(&a, &b);
    const char *text = told(&b);
    assert_has(text, UPDATED);
    assert_has(text, TOOLS);
    assert_int_equal(b.n_gaps, 1);

    /* an old entry of an instance that is not known: no message, but all may have changed */
    assert_int_equal(begin(&c, key1, "notes", 0), MCP_OK);
    connect_bus(&c);
    assert_int_equal(mcp_server_share_send(c.r.server, MCP_STR("end"), MCP_STR("s")), MCP_OK);
    pass(100);
    wall_ms += 11 * 60 * 1000;
    carry(&c, &b);
    assert_int_equal(b.n_messages, 0);
    assert_int_equal(b.n_gaps, 2);
    close_one(&c);

    /* the bus says so, or was away for long */
    b.events.gap(b.events.user);
    assert_has(told(&b), TOOLS);
    b.events.state(MCP_BUS_DOWN, "", b.events.user);
    now_ms += 6 * 60 * 1000;
    connect_bus(&b);
    assert_has(told(&b), TOOLS);
    assert_int_equal(b.n_gaps, 4);
    b.events.state(MCP_BUS_DOWN, "", b.events.user);
    connect_bus(&b);
    assert_null(strstr(told(&b), TOOLS));
    close_two();
}

static void test_others(void **state)
{
    (void)state;
    open_two();
    const char *const keys[] = {key2, key1}, *const names[] = {"notes", "other notes"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(begin(&c, keys[i], names[i], 0), MCP_OK);
        connect_bus(&c);
        mcp_server_resource_updated(c.r.server, "mem:x");
        pass(100);
        carry(&c, &b);
        close_one(&c);
    }
    mcp_server_resource_updated(a.r.server, "mem:x");
    pass(100);
    for (size_t i = 0; i < a.len; i++) { /* forged: one byte is changed */
        a.entry[i] ^= 4;
        b.events.received((mcp_str){a.entry, a.len}, b.events.user);
        a.entry[i] ^= 4;
        b.events.received((mcp_str){a.entry, i}, b.events.user);
    }
    assert_int_equal(usage(&b).ignored, 2 + 2 * a.len);
    assert_int_equal(usage(&b).received + usage(&b).gaps, 0);
    assert_null(strstr(told(&b), UPDATED));
    carry(&a, &b);
    assert_has(told(&b), UPDATED);
    close_two();
}

static void test_messages(void **state)
{
    static char large[MCP_SHARE_MESSAGE_BYTES];
    (void)state;
    open_two();
    assert_int_equal(mcp_server_share_send(a.r.server, MCP_STR("revoked"), MCP_STR("k1")), MCP_OK);
    assert_int_equal(mcp_server_share_send(a.r.server, MCP_STR("revoked"), MCP_STR("k1")), MCP_OK);
    pass(100);
    carry(&a, &b);
    assert_int_equal(b.n_messages, 1);
    assert_string_equal(b.message, "revoked=k1");
    assert_int_equal(mcp_server_share_send(a.r.server, MCP_STR(""), MCP_STR("k1")), MCP_EINVAL);
    assert_int_equal(
        mcp_server_share_send(a.r.server, MCP_STR("t"), (mcp_str){large, sizeof(large)}),
        MCP_EINVAL);
    for (size_t i = 0; i < 9; i++) {
        large[0] = (char)('0' + i);
        assert_int_equal(
            mcp_server_share_send(a.r.server, MCP_STR("t"), (mcp_str){large, sizeof(large) - 1}),
            MCP_OK);
    }
    for (size_t i = 0; i < 5; i++) { /* two in each entry */
        pass(100);
        carry(&a, &b);
    }
    assert_int_equal(b.n_messages, 10);
    assert_int_equal(usage(&b).gaps, 0);
    close_two();
}

static void test_refused(void **state)
{
    (void)state;
    mcp_share_usage u = {.size = sizeof(u)};
    open_two();
    assert_int_equal(share_as(&a, "notes", 0), MCP_ESTATE);
    assert_true(a.closed);
    assert_int_equal(mcp_server_share(a.r.server, NULL, NULL), MCP_EINVAL);
    mcp_server_set_host(b.r.server, &host); /* ends the sharing */
    assert_false(mcp_server_get_share(b.r.server, &u));
    assert_int_equal(mcp_server_share_send(b.r.server, MCP_STR("t"), MCP_STR("")), MCP_ESTATE);
    assert_int_equal(share_as(&b, NULL, 0), MCP_EINVAL);
    assert_int_equal(share_as(&b, "", 0), MCP_EINVAL);
    close_two();
}

/* Without memory, a mark becomes "everything": nothing is forgotten. */
static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        now_ms = 1000;
        memset(timers, 0, sizeof(timers));
        memset(&a, 0, sizeof(a));
        assert_int_equal(begin(&b, key1, "notes", 0), MCP_OK);
        subscribe(&b);
        connect_bus(&b);
        told(&b);
        assert_int_equal(begin(&a, key1, "notes", 0), MCP_OK);
        size_t before = a.r.memory.calls;
        connect_bus(&a);
        a.r.memory.fail_at = before + n;
        b.r.memory.fail_at = b.r.memory.calls + n;
        mcp_server_resource_updated(a.r.server, "mem:x");
        mcp_server_list_changed(a.r.server, MCP_ITEM_TOOL);
        pass(5000);
        bool done = a.r.memory.calls < a.r.memory.fail_at && b.r.memory.calls < b.r.memory.fail_at;
        carry(&a, &b);
        done = done && b.r.memory.calls < b.r.memory.fail_at;
        b.r.memory.fail_at = 0;
        const char *text = told(&b);
        assert_has(text, UPDATED);
        assert_has(text, TOOLS);
        close_two();
        if (done)
            break;
    }
    for (size_t n = 1;; n++) { /* the start */
        memset(&a, 0, sizeof(a));
        a.r.memory.fail_at = n;
        a.r.allocator = failalloc_allocator(&a.r.memory);
        failalloc memory = {.fail_at = n};
        mcp_allocator allocator = failalloc_allocator(&memory);
        mcp_server *server = NULL;
        a.opened = a.closed = false;
        int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "n", .version = "1",
                                            .host = &host, .allocator = &allocator),
                                &server, NULL);
        if (rc == MCP_OK)
            rc = mcp_server_set_seal(
                server, MCP_OPTIONS(mcp_seal_options, .key = key1, .key_len = 32), NULL);
        if (rc == MCP_OK) {
            a.r.server = server;
            rc = share_as(&a, "notes", 0);
            assert_int_equal(rc == MCP_OK, !a.closed);
        }
        mcp_server_free(server);
        assert_int_equal(memory.live, 0);
        if (rc == MCP_OK)
            break;
        assert_int_equal(rc, MCP_ENOMEM);
    }
}

static void test_format(void **state)
{
    (void)state;
    mcp__buf text;
    mcp__entry_head head = {.instance = {'i'}, .number = UINT64_MAX, .time = -5}, got;
    mcp_str items;
    mcp__entry_item item;
    mcp__buf_init(&text, &mcp__default_allocator, 0);
    mcp__entry_put_head(&text, &head);
    mcp__entry_put_item(&text, 'u', MCP_STR("mem:x"));
    mcp__entry_put_item(&text, '?', MCP_STR(""));
    for (size_t len = 0; len < text.len; len++) {
        bool whole = len == MCP__ENTRY_HEAD || len == MCP__ENTRY_HEAD + MCP__ENTRY_ITEM + 5;
        assert_int_equal(mcp__entry_open((mcp_str){text.ptr, len}, &got, &items),
                         whole ? MCP_OK : MCP_EPARSE);
    }
    assert_int_equal(mcp__entry_open(mcp__buf_view(&text), &got, &items), MCP_OK);
    assert_true(got.number == UINT64_MAX && got.time == -5 && got.instance[0] == 'i');
    assert_true(mcp__entry_next(&items, &item));
    assert_int_equal(item.kind, 'u');
    assert_true(mcp_str_eq(item.text, MCP_STR("mem:x")));
    assert_true(mcp__entry_next(&items, &item));
    assert_int_equal(item.text.len, 0);
    assert_false(mcp__entry_next(&items, &item));
    text.ptr[0] = 2;
    assert_int_equal(mcp__entry_open(mcp__buf_view(&text), &got, &items), MCP_EPARSE);
    mcp__buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_change),          cmocka_unit_test(test_down),
        cmocka_unit_test(test_interval),        cmocka_unit_test(test_again),
        cmocka_unit_test(test_replay_and_loss), cmocka_unit_test(test_others),
        cmocka_unit_test(test_messages),        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_memory),       cmocka_unit_test(test_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
