/* test_question_result.c: input requests of a server in a result (modern) or in an error
 * (2025-11-25), and allocation failures.
 */
#include "question_rig.h"

/* ---- modern: results ------------------------------------------------------------------------- */

#define INPUT(members)               RESULT("{\"resultType\":\"input_required\"," members "}")
#define REQUEST(key, method, params) "\"" key "\":{\"method\":\"" method "\",\"params\":" params "}"

static void test_rounds(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"tools/call",
         INPUT("\"requestState\":\"{\\\"a\\\":1}\\u0001é\",\"inputRequests\":{" REQUEST(
             "k\\\"1", "elicitation/create",
             FORM) "," REQUEST("k2", "sampling/createMessage",
                               SAMPLE) "," REQUEST("k3", "roots/list", "{}") "}")},
        {"tools/call", INPUT("\"requestState\":\"two\"")},
        {"tools/call", INPUT("\"inputRequests\":{" REQUEST("u", "elicitation/create", URL) "}")},
        {"tools/call", RESULT("{\"content\":[],\"x\":1}")},
    };
    program p;
    mcp_client_options o = options_of(&p);
    mcp_call_id call = 0;
    fake *f = &p.fake;
    fake_open(f, replies, &o);
    mcp_client_start(f->client, NULL, NULL);
    fake_run(f);
    mcp_client_call_tool(
        f->client, "t", "{\"a\":1}",
        MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = f, .timeout_ms = 50), &call);
    fake_run(f);
    f->now += 1000000; /* the user may take a long time */
    fake_run(f);
    assert_int_equal(p.asked, 3);
    assert_int_equal(f->done, 0);
    assert_int_equal(mcp_question_call(p.open[0]), call);
    assert_int_equal(answer(p.open[2], ROOTS), MCP_OK);
    assert_int_equal(answer(p.open[0], DECLINE), MCP_OK);
    fake_run(f);
    size_t before = f->n_sent;
    p.act = ACCEPT;
    assert_int_equal(answer(p.open[1], SAMPLED_IT), MCP_OK);
    fake_run(f);
    assert_int_equal(f->done, 1);
    assert_int_equal(f->rc, MCP_OK);
    assert_string_equal(f->result, "{\"content\":[],\"x\":1}");
    assert_int_equal(f->n_sent, before + 3);
    assert_contains(f->sent[before],
                    "\"params\":{\"name\":\"t\",\"arguments\":{\"a\":1},\"requestState\":"
                    "\"{\\\"a\\\":1}\\u0001é\",\"inputResponses\":{\"k\\\"1\":{\"action\":"
                    "\"decline\"},\"k2\":" SAMPLED
                    ",\"k3\":{\"roots\":[{\"uri\":\"file:///a\",\"name\":\"A\"},{\"uri\":"
                    "\"file:///b\"}]}},\"_meta\":{");
    assert_contains(f->sent[before + 1],
                    "\"arguments\":{\"a\":1},\"requestState\":\"two\",\"_meta\"");
    assert_contains(f->sent[before + 2],
                    "\"arguments\":{\"a\":1},\"inputResponses\":{\"u\":{\"action\":\"accept\"}},"
                    "\"_meta\"");
    for (size_t i = before; i < f->n_sent; i++) { /* each request has a new id */
        char id[32];
        snprintf(id, sizeof(id), "\"id\":%zu,", i + 1);
        assert_contains(f->sent[i], id);
    }
    fake_close(f);
}

static void test_rounds_that_fail(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        act act;
        int rc;
        const char *text;
    } lines[] = {
        {INPUT("\"inputRequests\":{" REQUEST("a", "tools/call", "{}") "}"), LATER, MCP_EPROTOCOL,
         "/result/inputRequests/a/method: expected \"elicitation/create\" or"},
        {INPUT("\"inputRequests\":{" REQUEST("a", "elicitation/create", "{}") "}"), LATER,
         MCP_EPROTOCOL, "/result/inputRequests/a/params/message: expected string, got nothing"},
        {INPUT("\"inputRequests\":{\"a\":7}"), LATER, MCP_EPROTOCOL,
         "/result/inputRequests/a: expected object"},
        {INPUT("\"inputRequests\":[]"), LATER, MCP_EPROTOCOL,
         "/result/inputRequests: expected object"},
        {INPUT("\"requestState\":7"), LATER, MCP_EPROTOCOL,
         "/result/requestState: expected string"},
        {INPUT("\"x\":7"), LATER, MCP_EPROTOCOL, "request for input"},
        {INPUT("\"requestState\":\"\""), LATER, MCP_ELIMIT, "max_rounds"},
        {INPUT("\"inputRequests\":{" REQUEST("a", "elicitation/create", FORM) "}"), DECLINE,
         MCP_ELIMIT, "max_rounds"},
        {INPUT("\"inputRequests\":{" REQUEST("a", "elicitation/create", FORM) "," REQUEST(
             "b", "elicitation/create", FORM) "}"),
         FAIL, MCP_ECANCELLED, "rejected by the user"},
        {INPUT("\"inputRequests\":{" REQUEST("a", "elicitation/create", FORM) "," REQUEST(
             "b", "elicitation/create", FORM) "," REQUEST("c", "elicitation/create", FORM) "}"),
         DECLINE, MCP_ELIMIT, "max_questions"},
    };
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        fake_reply replies[FAKE_REPLIES] = {MODERN, {"prompts/get", lines[i].answer}};
        program p;
        mcp_client_options o = options_of(&p);
        fake *f = &p.fake;
        o.max_rounds = 3;
        o.max_questions = 2;
        fake_open(f, replies, &o);
        p.act = lines[i].act;
        mcp_client_call(f->client, "prompts/get", "{\"name\":\"p\"}", fake_done, f);
        fake_run(f);
        assert_int_equal(f->done, 1);
        assert_int_equal(f->rc, lines[i].rc);
        assert_contains(f->text, lines[i].text);
        fake_close(f);
    }
}

/* Without a callback for questions nothing is answered. */
static void test_not_declared(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"tools/call", INPUT("\"inputRequests\":{" REQUEST("a", "elicitation/create", FORM) "}")}};
    fake f;
    fake_open(&f, replies, MCP_OPTIONS(mcp_client_options, .elicit_url = on_question));
    mcp_client_call(f.client, "tools/call", NULL, fake_done, &f);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_EUNSUPPORTED);
    fake_close(&f);
}

static void test_cancel_with_questions(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"tools/call", INPUT("\"inputRequests\":{" REQUEST("a", "elicitation/create", FORM) "}")}};
    program p;
    mcp_client_options o = options_of(&p);
    mcp_call_id call = 0;
    fake *f = &p.fake;
    fake_open(f, replies, &o);
    mcp_client_request(f->client, "tools/call", NULL,
                       MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = f), &call);
    fake_run(f);
    mcp_client_cancel(f->client, call, NULL);
    fake_run(f);
    assert_int_equal(f->rc, MCP_ECANCELLED);
    assert_int_equal(p.withdrawn, 1);
    assert_string_equal(f->methods, "server/discover tools/call ");
    assert_int_equal(answer(p.open[0], ACCEPT), MCP_OK);
    fake_run(f);
    assert_string_equal(f->methods, "server/discover tools/call ");
    fake_close(f);
}

/* ---- 2025-11-25: the error that names addresses ---------------------------------------------- */

#define REQUIRED(list) \
    ERROR("-32042", ",\"message\":\"log in\",\"data\":{\"elicitations\":" list "}")
#define COMPLETE(id)                                                                      \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\",\"params\":{" \
    "\"elicitationId\":\"" id "\"}}"

static void test_urls(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        LEGACY("2025-11-25"), {"m", REQUIRED("[" URL "]")}, {"m", RESULT("{\"x\":1}")}};
    for (int how = 0; how < 4; how++) {
        program p;
        mcp_client_options o = options_of(&p);
        fake *f = &p.fake;
        fake_open(f, replies, &o);
        mcp_client_call(f->client, "m", NULL, fake_done, f);
        p.act = how == 3 ? DECLINE : ACCEPT;
        f->until = f->now + 1000;
        fake_run(f);
        assert_int_equal(p.asked, 1);
        assert_int_equal(f->done, how == 3);
        if (how == 0) { /* a notification says that it is complete: repeat at once */
            fake_deliver(f, COMPLETE("other"), "", 0);
            fake_run(f);
            assert_int_equal(f->done, 0);
            fake_deliver(f, COMPLETE("e1"), "", 0);
            fake_deliver(f, COMPLETE("e1"), "", 0); /* once */
        } else if (how == 1) {
            f->until = 0; /* without a notification: repeat after a time-out */
        } else if (how == 2) {
            mcp_client_disconnected(f->client, NULL);
            assert_int_equal(f->rc, MCP_ECLOSED);
        }
        if (how != 2)
            fake_run(f);
        assert_int_equal(f->done, 1);
        assert_int_equal(f->rc, how < 2 ? MCP_OK : how == 2 ? MCP_ECLOSED : MCP_EREMOTE);
        assert_string_equal(p.completed, how == 0 ? "e1 " : "");
        if (how == 3)
            assert_string_equal(f->text, "log in");
        fake_close(f);
    }
}

/* A URL in a separate request: the program is notified of its completion. */
static void test_url_of_a_request(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25")};
    program p;
    mcp_client_options o = options_of(&p);
    fake *f = &p.fake;
    fake_open(f, replies, &o);
    mcp_client_start(f->client, NULL, NULL);
    fake_run(f);
    p.act = ACCEPT;
    fake_deliver(f, COMPLETE("e1"), "", 0); /* unknown */
    fake_deliver(f, ASK("1", "elicitation/create", URL), "", 0);
    fake_run(f);
    fake_deliver(f, COMPLETE("e1"), "", 0);
    fake_deliver(f, COMPLETE("e1"), "", 0);
    assert_string_equal(p.completed, "e1 ");
    fake_close(f);
}

static void test_urls_that_are_no_good(void **state)
{
    (void)state;
    static const char *const answers[] = {REQUIRED("[]"),
                                          REQUIRED("7"),
                                          REQUIRED("[7]"),
                                          REQUIRED("[" FORM "]"),
                                          ERROR("-32042", ",\"message\":\"log in\""),
                                          REQUIRED("[{\"mode\":\"url\"}]")};
    for (size_t i = 0; i < MCP__COUNT(answers); i++) {
        fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25"), {"m", answers[i]}};
        program p;
        mcp_client_options o = options_of(&p);
        fake *f = &p.fake;
        fake_open(f, replies, &o);
        mcp_client_call(f->client, "m", NULL, fake_done, f);
        fake_run(f);
        assert_int_equal(f->rc, MCP_EREMOTE);
        assert_string_equal(f->text, "log in");
        assert_int_equal(p.asked, 0);
        fake_close(f);
    }
}

/* ---- without memory -------------------------------------------------------------------------- */

static void test_no_memory(void **state)
{
    (void)state;
    static const mcp_root root = {.size = sizeof(root), .uri = "file:///"};
    static const fake_reply modern[FAKE_REPLIES] = {
        MODERN,
        {"tools/call",
         INPUT("\"requestState\":\"s\",\"inputRequests\":{" REQUEST(
             "a", "elicitation/create", FORM) "," REQUEST("b", "roots/list", "{}") "}")},
        {"tools/call", RESULT("{\"content\":[]}")}};
    static const fake_reply legacy[FAKE_REPLIES] = {
        LEGACY("2025-11-25"),
        {"tools/call", ASK("\"q\"", "elicitation/create",
                           FORM) "\n" ASK("\"r\"", "roots/list", "{}") "\n" REQUIRED("[" URL "]")},
        {"tools/call", COMPLETE("e1") "\n" RESULT("{\"content\":[]}")}};
    const fake_reply *const scripts[] = {modern, legacy};
    for (size_t s = 0; s < 2; s++) {
        bool ended = false;
        for (size_t n = 1; !ended; n++) {
            failalloc a = {.fail_at = n};
            mcp_allocator allocator = failalloc_allocator(&a);
            program p;
            mcp_client_options o = options_of(&p);
            fake *f = &p.fake;
            o.allocator = &allocator;
            o.roots = NULL;
            int rc = fake_open(f, scripts[s], &o);
            if (rc == MCP_OK) {
                (void)mcp_client_set_roots(f->client, &root, 1);
                rc = mcp_client_call_tool(
                    f->client, "t", NULL,
                    MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = f), NULL);
                fake_run(f);
                for (size_t i = 0; i < p.asked; i++) { /* repeat it after MCP_ENOMEM */
                    int again = answer(p.open[i], ACCEPT);
                    if (again == MCP_ENOMEM)
                        again = answer(p.open[i], ACCEPT);
                    assert_int_equal(again, MCP_OK);
                }
                fake_run(f);
                assert_int_equal(f->done, rc == MCP_OK);
            }
            fake_close(f);
            assert_int_equal(a.live, 0);
            ended = a.calls < n;
            if (ended)
                assert_int_equal(f->rc, MCP_OK);
        }
    }
}

/* ---- answers that the program forwards ------------------------------------------------------ */

static void run_as_is(program *p, const fake_reply *replies, const mcp_allocator *allocator)
{
    fake *f = &p->fake;
    mcp_client_options o = options_of(p);
    o.allocator = allocator;
    int rc = fake_open(f, replies, &o);
    if (rc == MCP_OK) {
        rc = mcp_client_call_tool(f->client, "t", NULL,
                                  MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = f,
                                              .as_is = true, .once = true,
                                              .capabilities = "{\"elicitation\":{\"url\":{}}}"),
                                  NULL);
        fake_run(f);
        assert_int_equal(f->done, rc == MCP_OK);
        assert_int_equal(p->asked, 0);
    }
}

static void test_as_is(void **state)
{
    (void)state;
    static const fake_reply modern[FAKE_REPLIES] = {
        MODERN,
        {"tools/call", INPUT("\"requestState\":\"s\",\"inputRequests\":{" REQUEST(
                           "a", "elicitation/create", FORM) "}")}};
    static const fake_reply legacy[FAKE_REPLIES] = {LEGACY("2025-11-25"),
                                                    {"tools/call", REQUIRED("[" URL "]")}};
    program p;
    run_as_is(&p, modern, NULL);
    assert_int_equal(p.fake.rc, MCP_INPUT_REQUIRED);
    assert_non_null(strstr(p.fake.result, "\"requestState\":\"s\""));
    const char *sent = p.fake.sent[p.fake.n_sent - 1];
    assert_non_null(strstr(sent, "clientCapabilities\":{\"elicitation\":{\"url\":{}}}"));
    fake_close(&p.fake);
    run_as_is(&p, legacy, NULL);
    assert_int_equal(p.fake.rc, MCP_EREMOTE);
    assert_null(strstr(p.fake.sent[p.fake.n_sent - 1], "Capabilities"));
    fake_close(&p.fake);
    bool ended = false;
    for (size_t n = 1; !ended; n++) {
        failalloc a = {.fail_at = n};
        mcp_allocator allocator = failalloc_allocator(&a);
        run_as_is(&p, modern, &allocator);
        fake_close(&p.fake);
        assert_int_equal(a.live, 0);
        ended = a.calls < n;
    }
}

static void test_capabilities_that_are_no_good(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "{", "[]", "1"};
    static const fake_reply replies[FAKE_REPLIES] = {MODERN};
    program p;
    mcp_client_options o = options_of(&p);
    assert_int_equal(fake_open(&p.fake, replies, &o), MCP_OK);
    for (size_t i = 0; i < MCP__COUNT(texts); i++) {
        assert_int_equal(
            mcp_client_call_tool(p.fake.client, "t", NULL,
                                 MCP_OPTIONS(mcp_call_options, .capabilities = texts[i]), NULL),
            MCP_EPARSE);
    }
    fake_close(&p.fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_is),
        cmocka_unit_test(test_capabilities_that_are_no_good),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_rounds_that_fail),
        cmocka_unit_test(test_not_declared),
        cmocka_unit_test(test_cancel_with_questions),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_url_of_a_request),
        cmocka_unit_test(test_urls_that_are_no_good),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
