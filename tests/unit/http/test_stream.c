/* Long-lived event streams: subscriptions, slow calls, slow readers, clients that disconnect, the
 * shutdown of the server. */
#include "rig.h"

#define SSE_HEAD                                                     \
    "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n"             \
    "Cache-Control: no-cache, no-transform\nX-Accel-Buffering: no\n" \
    "Transfer-Encoding: chunked\n\n"
#define CALL(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{ " params "} }"
#define LISTEN(filter)                                                                     \
    "POST /mcp HTTP/1.1\n{{modern subscriptions/listen}}Content-Length: {{len}}\n\n" CALL( \
        "subscriptions/listen", "\"notifications\":{" filter " },{{meta}}")
#define LISTEN_TOOLS LISTEN("\"toolsListChanged\":true")
#define LISTEN_TEXT  LISTEN("\"resourceSubscriptions\":[\"fixed:/text\"]")
#define PENDING                                                    \
    "POST /mcp HTTP/1.1\n{{modern tools/call}}Mcp-Name: pending\n" \
    "Content-Length: {{len}}\n\n" CALL("tools/call", "\"name\":\"pending\",{{meta}}")
#define HEALTH "GET /healthz HTTP/1.1\nHost: localhost\n\n"
#define BEAT   "3\n:\n\n\n"

static void listen_to(wire *w, rig *r, const char *request)
{
    wire_open(w, r);
    wire_send(w, request);
    wire_expect(w, SSE_HEAD "~acknowledged~\n\n\n");
    wire_clear(w);
}

static void update(rig *r)
{
    mcp_server_resource_updated(fixture_server(r->fixture), "fixed:/text");
}

static void test_listen(void **state)
{
    (void)state;
    rig r;
    wire a, b, c;
    rig_begin(&r, NULL);
    listen_to(&a, &r, LISTEN_TOOLS);
    listen_to(&b, &r, LISTEN_TEXT);
    listen_to(&c, &r, LISTEN_TEXT);
    update(&r);
    update(&r);
    assert_int_equal(r.woken, 1); /* for all of them */
    rig_pass(&r, 250);
    assert_int_equal(c.writes, 1);
    wire_end(&c);
    wire_expect(&a, "");
    wire_expect(&b, "~\ndata: {~notifications/resources/updated~\"io.modelcontextprotocol/"
                    "subscriptionId\":1~fixed:/text~}\n\n\n");
    assert_int_equal(b.writes, 1);
    fixture_add_tool(r.fixture, "new");
    rig_pass(&r, 250);
    wire_expect(&a, "~\ndata: {~notifications/tools/list_changed~}\n\n\n");
    wire_end(&a);
    update(&r);
    rig_pass(&r, 250);
    assert_int_equal(b.writes, 2);
    wire_end(&b);
    update(&r);
    rig_end(&r);
}

/* The log record at the end of a stream has the data of its beginning. */
static size_t streams_logged;

static void check_log(const mcp_http_record *record, void *user)
{
    (void)user;
    assert_string_equal(record->principal, "alice");
    assert_true(mcp_str_eq(record->path, MCP_STR("/mcp")));
    assert_true(mcp_str_eq(record->method, MCP_STR("subscriptions/listen")));
    assert_int_equal(record->duration_ms, 500);
    streams_logged++;
}

static void test_log(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, &(mcp_http_options){.log = check_log, .authenticate = login_by_name});
    listen_to(&w, &r,
              "POST /mcp?x HTTP/1.1\n{{modern subscriptions/listen}}Authorization: Bearer alice\n"
              "Content-Length: {{len}}\n\n" CALL("subscriptions/listen",
                                                 "\"notifications\":{},{{meta}}"));
    rig_pass(&r, 500);
    wire_end(&w);
    assert_int_equal(streams_logged, 1);
    rig_end(&r);

    rig_begin(&r, &(mcp_http_options){.log = rig_log});
    wire_open(&w, &r);
    wire_send(&w, PENDING);
    wire_end(&w);
    assert_int_equal(r.logged, 1);
    assert_int_equal(r.record.status, 0);
    wire_open(&w, &r);
    wire_send(&w, "GET /metrics HTTP/1.1\nHost: localhost\n\n");
    wire_expect(&w, "~{method=\"tools/call\",result=\"gone\"} 1\n~");
    wire_end(&w);
    rig_end(&r);
}

/* Idle streams get comments, others do not. */
static void test_heartbeat(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, NULL);
    listen_to(&w, &r, LISTEN_TEXT);
    rig_pass(&r, 14999);
    wire_expect(&w, "");
    rig_pass(&r, 2);
    wire_expect(&w, BEAT);
    rig_pass(&r, 10000);
    wire_clear(&w);
    update(&r);
    rig_pass(&r, 14000);
    assert_int_equal(w.writes, 1);
    rig_pass(&r, 1200);
    wire_expect(&w, "~updated~" BEAT);
    wire_end(&w);
    rig_end(&r);
}

/* The response to a slow call becomes a stream; when its client disconnects, the call is cancelled. */
static void test_slow_call(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, NULL);
    wire_open(&w, &r);
    wire_send(&w, PENDING);
    rig_pass(&r, 14999);
    wire_expect(&w, "");
    rig_pass(&r, 2);
    wire_expect(&w, SSE_HEAD BEAT);
    fixture_finish(r.fixture, 0);
    wire_expect(&w, SSE_HEAD BEAT "~\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,~later~}\n\n\n0\n\n");
    wire_clear(&w);
    wire_send(&w, HEALTH); /* the connection remains usable */
    wire_expect(&w, "HTTP/1.1 200 OK\n~ok\n");
    wire_send(&w, PENDING);
    wire_end(&w);
    assert_int_equal(fixture_cancelled(r.fixture), 1);
    rig_end(&r);
}

static void test_half_closed(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, NULL);

    wire_open(&w, &r); /* answered in time */
    wire_send(&w, PENDING);
    wire_send(&w, HEALTH);
    mcp_http_receive_end(w.c, r.now);
    assert_false(mcp_http_wants_input(w.c));
    rig_pass(&r, 900);
    assert_int_equal(w.closed, 0);
    fixture_finish(r.fixture, 0);
    rig_pass(&r, 0);
    wire_expect(&w, "HTTP/1.1 200 OK\n~later~HTTP/1.1 200 OK\n~ok\n");
    assert_int_equal(w.closed, MCP_HTTP_CLOSE + 1);
    wire_end(&w);
    assert_int_equal(fixture_cancelled(r.fixture), 0);

    wire_open(&w, &r); /* not in time */
    wire_send(&w, PENDING);
    mcp_http_receive_end(w.c, r.now);
    rig_pass(&r, 1001);
    assert_int_equal(w.closed, MCP_HTTP_CLOSE + 1);
    assert_int_equal(fixture_cancelled(r.fixture), 1);
    wire_end(&w);

    listen_to(&w, &r, LISTEN_TEXT); /* a stream */
    mcp_http_receive_end(w.c, r.now);
    assert_int_equal(w.closed, MCP_HTTP_CLOSE + 1);
    update(&r);
    rig_pass(&r, 250);
    wire_expect(&w, "");
    wire_end(&w);
    rig_end(&r);
}

/* A reader that stopped gets one notification for all changes in the meantime; others are not
 * affected. */
static void test_slow_reader(void **state)
{
    (void)state;
    rig r;
    wire slow, other;
    rig_begin(&r, &(mcp_http_options){.max_output = 1000});
    listen_to(&slow, &r, LISTEN_TEXT);
    listen_to(&other, &r, LISTEN_TEXT);
    slow.slow = true;
    for (int i = 0; i < 100; i++) {
        update(&r);
        rig_pass(&r, 250);
    }
    assert_in_range(slow.pending, 1000, 2000);
    assert_int_equal(other.writes, 100);
    assert_false(mcp_http_wants_input(slow.c));
    assert_true(mcp_http_wants_input(other.c));
    wire_clear(&slow);
    slow.slow = false;
    mcp_http_set_pending(slow.c, 600, r.now); /* not enough yet */
    assert_false(mcp_http_wants_input(slow.c));
    mcp_http_set_pending(slow.c, 400, r.now);
    assert_true(mcp_http_wants_input(slow.c));
    mcp_http_set_pending(slow.c, 0, r.now);
    rig_pass(&r, 250);
    wire_expect(&slow, "~\ndata: {~updated~}\n\n\n");
    assert_int_equal(slow.writes, 1);
    wire_end(&slow);
    wire_end(&other);
    rig_end(&r);
}

static void test_stalled(void **state)
{
    (void)state;
    rig r;
    wire w, other;
    rig_begin(&r, &(mcp_http_options){.max_output = 100});
    listen_to(&other, &r, LISTEN_TEXT);
    listen_to(&w, &r, LISTEN_TEXT);
    w.slow = true;
    update(&r);
    rig_pass(&r, 250);
    assert_true(w.pending > 100);
    rig_pass(&r, 50000);
    mcp_http_set_pending(w.c, --w.pending, r.now); /* one byte counts as progress */
    rig_pass(&r, 59000);
    assert_int_equal(w.closed, 0);
    rig_pass(&r, 2000);
    assert_int_equal(w.closed, MCP_HTTP_ABORT + 1);
    wire_end(&w);

    /* The same for a connection that is closing while its client does not read the last bytes. */
    wire_open(&w, &r);
    w.slow = true;
    wire_send(&w, "GET /healthz HTTP/1.1\nHost: localhost\nConnection: close\n\n");
    assert_int_equal(w.closed, MCP_HTTP_CLOSE + 1);
    rig_pass(&r, 61000);
    assert_int_equal(w.closed, MCP_HTTP_ABORT + 1);
    wire_end(&w);
    wire_clear(&other);
    update(&r);
    rig_pass(&r, 250);
    wire_expect(&other, "~updated~");
    wire_end(&other);
    rig_end(&r);
}

/* On a drain, subscriptions end with their result, idle connections are closed, calls are finished,
 * and later calls are rejected. */
static void test_drain(void **state)
{
    (void)state;
    rig r;
    wire stream, get, call, idle;
    rig_begin(&r, NULL);
    rig_initialize(&r, "2025-06-18", "");
    listen_to(&stream, &r, LISTEN_TEXT);
    wire_open(&get, &r);
    wire_send(&get, "GET /mcp HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n"
                    "Mcp-Session-Id: {{session}}\n\n");
    wire_expect(&get, SSE_HEAD);
    wire_open(&call, &r);
    wire_send(&call, PENDING);
    wire_open(&idle, &r);
    assert_int_equal(mcp_http_busy(r.http), 4);
    mcp_http_drain(r.http, r.now);
    wire_expect(&stream, "~\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{~}\n\n\n0\n\n");
    wire_expect(&get, SSE_HEAD "0\n\n");
    assert_int_not_equal(stream.closed, 0);
    assert_int_not_equal(get.closed, 0);
    assert_int_not_equal(idle.closed, 0);
    assert_int_equal(call.closed, 0);
    assert_int_equal(mcp_http_busy(r.http), 1);
    fixture_finish(r.fixture, 0);
    wire_expect(&call, "HTTP/1.1 200 OK\nConnection: close\n~later~");
    assert_int_not_equal(call.closed, 0);
    assert_int_equal(mcp_http_busy(r.http), 0);
    wire_end(&idle);
    wire_open(&idle, &r);
    wire_send(&idle,
              "POST /mcp HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n" CALL("initialize", ""));
    wire_expect(&idle, "HTTP/1.1 503 ~\nConnection: close\n~about to end~");
    assert_int_not_equal(idle.closed, 0);
    wire_end(&stream);
    wire_end(&get);
    wire_end(&call);
    wire_end(&idle);
    rig_end(&r);
}

#define READY "GET /readyz HTTP/1.1\nHost: localhost\n\n"

/* An endpoint that will be drained says so, and serves on: connections stay open, sessions begin. One that
 * another process takes over stays ready. */
static void test_retire(void **state)
{
    (void)state;
    rig r;
    wire w, other;
    rig_begin(&r, NULL);
    wire_open(&w, &r);
    wire_send(&w, READY);
    wire_expect(&w, "HTTP/1.1 200 OK\nContent-Type: ~\n\nready\n");
    mcp_http_retire(r.http);
    wire_send(&w, READY);
    wire_expect(
        &w, "~\nready\nHTTP/1.1 503 Service Unavailable\nContent-Type: text/plain; charset=utf-8\n"
            "Content-Length: 9\n\ndraining\n");
    wire_send(&w, HEALTH);
    wire_expect(&w, "~\ndraining\nHTTP/1.1 200 OK\nContent-Type: ~\n\nok\n");
    rig_initialize(&r, "2025-06-18", "");
    assert_int_equal(w.closed, 0);
    mcp_http_drain(r.http, r.now);
    assert_int_not_equal(w.closed, 0);
    wire_open(&other, &r);
    wire_send(&other, READY);
    wire_expect(&other, "HTTP/1.1 503 ~\nConnection: close\n~\n\ndraining\n");
    wire_end(&w);
    wire_end(&other);
    rig_end(&r);
    rig_begin(&r, NULL);
    wire_open(&w, &r);
    mcp_http_set_linger(r.http, 1000);
    mcp_http_drain(r.http, r.now);
    mcp_http_retire(r.http);
    wire_send(&w, READY);
    wire_expect(&w, "HTTP/1.1 200 OK\nConnection: close\n~\n\nready\n");
    wire_end(&w);
    rig_end(&r);
}

static const char *why_not_ready;

static const char *not_ready(void *user)
{
    (void)user;
    return why_not_ready;
}

/* A program can say in one word why requests should not be sent here. One that will end says that instead. */
static void test_not_ready(void **state)
{
    (void)state;
    const mcp_http_options options = {.size = sizeof(options), .not_ready = not_ready};
    rig r;
    wire w;
    why_not_ready = NULL;
    rig_begin(&r, &options);
    wire_open(&w, &r);
    wire_send(&w, READY);
    wire_expect(&w, "HTTP/1.1 200 OK\nContent-Type: ~\n\nready\n");
    why_not_ready = "busy";
    wire_send(&w, READY);
    wire_expect(&w, "~\nready\nHTTP/1.1 503 ~\n\nbusy\n");
    wire_send(&w, HEALTH);
    wire_expect(&w, "~\nbusy\nHTTP/1.1 200 OK\n~\n\nok\n");
    mcp_http_retire(r.http);
    wire_send(&w, READY);
    wire_expect(&w, "~\nok\nHTTP/1.1 503 ~\n\ndraining\n");
    wire_end(&w);
    rig_end(&r);
}

/* An endpoint that ends may leave idle connections open, too: it is not ready, and no session begins. */
static void test_idle_linger(void **state)
{
    (void)state;
    rig r;
    wire asks, begins, idle;
    rig_begin(&r, NULL);
    wire_open(&asks, &r);
    wire_open(&begins, &r);
    wire_open(&idle, &r);
    mcp_http_retire(r.http);
    mcp_http_set_idle_linger(r.http, 1000);
    mcp_http_drain(r.http, r.now);
    assert_int_equal(mcp_http_busy(r.http), 3);
    rig_pass(&r, 900);
    wire_send(&asks, READY);
    wire_expect(&asks, "HTTP/1.1 503 ~\nConnection: close\n~\n\ndraining\n");
    wire_send(&begins,
              "POST /mcp HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n" CALL("initialize", ""));
    wire_expect(&begins, "HTTP/1.1 503 ~\nConnection: close\n~about to end~");
    assert_int_not_equal(asks.closed, 0);
    assert_int_equal(idle.closed, 0);
    rig_pass(&r, 200);
    assert_int_not_equal(idle.closed, 0);
    wire_end(&asks);
    wire_end(&begins);
    wire_end(&idle);
    rig_end(&r);
}

/* When another process takes over, a request on an idle connection is still answered, and idle
 * connections are closed a little later. */
static void test_linger(void **state)
{
    (void)state;
    rig r;
    wire used, idle;
    rig_begin(&r, NULL);
    wire_open(&used, &r);
    wire_open(&idle, &r);
    mcp_http_set_linger(r.http, 1000);
    mcp_http_drain(r.http, r.now);
    assert_int_equal(mcp_http_busy(r.http), 2);
    rig_pass(&r, 900);
    assert_int_equal(used.closed, 0);
    wire_send(&used, "GET /healthz HTTP/1.1\nHost: localhost\n\n");
    wire_expect(&used, "HTTP/1.1 200 OK\nConnection: close\n~ok\n");
    assert_int_not_equal(used.closed, 0);
    assert_int_equal(idle.closed, 0);
    rig_pass(&r, 200);
    assert_int_not_equal(idle.closed, 0);
    wire_end(&used);
    wire_end(&idle);
    rig_end(&r);
}

/* What comes on an idle connection while another process takes over: sessions begin (that process answers their next
 * request with 404), and streams end at once, so that their clients open them there. */
static void test_linger_late(void **state)
{
    (void)state;
    static const char *const late[][2] = {
        {"POST /mcp HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n" CALL(
             "initialize", "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                           "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}"),
         "HTTP/1.1 200 OK\nConnection: close\n~Mcp-Session-Id: ~\"result\"~"},
        {LISTEN_TEXT,
         "HTTP/1.1 200 OK\nConnection: close\n~acknowledged~\"id\":1,\"result\":{~}\n\n\n0\n\n"},
        {"GET /mcp HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n"
         "Mcp-Session-Id: {{session}}\n\n",
         "HTTP/1.1 200 OK\nConnection: close\n~0\n\n"},
    };
    rig r;
    wire idle[COUNT(late)];
    rig_begin(&r, NULL);
    rig_initialize(&r, "2025-06-18", "");
    for (size_t i = 0; i < COUNT(late); i++)
        wire_open(&idle[i], &r);
    mcp_http_set_linger(r.http, 1000);
    mcp_http_drain(r.http, r.now);
    for (size_t i = 0; i < COUNT(late); i++) {
        wire_send(&idle[i], late[i][0]);
        rig_pass(&r, 0);
        wire_expect(&idle[i], late[i][1]);
        assert_int_not_equal(idle[i].closed, 0);
    }
    assert_int_equal(mcp_http_busy(r.http), 0);
    for (size_t i = 0; i < COUNT(late); i++)
        wire_end(&idle[i]);
    rig_end(&r);
}

/* The head of these answers was sent before draining began, without "Connection: close": their clients may send a
 * request on the same connection, which is answered. */
static void test_linger_told(void **state)
{
    (void)state;
    rig r;
    wire used, idle, pipelined;
    rig_begin(&r, NULL);
    wire_open(&used, &r);
    wire_send(&used, PENDING);
    wire_open(&idle, &r);
    wire_send(&idle, PENDING);
    wire_open(&pipelined, &r);
    wire_send(&pipelined, PENDING);
    wire_send(&pipelined, HEALTH);
    rig_pass(&r, 15001);
    wire_expect(&used, SSE_HEAD BEAT);
    wire_expect(&idle, SSE_HEAD BEAT);
    wire_expect(&pipelined, SSE_HEAD BEAT);
    mcp_http_set_linger(r.http, 1000);
    mcp_http_drain(r.http, r.now);
    rig_pass(&r, 5000);
    mcp_http_tick(r.http, r.now);
    for (size_t i = 0; i < 3; i++)
        fixture_finish(r.fixture, i);
    rig_pass(&r, 0);
    wire_expect(&used, SSE_HEAD "~later~\n0\n\n");
    wire_expect(&idle, SSE_HEAD "~later~\n0\n\n");
    wire_expect(&pipelined, SSE_HEAD "~later~\n0\n\nHTTP/1.1 200 OK\nConnection: close\n~ok\n");
    assert_int_not_equal(pipelined.closed, 0);
    rig_pass(&r, 900);
    assert_int_equal(used.closed, 0);
    wire_clear(&used);
    wire_send(&used, HEALTH);
    wire_expect(&used, "HTTP/1.1 200 OK\nConnection: close\n~ok\n");
    assert_int_not_equal(used.closed, 0);
    assert_int_equal(idle.closed, 0);
    rig_pass(&r, 200);
    assert_int_not_equal(idle.closed, 0);
    wire_end(&used);
    wire_end(&idle);
    wire_end(&pipelined);
    rig_end(&r);
}

/* A legacy client without a session that disconnects does not cancel its call. */
static void test_orphan(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, NULL);
    wire_open(&w, &r);
    wire_send(&w, "POST /mcp HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n" CALL(
                      "tools/call", "\"name\":\"pending\""));
    wire_end(&w);
    assert_int_equal(fixture_cancelled(r.fixture), 0);
    size_t live = r.memory.live;
    fixture_finish(r.fixture, 0);
    rig_pass(&r, 0);
    assert_true(r.memory.live < live);
    wire_open(&w, &r);
    wire_send(&w, "POST /mcp HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n" CALL(
                      "tools/call", "\"name\":\"pending\""));
    wire_end(&w);
    rig_end(&r); /* before it is answered */
}

/* A handler that answers after everything is freed. */
static void test_late(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, NULL);
    wire_open(&w, &r);
    wire_send(&w, PENDING);
    wire_end(&w);
    mcp_http_free(r.http);
    r.http = NULL;
    fixture_finish(r.fixture, 0);
    rig_end(&r);
}

/* The memory of an idle subscription. */
static size_t held;

static void *counting_allocate(size_t size, void *user)
{
    (void)user;
    size_t *p = malloc(size + 16);
    if (!p)
        return NULL;
    *p = size;
    held += size + 16;
    return (char *)p + 16;
}

static void counting_release(void *ptr, void *user)
{
    (void)user;
    if (!ptr)
        return;
    size_t *p = (size_t *)(void *)((char *)ptr - 16);
    held -= *p + 16;
    free(p);
}

static void *counting_resize(void *ptr, size_t size, void *user)
{
    void *to = counting_allocate(size, user);
    if (to && ptr) {
        size_t old = *(size_t *)(void *)((char *)ptr - 16);
        memcpy(to, ptr, old < size ? old : size);
        counting_release(ptr, user);
    }
    return to;
}

static void test_weight(void **state)
{
    (void)state;
    enum { N = 200 };
    static const mcp_allocator counting = {counting_allocate, counting_resize, counting_release,
                                           NULL};
    rig r = {.now = 1000};
    assert_int_equal(fixture_new(&(fixture_options){.allocator = &counting}, &r.fixture, NULL),
                     MCP_OK);
    assert_int_equal(mcp_http_new(fixture_server(r.fixture),
                                  MCP_OPTIONS(mcp_http_options, .random = rig_random, .user = &r,
                                              .allocator = &counting),
                                  &r.http, NULL),
                     MCP_OK);
    wire w[N];
    size_t before = 0;
    for (size_t i = 0; i < N; i++) {
        listen_to(&w[i], &r, LISTEN_TEXT);
        if (i == 0)
            before = held;
    }
    size_t each = (held - before) / (N - 1);
    print_message("%zu bytes per subscription\n", each);
    assert_in_range(each, 500, 2800);
    for (size_t i = 0; i < N; i++)
        wire_end(&w[i]);
    rig_end(&r);
    assert_int_equal(held, 0);
}

/* Each allocation of a subscription's lifetime fails in turn. */
static void test_memory(void **state)
{
    (void)state;
    rig plain;
    rig_begin(&plain, NULL);
    size_t from = plain.memory.calls;
    rig_end(&plain);
    for (size_t n = from + 1;; n++) {
        rig r;
        wire w;
        assert_int_equal(rig_begin_with(&r, NULL, n), MCP_OK);
        if (wire_open_from(&w, &r, NULL) == MCP_OK) {
            wire_send(&w, LISTEN_TEXT);
            assert_true(w.len || w.closed);
            update(&r);
            rig_pass(&r, 20000);
            wire_send(&w, HEALTH);
            mcp_http_drain(r.http, r.now);
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
        cmocka_unit_test(test_listen),      cmocka_unit_test(test_log),
        cmocka_unit_test(test_heartbeat),   cmocka_unit_test(test_slow_call),
        cmocka_unit_test(test_half_closed), cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_stalled),     cmocka_unit_test(test_drain),
        cmocka_unit_test(test_linger_late), cmocka_unit_test(test_retire),
        cmocka_unit_test(test_not_ready),   cmocka_unit_test(test_linger),
        cmocka_unit_test(test_idle_linger), cmocka_unit_test(test_linger_told),
        cmocka_unit_test(test_orphan),      cmocka_unit_test(test_late),
        cmocka_unit_test(test_weight),      cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
