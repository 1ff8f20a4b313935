/* http_peer.h: an HTTP server on real sockets in a separate process, and helpers for raw HTTP
 * clients.
 *
 * The server has a resource, mem://one, and six tools: "echo" answers with its argument, "big" with
 * 20,000 bytes, "huge" with 6 MiB, "slow" after 300 ms, "touch" announces that the resource
 * changed, "files" opens eight files. Include it first, once in each program, after defining
 * _GNU_SOURCE.
 */
#ifndef MCP_TESTS_HTTP_PEER_H
#define MCP_TESTS_HTTP_PEER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

enum { BIG = 20000, HUGE = 6 << 20, SLOW_MS = 300, PATIENCE_MS = 10000 };

/* ---- the server's process -------------------------------------------------------------------- */

static inline int echo(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str text = mcp_json_string(mcp_json_get(arguments, "text"));

    (void)user;
    return mcp_reply_textf(req, "%.*s", (int)text.len, text.ptr);
}

static inline int big(mcp_request *req, const mcp_json *arguments, void *user)
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

static inline void answer_late(void *arg)
{
    delayed *d = arg;

    d->host->timer_stop(d->timer, d->host->user);
    mcp_reply_text(d->req, "late");
    mcp_reply_finish(d->req, MCP_OK);
    free(d);
}

static inline int slow(mcp_request *req, const mcp_json *arguments, void *user)
{
    delayed *d = calloc(1, sizeof(*d));

    (void)arguments;
    if (!d)
        return MCP_ENOMEM;
    d->host = mcp_server_host(user);
    d->req = req;
    d->timer = d->host->timer_start(SLOW_MS, answer_late, d, d->host->user);
    return MCP_PENDING;
}

static inline int huge(mcp_request *req, const mcp_json *arguments, void *user)
{
    static char text[HUGE + 1];

    (void)arguments;
    (void)user;
    memset(text, 'x', HUGE);
    return mcp_reply_text(req, text);
}

static inline int files(mcp_request *req, const mcp_json *arguments, void *user)
{
    int fds[8], opened = 0;

    (void)arguments;
    (void)user;
    for (int i = 0; i < 8; i++) {
        fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        opened += fds[i] >= 0;
    }
    for (int i = 0; i < 8; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    return opened == 8 ? mcp_reply_text(req, "opened") : MCP_EFILES;
}

static inline int touch(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    mcp_server_resource_updated(user, "mem://one");
    return mcp_reply_text(req, "touched");
}

static inline mcp_server *make_server(void)
{
    static const struct {
        const char *name;
        mcp_call_fn *call;
    } tools[] = {{"echo", echo},   {"big", big},   {"slow", slow},
                 {"touch", touch}, {"huge", huge}, {"files", files}};
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
    rlim_t descriptors; /* limit of descriptors; 0 keeps the current one */
    uint64_t drain_ms;
} setting;

static inline int serve(int tell)
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

/* ---- the test's side ------------------------------------------------------------------------- */

static pid_t child;
static uint16_t port;

static inline void start(void)
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

static inline int stop(void)
{
    int status = -1;

    if (child > 0) {
        kill(child, SIGTERM);
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    child = 0;
    return status;
}

static inline int set_up(void **state)
{
    (void)state;
    setting = (struct setting){.drain_ms = 2000};
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        child = 0;
    }
    return 0;
}

static inline int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static inline int try_connect(void)
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

static inline int connected(void)
{
    int fd = try_connect();

    assert_true(fd >= 0);
    return fd;
}

#define META                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" \
    "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

/* The token for requests of post(), or NULL for none. */
static const char *bearer;

/* Returns a complete request, in static storage. */
static inline const char *post(int id, const char *method, const char *name, const char *members)
{
    static char text[4096];
    char body[2048], header[256] = "";
    int len = snprintf(body, sizeof(body),
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{%s" META "}}",
                       id, method, members);

    if (name)
        snprintf(header, sizeof(header), "Mcp-Name: %s\r\n", name);
    if (bearer)
        snprintf(header + strlen(header), sizeof(header) - strlen(header),
                 "Authorization: Bearer %s\r\n", bearer);
    snprintf(text, sizeof(text),
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
             "Mcp-Method: %s\r\n%sContent-Length: %d\r\n\r\n%s",
             method, header, len, body);
    return text;
}

static inline const char *call(int id, const char *tool, const char *text)
{
    char members[256];

    snprintf(members, sizeof(members), "\"name\":\"%s\",\"arguments\":{\"text\":\"%s\"},", tool,
             text);
    return post(id, "tools/call", tool, members);
}

static inline const char *listen_request(void)
{
    return post(1, "subscriptions/listen", NULL,
                "\"notifications\":{\"resourceSubscriptions\":[\"mem://one\"]},");
}

static inline void send_all(int fd, const char *text)
{
    size_t len = strlen(text);

    assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

/* Reads one response with a Content-Length. Returns its body, in static storage, and stores the
 * status in *status. */
static inline const char *read_reply(int fd, int *status)
{
    static char in[2 * HUGE];
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

static inline void expect(int fd, int status, const char *word)
{
    int got = 0;
    const char *body = read_reply(fd, &got);

    assert_non_null(body);
    assert_int_equal(got, status);
    if (!body || !strstr(body, word))
        fail_msg("no %s in %s", word, body ? body : "nothing");
}

/* Reads until the input contains the word. Returns the number of bytes. */
static inline size_t read_until(int fd, const char *word)
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

static inline void expect_end(int fd)
{
    char c[4096];
    ssize_t n;

    while ((n = recv(fd, c, sizeof(c), 0)) > 0)
        ;
    assert_true(n == 0 || errno == ECONNRESET);
    close(fd);
}

static inline void expect_service(void)
{
    int fd = connected();

    send_all(fd, call(7, "echo", "still here"));
    expect(fd, 200, "still here");
    close(fd);
}

#endif
