/* Tokens: streams that end when a token expires, state that is bound to the principal, and
 * scopes. */
#include "rig.h"

#define SSE_HEAD "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n~"
#define LISTEN(id)                                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"subscriptions/listen\",\"params\":{"         \
    "\"notifications\":{\"resourceSubscriptions\":[\"fixed:/text\"],\"toolsListChanged\":true}, " \
    "{{meta}}} }"
#define CALL(name)                                                          \
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{ " \
    "\"name\":\"" name "\",\"arguments\":{}, {{meta}}} }"
#define LEGACY_CALL(name)                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{ " \
    "\"name\":\"" name "\",\"arguments\":{} } }"

enum { WALL = 1000000 }; /* milliseconds that the wall clock is ahead of the rig's clock */

/* Tokens of this test are "NAME/ID/EXPIRY/SCOPES", with the expiry in milliseconds on the clock of
 * the rig, or 0. */
static void login(mcp_http_login *login, void *user)
{
    char token[128];
    long expiry = 0;
    char name[32], id[32], scopes[64] = "";
    (void)user;
    if (!login_token(login, token, sizeof(token)) ||
        sscanf(token, "%31[^/]/%31[^/]/%ld/%63[^\n]", name, id, &expiry, scopes) < 3) {
        mcp_http_login_refuse(login, NULL);
        return;
    }
    login_accept(login, MCP_OPTIONS(mcp_identity_options, .principal = name, .token = id,
                                    .scopes = scopes, .expires_ms = expiry ? expiry + WALL : 0));
}

static int64_t wall(void *user)
{
    const rig *r = user;
    return r->now + WALL;
}

static const mcp_http_options with_tokens = {.authenticate = login,
                                             .wall = wall,
                                             .sse_path = "/sse",
                                             .heartbeat_ms = 1000000,
                                             .resource_metadata = "https://x.example/meta"};

static void send_with(wire *w, const char *token, const char *head, const char *body)
{
    char request[2048];
    snprintf(request, sizeof(request), "%sAuthorization: Bearer %s\nContent-Length: {{len}}\n\n%s",
             head, token, body);
    wire_send(w, request);
}

static void listen_with(wire *w, rig *r, const char *token)
{
    wire_open(w, r);
    send_with(w, token, "POST /mcp HTTP/1.1\n{{modern subscriptions/listen}}", LISTEN("1"));
    wire_expect(w, SSE_HEAD "~acknowledged~");
    wire_clear(w);
}

static void get_with(wire *w, rig *r, const char *token)
{
    wire_open(w, r);
    send_with(w, token,
              "GET /mcp HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n"
              "Mcp-Session-Id: {{session}}\n",
              "");
    wire_expect(w, SSE_HEAD);
    wire_clear(w);
}

static void change(rig *r)
{
    mcp_server_resource_updated(fixture_server(r->fixture), "fixed:/text");
}

/* ---- the end of streams --------------------------------------------------------------------- */

/* A stream ends when the token expires that it was opened with, after its pending notifications
 * were sent. No other stream ends. */
static void test_listen_expires(void **state)
{
    rig r;
    wire first, second, other;
    (void)state;
    rig_begin(&r, &with_tokens);
    listen_with(&first, &r, "alice/t1/5000");
    listen_with(&second, &r, "alice/t2/9000");
    listen_with(&other, &r, "bob/t3/0");
    rig_pass(&r, 3990); /* 4990 */
    change(&r);
    rig_pass(&r, 9);
    wire_expect(&first, "");
    rig_pass(&r, 1);
    wire_expect(&first, "~resources/updated~fixed:/text~\"id\":1~\"result\":~0\n\n");
    assert_int_equal(first.closed, 0);
    rig_pass(&r, 250);
    wire_expect(&second, "~resources/updated~");
    wire_expect(&other, "~resources/updated~");
    wire_clear(&second), wire_clear(&other);
    /* the connection can be used with another token */
    wire_clear(&first);
    send_with(&first, "alice/t1/5000", "POST /mcp HTTP/1.1\n{{modern tools/call}}Mcp-Name: echo\n",
              CALL("echo"));
    wire_expect(&first, "HTTP/1.1 401 ~");
    wire_end(&first);
    listen_with(&first, &r, "alice/t4/0");
    rig_pass(&r, 10000);
    change(&r);
    rig_pass(&r, 250);
    wire_expect(&first, "~resources/updated~");
    wire_expect(&second, "~\"result\":~0\n\n");
    wire_expect(&other, "~resources/updated~");
    wire_end(&first), wire_end(&second), wire_end(&other);
    rig_end(&r);
}

/* The GET stream of a session ends. The session remains, because it belongs to the principal. */
static void test_get_expires(void **state)
{
    rig r;
    wire first, second;
    (void)state;
    rig_begin(&r, &with_tokens);
    rig_initialize(&r, "2025-06-18", "Authorization: Bearer alice/t1/5000\n");
    wire_open(&second, &r);
    send_with(&second, "alice/t1/5000", "POST /mcp HTTP/1.1\n{{std}}Mcp-Session-Id: {{session}}\n",
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{"
              "\"uri\":\"fixed:/text\"} }");
    wire_expect(&second, "HTTP/1.1 200 OK\n~");
    wire_end(&second);
    get_with(&first, &r, "alice/t1/5000");
    rig_pass(&r, 3990);
    change(&r);
    rig_pass(&r, 10);
    wire_expect(&first, "~resources/updated~fixed:/text~0\n\n");
    get_with(&second, &r, "alice/t2/0");
    rig_pass(&r, 100000);
    change(&r);
    rig_pass(&r, 250);
    wire_expect(&second, "~resources/updated~fixed:/text~");
    wire_end(&first), wire_end(&second);
    rig_end(&r);
}

static void test_duplex_expires(void **state)
{
    rig r;
    wire w;
    (void)state;
    rig_begin(&r, &with_tokens);
    wire_open(&w, &r);
    send_with(&w, "alice/t1/5000",
              "GET /sse HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n", "");
    wire_expect(&w, SSE_HEAD "event: endpoint\n~");
    wire_clear(&w);
    rig_pass(&r, 3999);
    wire_expect(&w, "");
    rig_pass(&r, 1);
    wire_expect(&w, "0\n\n");
    wire_end(&w);
    rig_end(&r);
}

/* A request that was accepted is answered, even if its token expires meanwhile. */
static void test_request_outlives_token(void **state)
{
    rig r;
    wire w;
    (void)state;
    rig_begin(&r, &with_tokens);
    wire_open(&w, &r);
    send_with(&w, "alice/t1/1001", "POST /mcp HTTP/1.1\n{{modern tools/call}}Mcp-Name: pending\n",
              CALL("pending"));
    wire_expect(&w, "");
    rig_pass(&r, 1000);
    wire_expect(&w, "");
    fixture_finish(r.fixture, 0);
    rig_pass(&r, 10);
    wire_expect(&w, "HTTP/1.1 200 OK\n~\"id\":3~");
    wire_end(&w);
    rig_end(&r);
}

static void test_expired_before(void **state)
{
    rig r;
    wire w;
    (void)state;
    rig_begin(&r, &with_tokens);
    wire_open(&w, &r);
    send_with(&w, "alice/t1/1000", "POST /mcp HTTP/1.1\n{{modern subscriptions/listen}}",
              LISTEN("1"));
    wire_expect(&w, "HTTP/1.1 401 ~WWW-Authenticate: Bearer\n~");
    wire_end(&w);
    rig_end(&r);

    /* without a clock, identities that expire are refused */
    mcp_http_options o = with_tokens;
    o.wall = NULL;
    rig_begin(&r, &o);
    wire_open(&w, &r);
    send_with(&w, "alice/t1/9000", "POST /mcp HTTP/1.1\n{{modern subscriptions/listen}}",
              LISTEN("1"));
    wire_expect(&w, "HTTP/1.1 503 ~");
    wire_end(&w);
    listen_with(&w, &r, "alice/t1/0");
    wire_end(&w);
    rig_end(&r);
}

static void test_many_expire(void **state)
{
    enum { STREAMS = 1000 };
    static wire w[STREAMS];
    rig r;
    char token[64];
    (void)state;
    rig_begin(&r, &with_tokens);
    for (int i = 0; i < STREAMS; i++) {
        snprintf(token, sizeof(token), "u%d/t%d/%d", i, i, 5000 + i);
        listen_with(&w[i], &r, token);
    }
    change(&r);
    rig_pass(&r, 3900);
    for (int i = 0; i < STREAMS; i++) {
        wire_expect(&w[i], "~resources/updated~");
        wire_clear(&w[i]);
    }
    change(&r);
    rig_pass(&r, 1200);
    for (int i = 0; i < STREAMS; i++) {
        wire_expect(&w[i], "~resources/updated~\"result\":~0\n\n");
        wire_end(&w[i]);
    }
    rig_end(&r);
}

static void test_end_token(void **state)
{
    rig r;
    wire listen, get, same, idle;
    (void)state;
    rig_begin(&r, &with_tokens);
    rig_initialize(&r, "2025-06-18", "Authorization: Bearer alice/t1/0\n");
    listen_with(&listen, &r, "alice/t1/0");
    get_with(&get, &r, "alice/t1/90000");
    listen_with(&same, &r, "alice/t2/0");
    wire_open(&idle, &r);
    send_with(&idle, "alice/t1/0", "POST /mcp HTTP/1.1\n{{modern tools/call}}Mcp-Name: pending\n",
              CALL("pending"));
    change(&r);
    assert_int_equal(mcp_http_end_token(r.http, "t9", r.now), 0);
    assert_int_equal(mcp_http_end_token(r.http, NULL, r.now), 0);
    size_t woken = r.woken;
    assert_int_equal(mcp_http_end_token(r.http, "t1", r.now), 2);
    assert_true(r.woken > woken || mcp_http_deadline(r.http) <= r.now);
    wire_expect(&listen, "");
    rig_pass(&r, 0);
    wire_expect(&listen, "~resources/updated~\"result\":~0\n\n");
    wire_expect(&get, "~0\n\n");
    wire_expect(&same, "");
    rig_pass(&r, 250);
    wire_expect(&same, "~resources/updated~");
    fixture_finish(r.fixture, 0);
    rig_pass(&r, 10);
    wire_expect(&idle, "HTTP/1.1 200 OK\n~\"id\":3~");
    wire_end(&listen), wire_end(&get), wire_end(&same), wire_end(&idle);
    rig_end(&r);
}

/* ---- scopes --------------------------------------------------------------------------------- */

static char seen[128];

static int run_scoped(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    int rc = mcp_request_need_scopes(req, user);
    if (rc != MCP_OK)
        return rc;
    const mcp_identity *i = mcp_request_identity(req);
    snprintf(seen, sizeof(seen), "%s %s %s", mcp_identity_principal(i), mcp_identity_scopes(i),
             mcp_identity_token(i));
    return mcp_reply_text(req, seen);
}

static void begin_scoped(rig *r, const char *needs)
{
    static const mcp_tool scoped = {.size = sizeof(scoped), .name = "scoped", .call = run_scoped};
    rig_begin(r, &with_tokens);
    assert_int_equal(
        mcp_server_add_tool(fixture_server(r->fixture), &scoped, (void *)(uintptr_t)needs, NULL),
        MCP_OK);
}

#define MODERN_SCOPED "POST /mcp HTTP/1.1\n{{modern tools/call}}Mcp-Name: scoped\n"

static void test_scopes(void **state)
{
    static const struct {
        const char *needs, *token, *more, *expected;
    } table[] = {
        {"a b", "alice/t/0/b c a", "", "HTTP/1.1 200 OK\n~alice b c a t~"},
        {"a b", "alice/t/0/b", "",
         "HTTP/1.1 403 Forbidden\n~WWW-Authenticate: Bearer error=\"insufficient_scope\", "
         "error_description=\"~\", scope=\"a b\", "
         "resource_metadata=\"https://x.example/meta\"\n~\"id\":3~\"error\":~a b~"},
        {" a  offline_access", "alice/t/0/b", "",
         "HTTP/1.1 403 Forbidden\n~ scope=\"a\", ~\"id\":3~"},
        {"offline_access", "alice/t/0/", "", "HTTP/1.1 200 OK\n~"},
        {"a\"", "alice/t/0/a", "", "HTTP/1.1 200 OK\n~\"error\":~"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        rig r;
        wire w;
        begin_scoped(&r, table[i].needs);
        wire_open(&w, &r);
        send_with(&w, table[i].token, MODERN_SCOPED, CALL("scoped"));
        wire_expect(&w, table[i].expected);
        /* in a session */
        rig_initialize(&r, "2025-11-25", "Authorization: Bearer alice/first/0/a\n");
        wire_clear(&w);
        send_with(&w, table[i].token, "POST /mcp HTTP/1.1\n{{std}}Mcp-Session-Id: {{session}}\n",
                  LEGACY_CALL("scoped"));
        wire_expect(&w, table[i].expected);
        /* without one */
        wire_clear(&w);
        send_with(&w, table[i].token,
                  "POST /mcp HTTP/1.1\n{{std}}MCP-Protocol-Version: 2025-06-18\n",
                  LEGACY_CALL("scoped"));
        wire_expect(&w, table[i].expected);
        wire_end(&w);
        rig_end(&r);
    }
}

/* The scopes are those of the request, not those with which the connection or session began. */
static void test_scopes_change(void **state)
{
    rig r;
    wire w;
    (void)state;
    begin_scoped(&r, "a");
    rig_initialize(&r, "2025-11-25", "Authorization: Bearer alice/t0/0/a\n");
    wire_open(&w, &r);
    for (int i = 0; i < 4; i++) {
        const char *head =
            i < 2 ? MODERN_SCOPED : "POST /mcp HTTP/1.1\n{{std}}Mcp-Session-Id: {{session}}\n";
        const char *body = i < 2 ? CALL("scoped") : LEGACY_CALL("scoped");
        wire_clear(&w);
        send_with(&w, "alice/t1/0/a", head, body);
        wire_expect(&w, "HTTP/1.1 200 OK\n~alice a t1~");
        wire_clear(&w);
        send_with(&w, "alice/t2/0/b", head, body);
        wire_expect(&w, "HTTP/1.1 403 ~");
    }
    wire_clear(&w);
    send_with(&w, "bob/t3/0/a", "POST /mcp HTTP/1.1\n{{std}}Mcp-Session-Id: {{session}}\n",
              LEGACY_CALL("scoped"));
    wire_expect(&w, "HTTP/1.1 404 ~");
    wire_clear(&w);
    send_with(&w, "bob/t3/0/a", MODERN_SCOPED, CALL("scoped"));
    wire_expect(&w, "HTTP/1.1 200 OK\n~bob a t3~");
    wire_end(&w);
    rig_end(&r);
}

/* In HTTP+SSE and in batches, an answer has no HTTP status of its own. */
static void test_scopes_without_status(void **state)
{
    rig r;
    wire w;
    (void)state;
    begin_scoped(&r, "a");
    rig_initialize(&r, "2025-03-26", "Authorization: Bearer alice/t0/0/\n");
    wire_open(&w, &r);
    send_with(&w, "alice/t0/0/", "POST /mcp HTTP/1.1\n{{std}}Mcp-Session-Id: {{session}}\n",
              "[" LEGACY_CALL("scoped") "]");
    wire_expect(&w, "HTTP/1.1 200 OK\n~\"id\":3,\"error\":~");
    wire_end(&w);
    rig_end(&r);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        rig r;
        wire w;
        begin_scoped(&r, "a b c");
        wire_open(&w, &r);
        size_t before = r.memory.calls;
        r.memory.fail_at = before + n;
        send_with(&w, "alice/t0/0/", MODERN_SCOPED, CALL("scoped"));
        bool done = r.memory.calls < before + n;
        assert_null(strstr(wire_text(&w), "alice"));
        if (done)
            wire_expect(&w, "HTTP/1.1 403 ~");
        wire_end(&w);
        rig_end(&r);
        if (done)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listen_expires), cmocka_unit_test(test_get_expires),
        cmocka_unit_test(test_duplex_expires), cmocka_unit_test(test_request_outlives_token),
        cmocka_unit_test(test_expired_before), cmocka_unit_test(test_many_expire),
        cmocka_unit_test(test_end_token),      cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_scopes_change),  cmocka_unit_test(test_scopes_without_status),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
