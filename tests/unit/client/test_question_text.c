/* test_question_text.c: a program that forwards questions and answers as text. */
#include "question_rig.h"

#define DIGITS "[1.0000000000000000000000001,1e999, 12345678901234567890123,\"\\u0041\"]"

static void open_with(program *p, const fake_reply *replies, const mcp_allocator *allocator)
{
    mcp_client_options o = options_of(p);
    o.allocator = allocator;
    if (fake_open(&p->fake, replies, &o) == MCP_OK) {
        mcp_client_start(p->fake.client, NULL, NULL);
        fake_run(&p->fake);
    }
}

/* The question of a legacy server has the digits that it sent. */
static void test_params(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25")};
    program p;
    open_with(&p, replies, NULL);
    fake_deliver(&p.fake,
                 ASK("7", "elicitation/create",
                     "{\"message\":\"m\",\n\"requestedSchema\":{\"type\":\"object\",\"properties\":"
                     "{},\"x\":" DIGITS "}}"),
                 "", 0);
    fake_deliver(&p.fake, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"roots/list\"}", "", 0);
    assert_int_equal(p.asked, 2);
    mcp_str text = mcp_question_params_text(p.open[0]);
    assert_true(mcp_str_eq(
        text,
        MCP_STR("{\"message\":\"m\", "
                "\"requestedSchema\":{\"type\":\"object\",\"properties\":{},\"x\":" DIGITS "}}")));
    assert_true(mcp_str_eq(mcp_question_params_text(p.open[1]), MCP_STR("{}")));
    fake_close(&p.fake);
}

#define BLOCK(text)        "{\"type\":\"text\",\"text\":\"" text "\",\"n\":1.0}"
#define RESULT_OF(content) "{\"role\":\"assistant\",\"model\":\"m\",\"content\":" content "}"

static void test_answers(void **state)
{
    (void)state;
    static const struct {
        const char *revision, *method, *params, *given, *sent;
    } lines[] = {
        /* neither the schema nor its defaults matter */
        {"2025-11-25", "elicitation/create", FORM,
         "{\"action\":\"accept\",\n\"content\":{\"x\":" DIGITS
         "},\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/related-task\":1,"
         "\"k\":2.50}}",
         "\"id\":7,\"result\":{\"action\":\"accept\",\"content\":{\"x\":" DIGITS
         "},\"_meta\":{\"k\":2.50}}}"},
        {"2025-11-25", "sampling/createMessage", SAMPLE,
         RESULT_OF("[" BLOCK("a") "," BLOCK("b") "]"),
         "\"result\":" RESULT_OF("[" BLOCK("a") "," BLOCK("b") "]")},
        /* a question of a task is answered with the name of the task */
        {"2025-11-25", "roots/list",
         "{\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t 1\"}}}",
         "{\"roots\":[],\"_meta\":{\"io.modelcontextprotocol/related-task\":1,\"k\":2.50}}",
         "\"result\":{\"roots\":[],\"_meta\":{\"k\":2.50,"
         "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t 1\"}}}}"},
        {"2025-06-18", "roots/list",
         "{\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t 1\"}}}",
         "{\"roots\":[]}", "\"result\":{\"roots\":[]}}"},
        {"2025-06-18", "sampling/createMessage", SAMPLE, RESULT_OF("[" BLOCK("a") "]"),
         "\"result\":" RESULT_OF(BLOCK("a"))},
        {"2025-06-18", "sampling/createMessage", SAMPLE,
         RESULT_OF("[" BLOCK("a") ",{\"type\":\"tool_use\"}," BLOCK("b") "]"),
         "\"result\":" RESULT_OF("{\"type\":\"text\",\"text\":\"a\\nb\"}")},
        {"2024-11-05", "sampling/createMessage", SAMPLE, RESULT_OF("[]"),
         "\"result\":" RESULT_OF("{\"type\":\"text\",\"text\":\"\"}")},
        {"2024-11-05", "roots/list", "{}", "{\"roots\":[{\"uri\":\"file:///\",\"x\":1.0}]}",
         "\"result\":{\"roots\":[{\"uri\":\"file:///\",\"x\":1.0}]}"},
        {"2024-11-05", "roots/list", "{}", "{}", "\"result\":{}"},
    };
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        char hello[128], request[512];
        snprintf(hello, sizeof(hello),
                 RESULT("{\"protocolVersion\":\"%s\",\"capabilities\":{}," SERVER "}"),
                 lines[i].revision);
        const fake_reply replies[FAKE_REPLIES] = {{"server/discover", ERROR("-32601", "")},
                                                  {"initialize", hello}};
        program p;
        open_with(&p, replies, NULL);
        snprintf(request, sizeof(request),
                 "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":%s}", lines[i].method,
                 lines[i].params);
        fake_deliver(&p.fake, request, "", 0);
        assert_int_equal(p.asked, 1);
        static const char *const bad[] = {"", "{", "[]", "1"};
        for (size_t k = 0; k < MCP__COUNT(bad); k++) {
            mcp_error error;
            int rc = mcp_question_answer_text(p.open[0], mcp_str_from(bad[k]), &error);
            assert_int_equal(rc, k < 2 ? MCP_EPARSE : MCP_EINVAL);
            assert_int_equal(error.code, rc);
            assert_int_equal(mcp_question_fail_text(p.open[0], mcp_str_from(bad[k]), NULL), rc);
        }
        assert_int_equal(mcp_question_answer_text(p.open[0], mcp_str_from(lines[i].given), NULL),
                         MCP_OK);
        fake_run(&p.fake);
        assert_contains(fake_last(&p.fake), lines[i].sent);
        fake_close(&p.fake);
    }
}

static void test_failures(void **state)
{
    (void)state;
    static const struct {
        const char *given, *sent;
    } lines[] = {
        {"{\"code\":-1,\"message\":\"no\",\"data\":" DIGITS "}",
         "\"error\":{\"code\":-1,\"message\":\"no\",\"data\":" DIGITS "}"},
        {"{\"code\":5,\"message\":\"\"}", "\"error\":{\"code\":5,\"message\":\"\"}"},
        {"{\"code\":0,\"message\":\"x\"}", "\"error\":{\"code\":0,\"message\":\"x\"}"},
        {"{\"code\":99999999999}", "\"error\":{\"code\":-1,\"message\":\"\"}"},
        {"{}", "\"error\":{\"code\":-1,\"message\":\"\"}"},
    };
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25")};
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        program p;
        open_with(&p, replies, NULL);
        fake_deliver(&p.fake, ASK("7", "elicitation/create", FORM), "", 0);
        assert_int_equal(mcp_question_fail_text(p.open[0], mcp_str_from(lines[i].given), NULL),
                         MCP_OK);
        fake_run(&p.fake);
        assert_contains(fake_last(&p.fake), lines[i].sent);
        fake_close(&p.fake);
    }
}

/* An accepted URL is remembered, so that its completion is reported. */
static void test_completion(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25")};
    program p;
    open_with(&p, replies, NULL);
    fake_deliver(&p.fake, ASK("7", "elicitation/create", URL), "", 0);
    assert_int_equal(mcp_question_answer_text(p.open[0], MCP_STR("{\"action\":\"accept\"}"), NULL),
                     MCP_OK);
    fake_run(&p.fake);
    fake_deliver(&p.fake,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\","
                 "\"params\":{\"elicitationId\":\"e1\"}}",
                 "", 0);
    assert_string_equal(p.completed, "e1 ");
    fake_close(&p.fake);
}

/* A modern server gets the answer in the next round. */
static void test_rounds(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"tools/call",
         RESULT("{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":{\"method\":"
                "\"elicitation/create\",\"params\":" FORM "}}}")},
        {"tools/call", RESULT("{\"content\":[]}")}};
    program p;
    open_with(&p, replies, NULL);
    mcp_client_call(p.fake.client, "tools/call", "{\"name\":\"t\"}", fake_done, &p.fake);
    fake_run(&p.fake);
    assert_int_equal(p.asked, 1);
    assert_true(mcp_str_eq(mcp_question_params_text(p.open[0]), MCP_STR(FORM)));
    assert_int_equal(
        mcp_question_answer_text(p.open[0], MCP_STR("{\"action\":\"decline\",\"x\":1.00}"), NULL),
        MCP_OK);
    fake_run(&p.fake);
    assert_int_equal(p.fake.rc, MCP_OK);
    assert_contains(fake_last(&p.fake),
                    "\"inputResponses\":{\"k\":{\"action\":\"decline\",\"x\":1.00}}");
    fake_close(&p.fake);
}

static void test_no_memory(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-06-18")};
    for (int fails = 0; fails < 2; fails++) {
        bool ended = false;
        for (size_t n = 1; !ended; n++) {
            failalloc a = {.fail_at = n};
            mcp_allocator allocator = failalloc_allocator(&a);
            program p;
            open_with(&p, replies, &allocator);
            if (p.fake.channel)
                fake_deliver(&p.fake, ASK("7", "sampling/createMessage", SAMPLE), "", 0);
            for (int again = 0; p.asked && again < 2; again++) { /* repeat it after MCP_ENOMEM */
                int rc = fails ? mcp_question_fail_text(
                                     p.open[0],
                                     MCP_STR("{\"code\":3,\"message\":\"m\",\"data\":{}}"), NULL)
                               : mcp_question_answer_text(
                                     p.open[0],
                                     MCP_STR(RESULT_OF("[" BLOCK("a") "," BLOCK("b") "]")), NULL);
                if (rc == MCP_OK)
                    break;
                assert_int_equal(rc, MCP_ENOMEM);
                assert_int_equal(again, 0);
            }
            if (p.fake.channel)
                fake_run(&p.fake);
            ended = a.calls < n;
            if (ended)
                assert_contains(fake_last(&p.fake),
                                fails ? "\"error\":{\"code\":3" : "\"text\":\"a\\nb\"");
            fake_close(&p.fake);
            assert_int_equal(a.live, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_params),   cmocka_unit_test(test_answers),
        cmocka_unit_test(test_failures), cmocka_unit_test(test_completion),
        cmocka_unit_test(test_rounds),   cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
