/* test_question.c: the capabilities that a client declares, and the requests of a legacy server. */
#include "question_rig.h"

/* ---- capabilities ---------------------------------------------------------------------------- */

static void test_capabilities(void **state)
{
    (void)state;
    static const mcp_root root = {.size = sizeof(root), .uri = "file:///"};
    static const struct {
        bool form, url, sample, tools, context, roots, list;
        const char *revision, *expected;
    } lines[] = {
        {.revision = "2026-07-28", .expected = "{}"},
        {true, .revision = "2026-07-28", .expected = "{\"elicitation\":{\"form\":{}}}"},
        {true, true, .revision = "2025-11-25",
         .expected = "{\"elicitation\":{\"form\":{},\"url\":{}}}"},
        {.url = true, .revision = "2026-07-28", .expected = "{\"elicitation\":{\"url\":{}}}"},
        {true, true, .revision = "2025-06-18", .expected = "{\"elicitation\":{}}"},
        {.url = true, .revision = "2025-06-18", .expected = "{}"},
        {true, true, .revision = "2025-03-26", .expected = "{}"},
        {.sample = true,
         .tools = true,
         .context = true,
         .revision = "2026-07-28",
         .expected = "{\"sampling\":{\"tools\":{},\"context\":{}}}"},
        {.sample = true, .tools = true, .revision = "2025-06-18", .expected = "{\"sampling\":{}}"},
        {.tools = true, .revision = "2026-07-28", .expected = "{}"},
        {.roots = true, .revision = "2026-07-28", .expected = "{\"roots\":{}}"},
        {.roots = true, .revision = "2024-11-05", .expected = "{\"roots\":{\"listChanged\":true}}"},
        {.list = true, .revision = "2025-11-25", .expected = "{\"roots\":{\"listChanged\":true}}"},
    };
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        fake f;
        char expected[128];
        fake_open(&f, NULL,
                  MCP_OPTIONS(mcp_client_options, .elicit_form = lines[i].form ? on_question : NULL,
                              .elicit_url = lines[i].url ? on_question : NULL,
                              .sample = lines[i].sample ? on_question : NULL,
                              .roots = lines[i].roots ? on_question : NULL,
                              .sample_tools = lines[i].tools, .sample_context = lines[i].context,
                              .revision = lines[i].revision, .timeout_ms = 1));
        if (lines[i].list)
            assert_int_equal(mcp_client_set_roots(f.client, &root, 1), MCP_OK);
        mcp_client_start(f.client, NULL, NULL);
        mcp_channel_tick(f.channel, f.now);
        snprintf(expected, sizeof(expected), "apabilities\":%s", lines[i].expected);
        assert_contains(f.sent[0], expected);
        fake_close(&f);
    }
}

static void test_declared_texts(void **state)
{
    (void)state;
    static const mcp_icon icon = {.size = sizeof(icon), .src = "https://a.example/i.png"};
    mcp_client_options o = {.size = sizeof(o),
                            .description = "d",
                            .website_url = "https://a.example",
                            .icons = &icon,
                            .n_icons = 1,
                            .extensions = "{ \"a/b\" : {} }",
                            .experimental = "{\"x\":{}}"};
    static const char *const revisions[] = {"2026-07-28", "2025-11-25", "2025-06-18"};
    for (size_t i = 0; i < 3; i++) {
        fake f;
        o.revision = revisions[i];
        fake_open(&f, NULL, &o);
        mcp_client_start(f.client, NULL, NULL);
        mcp_channel_tick(f.channel, f.now);
        assert_true((i < 2) == (strstr(f.sent[0], "\"description\":\"d\",\"websiteUrl\":"
                                                  "\"https://a.example\",\"icons\":[{\"src\":"
                                                  "\"https://a.example/i.png\"}]}") != NULL));
        assert_contains(f.sent[0], "\"experimental\":{\"x\":{}}");
        assert_contains(f.sent[0], "\"extensions\":{\"a/b\":{}}"); /* in all revisions */
        fake_close(&f);
    }
    mcp_client *client = NULL;
    mcp_error error = {0};
    assert_int_equal(mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "n", .version = "1",
                                                .extensions = "[]"),
                                    &client, &error),
                     MCP_EINVAL);
    assert_contains(error.text, "\"extensions\"");
}

/* ---- legacy: requests ------------------------------------------------------------------------ */

static const struct {
    act act;
    const char *ask, *answer;
} requests_cases[] = {
    {ACCEPT, ASK("\"x\"", "elicitation/create", FORM),
     "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{\"action\":\"accept\",\"content\":{"
     "\"name\":"
     "\"n\",\"age\":7}}}"},
    {DECLINE, ASK("-5", "elicitation/create", FORM),
     "{\"jsonrpc\":\"2.0\",\"id\":-5,\"result\":{\"action\":\"decline\"}}"},
    {CANCEL, ASK("12345678901234567890123", "elicitation/create", URL),
     "{\"jsonrpc\":\"2.0\",\"id\":12345678901234567890123,\"result\":{\"action\":\"cancel\"}}"},
    {ACCEPT, ASK("0", "elicitation/create", URL),
     "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"action\":\"accept\"}}"},
    {SAMPLED_IT, ASK("1", "sampling/createMessage", SAMPLE),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" SAMPLED "}"},
    {SAMPLED_IT, /* as a task, which the client has not declared */
     ASK("1", "sampling/createMessage", "{\"messages\":[],\"maxTokens\":9,\"task\":{\"ttl\":1}}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" SAMPLED "}"},
    {ROOTS, ASK("1", "roots/list", "{}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[{\"uri\":\"file:///a\",\"name\":"
     "\"A\"},{\"uri\":\"file:///b\"}]}}"},
    {FAIL, ASK("1", "sampling/createMessage", SAMPLE),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"rejected by the "
     "user\"}}"},
    /* requests that are rejected without a call of the program */
    {LATER, ASK("1", "elicitation/create", "{\"mode\":\"mind\",\"message\":\"\"}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"},
    {LATER, ASK("1", "elicitation/create", "{\"message\":\"\"}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"},
    {LATER, ASK("1", "elicitation/create", "{\"mode\":\"url\",\"message\":\"\"}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"},
    {LATER, ASK("1", "sampling/createMessage", "{\"messages\":{}}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"},
    {LATER,
     ASK("1", "sampling/createMessage",
         "{\"messages\":[{\"role\":\"system\",\"content\":{\"type\":\"text\",\"text\":\"x\"}}],"
         "\"maxTokens\":9}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"sampling/"
     "createMessage is "
     "malformed: /params/messages/0/role: expected \\\"assistant\\\" or \\\"user\\\", got "
     "\\\"system\\\"\"}}"},
    {LATER,
     ASK("1", "sampling/createMessage",
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":null}]}],"
         "\"maxTokens\":9}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"sampling/"
     "createMessage is "
     "malformed: /params/messages/0/content/0/text: expected string, got null\"}}"},
    {LATER,
     ASK("1", "sampling/createMessage", "{\"messages\":[{\"role\":\"user\"}],\"maxTokens\":9}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"sampling/"
     "createMessage is "
     "malformed: /params/messages/0/content: expected "},
    {LATER, ASK("1", "sampling/createMessage", "{\"messages\":[]}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"sampling/"
     "createMessage is "
     "malformed: /params/maxTokens: expected integer, got nothing\"}}"},
    {SAMPLED_IT,
     ASK("1", "sampling/createMessage",
         "{\"messages\":[],\"maxTokens\":9,\"tools\":null,\"toolChoice\":null,\"temperature\":"
         "null}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" SAMPLED "}"},
    {LATER, ASK("1", "sampling/createMessage", "{\"messages\":[],\"maxTokens\":9,\"tools\":[]}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"},
    {LATER, ASK("1", "tasks/list", "{}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,"},
};

static void test_requests(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25")};
    for (size_t i = 0; i < MCP__COUNT(requests_cases); i++) {
        for (int later = 0; later < 2; later++) {
            program p;
            mcp_client_options o = options_of(&p);
            fake *f = &p.fake;
            assert_int_equal(fake_open(f, replies, &o), MCP_OK);
            mcp_client_start(f->client, NULL, NULL);
            fake_run(f);
            p.act = later ? LATER : requests_cases[i].act;
            size_t before = f->n_sent;
            fake_deliver(f, requests_cases[i].ask, "", 0);
            fake_run(f);
            if (later && requests_cases[i].act != LATER) {
                assert_int_equal(f->n_sent, before);
                assert_int_equal(p.asked, 1);
                assert_int_equal(answer(p.open[0], requests_cases[i].act), MCP_OK);
                fake_run(f);
            }
            assert_int_equal(f->n_sent, before + 1);
            assert_memory_equal(fake_last(f), requests_cases[i].answer,
                                strlen(requests_cases[i].answer));
            assert_int_equal(p.asked, requests_cases[i].act != LATER);
            assert_int_equal(p.withdrawn, 0);
            fake_close(f);
        }
    }
}

#define USE(id)   "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"t\",\"input\":{}}"
#define GIVEN(id) "{\"type\":\"tool_result\",\"toolUseId\":\"" id "\",\"content\":[]}"
#define SAID      "{\"type\":\"text\",\"text\":\"x\"}"
#define MODEL(c)  "{\"role\":\"assistant\",\"content\":[" c "]}"
#define HUMAN(c)  "{\"role\":\"user\",\"content\":[" c "]}"

/* Each tool_use has its tool_result in the next message, which has nothing else (2025-11-25 and
 * 2026-07-28, client/sampling, "Message Content Constraints", "Error Handling"). tests/unit/server/
 * test_sample.c compares these rules with a model. */
static void test_sampled_tools(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25")};
    static const struct {
        const char *messages, *problem; /* NULL: the program is asked */
    } cases[] = {
        {HUMAN(SAID) "," MODEL(SAID "," USE("1") "," USE("2")) "," HUMAN(GIVEN("2") "," GIVEN("1")),
         NULL},
        {MODEL(USE("1") "," USE("2")) "," HUMAN(GIVEN("1")),
         "message 2: it has no tool_result for a tool_use of the previous message"},
        {MODEL(USE("1")) "," HUMAN(SAID),
         "message 2: it has no tool_result for a tool_use of the previous message"},
        {HUMAN(SAID) "," MODEL(USE("1")), "message 2: no tool_result follows its tool_use"},
        {MODEL(USE("1")) "," HUMAN(GIVEN("1") "," SAID),
         "message 2: it has other content beside its tool_results"},
        {HUMAN(GIVEN("1")), "message 1: a tool_result refers to no tool_use"},
        {MODEL(USE("1")) "," MODEL(GIVEN("1")), "message 2: only a user message"},
        {HUMAN(USE("1")), "message 1: a user message must not have a tool_use"},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        for (int declared = 0; declared < 2; declared++) {
            program p;
            char ask[2048], expected[256];
            mcp_client_options o = options_of(&p);
            fake *f = &p.fake;
            o.sample_tools = declared;
            fake_open(f, replies, &o);
            mcp_client_start(f->client, NULL, NULL);
            fake_run(f);
            snprintf(ask, sizeof(ask),
                     ASK("1", "sampling/createMessage", "{\"maxTokens\":9,\"messages\":[%s]}"),
                     cases[i].messages);
            fake_deliver(f, ask, "", 0);
            fake_run(f);
            assert_int_equal(p.asked, declared && !cases[i].problem);
            if (!p.asked) {
                assert_contains(fake_last(f), "\"error\":{\"code\":-32602,");
                snprintf(expected, sizeof(expected), "%s",
                         cases[i].problem ? cases[i].problem : "did not declare sampling.tools");
                assert_contains(fake_last(f), expected);
            }
            fake_close(f);
        }
    }
}

/* The client answers with the roots that were set, and notifies the server of changes. */
static void test_set_roots(void **state)
{
    (void)state;
    static const mcp_root one[] = {{.size = sizeof(mcp_root), .uri = "file:///one"}},
                          bad[] = {{.size = sizeof(mcp_root), .name = "x"}};
    static const fake_reply scripts[2][FAKE_REPLIES] = {{LEGACY("2025-06-18")}, {MODERN}};
    for (int modern = 0; modern < 2; modern++) {
        fake f;
        fake_open(&f, scripts[modern], MCP_OPTIONS(mcp_client_options, .title = NULL));
        assert_int_equal(mcp_client_set_roots(f.client, bad, 1), MCP_EINVAL);
        assert_int_equal(mcp_client_set_roots(f.client, NULL, 0), MCP_OK);
        mcp_client_start(f.client, NULL, NULL);
        fake_run(&f);
        size_t before = f.n_sent;
        assert_int_equal(mcp_client_set_roots(f.client, one, 1), MCP_OK);
        fake_run(&f);
        assert_int_equal(f.n_sent, before + !modern);
        if (!modern) {
            assert_contains(fake_last(&f), "notifications/roots/list_changed");
            fake_deliver(&f, ASK("4", "roots/list", "{}"), "", 0);
            fake_run(&f);
            assert_string_equal(fake_last(&f),
                                "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"roots\":[{\"uri\":"
                                "\"file:///one\"}]}}");
        }
        fake_close(&f);
    }
}

/* A client has only the methods that it declared (2025-11-25, client/roots, "Error Handling"). */
static void test_not_declared(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25")};
    static const char *const asks[] = {ASK("1", "roots/list", "{}"),
                                       ASK("1", "sampling/createMessage", SAMPLE),
                                       ASK("1", "elicitation/create", FORM)};
    for (size_t i = 0; i < MCP__COUNT(asks); i++) {
        fake f;
        fake_open(&f, replies, MCP_OPTIONS(mcp_client_options, .title = NULL));
        mcp_client_start(f.client, NULL, NULL);
        fake_run(&f);
        fake_deliver(&f, asks[i], "", 0);
        fake_run(&f);
        assert_contains(fake_last(&f), "\"id\":1,\"error\":{\"code\":-32601,");
        fake_close(&f);
    }
}

/* Without memory for an answer, the server gets an error, or nothing if there is no memory for that
 * either. */
static void test_internal_error(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25")};
    static const mcp_root root = {.size = sizeof(root), .uri = "file:///"};
    size_t errors = 0;
    bool ended = false;
    for (size_t n = 1; !ended; n++) {
        failalloc a = {.fail_at = 0};
        mcp_allocator allocator = failalloc_allocator(&a);
        fake f;
        fake_open(&f, replies, MCP_OPTIONS(mcp_client_options, .allocator = &allocator));
        assert_int_equal(mcp_client_set_roots(f.client, &root, 1), MCP_OK);
        mcp_client_start(f.client, NULL, NULL);
        fake_run(&f);
        size_t before = f.n_sent;
        a.fail_at = a.calls + n;
        fake_deliver(&f, ASK("1", "roots/list", "{}"), "", 0);
        fake_run(&f);
        ended = a.calls < a.fail_at;
        if (f.n_sent > before && !strstr(fake_last(&f), "file:///")) {
            assert_contains(fake_last(&f), "\"id\":1,\"error\":{\"code\":-32603,");
            errors++;
        }
        assert_true(!ended || f.n_sent > before);
        fake_close(&f);
        assert_int_equal(a.live, 0);
    }
    assert_true(errors > 0);
}

/* If the server cancels a question, another one, or the connection is closed, the program is notified. It may
 * still answer. */
static void test_withdrawn(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25")};
    for (int how = 0; how < 3; how++) {
        program p;
        mcp_client_options o = options_of(&p);
        fake *f = &p.fake;
        fake_open(f, replies, &o);
        mcp_client_start(f->client, NULL, NULL);
        fake_run(f);
        fake_deliver(f, ASK("\"q\"", "elicitation/create", FORM), "", 0);
        size_t before = f->n_sent;
        if (how == 0)
            fake_deliver(f,
                         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
                         "{\"requestId\":\"q\"}}",
                         "", 0);
        else if (how == 1)
            mcp_client_disconnected(f->client, NULL);
        else
            fake_deliver(f,
                         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
                         "{\"requestId\":\"another\"}}",
                         "", 0);
        assert_int_equal(p.withdrawn, how < 2);
        if (how < 2) {
            assert_int_equal(mcp_question_call(p.open[0]), 0);
            assert_int_equal(mcp_question_accept(p.open[0], "{\"name\":\"x\"}", NULL), MCP_OK);
        }
        if (how == 0)
            fake_run(f);
        assert_int_equal(f->n_sent, before);
        fake_close(f); /* with the question open the third time */
    }
}

/* While a question is open no call times out. Afterwards the full time-out of each call starts
 * again. */
static void test_time_to_think(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25"), {"m", NULL}};
    for (int http = 0; http < 2; http++) {
        for (int withdrawn = 0; withdrawn < 2; withdrawn++) {
            program p;
            mcp_client_options o = options_of(&p);
            mcp_call_id call = 0;
            fake *f = &p.fake;
            fake_open_as(f, replies, &o, http);
            mcp_client_request(
                f->client, "m", NULL,
                MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = f, .timeout_ms = 100),
                &call);
            f->until = f->now + 50;
            fake_run(f);
            fake_deliver_on(f, http ? f->exchange[f->n_sent - 1] : 0,
                            MCP_STR(ASK("\"q\"", "elicitation/create", FORM)), (mcp_str){0});
            assert_int_equal(mcp_question_call(p.open[0]), http ? call : 0);
            f->now = f->until = f->now + 100000;
            fake_run(f);
            assert_int_equal(f->done, 0);
            if (withdrawn)
                fake_deliver(f,
                             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                             "\"params\":{\"requestId\":\"q\"}}",
                             "", 0);
            answer(p.open[0], DECLINE);
            int64_t answered = f->now;
            f->until = 0;
            fake_run(f);
            assert_int_equal(f->rc, MCP_ETIMEOUT);
            assert_int_equal(f->now, answered + 100);
            fake_close(f);
        }
    }
}

static void test_wrong_answers(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25")};
    program p;
    mcp_client_options o = options_of(&p);
    mcp_error error = {0};
    fake *f = &p.fake;
    fake_open(f, replies, &o);
    mcp_client_start(f->client, NULL, NULL);
    fake_run(f);
    fake_deliver(f, ASK("1", "elicitation/create", FORM), "", 0);
    fake_deliver(f, ASK("2", "sampling/createMessage", SAMPLE), "", 0);
    fake_deliver(f, ASK("3", "elicitation/create", URL), "", 0);
    mcp_question *form = p.open[0], *sample = p.open[1], *url = p.open[2];
    assert_int_equal(mcp_question_kind_of(form), MCP_QUESTION_FORM);
    assert_string_equal(mcp_question_message(form).ptr, "who?");
    assert_non_null(mcp_question_schema(form));
    assert_null(mcp_question_schema(url));
    assert_int_equal(mcp_question_message(sample).len, 0);
    assert_true(mcp_str_eq(mcp_question_url(url), MCP_STR("https://a.example/x")));
    assert_true(mcp_str_eq(mcp_question_elicitation_id(url), MCP_STR("e1")));
    assert_int_equal(mcp_question_url(form).len, 0);

    assert_int_equal(mcp_question_accept(form, "{}", &error), MCP_EINVAL);
    assert_contains(error.text, "name");
    assert_int_equal(mcp_question_accept(form, "{\"name\":7}", &error), MCP_EINVAL);
    assert_int_equal(mcp_question_accept(form, "[]", &error), MCP_EINVAL);
    assert_int_equal(mcp_question_accept(form, "{", &error), MCP_EPARSE);
    assert_int_equal(mcp_question_sampled(form, SAMPLED, &error), MCP_ESTATE);
    assert_int_equal(mcp_question_roots(form, NULL, 0, &error), MCP_ESTATE);
    assert_int_equal(mcp_question_accept(sample, NULL, &error), MCP_ESTATE);
    assert_int_equal(mcp_question_decline(sample), MCP_ESTATE);
    assert_int_equal(mcp_question_accept(url, "{}", &error), MCP_ESTATE);
    assert_int_equal(mcp_question_sampled(sample, "{\"role\":\"assistant\"}", &error), MCP_EINVAL);
    assert_int_equal(mcp_question_sampled(sample, "[", &error), MCP_EPARSE);
    /* The questions are still open. */
    assert_int_equal(mcp_question_accept(form, "{\"name\":\"a\",\"age\":1}", &error), MCP_OK);
    assert_int_equal(mcp_question_fail(sample, 17, "because"), MCP_OK);
    size_t before = f->n_sent;
    fake_run(f);
    assert_int_equal(f->n_sent, before + 2);
    assert_contains(f->sent[before], "{\"name\":\"a\",\"age\":1}");
    assert_contains(f->sent[before + 1], "{\"code\":17,\"message\":\"because\"}");
    fake_close(f);
}

static void test_rate(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25")};
    program p;
    mcp_client_options o = options_of(&p);
    fake *f = &p.fake;
    o.questions_per_minute = 6;
    o.max_questions = 2;
    fake_open(f, replies, &o);
    mcp_client_start(f->client, NULL, NULL);
    fake_run(f);
    for (int i = 0; i < 3; i++) {
        fake_deliver(f, ASK("$", "elicitation/create", FORM), i ? i > 1 ? "2" : "1" : "0", 1);
        fake_run(f);
    }
    assert_int_equal(p.asked, 2);
    assert_contains(fake_last(f), "max_questions");
    assert_contains(fake_last(f), "-32603");
    assert_contains(fake_last(f), "\"retryAfterMs\":1000");
    p.act = DECLINE;
    answer(p.open[0], DECLINE), answer(p.open[1], DECLINE);
    fake_run(f);
    fake_deliver(f, ASK("5", "elicitation/create", FORM), "", 0); /* the third of three at once */
    fake_deliver(f, ASK("6", "elicitation/create", FORM), "", 0);
    fake_run(f);
    assert_int_equal(p.asked, 3);
    bool told = false;
    for (size_t i = 0; i < f->n_sent; i++)
        told |=
            strstr(f->sent[i], "questions_per_minute") && strstr(f->sent[i], "retryAfterMs\":1000");
    assert_true(told); /* 10 s for one question: */
    f->now += 10000;
    fake_deliver(f, ASK("7", "elicitation/create", FORM), "", 0);
    assert_int_equal(p.asked, 4);
    fake_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capabilities),   cmocka_unit_test(test_declared_texts),
        cmocka_unit_test(test_requests),       cmocka_unit_test(test_sampled_tools),
        cmocka_unit_test(test_set_roots),      cmocka_unit_test(test_not_declared),
        cmocka_unit_test(test_internal_error), cmocka_unit_test(test_withdrawn),
        cmocka_unit_test(test_time_to_think),  cmocka_unit_test(test_wrong_answers),
        cmocka_unit_test(test_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
