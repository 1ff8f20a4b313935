/* Messages that a client's HTTP transport sends again, because the server refused them for now. */
#define _GNU_SOURCE
#include "http_client_rig.h"

static unsigned refusals, waits; /* how many requests are refused first; calls of the option */
static const char *answer = ANSWER(1);

static void refuse_first(script_connection *c, const script_request *r)
{
    const fixture *f = c->script->user;

    (void)r;
    if (f->server.n_requests <= refusals)
        script_reply(c, f->status, f->headers, f->text);
    else
        script_json(c, answer);
}

static void on_wait(int status, uint64_t ms, void *user)
{
    (void)user;
    assert_true(status == 429 || status == 503);
    assert_true(ms > 0);
    waits++;
}

static void run(fixture *f, engine_message m, unsigned n, const char *status, const char *headers)
{
    refusals = n;
    waits = 0;
    open_fixture(f, refuse_first, (mcp_http_client_options){.waits = on_wait});
    f->status = status;
    f->headers = headers;
    f->text = "busy";
    engine_send(&f->client, m);
    wait_for_ends(f);
}

static void test_repeated(void **state)
{
    static const struct {
        const char *status, *headers;
    } cases[] = {
        {"503 x", "Retry-After: 0"},
        {"429 x", "retry-after:0"},
        {"503 x", "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT"},
        {"503 x", "Retry-After: Sunday, 06-Nov-94 08:49:37 GMT"},
        {"429 x", "Retry-After: Sun Nov  6 08:49:37 1994"},
        {"429 x", "Content-Type: application/json\r\nRetry-After: 0"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        /* The refusal means that a tool was not called, so that does not matter. */
        run(&f, ENGINE_REQUEST(1, .modern = i % 2 == 0, .once = i < 2, .timeout_ms = 30000), 2,
            cases[i].status, cases[i].headers);
        expect(&f, "got 1 " ANSWER(1) "\n");
        assert_int_equal(f.server.n_requests, 3);
        assert_int_equal(waits, 2);
        assert_string_equal(request(&f, 2)->body, request(&f, 0)->body);
        close_fixture(&f);
    }
}

static void test_handshake(void **state)
{
    fixture f;

    (void)state;
    run(&f, handshake(1), 1, "503 x", "Retry-After: 0");
    expect(&f, "got 1 " ANSWER(1) "\n");
    assert_int_equal(f.server.n_requests, 2);
    close_fixture(&f);
}

static bool three_requests(fixture *f)
{
    return f->server.n_requests == 3;
}

static void test_notification(void **state)
{
    fixture f;
    engine_message m = {.output = {.kind = MCP_OUTPUT_NOTIFICATION, .method = {"n", 1}},
                        .text = "{\"method\":\"n\"}"};

    (void)state;
    run(&f, m, 2, "503 x", "Retry-After: 0");
    assert_true(run_until(&f, three_requests));
    close_fixture(&f);
}

static void test_not_repeated(void **state)
{
#define REFUSED(status, reason) "text=the server answered with HTTP status " #status " (" reason ")"
#define UNAVAILABLE             REFUSED(503, "Service Unavailable")
    static const char ping[] = "ping", listen[] = "subscriptions/listen";
    static const struct {
        const char *status, *headers, *method;
        uint64_t timeout_ms;
        size_t n_requests;
        const char *log;
    } cases[] = {
        {"503 x", "X: y", "", 0, 1, "end 1 503 " UNAVAILABLE " body=busy\n"},
        {"503 x", "Retry-After: soon", "", 0, 1, "end 1 503 " UNAVAILABLE " body=busy\n"},
        {"500 x", "Retry-After: 0", "", 0, 1,
         "end 1 500 retry=1 " REFUSED(500, "Internal Server Error") " body=busy\n"},
        {"503 x", "Retry-After: 61", "", 0, 1,
         "end 1 503 retry=61000 " UNAVAILABLE "; it asks to try again in 61 s body=busy\n"},
        {"503 x", "Retry-After: Fri, 31 Dec 2399 23:59:59 GMT", "", 0, 1,
         "end 1 503 retry=86400000 " UNAVAILABLE "; it asks to try again in 86400 s body=busy\n"},
        {"503 x", "Retry-After: 7", "", 7000, 1,
         "end 1 503 retry=7000 " UNAVAILABLE "; it asks to try again in 7 s body=busy\n"},
        {"503 x", "Retry-After: 0", "", 0, 4,
         "end 1 503 retry=1 " UNAVAILABLE ", also when it was asked again 3 times body=busy\n"},
        {"503 x", "Retry-After: 0", ping, 0, 1, "end 1 503 retry=1 " UNAVAILABLE " body=busy\n"},
        {"503 x", "Retry-After: 0", listen, 0, 1, "end 1 503 retry=1 " UNAVAILABLE " body=busy\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture f;
        run(&f,
            ENGINE_REQUEST(1, .timeout_ms = cases[i].timeout_ms,
                           .method = {cases[i].method, strlen(cases[i].method)}),
            10, cases[i].status, cases[i].headers);
        expect(&f, cases[i].log);
        assert_int_equal(f.server.n_requests, cases[i].n_requests);
        assert_int_equal(waits, cases[i].n_requests - 1);
        close_fixture(&f);
    }
}

static bool is_waiting(fixture *f)
{
    (void)f;
    return waits == 1;
}

/* A call that is given up meanwhile is not sent again, and closing does not wait for the pause. */
static void test_abandoned(void **state)
{
    (void)state;
    for (int close = 0; close < 2; close++) {
        fixture f;
        refusals = 10;
        waits = 0;
        open_fixture(&f, refuse_first, (mcp_http_client_options){.waits = on_wait});
        f.status = "503 x";
        f.headers = close ? "Retry-After: 60" : "Retry-After: 0";
        f.text = "busy";
        engine_send(&f.client, ENGINE_REQUEST(1));
        assert_true(run_until(&f, is_waiting));
        if (!close) { /* the pause of the second call ends later */
            engine_abandon(&f.client, 1);
            answer = ANSWER(2);
            refusals = 2;
            engine_send(&f.client, ENGINE_REQUEST(2));
            wait_for_ends(&f);
            expect(&f, "got 2 " ANSWER(2) "\n");
            assert_int_equal(f.server.n_requests, 3);
            answer = ANSWER(1);
        }
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeated),     cmocka_unit_test(test_handshake),
        cmocka_unit_test(test_notification), cmocka_unit_test(test_not_repeated),
        cmocka_unit_test(test_abandoned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
