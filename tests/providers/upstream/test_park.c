/* Calls that wait for the answer of their caller: how they end, and that no tool runs twice. */
#include "asking.h"

static char log_room[1 << 16];

#define CALL(q) "\"name\":\"up_ask\",\"arguments\":{\"q\":\"" q "\"}"
#define OVER    "has ended; send the request without it"

static void open_with(wires *w, wires options, uint64_t input_timeout_ms)
{
    *w = options;
    w->log = log_room;
    w->log_room = sizeof(log_room);
    assert_int_equal(wires_open(w, asking_server(input_timeout_ms)), MCP_OK);
    asking_connect(w, "2026-07-28", "ann", "");
}

static void close_all(wires *w)
{
    wires_close(w);
    mcp_server_free(w->other);
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

/* Lets the time pass. */
static void pass(wires *w, int64_t ms)
{
    w->now += ms;
    wires_timers(w, false);
    wires_run(w);
}

static const char *const between[] = {"2025-06-18", "2025-11-25", "2026-07-28"};
enum { BETWEEN = 3, MODERN = 2 };

/* A caller that does not come back in time: the call is cancelled, its questions are answered, and
 * the session can end. */
static void test_expiry(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    for (size_t i = 0; i < BETWEEN; i++) {
        open_with(&w, (wires){.revision = between[i], .question_ms = 60000}, 0);
        begin(&w, CALL("form"), &round);
        pass(&w, 59000);
        assert_non_null(w.open);
        assert_int_equal(w.cancels, 0);
        pass(&w, 2000);
        assert_int_equal(w.cancels,
                         i == MODERN ? 0 : 1); /* no request of a modern server is open */
        wires_has(proceed(&w, CALL("form"), &round), OVER);
        assert_int_equal(w.runs, 1);
        pass(&w, 5000);
        assert_null(w.open);
        close_all(&w);
    }
}

/* Each round gives the caller more time. */
static void test_time(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    static const char call[] = CALL("form;form2;form3");
    open_with(&w, (wires){.revision = between[1], .question_ms = 60000}, 0);
    begin(&w, call, &round);
    for (int i = 0; i < 2; i++) {
        pass(&w, 50000);
        assert_true(asking_read_modern(proceed(&w, call, &round), &round));
    }
    pass(&w, 50000);
    wires_has(proceed(&w, call, &round), "said form=accept:Ada form2=accept:Ada form3=accept:Ada.");
    assert_int_equal(w.runs, 1);
    close_all(&w);
}

/* The other server does not wait any longer: its error is kept for the caller, once. */
static void test_given_up(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    open_with(&w, (wires){.revision = between[1]}, 5000);
    begin(&w, CALL("form"), &round);
    w.now += 6000;
    wires_run(&w);
    wires_has(proceed(&w, CALL("form"), &round), "did not answer elicitation/create within 5000");
    wires_has(proceed(&w, CALL("form"), &round), OVER);
    assert_int_equal(w.runs, 1);
    close_all(&w);
}

/* The other server answers although its question is open. */
static void test_answered_early(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    char message[256];
    open_with(&w, (wires){.revision = between[1]}, 0);
    begin(&w, CALL("form"), &round);
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"content\":[{\"type\":\"text\","
             "\"text\":\"early\"}],\"n\":1.00}}",
             w.run_id);
    wires_inject(&w, message);
    const char *reply = proceed(&w, CALL("form"), &round);
    wires_has(reply, "\"text\":\"early\"");
    wires_has(reply, "\"n\":1.00");
    wires_has(proceed(&w, CALL("form"), &round), OVER);
    assert_int_equal(w.runs, 1);
    close_all(&w);
}

/* An answer that is too large to be kept. */
static void test_too_large(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    size_t size = (4 << 20) + 200;
    char *message = malloc(size + 1);
    assert_non_null(message);
    open_with(&w, (wires){.revision = between[1]}, 0);
    begin(&w, CALL("form"), &round);
    memset(message, ' ', size);
    int n =
        snprintf(message, size,
                 "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"content\":[],\"x\":\"", w.run_id);
    memset(message + n, 'x', size - (size_t)n);
    snprintf(message + size - 3, 4, "\"}}");
    wires_inject(&w, message);
    free(message);
    wires_has(proceed(&w, CALL("form"), &round), "too large to be kept");
    assert_int_equal(w.runs, 1);
    close_all(&w);
}

/* The connection is lost while the caller answers. */
static void test_lost(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    for (size_t i = 0; i < BETWEEN; i++) {
        open_with(&w, (wires){.revision = between[i]}, 0);
        begin(&w, CALL("form"), &round);
        wires_cut(w.open);
        wires_run(&w);
        wires_has(proceed(&w, CALL("form"), &round), "The server up does not answer: ");
        wires_has(proceed(&w, CALL("form"), &round), OVER);
        assert_int_equal(w.runs, 1);
        wires_has(asking_say(&w, "tools/call", CALL(""), ASKING_CAPABILITIES), "said.");
        close_all(&w);
    }
}

/* The other server withdraws its question, and answers later. */
static void test_withdrawn(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    char message[256];
    open_with(&w, (wires){.revision = between[1]}, 0);
    begin(&w, CALL("form,form2"), &round);
    assert_int_equal(round.n, 2);
    for (int id = 1; id <= 2; id++) { /* the ids of the first requests of the other server */
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                 "\"requestId\":%d}}",
                 id);
        wires_inject(&w, message);
    }
    assert_string_equal(proceed(&w, CALL("form,form2"), &round), "");
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"content\":[]}}", w.run_id);
    wires_inject(&w, message);
    wires_has(w.reply, "\"content\":[]");
    assert_int_equal(w.runs, 1);
    close_all(&w);
}

/* A caller that answers only some of the questions is asked the others again. */
static void test_some(void **state)
{
    (void)state;
    static wires w;
    static asking_round round, rest;
    static const char call[] = CALL("form,form2,roots");
    for (size_t i = 0; i < BETWEEN; i++) {
        open_with(&w, (wires){.revision = between[i]}, 0);
        begin(&w, call, &round);
        assert_int_equal(round.n, 3);
        round.n = 1;
        assert_true(asking_read_modern(proceed(&w, call, &round), &rest));
        assert_int_equal(rest.n, 2);
        rest.n = 0;
        assert_true(asking_read_modern(proceed(&w, call, &rest), &rest));
        assert_int_equal(rest.n, 2);
        wires_has(proceed(&w, call, &rest),
                  "said form=accept:Ada form2=accept:Ada roots=file:///afile:///b.");
        assert_int_equal(w.runs, i == MODERN ? 2 : 1);
        close_all(&w);
    }
}

static void invalid(const char *asked, char *answer, size_t room)
{
    (void)asked;
    snprintf(answer, room, "{\"action\":\"accept\",\"content\":{\"who\":1}}");
}

/* A question is asked again if its answer does not conform to the schema. The answers to an earlier
 * round do not answer the questions of a later one. */
static void test_invalid(void **state)
{
    (void)state;
    static wires w;
    static asking_round round, next;
    static const char call[] = CALL("form;form2");
    open_with(&w, (wires){.revision = between[1]}, 0);
    begin(&w, call, &round);
    assert_true(
        asking_read_modern(asking_continue(&w, "tools/call", call, &round, invalid), &next));
    assert_string_equal(round.asked[0].key, next.asked[0].key);
    for (int i = 0; i < 2; i++) {
        assert_true(asking_read_modern(proceed(&w, call, &round), &next));
        wires_has(next.asked[0].text, "form2");
    }
    wires_has(proceed(&w, call, &next), "said form=accept:Ada form2=accept:Ada.");
    assert_int_equal(w.runs, 1);
    close_all(&w);
}

/* Answers in the first request are not used, because the user has not seen the question. */
static void test_unasked(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    open_with(&w, (wires){.revision = between[1]}, 0);
    begin(&w,
          CALL("form") ",\"inputResponses\":{\"1\":{\"action\":\"accept\",\"content\":{\"who\":"
                       "\"x\"}},"
                       "\"form\":{\"action\":\"accept\",\"content\":{\"who\":\"x\"}}}",
          &round);
    wires_has(proceed(&w, CALL("form"), &round), "said form=accept:Ada.");
    close_all(&w);
}

/* Only the principal and the request that were asked may answer. */
static void test_bound(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    open_with(&w, (wires){.revision = between[1]}, 0);
    begin(&w, CALL("form"), &round);
    asking_connect(&w, "2026-07-28", "bob", "");
    wires_has(proceed(&w, CALL("form"), &round), "was not issued by this server for this request");
    asking_connect(&w, "2026-07-28", "ann", "");
    wires_has(proceed(&w, CALL("form2"), &round), "was not issued by this server for this request");
    wires_has(proceed(&w, CALL("form"), &round), "said form=accept:Ada.");
    assert_int_equal(w.runs, 1);
    close_all(&w);
}

/* Limits: calls of one principal, of all principals, and questions of one call. */
static void test_limits(void **state)
{
    (void)state;
    static wires w;
    static asking_round round, second;
    static const struct {
        size_t own, all;
        bool bob; /* whether another principal can be asked when ann has reached the limit */
    } rows[] = {{2, 10, true}, {10, 2, false}};
    for (size_t i = 0; i < 2; i++) {
        open_with(&w,
                  (wires){.revision = between[1],
                          .max_parked = rows[i].own,
                          .max_parked_in_all = rows[i].all},
                  0);
        begin(&w, CALL("form"), &round);
        begin(&w, CALL("form2"), &second);
        wires_has(second.asked[0].text, "up: form2");
        wires_has(asking_say(&w, "tools/call", CALL("form3"), ASKING_CAPABILITIES),
                  "said form3=error.");
        asking_connect(&w, "2026-07-28", "bob", "");
        if (rows[i].bob)
            begin(&w, CALL("form"), &second);
        else
            wires_has(asking_say(&w, "tools/call", CALL("form"), ASKING_CAPABILITIES),
                      "said form=error.");
        asking_connect(&w, "2026-07-28", "ann", "");
        wires_has(proceed(&w, CALL("form"), &round), "said form=accept:Ada.");
        begin(&w, CALL("form"), &round);
        close_all(&w);
    }
}

/* One call has at most 16 open questions. */
static void test_many(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    static const char call[] = CALL("f1,f2,f3,f4,f5,f6,f7,f8,f9,f10,f11,f12,f13,f14,f15,f16,f17");
    open_with(&w, (wires){.revision = between[1]}, 0);
    begin(&w, call, &round);
    round.n = 0;
    assert_true(asking_read_modern(proceed(&w, call, &round), &round));
    assert_int_equal(round.n, 16);
    wires_has(proceed(&w, call, &round), "f16=accept:Ada f17=error.");
    close_all(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expiry),    cmocka_unit_test(test_time),
        cmocka_unit_test(test_given_up),  cmocka_unit_test(test_answered_early),
        cmocka_unit_test(test_too_large), cmocka_unit_test(test_lost),
        cmocka_unit_test(test_withdrawn), cmocka_unit_test(test_some),
        cmocka_unit_test(test_invalid),   cmocka_unit_test(test_unasked),
        cmocka_unit_test(test_bound),     cmocka_unit_test(test_limits),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests_name("upstream: parked calls", tests, NULL, NULL);
}
