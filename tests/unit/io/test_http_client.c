/* Streamable HTTP and HTTP+SSE as a client's transport speaks them, against a server that does what the test
 * says, and for an engine that writes down what it is told. */
#define _GNU_SOURCE
#include <unistd.h>

#include "base/base.h"
#include "failalloc.h"
#include "fake_engine.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ANSWER(n)    "{\"id\":" #n "," ENGINE_RESULT "}"

typedef struct fixture {
    failalloc memory;
    mcp_loop *loop;
    mcp_client client;
    mcp_http_client *http;
    script server;
    const char *text;   /* of what handlers answer with */
    const char *status; /* and how */
    const char *headers;
    int hooked, ended;
    int hook_rc;
    char token[32];
    char url[128];
} fixture;

typedef void handler(script_connection *c, const script_request *r);

static void on_end(void *user, const char *why)
{
    fixture *f = user;

    assert_true(why && *why);
    f->ended++;
}

static int open_with(fixture *f, handler *handle, mcp_http_client_options o)
{
    mcp_allocator a = failalloc_allocator(&f->memory);

    assert_int_equal(mcp_loop_new(&a, &f->loop, NULL), MCP_OK);
    script_open(&f->server, f->loop, handle, f);
    engine_open(&f->client);
    snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%d/mcp", f->server.port);
    o.size = sizeof(o);
    if (!o.url)
        o.url = f->url;
    o.user = f;
    o.on_end = on_end;
    return mcp_http_connect(f->loop, &f->client, &o, &f->http, NULL);
}

static void open_fixture(fixture *f, handler *handle, mcp_http_client_options o)
{
    memset(f, 0, sizeof(*f));
    assert_int_equal(open_with(f, handle, o), MCP_OK);
}

static void close_fixture(fixture *f)
{
    f->memory.fail_at = 0;
    mcp_http_client_close(f->http);
    assert_false(f->client.connected);
    script_free(&f->server, f->loop);
    mcp_loop_free(f->loop);
    assert_int_equal(f->memory.live, 0);
}

static bool run_until(fixture *f, bool (*is_there)(fixture *f))
{
    int64_t begin = mcp_loop_now(f->loop);

    while (!is_there(f) && mcp_loop_now(f->loop) - begin < 10000)
        mcp_loop_step(f->loop, 20);
    return is_there(f);
}

static void run_for(fixture *f, int64_t ms)
{
    int64_t end = mcp_loop_now(f->loop) + ms;

    while (mcp_loop_now(f->loop) < end)
        mcp_loop_step(f->loop, (uint64_t)(end - mcp_loop_now(f->loop)));
}

static bool nothing_awaited(fixture *f)
{
    for (size_t i = 0; i < ENGINE_MESSAGES; i++) {
        if (f->client.awaited[i])
            return false;
    }
    return f->client.n_sent == f->client.n_queued || !f->client.connected;
}

static void wait_for_ends(fixture *f)
{
    if (!run_until(f, nothing_awaited))
        fail_msg("nothing came:\n%s", f->client.log);
}

static void expect(fixture *f, const char *log)
{
    if (strcmp(f->client.log, log) != 0)
        fail_msg("the log is\n%s\ninstead of\n%s", f->client.log, log);
    f->client.len = 0;
    f->client.log[0] = 0;
}

static void expect_begin(fixture *f, const char *log)
{
    if (strncmp(f->client.log, log, strlen(log)) != 0)
        fail_msg("the log is\n%s\ninstead of\n%s…", f->client.log, log);
    f->client.len = 0;
    f->client.log[0] = 0;
}

static const script_request *request(const fixture *f, size_t i)
{
    assert_true(i < f->server.n_requests);
    return &f->server.requests[i];
}

static void expect_header(const fixture *f, size_t i, const char *name, const char *value)
{
    char room[512];

    assert_string_equal(script_header(request(f, i), name, room), value);
}

static engine_message handshake(mcp_exchange n)
{
    engine_message m = ENGINE_REQUEST(1, .handshake = true);

    m.exchange = n;
    return m;
}

static engine_message initialized(void)
{
    return (engine_message){
        .output = {.kind = MCP_OUTPUT_NOTIFICATION, .method = {"notifications/initialized", 25}},
        .text = "{\"method\":\"notifications/initialized\"}",
        .headers = {"MCP-Protocol-Version", "2025-11-25"}};
}

/* ---- one message ---------------------------------------------------------------------------------------- */

static void answer_text(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;

    (void)r;
    script_reply(c, f->status ? f->status : "200 OK",
                 f->headers ? f->headers : "Content-Type: application/json", f->text);
}

static void test_post(void **state)
{
    fixture f;
    static const char *const headers[] = {"Authorization: Bearer secret", "X-Empty:", NULL};
    engine_message m = ENGINE_REQUEST(1, .modern = true);

    (void)state;
    m.headers[0] = "MCP-Protocol-Version";
    m.headers[1] = "2026-07-28";
    m.headers[2] = "Mcp-Param-Empty";
    m.headers[3] = "";
    open_fixture(&f, answer_text, (mcp_http_client_options){.headers = headers});
    f.text = ANSWER(1);
    f.headers = "Content-Type: application/json\r\nMcp-Session-Id: not-for-the-modern";
    engine_send(&f.client, m);
    wait_for_ends(&f);
    expect(&f, "got 1 " ANSWER(1) "\n");
    assert_string_equal(request(&f, 0)->method, "POST");
    assert_string_equal(request(&f, 0)->path, "/mcp");
    assert_string_equal(request(&f, 0)->body, m.text);
    expect_header(&f, 0, "Content-Type", "application/json");
    expect_header(&f, 0, "Accept", "application/json, text/event-stream");
    expect_header(&f, 0, "MCP-Protocol-Version", "2026-07-28");
    expect_header(&f, 0, "Authorization", "Bearer secret");
    expect_header(&f, 0, "User-Agent", "libmcp/" MCP_VERSION_STRING);
    assert_true(script_has(request(&f, 0), "Mcp-Param-Empty"));
    assert_true(script_has(request(&f, 0), "X-Empty"));
    assert_false(script_has(request(&f, 0), "Mcp-Session-Id"));
    assert_false(script_has(request(&f, 0), "Expect"));
    assert_false(script_has(request(&f, 0), "Cookie"));

    /* Again, and on the same connection. */
    m = ENGINE_REQUEST(2, .modern = true);
    f.text = ANSWER(2);
    engine_send(&f.client, m);
    wait_for_ends(&f);
    assert_false(script_has(request(&f, 1), "Mcp-Session-Id"));
    assert_int_equal(f.server.n_connections, 1);
    close_fixture(&f);
    assert_int_equal(f.server.n_requests, 2); /* no DELETE */
}

/* What is no answer is told with its status. */
static void test_refusals(void **state)
{
    static const struct {
        const char *status, *headers, *text, *log;
    } cases[] = {
        {"400 Bad Request", "Content-Type: application/json", "{\"error\":1}",
         "end 1 400 text=the server answered with HTTP status 400 (Bad Request) "
         "body={\"error\":1}\n"},
        {"404 Not Found", "Content-Type: text/html", "<p>",
         "end 1 404 text=the server answered with HTTP status 404 (Not Found) body=<p>\n"},
        {"405 x", NULL, "",
         "end 1 405 text=the server answered with HTTP status 405 (Method Not Allowed)\n"},
        {"429 x", "Retry-After: 2", "",
         "end 1 429 retry=2000 text=the server answered with HTTP status 429 (Too Many "
         "Requests)\n"},
        {"500 x", "Content-Type: text/event-stream", "data: " ANSWER(1) "\n\n",
         "end 1 500 text=the server answered with HTTP status 500 (Internal Server Error) "
         "body=data: " ANSWER(1) "\n\n\n"},
        {"401 x", "WWW-Authenticate: Bearer", "",
         "end 1 401 text=the server answered with HTTP status 401 (Unauthorized)\n"},
        {"403 x", NULL, "no",
         "end 1 403 text=the server answered with HTTP status 403 (Forbidden) body=no\n"},
        {"200 OK", "Content-Type: text/html", "<p>hello",
         "end 1 200 text=the server answered with text/html, which is no answer to this\n"},
        {"200 OK", "X: y", "",
         "end 1 200 text=the server answered with HTTP status 200 and nothing else\n"},
        {"202 Accepted", "X: y", "",
         "end 1 202 text=the server answered with HTTP status 202 and nothing else\n"},
        {"204 No Content", "X: y", "",
         "end 1 204 text=the server answered with HTTP status 204 and nothing else\n"},
        {"200 OK", "Content-Type: application/json", "{\"id\":7}",
         "got 1 {\"id\":7}\nend 1 200 text=the body of the answer does not answer what was "
         "asked\n"},
        {"200 OK", "Content-Type: application/json; charset=utf-8", ANSWER(1),
         "got 1 " ANSWER(1) "\n"},
        {"304 x", NULL, "", "end 1 304 text=the server answered with HTTP status 304\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        open_fixture(&f, answer_text, (mcp_http_client_options){0});
        f.status = cases[i].status;
        f.headers = cases[i].headers ? cases[i].headers : "X: y";
        f.text = cases[i].text;
        engine_send(&f.client, ENGINE_REQUEST(1));
        wait_for_ends(&f);
        expect(&f, cases[i].log);
        close_fixture(&f);
    }
}

/* ---- the ways of dying ------------------------------------------------------------------------------------ */

static void die(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;

    (void)r;
    script_write(c, f->text);
    script_end(c);
}

static void test_deaths(void **state)
{
    static const char *const cases[] = {
        "",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n" ANSWER(
            1),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\n{\"id\"",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: "
        "chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: "
        "gzip\r\n\r\n" ANSWER(1),
        "SMTP nonsense\r\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        open_fixture(&f, die, (mcp_http_client_options){0});
        f.text = cases[i];
        engine_send(&f.client, ENGINE_REQUEST(1));
        wait_for_ends(&f);
        expect_begin(&f, "end 1 0 text=");
        close_fixture(&f);
    }
}

static void test_nobody_there(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, die, (mcp_http_client_options){.url = "http://127.0.0.1:1/mcp"});
    engine_send(&f.client, ENGINE_REQUEST(1));
    wait_for_ends(&f);
    expect_begin(&f, "end 1 0 text=Failed to connect to 127.0.0.1 port 1");
    close_fixture(&f);
    open_fixture(&f, die, (mcp_http_client_options){.url = "unix:/nowhere/at.all"});
    engine_send(&f.client, ENGINE_REQUEST(1));
    wait_for_ends(&f);
    expect_begin(&f, "end 1 0 text=");
    close_fixture(&f);
}

/* ---- too much ---------------------------------------------------------------------------------------------- */

static void answer_much(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;
    char text[5000];

    (void)r;
    snprintf(text, sizeof(text), ANSWER(1) "%4500d", 1);
    if (strcmp(f->text, "json") == 0) {
        script_json(c, text);
    } else if (strcmp(f->text, "chunked") == 0) {
        script_write(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
        for (int i = 0; i < 100; i++)
            script_write(c, text);
    } else {
        script_write(c, SCRIPT_STREAM "data: ");
        script_write(c, text);
        script_write(c, "\n\n");
        if (strcmp(f->text, "then more") == 0)
            script_write(c, "data: {\"id\":7}\n\n");
        script_end(c);
    }
}

static void test_too_long(void **state)
{
    static const char *const cases[] = {"json", "chunked", "events", "then more"};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        open_fixture(&f, answer_much, (mcp_http_client_options){0});
        f.client.channel.max_message = 4200;
        f.text = cases[i];
        engine_send(&f.client, ENGINE_REQUEST(1, .modern = true));
        wait_for_ends(&f);
        run_for(&f, 20);
        if (i == 3)
            assert_non_null(strstr(f.client.log, "got 1 {\"id\":7}"));
        expect_begin(&f, "long 1 " ANSWER(1));
        assert_int_equal(f.client.head, 4096);
        close_fixture(&f);
    }
}

/* ---- event streams --------------------------------------------------------------------------------------------- */

static const char events[] =
    SCRIPT_STREAM ": hello\r\n\r\nid: 1\r\ndata: {\"method\":\"a\"}\r\n\r\n"
                  "event: message\ndata: {\"method\":\ndata: \"b\"}\n\n"
                  "event: other\ndata: no\n\ndata: " ANSWER(1) "\n\n";

static void answer_events(script_connection *c, const script_request *r)
{
    (void)r;
    script_write(c, events);
    script_end(c);
}

/* Cut at every byte. */
static void test_events(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, answer_events, (mcp_http_client_options){0});
    for (size_t cut = 0; cut < sizeof(events) - 1; cut++) {
        f.server.n_requests = 0;
        f.server.split = cut;
        f.server.n_requests = 0;
        f.client.n_queued = f.client.n_sent = 0;
        engine_send(&f.client, ENGINE_REQUEST(1, .modern = true));
        wait_for_ends(&f);
        expect(&f, "got 1 {\"method\":\"a\"}\ngot 1 {\"method\":\n\"b\"}\ngot 1 " ANSWER(1) "\n");
        assert_int_equal(f.server.n_requests, 1);
        if (f.server.n_connections > SCRIPT_CONNECTIONS - 4) {
            close_fixture(&f);
            open_fixture(&f, answer_events, (mcp_http_client_options){0});
        }
    }
    close_fixture(&f);
}

static void test_chunked_events(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, die, (mcp_http_client_options){0});
    f.text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
             "Transfer-Encoding: chunked\r\n\r\n"
             "1\r\nd\r\n5\r\nata: \r\n17\r\n" ANSWER(1) "\n\n\n\r\n0\r\n\r\n";
    engine_send(&f.client, ENGINE_REQUEST(1, .modern = true));
    wait_for_ends(&f);
    expect(&f, "got 1 " ANSWER(1) "\n");
    close_fixture(&f);
}

/* A modern stream that ends is not resumed. */
static void test_modern_stream_ends(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, die, (mcp_http_client_options){0});
    f.text = SCRIPT_STREAM "id: 1\nretry: 1\ndata: {\"method\":\"a\"}\n\ndata: {\"id\":1";
    engine_send(&f.client, ENGINE_REQUEST(1, .modern = true));
    wait_for_ends(&f);
    expect(&f, "got 1 {\"method\":\"a\"}\n"
               "end 1 200 text=the event stream ended before the answer\n");
    run_for(&f, 60);
    assert_int_equal(f.server.n_requests, 1);
    close_fixture(&f);
}

/* ---- resumed streams ---------------------------------------------------------------------------------------------- */

/* A POST gets half a stream, each GET more of it. */
static void answer_polls(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;
    char last[512], first[128];

    script_header(r, "Last-Event-ID", last);
    snprintf(first, sizeof(first), SCRIPT_STREAM "id: s-1\nretry: %d\ndata:\n\n", f->text ? 5 : 60);
    if (r->method[0] == 'P')
        script_write(c, first);
    else if (f->text)
        script_write(c, f->text);
    else if (strcmp(last, "s-1") == 0)
        script_write(c, SCRIPT_STREAM "id: s-2\nretry: 30\ndata: {\"method\":\"a\"}\n\n");
    else
        script_write(c, SCRIPT_STREAM "id: s-3\ndata: " ANSWER(1) "\n\n");
    script_end(c);
}

static void test_resume(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, answer_polls, (mcp_http_client_options){0});
    f.client.version = "2025-11-25";
    engine_send(&f.client, ENGINE_REQUEST(1));
    wait_for_ends(&f);
    expect(&f, "got 1 {\"method\":\"a\"}\ngot 1 " ANSWER(1) "\n");
    assert_int_equal(f.server.n_requests, 3);
    assert_string_equal(request(&f, 1)->method, "GET");
    expect_header(&f, 1, "Accept", "text/event-stream");
    expect_header(&f, 1, "Last-Event-ID", "s-1");
    expect_header(&f, 1, "MCP-Protocol-Version", "2025-11-25");
    expect_header(&f, 2, "Last-Event-ID", "s-2");
    assert_true(request(&f, 1)->at - request(&f, 0)->at >= 60);
    assert_true(request(&f, 2)->at - request(&f, 1)->at >= 30);
    run_for(&f, 100);
    assert_int_equal(f.server.n_requests, 3); /* the answer came: enough */
    close_fixture(&f);
}

static void test_resume_fails(void **state)
{
    static const struct {
        const char *text, *log;
        size_t gets;
    } cases[] = {
        {"HTTP/1.1 405 x\r\nContent-Length: 0\r\n\r\n",
         "end 1 200 text=the server answered with HTTP status 405 (Method Not Allowed)\n", 1},
        {"HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n",
         "end 1 404 text=the server answered with HTTP status 404 (Not Found)\n", 1},
        {"HTTP/1.1 200 x\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n",
         "end 1 200 text=the server answered with text/html, which is no answer to this\n", 1},
        {"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n",
         "end 1 503 text=the server answered with HTTP status 503 (Service Unavailable)\n", 6},
        {SCRIPT_STREAM, "end 1 200 text=the event stream ended before the answer\n", 6},
        {"", "end 1 200 text=Empty reply from server\n", 6},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        open_fixture(&f, answer_polls, (mcp_http_client_options){.max_retry_ms = 10});
        f.text = cases[i].text;
        engine_send(&f.client, ENGINE_REQUEST(1));
        wait_for_ends(&f);
        expect(&f, cases[i].log);
        assert_int_equal(f.server.n_requests, 1 + cases[i].gets);
        close_fixture(&f);
    }
}

/* Without an id there is nothing to resume. */
static void test_no_id(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, die, (mcp_http_client_options){0});
    f.text = SCRIPT_STREAM "data: {\"method\":\"a\"}\n\n";
    engine_send(&f.client, ENGINE_REQUEST(1));
    wait_for_ends(&f);
    expect(&f, "got 1 {\"method\":\"a\"}\n"
               "end 1 200 text=the event stream ended before the answer\n");
    assert_int_equal(f.server.n_requests, 1);
    close_fixture(&f);
}

static void leave_open(script_connection *c, const script_request *r)
{
    (void)r;
    script_write(c, SCRIPT_STREAM "id: 1\ndata: " ANSWER(1) "\n\n");
}

static bool one_aborted(fixture *f)
{
    return f->server.n_aborted == 1;
}

static void test_server_leaves_open(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, leave_open, (mcp_http_client_options){0});
    engine_send(&f.client, ENGINE_REQUEST(1));
    wait_for_ends(&f);
    assert_true(run_until(&f, one_aborted));
    run_for(&f, 50);
    expect(&f, "got 1 " ANSWER(1) "\n");
    assert_int_equal(f.server.n_requests, 1);
    close_fixture(&f);
}

/* ---- sessions -------------------------------------------------------------------------------------------------------- */

/* A legacy server: answers POSTs, gives sessions, has a stream as `text` says. */
static void answer_legacy(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;
    char head[128];
    int id = 0;

    if (r->method[0] == 'G') {
        script_write(c, f->text);
        if (strstr(f->text, "\n\n"))
            script_end(c);
    } else if (r->method[0] == 'D' || !strstr(r->body, "\"id\"")) {
        script_reply(c, "202 Accepted", NULL, "");
    } else {
        char text[64];
        sscanf(r->body, "{\"id\":%d", &id);
        snprintf(text, sizeof(text), "{\"id\":%d," ENGINE_RESULT "}", id);
        snprintf(head, sizeof(head), "Content-Type: application/json\r\nMcp-Session-Id: s%d",
                 (int)f->server.n_requests);
        script_reply(c, "200 OK", head, text);
    }
}

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
    /* The stream brings messages of no exchange. */
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
    /* A new handshake forgets it, and ends the stream. */
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

/* A DELETE that nobody answers holds nobody up. */
static void silence(script_connection *c, const script_request *r)
{
    (void)c;
    (void)r;
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

/* The GET: when it is asked for again, and when not. */
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
        size_t gets = f.server.n_requests - 2;
        assert_true(cases[i].again ? gets >= 2 : gets == 1);
        if (cases[i].again)
            expect_header(&f, 3, "Last-Event-ID", cases[i].last_id);
        assert_true(gets < 5);                    /* no storm */
        assert_null(strstr(f.client.log, "end")); /* and nobody's business */
        close_fixture(&f);
    }
}

static void open_once(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;
    const bool first = r->method[0] == 'G' && f->hooked++ == 0;

    f->text = first ? SCRIPT_STREAM ":\n\n" : "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n";
    answer_legacy(c, r);
}

/* A session whose stream was there and is not known any more is gone. */
static void test_stream_lost(void **state)
{
    fixture f;

    (void)state;
    open_session(&f, "", (mcp_http_client_options){.retry_ms = 20});
    f.server.handle = open_once;
    run_for(&f, 200);
    expect(&f, "end 0 404 session text=the server answered with HTTP status 404 (Not Found)\n");
    assert_int_equal(f.hooked, 2);
    close_fixture(&f);
}

/* ---- notifications ------------------------------------------------------------------------------------------------------- */

static void test_notification(void **state)
{
    static const char *const answers[] = {
        "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nnull",
        "HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n",
        SCRIPT_STREAM, /* which never says anything */
        "",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(answers); i++) {
        fixture f;
        open_fixture(&f, die, (mcp_http_client_options){0});
        f.text = answers[i];
        engine_send(&f.client,
                    (engine_message){.output = {.kind = MCP_OUTPUT_NOTIFICATION}, .text = "{}"});
        run_for(&f, 30);
        assert_int_equal(f.server.n_requests, 1);
        expect(&f, "");
        close_fixture(&f);
    }
}

/* ---- abandoning, waiting -------------------------------------------------------------------------------------------------- */

static bool one_request(fixture *f)
{
    return f->server.n_requests == 1;
}

static void test_abandon(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, silence, (mcp_http_client_options){0});
    engine_send(&f.client, ENGINE_REQUEST(1));
    assert_true(run_until(&f, one_request));
    engine_abandon(&f.client, 1);
    assert_true(run_until(&f, one_aborted));
    expect(&f, "");
    /* From within its own message. */
    f.server.handle = leave_open;
    f.client.abandon_on_message = 2;
    engine_send(&f.client, ENGINE_REQUEST(2, .modern = true));
    wait_for_ends(&f);
    run_for(&f, 20);
    assert_int_equal(f.server.n_aborted, 2);
    close_fixture(&f);
}

static void send_reply(fixture *f)
{
    static const engine_message reply = {.output = {.kind = MCP_OUTPUT_RESPONSE}, .text = "{}"};

    f->client.sending = &reply;
    f->client.options.send(&f->client.channel, 0, mcp_str_from(reply.text), f->client.options.user);
    f->client.sending = NULL;
}

static void test_max_exchanges(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, silence, (mcp_http_client_options){.max_exchanges = 2});
    for (int i = 1; i <= 3; i++) {
        engine_message m = ENGINE_REQUEST(1);
        m.exchange = (mcp_exchange)i;
        engine_send(&f.client, m);
    }
    run_for(&f, 30);
    assert_int_equal(f.server.n_requests, 2);
    /* The server may be waiting for it before it answers those. */
    send_reply(&f);
    run_for(&f, 30);
    assert_int_equal(f.server.n_requests, 3);
    engine_abandon(&f.client, 1);
    run_for(&f, 30);
    assert_int_equal(f.server.n_requests, 4);
    engine_abandon(&f.client, 3);
    close_fixture(&f); /* with one still open */
}

/* Who asks (pings, say) without end and takes no answers has them dropped, and calls go on. */
static void test_replies_not_taken(void **state)
{
    enum { ASKED = 5000, MOST_BLOCKS = 2000 };
    fixture f;

    (void)state;
    open_fixture(&f, silence, (mcp_http_client_options){.max_exchanges = 2});
    for (int i = 0; i < ASKED; i++)
        send_reply(&f);
    assert_true(f.memory.live < MOST_BLOCKS);
    run_for(&f, 30);
    assert_int_equal(f.server.n_requests, 2);
    assert_true(f.client.connected);
    assert_int_equal(f.ended, 0);
    close_fixture(&f);
}

static bool thirty_requests(fixture *f)
{
    return f->server.n_requests == 30;
}

/* Those that are taken make room for others. */
static void test_replies_taken(void **state)
{
    enum { ROUNDS = 10, EACH = 30 };
    fixture f;

    (void)state;
    open_fixture(&f, answer_text, (mcp_http_client_options){.max_exchanges = 4});
    f.status = "202 Accepted";
    f.text = "";
    for (int round = 0; round < ROUNDS; round++) {
        f.server.n_requests = 0;
        for (int i = 0; i < EACH; i++)
            send_reply(&f);
        assert_true(run_until(&f, thirty_requests));
    }
    run_for(&f, 20);
    close_fixture(&f);
}

/* ---- redirects ---------------------------------------------------------------------------------------------------------------- */

static void redirect(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;
    char line[256];

    if (strcmp(r->path, "/new") == 0) {
        script_json(c, ANSWER(1));
        return;
    }
    snprintf(line, sizeof(line), f->text, f->server.port);
    script_reply(c, f->status, line, "moved");
}

static void test_redirects(void **state)
{
    static const struct {
        const char *status, *location, *log;
    } cases[] = {
        {"307 x", "Location: /new", "got 1 " ANSWER(1) "\n"},
        {"308 x", "Location: http://127.0.0.1:%d/new", "got 1 " ANSWER(1) "\n"},
        {"301 x", "Location: /new", "got 1 " ANSWER(1) "\n"},
        {"302 x", "Location: new", "got 1 " ANSWER(1) "\n"},
        {"303 x", "Location: /new",
         "end 1 0 text=the server redirects a POST to a page (HTTP status 303)\n"},
        {"307 x", "Location: http://localhost:%d/new",
         "end 1 0 text=the server redirects to another origin: http://localhost:"},
        {"307 x", "Location: file:///etc/passwd",
         "end 1 0 text=the server redirects to something that is no http:// or https:// URL\n"},
        {"307 x", "Location: /mcp", "end 1 0 text=the server redirects more than 5 times\n"},
    };
    static const char *const headers[] = {"Authorization: Bearer secret", NULL};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        open_fixture(&f, redirect, (mcp_http_client_options){.headers = headers});
        f.status = cases[i].status;
        f.text = cases[i].location;
        engine_send(&f.client, ENGINE_REQUEST(1));
        wait_for_ends(&f);
        assert_null(strstr(f.client.log, "secret"));
        expect_begin(&f, cases[i].log);
        if (i < 4) {
            assert_int_equal(f.server.n_requests, 2);
            assert_string_equal(request(&f, 1)->method, "POST");
            assert_string_equal(request(&f, 1)->body, request(&f, 0)->body);
            expect_header(&f, 1, "Authorization", "Bearer secret");
        }
        close_fixture(&f);
    }
}

/* ---- authorization --------------------------------------------------------------------------------------------------------------- */

static int add_token(void *user, const char *method, const char *url, mcp_http_add_fn *add,
                     void *arg)
{
    fixture *f = user;

    assert_string_equal(url, f->url);
    assert_true(*method);
    assert_int_equal(add(arg, "Mcp-Session-Id", "x"), MCP_EINVAL);
    assert_int_equal(add(arg, "X", "a\r\nb"), MCP_EINVAL);
    return f->token[0] ? add(arg, "Authorization", f->token) : MCP_OK;
}

static int on_challenge(void *user, const mcp_http_challenge *challenge)
{
    fixture *f = user;

    f->hooked++;
    assert_int_equal(challenge->attempt, f->hooked);
    assert_int_equal(challenge->status, 401);
    assert_string_equal(challenge->url, f->url);
    assert_string_equal(challenge->method, "POST");
    assert_true(mcp_str_eq(challenge->www_authenticate, MCP_STR("Bearer realm=\"x\"")));
    assert_true(mcp_str_eq(challenge->body, MCP_STR("who?")));
    if (f->hook_rc == MCP_OK)
        snprintf(f->token, sizeof(f->token), "Bearer t%d", f->hooked);
    return f->hook_rc;
}

static void want_token(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;
    char value[512];

    if (f->text && strcmp(script_header(r, "Authorization", value), f->text) == 0)
        script_json(c, ANSWER(1));
    else
        script_reply(c, "401 Unauthorized", "WWW-Authenticate: Bearer realm=\"x\"", "who?");
}

static const mcp_http_client_options with_hooks = {.request_headers = add_token,
                                                   .challenge = on_challenge};

static void test_challenge(void **state)
{
    static const struct {
        const char *want;
        int rc, asked;
        const char *log;
    } cases[] = {
        {"Bearer t1", MCP_OK, 1, "got 1 " ANSWER(1) "\n"},
        {"Bearer t3", MCP_OK, 3, "got 1 " ANSWER(1) "\n"},
        {NULL, MCP_OK, 4,
         "end 1 401 text=the server answered with HTTP status 401 (Unauthorized) body=who?\n"},
        {NULL, MCP_EACCESS, 1,
         "end 1 401 text=the server answered with HTTP status 401 (Unauthorized) body=who?\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        open_fixture(&f, want_token, with_hooks);
        f.text = cases[i].want;
        f.hook_rc = cases[i].rc;
        engine_send(&f.client, ENGINE_REQUEST(1));
        wait_for_ends(&f);
        expect(&f, cases[i].log);
        assert_int_equal(f.hooked, cases[i].asked);
        close_fixture(&f);
    }
}

static bool is_hooked(fixture *f)
{
    return f->hooked > 0;
}

static void test_challenge_later(void **state)
{
    (void)state;
    for (int good = 0; good <= 1; good++) {
        fixture f;
        open_fixture(&f, want_token, with_hooks);
        f.text = "Bearer later";
        f.hook_rc = MCP_PENDING;
        engine_send(&f.client, ENGINE_REQUEST(1));
        assert_true(run_until(&f, is_hooked));
        run_for(&f, 20);
        expect(&f, "");
        snprintf(f.token, sizeof(f.token), "Bearer later");
        mcp_http_client_authorized(f.http, good ? MCP_OK : MCP_EACCESS);
        wait_for_ends(&f);
        expect(&f, good ? "got 1 " ANSWER(1) "\n" : "end 1 401 text=access denied body=who?\n");
        close_fixture(&f);
    }
}

/* ---- HTTP+SSE --------------------------------------------------------------------------------------------------------------------- */

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
    expect(&f, ""); /* the POST says nothing */
    script_connection *stream = f.server.connections[request(&f, 1)->connection - 1];
    script_write(stream, "event: message\ndata: " ANSWER(2) "\n\n");
    wait_for_ends(&f);
    expect(&f, "got 0 " ANSWER(2) "\n");
    /* A POST that is refused is told, and the connection stays. */
    f.status = "400 x";
    engine_send(&f.client, ENGINE_REQUEST(3));
    wait_for_ends(&f);
    expect(&f,
           "end 3 400 text=the server answered with HTTP status 400 (Bad Request) body=Accepted\n");
    assert_int_equal(f.ended, 0);
    /* With the stream all ends. */
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
        {"HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n", "end 2 404 text=neither"},
        {"HTTP/1.1 200 x\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n",
         "end 2 200 text=neither"},
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

/* ---- what is refused at once -------------------------------------------------------------------------------------------------------- */

static void test_arguments(void **state)
{
    static const char *const no_colon[] = {"Authorization", NULL};
    static const char *const ours[] = {"Content-Length: 3", NULL};
    static const char *const line_end[] = {"X: a\r\nY: b", NULL};
    static const mcp_http_client_options cases[] = {
        {.url = ""},
        {.url = "example.com/mcp"},
        {.url = "ftp://example.com/"},
        {.url = "http://user:secret@example.com/"},
        {.url = "unix:"},
        {.headers = no_colon},
        {.headers = ours},
        {.headers = line_end},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f = {0};
        assert_int_equal(open_with(&f, silence, cases[i]), MCP_EINVAL);
        script_free(&f.server, f.loop);
        mcp_loop_free(f.loop);
        assert_int_equal(f.memory.live, 0);
    }
    fixture f;
    mcp_http_client *other = NULL;
    open_fixture(&f, silence, (mcp_http_client_options){0});
    assert_int_equal(mcp_http_connect(NULL, &f.client, &(mcp_http_client_options){0}, &other, NULL),
                     MCP_EINVAL);
    assert_int_equal(mcp_http_connect(f.loop, &f.client, NULL, &other, NULL), MCP_EINVAL);
    assert_int_equal(mcp_http_connect(f.loop, &f.client,
                                      MCP_OPTIONS(mcp_http_client_options, .url = f.url), &other,
                                      NULL),
                     MCP_ESTATE);
    mcp_http_client_authorized(NULL, MCP_OK);
    mcp_http_client_close(NULL);
    close_fixture(&f);
}

/* ---- memory --------------------------------------------------------------------------------------------------------------------------- */

/* Each allocation fails in turn: something is always told, and nothing is lost. */
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
        cmocka_unit_test(test_post),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_deaths),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_chunked_events),
        cmocka_unit_test(test_modern_stream_ends),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_resume_fails),
        cmocka_unit_test(test_no_id),
        cmocka_unit_test(test_server_leaves_open),
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_session_lost),
        cmocka_unit_test(test_delete_in_vain),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_stream_lost),
        cmocka_unit_test(test_notification),
        cmocka_unit_test(test_abandon),
        cmocka_unit_test(test_max_exchanges),
        cmocka_unit_test(test_replies_not_taken),
        cmocka_unit_test(test_replies_taken),
        cmocka_unit_test(test_redirects),
        cmocka_unit_test(test_challenge),
        cmocka_unit_test(test_challenge_later),
        cmocka_unit_test(test_http_sse),
        cmocka_unit_test(test_no_http_sse),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
