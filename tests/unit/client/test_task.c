/* A tool call that becomes a task: what is sent, how often, and its one outcome. */
#include "fake_server.h"

#define EXTENSION "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"
#define MODERN                                                                                  \
    {                                                                                           \
        "server/discover",                                                                      \
            RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{" EXTENSION "}}") \
    }
#define LEGACY(more)                                                                              \
    {"server/discover", ERROR("-32601", "")},                                                     \
    {                                                                                             \
        "initialize",                                                                             \
            RESULT("{\"protocolVersion\":\"2025-11-25\"," SERVER ",\"capabilities\":{\"tasks\":{" \
                   "\"requests\":{\"tools\":{\"call\":{}}}" more "}}}")                           \
    }
#define STATE(status, more) "\"taskId\":\"t 1\",\"status\":\"" status "\"" more
#define CREATED             RESULT("{\"resultType\":\"task\"," STATE("working", ",\"pollIntervalMs\":5000") "}")
#define GOT(status, more)   RESULT("{\"resultType\":\"complete\"," STATE(status, more) "}")
#define TIMES                                                                                     \
    ",\"createdAt\":\"2026-01-01T00:00:00Z\",\"lastUpdatedAt\":\"2026-01-01T00:00:00Z\",\"ttl\":" \
    "null"
#define MADE RESULT("{\"task\":{" STATE("working", TIMES ",\"pollInterval\":3000") "}}")
#define ASKS                                                                              \
    GOT("input_required", ",\"inputRequests\":{\"k\":{\"method\":\"elicitation/create\"," \
                          "\"params\":{\"message\":\"?\",\"requestedSchema\":{\"type\":"  \
                          "\"object\",\"properties\":{}}}}}")
#define MUST                                                                                  \
    "{\"tools\":[{\"name\":\"must\",\"inputSchema\":{\"type\":\"object\"},\"execution\":{"    \
    "\"taskSupport\":"                                                                        \
    "\"required\"}},"                                                                         \
    "{\"name\":\"may\",\"inputSchema\":{\"type\":\"object\"},\"execution\":{\"taskSupport\":" \
    "\"optional\"}}]}"

typedef struct program {
    fake fake; /* must be first, because fake_done() expects a fake */
    size_t told, asked;
    char states[256];
    bool cancels;
} program;

static void on_task(mcp_client *client, mcp_call_id call, const mcp_json *task, void *user)
{
    program *p = user;
    mcp_str status = mcp_json_string(mcp_json_get(task, "status"));
    size_t at = strlen(p->states);
    p->told++;
    snprintf(p->states + at, sizeof(p->states) - at, "%.*s ", (int)status.len, status.ptr);
    if (p->cancels)
        assert_int_equal(mcp_client_cancel(client, call, "enough"), MCP_OK);
}

static void on_form(mcp_client *client, mcp_question *question, void *user)
{
    (void)client;
    ((program *)user)->asked++;
    if (mcp_question_accept(question, NULL, NULL) != MCP_OK)
        mcp_question_fail(question, 0, NULL);
}

static void on_refused_form(mcp_client *client, mcp_question *question, void *user)
{
    (void)client;
    ((program *)user)->asked++;
    mcp_question_fail(question, 0, "not now");
}

static void open_program(program *p, const fake_reply *replies, const mcp_client_options *options,
                         bool http)
{
    memset(p, 0, sizeof(*p));
    mcp_client_options o = *options;
    o.user = p;
    o.tasks = true;
    fake_ready(&p->fake, replies, &o, http);
}

static void call_tool(program *p, const char *name, uint64_t max_ms)
{
    assert_int_equal(
        mcp_client_call_tool(p->fake.client, name, NULL,
                             MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = p,
                                         .task = on_task, .max_timeout_ms = max_ms),
                             NULL),
        MCP_OK);
}

/* Returns the n-th message of a method that the client sent. */
static const char *sent(const fake *f, const char *method, size_t n)
{
    for (size_t i = 0; i < f->n_sent; i++) {
        if (mcp_str_eq(fake_method(f->sent[i]), mcp_str_from(method)) && n-- == 0)
            return f->sent[i];
    }
    fail_msg("%s was not sent", method);
    return NULL;
}

static void test_extension(void **state)
{
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"tools/call", CREATED},
        {"tasks/get", GOT("working", ",\"pollIntervalMs\":1000,\"statusMessage\":\"half\"")},
        {"tasks/get", ASKS},
        {"tasks/get", ASKS}, /* the server has not received the answer yet */
        {"tasks/get", GOT("completed", ",\"result\":{\"content\":[],\"x\":1}")},
        {"tasks/update", RESULT("{\"resultType\":\"complete\"}")},
    };
    (void)state;
    program p;
    fake *f = &p.fake;
    open_program(&p, replies, MCP_OPTIONS(mcp_client_options, .elicit_form = on_form), true);
    int64_t before = f->now;
    call_tool(&p, "any", 0);
    fake_run(f);
    assert_string_equal(f->methods,
                        "tools/call tasks/get tasks/get tasks/update tasks/get tasks/get ");
    assert_string_equal(p.states, "working working input_required input_required completed ");
    assert_int_equal(f->done, 1);
    assert_int_equal(f->rc, MCP_OK);
    assert_string_equal(f->result, "{\"content\":[],\"x\":1}");
    assert_int_equal(p.asked, 1);
    assert_true(f->now - before >= 5000 + 1000 + 1000 + 1000);
    assert_contains(sent(f, "tools/call", 0), EXTENSION);
    assert_null(strstr(sent(f, "tools/call", 0), "\"task\":"));
    assert_contains(sent(f, "tasks/get", 0), "\"params\":{\"taskId\":\"t 1\",\"_meta\":{");
    assert_contains(sent(f, "tasks/update", 0),
                    "\"params\":{\"taskId\":\"t 1\",\"inputResponses\":{\"k\":{\"action\":"
                    "\"accept\",\"content\":{}}},\"_meta\":{");
    assert_null(strstr(sent(f, "tasks/get", 2), "inputResponses"));
    assert_contains(f->headers[f->n_sent - 1], "Mcp-Method: tasks/get\nMcp-Name: t 1\n");
    fake_close(f);
}

static void test_legacy(void **state)
{
    static const fake_reply replies[FAKE_REPLIES] = {
        LEGACY(",\"cancel\":{}"),
        {"tools/call", ERROR("-32601", ",\"message\":\"as a task\"")},
        {"tools/call", MADE},
        {"tools/list", RESULT(MUST)},
        {"tasks/get", RESULT("{" STATE("working", TIMES) "}")},
        {"tasks/get", RESULT("{" STATE("input_required", TIMES) "}")},
        {"tasks/result", RESULT("{\"content\":[]}")},
    };
    (void)state;
    program p;
    fake *f = &p.fake;
    open_program(&p, replies, MCP_OPTIONS(mcp_client_options, .title = NULL), false);
    int64_t before = f->now;
    call_tool(&p, "must", 0);
    fake_run(f);
    assert_string_equal(f->methods,
                        "tools/call tools/list tools/call tasks/get tasks/get tasks/result ");
    assert_int_equal(f->done, 1);
    assert_string_equal(f->result, "{\"content\":[]}");
    assert_true(f->now - before >= 6000);
    assert_contains(sent(f, "tools/call", 0), "\"params\":{\"name\":\"must\"}");
    assert_contains(sent(f, "tools/call", 1), "\"params\":{\"name\":\"must\",\"task\":{}}");
    assert_contains(sent(f, "tasks/result", 0), "\"params\":{\"taskId\":\"t 1\"}");
    /* The client now knows which tools can be tasks; a tool for which it is optional is called
     * without a task. */
    fake_reset(f);
    call_tool(&p, "must", 0);
    fake_run(f);
    assert_contains(f->methods, "tools/call tasks/get");
    fake_reset(f);
    call_tool(&p, "may", 0);
    fake_run(f);
    assert_contains(sent(f, "tools/call", 3), "\"params\":{\"name\":\"may\"}");
    assert_string_equal(f->methods, "tools/call ");
    fake_close(f);
}

static void on_progress(mcp_client *client, mcp_call_id call, const mcp_progress *progress,
                        void *user)
{
    program *p = user;
    size_t at = strlen(p->states);
    (void)client;
    assert_true(call != 0);
    snprintf(p->states + at, sizeof(p->states) - at, "%g ", progress->progress);
}

/* The progress token stays that of the task until its end (2025-11-25, basic/utilities/progress). */
static void test_progress(void **state)
{
#define PROGRESS(n)                                                           \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{" \
    "\"progressToken\":1,\"progress\":" #n "}}\n"
    static const fake_reply replies[FAKE_REPLIES] = {
        LEGACY(",\"cancel\":{}"),
        {"tools/call", ERROR("-32601", ",\"message\":\"as a task\"")},
        {"tools/call", PROGRESS(1) MADE},
        {"tools/list", RESULT(MUST)},
        {"tasks/get", PROGRESS(2) RESULT("{" STATE("working", TIMES) "}")},
        {"tasks/get", RESULT("{" STATE("completed", TIMES) "}")},
        {"tasks/result", PROGRESS(3) RESULT("{\"content\":[]}") "\n" PROGRESS(4)},
    };
    (void)state;
    program p;
    open_program(&p, replies, MCP_OPTIONS(mcp_client_options, .title = NULL), false);
    mcp_client_call_tool(
        p.fake.client, "must", NULL,
        MCP_OPTIONS(mcp_call_options, .done = fake_done, .progress = on_progress, .user = &p),
        NULL);
    fake_run(&p.fake);
    assert_int_equal(p.fake.rc, MCP_OK);
    assert_string_equal(p.states, "1 2 3 ");
    assert_contains(sent(&p.fake, "tools/call", 1), "\"progressToken\":1");
    fake_close(&p.fake);
}

/* The other outcomes of a task, in one poll. */
static void test_outcomes(void **state)
{
    static const struct {
        const char *created, *got;
        int rc;
        const char *text, *methods;
    } lines[] = {
        {CREATED, GOT("failed", ",\"error\":{\"code\":-7,\"message\":\"Broken\"}"), MCP_EREMOTE,
         "Broken", "tools/call tasks/get "},
        {CREATED, GOT("failed", ""), MCP_EPROTOCOL, "without an error", "tools/call tasks/get "},
        {CREATED, GOT("completed", ""), MCP_EPROTOCOL, "without a result", "tools/call tasks/get "},
        {CREATED, GOT("cancelled", ",\"statusMessage\":\"too late\""), MCP_ECANCELLED,
         "the server cancelled the task: too late", "tools/call tasks/get "},
        {CREATED, ERROR("-32602", ",\"message\":\"no such task\""), MCP_EREMOTE, "no such task",
         "tools/call tasks/get "},
        {CREATED, GOT("asleep", ""), MCP_EPROTOCOL, "asleep", "tools/call tasks/get tasks/cancel "},
        {CREATED, GOT("input_required", ""), MCP_EPROTOCOL, "inputRequests",
         "tools/call tasks/get tasks/cancel "},
        {CREATED, ASKS, MCP_ECANCELLED, "not now", "tools/call tasks/get tasks/cancel "},
        {RESULT("{\"resultType\":\"task\",\"taskId\":7}"), NULL, MCP_EPROTOCOL, "taskId",
         "tools/call "},
        {RESULT("{\"resultType\":\"task\"," STATE("completed", ",\"result\":{\"content\":[]}") "}"),
         NULL, MCP_OK, "", "tools/call "},
        {RESULT("{\"content\":[]}"), NULL, MCP_OK, "", "tools/call "},
    };
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        const fake_reply replies[FAKE_REPLIES] = {MODERN,
                                                  {"tools/call", lines[i].created},
                                                  {"tasks/get", lines[i].got},
                                                  {"tasks/cancel", RESULT("{}")}};
        program p;
        open_program(&p, replies, MCP_OPTIONS(mcp_client_options, .elicit_form = on_refused_form),
                     false);
        call_tool(&p, "any", 0);
        fake_run(&p.fake);
        assert_string_equal(p.fake.methods, lines[i].methods);
        assert_int_equal(p.fake.done, 1);
        assert_int_equal(p.fake.rc, lines[i].rc);
        assert_contains(p.fake.text, lines[i].text);
        fake_close(&p.fake);
    }
}

/* A task as the answer to a request that cannot be one, and to a client that does not support
 * tasks. */
static void test_unasked(void **state)
{
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN, {"tools/call", CREATED}, {"prompts/get", CREATED}};
    (void)state;
    program p;
    fake f;
    open_program(&p, replies, MCP_OPTIONS(mcp_client_options, .title = NULL), false);
    mcp_client_get_prompt(p.fake.client, "a", NULL,
                          MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = &p), NULL);
    fake_run(&p.fake);
    assert_int_equal(p.fake.rc, MCP_EPROTOCOL);
    fake_close(&p.fake);
    fake_ready(&f, replies, MCP_OPTIONS(mcp_client_options, .title = NULL), false);
    assert_null(strstr(f.sent[0], "modelcontextprotocol/tasks"));
    mcp_client_call_tool(f.client, "a", NULL,
                         MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = &f), NULL);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_EPROTOCOL);
    assert_contains(f.text, "resultType");
    fake_close(&f);
}

static void test_declared_beside_others(void **state)
{
    static const char *const given[][2] = {
        {"{}", "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"},
        {"{\"a/b\":{}}", "\"extensions\":{\"a/b\":{},\"io.modelcontextprotocol/tasks\":{}}"},
        {"{\"io.modelcontextprotocol/tasks\":{\"x\":1}}",
         "\"extensions\":{\"io.modelcontextprotocol/tasks\":{\"x\":1}}"},
    };
    static const fake_reply replies[FAKE_REPLIES] = {MODERN};
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(given); i++) {
        program p;
        open_program(&p, replies, MCP_OPTIONS(mcp_client_options, .extensions = given[i][0]),
                     false);
        assert_contains(p.fake.sent[0], given[i][1]);
        fake_close(&p.fake);
    }
}

/* A transport declares an extension before the client starts. */
static void test_declared_by_transport(void **state)
{
    static const char *const given[][2] = {
        {NULL, "\"extensions\":{\"c/d\":{}}"},
        {"{\"a/b\":{}}", "\"extensions\":{\"a/b\":{},\"c/d\":{}}"},
        {"{\"c/d\":{\"x\":1}}", "\"extensions\":{\"c/d\":{\"x\":1}}"},
    };
    static const fake_reply replies[FAKE_REPLIES] = {MODERN};
    fake f;
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(given); i++) {
        assert_int_equal(
            fake_open(&f, replies, MCP_OPTIONS(mcp_client_options, .extensions = given[i][0])),
            MCP_OK);
        for (int again = 0; again < 2; again++)
            assert_int_equal(mcp_client_declare_extension(f.client, "c/d"), MCP_OK);
        assert_int_equal(mcp_client_start(f.client, NULL, NULL), MCP_OK);
        fake_run(&f);
        assert_contains(f.sent[0], given[i][1]);
        fake_close(&f);
    }
    assert_int_equal(mcp_client_declare_extension(NULL, "c/d"), MCP_EINVAL);
}

static void test_cancel(void **state)
{
    static const fake_reply modern[FAKE_REPLIES] = {
        MODERN, {"tools/call", CREATED}, {"tasks/cancel", RESULT("{}")}};
    static const fake_reply silent[FAKE_REPLIES] = {
        MODERN, {"tools/call", CREATED}, {"tasks/cancel", NULL}};
    static const fake_reply legacy[FAKE_REPLIES] = {
        LEGACY(",\"cancel\":{}"),
        {"tools/list", RESULT(MUST)},
        {"tools/call", MADE},
        {"tasks/cancel", ERROR("-32602", ",\"message\":\"over\"")}};
    static const fake_reply without[FAKE_REPLIES] = {
        LEGACY(""), {"tools/list", RESULT(MUST)}, {"tools/call", MADE}};
    static const struct {
        const fake_reply *replies;
        const char *methods;
    } lines[] = {
        {modern, "tools/call tasks/cancel "},
        {silent, "tools/call tasks/cancel notifications/cancelled "},
        {legacy, "tools/list tools/call tasks/cancel "},
        {without, "tools/list tools/call "},
    };
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        program p;
        fake *f = &p.fake;
        open_program(&p, lines[i].replies, MCP_OPTIONS(mcp_client_options, .title = NULL), false);
        p.cancels = true;
        if (i >= 2)
            mcp_client_list(f->client, "tools/list", NULL, NULL, NULL);
        fake_run(f);
        call_tool(&p, "must", 0);
        fake_run(f);
        if (strstr(lines[i].methods, "notifications"))
            assert_memory_equal(f->methods, "tools/call tasks/cancel ", 24);
        else
            assert_string_equal(f->methods, lines[i].methods);
        assert_int_equal(f->done, 1);
        assert_int_equal(f->rc, MCP_ECANCELLED);
        assert_string_equal(f->text, "enough");
        fake_close(f);
    }
}

/* A single poll may fail, but not many, and the duration of the task is limited. */
static void test_patience(void **state)
{
    static const fake_reply once[FAKE_REPLIES] = {
        MODERN,
        {"tools/call", CREATED},
        {"tasks/get", "!502 no"},
        {"tasks/get", GOT("completed", ",\"result\":{\"content\":[]}")}};
    static const fake_reply always[FAKE_REPLIES] = {
        MODERN, {"tools/call", CREATED}, {"tasks/get", "!502 no"}, {"tasks/cancel", RESULT("{}")}};
    static const fake_reply endless[FAKE_REPLIES] = {MODERN,
                                                     {"tools/call", CREATED},
                                                     {"tasks/get", GOT("working", "")},
                                                     {"tasks/cancel", RESULT("{}")}};
    (void)state;
    program p;
    open_program(&p, once, MCP_OPTIONS(mcp_client_options, .title = NULL), true);
    call_tool(&p, "any", 0);
    fake_run(&p.fake);
    assert_int_equal(p.fake.rc, MCP_OK);
    assert_string_equal(p.fake.methods, "tools/call tasks/get tasks/get ");
    fake_close(&p.fake);
    open_program(&p, always, MCP_OPTIONS(mcp_client_options, .title = NULL), true);
    call_tool(&p, "any", 0);
    fake_run(&p.fake);
    assert_int_equal(p.fake.rc, MCP_EIO);
    assert_int_equal(p.fake.done, 1);
    fake_close(&p.fake);
    open_program(&p, endless, MCP_OPTIONS(mcp_client_options, .title = NULL), false);
    call_tool(&p, "any", 12000);
    fake_run(&p.fake);
    assert_int_equal(p.fake.rc, MCP_ETIMEOUT);
    assert_contains(p.fake.text, "within 12 s");
    assert_string_equal(p.fake.methods, "tools/call tasks/get tasks/get tasks/get tasks/cancel ");
    fake_close(&p.fake);
}

static void test_no_memory(void **state)
{
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"tools/call", CREATED},
        {"tasks/get", ASKS},
        {"tasks/get", GOT("completed", ",\"result\":{\"content\":[]}")},
        {"tasks/update", RESULT("{}")},
        {"tasks/cancel", RESULT("{}")},
    };
    (void)state;
    bool ended = false;
    for (size_t n = 1; !ended; n++) {
        failalloc a = {.fail_at = n};
        mcp_allocator allocator = failalloc_allocator(&a);
        program p = {0};
        size_t calls = 0;
        int rc = fake_open(&p.fake, replies,
                           MCP_OPTIONS(mcp_client_options, .allocator = &allocator, .tasks = true,
                                       .extensions = "{\"a/b\":{}}", .elicit_form = on_form,
                                       .user = &p));
        if (rc == MCP_OK) {
            calls +=
                mcp_client_call_tool(p.fake.client, "a", NULL,
                                     MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = &p),
                                     NULL) == MCP_OK;
            fake_run(&p.fake);
            assert_int_equal(p.fake.done, calls);
        }
        fake_close(&p.fake);
        assert_int_equal(a.live, 0);
        ended = a.calls < n;
        if (ended)
            assert_int_equal(p.fake.rc, MCP_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extension),
        cmocka_unit_test(test_legacy),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_unasked),
        cmocka_unit_test(test_declared_beside_others),
        cmocka_unit_test(test_declared_by_transport),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
