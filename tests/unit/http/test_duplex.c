/* HTTP+SSE of 2024-11-05: a GET for the stream, a POST for each message. */
#include "rig.h"

#define GET_STREAM                                                                   \
    "GET /sse HTTP/1.1\nHost: localhost\nAccept: text/event-stream\nCache-Control: " \
    "no-cache\n"
#define OPENED                                                       \
    "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n"             \
    "Cache-Control: no-cache, no-transform\nX-Accel-Buffering: no\n" \
    "Transfer-Encoding: chunked\n\n~\nevent: endpoint\ndata: /sse?sessionId=~\n\n\n"
#define EVENT(data) "~\nevent: message\ndata: " data "\n\n\n"
#define ACCEPTED    "HTTP/1.1 202 Accepted\nContent-Length: 0\n\n"
#define PING        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}"
#define PONG        EVENT("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}")
#define CALL(name) \
    "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"} }"
#define BEAT "3\n:\n\n\n"

static const mcp_http_options served = {.sse_path = "/sse"};
static const mcp_http_options with_tokens = {.sse_path = "/sse", .authenticate = login_by_name};

static void open_as(wire *w, rig *r, const char *headers)
{
    char request[256];
    wire_open(w, r);
    snprintf(request, sizeof(request), GET_STREAM "%s\n", headers);
    wire_send(w, request);
    wire_expect(w, OPENED);
    const char *id = strstr(wire_text(w), "sessionId=");
    assert_non_null(id);
    snprintf(r->session, sizeof(r->session), "%.32s", id + 10);
    assert_int_equal(strspn(r->session, "0123456789abcdef"), 32);
    wire_clear(w);
}

/* Sends one message to a session by POST and checks the response. */
static void post_to(rig *r, const char *id, const char *headers, const char *body,
                    const char *expected)
{
    wire w;
    char request[1024];
    snprintf(request, sizeof(request),
             "POST /sse?sessionId=%s HTTP/1.1\nHost: localhost\nContent-Type: application/json\n"
             "%sContent-Length: {{len}}\n\n%s",
             id, headers, body);
    if (wire_open_from(&w, r, NULL) == MCP_OK) {
        wire_send(&w, request);
        wire_expect(&w, expected);
    }
    wire_end(&w);
}

static void post(rig *r, const char *body)
{
    post_to(r, r->session, "", body, ACCEPTED);
}

static void initialize(wire *w, rig *r, const char *capabilities)
{
    char body[512];
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"2024-11-05\",\"capabilities\":{ %s },"
             "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"} } }",
             capabilities);
    post(r, body);
    wire_expect(w, EVENT("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":"
                         "\"2024-11-05\"~}}"));
    wire_clear(w);
    post(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    wire_expect(w, "");
}

/* Answers, notifications and requests of the server use the one stream, in order. */
static void test_messages(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, &served);
    assert_int_equal(fixture_add_asks(fixture_server(r.fixture), NULL), MCP_OK);
    open_as(&w, &r, "");
    initialize(&w, &r, "\"roots\":{}");
    post(&r, PING);
    wire_expect(&w, PONG);
    wire_clear(&w);
    post(&r, CALL("pending"));
    post(&r, PING);
    wire_expect(&w, PONG);
    wire_clear(&w);
    fixture_finish(r.fixture, 0);
    wire_expect(&w, EVENT("{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{~}}"));
    wire_clear(&w);
    post(&r, CALL("list_roots"));
    wire_expect(&w, EVENT("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"~}"));
    wire_clear(&w);
    post(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[{\"uri\":\"file:///r\"}]} }");
    wire_expect(&w, EVENT("{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{~\"text\":\"1\"~}}"));
    wire_clear(&w);
    post(&r, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"unknown\"}");
    wire_expect(&w, EVENT("{\"jsonrpc\":\"2.0\",\"id\":9,\"error\":{\"code\":-32601,~}}"));
    wire_clear(&w);
    fixture_add_tool(r.fixture, "new");
    rig_pass(&r, 300);
    wire_expect(&w,
                EVENT("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"~}"));
    wire_clear(&w);
    rig_pass(&r, 15001);
    wire_expect(&w, BEAT);
    wire_end(&w);
    rig_end(&r);
}

/* When the stream is closed, the session ends and its requests are cancelled. */
static void test_end(void **state)
{
    (void)state;
    rig r;
    for (int how = 0; how < 3; how++) {
        wire w;
        rig_begin(&r, &served);
        open_as(&w, &r, "");
        initialize(&w, &r, "");
        post(&r, CALL("pending"));
        if (how == 0)
            mcp_http_receive_end(w.c, r.now);
        else if (how == 1)
            mcp_http_revoke(r.http, NULL, r.now);
        if (how == 0)
            assert_int_not_equal(w.closed, 0);
        else if (how == 1)
            wire_expect(&w, "0\n\n");
        wire_end(&w);
        post_to(&r, r.session, "", PING, "HTTP/1.1 404 ~\"id\":7,~open a new one with GET~");
        rig_pass(&r, 1);
        fixture_finish(r.fixture, 0);
        wire_open(&w, &r);
        wire_send(&w, "GET /metrics HTTP/1.1\nHost: localhost\n\n");
        wire_expect(&w, "~\nmcp_sessions 0\n~\nmcp_http_sse_sessions_total 1\n~");
        wire_end(&w);
        rig_end(&r);
    }
}

/* While draining, a stream stays open for its pending answers. */
static void test_drain(void **state)
{
    (void)state;
    rig r;
    wire busy, idle, late;
    rig_begin(&r, &served);
    open_as(&idle, &r, "");
    initialize(&idle, &r, "");
    open_as(&busy, &r, "");
    initialize(&busy, &r, "");
    post(&r, CALL("pending"));
    mcp_http_drain(r.http, r.now);
    rig_pass(&r, 10);
    wire_expect(&idle, "0\n\n");
    assert_int_not_equal(idle.closed, 0);
    assert_int_equal(busy.closed, 0);
    wire_open(&late, &r);
    wire_send(&late, GET_STREAM "\n");
    wire_expect(&late, "HTTP/1.1 503 ~about to end~");
    fixture_finish(r.fixture, 0);
    rig_pass(&r, 10);
    wire_expect(&busy, EVENT("{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{~}}") "0\n\n");
    assert_int_not_equal(busy.closed, 0);
    wire_end(&late);
    wire_end(&busy);
    wire_end(&idle);
    rig_end(&r);
}

/* At the end of the drain, each pending call gets an error before the stream ends. */
static void test_cut(void **state)
{
    (void)state;
    static const char ended[] =
        "\"error\":{\"code\":-32603,\"message\":\"the server ended before the request was answered";
    rig r;
    wire busy, idle;
    char expected[512];
    rig_begin(&r, &served);
    open_as(&idle, &r, "");
    initialize(&idle, &r, "");
    open_as(&busy, &r, "");
    initialize(&busy, &r, "");
    post(&r, CALL("pending"));
    post(&r, "{\"jsonrpc\":\"2.0\",\"id\":\"nine\",\"method\":\"tools/call\",\"params\":{"
             "\"name\":\"pending\"} }");
    mcp_http_drain(r.http, r.now);
    wire_clear(&idle);
    assert_int_equal(mcp_http_cut(r.http, r.now), 2);
    snprintf(expected, sizeof(expected),
             EVENT("{\"jsonrpc\":\"2.0\",\"id\":8,%s~}}")
                 EVENT("{\"jsonrpc\":\"2.0\",\"id\":\"nine\",%s~}}") "0\n\n",
             ended, ended);
    wire_expect(&busy, expected);
    assert_int_not_equal(busy.closed, 0);
    assert_int_not_equal(idle.closed, 0);
    rig_pass(&r, 10);
    fixture_finish(r.fixture, 0);
    fixture_finish(r.fixture, 0);
    wire_end(&busy);
    wire_end(&idle);
    rig_end(&r);
}

/* A message is rejected for the session of another principal, for one of the other transport, and
 * for a guessed id. */
static void test_whose(void **state)
{
    (void)state;
    static const char ada[] = "Authorization: Bearer ada\n", bob[] = "Authorization: Bearer bob\n";
    rig r;
    wire a, b;
    char of_ada[64];
    rig_begin(&r, &with_tokens);
    wire_open(&b, &r);
    wire_send(&b, GET_STREAM "\n");
    wire_expect(&b, "HTTP/1.1 401 ~");
    wire_end(&b);
    open_as(&a, &r, ada);
    snprintf(of_ada, sizeof(of_ada), "%.63s", r.session);
    open_as(&b, &r, bob);
    assert_string_not_equal(of_ada, r.session);
    post_to(&r, of_ada, bob, PING, "HTTP/1.1 404 ~");
    post_to(&r, of_ada, "", PING, "HTTP/1.1 401 ~");
    post_to(&r, "", ada, PING, "HTTP/1.1 405 ~Allow: GET\n~");
    post_to(&r, "0123456789abcdef0123456789abcdef", ada, PING, "HTTP/1.1 404 ~");
    post_to(&r, "x&sessionId=y", ada, PING, "HTTP/1.1 404 ~");
    wire_expect(&a, "");
    post_to(&r, of_ada, ada, PING, ACCEPTED);
    wire_expect(&a, PONG);
    wire_expect(&b, "");
    rig_initialize(&r, "2025-06-18", ada);
    assert_string_not_equal(r.session, "");
    post_to(&r, r.session, ada, PING, "HTTP/1.1 404 ~");
    wire other;
    char request[512];
    snprintf(request, sizeof(request),
             "POST /mcp HTTP/1.1\n{{std}}%sMcp-Session-Id: %s\nContent-Length: {{len}}\n\n" PING,
             ada, of_ada);
    wire_open(&other, &r);
    wire_send(&other, request);
    wire_expect(&other, "HTTP/1.1 404 ~");
    wire_end(&other);
    wire_end(&b);
    wire_end(&a);
    rig_end(&r);
}

static const struct {
    const char *request, *expected;
} refused_cases[] = {
    {"GET /sse HTTP/1.1\nHost: localhost\nAccept: application/json\n\n", "HTTP/1.1 406 ~"},
    {"GET /sse HTTP/1.1\nHost: evil.example\n\n", "HTTP/1.1 403 ~"},
    {"GET /sse HTTP/1.1\nHost: localhost\nOrigin: http://evil.example\n\n", "HTTP/1.1 403 ~"},
    {"PUT /sse HTTP/1.1\nHost: localhost\n\n", "HTTP/1.1 405 ~Allow: GET, POST\n~"},
    {"DELETE /sse HTTP/1.1\nHost: localhost\n\n", "HTTP/1.1 405 ~Allow: GET, POST\n~"},
    {"POST /sse HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n" PING,
     /* no answer to the message: a client that gets one does not try HTTP+SSE */
     "HTTP/1.1 405 ~Allow: GET\n~\n\nthis is HTTP+SSE ~GET opens a stream~"},
    {"POST /sse?sessionId HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n" PING, "HTTP/1.1 405 ~"},
    {"POST /sse?sessionId={{session}} HTTP/1.1\nHost: evil.example\nContent-Type: "
     "application/json\nContent-Length: {{len}}\n\n" PING,
     "HTTP/1.1 403 ~"},
    {"POST /sse?sessionId={{session}} HTTP/1.1\nHost: localhost\nContent-Type: "
     "text/plain\nContent-Length: {{len}}\n\n" PING,
     "HTTP/1.1 415 ~"},
    {"POST /sse?a=b&sessionId={{session}} HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n{",
     "HTTP/1.1 400 ~\"code\":-32700,~"},
    {"POST /sse?sessionId={{session}}&a HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n{}",
     "HTTP/1.1 400 ~\"code\":-32600,~"},
    {"POST /sse?sessionId={{session}} HTTP/1.1\n{{modern ping}}Content-Length: {{len}}\n\n"
     "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{ {{meta}} } }",
     "HTTP/1.1 400 ~\"id\":7,~MCP endpoint~"},
    {"GET /mcp HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n\n", "HTTP/1.1 405 ~"},
};

static void test_refused(void **state)
{
    (void)state;
    rig r;
    wire stream;
    rig_begin(&r, &served);
    open_as(&stream, &r, "");
    for (size_t i = 0; i < COUNT(refused_cases); i++) {
        wire w;
        wire_open(&w, &r);
        wire_send(&w, refused_cases[i].request);
        wire_expect(&w, refused_cases[i].expected);
        wire_end(&w);
    }
    wire_expect(&stream, "");
    wire_end(&stream);
    rig_end(&r);

    rig_begin(&r, NULL); /* the option is not set */
    wire_open(&stream, &r);
    wire_send(&stream, GET_STREAM "\n");
    wire_expect(&stream, "HTTP/1.1 404 ~");
    wire_end(&stream);
    rig_end(&r);
    static const char *const paths[] = {"", "sse", "/mcp"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        mcp_http *http;
        assert_int_equal(mcp_http_new((mcp_server *)&r,
                                      MCP_OPTIONS(mcp_http_options, .random = rig_random,
                                                  .user = &r, .sse_path = paths[i]),
                                      &http, NULL),
                         MCP_EINVAL);
    }
}

/* These sessions count for the session limit, and a client that does not read its stream cannot
 * send more requests. */
static void test_limits(void **state)
{
    (void)state;
    rig r;
    wire a, b;
    rig_begin(&r, &(mcp_http_options){.sse_path = "/sse",
                                      .max_sessions = 1,
                                      .max_sessions_each = SIZE_MAX,
                                      .max_output = 100});
    open_as(&b, &r, "");
    open_as(&a, &r, "");
    wire_expect(&b, "0\n\n"); /* it was evicted because it was not initialized */
    wire_end(&b);
    initialize(&a, &r, "");
    wire_open(&b, &r);
    wire_send(&b, GET_STREAM "\n");
    wire_expect(&b, "HTTP/1.1 503 ~(max_sessions)~");
    wire_end(&b);
    mcp_http_set_pending(a.c, 101, r.now);
    post_to(&r, r.session, "", PING, "HTTP/1.1 429 ~\"id\":7,~not being read~");
    mcp_http_set_pending(a.c, 0, r.now);
    post(&r, PING);
    wire_expect(&a, PONG);
    mcp_http_set_pending(a.c, 10, r.now);
    rig_pass(&r, 60001);
    assert_int_equal(a.closed, MCP_HTTP_ABORT + 1);
    wire_end(&a);
    open_as(&a, &r, ""); /* there is room again */
    wire_end(&a);
    rig_end(&r);
}

/* A stream without initialization has the time-out of an idle session. */
static void test_idle(void **state)
{
    (void)state;
    rig r;
    wire a, b;
    rig_begin(&r, &(mcp_http_options){.sse_path = "/sse", .session_idle_ms = 5000});
    open_as(&a, &r, "");
    open_as(&b, &r, "");
    initialize(&b, &r, "");
    rig_pass(&r, 4999);
    wire_expect(&a, "");
    rig_pass(&r, 2);
    wire_expect(&a, "0\n\n");
    rig_pass(&r, 9000);
    wire_expect(&b, "");
    post(&r, PING);
    wire_expect(&b, PONG);
    wire_end(&b);
    wire_end(&a);
    rig_end(&r);
}

/* HTTP/1.0 has no chunked encoding. */
static void test_old_http(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, &served);
    wire_open(&w, &r);
    wire_send(&w, "GET /sse HTTP/1.0\nHost: localhost\n\n");
    wire_expect(&w, "HTTP/1.1 200 OK\nConnection: close\n~no\n\nevent: endpoint\ndata: "
                    "/sse?sessionId=~\n\n");
    wire_end(&w);
    rig_end(&r);
}

static void test_memory(void **state)
{
    (void)state;
    for (size_t n = 1, most = 2; n < most; n++) {
        rig r;
        wire w = {0};
        if (rig_begin_with(&r, &served, n) == MCP_OK && wire_open_from(&w, &r, NULL) == MCP_OK) {
            wire_send(&w, GET_STREAM "\n");
            const char *id = strstr(wire_text(&w), "sessionId=");
            snprintf(r.session, sizeof(r.session), "%.32s", id ? id + 10 : "none");
            post_to(&r, r.session, "", CALL("echo"), "~");
            post_to(&r, r.session, "", PING, "~");
            rig_pass(&r, 100);
        }
        if (w.c)
            wire_end(&w);
        most = r.memory.calls + 1;
        rig_end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages), cmocka_unit_test(test_end),
        cmocka_unit_test(test_drain),    cmocka_unit_test(test_cut),
        cmocka_unit_test(test_whose),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limits),   cmocka_unit_test(test_idle),
        cmocka_unit_test(test_old_http), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
