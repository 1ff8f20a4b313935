/* test_login.c: which addresses mcpctl gives to a browser, how it starts the browser, and the
 * requests that it accepts at the end of a login. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../programs/common/browser.h"
#include "../../programs/mcpctl/callback.h"
#include "support/wait.h"

const mcp_host *__real_mcp_loop_host(mcp_loop *loop);
const mcp_host *__wrap_mcp_loop_host(mcp_loop *loop); /* the linker redirects calls here (--wrap) */

/* ---- the browser ----------------------------------------------------------------------------- */

static void test_addresses(void **state)
{
    static const char *const good[] = {
        "https://id.example/authorize?a=b&c=%20d#e",
        "http://127.0.0.1:8080/authorize",
        "http://localhost/",
        "http://[::1]:9/x",
        "https://xn--bcher-kva.example/",
    };
    static const char *const bad[] = {
        "",
        "-x",
        "--help",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://id.example/",
        "http://127.0.0.1.example/",
        "https://",
        "https:///x",
        "https://a/ b",
        "https://a/\n",
        "https://a/\x01",
        "https://a/\xc3\xa9",
        "https://a/'b",
        "https://a/\"b",
        "https://a/`b`",
        "https://user@a/",
        " https://a/",
        "HTTPS://a/",
        "data:text/html,x",
        "https://a/$(x)|y",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_true(browser_accepts(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_false(browser_accepts(bad[i]));
        assert_false(browser_open(bad[i]));
    }
}

static void test_browser(void **state)
{
    static const char url[] = "https://id.example/a?b=$(touch%20x);c&d";
    char folder[] = "/tmp/mcpctl-browser-XXXXXX", program[64], out[64], command[200], text[512];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(program, sizeof(program), "%s/browser", folder);
    snprintf(out, sizeof(out), "%s/out", folder);
    FILE *f = fopen(program, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\nprintf '<%%s>' \"$@\" >%s.new\nmv %s.new %s\n", out, out, out);
    fclose(f);
    assert_int_equal(chmod(program, 0700), 0);
    static const char *const forms[][2] = {
        {"%s", "<%s>"}, {"%s --new %%s last:other", "<--new><%s><last>"}, {"%s -w", "<-w><%s>"}};
    for (size_t i = 0; i < 3; i++) {
        char expected[256];
        snprintf(command, sizeof(command), forms[i][0], program);
        snprintf(expected, sizeof(expected), forms[i][1], url);
        setenv("BROWSER", command, 1);
        assert_true(browser_exists());
        assert_true(browser_open(url));
        f = NULL;
        for (int64_t end = wait_end(); !(f = fopen(out, "r")) && wait_more(end);)
            usleep(10000);
        assert_non_null(f);
        text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
        fclose(f);
        unlink(out);
        assert_string_equal(text, expected);
    }
    setenv("BROWSER", "/no/such/program", 1);
    assert_false(browser_open(url));
    unsetenv("BROWSER"), unsetenv("DISPLAY"), unsetenv("WAYLAND_DISPLAY");
    assert_false(browser_exists());
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* ---- the callback ---------------------------------------------------------------------------- */

static mcp_loop *loop;
static callback *cb;

/* The host of the loop, except that nothing can be polled, or that time-outs are short. */
static mcp_host host;
static bool no_polls;
static uint64_t longest_timer;

static mcp_host_poll *poll_start(int fd, void (*fn)(void *arg), void *arg, void *user)
{
    return no_polls ? NULL : __real_mcp_loop_host(loop)->poll_start(fd, fn, arg, user);
}

static mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *arg), void *arg, void *user)
{
    if (ms > longest_timer)
        ms = longest_timer;
    return __real_mcp_loop_host(loop)->timer_start(ms, fn, arg, user);
}

const mcp_host *__wrap_mcp_loop_host(mcp_loop *of)
{
    host = *__real_mcp_loop_host(of);
    host.poll_start = poll_start;
    host.timer_start = timer_start;
    return &host;
}

static char got[20000];
static int calls;
static bool accept_it;

static bool on_answer(mcp_str url, void *user)
{
    (void)user;
    calls++;
    snprintf(got, sizeof(got), "%.*s", (int)url.len, url.ptr);
    if (accept_it)
        callback_stop(cb); /* as a client does that needs no other answer */
    return accept_it;
}

static int make(void **state)
{
    mcp_error error;
    (void)state;
    calls = 0, accept_it = true, got[0] = '\0';
    no_polls = false, longest_timer = UINT64_MAX;
    return mcp_loop_new(NULL, &loop, NULL) != MCP_OK ||
           callback_new(loop, NULL, &cb, &error) != MCP_OK;
}

static int clean(void **state)
{
    (void)state;
    callback_free(cb);
    mcp_loop_free(loop);
    return 0;
}

static int port(void)
{
    return atoi(strrchr(callback_url(cb), ':') + 1);
}

/* Connects to the other address of localhost, or returns -1. */
static int visit6(void)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)port()),
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Connects, or returns -1. */
static int visit(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port()),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Returns the answer to a request, which is sent in pieces. */
static const char *ask_at(int fd, const char *request, size_t piece)
{
    static char answer[4096];
    size_t len = strlen(request), at = 0, n = 0;
    assert_true(fd >= 0);
    for (int64_t end = wait_end(); wait_more(end);) {
        size_t now = len - at < piece ? len - at : piece;
        ssize_t sent = now ? send(fd, request + at, now, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
        at += sent > 0 ? (size_t)sent : 0;
        mcp_loop_step(loop, 1);
        ssize_t r = recv(fd, answer + n, sizeof(answer) - 1 - n, MSG_DONTWAIT);
        if (r == 0 || (r < 0 && errno != EAGAIN))
            break;
        n += r > 0 ? (size_t)r : 0;
    }
    close(fd);
    answer[n] = '\0';
    return answer;
}

static const char *ask(const char *request, size_t piece)
{
    return ask_at(visit(), request, piece);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void test_callback(void **state)
{
    char expected[128];
    (void)state;
    int early = visit(); /* waits for a login */
    mcp_loop_step(loop, 20);
    assert_int_equal(calls, 0);
    assert_int_equal(callback_start(cb, on_answer, NULL), MCP_OK);
    const char *page = ask("GET /callback?code=S3CRET&state=b HTTP/1.1\r\nHost: x\r\n\r\n", 1000);
    assert_true(begins(page, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(strstr(page, "Content-Security-Policy: default-src 'none'"));
    assert_non_null(strstr(page, "Cache-Control: no-store"));
    assert_non_null(strstr(page, "Referrer-Policy: no-referrer"));
    assert_null(strstr(page, "S3CRET"));
    assert_null(strstr(page, "script"));
    snprintf(expected, sizeof(expected), "http://127.0.0.1:%d/callback?code=S3CRET&state=b",
             port());
    assert_string_equal(got, expected);
    assert_int_equal(close(early), 0);
    assert_int_equal(callback_start(cb, on_answer, NULL), MCP_OK);
    assert_true(begins(ask("GET /callback?b HTTP/1.0\r\n\r\n", 1), "HTTP/1.1 200"));
    assert_int_equal(calls, 2);
}

static void test_other_requests(void **state)
{
    static const char *const others[] = {
        "GET / HTTP/1.1\r\n\r\n",
        "GET /favicon.ico HTTP/1.1\r\n\r\n",
        "GET /callback HTTP/1.1\r\n\r\n",
        "GET /callbackx?code=a HTTP/1.1\r\n\r\n",
        "GET /callback/?code=a HTTP/1.1\r\n\r\n",
        "GET http://127.0.0.1/callback?code=a HTTP/1.1\r\n\r\n",
        "POST /callback?code=a HTTP/1.1\r\n\r\n",
        "HEAD /callback?code=a HTTP/1.1\r\n\r\n",
        "GET /callback?code=a\x01 HTTP/1.1\r\n\r\n",
        "GET /callback?code=a b HTTP/1.1\r\n\r\n",
        "GET /callback?code=a\r\n\r\n",
        "GET \r\n\r\n",
        "\r\n\r\n",
        "x\r\n\r\n",
    };
    char large[20000];
    (void)state;
    assert_int_equal(callback_start(cb, on_answer, NULL), MCP_OK);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_true(begins(ask(others[i], 1000), "HTTP/1.1 404 Not Found\r\n"));
    memset(large, 'a', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    assert_string_equal(ask(large, 1000), ""); /* without an end */
    accept_it = false;
    assert_true(begins(ask("GET /callback?no HTTP/1.1\r\n\r\n", 1000), "HTTP/1.1 400 "));
    assert_int_equal(calls, 1);
    accept_it = true;
    assert_true(begins(ask("GET /callback?yes HTTP/1.1\r\n\r\n", 1000), "HTTP/1.1 200 "));
}

/* Visitors who say nothing do not keep others out. */
static void test_silent_visitors(void **state)
{
    int silent[20];
    (void)state;
    assert_int_equal(callback_start(cb, on_answer, NULL), MCP_OK);
    for (size_t i = 0; i < 20; i++) {
        silent[i] = visit();
        assert_true(silent[i] >= 0);
        mcp_loop_step(loop, 5);
    }
    assert_true(begins(ask("GET /callback?yes HTTP/1.1\r\n\r\n", 1000), "HTTP/1.1 200 "));
    for (size_t i = 0; i < 20; i++)
        close(silent[i]);
}

/* Ends when the server closes the connection. */
static void wait_for_end(int fd)
{
    char byte;
    ssize_t n = -1;
    for (int64_t end = wait_end(); n < 0 && wait_more(end);) {
        mcp_loop_step(loop, 10);
        n = recv(fd, &byte, 1, MSG_DONTWAIT);
    }
    assert_int_equal(n, 0);
    close(fd);
}

static void test_visitors_who_are_too_slow(void **state)
{
    (void)state;
    longest_timer = 20;
    assert_int_equal(callback_start(cb, on_answer, NULL), MCP_OK);
    wait_for_end(visit());
    int fd = visit();
    assert_int_equal(send(fd, "GET /", 5, MSG_NOSIGNAL), 5);
    wait_for_end(fd);
}

/* Nobody else gets the port between its choice and the login. */
static void test_reserved(void **state)
{
    int on = 1, other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port()),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
        assert_int_equal(bind(other, (struct sockaddr *)&at, sizeof(at)), -1);
        assert_int_equal(errno, EADDRINUSE);
        assert_int_equal(callback_start(cb, on_answer, NULL), MCP_OK);
        callback_stop(cb);
    }
    close(other);
    no_polls = true;
    assert_int_equal(callback_start(cb, on_answer, NULL), MCP_EIO);
}

/* Whoever listens on the other address of localhost would get the code. */
static void test_localhost(void **state)
{
    char url[128];
    mcp_error error;
    (void)state;
    snprintf(url, sizeof(url), "http://localhost:%d/cb", port());
    callback_free(cb), cb = NULL;
    assert_int_equal(callback_new(loop, url, &cb, &error), MCP_OK);
    int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool has_ipv6 = probe >= 0 && bind(probe, (struct sockaddr *)&at, sizeof(at)) == 0;
    close(probe);
    accept_it = false;
    assert_int_equal(callback_start(cb, on_answer, NULL), MCP_OK);
    assert_true(begins(ask("GET /cb?a HTTP/1.1\r\n\r\n", 1000), "HTTP/1.1 400 "));
    if (has_ipv6)
        assert_true(begins(ask_at(visit6(), "GET /cb?a HTTP/1.1\r\n\r\n", 1000), "HTTP/1.1 400 "));
    assert_int_equal(calls, has_ipv6 ? 2 : 1);
}

static void test_fixed_addresses(void **state)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "/callback",
                                      "http://127.0.0.1:1/a?b",
                                      "http://127.0.0.1:1/a#b",
                                      "http://127.0.0.1:1",
                                      "http://localhost:0/a",
                                      "http://127.0.0.1:99999/"};
    char url[128];
    mcp_error error;
    callback *other = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(callback_new(loop, bad[i], &other, &error), MCP_EINVAL);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/other", port());
    callback_start(cb, on_answer, NULL);
    assert_int_equal(callback_new(loop, url, &other, &error), MCP_EEXIST);
    snprintf(url, sizeof(url), "http://localhost:%d/cb", port());
    callback_free(cb), cb = NULL;
    assert_int_equal(callback_new(loop, url, &cb, &error), MCP_OK);
    assert_string_equal(callback_url(cb), url);
    callback_free(cb), cb = NULL;
    assert_int_equal(callback_new(loop, "https://me.example/cb?a=b", &cb, &error), MCP_OK);
    assert_int_equal(callback_start(cb, on_answer, NULL), MCP_OK); /* the answer is pasted */
    callback_stop(cb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_browser),
        cmocka_unit_test_setup_teardown(test_callback, make, clean),
        cmocka_unit_test_setup_teardown(test_other_requests, make, clean),
        cmocka_unit_test_setup_teardown(test_silent_visitors, make, clean),
        cmocka_unit_test_setup_teardown(test_visitors_who_are_too_slow, make, clean),
        cmocka_unit_test_setup_teardown(test_reserved, make, clean),
        cmocka_unit_test_setup_teardown(test_localhost, make, clean),
        cmocka_unit_test_setup_teardown(test_fixed_addresses, make, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
