/* Streamable HTTP in a client's transport: one message and its answer, failures, and the number of
 * concurrent requests. Other files test streams, sessions and authorization. */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "http_client_rig.h"
#include "io/http_client/http_client.h"

/* ---- one message ----------------------------------------------------------------------------- */

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

    /* A second request on the same connection. */
    m = ENGINE_REQUEST(2, .modern = true);
    f.text = ANSWER(2);
    engine_send(&f.client, m);
    wait_for_ends(&f);
    assert_false(script_has(request(&f, 1), "Mcp-Session-Id"));
    assert_int_equal(f.server.n_connections, 1);
    close_fixture(&f);
    assert_int_equal(f.server.n_requests, 2); /* no DELETE */
}

/* The server resets a connection that it has closed, as far as it is concerned, when the next request
 * arrives on it. The request is sent again on another connection. */
static void reset_second(script_connection *c, const script_request *r)
{
    const struct linger reset = {.l_onoff = 1};
    uv_os_fd_t fd;

    if (c->script->n_requests == 2) {
        assert_int_equal(uv_fileno((uv_handle_t *)&c->tcp, &fd), 0);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        script_close(c);
    } else {
        answer_text(c, r);
    }
}

static void test_reset(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, reset_second, (mcp_http_client_options){0});
    f.headers = "Content-Type: application/json";
    f.text = ANSWER(1);
    engine_send(&f.client, ENGINE_REQUEST(1, .modern = true));
    wait_for_ends(&f);
    f.text = ANSWER(2);
    engine_send(&f.client, ENGINE_REQUEST(2, .modern = true));
    wait_for_ends(&f);
    expect(&f, "got 1 " ANSWER(1) "\ngot 2 " ANSWER(2) "\n");
    assert_int_equal(f.server.n_requests, 3);
    assert_int_equal(f.server.n_connections, 2);
    close_fixture(&f);
}

/* A handle of libcurl is used again: with other headers and another body and after refusals, too. */
static void test_reuse(void **state)
{
    fixture f;
    const mcp__multi *multi;

    (void)state;
    open_fixture(&f, answer_text, (mcp_http_client_options){0});
    multi = f.loop->multi;
    f.headers = "Content-Type: application/json";
    for (size_t i = 0; i < 6; i++) {
        engine_message m = ENGINE_REQUEST(1, .modern = true);
        char text[400];

        memset(text, 'a' + (int)i, sizeof(text));
        text[10 + 70 * (i % 3)] = 0;
        m.exchange = i + 1;
        m.text = text;
        m.headers[0] = i % 2 ? "Mcp-Name" : "Mcp-Method";
        m.headers[1] = text;
        f.text = ANSWER(1);
        f.status = i == 3 ? "500 Oh" : NULL;
        engine_send(&f.client, m);
        wait_for_ends(&f);
        assert_string_equal(request(&f, i)->body, text);
        expect_header(&f, i, m.headers[0], text);
        assert_false(script_has(request(&f, i), i % 2 ? "Mcp-Method" : "Mcp-Name"));
        mcp_loop_step(f.loop, 0);
        assert_int_equal(multi->n_reusable, 1);
    }
    assert_int_equal(f.server.n_connections, 1);
    /* Two at once need two handles. */
    f.status = NULL;
    for (size_t i = 0; i < 2; i++)
        engine_send(&f.client, ENGINE_REQUEST(8 + i, .modern = true));
    wait_for_ends(&f);
    mcp_loop_step(f.loop, 0);
    assert_int_equal(multi->n_reusable, 2);
    close_fixture(&f);
}

/* A response that is not an answer is reported with its status. */
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
        {"429 x", "X: y", "",
         "end 1 429 text=the server answered with HTTP status 429 (Too Many Requests)\n"},
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
         "got 1 {\"id\":7}\nend 1 200 text=the body does not contain the answer to the "
         "request\n"},
        {"200 OK", "Content-Type: application/json; charset=utf-8", ANSWER(1),
         "got 1 " ANSWER(1) "\n"},
        {"200 OK", "Content-Type: application/json", "\xEF\xBB\xBF" ANSWER(1),
         "got 1 " ANSWER(1) "\n"},
        {"200 OK", NULL, ANSWER(1),
         "end 1 200 text=the server answered with HTTP status 200 and a body without "
         "Content-Type\n"},
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

/* ---- lost connections ------------------------------------------------------------------------ */

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

static void die_of_second(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;

    if (strstr(r->body, "\"id\":1")) {
        script_json(c, ANSWER(1));
        return;
    }
    f->hooked++;
    script_close(c);
}

/* A reused connection is closed without an answer: a request that may have an effect is not sent
 * again. */
static void test_sent_once(void **state)
{
    (void)state;
    for (int once = 0; once < 2; once++) {
        fixture f;
        open_fixture(&f, die_of_second, (mcp_http_client_options){0});
        engine_send(&f.client, ENGINE_REQUEST(1));
        wait_for_ends(&f);
        expect(&f, "got 1 " ANSWER(1) "\n");
        engine_send(&f.client, ENGINE_REQUEST(2, .once = once));
        wait_for_ends(&f);
        expect_begin(&f, once ? "end 2 0 text=the server ended the connection without an answer; "
                                "the request was not sent again"
                              : "end 2 0 text=Empty reply from server");
        assert_int_equal(f.hooked, once ? 1 : 2);
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

/* ---- too much -------------------------------------------------------------------------------- */

static void answer_much(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;
    char text[5000];

    (void)r;
    snprintf(text, sizeof(text), "{\"result\":{\"x\":\"%04500d\"},\"id\":1,\"y\":{}}", 1);
    if (strcmp(f->text, "json") == 0) {
        script_json(c, text);
    } else if (strcmp(f->text, "announced") == 0) {
        script_write(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                        "Content-Length: 100000000\r\n\r\n");
        script_write(c, text); /* and nothing more, and no end */
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
    static const char *const cases[] = {"json", "chunked", "events", "then more", "announced"};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        open_fixture(&f, answer_much, (mcp_http_client_options){0});
        f.client.channel.max_message = i == 4 ? 1 << 20 : 4200;
        f.text = cases[i];
        engine_send(&f.client, ENGINE_REQUEST(1, .modern = true));
        wait_for_ends(&f);
        run_for(&f, 20);
        if (i == 3)
            assert_non_null(strstr(f.client.log, "got 1 {\"id\":7}"));
        expect_begin(&f, "long 1 {\"id\":1}");
        close_fixture(&f);
    }
}

/* ---- notifications --------------------------------------------------------------------------- */

static void test_notification(void **state)
{
    static const char *const answers[] = {
        "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nnull",
        "HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n",
        SCRIPT_STREAM, /* which sends no event */
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

/* ---- abandoning, waiting --------------------------------------------------------------------- */

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

/* A client that is freed, and not closed, may be released only while the loop closes its handles. */
static void test_free_with_loop(void **state)
{
    (void)state;
    for (int turns = 0; turns < 3; turns++) {
        fixture f;
        open_fixture(&f, silence, (mcp_http_client_options){0});
        engine_send(&f.client, ENGINE_REQUEST(1));
        assert_true(run_until(&f, one_request));
        script_free(&f.server, f.loop);
        mcp_http_client_free(f.http);
        for (int i = 0; i < turns; i++)
            mcp_loop_step(f.loop, 10);
        mcp_loop_free(f.loop);
        assert_int_equal(f.memory.live, 0);
    }
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
    /* The server may need this reply before it answers the others. */
    send_reply(&f);
    run_for(&f, 30);
    assert_int_equal(f.server.n_requests, 3);
    engine_abandon(&f.client, 1);
    run_for(&f, 30);
    assert_int_equal(f.server.n_requests, 4);
    engine_abandon(&f.client, 3);
    close_fixture(&f); /* with one still open */
}

/* If a server sends endless requests, such as pings, and does not read the replies, they are
 * dropped and calls continue. */
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

/* Replies that the server reads make room for others. */
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

/* ---- redirects ------------------------------------------------------------------------------- */

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

/* ---- requests that are rejected at once ------------------------------------------------------ */

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
    assert_int_equal(
        mcp_http_client_connect(NULL, &f.client, &(mcp_http_client_options){0}, &other, NULL),
        MCP_EINVAL);
    assert_int_equal(mcp_http_client_connect(f.loop, &f.client, NULL, &other, NULL), MCP_EINVAL);
    assert_int_equal(mcp_http_client_connect(f.loop, &f.client,
                                             MCP_OPTIONS(mcp_http_client_options, .url = f.url),
                                             &other, NULL),
                     MCP_ESTATE);
    mcp_http_client_authorized(NULL, MCP_OK);
    mcp_http_client_close(NULL);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse),         cmocka_unit_test(test_post),
        cmocka_unit_test(test_reset),         cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_deaths),        cmocka_unit_test(test_sent_once),
        cmocka_unit_test(test_nobody_there),  cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_notification),  cmocka_unit_test(test_abandon),
        cmocka_unit_test(test_max_exchanges), cmocka_unit_test(test_replies_not_taken),
        cmocka_unit_test(test_replies_taken), cmocka_unit_test(test_redirects),
        cmocka_unit_test(test_arguments),     cmocka_unit_test(test_free_with_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
