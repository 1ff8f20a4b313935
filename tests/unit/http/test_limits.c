/* Limits of size, number and time; allowed hosts and origins; the log. */
#include "rig.h"

#define CALL(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{ " params "} }"
#define LIST                                                                                  \
    "POST /mcp HTTP/1.1\n{{modern tools/list}}Content-Length: {{len}}\n\n" CALL("tools/list", \
                                                                                "{{meta}}")
#define HEALTH "GET /healthz HTTP/1.1\nHost: localhost\n\n"

static void open_wires(wire *w, size_t n, rig *r)
{
    for (size_t i = 0; i < n; i++)
        wire_open(&w[i], r);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static const struct size_row {
    const char *name;
    mcp_http_options options;
    const char *head; /* then `count` times `more`, then `tail` */
    size_t count;
    const char *more, *tail, *expected;
} sizes[] = {
    {"long target",
     {.max_header_bytes = 1000},
     "GET /",
     1000,
     "x",
     "",
     "HTTP/1.1 414 ~1000 bytes (max_header_bytes)~"},
    {"long name",
     {.max_header_bytes = 1000},
     "GET / HTTP/1.1\r\n",
     1000,
     "x",
     "",
     "HTTP/1.1 431 ~1000 bytes (max_header_bytes)~"},
    {"long value",
     {.max_header_bytes = 1000},
     "GET / HTTP/1.1\r\nX: ",
     1000,
     "x",
     "",
     "HTTP/1.1 431 ~1000 bytes (max_header_bytes)~"},
    {"long head",
     {.max_header_bytes = 1000},
     "GET / HTTP/1.1\r\n",
     100,
     "X: 12345\r\n",
     "",
     "HTTP/1.1 431 ~max_header_bytes~"},
    {"many headers",
     {.max_headers = 10},
     "GET / HTTP/1.1\r\n",
     11,
     "X: 1\r\n",
     "",
     "HTTP/1.1 431 ~10 headers (max_headers)~"},
    {"long trailer",
     {.max_header_bytes = 1000},
     "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     "Transfer-Encoding: chunked\r\n\r\n1\r\n \r\n0\r\n",
     100,
     "X: 12345\r\n",
     "",
     "HTTP/1.1 431 ~max_header_bytes~"},
    {"as many headers as may be",
     {.max_headers = 10},
     "GET /healthz HTTP/1.1\r\nHost: localhost\r\n",
     9,
     "X: 1\r\n",
     "\r\n",
     "HTTP/1.1 200 OK\n~"},
    {"long body, said before",
     {.max_body = 100000},
     "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     "Content-Length: 100001\r\n\r\n",
     0,
     "",
     "",
     "HTTP/1.1 413 ~100000 bytes (max_body)~"},
    {"long body in chunks",
     {.max_body = 1000},
     "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     "Transfer-Encoding: chunked\r\n\r\n",
     101,
     "a\r\n          \r\n",
     "",
     "HTTP/1.1 413 ~1000 bytes (max_body)~"},
    {"a body as long as may be",
     {.max_body = 1000},
     "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     "Content-Length: 1000\r\n\r\n",
     1000,
     "[",
     "",
     "HTTP/1.1 400 ~-32600~deeper~"},
    {"a long body that is refused for something else is read to keep the connection",
     {0},
     "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
     "Content-Length: 60000\r\n\r\n",
     60000,
     "x",
     HEALTH,
     "HTTP/1.1 415 ~}}HTTP/1.1 200 OK\n~"},
    {"a longer one is not",
     {0},
     "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
     "Content-Length: 70000\r\n\r\n",
     70000,
     "x",
     HEALTH,
     "HTTP/1.1 415 Unsupported Media Type\nConnection: close\n~application/json\"}}"},
};

static void test_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const struct size_row *row = &sizes[i];
        rig r;
        wire w;
        rig_begin(&r, &row->options);
        wire_open(&w, &r);
        expansion e = {0};
        expand_request(&r, row->head, &e);
        for (size_t k = 0; k < row->count; k++)
            expansion_add(&e, row->more, strlen(row->more));
        expand_request(&r, row->tail, &e);
        for (size_t at = 0; at < e.len; at += 700)
            wire_bytes(&w, e.ptr + at, e.len - at < 700 ? e.len - at : 700);
        if (!rig_matches(wire_text(&w), row->expected))
            fail_msg("%s: %s", row->name, wire_text(&w));
        free(e.ptr);
        wire_end(&w);
        rig_end(&r);
    }
}

/* After an early rejection the server closes its direction, discards input for a while, then closes
 * the connection. */
static void test_lingering(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, NULL);
    for (int ends = 0; ends < 2; ends++) {
        wire_open(&w, &r);
        wire_send(&w, "POST /mcp HTTP/1.1\n{{std}}Content-Length: 5000000\n\n[");
        wire_expect(&w, "HTTP/1.1 413 ~");
        assert_int_equal(w.closed, MCP_HTTP_SHUTDOWN + 1);
        wire_clear(&w);
        wire_send(&w, HEALTH);
        wire_expect(&w, "");
        assert_true(mcp_http_wants_input(w.c));
        if (ends)
            mcp_http_receive_end(w.c, r.now);
        else
            rig_pass(&r, 5000);
        assert_int_equal(w.closed, MCP_HTTP_CLOSE + 1);
        wire_end(&w);
    }
    rig_end(&r);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void test_connections(void **state)
{
    (void)state;
    rig r;
    wire w[5];
    rig_begin(&r, &(mcp_http_options){.max_connections = 3, .max_per_address = 2});
    assert_int_equal(wire_open_from(&w[0], &r, "a"), MCP_OK);
    assert_int_equal(wire_open_from(&w[1], &r, "a"), MCP_OK);
    assert_int_equal(wire_open_from(&w[2], &r, "a"), MCP_ELIMIT);
    wire_expect(&w[2], "HTTP/1.1 503 ~Connection: close\n~2 connections~(max_per_address)~");
    assert_int_not_equal(w[2].closed, 0);
    wire_end(&w[2]);
    assert_int_equal(wire_open_from(&w[2], &r, "b"), MCP_OK);
    assert_int_equal(wire_open_from(&w[3], &r, "b"), MCP_ELIMIT);
    wire_expect(&w[3], "HTTP/1.1 503 ~3 connections already (max_connections)~");
    wire_end(&w[3]);
    wire_end(&w[0]);
    assert_int_equal(wire_open_from(&w[0], &r, "a"), MCP_OK);
    assert_int_equal(mcp_http_connections(r.http), 3);
    for (size_t i = 0; i < 3; i++)
        wire_end(&w[i]);
    rig_end(&r);
}

/* Many clients with the same id, answered in another order: each gets its own. */
static void test_same_ids(void **state)
{
    (void)state;
    enum { N = 50 }; /* as many as the fixture can keep waiting */
    rig r;
    wire w[N];
    rig_begin(&r, NULL);
    open_wires(w, N, &r);
    for (size_t i = 0; i < N; i++)
        wire_send(&w[i], "POST /mcp HTTP/1.1\n{{modern tools/call}}Mcp-Name: pending\n"
                         "Content-Length: {{len}}\n\n" CALL("tools/call",
                                                            "\"name\":\"pending\",{{meta}}"));
    assert_int_equal(fixture_pending(r.fixture), N);
    for (size_t i = 0; i < N; i++) {
        fixture_finish(r.fixture, N - i);
        for (size_t k = 0; k < N; k++)
            assert_int_equal(w[k].len > 0, k >= N - 1 - i);
    }
    for (size_t i = 0; i < N; i++) {
        wire_expect(&w[i], "HTTP/1.1 200 OK\n~\n\n{\"jsonrpc\":\"2.0\",\"id\":1,~later~");
        wire_end(&w[i]);
    }

    enum { MANY = 1000 };
    wire *many = calloc(MANY, sizeof(*many));
    assert_non_null(many);
    open_wires(many, MANY, &r);
    for (size_t i = 0; i < MANY; i++) {
        char request[1024];
        snprintf(request, sizeof(request),
                 "POST /mcp HTTP/1.1\n{{modern tools/call}}Mcp-Name: echo\n"
                 "Content-Length: {{len}}\n\n" CALL(
                     "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"<%zu>\"},{{meta}}"),
                 i);
        wire_send(&many[i], request);
    }
    for (size_t i = 0; i < MANY; i++) {
        char expected[64];
        snprintf(expected, sizeof(expected), "~\"id\":1,~<%zu>~", i);
        wire_expect(&many[i], expected);
        wire_end(&many[i]);
    }
    free(many);
    rig_end(&r);
}

/* Pipelined requests are buffered and answered in order; too many bytes stop reading. */
static void test_pipeline(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, NULL);
    wire_open(&w, &r);
    wire_send(&w,
              "POST /mcp HTTP/1.1\n{{modern tools/call}}Mcp-Name: pending\n"
              "Content-Length: {{len}}\n\n" CALL("tools/call", "\"name\":\"pending\",{{meta}}"));
    assert_true(mcp_http_wants_input(w.c)); /* to notice when the client disconnects */
    size_t sent = 0;
    while (mcp_http_wants_input(w.c)) {
        wire_send(&w, HEALTH);
        sent++;
    }
    assert_in_range(sent, 1000, 2000);
    wire_expect(&w, "");
    fixture_finish(r.fixture, 0);
    wire_expect(&w, "HTTP/1.1 200 OK\n~later~");
    assert_int_equal(r.woken, 1);
    rig_pass(&r, 0);
    assert_true(mcp_http_wants_input(w.c));
    assert_int_equal(w.writes, 1 + sent);
    wire_end(&w);
    rig_end(&r);
}

/* ---- times ----------------------------------------------------------------------------------- */

static const struct time_row {
    const char *name, *sent;
    int64_t ms;
    const char *expected; /* not before ms */
} times[] = {
    {"idle", "", 75000, ""},
    {"idle again", HEALTH, 75000, "HTTP/1.1 200 OK\n~ok\n"},
    {"slow head", "GET /healthz HTTP/1.1\nHost: lo", 10000, "HTTP/1.1 408 ~10000 ms (header_ms)~"},
    {"slow body", "POST /mcp HTTP/1.1\n{{std}}Content-Length: 10\n\n[", 30000,
     "HTTP/1.1 408 ~30000 ms (body_ms)~"},
};

static void test_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(times); i++) {
        rig r;
        wire w;
        rig_begin(&r, NULL);
        wire_open(&w, &r);
        expansion e = {0};
        /* The last part was written for one request; its end is what is missing. */
        expand_request(&r, times[i].sent, &e);
        wire_bytes(&w, e.ptr ? e.ptr : "", e.len);
        free(e.ptr);
        rig_pass(&r, times[i].ms - 1);
        assert_int_equal(w.closed, 0);
        rig_pass(&r, 2);
        if (!rig_matches(wire_text(&w), times[i].expected) || !w.closed)
            fail_msg("%s: %s", times[i].name, wire_text(&w));
        wire_end(&w);
        rig_end(&r);
    }
}

/* A few bytes every second are still too slow: the time limits apply to the whole head and the
 * whole body. */
static void test_trickle(void **state)
{
    (void)state;
    static const struct {
        const char *begin, *more;
        int64_t ms;
        const char *expected;
    } rows[] = {
        {"GET /", "G", 10000, "HTTP/1.1 408 ~header_ms~"},
        {"POST /mcp HTTP/1.1\n{{std}}Content-Length: 1000\n\n[", " ", 30000,
         "HTTP/1.1 408 ~body_ms~"},
        {"POST /mcp HTTP/1.1\n{{std}}Transfer-Encoding: chunked\n\n", "1\r\n \r\n", 30000,
         "HTTP/1.1 408 ~body_ms~"},
        {"POST /mcp HTTP/1.1\n{{std}}Transfer-Encoding: chunked\n\n1;", "x", 30000,
         "HTTP/1.1 408 ~body_ms~"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        rig r;
        wire w;
        rig_begin(&r, NULL);
        wire_open(&w, &r);
        int64_t begin = r.now;
        wire_send(&w, rows[i].begin);
        for (int k = 0; k < 100 && !w.closed; k++) {
            wire_bytes(&w, rows[i].more, strlen(rows[i].more));
            rig_pass(&r, 1000);
        }
        wire_expect(&w, rows[i].expected);
        assert_in_range(r.now - begin, rows[i].ms, rows[i].ms + 1000);
        wire_end(&w);
        rig_end(&r);
    }
}

/* ---- browsers -------------------------------------------------------------------------------- */

static const struct {
    const char *host, *origin;
    bool listed, everything;
    int status;
} origins_cases[] = {
    {"localhost", "", false, false, 200},
    {"LocalHost:1", "", false, false, 200},
    {"127.0.0.1:65535", "", false, false, 200},
    {"[::1]:80", "", false, false, 200},
    {"localhost.", "", false, false, 403},
    {"localhost:80x", "", false, false, 403},
    {"localhost:80:80", "", false, false, 403},
    {"[::1", "", false, false, 403},
    {"[::1]x", "", false, false, 403},
    {"127.0.0.2", "", false, false, 403},
    {"localhost.evil.example", "", false, false, 403},
    {"evil.example#localhost", "", false, false, 403},
    {"mcp.example", "", false, false, 403},
    {"mcp.example:8642", "", true, false, 200},
    {"xmcp.example", "", true, false, 403},
    {"evil.example", "", false, true, 200},
    {"localhost", "http://localhost", false, false, 200},
    {"localhost", "https://[::1]:1", false, false, 200},
    {"localhost", "null", false, false, 403},
    {"localhost", "http://localhost.evil.example", false, false, 403},
    {"localhost", "http://evil.example", false, false, 403},
    {"localhost", "ftp://localhost", false, false, 403},
    {"localhost", "http://", false, false, 403},
    {"localhost", "https://app.example", false, false, 403},
    {"localhost", "https://app.example", true, false, 200},
    {"localhost", "http://app.example", true, false, 403},
    {"localhost", "https://app.example:8443", true, false, 403},
    {"localhost", "null", false, true, 200},
};

static void test_origins(void **state)
{
    (void)state;
    static const char *const hosts[] = {"mcp.example"}, *const any[] = {"*"};
    static const char *const origins[] = {"https://app.example"};
    for (size_t i = 0; i < COUNT(origins_cases); i++) {
        rig r;
        wire w;
        mcp_http_options o = {0};
        if (origins_cases[i].listed || origins_cases[i].everything) {
            o.allow_hosts = origins_cases[i].everything ? any : hosts;
            o.allow_origins = origins_cases[i].everything ? any : origins;
            o.n_allow_hosts = o.n_allow_origins = 1;
        }
        rig_begin(&r, &o);
        wire_open(&w, &r);
        char request[256], expected[64];
        snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\nHost: %s\n%s%s\n\n",
                 origins_cases[i].host,
                 origins_cases[i].origin[0] ? "Origin: " : "X: ", origins_cases[i].origin);
        snprintf(expected, sizeof(expected), "HTTP/1.1 %d ~", origins_cases[i].status);
        wire_send(&w, request);
        if (!rig_matches(wire_text(&w), expected))
            fail_msg("%s from %s: %s", origins_cases[i].host, origins_cases[i].origin,
                     wire_text(&w));
        assert_null(strstr(wire_text(&w), "Access-Control"));
        wire_end(&w);
        rig_end(&r);
    }
}

static void test_cors(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, &(mcp_http_options){.cors = true, .authenticate = login_by_name});
    wire_open(&w, &r);
    wire_send(&w, "OPTIONS /mcp HTTP/1.1\nHost: localhost\nOrigin: http://localhost:3000\n"
                  "Access-Control-Request-Method: POST\n"
                  "Access-Control-Request-Headers: content-type, mcp-method\n\n");
    wire_expect(&w, "HTTP/1.1 204 No Content\nAccess-Control-Allow-Origin: http://localhost:3000\n"
                    "Vary: Origin\n~Access-Control-Allow-Methods: POST, GET, DELETE\n~"
                    "Access-Control-Allow-Headers: content-type, mcp-method\n\n");
    wire_clear(&w);
    wire_send(&w, LIST);
    wire_expect(&w, "HTTP/1.1 401 ~"); /* without an Origin there are no CORS headers */
    assert_null(strstr(wire_text(&w), "Access-Control"));
    wire_clear(&w);
    wire_send(
        &w, "POST /mcp HTTP/1.1\n{{modern tools/list}}Origin: http://localhost:3000\n"
            "Authorization: Bearer a\nContent-Length: {{len}}\n\n" CALL("tools/list", "{{meta}}"));
    wire_expect(&w, "HTTP/1.1 200 OK\nAccess-Control-Allow-Origin: http://localhost:3000\n~");
    wire_clear(&w);
    wire_send(&w, "OPTIONS /mcp HTTP/1.1\nHost: localhost\nOrigin: http://evil.example\n\n");
    wire_expect(&w, "HTTP/1.1 403 ~");
    assert_null(strstr(wire_text(&w), "Access-Control"));
    wire_end(&w);
    rig_end(&r);
}

static void test_trusted(void **state)
{
    (void)state;
    rig r;
    wire w = {0};
    rig_begin(&r, NULL);
    w.rig = &r;
    assert_int_equal(
        mcp_http_accept(r.http,
                        MCP_OPTIONS(mcp_http_connection_options, .write = wire_write,
                                    .close = wire_close, .user = &w, .trusted_host = true),
                        r.now, &w.c, NULL),
        MCP_OK);
    wire_send(&w, "GET /healthz HTTP/1.1\nHost: unix\nOrigin: null\n\n");
    wire_expect(&w, "HTTP/1.1 200 OK\n~");
    wire_end(&w);
    rig_end(&r);
}

/* ---- health and log -------------------------------------------------------------------------- */

static int64_t late_clock(void *user)
{
    return ((rig *)user)->now + 7;
}

static mcp_str fixed_date(void *user)
{
    (void)user;
    return MCP_STR("Sun, 06 Nov 1994 08:49:37 GMT");
}

static void own_metrics(void (*add)(mcp_str text, void *arg), void *arg, void *user)
{
    (void)user;
    add(MCP_STR("mine 1\n"), arg);
}

static void test_log(void **state)
{
    (void)state;
    static const struct {
        const char *request, *traceparent;
        int status, code;
        int64_t duration;
    } rows[] = {
        {LIST, "", 200, 0, 7},
        {"POST /mcp HTTP/1.1\n{{modern x}}Traceparent: 00-ab-cd-01\nContent-Length: "
         "{{len}}\n\n" CALL("x", "{{meta}}"),
         "00-ab-cd-01", 404, -32601, 7},
        {"POST /mcp HTTP/1.1\n{{std}}Traceparent: 00-ab\nContent-Length: {{len}}\n\n" CALL(
             "ping", "\"_meta\":{\"traceparent\":\"00-cd\"}"),
         "00-cd", 200, 0, 7},
        {"POST /mcp HTTP/1.1\n{{std}}Traceparent: evil \x1b[\nContent-Length: {{len}}\n\n{}", "",
         400, 0, 0},
        {"GET /nothing HTTP/1.1\nHost: localhost\n\n", "", 404, 0, 7},
    };
    rig r;
    rig_begin(&r,
              &(mcp_http_options){
                  .log = rig_log, .clock = late_clock, .date = fixed_date, .metrics = own_metrics});
    for (size_t i = 0; i < COUNT(rows); i++) {
        wire w;
        wire_open(&w, &r);
        wire_send(&w, rows[i].request);
        assert_int_equal(r.logged, i + 1);
        assert_int_equal(r.record.status, rows[i].status);
        assert_int_equal(r.record.code, rows[i].code);
        assert_int_equal(r.record.duration_ms, rows[i].duration);
        assert_string_equal(r.traceparent, rows[i].traceparent);
        assert_true(r.record.bytes_in > 20 && r.record.bytes_out > 100);
        wire_expect(&w, "HTTP/1.1 ~\nDate: Sun, 06 Nov 1994 08:49:37 GMT\n~");
        wire_end(&w);
    }
    wire w;
    wire_open(&w, &r);
    wire_send(&w, "GET /metrics HTTP/1.1\nHost: localhost\n\n");
    wire_expect(&w, "~mcp_requests_total{method=\"tools/list\",result=\"ok\"} 1\n~"
                    "mcp_requests_total{method=\"ping\",result=\"ok\"} 1\n~"
                    "mcp_requests_total{method=\"other\",result=\"error\"} 1\n~"
                    "mcp_http_responses_total{status=\"200\"} 2\n~"
                    "mcp_request_duration_seconds_bucket{le=\"0.01\"} 5\n~mine 1\n");
    wire_end(&w);
    rig_end(&r);
}

static void test_switched_off(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, &(mcp_http_options){.no_healthz = true, .no_metrics = true, .path = "/x"});
    wire_open(&w, &r);
    wire_send(&w, HEALTH);
    wire_send(&w, "GET /metrics HTTP/1.1\nHost: localhost\n\n");
    wire_send(&w, "GET /mcp HTTP/1.1\nHost: localhost\n\n");
    wire_send(&w, "GET /x HTTP/1.1\nHost: localhost\n\n");
    wire_expect(&w, "HTTP/1.1 404 ~HTTP/1.1 404 ~HTTP/1.1 404 ~HTTP/1.1 405 ~");
    wire_end(&w);
    rig_end(&r);
}

static void test_arguments(void **state)
{
    (void)state;
    mcp_http *http = NULL;
    mcp_http_connection *c = NULL;
    mcp_error error = {0};
    rig r;
    rig_begin(&r, NULL);
    assert_int_equal(mcp_http_new(fixture_server(r.fixture),
                                  MCP_OPTIONS(mcp_http_options, .path = "/"), &http, &error),
                     MCP_EINVAL);
    assert_int_equal(error.code, MCP_EINVAL);
    assert_int_equal(mcp_http_accept(r.http,
                                     MCP_OPTIONS(mcp_http_connection_options, .write = wire_write),
                                     r.now, &c, &error),
                     MCP_EINVAL);
    assert_null(c);
    mcp_http_free(NULL);
    mcp_http_connection_free(NULL, 0);
    rig_end(&r);
    for (size_t n = 1;; n++) { /* making an endpoint */
        rig_begin_with(
            &r, &(mcp_http_options){.allow_hosts = (const char *[]){"a", "b"}, .n_allow_hosts = 2},
            n);
        size_t calls = r.memory.calls;
        bool made = r.http != NULL;
        rig_end(&r);
        if (calls < n) {
            assert_true(made);
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),       cmocka_unit_test(test_lingering),
        cmocka_unit_test(test_connections), cmocka_unit_test(test_same_ids),
        cmocka_unit_test(test_pipeline),    cmocka_unit_test(test_times),
        cmocka_unit_test(test_trickle),     cmocka_unit_test(test_origins),
        cmocka_unit_test(test_cors),        cmocka_unit_test(test_trusted),
        cmocka_unit_test(test_log),         cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
