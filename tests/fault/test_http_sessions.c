/* test_http_sessions.c: very many clients on real sockets: sessions that are never ended, and
 * answers that reach the right client although all clients choose the same ids.
 *
 * The server is a separate process, so that its memory can be measured. Its tool "gather" waits for
 * calls of CLIENTS clients, then answers all of them, the last one first.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/io.h>
#include <mcp/mcp.h>

enum {
    SESSIONS = 100000,
    GROWTH_KIB = 8192, /* a session that stayed would cost more than 2 KiB */
    MAX_SESSIONS = 1000,
    CLIENTS = 1000,
    AT_ONCE = 50, /* requests in one write; divides SESSIONS and MAX_SESSIONS */
    PATIENCE_S = 60,
};

/* Limits the freed memory that the sanitizer keeps, because it would count as used. The sanitizer
 * must find this function in spite of -fvisibility=hidden. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64";
}

/* ---- the server's process -------------------------------------------------------------------- */

static struct gathered {
    mcp_request *req;
    char text[32];
} gathered[CLIENTS];
static size_t n_gathered;

static int gather(mcp_request *req, const mcp_json *arguments, void *user)
{
    mcp_str text = mcp_json_string(mcp_json_get(arguments, "text"));
    struct gathered *g = &gathered[n_gathered++];

    (void)user;
    g->req = req;
    snprintf(g->text, sizeof(g->text), "%.*s", (int)text.len, text.ptr);
    if (n_gathered < CLIENTS)
        return MCP_PENDING;
    while (--n_gathered > 0) {
        g = &gathered[n_gathered - 1];
        mcp_reply_text(g->req, g->text);
        mcp_reply_finish(g->req, MCP_OK);
    }
    return mcp_reply_text(req, gathered[CLIENTS - 1].text);
}

static int serve(int tell)
{
    mcp_http_options http = {.size = sizeof(http), .max_sessions = MAX_SESSIONS};
    mcp_server *server = NULL;
    mcp_loop *loop = NULL;
    mcp_listener *listener = NULL;
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "test", .version = "1"),
                            &server, NULL);

    if (rc == MCP_OK)
        rc = mcp_server_add_tool(server, MCP_OPTIONS(mcp_tool, .name = "gather", .call = gather),
                                 NULL, NULL);
    if (rc == MCP_OK)
        rc = mcp_loop_new(NULL, &loop, NULL);
    if (rc == MCP_OK)
        rc = mcp_loop_listen(
            loop, server, MCP_OPTIONS(mcp_listen_options, .address = "127.0.0.1:0", .http = &http),
            &listener, NULL);
    const char *address = rc == MCP_OK ? mcp_listener_address(listener) : "";
    if (write(tell, address, strlen(address) + 1) > 0 && rc == MCP_OK)
        rc = mcp_loop_serve_http(loop, NULL, NULL);
    mcp_listener_close(listener);
    mcp_server_free(server);
    mcp_loop_free(loop);
    return rc == MCP_OK ? 0 : 1;
}

static pid_t child;
static uint16_t port;

static int start(void **state)
{
    char address[64] = "";
    int tell[2];

    (void)state;
    assert_int_equal(pipe(tell), 0);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        close(tell[0]);
        _exit(serve(tell[1]));
    }
    close(tell[1]);
    assert_true(read(tell[0], address, sizeof(address)) > 1);
    close(tell[0]);
    port = (uint16_t)atoi(strrchr(address, ':') + 1);
    return 0;
}

static int stop(void **state)
{
    int status = -1;

    (void)state;
    kill(child, SIGTERM);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return 0;
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

/* ---- a client -------------------------------------------------------------------------------- */

typedef struct client {
    int fd;
    size_t start, end; /* in[start, end) is received but not yet parsed */
    char in[4096];
    /* The last reply, NUL-terminated. */
    int status;
    char session[64];
    char body[2048];
} client;

static client *connected(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct timeval patience = {PATIENCE_S, 0};
    client *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    assert_int_equal(connect(c->fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return c;
}

static void closed(client *c)
{
    close(c->fd);
    free(c);
}

static void say(client *c, const char *text)
{
    size_t len = strlen(text);

    assert_int_equal(send(c->fd, text, len, MSG_NOSIGNAL), len);
}

/* Returns a POST request, in static storage. */
static const char *post(const char *headers, const char *body)
{
    static char text[2048];

    snprintf(text, sizeof(text),
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Accept: application/json, text/event-stream\r\n%sContent-Length: %zu\r\n\r\n%s",
             headers, strlen(body), body);
    return text;
}

static char next_byte(client *c)
{
    if (c->start == c->end) {
        ssize_t n = recv(c->fd, c->in, sizeof(c->in), 0);
        assert_true(n > 0);
        c->start = 0;
        c->end = (size_t)n;
    }
    return c->in[c->start++];
}

/* Reads one line, without its line end. */
static void read_line(client *c, char *to, size_t room)
{
    size_t len = 0;

    for (char b; (b = next_byte(c)) != '\n';) {
        assert_true(len + 1 < room);
        if (b != '\r')
            to[len++] = b;
    }
    to[len] = '\0';
}

static void read_reply(client *c)
{
    char line[256];
    size_t length = 0;

    c->session[0] = '\0';
    read_line(c, line, sizeof(line));
    assert_memory_equal(line, "HTTP/1.1 ", 9);
    c->status = atoi(line + 9);
    for (read_line(c, line, sizeof(line)); line[0]; read_line(c, line, sizeof(line))) {
        if (strncasecmp(line, "Content-Length: ", 16) == 0)
            length = strtoul(line + 16, NULL, 10);
        else if (strncasecmp(line, "Mcp-Session-Id: ", 16) == 0)
            snprintf(c->session, sizeof(c->session), "%.60s", line + 16);
    }
    assert_true(length < sizeof(c->body));
    for (size_t i = 0; i < length; i++)
        c->body[i] = next_byte(c);
    c->body[length] = '\0';
}

static const char initialize[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}";

static void read_session(client *c, char id[64])
{
    read_reply(c);
    assert_int_equal(c->status, 200);
    assert_true(c->session[0]);
    memcpy(id, c->session, sizeof(c->session));
}

static const char *session_headers(const char *id)
{
    static char text[160];

    snprintf(text, sizeof(text), "Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-11-25\r\n", id);
    return text;
}

static int ping(client *c, const char *id)
{
    say(c, post(session_headers(id), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"));
    read_reply(c);
    return c->status;
}

/* ---- sessions that are never ended ----------------------------------------------------------- */

/* Begins n sessions and returns the ids of the first and the last. */
static void begin_sessions(client *c, size_t n, char first[64], char last[64])
{
    const char *one = post("", initialize);
    char *many = calloc(AT_ONCE, strlen(one) + 1);

    assert_non_null(many);
    for (size_t i = 0; i < AT_ONCE; i++)
        strcat(many, one);
    for (size_t begun = 0; begun < n; begun += AT_ONCE) {
        say(c, many);
        for (size_t i = 0; i < AT_ONCE; i++)
            read_session(c, begun + i == 0 ? first : last);
    }
    free(many);
}

static size_t sessions_counted(client *c)
{
    static char in[64 * 1024];
    size_t len = 0;

    say(c, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    for (ssize_t n; (n = recv(c->fd, in + len, sizeof(in) - 1 - len, 0)) > 0;)
        len += (size_t)n;
    in[len] = '\0';
    const char *line = strstr(in, "\nmcp_sessions ");
    assert_non_null(line);
    return strtoul(line + strlen("\nmcp_sessions "), NULL, 10);
}

/* Beyond the limit memory stays constant: the oldest sessions are evicted, except one with an open
 * stream. */
static void test_sessions_without_end(void **state)
{
    char used[64], first[64], last[64], unused[64];
    client *stream = connected(), *c = connected();

    (void)state;
    say(stream, post("", initialize));
    read_session(stream, used);
    char get[512];
    snprintf(get, sizeof(get),
             "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n%s\r\n",
             session_headers(used));
    say(stream, get);
    char line[256];
    read_line(stream, line, sizeof(line));
    assert_string_equal(line, "HTTP/1.1 200 OK");

    begin_sessions(c, 2 * MAX_SESSIONS, first, last);
    assert_int_equal(ping(c, first), 404);
    assert_int_equal(ping(c, last), 200);
    long before = memory_kib();
    begin_sessions(c, SESSIONS - 2 * MAX_SESSIONS, unused, last);
    long growth = memory_kib() - before;
    if (growth > GROWTH_KIB)
        fail_msg("%d sessions grew by %ld KiB", SESSIONS, growth);
    assert_int_equal(ping(c, last), 200);
    assert_int_equal(ping(c, used), 200);
    assert_int_equal(sessions_counted(c), MAX_SESSIONS);
    closed(c);
    closed(stream);
}

/* ---- the same ids ---------------------------------------------------------------------------- */

static const char *call(size_t client_number, const char *meta)
{
    static char text[512];

    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
             "\"name\":\"gather\",\"arguments\":{\"text\":\"client %zu.\"}%s}}",
             client_number, meta);
    return text;
}

static void expect_own_answers(client *clients[CLIENTS])
{
    char word[32];

    for (size_t i = 0; i < CLIENTS; i++) {
        read_reply(clients[i]);
        assert_int_equal(clients[i]->status, 200);
        snprintf(word, sizeof(word), "\"client %zu.\"", i);
        if (!strstr(clients[i]->body, word) || !strstr(clients[i]->body, "\"id\":1"))
            fail_msg("client %zu got %s", i, clients[i]->body);
        closed(clients[i]);
    }
}

static void test_same_ids_modern(void **state)
{
    static client *clients[CLIENTS];

    (void)state;
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = connected();
        say(clients[i], post("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                             "Mcp-Name: gather\r\n",
                             call(i, ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
                                     "\"2026-07-28\",\"io.modelcontextprotocol/"
                                     "clientCapabilities\":{}}")));
    }
    expect_own_answers(clients);
}

static void test_same_ids_legacy(void **state)
{
    static client *clients[CLIENTS];
    char id[64];

    (void)state;
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = connected();
        say(clients[i], post("", initialize));
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        read_session(clients[i], id);
        say(clients[i], post(session_headers(id), call(i, "")));
    }
    expect_own_answers(clients);
}

/* Each client is a descriptor here and one in the server. */
static int allow_descriptors(void **state)
{
    struct rlimit limit;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < CLIENTS + 100) {
        limit.rlim_cur = CLIENTS + 100;
        return setrlimit(RLIMIT_NOFILE, &limit);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sessions_without_end, start, stop),
        cmocka_unit_test_setup_teardown(test_same_ids_modern, start, stop),
        cmocka_unit_test_setup_teardown(test_same_ids_legacy, start, stop),
    };

    return cmocka_run_group_tests(tests, allow_descriptors, NULL);
}
