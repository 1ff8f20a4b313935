/* Calls that wait for the answer of their caller: cancellations, repeated requests, generated
 * histories of two principals, and every allocation failing. */
#include "asking.h"

static char log_room[1 << 16];

#define CALL(q) "\"name\":\"up_ask\",\"arguments\":{\"q\":\"" q "\"}"
#define OVER    "has ended; send the request without it"

static const char *const between[] = {"2025-06-18", "2025-11-25", "2026-07-28"};
enum { BETWEEN = 3, MODERN = 2 };

static void open_all(wires *w, const char *revision)
{
    *w = (wires){.revision = revision, .log = log_room, .log_room = sizeof(log_room)};
    asking_n_held = asking_cancelled = 0;
    assert_int_equal(wires_open(w, asking_server(0)), MCP_OK);
    asking_connect(w, "2026-07-28", "ann", "");
}

static void close_all(wires *w)
{
    wires_close(w);
    mcp_server_free(w->other);
    assert_int_equal(asking_n_held, 0);
}

static void begin(wires *w, const char *call, asking_round *round)
{
    const char *reply = asking_say(w, "tools/call", call, ASKING_CAPABILITIES);
    if (!asking_read_modern(reply, round))
        fail_msg("no question in\n%s", reply);
}

static const char *proceed(wires *w, const char *call, const asking_round *round)
{
    return asking_continue(w, "tools/call", call, round, asking_accept);
}

static void cancel(wires *w, size_t id)
{
    char message[128];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
             "\"requestId\":%zu}}",
             id);
    wires_say(w, message);
}

/* The caller cancels the request with its answer: the call is cancelled at the other server. */
static void test_cancelled(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    static const char call[] = CALL("form;hold");
    for (size_t i = 0; i < BETWEEN; i++) {
        open_all(&w, between[i]);
        begin(&w, call, &round);
        assert_string_equal(proceed(&w, call, &round), "");
        assert_int_equal(asking_n_held, 1);
        cancel(&w, w.id);
        assert_int_equal(asking_cancelled, 1);
        wires_has(proceed(&w, call, &round), OVER);
        assert_int_equal(w.runs, i == MODERN ? 2 : 1);
        close_all(&w);
    }
}

/* After a call was cancelled, a legacy server may still ask for it, so nobody is asked, and the next
 * call gets another session. A modern server names the call, so its questions are passed on. */
static void test_after_cancelled(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    for (size_t i = 0; i < BETWEEN; i++) {
        open_all(&w, between[i]);
        asking_say(&w, "tools/call", CALL("hold"), ASKING_CAPABILITIES);
        cancel(&w, w.id);
        assert_int_equal(asking_cancelled, 1);
        if (i != MODERN)
            wires_has(asking_say(&w, "tools/call", CALL("form"), ASKING_CAPABILITIES),
                      "said form=error.");
        assert_int_equal(w.connects, 1);
        begin(&w, CALL("form"), &round);
        assert_int_equal(w.connects, i == MODERN ? 1 : 2);
        asking_say(&w, "tools/call", CALL("hold"), ASKING_CAPABILITIES);
        cancel(&w, w.id);
        wires_has(proceed(&w, CALL("form"), &round), "said form=accept:Ada.");
        close_all(&w);
    }
}

/* A caller of a legacy revision cancels its request while it is being asked. */
static void test_cancelled_legacy(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    for (size_t i = 0; i < BETWEEN; i++) {
        open_all(&w, between[i]);
        asking_connect(&w, "2025-11-25", "ann", ASKING_CAPABILITIES);
        asking_say_legacy(&w, "tools/call", CALL("form"));
        assert_true(asking_read_legacy(&w, &round));
        cancel(&w, w.id);
        assert_int_equal(w.cancels,
                         i == MODERN ? 0 : 1); /* no request of a modern server is open */
        assert_string_equal(asking_respond(&w, &round, asking_accept), "");
        close_all(&w);
    }
}

/* A caller of a legacy revision is disconnected while it is being asked, and a caller of a modern
 * one while it waits for the result. */
static void test_disconnected(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    for (size_t i = 0; i < BETWEEN; i++) {
        open_all(&w, between[i]);
        asking_connect(&w, "2025-11-25", "ann", ASKING_CAPABILITIES);
        asking_say_legacy(&w, "tools/call", CALL("form"));
        asking_connect(&w, "2026-07-28", "ann", "");
        wires_run(&w);
        assert_int_equal(w.cancels, i == MODERN ? 0 : 1);
        begin(&w, CALL("form;hold"), &round);
        proceed(&w, CALL("form;hold"), &round);
        asking_connect(&w, "2026-07-28", "ann", "");
        wires_run(&w);
        assert_int_equal(asking_cancelled, 1);
        close_all(&w);
    }
}

/* Two requests with the same state: the later one gets the result. */
static void test_twice(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    static const char call[] = CALL("form;hold");
    for (size_t i = 0; i < BETWEEN; i++) {
        open_all(&w, between[i]);
        begin(&w, call, &round);
        assert_string_equal(proceed(&w, call, &round), "");
        size_t first = w.id;
        char id[32];
        const char *reply = proceed(&w, call, &round);
        snprintf(id, sizeof(id), "\"id\":%zu,", first);
        wires_has(reply, id);
        wires_has(reply, "continues this call");
        asking_release();
        wires_run(&w);
        snprintf(id, sizeof(id), "\"id\":%zu,", w.id);
        wires_has(w.reply, id);
        wires_has(w.reply, "released");
        assert_int_equal(w.runs, i == MODERN ? 2 : 1);
        close_all(&w);
    }
}

/* The server is freed while calls wait. */
static void test_freed(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    for (size_t i = 0; i < BETWEEN; i++) {
        open_all(&w, between[i]);
        begin(&w, CALL("form,roots"), &round);
        begin(&w, CALL("form2"), &round);
        asking_connect(&w, "2025-11-25", "bob", ASKING_CAPABILITIES);
        asking_say_legacy(&w, "tools/call", CALL("form"));
        close_all(&w);
    }
}

/* ---- every allocation failing ---------------------------------------------------------------- */

static bool use_all(wires *w)
{
    static asking_round round;
    static const char call[] = CALL("form,form2;roots");
    if (wires_open(w, w->other) != MCP_OK || wires_peer(w, w->front, "ann") != MCP_OK)
        return false;
    const char *reply = asking_say(w, "tools/call", call, ASKING_CAPABILITIES);
    while (asking_read_modern(reply, &round))
        reply = proceed(w, call, &round);
    bool done = strstr(reply, "\"said ") != NULL;
    asking_say(w, "tools/call", CALL("form"), ASKING_CAPABILITIES);
    w->now += 900000;
    wires_timers(w, false);
    wires_run(w);
    return done;
}

static void test_no_memory(void **state)
{
    (void)state;
    static wires w;
    mcp_server *other = asking_server(0);
    for (size_t i = 0; i < BETWEEN; i++) {
        bool through = false;
        for (size_t at = 1; !through; at++) {
            w = (wires){.memory = {.fail_at = at}, .other = other, .revision = between[i]};
            bool done = use_all(&w);
            through = w.memory.calls < at;
            assert_true(done || !through);
            assert_true(w.runs <= (i == MODERN ? 4 : 2));
            wires_close(&w);
        }
    }
    mcp_server_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_after_cancelled),
        cmocka_unit_test(test_cancelled_legacy),
        cmocka_unit_test(test_disconnected),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_freed),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("upstream: ends of parked calls", tests, NULL, NULL);
}
