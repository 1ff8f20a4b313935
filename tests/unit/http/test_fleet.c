/* Legacy sessions of several instances: their ids, requests that are forwarded, sessions that are made
 * anew, and what an attacker can do with all of this.
 */
#include "fleet.h"

#include <mcp/bus.h>

#define JSON   "HTTP/1.1 200 OK\nContent-Type: application/json\n~"
#define GONE   "HTTP/1.1 404 Not Found\n~"
#define DELETE "DELETE /mcp HTTP/1.1\nHost: localhost\n" AS("a") "Mcp-Session-Id: {{session}}\n\n"
#define GET                                                                      \
    "GET /mcp HTTP/1.1\nHost: localhost\n" AS("a") "Accept: text/event-stream\n" \
                                                   "Mcp-Session-Id: {{session}}\n\n"
#define PING      CALL("ping", "")
#define LIST      CALL("resources/list", "")
#define SUBSCRIBE CALL("resources/subscribe", "\"uri\":\"fixed:/text\"")

static char id[1100];

/* Begins nodes, and a session of "a" at the first. */
static void begin(const char *capabilities)
{
    for (size_t i = 0; i < NODES; i++)
        node_begin(&nodes[i], true);
    rig_initialize_as(&nodes[0].r, "2025-06-18", AS("a"), capabilities);
    snprintf(id, sizeof(id), "%s", nodes[0].r.session);
    assert_in_range(strlen(id), 100, 1024);
    pump();
}

/* ---- ids --------------------------------------------------------------------------------------- */

static void test_id(void **state)
{
    (void)state;
    begin("\"sampling\":{}");
    for (const char *at = id; *at; at++)
        assert_in_range(*at, '!', '~');
    expect_at(&nodes[0], id, POST_AS("a", PING), JSON);
    expect_at(&nodes[0], id, POST_AS("b", PING), GONE);
    assert_int_equal(n_relayed, 0);
    expect_at(&nodes[1], id, POST_AS("b", PING), GONE); /* cannot even find out where it is */
    assert_int_equal(n_relayed, 0);
    /* every character changed, and every length */
    char other[sizeof(id)];
    for (size_t i = 0; id[i]; i++) {
        snprintf(other, sizeof(other), "%s", id);
        other[i] = other[i] == 'A' ? 'B' : 'A';
        expect_at(&nodes[1], other, POST_AS("a", PING), GONE);
        other[i] = 0;
        if (i)
            expect_at(&nodes[1], other, POST_AS("a", PING), GONE);
    }
    snprintf(other, sizeof(other), "%.*sA", (int)sizeof(id) - 2, id);
    expect_at(&nodes[1], other, POST_AS("a", PING), GONE);
    memset(other, 'A', 1090);
    other[1090] = 0;
    expect_at(&nodes[1], other, POST_AS("a", PING), GONE);
    assert_int_equal(n_relayed, 0);
    fleet_end();
}

static void test_expiry(void **state)
{
    (void)state;
    begin("");
    for (size_t i = 0; i < NODES; i++)
        fixture_set_time(nodes[i].r.fixture, 24 * 3600 * 1000 - 1);
    n_relayed = 0;
    expect_at(&nodes[1], id, POST_AS("a", PING), JSON);
    assert_int_equal(n_relayed, 1);
    for (size_t i = 0; i < NODES; i++)
        fixture_set_time(nodes[i].r.fixture, 24 * 3600 * 1000);
    expect_at(&nodes[1], id, POST_AS("a", PING), GONE);
    assert_int_equal(n_relayed, 1);
    nodes[0].r.now += 24 * 3600 * 1000; /* its monotonic clock */
    expect_at(&nodes[0], id, POST_AS("a", PING), GONE);
    fleet_end();
}

static void test_other_key(void **state)
{
    (void)state;
    begin("");
    node_kill(&nodes[1]);
    fleet_key = "another key of 32 bytes, at least";
    node_begin(&nodes[1], true);
    fleet_key = "0123456789abcdef0123456789abcdef";
    n_relayed = 0;
    expect_at(&nodes[1], id, POST_AS("a", PING), GONE);
    assert_int_equal(n_relayed, 0);
    fleet_end();
}

/* Capabilities that do not fit are left out. The session is forwarded, but never made anew. */
static void test_large_capabilities(void **state)
{
    (void)state;
    char capabilities[900];
    snprintf(capabilities, sizeof(capabilities), "\"experimental\":{\"x\":{\"y\":\"%0600d\"}}", 1);
    begin(capabilities);
    expect_at(&nodes[1], id, POST_AS("a", PING), JSON);
    node_kill(&nodes[0]);
    expect_at(&nodes[1], id, POST_AS("a", PING), GONE);
    fleet_end();
}

static void test_options(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "has a space", "quote\"s"};
    char longer[300];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = 0;
    for (size_t i = 0; i <= COUNT(wrong); i++) {
        rig r;
        mcp_http_options o = {.instance_address = i < COUNT(wrong) ? wrong[i] : longer};
        assert_int_equal(rig_begin_with(&r, &o, 0), MCP_EINVAL);
        fixture_free(r.fixture);
    }
    /* without the option, ids are random */
    rig r;
    rig_begin(&r, NULL);
    rig_initialize(&r, "2025-06-18", "");
    assert_int_equal(strlen(r.session), 32);
    mcp_http_shared(r.http, MCP_STR("Hxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), r.now);
    mcp_http_share_lost(r.http);
    rig_end(&r);
}

/* ---- forwarding -------------------------------------------------------------------------------- */

static void test_forward(void **state)
{
    (void)state;
    begin("");
    n_relayed = 0;
    expect_at(&nodes[1], id, POST_AS("a", LIST), JSON "\"resources\"~");
    expect_at(&nodes[2], id, POST_AS("a", CALL("unknown", "")), JSON "-32601~");
    expect_at(&nodes[2], id, POST_AS("a", SUBSCRIBE), JSON "\"result\"~");
    expect_at(&nodes[2], id, POST_AS("a", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"),
              "HTTP/1.1 202 Accepted\n~");
    expect_at(&nodes[2], id, POST_AS("a", "{}"), "HTTP/1.1 400 Bad Request\n~");
    assert_int_equal(n_relayed, 5);
    /* the other headers are checked before */
    expect_at(&nodes[1], id,
              "POST /mcp HTTP/1.1\nHost: evil.example\n" AS("a") "Mcp-Session-Id: {{session}}\n"
                                                                 "Content-Length: 0\n\n",
              "HTTP/1.1 403~");
    expect_at(&nodes[1], id,
              "POST /mcp HTTP/1.1\n{{std}}Mcp-Session-Id: {{session}}\nContent-Length: "
              "{{len}}\n\n" PING,
              "HTTP/1.1 401~");
    assert_int_equal(n_relayed, 5);
    expect_at(&nodes[1], id, DELETE, "HTTP/1.1 204 No Content\n\n");
    for (size_t i = 0; i < NODES; i++) {
        expect_at(&nodes[i], id, POST_AS("a", PING), GONE);
        expect_at(&nodes[i], id, DELETE, GONE);
        expect_at(&nodes[i], id, GET, GONE);
    }
    fleet_end();
}

/* A stream passes through, with changes to what was subscribed at another instance. */
static void test_stream(void **state)
{
    (void)state;
    begin("");
    wire w;
    ask(&w, &nodes[1], id, GET);
    wire_expect(&w, "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n~");
    expect_at(&nodes[2], id, POST_AS("a", SUBSCRIBE), JSON "\"result\"~");
    wire_clear(&w);
    mcp_server_resource_updated(fixture_server(nodes[0].r.fixture), "fixed:/text");
    rig_pass(&nodes[0].r, 250);
    pump();
    wire_expect(&w, "~notifications/resources/updated~");
    /* a tool's notifications and result come on the stream of the call */
    wire call;
    ask(&call, &nodes[2], id,
        POST_AS("a", CALL("tools/call", "\"name\":\"progress\",\"_meta\":{\"progressToken\":7}")));
    wire_expect(&call, "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n~progress~\"id\":1~");
    wire_end(&call);
    /* the heartbeat is that of the other instance */
    wire_clear(&w);
    rig_pass(&nodes[1].r, 20000);
    wire_expect(&w, "");
    rig_pass(&nodes[0].r, 20000);
    pump();
    wire_expect(&w, "3\n:\n\n\n~");
    /* the client leaves: the other instance is told */
    n_cancelled = 0;
    wire_end(&w);
    assert_int_equal(n_cancelled, 1);
    pump();
    /* the session ends: so does the stream */
    ask(&w, &nodes[1], id, GET);
    wire_clear(&w);
    expect_at(&nodes[2], id, DELETE, "HTTP/1.1 204 No Content\n\n");
    pump();
    wire_expect(&w, "~0\n\n");
    wire_end(&w);
    fleet_end();
}

static void test_broken(void **state)
{
    (void)state;
    begin("");
    wire call, get;
    ask(&call, &nodes[1], id, POST_AS("a", CALL("tools/call", "\"name\":\"pending\"")));
    ask(&get, &nodes[2], id, GET);
    wire_expect(&call, "");
    node_kill(&nodes[0]);
    /* whether it ran is not known, so it does not run again */
    wire_expect(&call, "HTTP/1.1 502 Bad Gateway\n~\"id\":1~is not known~");
    assert_int_equal(get.closed, MCP_HTTP_CLOSE + 1);
    wire_end(&call);
    wire_end(&get);
    fleet_end();
}

static void test_drain(void **state)
{
    (void)state;
    begin("");
    wire call, get;
    ask(&call, &nodes[1], id, POST_AS("a", CALL("tools/call", "\"name\":\"pending\"")));
    ask(&get, &nodes[1], id, GET);
    mcp_http_drain(nodes[1].r.http, nodes[1].r.now);
    assert_true(get.closed); /* streams end, calls go on */
    assert_false(call.closed);
    fixture_finish(nodes[0].r.fixture, 0);
    pump();
    wire_expect(&call, "HTTP/1.1 200 OK\nConnection: close\n~\"later\"~");
    wire_end(&call);
    wire_end(&get);
    wire cut;
    node_kill(&nodes[1]);
    node_begin(&nodes[1], true);
    ask(&cut, &nodes[1], id, POST_AS("a", CALL("tools/call", "\"name\":\"pending\"")));
    assert_int_equal(mcp_http_cut(nodes[1].r.http, nodes[1].r.now), 1);
    wire_expect(&cut, "HTTP/1.1 503~");
    wire_end(&cut);
    fleet_end();
}

#define INITIALIZE                                                              \
    "POST /mcp HTTP/1.1\n{{std}}" AS("a") "Content-Length: {{len}}\n\n" CALL(   \
        "initialize", "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}," \
                      "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}")

/* Initializes at a node that drains, whose session goes on at another one after the end of the first. */
static void test_begin_while_draining(void **state)
{
    (void)state;
    wire w;
    begin("");
    mcp_http_drain(nodes[1].r.http, nodes[1].r.now);
    ask(&w, &nodes[1], "", INITIALIZE);
    wire_expect(&w, "HTTP/1.1 200 OK\nConnection: close\n~\"result\"~");
    const char *at = strstr(w.out, "Mcp-Session-Id: ");
    assert_non_null(at);
    snprintf(id, sizeof(id), "%.*s", (int)strcspn(at + 16, "\r\n"), at + 16);
    wire_end(&w);
    expect_at(&nodes[2], id, POST_AS("a", PING), JSON); /* forwarded */
    node_kill(&nodes[1]);
    expect_at(&nodes[2], id, POST_AS("b", PING), GONE);
    expect_at(&nodes[2], id, POST_AS("a", PING), JSON);
    expect_at(&nodes[0], id, POST_AS("a", PING), JSON);
    /* Nobody would hear of it. */
    nodes[2].no_bus = true;
    mcp_http_drain(nodes[2].r.http, nodes[2].r.now);
    expect_at(&nodes[2], "", INITIALIZE, "HTTP/1.1 503 ~\nConnection: close\n~about to end~");
    fleet_end();
}

/* A node that drains makes the session of a node that is gone anew; a stream that it forwards ends at once. */
static void test_take_over_while_draining(void **state)
{
    (void)state;
    wire get;
    begin("");
    mcp_http_drain(nodes[1].r.http, nodes[1].r.now);
    ask(&get, &nodes[1], id, GET);
    wire_expect(&get, "HTTP/1.1 200 OK\nConnection: close\n~0\n\n");
    assert_true(get.closed);
    wire_end(&get);
    node_kill(&nodes[0]);
    expect_at(&nodes[1], id, POST_AS("a", PING), "HTTP/1.1 200 OK\nConnection: close\n~");
    node_kill(&nodes[1]);
    expect_at(&nodes[2], id, POST_AS("a", PING), JSON);
    fleet_end();
}

/* ---- the header -------------------------------------------------------------------------------- */

static void replay_at(node *n, const char *expected)
{
    char copy[8192];
    snprintf(copy, sizeof(copy), "%s", last_request);
    expect_at(n, id, copy, expected);
}

static void replace(const char *from, const char *to)
{
    char copy[8192];
    const char *at = strstr(last_request, from);
    assert_non_null(at);
    snprintf(copy, sizeof(copy), "%.*s%s%s", (int)(at - last_request), last_request, to,
             at + strlen(from));
    memcpy(last_request, copy, sizeof(copy));
}

static void test_header(void **state)
{
    (void)state;
    static const char *const changes[][2] = {
        {"ping", "pong"},
        {"Bearer a", "Bearer b"},
        {"POST", "GET"},
        {"Content-Type", "MCP-Protocol-Version: 2025-06-18\nContent-Type"},
        {"Content-Type", "Last-Event-ID: 0-0\nContent-Type"},
        {"Mcp-Session-Id: ", "Mcp-Session-Id: x"},
        {"Forwarded-Request: ", "Forwarded-Request: A"},
        {"/mcp", "/metrics"},
    };
    begin("");
    static char before[sizeof(last_request)];
    expect_at(&nodes[1], id, POST_AS("a", PING), JSON);
    memcpy(before, last_request, sizeof(before));
    for (size_t i = 0; i < COUNT(changes); i++) {
        replace(changes[i][0], changes[i][1]);
        replay_at(&nodes[0], i == 7 ? "HTTP/1.1 40~" : "HTTP/1.1 403 Forbidden\n~");
        memcpy(last_request, before, sizeof(before));
    }
    replay_at(&nodes[0], "HTTP/1.1 403 Forbidden\n~");           /* it was received before */
    replay_at(&nodes[2], "HTTP/1.1 421 Misdirected Request\n~"); /* it is for another */
    wire w;
    /* on the connection on which it was accepted, the next request has the same head */
    wire_open(&w, &nodes[1].r);
    wire_send(&w, POST_AS("a", PING));
    wire_end(&w);
    memcpy(before, last_request, sizeof(before));
    wire_open(&w, &nodes[0].r);
    for (int again = 0; again < 3; again++) {
        wire_clear(&w);
        wire_send(&w, before);
        wire_expect(&w, again ? "HTTP/1.1 403 Forbidden\n~" : JSON);
    }
    wire_end(&w);
    /* a header that was never used: accepted once, not after five minutes, not by another process */
    for (int late = 0; late < 2; late++) {
        wire_open(&w, &nodes[1].r);
        snprintf(nodes[1].r.session, sizeof(nodes[1].r.session), "%s", id);
        wire_send(&w, POST_AS("a", PING));
        wire_end(&w); /* before it was sent */
        if (late)
            fixture_set_time(nodes[0].r.fixture, 300001);
        replay_at(&nodes[0], late ? "HTTP/1.1 403 Forbidden\n~" : JSON);
        replay_at(&nodes[0], "HTTP/1.1 403 Forbidden\n~");
    }
    /* without other instances it has no meaning */
    rig r;
    rig_begin(&r, NULL);
    rig_initialize(&r, "2025-06-18", "");
    wire_open(&w, &r);
    wire_send(&w, "POST /mcp HTTP/1.1\n{{std}}Libmcp-Forwarded-Request: x\nMcp-Session-Id: "
                  "{{session}}\nContent-Length: {{len}}\n\n" PING);
    wire_expect(&w, JSON);
    wire_end(&w);
    rig_end(&r);
    fleet_end();
}

/* A request is forwarded once, even if two instances send each other the same session. */
static void test_loop(void **state)
{
    (void)state;
    begin("");
    char unique[33], message[sizeof(last_message) + 1];
    assert_int_equal(last_message[0], 'A');
    snprintf(unique, sizeof(unique), "%.32s", last_message + 1);
    rig_initialize_as(&nodes[2].r, "2025-06-18", AS("a"), "");
    snprintf(message, sizeof(message), "A%s%s", unique, last_message + 33);
    mcp_http_shared(nodes[1].r.http, mcp_str_from(message), nodes[1].r.now);
    rig_initialize_as(&nodes[1].r, "2025-06-18", AS("a"), "");
    snprintf(message, sizeof(message), "A%s%s", unique, last_message + 33);
    mcp_http_shared(nodes[2].r.http, mcp_str_from(message), nodes[2].r.now);
    pump();
    n_relayed = 0;
    expect_at(&nodes[1], id, POST_AS("a", PING), GONE);
    assert_int_equal(n_relayed, 1);
    fleet_end();
}

/* ---- making anew ------------------------------------------------------------------------------- */

static void test_take(void **state)
{
    (void)state;
    begin("\"sampling\":{}");
    node_kill(&nodes[0]);
    expect_at(&nodes[1], id, POST_AS("b", PING), GONE);
    expect_at(&nodes[1], id, POST_AS("a", LIST), JSON "\"resources\"~");
    n_relayed = 0;
    expect_at(&nodes[2], id, POST_AS("a", LIST), JSON "\"resources\"~"); /* forwarded to n1 */
    assert_int_equal(n_relayed, 1);
    expect_at(&nodes[1], id, POST_AS("b", PING), GONE);
    /* the client may have missed changes */
    wire w;
    ask(&w, &nodes[2], id, GET);
    rig_pass(&nodes[1].r, 250);
    pump();
    wire_expect(&w, "~notifications/resources/list_changed~");
    wire_end(&w);
    pump();
    /* another process at the old address */
    node_begin(&nodes[0], true);
    n_relayed = 0;
    expect_at(&nodes[0], id, POST_AS("a", PING), GONE); /* it heard nothing of the session */
    node_kill(&nodes[1]);
    expect_at(&nodes[2], id, POST_AS("a", PING), JSON);
    expect_at(&nodes[0], id, POST_AS("a", PING), JSON); /* it heard that n2 has it */
    expect_at(&nodes[0], id, DELETE, "HTTP/1.1 204 No Content\n\n");
    expect_at(&nodes[2], id, POST_AS("a", PING), GONE);
    fleet_end();
}

static void test_keeps(void **state)
{
    (void)state;
    static const char *const calls[] = {
        POST_AS("a", SUBSCRIBE),
        POST_AS("a", CALL("logging/setLevel", "\"level\":\"debug\"")),
    };
    for (size_t i = 0; i < COUNT(calls); i++) {
        begin("");
        expect_at(&nodes[2], id, calls[i], "HTTP/1.1 200~");
        node_kill(&nodes[0]);
        expect_at(&nodes[1], id, POST_AS("a", PING), GONE);
        expect_at(&nodes[2], id, POST_AS("a", PING), GONE);
        fleet_end();
    }
}

/* What an instance does not know for certain is not made anew. */
static void test_unknown(void **state)
{
    (void)state;
    begin("");
    mcp_http_share_lost(nodes[1].r.http);
    nodes[2].no_bus = true;
    node_kill(&nodes[0]);
    expect_at(&nodes[1], id, POST_AS("a", PING), GONE);
    expect_at(&nodes[2], id, POST_AS("a", PING), GONE);
    nodes[2].no_bus = false;
    expect_at(&nodes[2], id, DELETE, "HTTP/1.1 204 No Content\n\n");
    expect_at(&nodes[2], id, POST_AS("a", PING), GONE);
    fleet_end();
}

/* Two instances that cannot reach each other both make the session anew. */
static void test_conflict(void **state)
{
    (void)state;
    for (int keeps = 0; keeps < 3; keeps++) { /* which of the two has a subscription */
        begin("");
        node_kill(&nodes[0]);
        wire one, two;
        for (int i = 1; i <= 2; i++) {
            wire *w = i == 1 ? &one : &two;
            wire_open(w, &nodes[i].r);
            snprintf(nodes[i].r.session, sizeof(nodes[i].r.session), "%s", id);
            if (keeps == i) {
                wire_send(w, POST_AS("a", SUBSCRIBE));
            } else {
                wire_send(w, POST_AS("a", PING));
            }
        }
        for (size_t i = 0; i < RELAYS; i++) { /* n0 is gone, and nobody hears the other yet */
            if (relays[i].relay)
                pump_relay(&relays[i]);
        }
        pump();
        wire_expect(&one, JSON);
        wire_expect(&two, JSON);
        wire_end(&one);
        wire_end(&two);
        pump();
        expect_at(&nodes[1], id, POST_AS("a", PING), keeps ? GONE : JSON);
        n_relayed = 0;
        expect_at(&nodes[1], id, POST_AS("a", PING), keeps ? GONE : JSON);
        expect_at(&nodes[2], id, POST_AS("a", PING), keeps ? GONE : JSON);
        assert_int_equal(n_relayed, keeps ? 2 : 1); /* one of them forwards; or to n0, in vain */
        fleet_end();
    }
}

/* ---- memory ------------------------------------------------------------------------------------ */

static void test_memory(void **state)
{
    (void)state;
    for (size_t fail_at = 1;; fail_at++) {
        node_begin(&nodes[0], true);
        rig_initialize_as(&nodes[0].r, "2025-06-18", AS("a"), "");
        snprintf(id, sizeof(id), "%s", nodes[0].r.session);
        if (node_begin_with(&nodes[1], true, NULL, fail_at) != MCP_OK) {
            assert_true(nodes[1].r.memory.calls >= fail_at);
            rig_end(&nodes[1].r);
            fleet_end();
            continue;
        }
        pump();
        wire w;
        for (int i = 0; i < 3; i++) {
            if (i == 1)
                node_kill(&nodes[0]);
            if (wire_open_from(&w, &nodes[1].r, "peer") == MCP_OK) {
                snprintf(nodes[1].r.session, sizeof(nodes[1].r.session), "%s", id);
                wire_send(&w, i == 2 ? DELETE : POST_AS("a", LIST));
                pump();
                bool ok = nodes[1].r.memory.calls < fail_at;
                if (ok)
                    wire_expect(&w, i == 2 ? "HTTP/1.1 204~" : JSON);
                else if (!w.closed)
                    assert_in_range(w.len, 1, SIZE_MAX); /* exactly one answer */
                wire_end(&w);
            } else if (w.c) {
                wire_end(&w);
            }
            pump();
        }
        bool all = nodes[1].r.memory.calls < fail_at;
        fleet_end();
        if (all)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_other_key),
        cmocka_unit_test(test_large_capabilities),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_begin_while_draining),
        cmocka_unit_test(test_take_over_while_draining),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_keeps),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_conflict),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
