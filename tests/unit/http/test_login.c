/* Authentication: logins that are answered at once, later or never; refusals; and what the
 * connection does in the meantime. */
#include "rig.h"

#define AUTH "Authorization: Bearer alice\n"
#define TOOLS                                                                                   \
    "POST /mcp HTTP/1.1\n{{modern tools/list}}" AUTH "DPoP: proof\nContent-Length: {{len}}\n\n" \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{ {{meta}}} }"
#define PENDING                                                                               \
    "POST /mcp HTTP/1.1\n{{modern tools/call}}Mcp-Name: pending\nContent-Length: {{len}}\n\n" \
    "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools/call\",\"params\":{"                    \
    "\"name\":\"pending\",{{meta}}}}"
#define PING "GET /healthz HTTP/1.1\nHost: localhost\n\n"

enum { MOST_OPEN = 6 };

/* A program that answers its logins later. */
static struct desk {
    mcp_http_login *open[MOST_OPEN];
    size_t n_open, asked, cancelled;
    char seen[256];
} desk;

static void on_cancel(mcp_http_login *login, void *user)
{
    struct desk *d = user;
    d->cancelled++;
    for (size_t i = 0; i < d->n_open; i++) {
        if (d->open[i] == login)
            d->open[i] = NULL;
    }
}

static void keep(mcp_http_login *login, void *user)
{
    (void)user;
    assert_true(desk.n_open < MOST_OPEN);
    desk.open[desk.n_open++] = login;
    desk.asked++;
    mcp_http_login_on_cancel(login, on_cancel, &desk);
}

static void begin(rig *r, wire *w, mcp_http_options options)
{
    static const char *const headers[] = {"DPoP", "X-Twice"};
    desk = (struct desk){0};
    if (!options.authenticate)
        options.authenticate = keep;
    options.login_headers = headers;
    options.n_login_headers = COUNT(headers);
    rig_begin(r, &options);
    wire_open(w, r);
}

static void end(rig *r, wire *w)
{
    wire_end(w);
    rig_end(r);
}

static void tick(rig *r)
{
    assert_true(mcp_http_deadline(r->http) <= r->now);
    mcp_http_tick(r->http, r->now);
}

static void accept_as(rig *r, size_t i, const char *principal)
{
    login_accept(desk.open[i], MCP_OPTIONS(mcp_identity_options, .principal = principal));
    tick(r);
}

/* ---- what is logged ------------------------------------------------------------------------- */

static void refuse_all(mcp_http_login *login, void *user)
{
    (void)user;
    (void)mcp_http_login_set_nonce(login, "nonce");
    if (desk.asked++ % 2 == 0)
        mcp_http_login_refuse(login, MCP_OPTIONS(mcp_http_denial, .status = 401, .message = "no",
                                                 .reason = "EXPIRED", .issuer = "https://i.example",
                                                 .key = "k\n1", .principal = "p"));
    else
        mcp_http_login_refuse(login, NULL);
}

static void log_denial(const mcp_http_record *r, void *user)
{
    (void)user;
    assert_true(r->refused);
    snprintf(desk.seen, sizeof(desk.seen), "%.*s|%.*s|%.*s|%.*s", (int)r->reason.len, r->reason.ptr,
             (int)r->denied_issuer.len, r->denied_issuer.ptr, (int)r->denied_key.len,
             r->denied_key.ptr, (int)r->denied_principal.len, r->denied_principal.ptr);
}

/* The log is told why a login was refused; the client is told only the message. Nothing remains for
 * the next request of the connection. */
static void test_log(void **state)
{
    rig r;
    wire w;
    (void)state;
    begin(&r, &w, (mcp_http_options){.authenticate = refuse_all, .log = log_denial});
    wire_send(&w, TOOLS);
    assert_string_equal(desk.seen, "EXPIRED|https://i.example|k\n1|p");
    assert_non_null(strstr(wire_text(&w), "\"message\":\"no\""));
    assert_null(strstr(wire_text(&w), "EXPIRED"));
    assert_null(strstr(wire_text(&w), "i.example"));
    wire_send(&w, TOOLS);
    assert_string_equal(desk.seen, "UNAUTHORIZED|||");
    end(&r, &w);
}

/* ---- what is asked -------------------------------------------------------------------------- */

static void look(mcp_http_login *login, void *user)
{
    mcp_str proof = {0}, twice = {0}, other = {0}, type = {0};
    (void)user;
    bool has_proof = mcp_http_login_header(login, "dpop", &proof);
    bool has_twice = mcp_http_login_header(login, "x-twice", &twice);
    bool has_type = mcp_http_login_header(login, "Content-Type", &type);
    assert_false(mcp_http_login_header(login, "x-other", &other));
    const char *url = mcp_http_login_url(login);
    snprintf(desk.seen, sizeof(desk.seen), "%s %s %s %.*s %d %.*s", mcp_http_login_method(login),
             url ? url : "-", mcp_http_login_client(login), has_proof ? (int)proof.len : 1,
             has_proof ? proof.ptr : "-", has_twice && mcp_str_eq(twice, MCP_STR("\n")),
             has_type ? (int)type.len : 1, has_type ? type.ptr : "-");
    mcp_http_login_accept(login, NULL);
}

static void test_question(void **state)
{
    static const struct {
        const char *request, *seen;
    } table[] = {
        {TOOLS, "POST https://x.example/a/mcp peer proof 0 application/json"},
        {"GET /mcp?q=1 HTTP/1.1\nHost: localhost\nx-other: 1\nDPoP:  p \n\n",
         "GET https://x.example/a/mcp peer p 0 -"},
        {"DELETE /mcp HTTP/1.1\nHost: localhost\nX-Twice: 1\nDPoP:\nX-TWICE: 2\n\n",
         "DELETE https://x.example/a/mcp peer  1 -"},
        {"GET /metrics HTTP/1.1\nHost: localhost\n\n",
         "GET https://x.example/a/metrics peer - 0 -"},
        {"HEAD /metrics HTTP/1.1\nHost: localhost\n\n",
         "HEAD https://x.example/a/metrics peer - 0 -"},
        {"GET /sse HTTP/1.1\nHost: localhost\n\n", "GET https://x.example/a/sse peer - 0 -"},
        /* these requests are not authenticated */
        {PING, ""},
        {"HEAD /healthz HTTP/1.1\nHost: localhost\n\n", ""},
        {"GET /readyz HTTP/1.1\nHost: localhost\n\n", ""},
        {"OPTIONS /mcp HTTP/1.1\nHost: localhost\nOrigin: http://localhost\n\n", ""},
        {"GET /other HTTP/1.1\nHost: localhost\n\n", ""},
        {"GET /mcp HTTP/1.1\nHost: evil.example\n\n", ""},
        {"PUT /mcp HTTP/1.1\nHost: localhost\n\n", ""},
        {"GET /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer a\nAuthorization: Bearer b\n\n",
         ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        rig r;
        wire w;
        begin(&r, &w,
              (mcp_http_options){.authenticate = look,
                                 .public_url = "https://x.example/a",
                                 .sse_path = "/sse",
                                 .cors = true});
        wire_send(&w, table[i].request);
        assert_string_equal(desk.seen, table[i].seen);
        end(&r, &w);
    }
}

static void test_bad_urls(void **state)
{
    static const mcp_http_options bad[] = {
        {.public_url = "https://x/\r\nSet-Cookie: a"},
        {.resource_metadata = "https://x/\"a\""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        rig r;
        assert_int_equal(rig_begin_with(&r, &bad[i], 0), MCP_EINVAL);
        rig_end(&r);
    }
}

/* ---- later ---------------------------------------------------------------------------------- */

static void test_later(void **state)
{
    rig r;
    wire w;
    (void)state;
    begin(&r, &w, (mcp_http_options){0});
    wire_send(&w, TOOLS);
    wire_expect(&w, "");
    assert_int_equal(desk.asked, 1);
    size_t woken = r.woken;
    login_accept(desk.open[0], MCP_OPTIONS(mcp_identity_options, .principal = "alice"));
    assert_int_equal(r.woken, woken + 1);
    wire_expect(&w, ""); /* nothing is sent before the next tick */
    tick(&r);
    wire_expect(&w, "HTTP/1.1 200 OK\n~\"id\":7~");
    assert_int_equal(w.closed, 0);
    /* the next request of the same connection is authenticated again */
    wire_clear(&w);
    wire_send(&w, TOOLS);
    accept_as(&r, 1, "bob");
    wire_expect(&w, "HTTP/1.1 200 OK\n~\"id\":7~");
    assert_int_equal(desk.cancelled, 0);
    end(&r, &w);
}

/* Requests without a body end with their head. */
static void test_later_without_body(void **state)
{
    rig r;
    wire w;
    (void)state;
    begin(&r, &w, (mcp_http_options){0});
    wire_send(&w, "GET /metrics HTTP/1.1\nHost: localhost\n\n");
    accept_as(&r, 0, "alice");
    wire_expect(&w, "HTTP/1.1 200 OK\n~mcp_~");
    wire_clear(&w);
    wire_send(&w, "HEAD /metrics HTTP/1.1\nHost: localhost\n\n");
    accept_as(&r, 1, "alice");
    wire_expect(&w, "HTTP/1.1 200 OK\n~\n\n");
    wire_clear(&w);
    wire_send(&w, "GET /mcp HTTP/1.1\nHost: localhost\n\n");
    mcp_http_login_refuse(desk.open[2], NULL);
    tick(&r);
    wire_expect(&w, "HTTP/1.1 401 Unauthorized\n~WWW-Authenticate: Bearer\n~");
    assert_int_equal(w.closed, 0);
    end(&r, &w);
}

/* The request arrives in two pieces, split at every possible place. The login is answered between
 * them. */
static void test_pieces(void **state)
{
    rig r;
    wire w;
    expansion e = {0};
    (void)state;
    begin(&r, &w, (mcp_http_options){0});
    expand_request(&r, TOOLS, &e);
    for (size_t at = 1; at <= e.len; at++) {
        desk.n_open = 0;
        wire_clear(&w);
        wire_bytes(&w, e.ptr, at);
        bool was_asked = desk.n_open;
        if (was_asked)
            accept_as(&r, 0, "alice");
        if (at < e.len)
            wire_bytes(&w, e.ptr + at, e.len - at);
        if (!was_asked)
            accept_as(&r, 0, "alice");
        wire_expect(&w, "HTTP/1.1 200 OK\n~\"id\":7~");
    }
    free(e.ptr);
    end(&r, &w);
}

static void test_pipelined(void **state)
{
    rig r;
    wire w;
    (void)state;
    begin(&r, &w, (mcp_http_options){0});
    wire_send(&w, TOOLS);
    wire_send(&w, PING);
    wire_send(&w, TOOLS);
    wire_expect(&w, "");
    assert_int_equal(desk.asked, 1);
    accept_as(&r, 0, "alice");
    rig_pass(&r, 0);
    wire_expect(&w, "HTTP/1.1 200 OK\n~\"id\":7~HTTP/1.1 200 OK\n~ok\n");
    assert_int_equal(desk.asked, 2);
    wire_clear(&w);
    mcp_http_login_refuse(desk.open[1], NULL);
    tick(&r);
    wire_expect(&w, "HTTP/1.1 401 ~\"id\":7~");
    end(&r, &w);
}

/* While the sender of a request is unknown, its body is not read beyond a limit. */
static void test_long_body(void **state)
{
    char body[600];
    rig r;
    wire w;
    (void)state;
    memset(body, ' ', sizeof(body));
    begin(&r, &w, (mcp_http_options){.max_header_bytes = 1000});
    wire_send(&w, "POST /mcp HTTP/1.1\n{{std}}" AUTH "Content-Length: 1800\n\n");
    assert_true(mcp_http_wants_input(w.c));
    wire_bytes(&w, body, sizeof(body));
    assert_true(mcp_http_wants_input(w.c));
    wire_bytes(&w, body, sizeof(body));
    assert_false(mcp_http_wants_input(w.c));
    accept_as(&r, 0, "alice");
    assert_true(mcp_http_wants_input(w.c));
    wire_bytes(&w, body, sizeof(body));
    wire_expect(&w, "HTTP/1.1 400 ~");
    end(&r, &w);
}

static void test_expect_continue(void **state)
{
    rig r;
    wire w;
    (void)state;
    begin(&r, &w, (mcp_http_options){0});
    wire_send(&w, "POST /mcp HTTP/1.1\n{{std}}Expect: 100-continue\nContent-Length: 5\n\n");
    wire_expect(&w, "");
    accept_as(&r, 0, "alice");
    wire_expect(&w, "HTTP/1.1 100 Continue\n\n");
    wire_end(&w);
    wire_open(&w, &r);
    wire_send(&w, "POST /mcp HTTP/1.1\n{{std}}Expect: 100-continue\nContent-Length: 5\n\n");
    mcp_http_login_refuse(desk.open[1], NULL);
    tick(&r);
    wire_expect(&w, "HTTP/1.1 401 ~Connection: close\n~");
    assert_int_equal(w.closed, 1 + MCP_HTTP_SHUTDOWN);
    end(&r, &w);
}

/* ---- never ---------------------------------------------------------------------------------- */

static void test_time_out(void **state)
{
    rig r;
    wire w;
    (void)state;
    begin(&r, &w, (mcp_http_options){.login_ms = 2000});
    wire_send(&w, TOOLS);
    rig_pass(&r, 1999);
    wire_expect(&w, "");
    rig_pass(&r, 1);
    wire_expect(&w, "HTTP/1.1 503 Service Unavailable\n~Retry-After: 1\n~within 2000 ms "
                    "(login_ms)~");
    assert_int_equal(desk.cancelled, 1);
    assert_null(desk.open[0]);
    end(&r, &w);
    assert_int_equal(desk.cancelled, 1);
}

static void test_closed(void **state)
{
    rig r;
    wire w;
    (void)state;
    begin(&r, &w, (mcp_http_options){0});
    wire_send(&w, TOOLS);
    wire_end(&w);
    assert_int_equal(desk.cancelled, 1);
    /* only the sending direction is closed: the request is still answered if the login ends soon */
    wire_open(&w, &r);
    wire_send(&w, TOOLS);
    mcp_http_receive_end(w.c, r.now);
    assert_int_equal(w.closed, 0);
    accept_as(&r, 1, "alice");
    wire_expect(&w, "HTTP/1.1 200 OK\n~\"id\":7~");
    assert_int_equal(w.closed, 1 + MCP_HTTP_CLOSE);
    wire_end(&w);
    wire_open(&w, &r);
    wire_send(&w, TOOLS);
    mcp_http_receive_end(w.c, r.now);
    rig_pass(&r, 1000);
    wire_expect(&w, "");
    assert_int_equal(w.closed, 1 + MCP_HTTP_CLOSE);
    assert_int_equal(desk.cancelled, 2);
    wire_end(&w);
    /* the same for a request that waits behind another one */
    wire_open(&w, &r);
    wire_send(&w, PENDING);
    accept_as(&r, 3, "alice");
    wire_send(&w, TOOLS);
    mcp_http_receive_end(w.c, r.now);
    fixture_finish(r.fixture, 0);
    rig_pass(&r, 0);
    assert_int_equal(w.closed, 0);
    accept_as(&r, 4, "alice");
    wire_expect(&w, "HTTP/1.1 200 OK\n~later~HTTP/1.1 200 OK\n~\"id\":7~");
    assert_int_equal(w.closed, 1 + MCP_HTTP_CLOSE);
    wire_end(&w);
    /* an incomplete request can no longer be completed */
    wire_open(&w, &r);
    wire_send(&w, "POST /mcp HTTP/1.1\n{{std}}Content-Length: 9\n\n");
    mcp_http_receive_end(w.c, r.now);
    accept_as(&r, 5, "alice");
    assert_int_equal(w.closed, 1 + MCP_HTTP_CLOSE);
    end(&r, &w);
}

static void test_answered_twice(void **state)
{
    rig r;
    wire w;
    (void)state;
    begin(&r, &w, (mcp_http_options){0});
    wire_send(&w, TOOLS);
    login_accept(desk.open[0], MCP_OPTIONS(mcp_identity_options, .principal = "alice"));
    mcp_http_login_refuse(desk.open[0], NULL);
    tick(&r);
    wire_expect(&w, "HTTP/1.1 200 OK\n~");
    end(&r, &w);
}

/* The connection is lost between the answer and the tick. */
static void test_lost_after_answer(void **state)
{
    rig r;
    wire w;
    (void)state;
    begin(&r, &w, (mcp_http_options){0});
    wire_send(&w, TOOLS);
    login_accept(desk.open[0], MCP_OPTIONS(mcp_identity_options, .principal = "alice"));
    end(&r, &w);
    assert_int_equal(desk.cancelled, 0);
}

static void test_drain_and_cut(void **state)
{
    rig r;
    wire w;
    (void)state;
    begin(&r, &w, (mcp_http_options){0});
    wire_send(&w, TOOLS);
    mcp_http_drain(r.http, r.now);
    assert_int_equal(w.closed, 0);
    mcp_http_cut(r.http, r.now);
    assert_int_equal(w.closed, 1 + MCP_HTTP_CLOSE);
    assert_int_equal(desk.cancelled, 1);
    end(&r, &w);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static const char *const two_challenges[] = {"Bearer error=\"invalid_token\"",
                                             "DPoP algs=\"ES256\""};
static const char *const split_challenge[] = {"Bearer\r\nX: y", NULL, "Basic"};

static const struct {
    mcp_http_denial denial;
    const char *nonce, *expected, *missing;
} denials[] = {
    {{0},
     NULL,
     "HTTP/1.1 401 Unauthorized\n~WWW-Authenticate: Bearer\n~\"id\":7~valid token~",
     NULL},
    {{.status = 200}, NULL, "HTTP/1.1 401 ~", NULL},
    {{.status = 401, .challenges = two_challenges, .n_challenges = 2},
     "n1",
     "HTTP/1.1 401 ~DPoP-Nonce: n1\n~WWW-Authenticate: Bearer error=\"invalid_token\"\n"
     "WWW-Authenticate: DPoP algs=\"ES256\"\n~",
     "Bearer\n"},
    {{.status = 401, .challenges = split_challenge, .n_challenges = 3},
     NULL,
     "HTTP/1.1 401 ~WWW-Authenticate: Basic\n~",
     "X: y"},
    {{.status = 401, .message = "no"},
     NULL,
     "~WWW-Authenticate: Bearer\n~\"message\":\"no\"~",
     NULL},
    {{.status = 400, .challenges = two_challenges, .n_challenges = 1},
     NULL,
     "HTTP/1.1 400 Bad Request\n~WWW-Authenticate: Bearer error~\"id\":7~malformed~",
     NULL},
    {{.status = 403}, NULL, "HTTP/1.1 403 Forbidden\n~\"id\":7~", "WWW-Authenticate"},
    {{.status = 429, .retry_after_s = 30},
     NULL,
     "HTTP/1.1 429 ~Retry-After: 30\n~",
     "Retry-After: 1\n"},
    {{.status = 503}, NULL, "HTTP/1.1 503 ~Retry-After: 1\n~", "WWW-Authenticate"},
    {{.status = 503, .retry_after_s = 5, .message = "keys"},
     NULL,
     "HTTP/1.1 503 ~Retry-After: 5\n~-32603~\"keys\"~",
     "Retry-After: 1\n"},
};

static void check_denial(size_t i)
{
    rig r;
    wire w;
    begin(&r, &w, (mcp_http_options){0});
    wire_send(&w, TOOLS);
    mcp_http_denial d = denials[i].denial;
    d.size = sizeof(d);
    if (denials[i].nonce)
        assert_int_equal(mcp_http_login_set_nonce(desk.open[0], denials[i].nonce), MCP_OK);
    mcp_http_login_refuse(desk.open[0], &d);
    tick(&r);
    wire_expect(&w, denials[i].expected);
    if (denials[i].missing)
        assert_null(strstr(wire_text(&w), denials[i].missing));
    assert_int_equal(w.closed, 0);
    /* the denial has no effect on the next request */
    wire_clear(&w);
    wire_send(&w, TOOLS);
    mcp_http_login_refuse(desk.open[1], NULL);
    tick(&r);
    wire_expect(&w, denials[0].expected);
    assert_null(strstr(wire_text(&w), "DPoP"));
    end(&r, &w);
}

static void test_denials(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(denials); i++)
        check_denial(i);
}

static void test_nonce_on_success(void **state)
{
    rig r;
    wire w;
    (void)state;
    begin(&r, &w, (mcp_http_options){0});
    wire_send(&w, TOOLS);
    assert_int_equal(mcp_http_login_set_nonce(desk.open[0], "a b"), MCP_EINVAL);
    assert_int_equal(mcp_http_login_set_nonce(desk.open[0], "a\nb"), MCP_EINVAL);
    assert_int_equal(mcp_http_login_set_nonce(desk.open[0], ""), MCP_EINVAL);
    assert_int_equal(mcp_http_login_set_nonce(desk.open[0], "one"), MCP_OK);
    assert_int_equal(mcp_http_login_set_nonce(desk.open[0], "two"), MCP_OK);
    accept_as(&r, 0, "alice");
    wire_expect(&w, "HTTP/1.1 200 OK\nDPoP-Nonce: two\n~\"id\":7~");
    end(&r, &w);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void deny(mcp_http_login *login, void *user)
{
    (void)user;
    mcp_http_login_set_nonce(login, "n");
    mcp_http_login_refuse(login, MCP_OPTIONS(mcp_http_denial, .challenges = two_challenges,
                                             .n_challenges = 2, .message = "no"));
}

/* Whichever allocation fails, a request is accepted only if the program accepts it. */
static void test_no_memory(void **state)
{
    static const char *const headers[] = {"DPoP"};
    (void)state;
    for (int accepts = 0; accepts < 2; accepts++) {
        for (size_t n = 1;; n++) {
            rig r;
            wire w = {0};
            mcp_http_options o = {.authenticate = accepts ? login_by_name : deny,
                                  .public_url = "https://x.example",
                                  .login_headers = headers,
                                  .n_login_headers = 1};
            if (rig_begin_with(&r, &o, n) == MCP_OK && wire_open_from(&w, &r, "peer") == MCP_OK) {
                wire_send(&w, TOOLS);
                assert_true(accepts || !strstr(wire_text(&w), "200 OK"));
                assert_true(accepts || !strstr(wire_text(&w), "tools"));
            }
            if (w.c)
                wire_end(&w);
            bool done = r.memory.calls < n;
            rig_end(&r);
            if (done)
                break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_question),
        cmocka_unit_test(test_bad_urls),
        cmocka_unit_test(test_later),
        cmocka_unit_test(test_later_without_body),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_pipelined),
        cmocka_unit_test(test_long_body),
        cmocka_unit_test(test_expect_continue),
        cmocka_unit_test(test_time_out),
        cmocka_unit_test(test_closed),
        cmocka_unit_test(test_answered_twice),
        cmocka_unit_test(test_lost_after_answer),
        cmocka_unit_test(test_drain_and_cut),
        cmocka_unit_test(test_denials),
        cmocka_unit_test(test_nonce_on_success),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
