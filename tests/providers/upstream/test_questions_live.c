/* Questions of a server at the end of a real connection: this program itself in another process,
 * over stdio or HTTP. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mcp/io.h>

#include "asking.h"
#include "callers.h"

typedef struct live {
    callers c;
    mcp_server *front;
    char folder[64], socket[96], url[128];
    pid_t pid; /* of the HTTP server */
    size_t id;
} live;

#define CALL(q) "\"name\":\"up_ask\",\"arguments\":{\"q\":\"" q "\"}"

static int serve(const char *address)
{
    mcp_error error = {0};
    mcp_server *server = asking_server(0);
    int rc =
        address ? mcp_serve_http(server, address, NULL, &error) : mcp_serve_stdio(server, &error);
    if (rc != MCP_OK)
        fprintf(stderr, "%s\n", error.text);
    mcp_server_free(server);
    return rc != MCP_OK;
}

/* The socket exists a moment before the server accepts connections. */
static bool listens(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    bool there = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return there;
}

static void start_http(live *l)
{
    l->pid = fork();
    assert_true(l->pid >= 0);
    if (l->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/proc/self/exe", "asking", "--http", l->url, (char *)NULL);
        _exit(127);
    }
    bool there = listens(l->socket);
    for (int64_t end = wait_end(); !there && wait_more(end); there = listens(l->socket))
        usleep(2000);
    assert_true(there);
}

static void stop_http(live *l)
{
    int status;
    if (!l->pid)
        return;
    kill(l->pid, SIGTERM);
    assert_int_equal(waitpid(l->pid, &status, 0), l->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void open_live(live *l, bool http)
{
    *l = (live){.pid = 0};
    snprintf(l->folder, sizeof(l->folder), "/tmp/mcp-questions-XXXXXX");
    assert_non_null(mkdtemp(l->folder));
    snprintf(l->socket, sizeof(l->socket), "%s/socket", l->folder);
    snprintf(l->url, sizeof(l->url), "unix:%s", l->socket);
    if (http)
        start_http(l);
    assert_int_equal(mcp_loop_new(NULL, &l->c.loop, NULL), MCP_OK);
}

static void close_live(live *l)
{
    assert_int_equal(mcp_loop_drain(l->c.loop, 60000), MCP_OK);
    mcp_loop_free(l->c.loop);
    stop_http(l);
    unlink(l->socket);
    rmdir(l->folder);
}

static void open_front(live *l, const char *revision)
{
    static const char *const argv[] = {"/proc/self/exe", "--stdio", NULL};
    mcp_error error = {0};
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                                .host = mcp_loop_host(l->c.loop), .coalesce_ms = 1,
                                                .no_rate_limits = true),
                                    &l->front, NULL),
                     MCP_OK);
    if (mcp_upstream_mount(l->front,
                           MCP_OPTIONS(mcp_upstream_options, .name = "up",
                                       .argv = l->pid ? NULL : argv, .url = l->pid ? l->url : NULL,
                                       .revision = revision),
                           &error) != MCP_OK)
        fail_msg("%s", error.text);
}

/* Sends a request of a modern caller without waiting for its answer. */
static void send_call(live *l, bool second, const char *params)
{
    static char message[1 << 15];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{%s,\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":" ASKING_CAPABILITIES "}}}",
             ++l->id, params);
    mcp_channel_receive(l->c.at[second].channel, 0, mcp_str_from(message), mcp_loop_now(l->c.loop));
}

/* Waits for one message to a caller. */
static const char *hear(live *l, bool second)
{
    return callers_say(&l->c, second, NULL, 1);
}

/* Answers questions until the result arrives. */
static void finish(live *l, bool second, const char *call, const char *said)
{
    static asking_round round;
    static char params[1 << 14];
    const char *reply = hear(l, second);
    while (asking_read_modern(reply, &round)) {
        size_t n = (size_t)snprintf(params, sizeof(params), "%s,\"inputResponses\":{", call);
        for (size_t i = 0; i < round.n; i++) {
            char one[256];
            asking_accept(round.asked[i].text, one, sizeof(one));
            n += (size_t)snprintf(params + n, sizeof(params) - n, "%s\"%s\":%s", i ? "," : "",
                                  round.asked[i].key, one);
        }
        snprintf(params + n, sizeof(params) - n, "},\"requestState\":\"%s\"", round.state);
        send_call(l, second, params);
        reply = hear(l, second);
    }
    wires_has(reply, said);
}

static const char *const between[] = {"2025-06-18", "2025-11-25", "2026-07-28"};

/* Two callers are asked at the same time. */
static void ask_over(bool http)
{
    static live l;
    static const char first[] = CALL("form,roots;form2"), second[] = CALL("sample;form");
    open_live(&l, http);
    for (size_t i = 0; i < 3; i++) {
        open_front(&l, between[i]);
        callers_connect(&l.c, false, l.front, "2026-07-28");
        callers_connect(&l.c, true, l.front, "2026-07-28");
        for (int k = 0; k < 3; k++) {
            send_call(&l, false, first);
            finish(&l, false, first,
                   "said form=accept:Ada roots=file:///afile:///b form2=accept:Ada.");
            send_call(&l, true, second);
            finish(&l, true, second, "said sample=it form=accept:Ada.");
        }
        if (http || i == 2) { /* a question names its call */
            send_call(&l, false, first);
            send_call(&l, true, second);
            finish(&l, true, second, "said sample=it form=accept:Ada.");
            finish(&l, false, first,
                   "said form=accept:Ada roots=file:///afile:///b form2=accept:Ada.");
        }
        callers_leave(&l.c);
        mcp_server_free(l.front);
    }
    close_live(&l);
}

static void test_stdio(void **state)
{
    (void)state;
    ask_over(false);
}

static void test_http(void **state)
{
    (void)state;
    ask_over(true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stdio), cmocka_unit_test(test_http)};
    if (argc > 1)
        return serve(argc > 2 ? argv[2] : NULL);
    return cmocka_run_group_tests_name("upstream: live questions", tests, NULL, NULL);
}
