/* Two instances as processes, on Unix sockets: requests for a session of the other one, its streams, and
 * what happens when it is killed.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/input.h>
#include <mcp/io.h>
#include <mcp/server.h>

static const char key[] = "0123456789abcdef0123456789abcdef";
static char folder[] = "/tmp/mcp-fleet-XXXXXX";
static pid_t processes[2];

/* ---- an instance --------------------------------------------------------------------------------- */

static int touch(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    mcp_server_resource_updated(user, "note:1");
    return mcp_reply_str(req, MCP_STR("touched"), NULL);
}

static int never(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)req, (void)arguments, (void)user;
    return MCP_PENDING;
}

static void serve(const char *name, int ready)
{
    char address[100], second[100];
    mcp_loop *loop;
    mcp_server *server;
    mcp_listener *one, *two;
    snprintf(address, sizeof(address), "unix:%s/%s", folder, name);
    snprintf(second, sizeof(second), "unix:%s/%s2", folder, name);
    const mcp_http_options http = {.size = sizeof(http), .instance_address = second};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mcp_loop_new(NULL, &loop, NULL) != MCP_OK ||
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "live", .version = "1"), &server,
                       NULL) != MCP_OK ||
        mcp_server_set_seal(server, MCP_OPTIONS(mcp_seal_options, .key = key, .key_len = 32),
                            NULL) != MCP_OK ||
        mcp_server_add_resource(
            server, MCP_OPTIONS(mcp_resource, .uri = "note:1", .name = "n", .text = "note"), NULL,
            NULL) != MCP_OK ||
        mcp_server_add_tool(server, MCP_OPTIONS(mcp_tool, .name = "touch", .call = touch), server,
                            NULL) != MCP_OK ||
        mcp_server_add_tool(server, MCP_OPTIONS(mcp_tool, .name = "never", .call = never), NULL,
                            NULL) != MCP_OK ||
        mcp_loop_listen(loop, server,
                        MCP_OPTIONS(mcp_listen_options, .address = address, .http = &http), &one,
                        NULL) != MCP_OK ||
        mcp_loop_listen(loop, server,
                        MCP_OPTIONS(mcp_listen_options, .address = second, .endpoint = one), &two,
                        NULL) != MCP_OK ||
        write(ready, "x", 1) != 1)
        _exit(1);
    mcp_loop_serve_http(loop, MCP_OPTIONS(mcp_serve_options, .drain_ms = 1000), NULL);
    mcp_listener_close(two);
    mcp_listener_close(one);
    mcp_server_free(server);
    mcp_loop_free(loop);
}

static void start(int i)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    processes[i] = fork();
    assert_true(processes[i] >= 0);
    if (processes[i] == 0) {
        close(ends[0]);
        serve(i ? "b" : "a", ends[1]);
        exit(0);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
}

static void end(int i, int number)
{
    int status;
    kill(processes[i], number);
    assert_int_equal(waitpid(processes[i], &status, 0), processes[i]);
    if (number == SIGTERM)
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- a client ------------------------------------------------------------------------------------ */

typedef struct client {
    int fd;
    char text[16384];
    size_t len;
} client;

static void request(client *c, const char *at, const char *text)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    c->len = 0;
    c->text[0] = 0;
    snprintf(to.sun_path, sizeof(to.sun_path), "%s/%s", folder, at);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(c->fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(write(c->fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* Reads until the text has come. */
static void expect(client *c, const char *text)
{
    while (!strstr(c->text, text)) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        if (poll(&p, 1, 30000) != 1)
            fail_msg("\"%s\" did not come, only: %s", text, c->text);
        ssize_t n = read(c->fd, c->text + c->len, sizeof(c->text) - 1 - c->len);
        if (n <= 0)
            fail_msg("\"%s\" did not come, only: %s", text, c->text);
        c->len += (size_t)n;
        c->text[c->len] = 0;
    }
}

static void done(client *c)
{
    close(c->fd);
}

static void send_message(client *c, const char *at, const char *id, const char *body)
{
    static char text[8192];
    snprintf(text, sizeof(text),
             "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: "
             "application/json, text/event-stream\r\n%s%s%sContent-Length: %zu\r\n\r\n%s",
             id ? "Mcp-Session-Id: " : "", id ? id : "", id ? "\r\n" : "", strlen(body), body);
    request(c, at, text);
}

static void once(const char *at, const char *id, const char *body, const char *expected)
{
    client c;
    send_message(&c, at, id, body);
    expect(&c, expected);
    done(&c);
}

static void send_other(client *c, const char *at, const char *id, const char *method)
{
    static char text[8192];
    snprintf(text, sizeof(text),
             "%s /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nMcp-Session-Id: "
             "%s\r\n\r\n",
             method, id);
    request(c, at, text);
}

static void initialize(const char *at, char id[1100])
{
    client c;
    send_message(&c, at, NULL,
                 "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                 "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{"
                 "\"name\":\"c\",\"version\":\"1\"}}}");
    expect(&c, "\"result\"");
    const char *from = strstr(c.text, "Mcp-Session-Id: ");
    assert_non_null(from);
    snprintf(id, 1100, "%.*s", (int)strcspn(from + 16, "\r"), from + 16);
    done(&c);
    once(at, id, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", " 202 ");
}

#define CALL(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" params "}}"
#define PING CALL("ping", "")

static void test_forward(void **state)
{
    (void)state;
    char id[1100];
    client get, other;
    initialize("a", id);
    once("a2", id, PING, " 200 OK"); /* the same endpoint */
    once("b", id, PING, "\"id\":1");
    send_other(&get, "b", id, "GET");
    expect(&get, "id: 0-0");
    once("b2", id, CALL("resources/subscribe", "\"uri\":\"note:1\""), "\"result\"");
    once("b", id, CALL("tools/call", "\"name\":\"touch\""), "touched");
    expect(&get, "notifications/resources/updated");
    send_other(&other, "b", id, "DELETE");
    expect(&other, " 204 ");
    done(&other);
    expect(&get, "\r\n0\r\n\r\n");
    done(&get);
    once("a", id, PING, " 404 ");
    once("b", id, PING, " 404 ");
}

/* A body that does not fit into the buffers of sockets. */
static void test_large(void **state)
{
    (void)state;
    enum { SIZE = 3 << 20 };
    char id[1100], *body = malloc(SIZE), *text = malloc(SIZE + 4096);
    assert_true(body && text);
    initialize("a", id);
    int n = snprintf(body, SIZE,
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"");
    memset(body + n, 'y', (size_t)(SIZE - n - 4));
    memcpy(body + SIZE - 4, "\"}}", 4);
    snprintf(text, SIZE + 4096,
             "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
             "Mcp-Session-Id: %s\r\nContent-Length: %zu\r\n\r\n%s",
             id, strlen(body), body);
    client c;
    request(&c, "b", text);
    expect(&c, "\"result\":{}");
    done(&c);
    free(body);
    free(text);
}

static void test_killed(void **state)
{
    (void)state;
    char id[1100];
    client call, get;
    initialize("a", id);
    send_message(&call, "b", id, CALL("tools/call", "\"name\":\"never\""));
    send_other(&get, "b", id, "GET");
    expect(&get, "id: 0-0");
    once("b", id, PING, "\"id\":1");
    end(0, SIGKILL);
    expect(&call, " 502 Bad Gateway");
    expect(&call, "\"id\":1");
    char rest[16];
    while (read(get.fd, rest, sizeof(rest)) > 0)
        ;
    done(&call);
    done(&get);
    once("b", id, PING, " 404 ");
    start(0); /* another process at the same address is another instance */
    once("b", id, PING, " 404 ");
    once("a", id, PING, " 404 ");
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    start(0);
    start(1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char path[64];
    for (int i = 0; i < 2; i++)
        end(i, SIGTERM);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, ((const char *[]){"a", "a2", "b", "b2"})[i]);
        unlink(path);
    }
    rmdir(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_large),
                                       cmocka_unit_test(test_killed)};
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
