/* Sessions with another server that end because they are idle, or because the connection is lost. A
 * caller that listens for changes misses none of them. */
#include "wires.h"

static size_t watched;

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)req, (void)cursor, (void)max, (void)user;
    return MCP_OK;
}

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    snprintf(canonical, room, "%.*s", (int)uri.len, uri.ptr);
    return MCP_OK;
}

static int watch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    watched++;
    return MCP_OK;
}

static void unwatch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    watched--;
}

static void open_all(wires *w, const char *revision)
{
    static const mcp_provider provider = {.size = sizeof(provider),
                                          .name = "m",
                                          .list = list,
                                          .resolve = resolve,
                                          .watch = watch,
                                          .unwatch = unwatch};
    static char log[1 << 16];
    mcp_server *other;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                                .coalesce_ms = 1),
                                    &other, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_mount(other, "m:", &provider, NULL, NULL), MCP_OK);
    watched = 0;
    *w = (wires){.revision = revision, .log = log, .log_room = sizeof(log)};
    assert_int_equal(wires_open(w, other), MCP_OK);
}

static void close_all(wires *w)
{
    wires_close(w);
    mcp_server_free(w->other);
}

static void initialize(wires *w)
{
    wires_say(w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                 "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                 "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    wires_say(w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

/* Connects a peer that is notified of all changes to lists. */
static void greet(wires *w, const char *principal)
{
    assert_int_equal(wires_peer(w, w->front, principal), MCP_OK);
    initialize(w);
}

/* Lists the resources, and returns the notifications that the peer received. */
static const char *list_all(wires *w)
{
    w->log_len = 0;
    wires_has(wires_say(w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/list\"}"),
              "\"resources\":[");
    return w->log;
}

static void subscribe(wires *w, const char *uri)
{
    char message[256];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/subscribe\",\"params\":{\"uri\":"
             "\"%s\"}}",
             uri);
    wires_has(wires_say(w, message), "\"result\":{}");
}

/* Lets the timer of the provider fire after this time. */
static void wait_for(wires *w, int64_t ms)
{
    w->now += ms;
    w->log_len = 0;
    w->log[0] = 0;
    wires_timers(w, false);
    wires_run(w);
}

static void expect_all_lists(const char *log)
{
    wires_has(log, "notifications/resources/list_changed");
    wires_has(log, "notifications/prompts/list_changed");
    wires_has(log, "notifications/tools/list_changed");
}

static void expect_none(const char *log)
{
    if (strstr(log, "notifications/"))
        fail_msg("%s", log);
}

static const char *const revisions[] = {NULL, "2026-07-28", "2025-11-25", "2024-11-05"};
enum { REVISIONS = sizeof(revisions) / sizeof(revisions[0]) };

/* When a caller whose idle session was ended sends its next request, it is notified that lists may
 * have changed. */
static void test_idle(void **state)
{
    (void)state;
    static wires w;
    for (size_t r = 0; r < REVISIONS; r++) {
        open_all(&w, revisions[r]);
        greet(&w, "ann");
        expect_none(list_all(&w));
        wait_for(&w, 2000);
        assert_null(w.open);
        expect_none(w.log);
        mcp_server_list_changed(w.other, MCP_ITEM_TOOL); /* no session receives this */
        expect_all_lists(list_all(&w));
        expect_none(list_all(&w));
        assert_int_equal(w.connects, 2);
        close_all(&w);
    }
}

/* Other callers are not notified. After a time in which no list was watched, no caller is. */
static void test_idle_others(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, NULL);
    greet(&w, "ann");
    list_all(&w);
    wait_for(&w, 2000);
    greet(&w, "bob");
    expect_none(list_all(&w));
    greet(&w, NULL);
    expect_none(list_all(&w));
    wires_ask(&w, "resources/list", "");
    mcp_channel_free(w.peer);
    w.peer = NULL;
    greet(&w, "ann"); /* the record of ann was discarded when no peer watched lists any more */
    expect_none(list_all(&w));
    close_all(&w);
}

/* If too many principals have to be recorded, each one is notified. */
static void test_idle_many(void **state)
{
    (void)state;
    static wires w;
    mcp_channel *first;
    char name[32];
    open_all(&w, NULL);
    greet(&w, "ann");
    list_all(&w);
    first = w.peer; /* keeps watching lists */
    for (size_t i = 0; i < 1100; i++) {
        w.peer = NULL;
        snprintf(name, sizeof(name), "p%zu", i);
        greet(&w, name);
        list_all(&w);
        mcp_channel_free(w.peer);
        w.peer = NULL;
        wait_for(&w, 2000);
    }
    greet(&w, "new");
    expect_all_lists(list_all(&w));
    mcp_channel_free(first);
    close_all(&w);
}

static void expect_told(wires *w)
{
    expect_all_lists(w->log);
    wires_has(w->log, "\"uri\":\"mcp+up:m:/a\"");
    wires_has(w->log, "\"uri\":\"mcp+up:m:/b\"");
    assert_int_equal(watched, 2);
    w->log_len = 0;
    w->log[0] = 0;
    mcp_server_resource_updated(w->other, "m:/b");
    wires_run(w);
    wires_has(w->log, "\"uri\":\"mcp+up:m:/b\"");
    assert_null(strstr(w->log, "\"uri\":\"mcp+up:m:/a\""));
}

static void subscribe_both(wires *w, const char *revision)
{
    open_all(w, revision);
    greet(w, "ann");
    list_all(w);
    subscribe(w, "mcp+up:m:/a");
    subscribe(w, "mcp+up:m:/b");
    expect_none(w->log);
    assert_int_equal(watched, 2);
}

/* A lost connection is opened again as soon as possible, without waiting for a request. */
static void test_lost(void **state)
{
    (void)state;
    static wires w;
    for (size_t r = 0; r < REVISIONS; r++) {
        subscribe_both(&w, revisions[r]);
        wires_cut(w.open);
        assert_int_equal(watched, 0);
        w.down = true;
        wait_for(&w, 10);
        wait_for(&w, 10);
        expect_none(w.log);
        w.down = false;
        wait_for(&w, 10);
        expect_told(&w);
        wait_for(&w, 10);
        assert_non_null(w.open);
        assert_null(w.open->next);
        close_all(&w);
    }
}

/* The loss of the connection may be discovered by a request. */
static void test_lost_request(void **state)
{
    (void)state;
    static wires w;
    for (size_t r = 0; r < REVISIONS; r++) {
        subscribe_both(&w, revisions[r]);
        wires_cut(w.open);
        list_all(&w);
        expect_told(&w);
        wait_for(&w, 10);
        assert_null(w.open->next);
        expect_none(w.log);
        /* A resource is unsubscribed from in the session that watches it now. */
        wires_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/unsubscribe\","
                      "\"params\":{\"uri\":\"mcp+up:m:/a\"}}");
        assert_int_equal(watched, 1);
        close_all(&w);
    }
}

/* Updates the resource a of the other server. Returns how many peers are notified. */
static size_t count_told(wires *w)
{
    size_t told = 0;
    w->log_len = 0;
    w->log[0] = 0;
    mcp_server_resource_updated(w->other, "m:/a");
    wires_run(w);
    for (const char *at = w->log; (at = strstr(at, "resources/updated")) != NULL; at++)
        told++;
    return told;
}

/* Two tokens of a caller share a session, in which the resource is watched once. Each is notified as
 * long as it is subscribed, also after the connection was lost. */
static void test_two_tokens(void **state)
{
    enum { TOKENS = 2 };
    static wires w;
    mcp_identity *identities[TOKENS];
    (void)state;
    for (size_t r = 0; r < REVISIONS; r++) {
        open_all(&w, revisions[r]);
        for (size_t i = 0; i < TOKENS; i++) {
            assert_int_equal(mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = "ann"),
                                              &identities[i], NULL),
                             MCP_OK);
            assert_int_equal(mcp_server_connect(
                                 w.front,
                                 MCP_OPTIONS(mcp_channel_options, .send = wires_answer, .user = &w,
                                             .identity = identities[i], .shared_stream = true),
                                 &w.peers[i], NULL),
                             MCP_OK);
            w.peer = w.peers[i];
            initialize(&w);
            subscribe(&w, "mcp+up:m:/a");
        }
        assert_int_equal(w.connects, 1);
        assert_int_equal(watched, 1);
        assert_int_equal(count_told(&w), TOKENS);
        wires_cut(w.open);
        wait_for(&w, 10);
        assert_int_equal(watched, 1);
        assert_int_equal(count_told(&w), TOKENS);
        mcp_channel_free(w.peers[1]);
        w.peers[1] = NULL;
        w.peer = w.peers[0];
        w.peers[0] = NULL;
        wires_run(&w);
        assert_int_equal(watched, 1);
        assert_int_equal(count_told(&w), 1);
        close_all(&w);
        for (size_t i = 0; i < TOKENS; i++)
            mcp_identity_unref(identities[i]);
    }
}

/* Reads a resource as a caller who answers forms or not. */
static void read_one(wires *w, bool answers)
{
    char message[512];
    snprintf(
        message, sizeof(message),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":"
        "\"mcp+up:m:/a\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{%s}}}}",
        answers ? "\"elicitation\":{\"form\":{}}" : "\"extensions\":{}");
    wires_say(w, message);
}

/* A session that was opened before the first request is that of the requests. */
static void test_ahead(void **state)
{
    static const char *const can[] = {"elicitation.form", "no such capability", NULL};
    (void)state;
    static wires w;
    for (size_t r = 0; r < REVISIONS; r++) {
        open_all(&w, revisions[r]);
        mcp_upstream_begin(&w.group, "ann", can);
        mcp_upstream_begin(&w.group, "ann", can);
        assert_int_equal(w.connects, 1);
        wires_run(&w);
        wires_has(w.sent, mcp_client_is_modern(w.open->client) ? "server/discover"
                                                               : "notifications/initialized");
        mcp_upstream_begin(&w.group, "ann", can);
        greet(&w, "ann");
        list_all(&w);
        assert_int_equal(wires_peer(&w, w.front, "ann"), MCP_OK);
        read_one(&w, true);
        assert_int_equal(w.runs, 1);
        assert_int_equal(w.connects, 1);
        read_one(&w, false);
        assert_int_equal(w.connects, 2);
        mcp_upstream_begin(&w.group, NULL, can);
        assert_int_equal(w.connects, 3); /* that of another caller */
        wait_for(&w, 2000);
        assert_null(w.open);
        close_all(&w);
    }
}

/* Without memory there is a session later. */
static void test_ahead_starved(void **state)
{
    static const char *const can[] = {NULL};
    (void)state;
    static wires w;
    for (size_t at = 1;; at++) {
        open_all(&w, NULL);
        size_t before = w.memory.calls;
        w.memory.fail_at = before + at;
        mcp_upstream_begin(&w.group, NULL, can);
        bool all = w.memory.calls < before + at;
        w.memory.fail_at = 0;
        wires_run(&w);
        greet(&w, NULL);
        list_all(&w);
        close_all(&w);
        if (all)
            break;
    }
}

/* A server that cannot be reached at first is tried again by the first request. */
static void test_ahead_down(void **state)
{
    static const char *const can[] = {NULL};
    (void)state;
    static wires w;
    open_all(&w, NULL);
    w.down = true;
    mcp_upstream_begin(&w.group, "ann", can);
    wires_run(&w);
    assert_int_equal(w.connects, 1);
    assert_null(w.open);
    w.down = false;
    mcp_upstream_begin(&w.group, "ann", can);
    wires_cut(w.open); /* before it has answered */
    wires_run(&w);
    greet(&w, "ann");
    list_all(&w);
    read_one(&w, false);
    assert_int_equal(w.runs, 1);
    close_all(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle),         cmocka_unit_test(test_idle_others),
        cmocka_unit_test(test_idle_many),    cmocka_unit_test(test_lost),
        cmocka_unit_test(test_lost_request), cmocka_unit_test(test_two_tokens),
        cmocka_unit_test(test_ahead),        cmocka_unit_test(test_ahead_starved),
        cmocka_unit_test(test_ahead_down),
    };
    return cmocka_run_group_tests_name("upstream: sessions", tests, NULL, NULL);
}
