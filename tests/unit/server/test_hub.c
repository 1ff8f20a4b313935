/* The hub: when notifications are due, which URIs are watched and for how long, and who is
 * notified; with every allocation failing.
 *
 * The transcripts test the contents and form of notifications; this file tests deadlines and
 * counts.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#include "support/failalloc.h"
#include "support/fixture.h"

typedef struct peer {
    mcp_channel *channel;
    size_t n_sent, n_updated, n_lists, n_woken;
} peer;

typedef struct world {
    failalloc memory;
    mcp_allocator allocator;
    fixture *fixture;
    mcp_server *server;
    peer peers[3];
} world;

static bool contains(mcp_str message, const char *part)
{
    size_t len = strlen(part);
    for (size_t i = 0; i + len <= message.len; i++) {
        if (memcmp(message.ptr + i, part, len) == 0)
            return true;
    }
    return false;
}

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)channel, (void)exchange;
    p->n_sent++;
    p->n_updated += contains(message, "notifications/resources/updated");
    p->n_lists += contains(message, "list_changed\"");
}

static void on_wake(mcp_channel *channel, void *user)
{
    (void)channel;
    ((peer *)user)->n_woken++;
}

static int open_world(world *w, uint64_t coalesce_ms)
{
    w->allocator = failalloc_allocator(&w->memory);
    const fixture_options options = {.allocator = &w->allocator, .coalesce_ms = coalesce_ms};
    int rc = fixture_new(&options, &w->fixture, NULL);
    w->server = rc == MCP_OK ? fixture_server(w->fixture) : NULL;
    return rc;
}

static int connect_peer(world *w, peer *p)
{
    const mcp_channel_options options = {.size = sizeof(options),
                                         .send = on_send,
                                         .wake = on_wake,
                                         .user = p,
                                         .shared_stream = true};
    return mcp_server_connect(w->server, &options, &p->channel, NULL);
}

static void close_world(world *w)
{
    for (size_t i = 0; i < 3; i++)
        mcp_channel_free(w->peers[i].channel);
    if (w->fixture) {
        assert_int_equal(fixture_watched(w->fixture), 0);
        assert_int_equal(fixture_list_watched(w->fixture), 0);
    }
    fixture_free(w->fixture);
    assert_int_equal(w->memory.live, 0);
}

static int listen(peer *p, int id, const char *filter, int64_t now)
{
    char message[512];
    int len =
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"subscriptions/listen\",\"params\":{"
                 "\"notifications\":{%s},\"_meta\":{"
                 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                 id, filter);
    return mcp_channel_receive(p->channel, 0, (mcp_str){message, (size_t)len}, now);
}

static void test_deadlines(void **state)
{
    (void)state;
    world w = {0};
    assert_int_equal(open_world(&w, 250), MCP_OK);
    peer *p = &w.peers[0];
    assert_int_equal(connect_peer(&w, p), MCP_OK);
    assert_true(mcp_channel_deadline(p->channel) == INT64_MAX);
    listen(p, 1, "\"resourceSubscriptions\":[\"mem:a\"]", 1000);
    assert_true(mcp_channel_deadline(p->channel) == INT64_MAX);

    /* a change that the peer did not subscribe to */
    mcp_server_resource_updated(w.server, "mem:b");
    mcp_server_resources_changed(w.server);
    assert_int_equal(p->n_woken, 0);
    assert_true(mcp_channel_deadline(p->channel) == INT64_MAX);

    /* the first change wakes the channel; the interval starts with the next tick */
    mcp_server_resource_updated(w.server, "mem:a");
    mcp_server_resource_updated(w.server, "mem:a");
    assert_int_equal(p->n_woken, 1);
    assert_true(mcp_channel_deadline(p->channel) <= 1000);
    mcp_channel_tick(p->channel, 1010);
    assert_int_equal(mcp_channel_deadline(p->channel), 1260);
    mcp_server_resource_updated(w.server, "mem:a");
    mcp_channel_tick(p->channel, 1259);
    assert_int_equal(mcp_channel_deadline(p->channel), 1260);
    assert_int_equal(p->n_updated, 0);
    mcp_channel_tick(p->channel, 1260);
    assert_int_equal(p->n_updated, 1);
    assert_true(mcp_channel_deadline(p->channel) == INT64_MAX);

    /* a late tick works too */
    mcp_server_resource_updated(w.server, "mem:a");
    mcp_channel_tick(p->channel, 2000);
    mcp_channel_tick(p->channel, 99999);
    assert_int_equal(p->n_updated, 2);
    mcp_channel_tick(p->channel, INT64_MAX / 2);
    assert_int_equal(p->n_updated, 2);
    close_world(&w);
}

static void test_congestion(void **state)
{
    (void)state;
    world w = {0};
    assert_int_equal(open_world(&w, 100), MCP_OK);
    peer *p = &w.peers[0];
    assert_int_equal(connect_peer(&w, p), MCP_OK);
    listen(p, 1, "\"resourceSubscriptions\":[\"mem:a\",\"mem:b\"],\"resourcesListChanged\":true",
           1000);
    mcp_channel_set_writable(p->channel, false, 1000);
    size_t live = w.memory.live;
    for (int i = 0; i < 1000; i++) {
        mcp_server_resource_updated(w.server, i % 2 ? "mem:a" : "mem:b");
        mcp_server_resources_changed(w.server);
        mcp_channel_tick(p->channel, 1000 + i);
    }
    assert_int_equal(w.memory.live, live); /* repeated changes allocate nothing */
    assert_int_equal(p->n_updated + p->n_lists, 0);
    assert_true(mcp_channel_deadline(p->channel) == INT64_MAX);
    mcp_channel_set_writable(p->channel, true, 5000);
    mcp_channel_tick(p->channel, 5100);
    assert_int_equal(p->n_updated, 2);
    assert_int_equal(p->n_lists, 1);
    close_world(&w);
}

/* Watching begins with the first subscriber of all channels and ends with the last. */
static void test_watching(void **state)
{
    (void)state;
    world w = {0};
    assert_int_equal(open_world(&w, 0), MCP_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(connect_peer(&w, &w.peers[i]), MCP_OK);
    listen(&w.peers[0], 1, "\"resourceSubscriptions\":[\"mem:a\"],\"resourcesListChanged\":true",
           1);
    listen(&w.peers[1], 1, "\"resourceSubscriptions\":[\"mem:A\",\"MEM:a\"]", 1);
    listen(&w.peers[1], 2, "\"resourceSubscriptions\":[\"mem:b\"],\"resourcesListChanged\":true",
           1);
    assert_int_equal(fixture_watched(w.fixture), 2);
    assert_int_equal(fixture_list_watched(w.fixture), 1);
    mcp_channel_free(w.peers[0].channel);
    w.peers[0].channel = NULL;
    assert_int_equal(fixture_watched(w.fixture), 2);
    assert_int_equal(fixture_list_watched(w.fixture), 1);

    mcp_server_resource_updated(w.server, "mem:a");
    for (size_t i = 1; i < 3; i++) {
        mcp_channel_tick(w.peers[i].channel, 10);
        mcp_channel_tick(w.peers[i].channel, 1000);
    }
    assert_int_equal(w.peers[1].n_updated, 2);
    assert_int_equal(w.peers[2].n_sent, 0);

    mcp_channel_close(w.peers[1].channel, 2000);
    assert_int_equal(fixture_watched(w.fixture), 0);
    assert_int_equal(fixture_list_watched(w.fixture), 0);
    close_world(&w);
}

/* A rejected subscription changes nothing, so there are no notifications. */
static void test_nothing_changed(void **state)
{
    (void)state;
    world w = {0};
    assert_int_equal(open_world(&w, 0), MCP_OK);
    peer *p = &w.peers[0];
    assert_int_equal(connect_peer(&w, p), MCP_OK);
    listen(p, 1,
           "\"resourcesListChanged\":true,\"toolsListChanged\":true,\"promptsListChanged\":true",
           1);
    size_t before = p->n_sent;
    assert_int_equal(fixture_add_resource(w.fixture, "fixed:/text"), MCP_EEXIST);
    assert_int_equal(fixture_add_template(w.fixture, "fixed:/plain/{x}"), MCP_EEXIST);
    assert_int_equal(fixture_add_template(w.fixture, "{a}{b}"), MCP_EUNSUPPORTED);
    assert_int_equal(fixture_add_tool(w.fixture, "echo"), MCP_EEXIST);
    assert_int_equal(fixture_add_prompt(w.fixture, "plain"), MCP_EEXIST);
    assert_int_equal(mcp_server_remove_resource(w.server, "fixed:/none"), MCP_ENOTFOUND);
    assert_int_equal(mcp_server_remove_template(w.server, "fixed:/none"), MCP_ENOTFOUND);
    assert_int_equal(mcp_server_remove_tool(w.server, "none"), MCP_ENOTFOUND);
    assert_int_equal(mcp_server_remove_prompt(w.server, "none"), MCP_ENOTFOUND);
    for (int64_t now = 2; now < 2000; now += 500)
        mcp_channel_tick(p->channel, now);
    assert_int_equal(p->n_sent, before);
    assert_int_equal(p->n_woken, 0);
    close_world(&w);
}

/* A subscriber that unsubscribes between the change and its notification. */
static void test_gone_before_the_notice(void **state)
{
    (void)state;
    world w = {0};
    assert_int_equal(open_world(&w, 0), MCP_OK);
    peer *p = &w.peers[0];
    assert_int_equal(connect_peer(&w, p), MCP_OK);
    listen(p, 1, "\"resourceSubscriptions\":[\"mem:a\",\"mem:b\",\"mem:c\"]", 1);
    mcp_server_resource_updated(w.server, "mem:a");
    mcp_server_resource_updated(w.server, "mem:c");
    mcp_channel_tick(p->channel, 1);
    mcp_channel_receive(p->channel, 0,
                        MCP_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                "\"params\":{\"requestId\":1}}"),
                        2);
    mcp_channel_tick(p->channel, 1000);
    assert_int_equal(p->n_updated, 0);
    assert_true(mcp_channel_deadline(p->channel) == INT64_MAX);
    close_world(&w);
}

static void test_no_memory(void **state)
{
    (void)state;
    size_t setup;
    {
        world w = {0};
        assert_int_equal(open_world(&w, 0), MCP_OK);
        setup = w.memory.calls;
        close_world(&w);
    }
    for (size_t n = setup + 1;; n++) {
        world w = {.memory = {.fail_at = n}};
        assert_int_equal(open_world(&w, 0), MCP_OK);
        for (size_t i = 0; i < 2; i++) {
            peer *p = &w.peers[i];
            if (connect_peer(&w, p) != MCP_OK)
                continue;
            listen(
                p, 1,
                "\"resourceSubscriptions\":[\"mem:a\",\"fixed:/text\"],\"toolsListChanged\":true",
                1);
            listen(p, 2, "\"resourceSubscriptions\":[\"mem:b\"],\"resourcesListChanged\":true", 1);
        }
        for (int64_t now = 10; now < 1000; now += 200) {
            mcp_server_resource_updated(w.server, "mem:a");
            mcp_server_resource_updated(w.server, "fixed:/text");
            fixture_add_tool(w.fixture, "more");
            mcp_server_remove_tool(w.server, "more");
            for (size_t i = 0; i < 2 && w.peers[i].channel; i++) {
                mcp_channel_tick(w.peers[i].channel, now);
                mcp_channel_tick(w.peers[i].channel, now + 100);
            }
        }
        for (size_t i = 0; i < 2; i++) {
            if (w.peers[i].channel)
                mcp_channel_close(w.peers[i].channel, 2000);
        }
        bool reached = w.memory.calls >= n;
        close_world(&w);
        if (!reached)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deadlines),       cmocka_unit_test(test_congestion),
        cmocka_unit_test(test_watching),        cmocka_unit_test(test_gone_before_the_notice),
        cmocka_unit_test(test_nothing_changed), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
