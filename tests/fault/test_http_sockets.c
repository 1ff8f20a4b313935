/* test_http_sockets.c: an HTTP server on real sockets in a separate process, and clients that
 * misbehave: slow, disconnected, half-closed, not reading, too many. In every case other clients
 * are served.
 */
#define _GNU_SOURCE
#include "http_peer.h"
#include "support/wait.h"

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_keep_alive(void **state)
{
    (void)state;
    start();
    int fd = connected();
    for (int i = 0; i < 50; i++) {
        char text[32], word[48];
        snprintf(text, sizeof(text), "number %d", i);
        snprintf(word, sizeof(word), "\"%s\"", text);
        send_all(fd, call(i, "echo", text));
        expect(fd, 200, word);
    }
    close(fd);
    assert_int_equal(stop(), 0);
}

static void test_pipelined(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    start();
    int fd = connected();
    for (int i = 0; i < COUNT; i++)
        send_all(fd, call(1000 + i, i == 3 ? "slow" : "echo", "x"));
    for (int i = 0; i < COUNT; i++) {
        char word[32];
        snprintf(word, sizeof(word), "\"id\":%d,", 1000 + i);
        expect(fd, 200, word);
    }
    close(fd);
    assert_int_equal(stop(), 0);
}

/* Clients that use the same id get their own answers, also when all of them wait at the same
 * time. */
static void test_same_ids(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    int fds[COUNT];
    char text[32];
    start();
    for (int i = 0; i < COUNT; i++) {
        fds[i] = connected();
        snprintf(text, sizeof(text), "client %d.", i);
        send_all(fds[i], call(1, "echo", text));
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        snprintf(text, sizeof(text), "client %d.", i);
        expect(fds[i], 200, text);
        close(fds[i]);
    }
    assert_int_equal(stop(), 0);
}

static void test_cut_at_every_byte(void **state)
{
    char request[4096];

    (void)state;
    start();
    snprintf(request, sizeof(request), "%s", call(1, "echo", "cut"));
    size_t len = strlen(request);
    for (size_t n = 0; n <= len; n++) {
        int fd = connected();
        struct linger reset = {.l_onoff = 1};
        if (n % 3 == 0)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        assert_int_equal(send(fd, request, n, MSG_NOSIGNAL), n);
        close(fd);
    }
    expect_service();
    assert_int_equal(stop(), 0);
}

static void test_one_byte_at_a_time(void **state)
{
    char request[4096];

    (void)state;
    start();
    int fd = connected();
    snprintf(request, sizeof(request), "%s", call(1, "echo", "slowly"));
    for (size_t i = 0; request[i]; i++)
        assert_int_equal(send(fd, request + i, 1, MSG_NOSIGNAL), 1);
    expect(fd, 200, "slowly");
    close(fd);
    assert_int_equal(stop(), 0);
}

static void test_slow_head_and_body(void **state)
{
    static const char *const parts[] = {
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{",
    };

    (void)state;
    setting.http.header_ms = 100;
    setting.http.body_ms = 150;
    start();
    for (size_t i = 0; i < 2; i++) {
        int fd = connected();
        int64_t begun = now_ms();
        send_all(fd, parts[i]);
        expect_service();
        expect(fd, 408, "");
        assert_true(now_ms() - begun < 5000);
        expect_end(fd);
    }
    assert_int_equal(stop(), 0);
}

static void test_idle(void **state)
{
    (void)state;
    setting.http.idle_ms = 100;
    start();
    int fd = connected();
    send_all(fd, call(1, "echo", "one"));
    expect(fd, 200, "one");
    expect_end(fd);
    assert_int_equal(stop(), 0);
}

static void test_half_closed(void **state)
{
    (void)state;
    start();
    int fd = connected();
    send_all(fd, call(1, "slow", ""));
    shutdown(fd, SHUT_WR);
    expect(fd, 200, "late");
    expect_end(fd);
    expect_service();
    assert_int_equal(stop(), 0);
}

/* The rejection reaches a client that is still sending. */
static void test_too_large(void **state)
{
    static char rest[512 * 1024];

    (void)state;
    setting.http.max_body = 4096;
    start();
    for (int i = 0; i < 5; i++) {
        int fd = connected();
        send_all(fd, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "Accept: application/json, text/event-stream\r\n"
                     "Content-Length: 524288\r\n\r\n");
        memset(rest, ' ', sizeof(rest));
        send(fd, rest, sizeof(rest), MSG_NOSIGNAL);
        expect(fd, 413, "");
        expect_end(fd);
    }
    expect_service();
    assert_int_equal(stop(), 0);
}

/* Limits the freed memory that the sanitizer keeps, because it would count as used. The sanitizer
 * must find this function in spite of -fvisibility=hidden. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64";
}

static long memory_kib(void)
{
    char path[64], line[128];
    long kib = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)child);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = atol(line + 6);
    }
    fclose(f);
    return kib;
}

/* The server stops reading from a client that sends many requests and reads nothing, and finally
 * disconnects it. */
static void test_reader_stops(void **state)
{
    struct timeval soon = {0, 300000};
    size_t sent = 0;

    (void)state;
    setting.http.stall_ms = 1000;
    setting.http.max_output = 256 * 1024;
    start();
    expect_service();
    long before = memory_kib();
    int fd = connected();
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
    const char *request = call(1, "big", "");
    for (; sent < 20000; sent++) {
        if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
            break;
    }
    assert_true(sent < 20000); /* 400 MB of answers */
    expect_service();
    long grown = memory_kib() - before;
    if (grown >= 32 * 1024)
        fail_msg("grew by %ld KiB", grown);
    int64_t begun = now_ms();
    struct pollfd p = {.fd = fd, .events = 0};
    while (!(p.revents & (POLLHUP | POLLERR)) && now_ms() - begun < PATIENCE_MS)
        poll(&p, 1, 50);
    assert_true(p.revents & (POLLHUP | POLLERR));
    close(fd);
    expect_service();
    assert_int_equal(stop(), 0);
}

/* The same on an event stream, while other clients get every notification. */
static void test_stream_reader_stops(void **state)
{
    (void)state;
    start();
    int deaf = connected(), good = connected(), fd = connected();
    int small = 2048;
    setsockopt(deaf, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    send_all(deaf, listen_request());
    send_all(good, listen_request());
    read_until(good, "acknowledged");
    for (int i = 0; i < 20; i++) {
        send_all(fd, call(i, "touch", ""));
        expect(fd, 200, "touched");
        read_until(good, "notifications/resources/updated");
    }
    close(deaf);
    expect_service();
    close(good);
    close(fd);
    assert_int_equal(stop(), 0);
}

static void test_many_streams(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    int fds[COUNT];
    start();
    for (int i = 0; i < COUNT; i++) {
        fds[i] = connected();
        send_all(fds[i], listen_request());
    }
    for (int i = 0; i < COUNT; i++)
        read_until(fds[i], "acknowledged");
    int fd = connected();
    send_all(fd, call(1, "touch", ""));
    expect(fd, 200, "touched");
    close(fd);
    for (int i = 0; i < COUNT; i++) {
        read_until(fds[i], "notifications/resources/updated");
        close(fds[i]);
    }
    expect_service();
    assert_int_equal(stop(), 0);
}

/* Repeats the request, because the server may notice later that other clients disconnected. */
static void expect_service_soon(void)
{
    int status = 0;
    for (int64_t end = wait_end(); status != 200 && wait_more(end);) {
        int fd = connected();
        const char *request = call(1, "echo", "served");
        if (send(fd, request, strlen(request), MSG_NOSIGNAL) <= 0 || !read_reply(fd, &status))
            usleep(10 * 1000);
        close(fd);
    }
    assert_int_equal(status, 200);
}

/* Without descriptors, new connections are rejected until descriptors are available again. */
static void test_no_descriptors(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    int fds[COUNT], served = 0;
    setting.descriptors = 48;
    start();
    for (int i = 0; i < COUNT; i++)
        fds[i] = connected();
    for (int i = 0; i < COUNT; i++) {
        const char *request = call(i, "echo", "served");
        int status;
        if (send(fds[i], request, strlen(request), MSG_NOSIGNAL) > 0 &&
            read_reply(fds[i], &status) && status == 200)
            served++;
    }
    assert_in_range(served, 16, 47);
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
    expect_service_soon();
    assert_int_equal(stop(), 0);
}

static void test_too_many_connections(void **state)
{
    (void)state;
    setting.http.max_connections = 2;
    start();
    int first = connected(), second = connected();
    send_all(first, call(1, "echo", "first"));
    expect(first, 200, "first");
    send_all(second, call(1, "echo", "second"));
    expect(second, 200, "second");
    int third = connected();
    expect(third, 503, "");
    expect_end(third);
    send_all(first, call(2, "echo", "again"));
    expect(first, 200, "again");
    close(first);
    close(second);
    assert_int_equal(stop(), 0);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* SIGTERM: the stream gets its result, requests in flight are answered, new connections are
 * refused. */
static void test_drain(void **state)
{
    int status = -1;

    (void)state;
    start();
    int stream = connected(), busy = connected(), idle = connected();
    send_all(stream, listen_request());
    read_until(stream, "acknowledged");
    send_all(idle, call(1, "echo", "idle"));
    expect(idle, 200, "idle");
    send_all(busy, call(5, "slow", ""));
    expect_service();
    kill(child, SIGTERM);
    expect_end(idle);
    int late = try_connect();
    assert_int_equal(late, -1);
    read_until(stream, "\"result\":");
    expect_end(stream);
    expect(busy, 200, "late");
    expect_end(busy);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    child = 0;
}

/* A drain does not wait for idle connections. */
static void test_drain_idle(void **state)
{
    (void)state;
    setting.drain_ms = 60000;
    start();
    int fd = connected(), other = connected();
    send_all(fd, call(1, "echo", "once"));
    expect(fd, 200, "once");
    send_all(other, call(1, "echo", "once"));
    expect(other, 200, "once");
    int64_t begun = now_ms();
    assert_int_equal(stop(), 0);
    assert_true(now_ms() - begun < 5000);
    close(fd);
    close(other);
}

/* Requests that take longer than the drain get an error, as a response or at the end of a stream. */
static void test_drain_cuts(void **state)
{
    int status = -1;

    (void)state;
    setting.drain_ms = 50;
    start();
    int fd = connected();
    send_all(fd, call(5, "slow", ""));
    expect_service();
    kill(child, SIGTERM);
    expect(fd, 503, "\"id\":5,\"error\":{\"code\":-32603,\"message\":\"the server ended");
    expect_end(fd);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    child = 0;
}

/* A request that is never completed does not keep the server from ending. */
static void test_drain_is_bounded(void **state)
{
    (void)state;
    setting.drain_ms = 200;
    start();
    int fd = connected();
    send_all(fd, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n");
    expect_service();
    int64_t begun = now_ms();
    assert_int_equal(stop(), 0);
    assert_true(now_ms() - begun < 5000);
    close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_keep_alive),
        TEST(test_pipelined),
        TEST(test_same_ids),
        TEST(test_cut_at_every_byte),
        TEST(test_one_byte_at_a_time),
        TEST(test_slow_head_and_body),
        TEST(test_idle),
        TEST(test_half_closed),
        TEST(test_too_large),
        TEST(test_reader_stops),
        TEST(test_stream_reader_stops),
        TEST(test_many_streams),
        TEST(test_no_descriptors),
        TEST(test_too_many_connections),
        TEST(test_drain),
        TEST(test_drain_idle),
        TEST(test_drain_is_bounded),
        TEST(test_drain_cuts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
