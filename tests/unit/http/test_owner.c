/* The state of a peer belongs to its principal: another token that knows every id can neither use
 * it, nor end it, nor get its notifications. */
#include "rig.h"

#define SSE_HEAD "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n~"
#define STD      "{{std}}Mcp-Session-Id: {{session}}\nContent-Length: {{len}}\n"
#define CALL(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{ " params "} }"
#define CANCEL \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1} }"
#define TEXT   "\"uri\":\"fixed:/text\""
#define MODERN "POST /mcp HTTP/1.1\n{{modern subscriptions/listen}}Content-Length: {{len}}\n"
#define LISTEN                        \
    "\n" CALL("subscriptions/listen", \
              "\"notifications\":{\"resourceSubscriptions\":[\"fixed:/text\"]},{{meta}}")

#define STATELESS "POST /mcp HTTP/1.1\n{{modern tools/list}}Content-Length: {{len}}\n"
#define TOOLS     "\n" CALL("tools/list", "{{meta}}")

/* Sends a request as a principal: `head` without Authorization and the empty line, and a body that
 * begins with the empty line. */
static void send_as(wire *w, const char *who, const char *head, const char *body)
{
    char request[2048];
    snprintf(request, sizeof(request), "%sAuthorization: Bearer %s\n%s", head, who, body);
    wire_send(w, request);
}

static void once_as(rig *r, const char *who, const char *head, const char *body,
                    const char *expected)
{
    wire w;
    wire_open(&w, r);
    send_as(&w, who, head, body);
    wire_expect(&w, expected);
    wire_end(&w);
}

static void update(rig *r)
{
    mcp_server_resource_updated(fixture_server(r->fixture), "fixed:/text");
    rig_pass(r, 250);
}

/* Everything that a client can do with the id of a session. */
static const struct {
    const char *head, *body;
} session_uses[] = {
    {"POST /mcp HTTP/1.1\n" STD, "\n" CALL("resources/unsubscribe", TEXT)},
    {"POST /mcp HTTP/1.1\n" STD, "\n" CALL("resources/subscribe", TEXT)},
    {"POST /mcp HTTP/1.1\n" STD, "\n" CALL("resources/list", "")},
    {"POST /mcp HTTP/1.1\n" STD, "\n" CANCEL},
    {"POST /mcp HTTP/1.1\n" STD, "\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{} }"},
    {"GET /mcp HTTP/1.1\nHost: localhost\nAccept: text/event-stream\nMcp-Session-Id: {{session}}\n",
     "\n"},
    {"GET /mcp HTTP/1.1\nHost: localhost\nAccept: text/event-stream\nMcp-Session-Id: {{session}}\n"
     "Last-Event-ID: 0-0\n",
     "\n"},
    {"DELETE /mcp HTTP/1.1\nHost: localhost\nMcp-Session-Id: {{session}}\n", "\n"},
};

static void test_session(void **state)
{
    (void)state;
    rig r;
    wire stream;
    rig_begin(&r, &(mcp_http_options){.authenticate = login_by_name});
    rig_initialize(&r, "2025-06-18", "Authorization: Bearer alice\n");
    once_as(&r, "alice", session_uses[1].head, session_uses[1].body, "HTTP/1.1 200 OK\n~{}}~");
    wire_open(&stream, &r);
    send_as(&stream, "alice", session_uses[5].head, "\n");
    wire_expect(&stream, SSE_HEAD);
    for (size_t i = 0; i < COUNT(session_uses); i++) {
        once_as(&r, "mallory", session_uses[i].head, session_uses[i].body,
                "HTTP/1.1 404 Not Found\n~");
        wire_clear(&stream);
        update(&r);
        wire_expect(&stream, "~resources/updated~fixed:/text~");
    }
    /* and each of them works for alice */
    for (size_t i = 0; i < COUNT(session_uses); i++)
        once_as(&r, "alice", session_uses[i].head, session_uses[i].body, "HTTP/1.1 20~");
    wire_end(&stream);
    rig_end(&r);
}

/* Streams and calls are identified only by the ids that their clients chose, here the same ones. */
static void test_stream(void **state)
{
    (void)state;
    rig r;
    wire alice, mallory;
    rig_begin(&r, &(mcp_http_options){.authenticate = login_by_name});
    wire_open(&alice, &r);
    send_as(&alice, "alice", MODERN, LISTEN);
    wire_expect(&alice, SSE_HEAD "~acknowledged~");
    wire_open(&mallory, &r);
    send_as(&mallory, "mallory",
            "POST /mcp HTTP/1.1\n{{modern notifications/cancelled}}Content-Length: {{len}}\n",
            "\n" CANCEL);
    wire_clear(&mallory);
    send_as(&mallory, "mallory", MODERN, LISTEN);
    wire_expect(&mallory, SSE_HEAD "~acknowledged~");
    wire_end(&mallory);
    wire_clear(&alice);
    update(&r);
    wire_expect(&alice, "~resources/updated~fixed:/text~");
    wire_end(&alice);
    rig_end(&r);
}

/* When a token is revoked, the streams authorized by it end at once, and no others. */
static void test_revoke(void **state)
{
    (void)state;
    rig r;
    wire modern, legacy, other, idle;
    rig_begin(&r, &(mcp_http_options){.authenticate = login_by_name});
    rig_initialize(&r, "2025-06-18", "Authorization: Bearer alice\n");
    wire_open(&legacy, &r), wire_open(&modern, &r), wire_open(&other, &r), wire_open(&idle, &r);
    send_as(&legacy, "alice", session_uses[5].head, "\n");
    wire_expect(&legacy, SSE_HEAD);
    send_as(&modern, "alice", MODERN, LISTEN);
    wire_expect(&modern, SSE_HEAD "~acknowledged~");
    send_as(&other, "bob", MODERN, LISTEN);
    wire_expect(&other, SSE_HEAD "~acknowledged~");
    send_as(&idle, "alice", session_uses[1].head, session_uses[1].body);
    wire_expect(&idle, "HTTP/1.1 200 OK\n~");

    mcp_http_revoke(r.http, NULL, r.now); /* this is not a principal */
    assert_int_equal(modern.closed, 0);
    mcp_http_revoke(r.http, "alice", r.now);
    assert_int_equal(modern.closed, 1 + MCP_HTTP_CLOSE);
    wire_expect(&legacy, "~0\n\n"); /* the end of the stream */
    once_as(&r, "alice", session_uses[2].head, session_uses[2].body, "HTTP/1.1 404 Not Found\n~");
    wire_clear(&modern), wire_clear(&legacy), wire_clear(&other), wire_clear(&idle);
    update(&r);
    wire_expect(&modern, "");
    wire_expect(&legacy, "");
    wire_expect(&other, "~resources/updated~fixed:/text~");
    send_as(&idle, "", session_uses[1].head, session_uses[1].body);
    wire_expect(&idle, "HTTP/1.1 40~");
    wire_end(&modern), wire_end(&legacy), wire_end(&other), wire_end(&idle);
    rig_end(&r);
}

static void open_from(wire *w, rig *r, const char *address)
{
    assert_int_equal(wire_open_from(w, r, address), MCP_OK);
}

/* Connections that carry something of a principal are counted wherever they come from, until it
 * ends; other connections of the same principal are not. */
static void test_connections_of_a_principal(void **state)
{
    (void)state;
    rig r;
    wire w[4];
    rig_begin(&r, &(mcp_http_options){.authenticate = login_by_name, .max_per_principal = 2});
    open_from(&w[0], &r, "a");
    open_from(&w[1], &r, "b");
    open_from(&w[2], &r, "127.0.0.1"); /* a limit that is set applies to this machine too */
    open_from(&w[3], &r, "a");
    for (int i = 0; i < 2; i++) { /* short requests do not add up */
        send_as(&w[0], "alice", STATELESS, TOOLS);
        send_as(&w[3], "alice", STATELESS, TOOLS);
        wire_expect(&w[3], "HTTP/1.1 200 ~");
        wire_clear(&w[3]);
    }
    wire_clear(&w[0]);
    send_as(&w[0], "alice", MODERN, LISTEN);
    send_as(&w[1], "alice", MODERN, LISTEN);
    wire_expect(&w[1], SSE_HEAD);
    send_as(&w[2], "alice", MODERN, LISTEN);
    wire_expect(&w[2], "HTTP/1.1 503 ~Retry-After: ~\"id\":1~2 connections carry ~"
                       "(max_per_principal)~");
    wire_clear(&w[2]);
    send_as(&w[2], "bob", STATELESS, TOOLS); /* on the same connection */
    wire_expect(&w[2], "HTTP/1.1 200 ~");
    wire_clear(&w[2]);
    send_as(&w[3], "bob", "GET /metrics HTTP/1.1\nHost: localhost\n", "\n");
    wire_expect(&w[3], "~mcp_limit{limit=\"max_per_principal\"} 2\n~"
                       "mcp_limit_used{limit=\"max_per_principal\"} 2\n~"
                       "mcp_limit_refusals_total{limit=\"max_per_principal\"} 1\n~");
    wire_end(&w[0]);
    send_as(&w[2], "alice", MODERN, LISTEN);
    wire_expect(&w[2], SSE_HEAD);
    for (size_t i = 1; i < 4; i++)
        wire_end(&w[i]);
    rig_end(&r);
}

/* Sends a request, and returns the number of allocations for it. */
static size_t calls_for(rig *r, wire *w, const char *who)
{
    size_t before = r->memory.calls;
    send_as(w, who, STATELESS, TOOLS);
    before = r->memory.calls - before;
    wire_expect(w, "HTTP/1.1 200 ~");
    wire_clear(w);
    return before;
}

/* Counting the requests of the same principal allocates nothing. A connection that changes its
 * principal is counted for the new one only. */
static void test_same_principal(void **state)
{
    (void)state;
    static const char *const who[] = {"alice", "alice", "bob", "alice", "alice", NULL};
    rig r;
    wire w, other;
    rig_begin(&r, NULL);
    wire_open(&w, &r);
    calls_for(&r, &w, "anybody");
    size_t anonymous = calls_for(&r, &w, "anybody"), live = 0;
    wire_end(&w);
    rig_end(&r);
    rig_begin(&r, &(mcp_http_options){.authenticate = login_by_name, .max_per_principal = 1});
    wire_open(&w, &r);
    wire_open(&other, &r);
    for (size_t i = 0; who[i]; i++) {
        size_t calls = calls_for(&r, &w, who[i]);
        if (i && strcmp(who[i], who[i - 1]) == 0)
            assert_int_equal(calls, anonymous);
        live = i == 1 ? r.memory.live : live;
    }
    assert_int_equal(r.memory.live, live); /* nothing is left of the other one */
    for (int i = 0; i < 2; i++) {
        send_as(&w, "alice", MODERN, LISTEN);
        wire_expect(&w, SSE_HEAD);
        send_as(&other, "alice", STATELESS, TOOLS);
        wire_expect(&other, "HTTP/1.1 503 ~");
        wire_clear(&other);
        wire_end(&other);
        wire_open(&other, &r);
        calls_for(&r, &other, "bob");
        wire_end(&w);
        wire_open(&w, &r);
    }
    wire_end(&w);
    wire_end(&other);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session),        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_revoke),         cmocka_unit_test(test_connections_of_a_principal),
        cmocka_unit_test(test_same_principal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
