/* Event streams as answers: whole and in pieces, interrupted and resumed. */
#define _GNU_SOURCE
#include "http_client_rig.h"
#include "support/wait.h"

/* ---- event streams --------------------------------------------------------------------------- */

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

/* Splits the stream at every byte. */
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
               "end 1 200 broke-off text=the event stream ended before the answer\n");
    run_for(&f, 60);
    assert_int_equal(f.server.n_requests, 1);
    close_fixture(&f);
}

/* ---- resumed streams ------------------------------------------------------------------------- */

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
    assert_int_equal(f.server.n_requests, 3); /* the answer has arrived, so no further GET */
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
        {SCRIPT_STREAM, "end 1 200 broke-off text=the event stream ended before the answer\n", 6},
        {"", "end 1 200 broke-off text=Empty reply from server\n", 6},
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

/* A stream without an id cannot be resumed. */
static void test_no_id(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, die, (mcp_http_client_options){0});
    f.text = SCRIPT_STREAM "data: {\"method\":\"a\"}\n\n";
    engine_send(&f.client, ENGINE_REQUEST(1));
    wait_for_ends(&f);
    expect(&f, "got 1 {\"method\":\"a\"}\n"
               "end 1 200 broke-off text=the event stream ended before the answer\n");
    assert_int_equal(f.server.n_requests, 1);
    close_fixture(&f);
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

/* A flood of events, and at its end the answer. */
enum { EVENTS = 10000 };

static void answer_flood(script_connection *c, const script_request *r)
{
    static const char event[] =
        ": 01234567890123456789012345678901234567890123456789012345678901\ndata: 1\n\n";
    static char text[EVENTS * sizeof(event) + 400];
    char *to = text;

    to += sprintf(to, SCRIPT_STREAM);
    for (int i = 0; i < EVENTS; i++)
        to += sprintf(to, "%s", event);
    sprintf(to, "data: %s\n\n", strstr(r->body, "\"id\":1") ? ANSWER(1) : ANSWER(2));
    script_write(c, text);
    script_end(c);
}

/* Returns the number of events in the log, and empties it. */
static size_t take_events(fixture *f)
{
    size_t n = 0;

    for (const char *at = f->client.log; (at = strstr(at, "got ")) != NULL; at++)
        n++;
    f->client.len = 0;
    f->client.log[0] = 0;
    return n;
}

/* Streams with very many events get a share of each turn of the loop, which does not grow with the
 * number of streams. */
static void test_flood_of_events(void **state)
{
    enum { MOST_IN_A_TURN = 1000 };
    fixture f;
    size_t all = 0;

    (void)state;
    open_fixture(&f, answer_flood, (mcp_http_client_options){.max_exchanges = 2});
    engine_send(&f.client, ENGINE_REQUEST(1, .modern = true));
    engine_send(&f.client, ENGINE_REQUEST(2, .modern = true));
    for (int i = 0; i < 10000 && all < 2 * (EVENTS + 1); i++) {
        mcp_loop_step(f.loop, 20);
        size_t n = take_events(&f);
        assert_in_range(n, 0, MOST_IN_A_TURN);
        all += n;
    }
    assert_int_equal(all, 2 * (EVENTS + 1));
    wait_for_ends(&f);
    close_fixture(&f);
}

/* ---- a limit on the rate ---------------------------------------------------------------------------------- */

enum { TOO_MANY = 3000 };

static void answer_too_fast(script_connection *c, const script_request *r)
{
    static char text[TOO_MANY * 32];
    size_t at = (size_t)snprintf(text, sizeof(text), SCRIPT_STREAM);

    (void)r;
    for (int i = 0; i < TOO_MANY; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "event: other\ndata: 1\n\n");
    snprintf(text + at, sizeof(text) - at, "data: " ANSWER(1) "\n\n");
    script_write(c, text);
    script_end(c);
}

static void count_slowed(void *user)
{
    ((fixture *)user)->hooked++;
}

/* A stream with more events than are allowed in a second takes longer, and its answer arrives. */
static void test_too_fast(void **state)
{
    fixture f;

    (void)state;
    for (size_t limit = 2000; limit <= 4000; limit += 2000) {
        open_fixture(
            &f, answer_too_fast,
            (mcp_http_client_options){.messages_per_second = limit, .slowed = count_slowed});
        int64_t began = mcp_loop_now(f.loop);
        engine_send(&f.client, ENGINE_REQUEST(1, .modern = true));
        wait_for_ends(&f);
        expect(&f, "got 1 " ANSWER(1) "\n");
        assert_int_equal(f.hooked, limit < TOO_MANY);
        if (limit < TOO_MANY) /* a third of the events wait for half a second */
            assert_true(mcp_loop_now(f.loop) - began >= 300);
        close_fixture(&f);
    }
}

/* The client is closed while its stream has to wait. */
static void test_too_fast_closed(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, answer_too_fast,
                 (mcp_http_client_options){.messages_per_second = 10, .slowed = count_slowed});
    engine_send(&f.client, ENGINE_REQUEST(1, .modern = true));
    for (int64_t end = wait_end(); !f.hooked && wait_more(end);)
        mcp_loop_step(f.loop, 20);
    assert_int_equal(f.hooked, 1);
    run_for(&f, 50);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_chunked_events),
        cmocka_unit_test(test_modern_stream_ends),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_resume_fails),
        cmocka_unit_test(test_no_id),
        cmocka_unit_test(test_server_leaves_open),
        cmocka_unit_test(test_flood_of_events),
        cmocka_unit_test(test_too_fast),
        cmocka_unit_test(test_too_fast_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
