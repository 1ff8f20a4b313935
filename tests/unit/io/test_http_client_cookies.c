/* The cookies of a client's HTTP transport: sent back to the server, and to nobody else. */
#define _GNU_SOURCE
#include "http_client_rig.h"
#include "io/http_client/http_client.h"

#define JSON "Content-Type: application/json\r\n"

static void ask(fixture *f, mcp_client *client, const char *headers)
{
    f->headers = headers;
    f->text = ANSWER(1);
    engine_send(client, ENGINE_REQUEST(1, .modern = true));
    wait_for_ends(f);
    mcp_loop_step(f->loop, 0);
}

/* Expects the header Cookie of the latest request; "" means none. */
static void expect_cookie(const fixture *f, const char *value)
{
    expect_header(f, f->server.n_requests - 1, "Cookie", value);
}

static void test_sent_back(void **state)
{
    fixture f;

    (void)state;
    open_fixture(&f, answer_text, (mcp_http_client_options){0});
    ask(&f, &f.client, JSON "Set-Cookie: lb=node1; Path=/; HttpOnly; SameSite=None");
    expect_cookie(&f, "");
    ask(&f, &f.client, JSON "Set-Cookie: lb=node2; Path=/; Max-Age=600");
    expect_cookie(&f, "lb=node1");
    ask(&f, &f.client,
        JSON "Set-Cookie: other=1; Path=/elsewhere\r\nSet-Cookie: x=1; Domain=a.example");
    expect_cookie(&f, "lb=node2");
    ask(&f, &f.client, JSON "Set-Cookie: lb=; Path=/; Max-Age=0");
    expect_cookie(&f, "lb=node2");
    ask(&f, &f.client, "Content-Type: application/json");
    expect_cookie(&f, "");
    close_fixture(&f);
}

/* Clients of a loop use the same handles of libcurl, at the same server, but not the same cookies. */
static void test_of_each_client(void **state)
{
    fixture f;
    mcp_client other;
    mcp_http_client *http;

    (void)state;
    open_fixture(&f, answer_text, (mcp_http_client_options){0});
    engine_open(&other);
    assert_int_equal(mcp_http_client_connect(f.loop, &other,
                                             MCP_OPTIONS(mcp_http_client_options, .url = f.url),
                                             &http, NULL),
                     MCP_OK);
    const mcp__multi *multi = f.loop->multi;
    ask(&f, &f.client, JSON "Set-Cookie: of=first");
    assert_int_equal(multi->n_reusable, 1);
    engine_send(&other, ENGINE_REQUEST(1, .modern = true));
    f.headers = JSON "Set-Cookie: of=second";
    while (!other.len)
        mcp_loop_step(f.loop, 20);
    expect_cookie(&f, "");
    ask(&f, &f.client, "Content-Type: application/json");
    expect_cookie(&f, "of=first");
    assert_int_equal(multi->n_reusable, 1);
    mcp_http_client_close(http);
    ask(&f, &f.client, "Content-Type: application/json");
    expect_cookie(&f, "of=first");
    close_fixture(&f);
}

static void test_own_header(void **state)
{
    static const char *const headers[] = {"cookie: mine=1", NULL};
    fixture f;

    (void)state;
    open_fixture(&f, answer_text, (mcp_http_client_options){.headers = headers});
    ask(&f, &f.client, JSON "Set-Cookie: lb=1");
    ask(&f, &f.client, JSON "Set-Cookie: lb=1");
    expect_cookie(&f, "mine=1");
    assert_null(strcasestr(request(&f, 1)->head, "lb=1"));
    close_fixture(&f);
}

/* A server that sets ever more cookies gets none of them back, instead of using up the memory. */
static void test_too_many(void **state)
{
    fixture f;
    size_t most = 0;

    (void)state;
    open_fixture(&f, answer_text, (mcp_http_client_options){0});
    for (int i = 0; i < 30; i++) {
        char headers[2048] = "Content-Type: application/json";
        for (int k = 0; k < 20; k++)
            snprintf(headers + strlen(headers), sizeof(headers) - strlen(headers),
                     "\r\nSet-Cookie: c%d=1", i * 20 + k);
        ask(&f, &f.client, headers);
        size_t n = 0;
        for (const char *at = request(&f, (size_t)i)->head; (at = strchr(at, '=')) != NULL; at++)
            n++;
        most = n > most ? n : most;
    }
    assert_in_range(most, 60, 100);
    close_fixture(&f);
}

static void test_memory(void **state)
{
    (void)state;
    for (size_t i = 1;; i++) {
        fixture f;
        mcp_client other;
        mcp_http_client *http = NULL;
        open_fixture(&f, answer_text, (mcp_http_client_options){0});
        engine_open(&other);
        f.memory.fail_at = f.memory.calls + i;
        int rc = mcp_http_client_connect(
            f.loop, &other, MCP_OPTIONS(mcp_http_client_options, .url = f.url), &http, NULL);
        f.memory.fail_at = 0;
        if (rc == MCP_OK)
            mcp_http_client_close(http);
        close_fixture(&f);
        if (rc == MCP_OK)
            break;
        assert_int_equal(rc, MCP_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sent_back),  cmocka_unit_test(test_of_each_client),
        cmocka_unit_test(test_own_header), cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
