/* Calls that are tasks: for the caller, at another server, or both, for each pair of revisions. Each
 * call reaches its tool once. */
#include "asking.h"

#include <mcp/sys/forward.h>
#include <mcp/task.h>

static char log_room[1 << 18];

static const char *const revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
                                        "2026-07-28"};
enum { REVISIONS = sizeof(revisions) / sizeof(revisions[0]), ASKED = 3, MODERN = 4 };

#define EXTENSION "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"
#define DID       "\"content\":[{\"type\":\"text\",\"text\":\"did\",\"x\":1.0}]"
#define RESULT                     \
    DID ",\"structuredContent\":{" \
        "\"n\":1.50e2,\"big\":123456789012345678901234567890},\"y\":[ 1E-7]"

/* ---- the other server ------------------------------------------------------------------------ */

static size_t runs, as_tasks; /* calls that reached a tool; those of them that became tasks */
static char task_there[32];   /* the id of the last task at the other server */

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    static const char result[] = "{" RESULT "}";
    const mcp_raw raw = {.size = sizeof(raw), .json = {result, sizeof(result) - 1}};
    const mcp_raw error = {.size = sizeof(error),
                           .json = MCP_STR("{\"code\":0,\"message\":\"no\",\"data\":{\"a\":1.0}}")};
    mcp_str what = mcp_json_string(mcp_json_get(arguments, "q"));
    runs++;
    int rc = user ? mcp_request_task(req, MCP_OPTIONS(mcp_task_options, .message = "at work")) : 0;
    if (rc != MCP_OK)
        return rc;
    if (mcp_request_task_id(req)) {
        as_tasks++;
        snprintf(task_there, sizeof(task_there), "%s", mcp_request_task_id(req));
    }
    if (mcp_str_eq(what, MCP_STR("error")))
        return mcp_reply_raw_error(req, &error);
    return what.len ? asking_run(req, what.ptr) : mcp_reply_raw(req, &raw);
}

static mcp_server *tasks_server(void)
{
    static const struct {
        const char *name;
        mcp_task_support support;
    } tools[] = {
        {"plain", MCP_TASK_FORBIDDEN}, {"may", MCP_TASK_OPTIONAL}, {"must", MCP_TASK_REQUIRED}};
    mcp_server *server = NULL;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .no_rate_limits = true, .coalesce_ms = 1),
                                    &server, NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_server_set_tasks(server, MCP_OPTIONS(mcp_task_settings, .poll_ms = 20), NULL), MCP_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            mcp_server_add_tool(server,
                                MCP_OPTIONS(mcp_tool, .name = tools[i].name,
                                            .input_schema = "{\"type\":\"object\"}",
                                            .task_support = tools[i].support, .call = call),
                                tools[i].support ? server : NULL, NULL),
            MCP_OK);
    runs = as_tasks = 0;
    return server;
}

/* ---- the callers ----------------------------------------------------------------------------- */

static void open_all(wires *w, const char *between)
{
    *w = (wires){
        .revision = between, .log = log_room, .log_room = sizeof(log_room), .max_sessions = 8};
    assert_int_equal(wires_open(w, tasks_server()), MCP_OK);
}

static void close_all(wires *w)
{
    for (size_t i = 0; i < WIRE_PEERS; i++)
        mcp_channel_free(w->peers[i]);
    wires_close(w);
    mcp_server_free(w->other);
}

/* Lets the time pass in which tasks are polled. */
static void pass_time(wires *w)
{
    for (int i = 0; i < 10; i++) {
        w->now += 25;
        wires_run(w);
    }
}

/* Sends a request. `params` has no braces. Returns the answer, which may take some time. */
static const char *ask(wires *w, bool modern, const char *method, const char *params)
{
    const char *reply =
        modern ? asking_say(w, method, params, "{\"elicitation\":{\"form\":{}}," EXTENSION "}")
               : asking_say_legacy(w, method, params);
    if (!*reply)
        pass_time(w);
    return w->reply ? w->reply : "";
}

/* Reads the id of the task that a reply names. */
static const char *id_of(const char *reply)
{
    static char id[64];
    const char *at = strstr(reply, "\"taskId\":\"");
    if (!at)
        fail_msg("no task in %s", reply);
    snprintf(id, sizeof(id), "%.*s", (int)strcspn(at + 10, "\""), at + 10);
    assert_string_not_equal(id, task_there);
    return id;
}

static const char *of_task(wires *w, bool modern, const char *method, const char *id)
{
    char params[100];
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    return ask(w, modern, method, params);
}

#define CALL(tool, q) "\"name\":\"up_" tool "\",\"arguments\":{\"q\":\"" q "\"}"

/* ---- callers that request no task ------------------------------------------------------------ */

static void test_waiting(void **state)
{
    (void)state;
    static wires w;
    static const char *const calls[] = {CALL("plain", ""), CALL("may", ""), CALL("must", "")};
    for (size_t between = 0; between < REVISIONS; between++) {
        for (size_t from = 0; from < REVISIONS; from++) {
            open_all(&w, revisions[between]);
            asking_connect(&w, revisions[from], "ann", "{}");
            for (size_t i = 0; i < 3; i++) {
                bool refused = i == 2 && between == MODERN && from == MODERN;
                bool can = i < 2 || (between >= ASKED && !refused);
                size_t before = runs, tasks = as_tasks;
                const char *reply = from == MODERN ? asking_say(&w, "tools/call", calls[i], "{}")
                                                   : asking_say_legacy(&w, "tools/call", calls[i]);
                if (!*reply)
                    pass_time(&w);
                assert_non_null(w.reply);
                wires_has(w.reply, can       ? "\"text\":\"did\""
                                   : refused ? "-32021"
                                             : "can only be called as a task");
                assert_int_equal(runs - before, can);
                assert_int_equal(as_tasks - tasks, i == 2 && can);
                assert_null(strstr(w.reply, task_there[0] ? task_there : "related-task"));
            }
            close_all(&w);
        }
    }
}

/* ---- callers of 2025-11-25 that request a task ------------------------------------------------ */

static void test_requested(void **state)
{
    (void)state;
    static wires w;
    static const char *const calls[] = {CALL("plain", "") ",\"task\":{\"ttl\":50000}",
                                        CALL("may", "") ",\"task\":{\"ttl\":50000}",
                                        CALL("must", "") ",\"task\":{\"ttl\":50000}"};
    for (size_t between = 0; between < REVISIONS; between++) {
        open_all(&w, revisions[between]);
        asking_connect(&w, "2025-11-25", "ann", "{}");
        const char *tools = ask(&w, false, "tools/list", "\"a\":1");
        wires_has(tools, "\"name\":\"up_plain\"");
        assert_int_equal(strstr(tools, "\"required\"") != NULL, between == ASKED);
        wires_has(tools, "\"execution\":{\"taskSupport\":\"optional\"}");
        for (size_t i = 0; i < 3; i++) {
            bool can = i < 2 || between >= ASKED;
            size_t before = runs, tasks = as_tasks;
            const char *made = ask(&w, false, "tools/call", calls[i]), *id = id_of(made);
            wires_has(made, "\"status\":\"working\"");
            wires_has(made, "\"ttl\":50000");
            pass_time(&w);
            wires_has(of_task(&w, false, "tasks/get", id),
                      can ? "\"status\":\"completed\"" : "\"status\":\"failed\"");
            const char *result = of_task(&w, false, "tasks/result", id);
            wires_has(result, !can ? "can only be called as a task" : between < 2 ? DID : RESULT);
            if (can)
                wires_has(result, id);
            assert_int_equal(runs - before, can);
            assert_int_equal(as_tasks - tasks, i > 0 && between >= ASKED);
        }
        char id[32];
        snprintf(id, sizeof(id), "%s",
                 id_of(ask(&w, false, "tools/call", CALL("may", "error") ",\"task\":{}")));
        pass_time(&w);
        wires_has(of_task(&w, false, "tasks/result", id),
                  "\"error\":{\"code\":0,\"message\":\"no\",\"data\":{\"a\":1.0}}");
        wires_has(ask(&w, false, "tasks/list", "\"a\":1"), "\"tasks\":[{");
        close_all(&w);
    }
}

/* A malformed request for a task is refused, and so is a call of an unknown tool. */
static void test_refused(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, "2025-11-25");
    asking_connect(&w, "2025-11-25", "ann", "{}");
    wires_has(ask(&w, false, "tools/call", CALL("may", "") ",\"task\":1"), "-32602");
    wires_has(ask(&w, false, "tools/call", CALL("may", "") ",\"task\":{\"ttl\":-1}"), "-32602");
    assert_int_equal(runs, 0);
    close_all(&w);
}

/* ---- callers of 2026-07-28 that support tasks ------------------------------------------------- */

static void test_extension(void **state)
{
    (void)state;
    static wires w;
    for (size_t between = ASKED; between < REVISIONS; between++) {
        open_all(&w, revisions[between]);
        asking_connect(&w, "2026-07-28", "ann", "");
        wires_has(ask(&w, true, "server/discover", "\"a\":1"), EXTENSION);
        const char *reply = ask(&w, true, "tools/call", CALL("plain", ""));
        wires_has(reply, RESULT);
        reply = ask(&w, true, "tools/call", CALL("must", ""));
        wires_has(reply, "\"resultType\":\"task\"");
        if (between == MODERN)
            wires_has(reply, "\"statusMessage\":\"at work\"");
        char id[32];
        snprintf(id, sizeof(id), "%s", id_of(reply));
        pass_time(&w);
        reply = of_task(&w, true, "tasks/get", id);
        wires_has(reply, "\"status\":\"completed\"");
        wires_has(reply, RESULT);
        snprintf(id, sizeof(id), "%s", id_of(ask(&w, true, "tools/call", CALL("must", "error"))));
        pass_time(&w);
        reply = of_task(&w, true, "tasks/get", id);
        wires_has(reply, "\"status\":\"failed\"");
        wires_has(reply, "\"error\":{\"code\":0,\"message\":\"no\",\"data\":{\"a\":1.0}}");
        assert_int_equal(runs, 3);
        close_all(&w);
    }
}

/* ---- owners, ends ----------------------------------------------------------------------------- */

/* A task belongs to its principal, and ends when it is cancelled, here and there. */
static void test_owner(void **state)
{
    (void)state;
    static wires w;
    for (size_t between = ASKED; between < REVISIONS; between++) {
        for (size_t from = ASKED; from < REVISIONS; from++) {
            bool modern = from == MODERN;
            const char *hold = modern ? CALL("must", "hold") : CALL("must", "hold") ",\"task\":{}";
            char id[32];
            open_all(&w, revisions[between]);
            asking_connect(&w, revisions[from], "bob", "{}");
            w.peers[0] = w.peer;
            w.peer = NULL;
            asking_connect(&w, revisions[from], "ann", "{}");
            w.peers[1] = w.peer;
            snprintf(id, sizeof(id), "%s", id_of(ask(&w, modern, "tools/call", hold)));
            pass_time(&w);
            wires_has(of_task(&w, modern, "tasks/get", id), "\"statusMessage\":\"at work\"");
            w.peer = w.peers[0];
            wires_has(of_task(&w, modern, "tasks/get", id), "-32602");
            wires_has(of_task(&w, modern, "tasks/cancel", id), "-32602");
            wires_has(of_task(&w, modern, "tasks/get", task_there), "-32602");
            w.peer = w.peers[1];
            wires_has(of_task(&w, modern, "tasks/get", task_there), "-32602");
            assert_int_equal(asking_n_held, 1);
            wires_has(of_task(&w, modern, "tasks/cancel", id), "\"result\"");
            pass_time(&w);
            wires_has(of_task(&w, modern, "tasks/get", id), "\"status\":\"cancelled\"");
            assert_int_equal(asking_n_held, 0); /* cancelled there, too */
            w.peer = NULL;
            close_all(&w);
        }
    }
}

/* If the other server dies, the task says so. */
static void test_death(void **state)
{
    (void)state;
    static wires w;
    for (size_t between = ASKED; between < REVISIONS; between++) {
        char id[32];
        open_all(&w, revisions[between]);
        asking_connect(&w, "2026-07-28", "ann", "");
        snprintf(id, sizeof(id), "%s", id_of(ask(&w, true, "tools/call", CALL("must", "hold"))));
        pass_time(&w);
        wires_cut(w.open);
        pass_time(&w);
        const char *reply = of_task(&w, true, "tasks/get", id);
        wires_has(reply, "\"status\":\"failed\"");
        wires_has(reply, "The server up does not answer");
        assert_int_equal(runs, 1);
        mcp_server_cancel_tasks(w.other);
        close_all(&w);
    }
}

/* ---- questions of tasks ----------------------------------------------------------------------- */

static void test_question_modern(void **state)
{
    (void)state;
    static wires w;
    for (size_t between = ASKED; between < REVISIONS; between++) {
        char id[32], params[300], key[32];
        open_all(&w, revisions[between]);
        asking_connect(&w, "2026-07-28", "ann", "");
        snprintf(id, sizeof(id), "%s", id_of(ask(&w, true, "tools/call", CALL("must", "form"))));
        pass_time(&w);
        const char *reply = of_task(&w, true, "tasks/get", id);
        wires_has(reply, "\"status\":\"input_required\"");
        wires_has(reply, "\"message\":\"up: form\"");
        const char *at = strstr(reply, "\"inputRequests\":{\"") + 18;
        snprintf(key, sizeof(key), "%.*s", (int)strcspn(at, "\""), at);
        snprintf(params, sizeof(params),
                 "\"taskId\":\"%s\",\"inputResponses\":{\"%s\":{\"action\":\"accept\",\"content\":{"
                 "\"who\":\"Ada\"}}}",
                 id, key);
        wires_has(ask(&w, true, "tasks/update", params), "\"result\"");
        pass_time(&w);
        pass_time(&w);
        reply = of_task(&w, true, "tasks/get", id);
        wires_has(reply, "said form=accept:Ada.");
        close_all(&w);
    }
}

static void test_question_requested(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    for (size_t between = ASKED; between < REVISIONS; between++) {
        char id[32], params[64];
        open_all(&w, revisions[between]);
        asking_connect(&w, "2025-11-25", "ann", "{\"elicitation\":{}}");
        snprintf(id, sizeof(id), "%s",
                 id_of(ask(&w, false, "tools/call", CALL("must", "form") ",\"task\":{}")));
        pass_time(&w);
        wires_has(of_task(&w, false, "tasks/get", id), "\"status\":\"input_required\"");
        snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
        w.log_len = 0;
        assert_string_equal(asking_say_legacy(&w, "tasks/result", params), "");
        wires_has(w.log, id); /* the question names the task */
        assert_true(asking_read_legacy(&w, &round));
        asking_respond(&w, &round, asking_accept);
        pass_time(&w);
        pass_time(&w);
        wires_has(of_task(&w, false, "tasks/result", id), "said form=accept:Ada.");
        close_all(&w);
    }
}

/* A caller without tasks is asked the questions of a task, too. One of 2026-07-28 is told that it has to
 * declare tasks, if the other server says so. */
static void test_question_waiting(void **state)
{
    (void)state;
    static wires w;
    static asking_round round;
    for (size_t between = ASKED; between < REVISIONS; between++) {
        open_all(&w, revisions[between]);
        asking_connect(&w, "2026-07-28", "ann", "");
        asking_say(&w, "tools/call", CALL("must", "form"), ASKING_CAPABILITIES);
        pass_time(&w);
        assert_int_equal(asking_read_modern(w.reply, &round), between != MODERN);
        if (between == MODERN) {
            wires_has(w.reply, "-32021");
        } else {
            asking_continue(&w, "tools/call", CALL("must", "form"), &round, asking_accept);
            pass_time(&w);
            pass_time(&w);
            assert_non_null(w.reply);
            wires_has(w.reply, "said form=accept:Ada.");
        }
        close_all(&w);
        open_all(&w, revisions[between]);
        asking_connect(&w, "2025-06-18", "ann", ASKING_CAPABILITIES);
        assert_string_equal(asking_say_legacy(&w, "tools/call", CALL("must", "form")), "");
        pass_time(&w);
        assert_true(asking_read_legacy(&w, &round));
        asking_respond(&w, &round, asking_accept);
        pass_time(&w);
        pass_time(&w);
        assert_non_null(w.reply);
        wires_has(w.reply, "said form=accept:Ada.");
        close_all(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_requested),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_extension),
        cmocka_unit_test(test_owner),
        cmocka_unit_test(test_death),
        cmocka_unit_test(test_question_modern),
        cmocka_unit_test(test_question_requested),
        cmocka_unit_test(test_question_waiting),
    };
    return cmocka_run_group_tests_name("upstream: tasks", tests, NULL, NULL);
}
