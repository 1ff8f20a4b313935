/* Questions of another server reach the caller of the request that caused them, and the answers go
 * back, for each pair of eras; the other server gets each call once. */
#include "asking.h"

static void open_all(wires *w, const char *between, const char *principal)
{
    *w = (wires){.revision = between};
    assert_int_equal(wires_open(w, asking_server()), MCP_OK);
    assert_int_equal(wires_peer(w, w->front, principal), MCP_OK);
}

static void close_all(wires *w)
{
    wires_close(w);
    mcp_server_free(w->other);
}

#define CALL(q) "\"name\":\"up_ask\",\"arguments\":{\"q\":\"" q "\"}"

/* Answers all questions of a round of a call. `answer` may contain one %zu, the number of the
 * question. */
static const char *answer(wires *w, const char *call, const asking_round *round, const char *format)
{
    static char params[1 << 15];
    size_t n = (size_t)snprintf(params, sizeof(params), "%s,\"inputResponses\":{", call);
    for (size_t i = 0; i < round->n; i++) {
        n += (size_t)snprintf(params + n, sizeof(params) - n, "%s\"%s\":", i ? "," : "",
                              round->keys[i]);
        n += (size_t)snprintf(params + n, sizeof(params) - n, format, i + 1);
    }
    snprintf(params + n, sizeof(params) - n, "},\"requestState\":\"%s\"", round->state);
    return asking_say(w, "tools/call", params, ASKING_CAPABILITIES);
}

static const char *const between[] = {"2025-06-18", "2025-11-25", "2026-07-28"};
enum { BETWEEN = sizeof(between) / sizeof(between[0]) };

/* A modern caller answers the form of a server of either era. */
static void test_form(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    for (size_t i = 0; i < BETWEEN; i++) {
        open_all(&w, between[i], "ann");
        const char *reply = asking_say(&w, "tools/call", CALL("form"), ASKING_CAPABILITIES);
        wires_has(reply, "\"resultType\":\"input_required\"");
        wires_has(reply, "\"message\":\"up: form\"");
        asking_read_round(reply, &round);
        assert_int_equal(round.n, 1);
        reply = answer(&w, CALL("form"), &round,
                       "{\"action\":\"accept\",\"content\":{\"who\":\"Ada\"}}");
        wires_has(reply, "said form=accept:Ada.");
        assert_int_equal(w.runs, i == 2 ? 2 : 1); /* a modern server expects a second request */
        assert_int_equal(w.connects, 1);
        /* the call is over, and a repeated answer does not start another one */
        size_t runs = w.runs;
        reply = answer(&w, CALL("form"), &round,
                       "{\"action\":\"accept\",\"content\":{\"who\":\"Ada\"}}");
        wires_has(reply, "\"code\":-32602");
        wires_has(reply, "has ended; send the request without it");
        assert_int_equal(w.runs, runs);
        close_all(&w);
    }
}

/* Nobody who is anonymous is asked, because all of them share one session. */
static void test_anonymous(void **state)
{
    (void)state;
    static wires w;
    for (size_t i = 0; i < BETWEEN; i++) {
        open_all(&w, between[i], NULL);
        wires_has(asking_say(&w, "tools/call", CALL("form"), ASKING_CAPABILITIES),
                  "This needs the capability elicitation.form");
        assert_int_equal(w.runs, 1);
        close_all(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_form),
                                       cmocka_unit_test(test_anonymous)};
    return cmocka_run_group_tests_name("upstream: questions", tests, NULL, NULL);
}
