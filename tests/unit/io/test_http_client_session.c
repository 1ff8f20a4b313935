/* Features of older revisions: sessions, the stream for the server's own messages, HTTP+SSE of
 * 2024-11-05. */
#define _GNU_SOURCE
#include "http_client_rig.h"

/* ---- sessions -------------------------------------------------------------------------------- */

static bool has_get(fixture *f)
{
    for (size_t i = 0; i < f->server.n_requests; i++) {
        if (f->server.requests[i].method[0] == 'G')
            return true;
    }
    return false;
}

static void open_session(fixture *f, const char *stream, mcp_http_client_options o)
{
    open_fixture(f, answer_legacy, o);
    f->text = stream;
    engine_send(&f->client, handshake(1));
    wait_for_ends(f);
    expect(f, "got 1 " ANSWER(1) "\n");
    f->client.version = "2025-11-25";
    engine_send(&f->client, initialized());
}

static void test_session(void **state)
{
    fixture f;

    (void)state;
    open_session(&f, SCRIPT_STREAM ":\n", (mcp_http_client_options){0});
    assert_false(script_has(request(&f, 0), "Mcp-Session-Id"));
    assert_true(run_until(&f, has_get));
    expect_header(&f, 1, "Mcp-Session-Id", "s1");
    expect_header(&f, 1, "MCP-Protocol-Version", "2025-11-25");
    assert_string_equal(request(&f, 1)->method, "POST");
    assert_string_equal(request(&f, 2)->method, "GET");
    expect_header(&f, 2, "Mcp-Session-Id", "s1");
    expect_header(&f, 2, "MCP-Protocol-Version", "2025-11-25");
    assert_false(script_has(request(&f, 2), "Last-Event-ID"));
    /* Messages on the stream belong to no exchange. */
    script_write(f.server.connections[request(&f, 2)->connection - 1],
                 "data: {\"method\":\"hi\"}\n\n");
    engine_send(&f.client, ENGINE_REQUEST(2));
    wait_for_ends(&f);
    run_for(&f, 20);
    assert_non_null(strstr(f.client.log, "got 0 {\"method\":\"hi\"}\n"));
    expect_header(&f, 3, "Mcp-Session-Id", "s1"); /* only a handshake changes it */
    engine_message modern = ENGINE_REQUEST(5, .modern = true);
    engine_send(&f.client, modern);
    wait_for_ends(&f);
    assert_false(script_has(request(&f, 4), "Mcp-Session-Id"));
    /* A new handshake discards the session id and closes the stream. */
    engine_send(&f.client, handshake(3));
    wait_for_ends(&f);
    assert_false(script_has(request(&f, 5), "Mcp-Session-Id"));
    run_for(&f, 20);
    assert_int_equal(f.server.n_aborted, 1);
    engine_send(&f.client, ENGINE_REQUEST(4));
    wait_for_ends(&f);
    expect_header(&f, 6, "Mcp-Session-Id", "s6");
    size_t before = f.server.n_requests;
    close_fixture(&f);
    assert_int_equal(f.server.n_requests, before + 1);
    assert_string_equal(request(&f, before)->method, "DELETE");
    expect_header(&f, before, "Mcp-Session-Id", "s6");
    expect_header(&f, before, "MCP-Protocol-Version", "2025-11-25");
}

static void session_lost(script_connection *c, const script_request *r)
{
    if (strstr(r->body, "\"id\":2"))
        script_reply(c, "404 Not Found", NULL, "");
    else
        answer_legacy(c, r);
}

static void test_session_lost(void **state)
{
    fixture f;

    (void)state;
    open_session(&f, "", (mcp_http_client_options){.no_stream = true});
    f.server.handle = session_lost;
    engine_send(&f.client, ENGINE_REQUEST(2));
    wait_for_ends(&f);
    expect(&f, "end 2 404 session text=the server answered with HTTP status 404 (Not Found)\n");
    assert_false(has_get(&f));
    close_fixture(&f);
}

/* A message that was sent just before closing is not lost, because the server may wait for it. */
static void test_last_words(void **state)
{
    fixture f;

    (void)state;
    open_session(&f, "", (mcp_http_client_options){0});
    size_t before = f.server.n_requests;
    close_fixture(&f); /* nothing ran since notifications/initialized was sent */
    assert_int_equal(f.server.n_requests, before + 2);
    assert_string_equal(request(&f, before)->method, "POST");
    assert_string_equal(request(&f, before)->body, initialized().text);
    expect_header(&f, before, "Mcp-Session-Id", "s1");
    assert_string_equal(request(&f, before + 1)->method, "DELETE");
    assert_false(has_get(&f));
}

static void test_last_words_in_vain(void **state)
{
    fixture f;

    (void)state;
    open_session(&f, "", (mcp_http_client_options){.no_stream = true, .close_ms = 50});
    f.server.handle = silence;
    int64_t begin = mcp_loop_now(f.loop);
    close_fixture(&f);
    assert_true(mcp_loop_now(f.loop) - begin < 2000);
}

static void test_delete_in_vain(void **state)
{
    fixture f;

    (void)state;
    open_session(&f, "", (mcp_http_client_options){.no_stream = true, .close_ms = 50});
    run_for(&f, 20);
    f.server.handle = silence;
    int64_t begin = mcp_loop_now(f.loop);
    close_fixture(&f);
    assert_true(mcp_loop_now(f.loop) - begin < 2000);
    assert_string_equal(request(&f, f.server.n_requests - 1)->method, "DELETE");
}

/* The client is freed at once, and the loop ends its session. */
static void leave(fixture *f)
{
    size_t before = f->server.n_requests;
    mcp_http_client_leave(f->http);
    f->http = NULL;
    assert_false(f->client.connected);
    assert_int_equal(f->server.n_requests, before);
}

static void test_leave(void **state)
{
    fixture f;

    (void)state;
    open_session(&f, SCRIPT_STREAM ":\n", (mcp_http_client_options){0});
    assert_true(run_until(&f, has_get));
    leave(&f);
    assert_int_equal(mcp_loop_drain(f.loop, 10000), MCP_OK);
    size_t last = f.server.n_requests - 1;
    assert_string_equal(request(&f, last)->method, "DELETE");
    expect_header(&f, last, "Mcp-Session-Id", "s1");
    expect_header(&f, last, "MCP-Protocol-Version", "2025-11-25");
    close_fixture(&f);
}

/* If the server does not answer, mcp_loop_drain() waits for close_ms. Freeing the loop does not
 * wait. */
static void test_leave_in_vain(void **state)
{
    fixture f;

    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        open_session(&f, "", (mcp_http_client_options){.no_stream = true, .close_ms = 50});
        run_for(&f, 20);
        f.server.handle = silence;
        leave(&f);
        int64_t begin = mcp_loop_now(f.loop);
        if (waits) {
            assert_int_equal(mcp_loop_drain(f.loop, 20000), MCP_OK);
            assert_true(mcp_loop_now(f.loop) - begin < 15000);
        }
        close_fixture(&f);
    }
}

/* Without a session, no request is sent. */
static void test_leave_nothing(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, answer_legacy, (mcp_http_client_options){0});
    leave(&f);
    assert_int_equal(mcp_loop_drain(f.loop, 10000), MCP_OK);
    assert_int_equal(f.server.n_requests, 0);
    close_fixture(&f);
}

static bool four_requests(fixture *f)
{
    return f->server.n_requests >= 4;
}

/* The GET for the stream: when it is repeated, and when not. */
static void test_stream(void **state)
{
    static const struct {
        const char *text;
        bool again;
        const char *last_id;
    } cases[] = {
        {"HTTP/1.1 405 x\r\nContent-Length: 0\r\n\r\n", false, NULL},
        {"HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n", false, NULL},
        {"HTTP/1.1 400 x\r\nContent-Length: 0\r\n\r\n", false, NULL},
        {"HTTP/1.1 200 x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", false,
         NULL},
        {"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n", true, ""},
        {SCRIPT_STREAM "data: {\"method\":\"a\"}\n\n", true, ""},
        {SCRIPT_STREAM "id: 7-1\ndata: {\"method\":\"a\"}\n\n", true, "7-1"},
        {SCRIPT_STREAM "id: 7-1\n\nid: 7-2\n", true, "7-1"},
        {SCRIPT_STREAM "retry: 0\ndata: {\"method\":\"a\"}\n\n", true, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        open_session(&f, cases[i].text, (mcp_http_client_options){.retry_ms = 30});
        run_for(&f, 150);
        assert_true(!cases[i].again || run_until(&f, four_requests));
        size_t gets = f.server.n_requests - 2;
        assert_true(cases[i].again ? gets >= 2 : gets == 1);
        if (cases[i].again)
            expect_header(&f, 3, "Last-Event-ID", cases[i].last_id);
        assert_true(gets < 5); /* no storm */
        /* Only a rejection is reported. */
        bool refused = strncmp(cases[i].text, "HTTP/1.1 4", 10) == 0;
        assert_true(refused == (strstr(f.client.log, "end 0 40") != NULL));
        assert_true(refused || !strstr(f.client.log, "end"));
        close_fixture(&f);
    }
}

static void open_once(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;
    const bool first = r->method[0] == 'G' && f->hooked++ == 0;

    if (first)
        f->text = SCRIPT_STREAM ":\n\n";
    else if (r->method[0] == 'G')
        f->text = f->refusal;
    answer_legacy(c, r);
}

/* If a stream existed and the server no longer knows it, the session is lost; many servers answer
 * 400 then. */
static void test_stream_lost(void **state)
{
    static const char *const cases[][2] = {
        {"HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n",
         "end 0 404 session text=the server answered with HTTP status 404 (Not Found)\n"},
        {"HTTP/1.1 400 x\r\nContent-Length: 0\r\n\r\n",
         "end 0 400 session text=the server answered with HTTP status 400 (Bad Request)\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        open_session(&f, "", (mcp_http_client_options){.retry_ms = 20});
        f.refusal = cases[i][0];
        f.server.handle = open_once;
        run_for(&f, 200);
        expect(&f, cases[i][1]);
        assert_int_equal(f.hooked, 2);
        close_fixture(&f);
    }
}

/* ---- HTTP+SSE -------------------------------------------------------------------------------- */

static void old_server(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;

    if (strcmp(r->method, "GET") == 0)
        script_write(c, f->text);
    else if (strcmp(r->path, "/mcp") == 0)
        script_reply(c, "405 Method Not Allowed", NULL, "");
    else
        script_reply(c, f->status ? f->status : "202 Accepted", NULL, "Accepted");
    if (strcmp(r->method, "GET") == 0 && strstr(f->text, "Content-Length"))
        script_end(c);
}

static void fall_back(fixture *f, const char *stream, mcp_http_client_options o)
{
    open_fixture(f, old_server, o);
    f->text = stream;
    f->client.wants_fall_back = true;
    engine_send(&f->client, handshake(1));
    wait_for_ends(f);
    expect(f, "end 1 405 text=the server answered with HTTP status 405 (Method Not Allowed)\n");
    assert_int_equal(f->client.fell_back, !o.no_http_sse);
    engine_send(&f->client, handshake(2));
}

static bool is_gone(fixture *f)
{
    return !f->client.connected;
}

static bool three_requests(fixture *f)
{
    return f->server.n_requests >= 3;
}

static void test_http_sse(void **state)
{
    fixture f;

    (void)state;
    fall_back(&f, SCRIPT_STREAM "event: endpoint\ndata: /messages?id=7\n\n",
              (mcp_http_client_options){0});
    assert_true(run_until(&f, three_requests));
    assert_string_equal(request(&f, 1)->method, "GET");
    assert_string_equal(request(&f, 1)->path, "/mcp");
    expect_header(&f, 1, "Accept", "text/event-stream");
    assert_string_equal(request(&f, 2)->method, "POST");
    assert_string_equal(request(&f, 2)->path, "/messages?id=7");
    run_for(&f, 20);
    expect(&f, ""); /* the response to the POST is empty */
    script_connection *stream = f.server.connections[request(&f, 1)->connection - 1];
    script_write(stream, "event: message\ndata: " ANSWER(2) "\n\n");
    wait_for_ends(&f);
    expect(&f, "got 0 " ANSWER(2) "\n");
    /* A rejected POST is reported, and the connection stays open. */
    f.status = "400 x";
    engine_send(&f.client, ENGINE_REQUEST(3));
    wait_for_ends(&f);
    expect(&f,
           "end 3 400 text=the server answered with HTTP status 400 (Bad Request) body=Accepted\n");
    assert_int_equal(f.ended, 0);
    /* When the stream ends, everything ends. */
    engine_send(&f.client, ENGINE_REQUEST(4));
    script_end(stream);
    assert_true(run_until(&f, is_gone));
    expect_begin(&f, "gone the server ended the event stream");
    assert_int_equal(f.ended, 1);
    close_fixture(&f);
    assert_int_equal(f.ended, 1);
}

static void test_no_http_sse(void **state)
{
    static const struct {
        const char *text, *log;
    } cases[] = {
        {"HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n", "end 2 405 text=neither"},
        {"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n", "end 2 503 text=neither"},
        {"HTTP/1.1 200 x\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n",
         "end 2 405 text=neither"},
        {SCRIPT_STREAM "event: endpoint\ndata: http://other.example/x\n\n",
         "end 2 200 text=neither"},
        {SCRIPT_STREAM "event: endpoint\ndata: file:///etc/passwd\n\n", "end 2 200 text=neither"},
        {SCRIPT_STREAM "data: {}\n\n", "end 2 0 text=neither"}, /* and nothing more */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        fall_back(&f, cases[i].text, (mcp_http_client_options){.connect_ms = 100});
        wait_for_ends(&f);
        expect_begin(&f, cases[i].log);
        assert_true(f.client.connected);
        assert_int_equal(f.ended, 0);
        close_fixture(&f);
    }
    fixture f;
    fall_back(&f, "", (mcp_http_client_options){.no_http_sse = true});
    wait_for_ends(&f);
    expect_begin(&f, "end 2 405");
    close_fixture(&f);
}

static void refusing_server(script_connection *c, const script_request *r)
{
    const fixture *f = c->script->user;

    if (strcmp(r->method, "POST") == 0)
        script_reply(c, f->status, f->headers, f->text);
    else
        script_reply(c, "405 Method Not Allowed", NULL, "");
}

/* Without HTTP+SSE, what counts is how the server refused the handshake. */
static void test_refused_handshake(void **state)
{
    static const struct {
        const char *status, *headers, *text, *log;
    } cases[] = {
        {"200 OK", "Content-Type: text/plain", "{}",
         "end 2 200 text=the server answered with text/plain, which is no answer to this\n"},
        {"200 OK", "Content-Type: text/html", "<p>Log in",
         "end 2 200 text=the server answered with text/html, which is no answer to this\n"},
        {"200 OK", NULL, "{}",
         "end 2 200 text=the server answered with HTTP status 200 and a body without "
         "Content-Type\n"},
        {"400 x", "Content-Type: application/json", "{\"error\":{\"message\":\"off\"}}",
         "end 2 400 text=neither Streamable HTTP nor HTTP+SSE is available there: the server "
         "answered with HTTP status 400 (Bad Request) body={\"error\":{\"message\":\"off\"}}\n"},
        {"404 x", "Content-Type: application/json", "{\"error\":{\"message\":\"no such path\"}}",
         "end 2 404 text=neither Streamable HTTP nor HTTP+SSE is available there: the server "
         "answered with HTTP status 404 (Not Found)\n"},
        {"422 x", NULL, "no", "end 2 422 text=the server answered with HTTP status 422 body=no\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        open_fixture(&f, refusing_server, (mcp_http_client_options){0});
        f.status = cases[i].status;
        f.headers = cases[i].headers;
        f.text = cases[i].text;
        f.client.wants_fall_back = true;
        engine_send(&f.client, handshake(1));
        wait_for_ends(&f);
        expect_begin(&f, "end 1 ");
        engine_send(&f.client, handshake(2));
        wait_for_ends(&f);
        expect(&f, cases[i].log);
        close_fixture(&f);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Each allocation fails in turn: an outcome is always reported, and no memory is leaked. */
static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        fixture f;
        memset(&f, 0, sizeof(f));
        f.text = SCRIPT_STREAM "data: {\"method\":\"a\"}\n\n";
        f.memory.fail_at = 3 + n; /* not the loop's */
        int rc = open_with(&f, answer_legacy, (mcp_http_client_options){.close_ms = 100});
        if (rc == MCP_OK) {
            engine_send(&f.client, handshake(1));
            engine_send(&f.client, ENGINE_REQUEST(2));
            engine_send(&f.client, initialized());
            if (!run_until(&f, nothing_awaited))
                fail_msg("allocation %zu: nothing came:\n%s", n, f.client.log);
            run_for(&f, 5);
            if (n % 2)
                leave(&f);
            close_fixture(&f);
        } else {
            assert_int_equal(rc, MCP_ENOMEM);
            script_free(&f.server, f.loop);
            mcp_loop_free(f.loop);
            assert_int_equal(f.memory.live, 0);
        }
        if (f.memory.calls < 3 + n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_session_lost),
        cmocka_unit_test(test_last_words),
        cmocka_unit_test(test_last_words_in_vain),
        cmocka_unit_test(test_delete_in_vain),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_leave_in_vain),
        cmocka_unit_test(test_leave_nothing),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_stream_lost),
        cmocka_unit_test(test_http_sse),
        cmocka_unit_test(test_no_http_sse),
        cmocka_unit_test(test_refused_handshake),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
