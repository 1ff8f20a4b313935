/* Generated exchanges with a server, directly and through a server in front of it. The two servers
 * are connected over stdio or HTTP, and the first one is this program itself, in another
 * process. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mcp/io.h>

#include "callers.h"
#include "compare.h"
#include "upstream.h"
#include "rounds.h"

typedef struct live {
    callers c;
    mcp_server *direct, *front;
    char folder[64], socket[96], url[128];
    pid_t pid; /* of the HTTP server */
} live;

/* ---- the other server ------------------------------------------------------------------------ */

static int serve(const char *address)
{
    mcp_error error = {0};
    mcp_server *server = exchanges_server();
    int rc =
        address ? mcp_serve_http(server, address, NULL, &error) : mcp_serve_stdio(server, &error);
    if (rc != MCP_OK)
        fprintf(stderr, "%s\n", error.text);
    mcp_server_free(server);
    return rc != MCP_OK;
}

static void start_http(live *l)
{
    struct stat st;
    l->pid = fork();
    assert_true(l->pid >= 0);
    if (l->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/proc/self/exe", "exchanges", "--http", l->url, (char *)NULL);
        _exit(127);
    }
    for (int64_t end = wait_end(); stat(l->socket, &st) < 0 && wait_more(end);)
        usleep(2000);
    assert_int_equal(stat(l->socket, &st), 0);
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

/* ---- all parts ------------------------------------------------------------------------------- */

static void open_live(live *l, bool http)
{
    *l = (live){.pid = 0};
    snprintf(l->folder, sizeof(l->folder), "/tmp/mcp-exchanges-XXXXXX");
    assert_non_null(mkdtemp(l->folder));
    snprintf(l->socket, sizeof(l->socket), "%s/socket", l->folder);
    snprintf(l->url, sizeof(l->url), "unix:%s", l->socket);
    if (http)
        start_http(l);
    assert_int_equal(mcp_loop_new(NULL, &l->c.loop, NULL), MCP_OK);
    l->direct = exchanges_server();
    mcp_server_set_host(l->direct, mcp_loop_host(l->c.loop));
}

static void close_live(live *l)
{
    assert_int_equal(mcp_loop_drain(l->c.loop, 60000), MCP_OK);
    mcp_server_free(l->direct);
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

static void compare_over(bool http)
{
    static live l;
    open_live(&l, http);
    seed = 1;
    for (size_t between = 0; between < REVISIONS; between++) {
        open_front(&l, revisions[between]);
        for (size_t from = 0; from < REVISIONS; from++) {
            pair p = pair_of(from, between);
            p.say = callers_say;
            p.user = &l.c;
            callers_connect(&l.c, false, l.direct, direct_revision(from, between));
            callers_connect(&l.c, true, l.front, revisions[from]);
            compare_all(&p, rounds(8));
        }
        callers_leave(&l.c);
        mcp_server_free(l.front);
    }
    close_live(&l);
}

static void test_stdio(void **state)
{
    (void)state;
    compare_over(false);
}

static void test_http(void **state)
{
    (void)state;
    compare_over(true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stdio), cmocka_unit_test(test_http)};
    if (argc > 1)
        return serve(argc > 2 ? argv[2] : NULL);
    return cmocka_run_group_tests_name("upstream: live", tests, NULL, NULL);
}
