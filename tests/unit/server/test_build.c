/* Rebuilding the offered items: the items of the previous build are replaced at once, other items
 * stay, a build that fails changes nothing, and objects that a request still needs are not
 * released.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#include "support/failalloc.h"

#define MODERN                                                               \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

typedef struct world {
    failalloc memory;
    mcp_allocator allocator;
    mcp_server *server;
    mcp_channel *channel;
    char sent[1 << 16];
    size_t len;
    int64_t now;
    int round, released[9], watched[9], lists[9]; /* counts for the build of each round */
    mcp_request *kept;
    void (*timer)(void *arg);
    void *timer_arg;
} world;

/* A provider of one round. */
typedef struct space {
    world *w;
    int round;
} space;

/* ---- the host: one timer, which the test fires ----------------------------------------------- */

static mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *arg), void *arg, void *user)
{
    world *w = user;
    assert_int_equal(ms, 0);
    assert_null(w->timer);
    w->timer = fn;
    w->timer_arg = arg;
    return (mcp_host_timer *)w;
}

static void timer_stop(mcp_host_timer *timer, void *user)
{
    (void)timer;
    ((world *)user)->timer = NULL;
}

static void fire(world *w)
{
    assert_non_null(w->timer);
    w->timer(w->timer_arg);
    assert_null(w->timer);
}

/* ---- what is offered ------------------------------------------------------------------------- */

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    char uri[32];
    (void)cursor, (void)max;
    snprintf(uri, sizeof(uri), "mem:round%d", ((space *)user)->round);
    return mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = "n"));
}

static int read_mem(mcp_request *req, mcp_str uri, void *user)
{
    space *s = user;
    if (mcp_str_eq(uri, MCP_STR("mem:later"))) {
        s->w->kept = req;
        return MCP_PENDING;
    }
    return mcp_reply_textf(req, "of round %d", s->round);
}

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    snprintf(canonical, room, "%.*s", (int)uri.len, uri.ptr);
    return MCP_OK;
}

static int watch(const char *canonical, void *user)
{
    space *s = user;
    (void)canonical;
    s->w->watched[s->round]++;
    return MCP_OK;
}

static void unwatch(const char *canonical, void *user)
{
    space *s = user;
    (void)canonical;
    s->w->watched[s->round]--;
}

static int watch_list(void *user)
{
    space *s = user;
    s->w->lists[s->round]++;
    return MCP_OK;
}

static void unwatch_list(void *user)
{
    space *s = user;
    s->w->lists[s->round]--;
}

static void release(void *user)
{
    space *s = user;
    s->w->released[s->round]++;
}

static const mcp_provider provider = {.size = sizeof(mcp_provider),
                                      .name = "mem",
                                      .list = list,
                                      .read = read_mem,
                                      .resolve = resolve,
                                      .watch = watch,
                                      .unwatch = unwatch,
                                      .watch_list = watch_list,
                                      .unwatch_list = unwatch_list,
                                      .release = release};

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    return mcp_reply_textf(req, "tool of round %d", ((space *)user)->round);
}

/* Answers after its client has sent the roots. */
static int asks(mcp_request *req, const mcp_json *arguments, void *user)
{
    const mcp_json *roots;
    (void)arguments;
    int rc = mcp_request_roots(req, "roots", &roots);
    if (rc != MCP_OK)
        return rc;
    ((space *)user)->w->kept = req;
    return MCP_PENDING;
}

static space spaces[9];

static void close_tool(void *user)
{
    ((space *)user)->w->released[((space *)user)->round] += 10;
}

/* Builds a mount and a tool; round 7 fails at its end. */
static int build(mcp_server *server, void *user, mcp_error *error)
{
    world *w = user;
    space *s = &spaces[w->round];
    *s = (space){w, w->round};
    int rc = mcp_server_on_release(server, close_tool, s);
    if (rc != MCP_OK)
        return rc;
    rc = mcp_server_mount(server, "mem:", &provider, s, error);
    if (rc == MCP_OK)
        rc = mcp_server_add_tool(server, MCP_OPTIONS(mcp_tool, .name = "tool", .call = call), s,
                                 error);
    if (rc == MCP_OK)
        rc = mcp_server_add_tool(server, MCP_OPTIONS(mcp_tool, .name = "asks", .call = asks), s,
                                 error);
    if (rc == MCP_OK)
        rc = mcp_server_add_resource(
            server, MCP_OPTIONS(mcp_resource, .uri = "app:/a", .name = "a", .text = "t"), NULL,
            error);
    assert_int_equal(mcp_server_rebuild(server, build, user, NULL), MCP_ESTATE);
    return w->round == 7 && rc == MCP_OK ? MCP_EACCESS : rc;
}

static int run(world *w, int round)
{
    mcp_error error = {0};
    w->round = round;
    return mcp_server_rebuild(w->server, build, w, &error);
}

/* ---- the peer -------------------------------------------------------------------------------- */

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    world *w = user;
    (void)channel, (void)exchange;
    assert_true(w->len + message.len + 2 < sizeof(w->sent));
    w->len += (size_t)sprintf(w->sent + w->len, "%.*s\n", (int)message.len, message.ptr);
}

static void open_world(world *w, size_t fail_at)
{
    *w = (world){.now = 1};
    w->memory.fail_at = fail_at;
    w->allocator = failalloc_allocator(&w->memory);
    static mcp_host host;
    host = (mcp_host){
        .size = sizeof(host), .user = w, .timer_start = timer_start, .timer_stop = timer_stop};
    int rc =
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                   .coalesce_ms = 10, .host = &host, .allocator = &w->allocator),
                       &w->server, NULL);
    if (rc == MCP_OK)
        rc = mcp_server_add_tool(w->server, MCP_OPTIONS(mcp_tool, .name = "outside", .call = call),
                                 &spaces[8], NULL);
    if (rc == MCP_OK)
        rc = mcp_server_connect(w->server,
                                MCP_OPTIONS(mcp_channel_options, .send = on_send, .user = w),
                                &w->channel, NULL);
    assert_true(rc == MCP_OK || fail_at);
}

static void close_world(world *w)
{
    mcp_channel_free(w->channel);
    mcp_server_free(w->server);
    assert_int_equal(w->memory.live, 0);
}

static void say(world *w, const char *message)
{
    w->len = 0;
    w->sent[0] = 0;
    assert_int_equal(mcp_channel_receive(w->channel, 0, mcp_str_from(message), w->now), MCP_OK);
}

static const char *ask(world *w, int id, const char *method, const char *params)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{%s%s" MODERN "}}", id,
             method, params, *params ? "," : "");
    w->len = 0;
    w->sent[0] = 0;
    mcp_channel_receive(w->channel, 0, mcp_str_from(text), w->now);
    return w->sent;
}

#define assert_says(text, part)                  \
    do {                                         \
        if (!strstr(text, part))                 \
            fail_msg("no %s in %s", part, text); \
    } while (0)

/* ---- the tests ------------------------------------------------------------------------------- */

static void replaced_at_once(void **state)
{
    static world w;
    (void)state;
    open_world(&w, 0);
    assert_int_equal(mcp_server_rebuild(w.server, NULL, NULL, NULL), MCP_EINVAL);
    for (int round = 1; round <= 3; round++) {
        assert_int_equal(run(&w, round), MCP_OK);
        char expected[32];
        snprintf(expected, sizeof(expected), "\"mem:round%d\"", round);
        assert_says(ask(&w, 1, "resources/list", ""), expected);
        assert_null(strstr(strstr(w.sent, "app:/a") + 1, "app:/a"));
        snprintf(expected, sizeof(expected), "tool of round %d", round);
        assert_says(ask(&w, 2, "tools/call", "\"name\":\"tool\""), expected);
        assert_says(ask(&w, 3, "tools/list", ""), "\"outside\"");
        if (round > 1)
            fire(&w);
        assert_int_equal(w.released[round - 1], round > 1 ? 11 : 0);
        assert_int_equal(w.released[round], 0);
    }
    close_world(&w);
    assert_int_equal(w.released[3], 11);
}

static void failure_changes_nothing(void **state)
{
    static world w;
    (void)state;
    open_world(&w, 0);
    assert_int_equal(run(&w, 1), MCP_OK);
    ask(&w, 9, "subscriptions/listen",
        "\"notifications\":{\"resourcesListChanged\":true,\"toolsListChanged\":true}");
    w.len = 0;
    assert_int_equal(run(&w, 7), MCP_EACCESS);
    assert_int_equal(w.released[7], 11);
    assert_int_equal(w.released[1], 0);
    assert_int_equal(w.lists[1], 1);
    w.now += 1000;
    mcp_channel_tick(w.channel, w.now);
    w.now += 1000;
    mcp_channel_tick(w.channel, w.now);
    assert_int_equal(w.len, 0);
    assert_says(ask(&w, 1, "resources/read", "\"uri\":\"mem:x\""), "of round 1");
    close_world(&w);
}

/* One notification for each list, and the new provider watches for existing subscribers. */
static void told_once(void **state)
{
    static world w;
    (void)state;
    open_world(&w, 0);
    assert_int_equal(run(&w, 1), MCP_OK);
    ask(&w, 9, "subscriptions/listen",
        "\"notifications\":{\"resourcesListChanged\":true,\"toolsListChanged\":true,"
        "\"resourceSubscriptions\":[\"mem:x\"]}");
    assert_int_equal(w.watched[1], 1);
    assert_int_equal(w.lists[1], 1);
    w.len = 0;
    for (int round = 2; round <= 4; round++) {
        assert_int_equal(run(&w, round), MCP_OK);
        fire(&w);
    }
    assert_int_equal(w.watched[1] + w.watched[2] + w.watched[3], 0);
    assert_int_equal(w.lists[1] + w.lists[2] + w.lists[3], 0);
    assert_int_equal(w.watched[4], 1);
    assert_int_equal(w.lists[4], 1);
    for (int i = 0; i < 3; i++)
        mcp_channel_tick(w.channel, w.now += 1000);
    const char *first = strstr(w.sent, "resources/list_changed");
    assert_non_null(first);
    assert_null(strstr(first + 1, "resources/list_changed"));
    assert_says(w.sent, "tools/list_changed");
    w.len = 0;
    mcp_server_resource_updated(w.server, "mem:x");
    for (int i = 0; i < 3; i++)
        mcp_channel_tick(w.channel, w.now += 1000);
    assert_says(w.sent, "resources/updated");
    close_world(&w);
}

static void requests_keep_theirs(void **state)
{
    static world w;
    (void)state;
    open_world(&w, 0);
    assert_int_equal(run(&w, 1), MCP_OK);
    ask(&w, 5, "resources/read", "\"uri\":\"mem:later\"");
    assert_non_null(w.kept);
    assert_int_equal(run(&w, 2), MCP_OK);
    assert_null(w.timer);
    assert_int_equal(w.released[1], 0);
    assert_says(ask(&w, 6, "resources/read", "\"uri\":\"mem:x\""), "of round 2");
    w.len = 0;
    mcp_reply_text(w.kept, "late");
    mcp_reply_finish(w.kept, MCP_OK);
    assert_says(w.sent, "late");
    assert_int_equal(w.released[1], 0); /* not within its own call */
    fire(&w);
    assert_int_equal(w.released[1], 11);
    close_world(&w);
}

/* A tool that runs again after an input request is still the tool of the old build. */
static void reruns_keep_theirs(void **state)
{
    static world w;
    (void)state;
    open_world(&w, 0);
    assert_int_equal(run(&w, 1), MCP_OK);
    say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
            "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"roots\":{}},"
            "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\","
            "\"params\":{\"name\":\"asks\"}}");
    assert_says(w.sent, "roots/list");
    assert_int_equal(run(&w, 2), MCP_OK);
    assert_null(w.timer);
    say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[]}}");
    assert_non_null(w.kept);
    assert_null(w.timer);
    assert_int_equal(w.released[1], 0);
    mcp_reply_finish(w.kept, mcp_reply_text(w.kept, "late"));
    assert_says(w.sent, "late");
    fire(&w);
    assert_int_equal(w.released[1], 11);
    close_world(&w);
}

/* Objects that wait for the timer are released with the server. */
static void released_with_the_server(void **state)
{
    static world w;
    (void)state;
    open_world(&w, 0);
    assert_int_equal(run(&w, 1), MCP_OK);
    assert_int_equal(run(&w, 2), MCP_OK);
    close_world(&w);
    assert_int_equal(w.released[1], 11);
    assert_int_equal(w.released[2], 11);
    assert_null(w.timer);
}

/* When the host is removed, objects that wait for its timer are released by the next host's timer,
 * or with the server. */
static void host_goes(void **state)
{
    static world w;
    (void)state;
    open_world(&w, 0);
    assert_int_equal(run(&w, 1), MCP_OK);
    assert_int_equal(run(&w, 2), MCP_OK);
    assert_non_null(w.timer);
    const mcp_host host = *mcp_server_host(w.server);
    mcp_server_set_host(w.server, NULL);
    assert_null(w.timer);
    mcp_server_set_host(w.server, &host);
    fire(&w);
    assert_int_equal(w.released[1], 11);
    assert_int_equal(run(&w, 3), MCP_OK);
    mcp_server_set_host(w.server, NULL);
    assert_null(w.timer);
    w.timer = close_tool; /* the timer of a removed host must not be stopped */
    close_world(&w);
    assert_non_null(w.timer);
    assert_int_equal(w.released[2], 11);
    assert_int_equal(w.released[3], 11);
}

static void every_allocation(void **state)
{
    static world w;
    (void)state;
    for (size_t n = 1;; n++) {
        open_world(&w, n);
        if (w.channel && run(&w, 1) == MCP_OK) {
            int rc = run(&w, 2);
            assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
            size_t calls = w.memory.calls;
            w.memory.fail_at = 0;
            assert_says(ask(&w, 6, "resources/read", "\"uri\":\"mem:x\""),
                        rc == MCP_OK ? "of round 2" : "of round 1");
            w.memory.calls = calls;
        }
        bool all = w.memory.calls < n;
        close_world(&w);
        if (all)
            break;
    }
}

/* ---- the hook -------------------------------------------------------------------------------- */

static void change(mcp_resource *resource, void *user)
{
    (void)user;
    resource->title = "A title";
}

static void resources_are_changed(void **state)
{
    static world w;
    (void)state;
    open_world(&w, 0);
    mcp_server_set_resource_hook(w.server, change, NULL);
    assert_int_equal(run(&w, 1), MCP_OK);
    const char *first = strstr(ask(&w, 1, "resources/list", ""), "\"A title\"");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "\"A title\""));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaced_at_once),
        cmocka_unit_test(failure_changes_nothing),
        cmocka_unit_test(told_once),
        cmocka_unit_test(requests_keep_theirs),
        cmocka_unit_test(reruns_keep_theirs),
        cmocka_unit_test(released_with_the_server),
        cmocka_unit_test(host_goes),
        cmocka_unit_test(every_allocation),
        cmocka_unit_test(resources_are_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
