/* Servers that do not answer: calls end when their time is over, and a server that does not answer
 * pings either is disconnected, with what is in flight. Nothing is sent twice. */
#include "wires.h"

enum { CALL_S = 600, PING_S = 30 }; /* the defaults */

static mcp_request *held[4];
static size_t n_held;
static char log_text[1 << 16];
static char told[4096];     /* what the host has logged */
static uint64_t timeout_ms; /* of the next mount */

static void gone(mcp_request *req, void *user)
{
    (void)user;
    mcp_reply_finish(req, MCP_ECANCELLED);
}

static int hold(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    held[n_held++ % 4] = req;
    mcp_request_on_cancel(req, gone, NULL);
    return MCP_PENDING;
}

static int answer(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "answered");
}

static void on_log(const char *level, const char *line, void *user)
{
    size_t len = strlen(told);
    (void)user;
    snprintf(told + len, sizeof(told) - len, "%s %s\n", level, line);
}

static const mcp_upstream_change longer = {
    .item = MCP_ITEM_TOOL, .original = "long", .call_ms = 1000 * CALL_S * 3};

static int mount(mcp_server *server, void *user, mcp_error *error)
{
    wires *w = user;
    return mcp_upstream_mount(server,
                              MCP_OPTIONS(mcp_upstream_options, .name = "one",
                                          .connect = wires_connect, .disconnect = wires_disconnect,
                                          .user = w, .revision = w->revision, .changes = &longer,
                                          .n_changes = 1, .timeout_ms = timeout_ms,
                                          .group = &w->group, .allocator = &w->allocator),
                              error);
}

static void open_all(wires *w, const char *revision)
{
    static const char *const holding[] = {"hold", "long"};
    mcp_server *other;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                                .coalesce_ms = 1, .handler_timeout_ms = UINT64_MAX),
                                    &other, NULL),
                     MCP_OK);
    for (size_t i = 0; i < 2; i++)
        mcp_server_add_tool(other, MCP_OPTIONS(mcp_tool, .name = holding[i], .call = hold), NULL,
                            NULL);
    mcp_server_add_tool(other, MCP_OPTIONS(mcp_tool, .name = "fast", .call = answer), NULL, NULL);
    mcp_server_add_resource(
        other, MCP_OPTIONS(mcp_resource, .uri = "x:/r", .name = "r", .text = "t"), NULL, NULL);
    *w = (wires){.revision = revision, .log = log_text, .log_room = sizeof(log_text)};
    w->host_log = on_log;
    n_held = 0;
    told[0] = 0;
    assert_int_equal(wires_open(w, other), MCP_OK);
    assert_int_equal(mount(w->front, w, NULL), MCP_OK);
    assert_int_equal(wires_peer(w, w->front, "ann"), MCP_OK);
}

static void close_all(wires *w)
{
    mcp_server *other = w->other;
    wires_close(w);
    mcp_server_free(other);
}

#define PROGRESS "\"progressToken\":7,"

static void request(wires *w, mcp_channel *peer, int id, const char *method, const char *params,
                    const char *meta)
{
    char text[512];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{%s,\"_meta\":{%s"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             id, method, params, meta);
    mcp_channel_receive(peer, 0, mcp_str_from(text), w->now);
    wires_run(w);
}

static void call(wires *w, int id, const char *tool)
{
    char params[64];
    snprintf(params, sizeof(params), "\"name\":\"one_%s\"", tool);
    request(w, w->peer, id, "tools/call", params, "");
}

static void cancel(wires *w, int id)
{
    char text[160];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
             "cancelled\",\"params\":{\"requestId\":%d}}",
             id);
    mcp_channel_receive(w->peer, 0, mcp_str_from(text), w->now);
    wires_run(w);
}

/* Lets the time jump to this millisecond, and the timers fire that are due. */
static void jump(wires *w, int64_t ms)
{
    w->now = ms;
    wires_run(w);
    for (wire_timer *t = w->timers; t < w->timers + WIRE_TIMERS; t++) {
        void (*fn)(void *arg) = t->fn;
        if (fn && t->due <= w->now) {
            t->fn = NULL;
            fn(t->arg);
        }
    }
    wires_run(w);
}

/* Lets the time go on to this second since the test began. */
static void until(wires *w, int64_t second)
{
    int64_t end = 1000 + 1000 * second;
    while (w->now + 500 < end)
        jump(w, w->now + 500);
    jump(w, end);
}

/* Returns the answer to the request with this id, or "". */
static const char *answer_to(const wires *w, int id)
{
    static char line[2048];
    char start[32];
    snprintf(start, sizeof(start), "\"id\":%d,", id);
    w->log[w->log_len] = 0;
    const char *at = strstr(w->log, start);
    if (!at)
        return "";
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
    return line;
}

static void add_hung(const mcp_upstream_state *state, void *user)
{
    *(uint64_t *)user += state->hung;
}

static uint64_t n_hung(const wires *w)
{
    uint64_t n = 0;
    mcp_upstream_each(&w->group, add_hung, &n);
    return n;
}

static const char *const revisions[] = {NULL, "2026-07-28", "2025-11-25", "2024-11-05"};
enum { REVISIONS = sizeof(revisions) / sizeof(revisions[0]) };

/* A call is beyond its time, no ping is answered: the server is disconnected, the other call ends, and
 * the next one starts the server again. */
static void test_ends(void **state)
{
    (void)state;
    static wires w;
    for (size_t r = 0; r < REVISIONS; r++) {
        open_all(&w, revisions[r]);
        call(&w, 1, "fast");
        wires_has(answer_to(&w, 1), "answered");
        w.open->hung = true;
        call(&w, 2, "fast");
        until(&w, 300);
        call(&w, 3, "fast");
        until(&w, CALL_S - 1);
        assert_string_equal(answer_to(&w, 2), "");
        until(&w, CALL_S + 1);
        wires_has(answer_to(&w, 2),
                  "The server one does not answer: neither an answer nor progress "
                  "of fast within 600.000 s, so the call was cancelled");
        wires_has(answer_to(&w, 2), "raise call_ms");
        assert_int_equal(w.cancels, 1);
        until(&w, CALL_S + PING_S - 1);
        assert_string_equal(answer_to(&w, 3), "");
        assert_int_equal(n_hung(&w), 0);
        until(&w, CALL_S + PING_S + 10); /* the timer ends the session */
        wires_has(answer_to(&w, 3), "\"error\"");
        assert_int_equal(n_hung(&w), 1);
        assert_int_equal(w.runs, 3);
        wires_has(told, "it has answered neither tools/call of fast in time nor a ping within "
                        "30.000 s, so it is ended");
        call(&w, 4, "fast");
        wires_has(answer_to(&w, 4), "answered");
        assert_int_equal(w.connects, 2);
        assert_int_equal(w.runs, 4); /* nothing was repeated */
        close_all(&w);
    }
}

/* A call waits as long for the handshake as other requests may take, not as long as a call may take. */
static void test_handshake(void **state)
{
    (void)state;
    static wires w;
    for (size_t r = 0; r < REVISIONS; r++) {
        timeout_ms = 3000;
        open_all(&w, revisions[r]);
        timeout_ms = 0;
        w.mute = true;
        call(&w, 1, "fast");
        until(&w, 2);
        assert_string_equal(answer_to(&w, 1), "");
        until(&w, 4);
        wires_has(answer_to(&w, 1), "The server one does not answer: ");
        assert_int_equal(w.runs, 0);
        w.mute = w.open->hung = false;
        call(&w, 2, "fast");
        wires_has(answer_to(&w, 2), "answered");
        close_all(&w);
    }
}

/* A server that answers pings stays connected, and so do its other calls. */
static void test_pings_answered(void **state)
{
    (void)state;
    static wires w;
    for (size_t r = 0; r < REVISIONS; r++) {
        open_all(&w, revisions[r]);
        call(&w, 1, "hold");
        call(&w, 2, "long");
        until(&w, CALL_S + 1);
        wires_has(answer_to(&w, 1), "call_ms");
        until(&w, CALL_S * 2);
        assert_int_equal(n_hung(&w), 0);
        mcp_reply_finish(held[1], mcp_reply_text(held[1], "done"));
        wires_run(&w);
        wires_has(answer_to(&w, 2), "done");
        assert_int_equal(w.connects, 1);
        close_all(&w);
    }
}

/* Progress begins the time again. */
static void test_progress(void **state)
{
    (void)state;
    static wires w;
    for (size_t r = 0; r < REVISIONS; r++) {
        open_all(&w, revisions[r]);
        request(&w, w.peer, 1, "tools/call", "\"name\":\"one_hold\"", PROGRESS);
        for (int i = 1; i <= 20; i++) {
            until(&w, (int64_t)500 * i);
            mcp_request_progress(held[0], i, 0, NULL);
            wires_run(&w);
            assert_string_equal(answer_to(&w, 1), "");
        }
        until(&w, 500 * 20 + CALL_S - 1);
        assert_string_equal(answer_to(&w, 1), "");
        until(&w, 500 * 20 + CALL_S + 1);
        wires_has(answer_to(&w, 1), "call_ms");
        close_all(&w);
    }
}

/* The time of a call that was cancelled goes on from its last progress. */
static void test_progress_cancelled(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, "2025-11-25");
    request(&w, w.peer, 1, "tools/call", "\"name\":\"one_hold\"", PROGRESS);
    until(&w, 500);
    mcp_request_progress(held[0], 1, 0, NULL);
    wires_run(&w);
    w.open->hung = true;
    call(&w, 2, "long");
    until(&w, 550);
    cancel(&w, 1);
    until(&w, 500 + CALL_S - 1);
    assert_null(strstr(w.sent, "\"ping\""));
    until(&w, 500 + CALL_S + 6);
    wires_has(w.sent, "\"ping\"");
    until(&w, 500 + CALL_S + 6 + PING_S + 6);
    wires_has(answer_to(&w, 2), "\"error\"");
    assert_int_equal(n_hung(&w), 1);
    close_all(&w);
}

/* A caller that gives up before the time is over, and tries again, does not keep the server. */
static void test_retries(void **state)
{
    (void)state;
    static wires w;
    for (size_t r = 0; r < REVISIONS; r++) {
        open_all(&w, revisions[r]);
        call(&w, 1, "fast");
        w.open->hung = true;
        int id = 2;
        int64_t second = 0;
        for (; second < CALL_S; second += 60) {
            until(&w, second);
            call(&w, ++id, "fast");
            until(&w, second + 50);
            cancel(&w, id);
        }
        assert_int_equal(n_hung(&w), 0);
        until(&w, CALL_S + PING_S - 6);
        call(&w, ++id, "fast");
        assert_int_equal(n_hung(&w), 0);
        until(&w, CALL_S + 2 * PING_S + 10);
        assert_int_equal(n_hung(&w), 1);
        wires_has(answer_to(&w, id), "\"error\"");
        call(&w, ++id, "fast");
        wires_has(answer_to(&w, id), "answered");
        close_all(&w);
    }
}

/* After a caller has given up, an answer shows that the server works. */
static void test_retry_answered(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, NULL);
    call(&w, 1, "hold");
    cancel(&w, 1);
    call(&w, 2, "fast");
    wires_has(answer_to(&w, 2), "answered");
    w.sent[0] = 0;
    call(&w, 3, "long");
    w.open->hung = true; /* busy with the third call, whose time is not over */
    until(&w, CALL_S * 2);
    assert_int_equal(n_hung(&w), 0);
    assert_string_equal(answer_to(&w, 3), "");
    assert_null(strstr(w.sent, "ping"));
    close_all(&w);
}

/* While an earlier call is within its time, the server may be busy with it, and answer nothing else. */
static void test_busy(void **state)
{
    (void)state;
    static wires w;
    for (size_t r = 0; r < REVISIONS; r++) {
        open_all(&w, revisions[r]);
        call(&w, 1, "fast");
        w.open->hung = true;
        call(&w, 2, "long");
        request(&w, w.peer, 3, "resources/read", "\"uri\":\"mcp+one:x:/r\"", "");
        call(&w, 4, "fast");
        until(&w, CALL_S * 3 - 1);
        wires_has(answer_to(&w, 3), "no answer within 60.000 s");
        wires_has(answer_to(&w, 4), "call_ms");
        assert_string_equal(answer_to(&w, 2), "");
        assert_int_equal(n_hung(&w), 0);
        call(&w, 5, "fast"); /* otherwise the session is idle */
        until(&w, CALL_S * 3 + 3 * PING_S);
        wires_has(answer_to(&w, 2), "neither an answer nor progress of long within 1800.000 s");
        assert_int_equal(n_hung(&w), 1);
        close_all(&w);
    }
}

/* The server of one principal hangs, that of another one does not. */
static void test_others(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, NULL);
    assert_int_equal(
        mcp_server_connect(w.front,
                           MCP_OPTIONS(mcp_channel_options, .send = wires_answer, .user = &w,
                                       .principal = "bob", .shared_stream = true),
                           &w.peers[0], NULL),
        MCP_OK);
    call(&w, 1, "fast");
    w.open->hung = true;
    call(&w, 2, "fast");
    request(&w, w.peers[0], 3, "tools/call", "\"name\":\"one_long\"", "");
    for (int64_t second = 0; second <= CALL_S + 2 * PING_S; second += 10) {
        until(&w, second);
        request(&w, w.peers[0], 100 + (int)second, "tools/call", "\"name\":\"one_fast\"", "");
        wires_has(answer_to(&w, 100 + (int)second), "answered");
        if (second == CALL_S / 2)
            call(&w, 4, "fast"); /* otherwise the session is idle */
    }
    wires_has(answer_to(&w, 4), "\"error\"");
    assert_int_equal(n_hung(&w), 1);
    assert_string_equal(answer_to(&w, 3), "");
    mcp_reply_finish(held[0], mcp_reply_text(held[0], "done"));
    wires_run(&w);
    wires_has(answer_to(&w, 3), "done");
    mcp_channel_free(w.peers[0]);
    close_all(&w);
}

/* What holds off the time-out of the front server does not hold off the one that it has for lists. */
static void test_lists(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, NULL);
    assert_int_equal(
        mcp_upstream_mount(w.front,
                           MCP_OPTIONS(mcp_upstream_options, .name = "two",
                                       .connect = wires_connect, .disconnect = wires_disconnect,
                                       .user = &w, .first_list_ms = 1000 * CALL_S,
                                       .group = &w.group, .allocator = &w.allocator),
                           NULL),
        MCP_OK);
    request(&w, w.peer, 1, "tools/call", "\"name\":\"two_fast\"", "");
    wires_has(answer_to(&w, 1), "answered");
    w.open->hung = true;
    request(&w, w.peer, 2, "tools/list", "\"x\":1", "");
    until(&w, 9);
    assert_string_equal(answer_to(&w, 2), "");
    until(&w, 12);
    wires_has(answer_to(&w, 2), "\"one_fast\"");
    close_all(&w);
}

/* A ping that was sent before an answer says nothing about a call that is late after the answer. */
static void test_old_ping(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, NULL);
    call(&w, 1, "hold");
    until(&w, 15);
    call(&w, 2, "hold");
    until(&w, CALL_S - 1);
    w.open->hung = true;
    until(&w, CALL_S + 1); /* this ping is lost */
    w.open->hung = false;
    call(&w, 3, "fast");
    wires_has(answer_to(&w, 3), "answered");
    w.open->hung = true;
    until(&w, CALL_S + PING_S + 5);
    wires_has(answer_to(&w, 2), "call_ms");
    assert_int_equal(n_hung(&w), 0);
    until(&w, CALL_S + 2 * PING_S + 5);
    assert_int_equal(n_hung(&w), 1);
    close_all(&w);
}

/* This program was stopped for a while, so it reads what was answered meanwhile only now. */
static void test_stopped(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, NULL);
    call(&w, 1, "hold");
    call(&w, 2, "long");
    until(&w, CALL_S - 1);
    w.open->hung = true;
    until(&w, CALL_S + 1);
    w.open->hung = false; /* the ping is lost, which looks like a delay */
    jump(&w, w.now + 1000 * 3 * PING_S);
    until(&w, CALL_S + 6 * PING_S);
    assert_int_equal(n_hung(&w), 0);
    close_all(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_handshake),
        cmocka_unit_test(test_pings_answered),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_progress_cancelled),
        cmocka_unit_test(test_retries),
        cmocka_unit_test(test_retry_answered),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_old_ping),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
