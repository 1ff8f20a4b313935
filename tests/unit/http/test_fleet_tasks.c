/* Requests about tasks of several instances: they are forwarded to the instance that the id names, in both eras,
 * for their owner only; what happens when that instance is gone, and with every allocation failing.
 */
#include "fleet.h"

#include <mcp/task.h>

#define JSON "HTTP/1.1 200 OK\nContent-Type: application/json\n~"
#define META                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},"    \
    "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}"

static char id[MCP_TASK_ID_BYTES + 1], session[1100];

static void begin(void)
{
    rig_tasks = true;
    for (size_t i = 0; i < NODES; i++)
        node_begin(&nodes[i], true);
    n_relayed = n_cancelled = 0;
}

static void take_id(const wire *w)
{
    const char *at = w->out ? strstr(w->out, "\"taskId\":\"") : NULL;
    assert_non_null(at);
    snprintf(id, sizeof(id), "%.*s", (int)strcspn(at + 10, "\""), at + 10);
}

/* Sends a modern request; `name` is what Mcp-Name says. */
static void send_modern(wire *w, const char *who, const char *method, const char *name,
                        const char *params)
{
    char text[4096];
    snprintf(
        text, sizeof(text),
        "POST /mcp HTTP/1.1\n{{modern %s}}Mcp-Name: %s\nAuthorization: Bearer %s\n"
        "Content-Length: {{len}}\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":"
        "{%s," META " } }",
        method, name, who, method, params);
    wire_send(w, text);
    pump();
}

static void modern(wire *w, node *n, const char *who, const char *method, const char *name,
                   const char *params)
{
    wire_open(w, &n->r);
    send_modern(w, who, method, name, params);
}

static void make(node *n, const char *tool)
{
    wire w;
    char params[100];
    snprintf(params, sizeof(params), "\"name\":\"%s\",\"arguments\":{}", tool);
    modern(&w, n, "a", "tools/call", tool, params);
    wire_expect(&w, JSON "\"resultType\":\"task\"~");
    take_id(&w);
    wire_end(&w);
}

static void expect_of(node *n, const char *who, const char *method, const char *more,
                      const char *expected)
{
    wire w;
    char params[2048];
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"%s", id, more);
    modern(&w, n, who, method, id, params);
    wire_expect(&w, expected);
    wire_end(&w);
    pump();
}

static void test_modern(void **state)
{
    (void)state;
    begin();
    make(&nodes[0], "job");
    expect_of(&nodes[0], "a", "tasks/get", "", JSON "\"working\"~");
    assert_int_equal(n_relayed, 0);
    expect_of(&nodes[1], "a", "tasks/get", "", JSON "\"working\"~");
    expect_of(&nodes[2], "a", "tasks/get", "", JSON "\"working\"~");
    assert_int_equal(n_relayed, 2);
    assert_non_null(strstr(last_request, "Mcp-Method: tasks/get\n"));
    assert_non_null(strstr(last_request, "MCP-Protocol-Version: 2026-07-28\n"));
    assert_null(strstr(last_request, "Mcp-Session-Id"));
    /* another caller does not find out where it is */
    expect_of(&nodes[1], "b", "tasks/get", "", JSON "-32602~");
    expect_of(&nodes[1], "b", "tasks/cancel", "", JSON "-32602~");
    assert_int_equal(n_relayed, 2);
    fixture_finish(nodes[0].r.fixture, 0);
    expect_of(&nodes[1], "a", "tasks/get", "", JSON "\"completed\"~the result~");
    make(&nodes[0], "job");
    expect_of(&nodes[2], "a", "tasks/cancel", "", JSON "\"result\"~");
    assert_int_equal(fixture_cancelled(nodes[0].r.fixture), 1);
    expect_of(&nodes[1], "a", "tasks/get", "", JSON "\"cancelled\"~");
    make(&nodes[2], "asks");
    expect_of(&nodes[0], "a", "tasks/get", "", JSON "\"input_required\"~\"name\"~");
    expect_of(
        &nodes[0], "a", "tasks/update",
        ",\"inputResponses\":{\"name\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}}",
        JSON "\"result\"~");
    expect_of(&nodes[1], "a", "tasks/get", "", JSON "\"completed\"~Ada~");
    /* the message and its headers are compared at the instance of the task */
    wire w;
    char params[MCP_TASK_ID_BYTES + 32];
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    modern(&w, &nodes[1], "a", "tasks/get", "other", params);
    wire_expect(&w, "HTTP/1.1 400 Bad Request\n~Mcp-Name~");
    wire_end(&w);
    /* an id that is none, and none at all */
    snprintf(id, sizeof(id), "AAAAAAAAAAAAAAAAAAAAAA");
    expect_of(&nodes[1], "a", "tasks/get", "", JSON "-32602~");
    modern(&w, &nodes[1], "a", "tasks/get", "x", "\"taskId\":7");
    wire_expect(&w, JSON "-32602~");
    wire_end(&w);
    fleet_end();
}

/* The forwarded request cannot be used again, or changed. */
static void test_header(void **state)
{
    (void)state;
    char copy[sizeof(last_request)], *at;
    begin();
    make(&nodes[0], "job");
    expect_of(&nodes[1], "a", "tasks/get", "", JSON "\"working\"~");
    memcpy(copy, last_request, sizeof(copy));
    expect_at(&nodes[0], "", copy, "HTTP/1.1 403 Forbidden\n~");
    expect_at(&nodes[2], "", copy, "HTTP/1.1 421 Misdirected Request\n~");
    wire w;
    modern(&w, &nodes[1], "a", "tasks/get", "x", "\"taskId\":\"x\"");
    wire_end(&w);
    at = strstr(copy, "\"method\":\"tasks/get\"");
    assert_non_null(at);
    memcpy(at, "\"method\":\"tasks/gat\"", 20);
    expect_at(&nodes[0], "", copy, "HTTP/1.1 403 Forbidden\n~");
    fleet_end();
}

/* ---- 2025-11-25 -------------------------------------------------------------------------------- */

static void begin_session(node *n)
{
    rig_initialize_as(&n->r, "2025-11-25", AS("a"), "");
    snprintf(session, sizeof(session), "%s", n->r.session);
    pump();
}

static void in_session(wire *w, node *n, const char *method, const char *params)
{
    char text[3000];
    snprintf(text, sizeof(text),
             "POST /mcp HTTP/1.1\n{{std}}" AS(
                 "a") "Mcp-Session-Id: {{session}}\nContent-Length: {{len}}\n\n"
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{ %s } }",
             method, params);
    ask(w, n, session, text);
}

static void expect_in_session(node *n, const char *method, const char *expected)
{
    wire w;
    char params[MCP_TASK_ID_BYTES + 32];
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    in_session(&w, n, method, params);
    wire_expect(&w, expected);
    wire_end(&w);
    pump();
}

static void make_in_session(node *n)
{
    wire w;
    in_session(&w, n, "tools/call", "\"name\":\"job\",\"arguments\":{},\"task\":{}");
    take_id(&w);
    wire_end(&w);
}

static void test_sessions(void **state)
{
    (void)state;
    char params[MCP_TASK_ID_BYTES + 32];
    wire w;
    begin();
    begin_session(&nodes[0]);
    make_in_session(&nodes[0]);
    begin_session(&nodes[1]); /* another session, at another instance */
    n_relayed = 0;
    expect_in_session(&nodes[1], "tasks/get", "~\"working\"~");
    assert_int_equal(n_relayed, 1);
    assert_null(strstr(last_request, "Mcp-Session-Id"));
    assert_non_null(strstr(last_request, "MCP-Protocol-Version: 2025-11-25\n"));
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    in_session(&w, &nodes[1], "tasks/result", params);
    wire_expect(&w, ""); /* waits */
    fixture_finish(nodes[0].r.fixture, 0);
    pump();
    wire_expect(&w, "~the result~");
    wire_end(&w);
    expect_in_session(&nodes[1], "tasks/cancel", "~ended already~");
    /* through a third instance: to the session, then to the task */
    n_relayed = 0;
    expect_in_session(&nodes[2], "tasks/get", "~\"completed\"~");
    assert_int_equal(n_relayed, 2);
    /* without a session */
    snprintf(params, sizeof(params), "%s", id);
    wire_open(&w, &nodes[2].r);
    char text[2048];
    snprintf(text, sizeof(text),
             "POST /mcp HTTP/1.1\n{{std}}" AS(
                 "a") "MCP-Protocol-Version: 2025-11-25\n"
                      "Content-Length: "
                      "{{len}}\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/get\","
                      "\"params\":{\"taskId\":\"%s\"}}",
             id);
    wire_send(&w, text);
    pump();
    wire_expect(&w, "~\"completed\"~");
    wire_end(&w);
    fleet_end();
}

/* A question goes to a session at the instance of the task, and not to a request that was forwarded. */
static void test_question(void **state)
{
    (void)state;
    char params[MCP_TASK_ID_BYTES + 32], home[sizeof(session)];
    wire w, own;
    begin();
    rig_initialize_as(&nodes[0].r, "2025-11-25", AS("a"), "\"elicitation\":{}");
    snprintf(home, sizeof(home), "%s", nodes[0].r.session);
    snprintf(session, sizeof(session), "%s", home);
    in_session(&w, &nodes[0], "tools/call", "\"name\":\"asks\",\"arguments\":{},\"task\":{}");
    take_id(&w);
    wire_end(&w);
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    begin_session(&nodes[1]);
    in_session(&w, &nodes[1], "tasks/result", params);
    wire_expect(&w, "");
    snprintf(session, sizeof(session), "%s", home);
    in_session(&own, &nodes[2], "tasks/result", params);
    wire_expect(&own, "~elicitation/create~");
    wire_expect(&w, "");
    expect_at(&nodes[2], home,
              POST_AS("a", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"accept\","
                           "\"content\":{\"name\":\"Ada\"}}}"),
              "HTTP/1.1 202 Accepted\n~");
    pump();
    wire_expect(&own, "~Ada~");
    wire_expect(&w, "~Ada~");
    wire_end(&w);
    wire_end(&own);
    fleet_end();
}

/* ---- instances that are gone ------------------------------------------------------------------- */

static void test_gone(void **state)
{
    (void)state;
    wire w;
    char params[MCP_TASK_ID_BYTES + 32];
    begin();
    make(&nodes[0], "job");
    node_kill(&nodes[0]);
    /* the instance may live, as far as this one knows */
    expect_of(&nodes[1], "a", "tasks/get", "", "~cannot be reached~");
    expect_of(&nodes[1], "b", "tasks/get", "", JSON "-32602~");
    node_begin(&nodes[0], true); /* another process at its address */
    expect_of(&nodes[1], "a", "tasks/get", "", "~cannot be reached~");
    expect_of(&nodes[0], "a", "tasks/get", "", "~cannot be reached~");
    /* it ends while it answers */
    begin_session(&nodes[0]);
    make_in_session(&nodes[0]);
    begin_session(&nodes[1]);
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    in_session(&w, &nodes[1], "tasks/result", params);
    node_kill(&nodes[0]);
    wire_expect(&w, "HTTP/1.1 502 Bad Gateway\n~");
    wire_end(&w);
    fleet_end();
}

/* The client leaves: the other instance is told. */
static void test_leaves(void **state)
{
    (void)state;
    wire w;
    char params[MCP_TASK_ID_BYTES + 32];
    begin();
    begin_session(&nodes[0]);
    make_in_session(&nodes[0]);
    begin_session(&nodes[1]);
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    in_session(&w, &nodes[1], "tasks/result", params);
    wire_end(&w);
    assert_int_equal(n_cancelled, 1);
    pump();
    fixture_finish(nodes[0].r.fixture, 0);
    expect_in_session(&nodes[1], "tasks/result", "~the result~");
    fleet_end();
}

static void test_memory(void **state)
{
    (void)state;
    begin();
    make(&nodes[0], "job");
    for (size_t fail = 1;; fail++) {
        wire w;
        char params[MCP_TASK_ID_BYTES + 32];
        assert_true(fail < 500);
        wire_open(&w, &nodes[1].r);
        nodes[1].r.memory.fail_at = nodes[1].r.memory.calls + fail;
        snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
        send_modern(&w, "a", "tasks/get", id, params);
        bool done = nodes[1].r.memory.calls < nodes[1].r.memory.fail_at;
        nodes[1].r.memory.fail_at = 0;
        if (done)
            wire_expect(&w, JSON "\"working\"~");
        wire_end(&w);
        pump();
        if (done)
            break;
    }
    fleet_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modern),   cmocka_unit_test(test_header),
        cmocka_unit_test(test_sessions), cmocka_unit_test(test_question),
        cmocka_unit_test(test_gone),     cmocka_unit_test(test_leaves),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
