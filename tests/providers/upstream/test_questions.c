/* Questions of another server reach the caller of the request that caused them, and the answers go
 * back, for each pair of revisions; the other server gets each call once. */
#include "asking.h"

static char log_room[1 << 16];

static void open_all(wires *w, const char *between)
{
    *w = (wires){.revision = between, .log = log_room, .log_room = sizeof(log_room)};
    assert_int_equal(wires_open(w, asking_server(0)), MCP_OK);
}

static void close_all(wires *w)
{
    wires_close(w);
    mcp_server_free(w->other);
}

#define CALL(q) "\"name\":\"up_ask\",\"arguments\":{\"q\":\"" q "\"}"

static const char *const revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
                                        "2026-07-28"};
enum { REVISIONS = sizeof(revisions) / sizeof(revisions[0]), FORM = 2, URL = 3, MODERN = 4 };

/* Requests that cause questions, the first revision that has these questions, and the result. */
static const struct {
    const char *method, *params;
    size_t since;
    size_t rounds, asked;
    const char *result;
} requests[] = {
    {"tools/call", CALL("form"), FORM, 1, 1, "said form=accept:Ada."},
    {"tools/call", CALL("roots"), 0, 1, 1, "said roots=file:///afile:///b."},
    {"tools/call", CALL("url"), URL, 1, 1, "said url=accept:."},
    {"tools/call", CALL("form,roots,form2"), FORM, 1, 3,
     "said form=accept:Ada roots=file:///afile:///b form2=accept:Ada."},
    {"tools/call", CALL("form;form2;roots"), FORM, 3, 3,
     "said form=accept:Ada form2=accept:Ada roots=file:///afile:///b."},
    {"tools/call", CALL("form,url;roots,roots2;form2"), URL, 3, 5,
     "said form=accept:Ada url=accept: roots=file:///afile:///b roots2=file:///afile:///b "
     "form2=accept:Ada."},
    {"tools/call", CALL("sample"), 0, 1, 1, "said sample=it."},
    {"tools/call", CALL("tools"), URL, 1, 1, "said tools=it."},
    {"tools/call", CALL("sample,form;roots"), FORM, 2, 3,
     "said sample=it form=accept:Ada roots=file:///afile:///b."},
    {"tools/call", CALL(""), 0, 0, 0, "said."},
    {"prompts/get", "\"name\":\"up_ask\"", FORM, 1, 1, "said form=accept:Ada."},
    {"resources/read", "\"uri\":\"mcp+up:ask:1\"", FORM, 1, 1, "said form=accept:Ada."},
};
enum { REQUESTS = sizeof(requests) / sizeof(requests[0]) };

static void test_pairs(void **state)
{
    (void)state;
    static wires w;
    for (size_t between = 0; between < REVISIONS; between++) {
        open_all(&w, revisions[between]);
        for (size_t from = 0; from < REVISIONS; from++) {
            asking_connect(&w, revisions[from], "ann", ASKING_CAPABILITIES);
            for (size_t i = 0; i < REQUESTS; i++) {
                size_t rounds, runs = w.runs;
                const char *reply = asking_exchange(&w, revisions[from], requests[i].method,
                                                    requests[i].params, asking_accept, &rounds);
                bool can = from >= requests[i].since && between >= requests[i].since;
                wires_has(reply, can ? requests[i].result : "\"error\"");
                if (can)
                    assert_int_equal(rounds, requests[i].rounds);
                /* a modern server expects a request for each round */
                assert_int_equal(w.runs - runs, between == MODERN ? rounds + 1 : 1);
            }
        }
        close_all(&w);
    }
}

/* The message names the server that asks, and everything else is as the server sent it, including
 * members that are not known here. */
static void test_text(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    open_all(&w, "2025-11-25");
    asking_connect(&w, "2026-07-28", "ann", "");
    assert_true(asking_read_modern(
        asking_say(&w, "tools/call", CALL("form,url"), ASKING_CAPABILITIES), &round));
    assert_int_equal(round.n, 2);
    assert_string_equal(round.asked[0].text,
                        "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\","
                        "\"message\":\"up: form\",\"requestedSchema\":" ASKING_SCHEMA "}}");
    assert_string_equal(round.asked[1].text,
                        "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\","
                        "\"message\":\"up: url\",\"url\":\"https://example.com/login\"}}");
    wires_inject(
        &w, "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"elicitation/create\",\"params\":{"
            "\"message\":\"a\\nb\",\"requestedSchema\":{\"type\":\"object\","
            "\"properties\":{\"x\":{\"type\":\"string\",\"new\":[1]}}},\"new\":{\"a\":1.00}}}");
    assert_true(asking_read_modern(
        asking_continue(&w, "tools/call", CALL("form,url"), &round, asking_accept), &round));
    wires_has(w.reply,
              "\"params\":{\"message\":\"up: a\\nb\",\"requestedSchema\":{\"type\":\"object\","
              "\"properties\":{\"x\":{\"type\":\"string\",\"new\":[1]}}},\"new\":{\"a\":1.00}");
    close_all(&w);
}

static void exactly(const char *asked, char *answer, size_t room)
{
    (void)asked;
    snprintf(answer, room,
             "{\"new\":[1.0],\"action\":\"accept\",\"content\":{\"who\":\"Ada\",\"n\":1.50e2}}");
}

/* An answer reaches a legacy server as the caller wrote it. */
static void test_answer_text(void **state)
{
    (void)state;
    static wires w;
    size_t rounds;
    for (size_t from = URL; from < REVISIONS; from++) {
        open_all(&w, "2025-11-25");
        asking_connect(&w, revisions[from], "ann", ASKING_CAPABILITIES);
        asking_exchange(&w, revisions[from], "tools/call", CALL("form"), exactly, &rounds);
        wires_has(w.sent, "\"result\":{\"new\":[1.0],\"action\":\"accept\",\"content\":{"
                          "\"who\":\"Ada\",\"n\":1.50e2}}");
        close_all(&w);
    }
}

/* Questions that cannot be asked are refused, and the call goes on. */
static void test_malformed(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    static const char *const params[] = {
        "{\"mode\":\"url\",\"message\":\"m\",\"url\":\"not a URL\"}",
        "{\"message\":1,\"requestedSchema\":{}}",
        "[]",
    };
    for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
        char message[300];
        open_all(&w, "2025-11-25");
        asking_connect(&w, "2026-07-28", "ann", "");
        assert_true(asking_read_modern(
            asking_say(&w, "tools/call", CALL("form"), ASKING_CAPABILITIES), &round));
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"elicitation/create\",\"params\":%s}",
                 params[i]);
        wires_inject(&w, message);
        wires_has(asking_continue(&w, "tools/call", CALL("form"), &round, asking_accept),
                  "said form=accept:Ada.");
        close_all(&w);
    }
}

/* A server of 2025-11-25 reports that the user is done at a URL. */
static void test_complete(void **state)
{
    (void)state;
    static wires w;
    size_t rounds;
    open_all(&w, "2025-11-25");
    asking_connect(&w, "2025-11-25", "ann", ASKING_CAPABILITIES);
    wires_has(asking_exchange(&w, "2025-11-25", "tools/call", CALL("url"), asking_accept, &rounds),
              "said url=accept:.");
    w.notices = 0;
    mcp_server_elicitation_complete(w.other, "url");
    wires_run(&w);
    assert_int_equal(w.notices, 1);
    wires_has(w.notice, "notifications/elicitation/complete");
    wires_has(w.notice, "\"elicitationId\":\"up:url\"");
    close_all(&w);
}

static void decline(const char *asked, char *answer, size_t room)
{
    snprintf(answer, room, "%s",
             strstr(asked, "form2") ? "{\"action\":\"cancel\"}" : "{\"action\":\"decline\"}");
}

static void refuse(const char *asked, char *answer, size_t room)
{
    (void)asked;
    snprintf(answer, room, "!{\"code\":-1,\"message\":\"no\"}");
}

/* Users who decline, and clients of legacy revisions that answer with an error. */
static void test_refused(void **state)
{
    (void)state;
    static wires w;
    size_t rounds;
    for (size_t between = FORM; between < REVISIONS; between++) {
        open_all(&w, revisions[between]);
        for (size_t from = FORM; from < REVISIONS; from++) {
            asking_connect(&w, revisions[from], "ann", ASKING_CAPABILITIES);
            wires_has(asking_exchange(&w, revisions[from], "tools/call", CALL("form,form2"),
                                      decline, &rounds),
                      "said form=decline: form2=cancel:.");
            if (from == MODERN)
                continue;
            wires_has(
                asking_exchange(&w, revisions[from], "tools/call", CALL("form"), refuse, &rounds),
                "said form=cancel:.");
            const char *reply =
                asking_exchange(&w, revisions[from], "tools/call", CALL("roots"), refuse, &rounds);
            wires_has(reply, between == MODERN ? "A question of the server up failed: no"
                                               : "said roots=error.");
        }
        close_all(&w);
    }
}

/* Nobody who is anonymous is asked, because all of them share one session. Nor is a caller that did
 * not declare the capability, or if the operator does not want it. In a shared session nobody is asked
 * for roots. */
static void test_not_asked(void **state)
{
    (void)state;
    static wires w;
    static const struct {
        const char *principal, *capabilities;
        bool no_questions, shared;
        const char *call, *needs;
    } rows[] = {
        {NULL, ASKING_CAPABILITIES, false, false, CALL("form"), "elicitation.form"},
        {"ann", "{\"elicitation\":{\"url\":{}},\"roots\":{}}", false, false, CALL("form"),
         "elicitation.form"},
        {"ann", "{}", false, false, CALL("form"), "elicitation.form"},
        {"ann", ASKING_CAPABILITIES, true, false, CALL("form"), "elicitation.form"},
        {NULL, ASKING_CAPABILITIES, false, true, CALL("form"), "elicitation.form"},
        {"ann", ASKING_CAPABILITIES, false, true, CALL("roots"), "roots"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t between = FORM; between < REVISIONS; between++) {
            char needs[64];
            w = (wires){.revision = revisions[between],
                        .no_questions = rows[i].no_questions,
                        .shared = rows[i].shared};
            snprintf(needs, sizeof(needs), "This needs the capability %s", rows[i].needs);
            assert_int_equal(wires_open(&w, asking_server(0)), MCP_OK);
            asking_connect(&w, "2026-07-28", rows[i].principal, "");
            wires_has(asking_say(&w, "tools/call", rows[i].call, rows[i].capabilities), needs);
            assert_int_equal(w.runs, 1);
            close_all(&w);
        }
    }
}

/* A session declares what its callers declared. Lists and completions use any session. */
static void test_sessions(void **state)
{
    (void)state;
    static wires w;
    static const char *const capabilities[] = {"{}", ASKING_CAPABILITIES};
    open_all(&w, "2025-11-25");
    for (size_t i = 0; i < 6; i++) {
        asking_connect(&w, "2026-07-28", "ann", "");
        wires_has(asking_say(&w, "tools/list", "\"a\":1", capabilities[1]), "up_ask");
        assert_int_equal(w.connects, i == 0 ? 1 : 2);
        asking_say(&w, "tools/call", CALL(""), capabilities[(i + 1) % 2]);
        assert_int_equal(w.connects, i == 0 ? 1 : 2);
        asking_say(&w, "tools/call", CALL(""), capabilities[i % 2]);
        assert_int_equal(w.connects, 2);
        asking_say(&w, "prompts/list", "\"a\":1", capabilities[i % 2]);
        assert_int_equal(w.connects, 2);
    }
    close_all(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),    cmocka_unit_test(test_text),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_not_asked),
        cmocka_unit_test(test_sessions), cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_complete), cmocka_unit_test(test_answer_text),
    };
    return cmocka_run_group_tests_name("upstream: questions", tests, NULL, NULL);
}
