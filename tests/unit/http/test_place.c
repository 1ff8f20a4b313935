/* Requests of modern clients that continue a call which waits at one of several instances. */
#include "fleet.h"

#include <mcp/mcp.h>
#include <mcp/sys/forward.h>

#define META                                                                     \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","     \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"1\"}," \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{\"form\":{}}}}"
#define JSON "HTTP/1.1 200 OK\nContent-Type: application/json\n~"

enum { STATE = 2048 };

static const char form[] = "{\"type\":\"object\",\"properties\":{}}";
static int runs[NODES]; /* how often the handler of each node ran */

static int call_stays(mcp_request *req, const mcp_json *arguments, void *user)
{
    static const mcp_elicit what = {.size = sizeof(what), .message = "Go on?", .schema = form};
    mcp_elicited answer;
    (void)arguments;
    int at = (int)((const node *)user - nodes);
    char text[16];
    runs[at]++;
    mcp_request_stay(req);
    int rc = mcp_request_elicit(req, "k", &what, &answer);
    if (rc != MCP_OK)
        return rc;
    snprintf(text, sizeof(text), "at node %d", at);
    return mcp_reply_text(req, text);
}

/* Does the same, but keeps nothing in the process. */
static int call_anywhere(mcp_request *req, const mcp_json *arguments, void *user)
{
    static const mcp_elicit what = {.size = sizeof(what), .message = "Go on?", .schema = form};
    mcp_elicited answer;
    (void)arguments, (void)user;
    int rc = mcp_request_elicit(req, "k", &what, &answer);
    return rc == MCP_OK ? mcp_reply_text(req, "anywhere") : rc;
}

static int add_tools(node *n)
{
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"where\":{\"type\":\"string\","
        "\"x-mcp-header\":\"Where\"}}}";
    mcp_server *s = fixture_server(n->r.fixture);
    int rc = mcp_server_add_tool(
        s, MCP_OPTIONS(mcp_tool, .name = "stays", .call = call_stays, .input_schema = schema), n,
        NULL);
    return rc == MCP_OK ? mcp_server_add_tool(
                              s, MCP_OPTIONS(mcp_tool, .name = "anywhere", .call = call_anywhere),
                              NULL, NULL)
                        : rc;
}

static void begin(void)
{
    memset(runs, 0, sizeof(runs));
    for (size_t i = 0; i < NODES; i++) {
        node_begin(&nodes[i], true);
        assert_int_equal(add_tools(&nodes[i]), MCP_OK);
    }
    n_relayed = 0;
}

/* Sends a call of a tool, with the answer and the state unless it is NULL. */
static void send_call(wire *w, const char *who, const char *tool, const char *state)
{
    char text[STATE + 2048];
    snprintf(
        text, sizeof(text),
        "POST /mcp HTTP/1.1\n{{modern tools/call}}Authorization: Bearer %s\nMcp-Name: %s\n"
        "%sContent-Length: {{len}}\n\n"
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",%s"
        "%s%s%s" META "}}",
        who, tool, *tool == 's' ? "Mcp-Param-Where: here\n" : "", tool,
        *tool == 's' ? "\"arguments\":{\"where\":\"here\"}," : "",
        state ? "\"requestState\":\"" : "", state ? state : "",
        state ? "\",\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{}}}," : "");
    wire_send(w, text);
    pump();
}

static void call(wire *w, node *n, const char *who, const char *tool, const char *state)
{
    wire_open(w, &n->r);
    send_call(w, who, tool, state);
}

static void expect_call(node *n, const char *who, const char *tool, const char *state,
                        const char *expected)
{
    wire w;
    call(&w, n, who, tool, state);
    wire_expect(&w, expected);
    wire_end(&w);
    pump();
}

/* Begins a call, and reads the state for the next round. */
static void ask_for(node *n, const char *who, const char *tool, char state[STATE])
{
    wire w;
    call(&w, n, who, tool, NULL);
    const char *at = w.len ? strstr(w.out, "\"requestState\":\"") : NULL;
    assert_non_null(at);
    at += strlen("\"requestState\":\"");
    snprintf(state, STATE, "%.*s", (int)strcspn(at, "\""), at);
    wire_end(&w);
    pump();
}

/* The next request runs where the first one did, whichever instance gets it. */
static void test_forward(void **state)
{
    char token[STATE];
    (void)state;
    begin();
    ask_for(&nodes[0], "a", "stays", token);
    assert_non_null(strchr(token, '.'));
    expect_call(&nodes[1], "a", "stays", token, JSON "at node 0~");
    assert_int_equal(n_relayed, 1);
    assert_non_null(strstr(last_request, "Mcp-Param-Where: here\n"));
    assert_non_null(strstr(last_request, "Mcp-Name: stays\n"));
    expect_call(&nodes[0], "a", "stays", token, JSON "at node 0~");
    assert_int_equal(n_relayed, 1);
    assert_int_equal(runs[0], 3);
    assert_int_equal(runs[1], 0);
    fleet_end();
}

/* A handler that keeps nothing in its process goes on at any instance. */
static void test_anywhere(void **state)
{
    char token[STATE];
    (void)state;
    begin();
    ask_for(&nodes[0], "a", "anywhere", token);
    assert_null(strchr(token, '.'));
    expect_call(&nodes[1], "a", "anywhere", token, JSON "anywhere~");
    assert_int_equal(n_relayed, 0);
    fleet_end();
}

/* If the instance is gone, the request is handled by the one that has it. */
static void test_gone(void **state)
{
    char token[STATE];
    (void)state;
    begin();
    ask_for(&nodes[0], "a", "stays", token);
    node_kill(&nodes[0]);
    expect_call(&nodes[1], "a", "stays", token, JSON "at node 1~");
    assert_int_equal(n_relayed, 1);
    fleet_end();
}

/* The place is sealed for its caller, and a state alone is valid everywhere. */
static void test_others(void **state)
{
    char token[STATE], other[STATE];
    (void)state;
    begin();
    ask_for(&nodes[0], "a", "stays", token);
    expect_call(&nodes[1], "b", "stays", token, JSON "-32602~");
    assert_int_equal(n_relayed, 0);
    const size_t dot = (size_t)(strchr(token, '.') - token);
    for (size_t i = dot + 1; i + 1 < strlen(token); i += 7) {
        strcpy(other, token);
        other[i] = other[i] == 'A' ? 'B' : 'A';
        expect_call(&nodes[1], "a", "stays", other, JSON "at node 1~");
    }
    strcpy(other, token);
    other[dot] = 0;
    expect_call(&nodes[1], "a", "stays", other, JSON "at node 1~");
    other[dot] = '.';
    other[dot + 1] = 0;
    expect_call(&nodes[1], "a", "stays", other, JSON "at node 1~");
    assert_int_equal(n_relayed, 0);
    /* A forged state is refused where it is forwarded to. */
    strcpy(other, token);
    other[dot / 2] = other[dot / 2] == 'A' ? 'B' : 'A';
    expect_call(&nodes[1], "a", "stays", other, JSON "-32602~");
    assert_int_equal(n_relayed, 1);
    fleet_end();
}

static void test_memory(void **state)
{
    char token[STATE];
    (void)state;
    for (size_t fail_at = 1;; fail_at++) {
        node_begin(&nodes[0], true);
        assert_int_equal(add_tools(&nodes[0]), MCP_OK);
        ask_for(&nodes[0], "a", "stays", token);
        if (node_begin_with(&nodes[1], true, NULL, fail_at) != MCP_OK) {
            rig_end(&nodes[1].r);
            fleet_end();
            continue;
        }
        wire w;
        if (wire_open_from(&w, &nodes[1].r, "peer") == MCP_OK)
            send_call(&w, "a", "stays", token);
        if (w.c)
            wire_end(&w);
        pump();
        bool all = nodes[1].r.memory.calls < fail_at;
        fleet_end();
        if (all)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward), cmocka_unit_test(test_anywhere),
        cmocka_unit_test(test_gone),    cmocka_unit_test(test_others),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
