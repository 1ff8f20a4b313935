/* test_http_sockets.c: an HTTP server on real sockets, in a process of its own, and clients that behave
 * badly: slow, cut off, half closed, not reading, too many. In every case the others are served.
 *
 * The server has a resource, mem://one, and four tools: "echo" answers with its argument, "big" with
 * 20,000 bytes, "slow" after 300 ms, "touch" announces that the resource changed.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/io.h>
#include <mcp/mcp.h>

enum { BIG = 20000, SLOW_MS = 300, PATIENCE_MS = 10000 };

/* ---- the server's process --------------------------------------------------------------------------- */

static int echo(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str text = mcp_json_string(mcp_json_get(arguments, "text"));

    (void)user;
    return mcp_reply_textf(req, "%.*s", (int)text.len, text.ptr);
}

static int big(mcp_request *req, const mcp_json *arguments, void *user)
{
    static char text[BIG + 1];

    (void)arguments;
    (void)user;
    memset(text, 'x', BIG);
    return mcp_reply_text(req, text);
}

typedef struct delayed {
    const mcp_host *host;
    mcp_host_timer *timer;
    mcp_request *req;
} delayed;

static void answer_late(void *arg)
{
    delayed *d = arg;

    d->host->timer_stop(d->host->user, d->timer);
    mcp_reply_text(d->req, "late");
    mcp_reply_finish(d->req, MCP_OK);
    free(d);
}

static int slow(mcp_request *req, const mcp_json *arguments, void *user)
{
    delayed *d = calloc(1, sizeof(*d));

    (void)arguments;
    if (!d)
        return MCP_ENOMEM;
    d->host = mcp_server_host(user);
    d->req = req;
    d->timer = d->host->timer_start(d->host->user, SLOW_MS, answer_late, d);
    return MCP_PENDING;
}

static int touch(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    mcp_server_resource_updated(user, "mem://one");
    return mcp_reply_text(req, "touched");
}

static mcp_server *make_server(void)
{
    static const struct {
        const char *name;
        mcp_call_fn *call;
    } tools[] = {{"echo", echo}, {"big", big}, {"slow", slow}, {"touch", touch}};
    mcp_server *server = NULL;
    mcp_server_new(
        MCP_OPTIONS(mcp_server_options, .name = "test", .version = "1", .coalesce_ms = 5), &server,
        NULL);
    mcp_server_add_resource(
        server,
        MCP_OPTIONS(mcp_resource, .uri = "mem://one", .name = "one", .text = "the resource"), NULL,
        NULL);
    for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++)
        mcp_server_add_tool(server,
                            MCP_OPTIONS(mcp_tool, .name = tools[i].name, .call = tools[i].call),
                            server, NULL);
    return server;
}

static struct setting {
    mcp_http_options http;
    rlim_t descriptors; /* 0: as they are */
    uint64_t drain_ms;
} setting;

static int serve(int tell)
{
    struct rlimit limit = {setting.descriptors, setting.descriptors};
    mcp_server *server = make_server();
    mcp_loop *loop = NULL;
    mcp_listener *listener = NULL;
    int rc = mcp_loop_new(NULL, &loop, NULL);

    setting.http.size = sizeof(setting.http);
    if (rc == MCP_OK)
        rc = mcp_loop_listen(
            loop, server,
            MCP_OPTIONS(mcp_listen_options, .address = "127.0.0.1:0", .http = &setting.http),
            &listener, NULL);
    if (rc == MCP_OK && setting.descriptors)
        rc = setrlimit(RLIMIT_NOFILE, &limit);
    const char *address = rc == MCP_OK ? mcp_listener_address(listener) : "";
    if (rc == MCP_OK && write(tell, address, strlen(address) + 1) > 0)
        rc = mcp_loop_serve_http(loop, MCP_OPTIONS(mcp_serve_options, .drain_ms = setting.drain_ms),
                                 NULL);
    mcp_listener_close(listener);
    mcp_server_free(server);
    mcp_loop_free(loop);
    return rc == MCP_OK ? 0 : 1;
}

/* ---- the test's side -------------------------------------------------------------------------------- */

static pid_t child;
static uint16_t port;

static void start(void)
{
    char address[64] = "";
    int tell[2];

    assert_int_equal(pipe(tell), 0);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        signal(SIGTERM, SIG_DFL);
        close(tell[0]);
        _exit(serve(tell[1]));
    }
    close(tell[1]);
    assert_true(read(tell[0], address, sizeof(address)) > 0);
    close(tell[0]);
    port = (uint16_t)atoi(strrchr(address, ':') + 1);
}

static int stop(void)
{
    int status = -1;

    if (child > 0) {
        kill(child, SIGTERM);
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    child = 0;
    return status;
}

static int set_up(void **state)
{
    (void)state;
    setting = (struct setting){.drain_ms = 2000};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        child = 0;
    }
    return 0;
}

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int try_connect(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct timeval patience = {PATIENCE_MS / 1000, 0};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
        return fd;
    close(fd);
    return -1;
}

static int connected(void)
{
    int fd = try_connect();

    assert_true(fd >= 0);
    return fd;
}

#define META                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" \
    "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

/* A whole request; static storage. */
static const char *post(int id, const char *method, const char *name, const char *members)
{
    static char text[4096];
    char body[2048], header[128] = "";
    int len = snprintf(body, sizeof(body),
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{%s" META "}}",
                       id, method, members);

    if (name)
        snprintf(header, sizeof(header), "Mcp-Name: %s\r\n", name);
    snprintf(text, sizeof(text),
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
             "Mcp-Method: %s\r\n%sContent-Length: %d\r\n\r\n%s",
             method, header, len, body);
    return text;
}

static const char *call(int id, const char *tool, const char *text)
{
    char members[256];

    snprintf(members, sizeof(members), "\"name\":\"%s\",\"arguments\":{\"text\":\"%s\"},", tool,
             text);
    return post(id, "tools/call", tool, members);
}

static const char *listen_request(void)
{
    return post(1, "subscriptions/listen", NULL,
                "\"notifications\":{\"resourceSubscriptions\":[\"mem://one\"]},");
}

static void send_all(int fd, const char *text)
{
    size_t len = strlen(text);

    assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

/* Reads one reply with a Content-Length; its body, static storage. The status is left in *status. */
static const char *read_reply(int fd, int *status)
{
    static char in[64 * 1024];
    size_t have = 0, body = 0, length = 0;

    while (!body || have < body + length) {
        ssize_t n = recv(fd, in + have, body ? body + length - have : 1, 0);
        if (n <= 0)
            return NULL;
        have += (size_t)n;
        in[have] = '\0';
        if (body || have < 4 || memcmp(in + have - 4, "\r\n\r\n", 4) != 0)
            continue;
        body = have;
        const char *header = strcasestr(in, "\r\nContent-Length: ");
        assert_non_null(header);
        length = strtoul(header + 18, NULL, 10);
        assert_true(length < sizeof(in) - body);
    }
    *status = atoi(in + 9);
    return in + body;
}

static void expect(int fd, int status, const char *word)
{
    int got = 0;
    const char *body = read_reply(fd, &got);

    assert_non_null(body);
    assert_int_equal(got, status);
    if (!strstr(body, word))
        fail_msg("no %s in %s", word, body);
}

/* Reads until all of it contains the word; how much came. */
static size_t read_until(int fd, const char *word)
{
    static char in[256 * 1024];
    size_t have = 0;

    in[0] = '\0';
    while (!strstr(in, word)) {
        ssize_t n = recv(fd, in + have, sizeof(in) - 1 - have, 0);
        if (n <= 0)
            fail_msg("no %s in %s", word, in);
        have += (size_t)n;
        in[have] = '\0';
    }
    return have;
}

static void expect_end(int fd)
{
    char c[4096];
    ssize_t n;

    while ((n = recv(fd, c, sizeof(c), 0)) > 0)
        ;
    assert_true(n == 0 || errno == ECONNRESET);
    close(fd);
}

static void expect_service(void)
{
    int fd = connected();

    send_all(fd, call(7, "echo", "still here"));
    expect(fd, 200, "still here");
    close(fd);
}

/* ---- tests ------------------------------------------------------------------------------------------ */

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

/* Clients that use the same id get their own answers, also when all of them wait at the same time. */
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

/* The refusal reaches a client that is still sending. */
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

/* What a sanitizer keeps of freed memory would count as ours. It has to see this, in spite of
 * -fvisibility=hidden. */
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

/* A client that asks for much and reads nothing is not read from, and dropped in the end. */
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

/* The same on a stream of events, while others hear of every change. */
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

/* Out of descriptors: who comes then is turned away, and when some are free again, not. */
/* The server may still have to notice that others are gone. */
static void expect_service_soon(void)
{
    int status = 0;
    for (int i = 0; i < 500 && status != 200; i++) {
        int fd = connected();
        const char *request = call(1, "echo", "served");
        if (send(fd, request, strlen(request), MSG_NOSIGNAL) <= 0 || !read_reply(fd, &status))
            usleep(10 * 1000);
        close(fd);
    }
    assert_int_equal(status, 200);
}

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

/* ---- the end ---------------------------------------------------------------------------------------- */

/* SIGTERM: the stream gets its result, what is in flight is answered, nobody new comes in. */
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

/* Clients that keep a connection for later are not waited for. */
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

/* A request that is never finished does not keep it from ending. */
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
