/* Real programs as tools: their input and environment, the handling of their output, and that no
 * process or descriptor is left, however they end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <command.h>
#include <mcp/io.h>
#include <mcp/sys/server.h>

#include "support/failalloc.h"
#include "support/nofiles.h"
#include "support/wait.h"

#define MODERN                                                               \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"progressToken\":\"p\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef struct world {
    failalloc memory;
    mcp_allocator allocator;
    mcp_loop *loop;
    mcp_server *server;
    mcp_channel *channel;
    char sent[1 << 20];
    size_t len;
} world;

static world w;

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)channel, (void)exchange, (void)user;
    assert_true(w.len + message.len + 2 < sizeof(w.sent));
    w.len += (size_t)sprintf(w.sent + w.len, "%.*s\n", (int)message.len, message.ptr);
}

static int setup(void **state)
{
    (void)state;
    memset(&w, 0, sizeof(w));
    w.allocator = failalloc_allocator(&w.memory);
    assert_int_equal(mcp_loop_new(NULL, &w.loop, NULL), MCP_OK);
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .host = mcp_loop_host(w.loop)),
                                    &w.server, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_connect(w.server, MCP_OPTIONS(mcp_channel_options, .send = on_send),
                                        &w.channel, NULL),
                     MCP_OK);
    return 0;
}

/* No child process is left to be reaped. */
static int teardown(void **state)
{
    (void)state;
    mcp_channel_free(w.channel);
    mcp_server_free(w.server);
    mcp_loop_free(w.loop);
    assert_int_equal(w.memory.live, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return 0;
}

#define WORDS(...)                               \
    .words = (const char *const[]){__VA_ARGS__}, \
    .n_words = COUNT(((const char *const[]){__VA_ARGS__}))
#define ADD(...)                                                                               \
    do {                                                                                       \
        mcp_error error_ = {0};                                                                \
        if (mcp_command_add(                                                                   \
                w.server,                                                                      \
                MCP_OPTIONS(mcp_command, .name = "t", .allocator = &w.allocator, __VA_ARGS__), \
                &error_) != MCP_OK)                                                            \
            fail_msg("%s", error_.text);                                                       \
    } while (0)

static void begin(int id, const char *call)
{
    char text[4096];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
             "\"arguments\":%s," MODERN "}}",
             id, call);
    mcp_channel_receive(w.channel, 0, mcp_str_from(text), mcp_loop_now(w.loop));
}

/* Runs the loop until the output has `what`, or until a time-out. */
static const char *until(const char *what)
{
    for (int64_t end = wait_end(); !strstr(w.sent, what) && wait_more(end);)
        mcp_loop_step(w.loop, 50);
    if (!strstr(w.sent, what))
        fail_msg("no %s in %s", what, w.sent);
    return w.sent;
}

static const char *call(const char *arguments)
{
    w.len = 0;
    w.sent[0] = 0;
    begin(1, arguments);
    return until("\"id\":1,");
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no %s in %s", part, text);
}

/* ---- input and environment ------------------------------------------------------------------- */

static void each_word_once(void **state)
{
    (void)state;
    ADD(WORDS("printf", "[%s]", "{a}", "b={b}", "{missing}", "last"),
        .input_schema =
            "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":"
            "\"integer\"},\"missing\":{\"type\":\"string\"}}}");
    assert_says(call("{\"a\":\"x; $(id) 'y' *\",\"b\":-3}"),
                "\"text\":\"[x; $(id) 'y' *][b=-3][last]\"");
    assert_says(call("{\"a\":\"-x\",\"b\":1}"), "\"isError\":true");
    assert_says(w.sent, "may not begin with a minus");
    assert_says(call("{\"a\":7}"), "\"isError\":true"); /* the schema rejects it */
}

static void behind_two_dashes(void **state)
{
    (void)state;
    ADD(WORDS("printf", "[%s]", "--", "{a}"));
    assert_says(call("{\"a\":\"-x\"}"), "\"text\":\"[--][-x]\"");
    assert_says(call("{}"), "\"isError\":true"); /* required, where no schema says otherwise */
    assert_says(call("{\"a\":\"x\",\"b\":\"y\"}"), "\"isError\":true");
}

static void nothing_but_what_is_given(void **state)
{
    (void)state;
    setenv("SECRET", "x", 1);
    ADD(WORDS("sh", "-c", "echo $A-$SECRET-$(pwd)-$(cat)-$(ls /proc/self/fd | wc -l)"),
        .folder = "/", .environment = (const char *const[]){"A=b", "PATH=/usr/bin:/bin"},
        .n_environment = 2);
    /* three standard descriptors and the one that ls opens */
    assert_says(call("{}"), "\"text\":\"b--/--4\\n\"");
}

static void its_input(void **state)
{
    (void)state;
    ADD(WORDS("cat"), .input = "<{a}>");
    assert_says(call("{\"a\":\"-n\\nline\"}"), "\"text\":\"<-n\\nline>\"");
}

/* The program inherits no ignored or blocked signals. */
static void its_signals(void **state)
{
    sigset_t set;
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    ADD(WORDS("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"));
    const char *said = call("{}");
    assert_says(said, "SigBlk:\\t0000000000000000");
    assert_says(said,
                "0000000\\n\""); /* the lowest 28 signals; the C library keeps two high ones */
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void what_it_is(void **state)
{
    static const struct {
        const char *script, *mime, *expected;
    } table[] = {
        {"printf 'caf\\303\\251'", NULL, "{\"type\":\"text\",\"text\":\"café\"}"},
        {"printf '\\377\\000'", NULL,
         "\"mimeType\":\"application/octet-stream\",\"blob\":\"/wA=\""},
        {"printf '\\377\\000'", "text/plain", "\"application/octet-stream\""},
        {"printf 'a,b'", "text/csv", "\"mimeType\":\"text/csv\",\"text\":\"a,b\""},
        {"printf 'PNG'", "image/png",
         "\"type\":\"image\",\"data\":\"UE5H\",\"mimeType\":\"image/png\""},
        {"printf '{}'", "application/json", "{\"type\":\"text\",\"text\":\"{}\"}"},
        {"true", "image/png", "{\"type\":\"text\",\"text\":\"\"}"},
        {"echo not shown >&2", NULL, "{\"type\":\"text\",\"text\":\"\"}"},
        /* a program that enlarges its pipe (F_SETPIPE_SZ), and ends at once */
        {"exec perl -e 'fcntl(STDOUT, 1031, 1 << 20); syswrite STDOUT, \"x\" x 500000 . \"end\"'",
         NULL, "xend\"}"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        ADD(WORDS("sh", "-c", table[i].script), .mime_type = table[i].mime);
        assert_says(call("{}"), table[i].expected);
        assert_null(strstr(w.sent, "\"isError\":true"));
        assert_int_equal(mcp_server_remove_tool(w.server, "t"), MCP_OK);
    }
}

static void how_it_ends(void **state)
{
    static const struct {
        const char *script, *expected, *too;
    } table[] = {
        {"echo part; echo why >&2; exit 3", "t ended with status 3:\\nwhy", "\"text\":\"part\\n\""},
        {"kill -9 $$", "t was ended by signal 9", "\"isError\":true"},
        {"printf 'a\\377b' >&2; exit 1", "t ended with status 1:\\na?b", "\"isError\":true"},
        {"head -c 100000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 1", "xxxend",
         "\"isError\":true"},
        {"sleep 60", "took longer than 300 ms", "\"isError\":true"},
        {"trap '' TERM; sleep 60 & wait; wait", "took longer than 300 ms", "\"isError\":true"},
        {"yes", "wrote more than 4096 bytes", "\"isError\":true"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        ADD(WORDS("sh", "-c", table[i].script), .timeout_ms = 300, .max_output = 4096,
            .kill_ms = 100);
        assert_says(call("{}"), table[i].expected);
        assert_says(w.sent, table[i].too);
        assert_true(w.len < 20000);
        assert_int_equal(mcp_server_remove_tool(w.server, "t"), MCP_OK);
    }
}

static void cannot_be_started(void **state)
{
    (void)state;
    ADD(WORDS("/no/such/program"));
    assert_says(call("{}"), "t cannot be started: No such file or directory");
    mcp_server_remove_tool(w.server, "t");
    ADD(WORDS("true"), .folder = "/no/such/folder");
    assert_says(call("{}"), "cannot be started");
}

/* ---- nothing is left ------------------------------------------------------------------------- */

/* Returns whether the process exists. A zombie that init must reap counts as ended. */
static bool is_alive(int pid)
{
    char path[64], text[256];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    text[n] = 0;
    if (f)
        fclose(f);
    const char *state = strrchr(text, ')');
    return state && state[2] != 'Z' && state[2] != 'X';
}

static void assert_gone(int pid)
{
    for (int64_t end = wait_end(); is_alive(pid) && wait_more(end);)
        usleep(20000);
    assert_false(is_alive(pid));
}

static int read_pid(const char *path)
{
    int pid = 0;
    for (int64_t end = wait_end(); pid == 0 && wait_more(end);) {
        mcp_loop_step(w.loop, 20);
        FILE *f = fopen(path, "r");
        if (f && fscanf(f, "%d", &pid) != 1)
            pid = 0;
        if (f)
            fclose(f);
    }
    assert_true(pid > 0);
    remove(path);
    return pid;
}

/* Adds a tool whose program starts a child and writes the pid of the child. */
static void add_family(char path[64], const char *end)
{
    char script[256];
    snprintf(path, 64, "/tmp/mcp-command-%d", (int)getpid());
    remove(path);
    snprintf(script, sizeof(script), "sleep 600 & echo $! > %s; %s", path, end);
    ADD(WORDS("sh", "-c", script), .kill_ms = 100);
}

static bool children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void cancelled_with_its_group(void **state)
{
    char path[64];
    (void)state;
    add_family(path, "trap '' TERM; wait");
    begin(7, "{}");
    int pid = read_pid(path);
    mcp_channel_receive(w.channel, 0,
                        MCP_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                "\"params\":{\"requestId\":7," MODERN "}}"),
                        mcp_loop_now(w.loop));
    for (int64_t end = wait_end(); is_alive(pid) && wait_more(end);)
        mcp_loop_step(w.loop, 20);
    assert_gone(pid);
    assert_null(strstr(w.sent, "\"id\":7"));
    for (int64_t end = wait_end(); children() && wait_more(end);)
        mcp_loop_step(w.loop, 20);
}

static void what_it_leaves_running(void **state)
{
    char path[64];
    (void)state;
    add_family(path, "echo done");
    assert_says(call("{}"), "done");
    assert_gone(read_pid(path));
}

static void with_the_server(void **state)
{
    char path[64];
    (void)state;
    add_family(path, "wait");
    begin(7, "{}");
    int pid = read_pid(path);
    mcp_channel_free(w.channel);
    mcp_server_free(w.server);
    w.channel = NULL;
    w.server = NULL;
    assert_gone(pid);
}

/* ---- concurrent and long-running programs ---------------------------------------------------- */

static void so_many_at_a_time(void **state)
{
    (void)state;
    ADD(WORDS("sleep", "0.3"), .concurrency = 2);
    for (int id = 1; id <= 3; id++)
        begin(id, "{}");
    assert_says(w.sent, "\"id\":3,\"result\"");
    assert_says(w.sent, "t is already running 2 times");
    until("\"id\":1,\"result\"");
    until("\"id\":2,\"result\"");
    w.len = 0;
    begin(4, "{}");
    until("\"id\":4,\"result\"");
    assert_null(strstr(w.sent, "already"));
}

static void it_says_that_it_runs(void **state)
{
    (void)state;
    ADD(WORDS("sh", "-c", "printf abc; sleep 1.3"));
    const char *said = call("{}");
    assert_says(said, "notifications/progress");
    assert_says(said, "t: 3 bytes so far");
}

/* ---- registering ----------------------------------------------------------------------------- */

static void refused(void **state)
{
    const struct {
        mcp_command o;
        const char *why;
    } table[] = {
        {{.name = "t"}, "must have a name and a program"},
        {{.name = "t", WORDS("")}, "must have a name and a program"},
        {{.name = "t", WORDS("{a}")}, "the program cannot be an argument: {a}"},
        {{.name = "t", WORDS("x", "{a}"), .input_schema = "{\"type\":\"object\"}"},
         "{a} is not an argument of the input schema"},
        {{.name = "t", WORDS("x"), .input = "{a}", .input_schema = "{\"type\":\"object\"}"},
         "{a} is not an argument"},
        {{.name = "t",
          WORDS("x", "{a}"),
          .input_schema =
              "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":[\"null\",\"array\"]}}}"},
         "it is an array or an object"},
        {{.name = "t", WORDS("x"), .input_schema = "{"}, "the input schema"},
        {{.name = "t", WORDS("x"), .input_schema = "{\"type\":\"string\"}"}, "\"type\":\"object\""},
        {{.name = "a b", WORDS("x")}, "a tool's name"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        mcp_command o = table[i].o;
        mcp_error error = {0};
        o.size = sizeof(o);
        o.allocator = &w.allocator;
        assert_int_equal(mcp_command_add(w.server, &o, &error), MCP_EINVAL);
        assert_says(error.text, table[i].why);
    }
}

static void every_allocation(void **state)
{
    (void)state;
    for (size_t n = 1; n < 200; n++) {
        w.memory.calls = 0;
        w.memory.fail_at = n;
        mcp_error error = {0};
        int rc = mcp_command_add(
            w.server,
            MCP_OPTIONS(mcp_command, .name = "t", .allocator = &w.allocator,
                        WORDS("printf", "%s", "{a}"), .input = "{a}", .folder = "/",
                        .environment = (const char *const[]){"A=b"}, .n_environment = 1),
            &error);
        if (rc == MCP_OK) {
            call("{\"a\":\"text\"}");
            until("\"id\":1,");
            mcp_server_remove_tool(w.server, "t");
        } else {
            assert_int_equal(rc, MCP_ENOMEM);
        }
        if (w.memory.calls < n)
            break;
    }
    w.memory.fail_at = 0;
}

/* The error is the server's, not output of the program. */
static void without_descriptors(void **state)
{
    (void)state;
    ADD(WORDS("cat"), .input = "<{a}>");
    for (int left = 0; left < 4; left++) { /* its input, two pipes */
        w.len = 0;
        w.sent[0] = 0;
        nofiles_begin(left);
        begin(1, "{\"a\":\"x\"}");
        nofiles_end();
        assert_says(w.sent, NOFILES);
    }
    assert_says(call("{\"a\":\"x\"}"), "\"text\":\"<x>\"");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_word_once),
        TEST(behind_two_dashes),
        TEST(nothing_but_what_is_given),
        TEST(its_input),
        TEST(its_signals),
        TEST(what_it_is),
        TEST(how_it_ends),
        TEST(cannot_be_started),
        TEST(cancelled_with_its_group),
        TEST(what_it_leaves_running),
        TEST(with_the_server),
        TEST(so_many_at_a_time),
        TEST(it_says_that_it_runs),
        TEST(refused),
        TEST(every_allocation),
        TEST(without_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
