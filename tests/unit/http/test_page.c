/* Pages: requests for other paths that the program answers itself. */
#include "rig.h"

/* What the last call of page() saw. */
static struct {
    size_t calls;
    char method[8], path[64], body[64], origin[64], extra[64];
} seen;

static void keep(char *to, size_t room, mcp_str text)
{
    snprintf(to, room, "%.*s", (int)text.len, text.len ? text.ptr : "");
}

static void keep_header(char *to, size_t room, const mcp_http_page *page, const char *name)
{
    mcp_str value = {0};
    keep(to, room, mcp_http_page_header(page, name, &value) ? value : MCP_STR("-"));
}

static bool page(const mcp_http_page *page, mcp_http_page_answer *answer, void *user)
{
    (void)user;
    seen.calls++;
    assert_int_equal(page->size, sizeof(*page));
    keep(seen.method, sizeof(seen.method), page->method);
    keep(seen.path, sizeof(seen.path), page->path);
    keep(seen.body, sizeof(seen.body), page->body);
    keep_header(seen.origin, sizeof(seen.origin), page, "Origin");
    keep_header(seen.extra, sizeof(seen.extra), page, "X-Extra");
    answer->type = "text/html; charset=utf-8";
    answer->body = MCP_STR("<p>");
    answer->headers = "X-Frame-Options: DENY\r\nETag: \"1\"\r\n";
    if (mcp_str_eq(page->path, MCP_STR("/same"))) {
        answer->status = 304;
        answer->type = NULL;
        answer->body = (mcp_str){0};
    }
    if (mcp_str_eq(page->path, MCP_STR("/odd")))
        answer->status = 299;
    return !mcp_str_eq(page->path, MCP_STR("/none"));
}

static void refuse(mcp_http_login *login, void *user)
{
    (void)user;
    mcp_http_login_refuse(login, NULL);
}

static const char *const extra[] = {"X-Extra"};
static const mcp_http_options with_page = {
    .page = page, .authenticate = refuse, .login_headers = extra, .n_login_headers = 1};

static void expect(const char *request, const char *expected, size_t calls)
{
    rig r;
    wire w;
    memset(&seen, 0, sizeof(seen));
    rig_begin(&r, &with_page);
    wire_open(&w, &r);
    wire_send(&w, request);
    wire_expect(&w, expected);
    assert_int_equal(seen.calls, calls);
    wire_end(&w);
    rig_end(&r);
}

#define HOST "Host: localhost:8642\n"
#define PAGE                                                                       \
    "Content-Type: text/html; charset=utf-8\nX-Frame-Options: DENY\nETag: \"1\"\n" \
    "Content-Length: 3\n\n"

static void test_get(void **state)
{
    (void)state;
    expect("GET /a/b?c=d HTTP/1.1\n" HOST "Origin: http://localhost:8642\nX-Extra: e\n\n",
           "HTTP/1.1 200 OK\n" PAGE "<p>", 1);
    assert_string_equal(seen.method, "GET");
    assert_string_equal(seen.path, "/a/b");
    assert_string_equal(seen.origin, "http://localhost:8642");
    assert_string_equal(seen.extra, "e");
    expect("HEAD / HTTP/1.1\n" HOST "\n", "HTTP/1.1 200 OK\n" PAGE, 1);
    assert_string_equal(seen.method, "HEAD");
    assert_string_equal(seen.extra, "-");
    expect("GET /same HTTP/1.1\n" HOST "\n",
           "HTTP/1.1 304 Not Modified\nX-Frame-Options: DENY\nETag: \"1\"\n\n", 1);
}

static void test_post(void **state)
{
    (void)state;
    expect("POST /p HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n{\"a\":1}", "HTTP/1.1 200 ~<p>", 1);
    assert_string_equal(seen.method, "POST");
    assert_string_equal(seen.body, "{\"a\":1}");
    /* what a form of another page can send without asking */
    expect("POST /p HTTP/1.1\n" HOST "Content-Type: text/plain\nContent-Length: {{len}}\n\n{}",
           "HTTP/1.1 415 ~", 0);
}

static void test_refused(void **state)
{
    (void)state;
    expect("GET /none HTTP/1.1\n" HOST "\n", "HTTP/1.1 404 ~", 1);
    expect("GET /odd HTTP/1.1\n" HOST "\n", "HTTP/1.1 404 ~", 1);
    expect("PUT / HTTP/1.1\n" HOST "\n", "HTTP/1.1 405 ~Allow: GET, HEAD, POST\n~", 0);
    expect("GET / HTTP/1.1\nHost: evil.example\n\n", "HTTP/1.1 403 ~", 0);
    expect("GET / HTTP/1.1\n" HOST "Origin: https://evil.example\n\n", "HTTP/1.1 403 ~", 0);
    /* the endpoint itself still needs a login, and /healthz is not a page */
    expect("POST /mcp HTTP/1.1\n{{modern tools/list}}Content-Length: {{len}}\n\n{}",
           "HTTP/1.1 401 ~", 0);
    expect("GET /healthz HTTP/1.1\n" HOST "\n", "HTTP/1.1 200 ~ok\n", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_post),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
