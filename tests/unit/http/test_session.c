/* Legacy sessions: their lifetime, their owners, their streams, and replayed events. */
#include "rig.h"

#define JSON_HEAD "HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: ~\n\n"
#define SSE_HEAD                                                     \
    "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n"             \
    "Cache-Control: no-cache, no-transform\nX-Accel-Buffering: no\n" \
    "Transfer-Encoding: chunked\n\n"
#define POST(body) \
    "POST /mcp HTTP/1.1\n{{std}}Mcp-Session-Id: {{session}}\nContent-Length: {{len}}\n\n" body
#define CALL(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{ " params "} }"
#define GET(headers)                                                  \
    "GET /mcp HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n" \
    "Mcp-Session-Id: {{session}}\n" headers "\n"
#define PRIME(id) "~\nid: " id "\nretry: 1000\ndata: \n\n\n"

static void begin_session(rig *r, const mcp_http_options *options, const char *revision)
{
    rig_begin(r, options);
    rig_initialize(r, revision, "");
    assert_int_equal(strlen(r->session), 32);
}

static void expect_once(rig *r, const char *request, const char *expected)
{
    wire w;
    wire_open(&w, r);
    wire_send(&w, request);
    wire_expect(&w, expected);
    wire_end(&w);
}

static void test_life(void **state)
{
    (void)state;
    rig r;
    begin_session(&r, NULL, "2025-06-18");
    expect_once(&r, POST(CALL("resources/list", "")), JSON_HEAD "{\"jsonrpc\":\"2.0\",\"id\":1,~");
    expect_once(&r, POST("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"),
                "HTTP/1.1 202 Accepted\n~");
    expect_once(&r, POST("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{} }"),
                "HTTP/1.1 202 Accepted\n~");
    expect_once(&r, POST("{\"jsonrpc\":\"2.0\"}"), "HTTP/1.1 400 Bad Request\n~-32600~");
    expect_once(&r, POST(CALL("unknown", "")), JSON_HEAD "~-32601~");
    expect_once(&r, POST(CALL("initialize", "")), JSON_HEAD "~\"error\"~"); /* rejected */
    expect_once(&r, POST("[" CALL("ping", "") "]"), "HTTP/1.1 400 Bad Request\n~-32600~");
    /* the revision of the session takes precedence over the header, which must be valid
     * nevertheless */
    expect_once(
        &r,
        "POST /mcp HTTP/1.1\n{{std}}Mcp-Session-Id: {{session}}\n"
        "MCP-Protocol-Version: 2025-03-26\nContent-Length: {{len}}\n\n[" CALL("ping", "") "]",
        "HTTP/1.1 400 Bad Request\n~batches~");
    expect_once(&r,
                "POST /mcp HTTP/1.1\n{{std}}Mcp-Session-Id: {{session}}\n"
                "MCP-Protocol-Version: 1\nContent-Length: {{len}}\n\n" CALL("ping", ""),
                "HTTP/1.1 400 Bad Request\n~MCP-Protocol-Version~");
    expect_once(&r, "DELETE /mcp HTTP/1.1\nHost: localhost\nMcp-Session-Id: {{session}}\n\n",
                "HTTP/1.1 204 No Content\n\n");
    expect_once(&r, POST(CALL("ping", "")), "HTTP/1.1 404 Not Found\n~");
    expect_once(&r, GET(""), "HTTP/1.1 404 Not Found\n~");
    expect_once(&r, "DELETE /mcp HTTP/1.1\nHost: localhost\nMcp-Session-Id: {{session}}\n\n",
                "HTTP/1.1 404 Not Found\n~");
    rig_end(&r);
}

static void test_batch(void **state)
{
    (void)state;
    rig r;
    begin_session(&r, NULL, "2025-03-26");
    expect_once(&r, POST("[" CALL("ping", "") "]"),
                JSON_HEAD "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]");
    expect_once(&r,
                POST("[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},"
                     "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{} }]"),
                "HTTP/1.1 202 Accepted\n~");
    expect_once(&r, POST("[1]"), "HTTP/1.1 ~[{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":~");
    expect_once(&r, POST("[]"), "HTTP/1.1 400 Bad Request\n~-32600~");
    rig_end(&r);
}

static void test_principal(void **state)
{
    (void)state;
    rig r;
    rig_begin(&r,
              &(mcp_http_options){.authenticate = login_by_name, .challenge = "Bearer x=\"y\""});
    rig_initialize(&r, "2025-06-18", "Authorization: Bearer alice\n");
    assert_int_equal(strlen(r.session), 32);
    static const struct {
        const char *who, *expected;
    } rows[] = {
        {"", "HTTP/1.1 401 Unauthorized\n~\nWWW-Authenticate: Bearer x=\"y\"\n~"},
        {"Authorization: Basic x\n", "HTTP/1.1 401 Unauthorized\n~"},
        {"Authorization: Bearer alice\n", JSON_HEAD "~"},
        {"Authorization: Bearer mallory\n", "HTTP/1.1 404 Not Found\n~"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char request[512];
        snprintf(request, sizeof(request),
                 "POST /mcp HTTP/1.1\n{{std}}%sMcp-Session-Id: {{session}}\n"
                 "Content-Length: {{len}}\n\n" CALL("ping", ""),
                 rows[i].who);
        expect_once(&r, request, rows[i].expected);
    }
    expect_once(&r, GET("Authorization: Bearer mallory\n"), "HTTP/1.1 404 Not Found\n~");
    expect_once(&r, "GET /healthz HTTP/1.1\nHost: localhost\n\n", "HTTP/1.1 200 OK\n~");
    expect_once(&r, "GET /metrics HTTP/1.1\nHost: localhost\n\n", "HTTP/1.1 401 Unauthorized\n~");
    rig_end(&r);
}

static int call_who(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_textf(req, "you are %s", mcp_request_principal(req));
}

/* The principal of a modern request depends only on its own Authorization, not on earlier requests
 * of the connection. */
static void test_changing_principal(void **state)
{
    (void)state;
    static const mcp_tool tool = {.size = sizeof(mcp_tool), .name = "who", .call = call_who};
    rig r;
    rig_begin(&r, &(mcp_http_options){.authenticate = login_by_name, .log = rig_log});
    assert_int_equal(mcp_server_add_tool(fixture_server(r.fixture), &tool, NULL, NULL), MCP_OK);
    wire w;
    wire_open(&w, &r);
    static const char *const who[] = {"alice", "bob", "bob", "alice"};
    for (size_t i = 0; i < COUNT(who); i++) {
        char request[1024], expected[64];
        snprintf(request, sizeof(request),
                 "POST /mcp HTTP/1.1\n{{modern tools/call}}Mcp-Name: who\n"
                 "Authorization: Bearer %s\n"
                 "Content-Length: {{len}}\n\n" CALL("tools/call", "\"name\":\"who\",{{meta}}"),
                 who[i]);
        snprintf(expected, sizeof(expected), "HTTP/1.1 200 OK\n~you are %s\"~", who[i]);
        wire_clear(&w);
        wire_send(&w, request);
        wire_expect(&w, expected);
        assert_int_equal(r.logged, i + 1);
    }
    wire_end(&w);
    rig_end(&r);
}

static void test_cap(void **state)
{
    (void)state;
    rig r;
    rig_begin(&r, &(mcp_http_options){.max_sessions = 3});
    char first[64];
    rig_initialize(&r, "2025-06-18", "");
    memcpy(first, r.session, sizeof(first));
    /* Two sessions in use are not evicted, however long they are idle. */
    wire w[2];
    for (size_t i = 0; i < 2; i++) {
        rig_initialize(&r, "2025-06-18", "");
        wire_open(&w[i], &r);
        wire_send(&w[i], GET(""));
        wire_expect(&w[i], SSE_HEAD);
    }
    rig_initialize(&r, "2025-06-18", "");
    assert_int_equal(strlen(r.session), 32);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(w[i].closed, 0);
    memcpy(r.session, first, sizeof(first));
    expect_once(&r, POST(CALL("ping", "")), "HTTP/1.1 404 Not Found\n~");
    rig_initialize(&r, "2025-06-18", "");
    wire last;
    wire_open(&last, &r);
    wire_send(&last, GET(""));
    wire_expect(&last, SSE_HEAD);
    expect_once(&r,
                "POST /mcp HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n" CALL(
                    "initialize", "\"protocolVersion\":\"2025-06-18\""),
                "HTTP/1.1 503 Service Unavailable\n~max_sessions~");
    for (size_t i = 0; i < 2; i++)
        wire_end(&w[i]);
    wire_end(&last);
    rig_end(&r);
}

static void test_flat(void **state)
{
    (void)state;
    rig r;
    rig_begin(&r, &(mcp_http_options){.max_sessions = 100});
    size_t live = 0;
    for (size_t i = 0; i < 20000; i++) {
        rig_initialize(&r, "2025-11-25", "");
        if (i == 200)
            live = r.memory.live;
        if (i > 200)
            assert_true(r.memory.live <= live);
    }
    expect_once(&r, "GET /metrics HTTP/1.1\nHost: localhost\n\n",
                "~\nmcp_sessions 100\n~\nmcp_sessions_total 20000\n~"
                "\nmcp_sessions_evicted_total 19900\n~");
    rig_end(&r);
}

static void test_idle(void **state)
{
    (void)state;
    rig r;
    begin_session(&r, &(mcp_http_options){.session_idle_ms = 5000}, "2025-06-18");
    rig_pass(&r, 4000);
    expect_once(&r, POST(CALL("ping", "")), JSON_HEAD "~");
    rig_pass(&r, 4000);
    expect_once(&r, POST(CALL("ping", "")), JSON_HEAD "~");
    wire w;
    wire_open(&w, &r);
    wire_send(&w, GET(""));
    rig_pass(&r, 40000); /* in use */
    expect_once(&r, POST(CALL("ping", "")), JSON_HEAD "~");
    wire_end(&w);
    rig_pass(&r, 4999);
    expect_once(&r, POST(CALL("ping", "")), JSON_HEAD "~");
    rig_pass(&r, 5001);
    expect_once(&r, POST(CALL("ping", "")), "HTTP/1.1 404 Not Found\n~");
    rig_end(&r);
}

/* ---- streams --------------------------------------------------------------------------------- */

#define PROGRESS \
    POST(CALL("tools/call", "\"name\":\"progress\",\"_meta\":{\"progressToken\":\"t\"}"))
#define PROGRESS_UNPRIMED                               \
    SSE_HEAD "~\nid: 2-1\ndata: {~progress\":1~}\n\n\n" \
             "~\ndata: {~progress\":4~}\n\n\n"          \
             "~\ndata: {~\"id\":1~}\n\n\n0\n\n"

static void test_post_stream(void **state)
{
    (void)state;
    static const struct {
        const char *revision, *expected;
    } rows[] = {
        {"2025-11-25", SSE_HEAD PRIME("2-0") "~\nid: 2-1\ndata: {~progress\":1~}\n\n\n"
                                             "~\ndata: {~progress\":4~}\n\n\n"
                                             "~\ndata: {~\"id\":1~}\n\n\n0\n\n"},
        {"2025-06-18", PROGRESS_UNPRIMED},
        {"2025-03-26", PROGRESS_UNPRIMED},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        rig r;
        wire w;
        begin_session(&r, NULL, rows[i].revision);
        wire_open(&w, &r);
        wire_send(&w, PROGRESS);
        wire_expect(&w, rows[i].expected);
        /* Not written as "~", which would also match an empty event; older clients cannot parse
         * one. */
        assert_int_equal(strstr(wire_text(&w), "id: 2-0") != NULL, i == 0);
        wire_end(&w);
        rig_end(&r);
    }
}

static void test_replay(void **state)
{
    (void)state;
    rig r;
    begin_session(&r, NULL, "2025-11-25");
    expect_once(&r, POST(CALL("ping", "")), JSON_HEAD "~"); /* 2; initialize was 1 */
    expect_once(&r, PROGRESS, SSE_HEAD "~id: 3-3\n~");
    static const struct {
        const char *last, *expected;
    } rows[] = {
        {"3-0", SSE_HEAD "~id: 3-1\n~id: 3-2\n~id: 3-3\n~\"id\":1~\n\n\n0\n\n"},
        {"3-1", SSE_HEAD "~id: 3-2\n~id: 3-3\n~\"id\":1~\n\n\n0\n\n"},
        {"3-9", "HTTP/1.1 400 Bad Request\n~Last-Event-ID~"},
        {"2-0", "HTTP/1.1 400 Bad Request\n~Last-Event-ID~"},
        {"9-1", "HTTP/1.1 400 Bad Request\n~Last-Event-ID~"},
        {"3", "HTTP/1.1 400 Bad Request\n~Last-Event-ID~"},
        {"3-x", "HTTP/1.1 400 Bad Request\n~Last-Event-ID~"},
        {"-", "HTTP/1.1 400 Bad Request\n~Last-Event-ID~"},
        {"99999999999999999999999-1", "HTTP/1.1 400 Bad Request\n~Last-Event-ID~"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char request[512];
        snprintf(request, sizeof(request), GET("Last-Event-ID: %s\n"), rows[i].last);
        expect_once(&r, request, rows[i].expected);
    }
    rig_end(&r);
}

/* A call whose client disconnects is not cancelled, and its answer is stored. */
static void test_away(void **state)
{
    (void)state;
    rig r;
    begin_session(&r, &(mcp_http_options){.heartbeat_ms = 1000}, "2025-11-25");
    wire w;
    wire_open(&w, &r);
    wire_send(&w, POST(CALL("tools/call", "\"name\":\"pending\"")));
    wire_expect(&w, "");
    rig_pass(&r, 1000); /* it takes long, so the response becomes a stream */
    wire_expect(&w, SSE_HEAD PRIME("2-0") "3\n:\n\n\n");
    wire_end(&w);
    assert_int_equal(fixture_cancelled(r.fixture), 0);

    /* the client reconnects before the answer */
    wire_open(&w, &r);
    wire_send(&w, GET("Last-Event-ID: 2-0\n"));
    wire_expect(&w, SSE_HEAD);
    wire second; /* and once more, while the first connection still seems to be open */
    wire_open(&second, &r);
    wire_send(&second, GET("Last-Event-ID: 2-0\n"));
    wire_expect(&w, SSE_HEAD "0\n\n");
    wire_expect(&second, SSE_HEAD);
    fixture_finish(r.fixture, 0);
    wire_expect(&second, SSE_HEAD "~id: 2-1\ndata: {~later~}\n\n\n0\n\n");
    wire_end(&second);
    wire_end(&w);

    /* the client reconnects after the answer */
    wire_open(&w, &r);
    wire_send(&w, POST(CALL("tools/call", "\"name\":\"pending\"")));
    rig_pass(&r, 1000);
    wire_end(&w);
    fixture_finish(r.fixture, 0);
    expect_once(&r, GET("Last-Event-ID: 3-0\n"), SSE_HEAD "~id: 3-1\ndata: {~later~}\n\n\n0\n\n");
    rig_end(&r);
}

static mcp_request *held;

static int leave(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    held = req;
    mcp_request_end_stream(req);
    mcp_request_end_stream(req);
    return MCP_PENDING;
}

/* A handler closes the stream, and its answer is stored until the client reconnects. This needs a
 * session of 2025-11-25 and a client that accepts streams. */
static void test_ended_stream(void **state)
{
    (void)state;
    static const struct {
        const char *revision, *request, *expected, *answered;
    } rows[] = {
        {"2025-11-25", POST(CALL("tools/call", "\"name\":\"leave\"")),
         SSE_HEAD PRIME("2-0") "~0\n\n", NULL},
        {"2025-06-18", POST(CALL("tools/call", "\"name\":\"leave\"")), "", JSON_HEAD "~back~"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        rig r;
        begin_session(&r, NULL, rows[i].revision);
        assert_int_equal(mcp_server_add_tool(fixture_server(r.fixture),
                                             MCP_OPTIONS(mcp_tool, .name = "leave", .call = leave),
                                             NULL, NULL),
                         MCP_OK);
        wire w;
        wire_open(&w, &r);
        wire_send(&w, rows[i].request);
        wire_expect(&w, rows[i].expected);
        if (rows[i].answered) {
            mcp_reply_text(held, "back");
            mcp_reply_finish(held, MCP_OK);
            wire_expect(&w, rows[i].answered);
        } else {
            wire again;
            wire_open(&again, &r);
            wire_send(&again, GET("Last-Event-ID: 2-0\n"));
            wire_expect(&again, SSE_HEAD);
            mcp_reply_text(held, "back");
            mcp_reply_finish(held, MCP_OK);
            wire_expect(&again, SSE_HEAD "~id: 2-1\ndata: {~back~}\n\n\n0\n\n");
            wire_end(&again);
        }
        wire_end(&w);
        rig_end(&r);
    }
}

/* The request of a handler is sent on the stream of its call, and the answer arrives in a separate
 * POST. */
static void test_asking(void **state)
{
    (void)state;
    rig r;
    rig_begin(&r, NULL);
    assert_int_equal(fixture_add_asks(fixture_server(r.fixture), NULL), MCP_OK);
    rig_initialize_as(&r, "2025-11-25", "", "\"roots\":{}");
    wire w;
    wire_open(&w, &r);
    wire_send(&w, POST(CALL("tools/call", "\"name\":\"list_roots\"")));
    wire_expect(&w, SSE_HEAD PRIME("2-0") "~id: 2-1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,"
                                          "\"method\":\"roots/list\",\"params\":{}}\n\n\n");
    expect_once(&r, POST("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[]} }"),
                "HTTP/1.1 202 Accepted\n~");
    wire_expect(&w, "~id: 2-2\ndata: {~\"text\":\"0\"~}\n\n\n0\n\n");
    wire_end(&w);
    rig_end(&r);
}

static void test_get_stream(void **state)
{
    (void)state;
    rig r;
    begin_session(&r, NULL, "2025-11-25");
    /* Without a stream, changes are merged into one notification, which the next stream gets. */
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof(name), "new%d", i);
        assert_int_equal(fixture_add_tool(r.fixture, name), MCP_OK);
        rig_pass(&r, 1000);
    }
    wire a, b;
    wire_open(&a, &r);
    wire_send(&a, GET(""));
    wire_expect(&a, SSE_HEAD PRIME("0-0"));
    wire_clear(&a);
    rig_pass(&r, 1000);
    wire_expect(&a, "~\nid: 0-1\ndata: {\"jsonrpc\":\"2.0\","
                    "\"method\":\"notifications/tools/list_changed\"}\n\n\n");

    /* Only the newest of several streams gets the notification. */
    wire_clear(&a);
    wire_open(&b, &r);
    wire_send(&b, GET(""));
    wire_expect(&b, SSE_HEAD PRIME("0-1"));
    wire_clear(&b);
    fixture_add_prompt(r.fixture, "new");
    rig_pass(&r, 1000);
    wire_expect(&a, "");
    wire_expect(&b, "~\nid: 0-2\ndata: {~prompts/list_changed~}\n\n\n");
    wire_end(&b);
    fixture_add_prompt(r.fixture, "newer");
    rig_pass(&r, 1000);
    wire_expect(&a, "~\nid: 0-3\ndata: {~prompts/list_changed~}\n\n\n");
    wire_end(&a);

    /* A client that names an event that never existed gets no replay. */
    wire_open(&a, &r);
    wire_send(&a, GET("Last-Event-ID: 0-99\n"));
    wire_expect(&a, SSE_HEAD PRIME("0-3"));
    wire_end(&a);

    /* A lost stream resumes after its last event. */
    wire_open(&a, &r);
    wire_send(&a, GET("Last-Event-ID: 0-1\n"));
    wire_expect(&a, SSE_HEAD PRIME("0-1") "~id: 0-2\n~id: 0-3\n~");
    wire_end(&a);
    rig_end(&r);
}

/* An idle stream of a session gets comments, also after it was lost and resumed. */
static void test_heartbeat(void **state)
{
    (void)state;
    static const char *const streams[] = {GET(""), GET("Last-Event-ID: 0-0\n")};
    for (size_t i = 0; i < COUNT(streams); i++) {
        rig r;
        wire w;
        begin_session(&r, NULL, "2025-06-18");
        wire_open(&w, &r);
        wire_send(&w, streams[i]);
        wire_expect(&w, SSE_HEAD);
        rig_pass(&r, 14999);
        wire_expect(&w, SSE_HEAD);
        rig_pass(&r, 2);
        wire_expect(&w, SSE_HEAD "3\n:\n\n\n");
        wire_end(&w);
        rig_end(&r);
    }
}

static void test_subscribe(void **state)
{
    (void)state;
    rig r;
    begin_session(&r, NULL, "2025-06-18");
    expect_once(&r, POST(CALL("resources/subscribe", "\"uri\":\"fixed:/text\"")), JSON_HEAD "~");
    wire w;
    wire_open(&w, &r);
    wire_send(&w, GET(""));
    wire_expect(&w, SSE_HEAD);
    mcp_server_resource_updated(fixture_server(r.fixture), "fixed:/text");
    assert_int_equal(r.woken, 1);
    rig_pass(&r, 200);
    wire_expect(&w, SSE_HEAD "~id: 0-1\ndata: {~resources/updated~fixed:/text~}\n\n\n");
    expect_once(&r, "DELETE /mcp HTTP/1.1\nHost: localhost\nMcp-Session-Id: {{session}}\n\n",
                "HTTP/1.1 204 No Content\n\n");
    wire_expect(&w, SSE_HEAD "~}\n\n\n0\n\n");
    assert_int_equal(w.closed, 0); /* the connection can be used again */
    wire_end(&w);
    rig_end(&r);
}

static void test_max_streams(void **state)
{
    (void)state;
    rig r;
    begin_session(&r, &(mcp_http_options){.max_streams = 2}, "2025-06-18");
    wire w[2];
    for (size_t i = 0; i < 2; i++) {
        wire_open(&w[i], &r);
        wire_send(&w[i], GET(""));
    }
    expect_once(&r, GET(""), "HTTP/1.1 429 Too Many Requests\n~max_streams~");
    /* Notifications are omitted if the response cannot be a stream. */
    expect_once(&r, PROGRESS, JSON_HEAD "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":~");
    wire_end(&w[0]);
    expect_once(&r, PROGRESS, SSE_HEAD "~");
    wire_end(&w[1]);
    rig_end(&r);
}

/* A session that ends while requests are pending. */
static void test_end(void **state)
{
    (void)state;
    rig r;
    begin_session(&r, NULL, "2025-06-18");
    wire w;
    wire_open(&w, &r);
    wire_send(&w, POST(CALL("tools/call", "\"name\":\"pending\"")));
    expect_once(&r, "DELETE /mcp HTTP/1.1\nHost: localhost\nMcp-Session-Id: {{session}}\n\n",
                "HTTP/1.1 204 No Content\n\n");
    wire_expect(&w, "HTTP/1.1 404 Not Found\n~");
    assert_int_equal(fixture_cancelled(r.fixture), 1);
    wire_end(&w);
    rig_end(&r);
}

/* notifications/cancelled finds the request on another connection. */
static void test_cancel(void **state)
{
    (void)state;
    rig r;
    begin_session(&r, NULL, "2025-06-18");
    wire w;
    wire_open(&w, &r);
    wire_send(&w, POST(CALL("tools/call", "\"name\":\"pending\"")));
    expect_once(&r,
                POST("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                     "\"params\":{\"requestId\":1} }"),
                "HTTP/1.1 202 Accepted\n~");
    assert_int_equal(fixture_cancelled(r.fixture), 1);
    wire_expect(&w, "");
    fixture_finish(r.fixture, 0); /* it gets no answer; its POST ends some time later */
    rig_pass(&r, 15001);
    wire_expect(&w, SSE_HEAD "0\n\n");
    wire_clear(&w);
    wire_send(&w, POST(CALL("tools/call", "\"name\":\"pending\"")));
    for (int i = 0; i < 2; i++) { /* or with another cancellation */
        wire_expect(&w, "");
        expect_once(&r,
                    POST("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                         "\"params\":{\"requestId\":1} }"),
                    "HTTP/1.1 202 Accepted\n~");
        fixture_finish(r.fixture, 0);
    }
    wire_expect(&w, SSE_HEAD "0\n\n");
    wire_clear(&w);
    wire_send(&w, POST(CALL("ping", "")));
    wire_expect(&w, JSON_HEAD "~");
    wire_end(&w);
    rig_end(&r);
}

/* Each allocation of a session's lifetime fails in turn; every request still gets a response. */
static void test_memory(void **state)
{
    (void)state;
    static const char *const requests[] = {
        PROGRESS,
        GET("Last-Event-ID: 2-1\n"),
        GET(""),
        "DELETE /mcp HTTP/1.1\nHost: localhost\nMcp-Session-Id: {{session}}\n\n",
    };
    rig plain;
    rig_begin(&plain, NULL);
    size_t from = plain.memory.calls;
    rig_end(&plain);
    for (size_t n = from + 1;; n++) {
        rig r;
        assert_int_equal(rig_begin_with(&r, NULL, n), MCP_OK);
        rig_initialize(&r, "2025-11-25", "");
        for (size_t i = 0; i < COUNT(requests); i++) {
            wire w;
            if (wire_open_from(&w, &r, NULL) != MCP_OK)
                continue;
            wire_send(&w, requests[i]);
            if (w.len == 0 && !w.closed)
                fail_msg("no answer to %zu when allocation %zu fails", i, n);
            fixture_add_tool(r.fixture, "new");
            rig_pass(&r, 300);
            wire_end(&w);
        }
        size_t calls = r.memory.calls;
        rig_end(&r);
        if (calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),         cmocka_unit_test(test_batch),
        cmocka_unit_test(test_principal),    cmocka_unit_test(test_changing_principal),
        cmocka_unit_test(test_cap),          cmocka_unit_test(test_flat),
        cmocka_unit_test(test_idle),         cmocka_unit_test(test_post_stream),
        cmocka_unit_test(test_replay),       cmocka_unit_test(test_away),
        cmocka_unit_test(test_ended_stream), cmocka_unit_test(test_asking),
        cmocka_unit_test(test_get_stream),   cmocka_unit_test(test_heartbeat),
        cmocka_unit_test(test_subscribe),    cmocka_unit_test(test_max_streams),
        cmocka_unit_test(test_end),          cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
