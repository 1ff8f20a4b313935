/* A server that is mounted again: its sessions, and the calls that wait for their callers, go on. */
#include "asking.h"
#include "session.h"

static char log_room[1 << 16];

#define CALL(q) "\"name\":\"up_ask\",\"arguments\":{\"q\":\"" q "\"}"
#define OVER    "has ended; send the request without it"

static const char *const between[] = {"2025-06-18", "2025-11-25", "2026-07-28"};
enum { BETWEEN = 3, MODERN = 2 };

static void open_all(wires *w, const char *revision)
{
    *w = (wires){
        .revision = revision, .log = log_room, .log_room = sizeof(log_room), .rebuilt = true};
    asking_n_held = asking_cancelled = 0;
    assert_int_equal(wires_open(w, asking_server(0)), MCP_OK);
    asking_connect(w, "2026-07-28", "ann", "");
}

static void close_all(wires *w)
{
    wires_close(w);
    mcp_server_free(w->other);
    assert_null(w->group.first);
}

/* Returns the number of mounts that are not released yet. */
static size_t mounts(const wires *w)
{
    size_t n = 0;
    for (const upstream *up = w->group.first; up; up = up->next)
        n++;
    return n;
}

static void reload(wires *w)
{
    assert_int_equal(mcp_server_rebuild(w->front, wires_mount, w, NULL), MCP_OK);
    wires_run(w);
}

static const char *call(wires *w, const char *params)
{
    return asking_say(w, "tools/call", params, ASKING_CAPABILITIES);
}

static const char *proceed(wires *w, const char *params, const asking_round *round)
{
    return asking_continue(w, "tools/call", params, round, asking_accept);
}

/* Calls that wait when the server is mounted again, once and several times. */
static void test_parked(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    static const char params[] = CALL("form;roots;form2");
    for (size_t i = 0; i < BETWEEN; i++) {
        open_all(&w, between[i]);
        const char *reply = call(&w, params);
        for (size_t n = 1; asking_read_modern(reply, &round); n++) {
            for (size_t k = 0; k < n; k++)
                reload(&w);
            assert_int_equal(mounts(&w), 1);
            reply = proceed(&w, params, &round);
        }
        wires_has(reply, "said form=accept:Ada roots=file:///afile:///b form2=accept:Ada.");
        assert_int_equal(w.runs, i == MODERN ? 4 : 1);
        assert_int_equal(w.connects, 1);
        close_all(&w);
    }
}

/* Requests in flight end at the old mount, while the new one uses its session already. */
static void test_in_flight(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    for (size_t i = 0; i < BETWEEN; i++) {
        open_all(&w, between[i]);
        assert_true(asking_read_modern(call(&w, CALL("form;hold")), &round));
        assert_string_equal(call(&w, CALL("hold")), "");
        reload(&w);
        assert_int_equal(mounts(&w), 2);
        wires_has(call(&w, CALL("")), "said.");
        reload(&w);
        assert_string_equal(proceed(&w, CALL("form;hold"), &round), "");
        reload(&w);
        assert_int_equal(asking_n_held, 2);
        asking_release();
        wires_run(&w);
        wires_has(w.log, "released");
        reload(&w);
        assert_int_equal(mounts(&w), 1);
        wires_has(call(&w, CALL("")), "said.");
        assert_int_equal(w.connects, 1);
        close_all(&w);
    }
}

/* Resources that are watched: the new mount watches the same ones, and no others stay. */
static void test_watched(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, "2025-11-25");
    asking_connect(&w, "2025-11-25", "ann", "{}");
    wires_has(asking_say_legacy(&w, "resources/subscribe", "\"uri\":\"mcp+up:ask:1\""), "result");
    reload(&w);
    w.notices = 0;
    mcp_server_resource_updated(w.other, "ask:1");
    wires_run(&w);
    assert_int_equal(w.notices, 1);
    wires_has(w.notice, "\"uri\":\"mcp+up:ask:1\"");
    assert_int_equal(w.connects, 1);
    wires_has(asking_say_legacy(&w, "resources/unsubscribe", "\"uri\":\"mcp+up:ask:1\""), "result");
    w.now += 5000;
    wires_timers(&w, false);
    assert_null(w.open);
    close_all(&w);
}

static void take_state(const mcp_upstream_state *state, void *user)
{
    *(mcp_upstream_state *)user = *state;
}

static mcp_upstream_state state_of(const wires *w)
{
    mcp_upstream_state state = {.size = 0};
    mcp_upstream_each(&w->group, take_state, &state);
    return state;
}

static void expect_counts(const wires *w, uint64_t answered, size_t in_flight)
{
    const mcp_upstream_state state = state_of(w);
    uint64_t timed = 0;
    for (size_t i = 0; i <= MCP_USAGE_BUCKETS; i++)
        timed += state.buckets[i];
    assert_int_equal(state.requests[MCP_UPSTREAM_ANSWERED], answered);
    assert_int_equal(timed, answered);
    assert_int_equal(state.opened, 1);
    assert_int_equal(state.sessions, 1);
    assert_int_equal(state.in_flight, in_flight);
}

static int other_options(mcp_server *server, void *user, mcp_error *error)
{
    wires *w = user;
    w->revision = "2025-06-18";
    return wires_mount(server, w, error);
}

static int nothing(mcp_server *server, void *user, mcp_error *error)
{
    (void)server, (void)user, (void)error;
    return MCP_OK;
}

static int failing(mcp_server *server, void *user, mcp_error *error)
{
    assert_int_equal(wires_mount(server, user, error), MCP_OK);
    return MCP_EINVAL;
}

/* Counters go on, also those of requests that end at the old mount: none goes back, and nothing counts twice. */
static void test_counts(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, "2025-11-25");
    wires_has(call(&w, CALL("")), "said.");
    expect_counts(&w, 1, 0);
    assert_string_equal(call(&w, CALL("hold")), "");
    expect_counts(&w, 1, 1);
    reload(&w);
    assert_int_equal(mounts(&w), 2);
    expect_counts(&w, 1, 1);
    wires_has(call(&w, CALL("")), "said.");
    expect_counts(&w, 2, 1);
    assert_int_equal(mcp_server_rebuild(w.front, failing, &w, NULL), MCP_EINVAL);
    wires_run(&w);
    reload(&w);
    wires_has(call(&w, CALL("")), "said.");
    expect_counts(&w, 3, 1);
    asking_release();
    wires_run(&w);
    assert_int_equal(mounts(&w), 1);
    expect_counts(&w, 4, 0);
    assert_int_equal(mcp_server_rebuild(w.front, other_options, &w, NULL), MCP_OK);
    wires_run(&w);
    assert_int_equal(state_of(&w).requests[MCP_UPSTREAM_ANSWERED], 0);
    close_all(&w);
}

/* A server with other options is another server; a failed reload changes nothing. */
static void test_others(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    open_all(&w, "2025-11-25");
    assert_true(asking_read_modern(call(&w, CALL("form")), &round));
    assert_int_equal(mcp_server_rebuild(w.front, failing, &w, NULL), MCP_EINVAL);
    wires_run(&w);
    assert_int_equal(w.connects, 1);
    assert_non_null(w.open);
    assert_int_equal(mcp_server_rebuild(w.front, other_options, &w, NULL), MCP_OK);
    wires_run(&w);
    assert_null(w.open);
    wires_has(proceed(&w, CALL("form"), &round), OVER);
    assert_true(asking_read_modern(call(&w, CALL("form")), &round));
    assert_int_equal(w.connects, 2);
    assert_int_equal(mcp_server_rebuild(w.front, nothing, &w, NULL), MCP_OK);
    wires_run(&w);
    assert_null(w.open);
    assert_null(w.group.first);
    wires_has(proceed(&w, CALL("form"), &round), "tools/call");
    close_all(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parked),  cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_watched), cmocka_unit_test(test_others),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests_name("upstream: mounted again", tests, NULL, NULL);
}
