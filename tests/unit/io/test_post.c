/* test_post.c: a server on stdio whose handlers answer from their own threads, by posting, and from
 * the pool. The server runs in a thread, so that the thread sanitizer can check everything.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/io.h>

#include "support/wait.h"

enum { SLOW = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct {
    mcp_loop *loop;
    mcp_server *server;
    pthread_t thread;
    int to, from;
    int in, out;
    atomic_int slow_now, slow_most, threads, cancelled, finished;
    atomic_bool released;
    char text[1 << 20];
    size_t len, taken;
} s;

/* ---- tools ----------------------------------------------------------------------------------- */

static void slow_work(void *user)
{
    (void)user;
    int now = atomic_fetch_add(&s.slow_now, 1) + 1;
    int most = atomic_load(&s.slow_most);
    while (now > most && !atomic_compare_exchange_weak(&s.slow_most, &most, now))
        ;
    pthread_mutex_lock(&lock);
    while (!atomic_load(&s.released))
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    atomic_fetch_sub(&s.slow_now, 1);
}

static void slow_done(mcp_request *req, void *user)
{
    (void)user;
    mcp_reply_text(req, "slow");
    mcp_reply_finish(req, MCP_OK);
}

/* Blocks until it is released. */
static int slow(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_request_work(req, slow_work, slow_done, NULL);
}

/* Short work, like a read. */
static void quick_work(void *user)
{
    (void)user;
}

static int quick(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    return mcp_request_work(req, quick_work, slow_done, NULL);
}

static void report(mcp_request *req, void *user)
{
    mcp_request_progress(req, (double)(uintptr_t)user, 0, NULL);
}

static void finish(mcp_request *req, void *user)
{
    (void)user;
    mcp_reply_text(req, "from a thread");
    mcp_reply_finish(req, MCP_OK);
    atomic_fetch_add(&s.finished, 1);
}

static void *thread_main(void *arg)
{
    for (uintptr_t i = 1; i <= 3; i++) {
        if (mcp_request_post(arg, report, (void *)i) != MCP_OK)
            abort();
    }
    if (mcp_request_post(arg, finish, NULL) != MCP_OK)
        abort();
    return NULL;
}

static int start_thread(void *(*fn)(void *), mcp_request *req)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, fn, req) != 0)
        return MCP_EIO;
    pthread_detach(thread);
    return MCP_PENDING;
}

static int threaded(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return start_thread(thread_main, req);
}

/* Works until it notices the cancellation. */
static void *patient_main(void *arg)
{
    atomic_fetch_add(&s.threads, 1);
    while (!mcp_request_cancelled(arg))
        usleep(500);
    atomic_fetch_add(&s.cancelled, 1);
    if (mcp_request_post(arg, finish, NULL) != MCP_OK)
        abort();
    return NULL;
}

static int patient(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return start_thread(patient_main, req);
}

/* ---- the server's thread --------------------------------------------------------------------- */

static void *serve(void *arg)
{
    (void)arg;
    mcp_loop_serve_stdio(
        s.loop, s.server,
        MCP_OPTIONS(mcp_stdio_options, .input = s.in, .output = s.out, .no_signals = true), NULL);
    /* Cancelled work still posts. */
    while (atomic_load(&s.cancelled) < atomic_load(&s.threads) ||
           atomic_load(&s.finished) < atomic_load(&s.threads))
        mcp_loop_step(s.loop, 10);
    assert_int_equal(mcp_loop_drain(s.loop, 5000), MCP_OK);
    return NULL;
}

static int start(void **state)
{
    static const mcp_tool tools[] = {
        {.size = sizeof(mcp_tool), .name = "slow", .call = slow},
        {.size = sizeof(mcp_tool), .name = "threaded", .call = threaded},
        {.size = sizeof(mcp_tool), .name = "patient", .call = patient},
        {.size = sizeof(mcp_tool), .name = "late", .call = patient, .timeout_ms = 20},
    };
    int in[2], out[2];

    (void)state;
    memset(&s, 0, sizeof(s));
    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    s.in = in[0];
    s.to = in[1];
    s.from = out[0];
    s.out = out[1];
    assert_int_equal(mcp_loop_new(NULL, &s.loop, NULL), MCP_OK);
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "test", .version = "1",
                                                .coalesce_ms = 1, .host = mcp_loop_host(s.loop)),
                                    &s.server, NULL),
                     MCP_OK);
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        assert_int_equal(mcp_server_add_tool(s.server, &tools[i], NULL, NULL), MCP_OK);
    assert_int_equal(
        mcp_server_add_resource(s.server,
                                MCP_OPTIONS(mcp_resource, .uri = "r:", .name = "r", .read = quick),
                                NULL, NULL),
        MCP_OK);
    assert_int_equal(pthread_create(&s.thread, NULL, serve, NULL), 0);
    return 0;
}

static void hang_up(void)
{
    if (s.to >= 0)
        close(s.to);
    s.to = -1;
}

static int stop(void **state)
{
    (void)state;
    hang_up();
    pthread_join(s.thread, NULL);
    close(s.from);
    close(s.in);
    close(s.out);
    mcp_server_free(s.server);
    mcp_loop_free(s.loop);
    return 0;
}

/* ---- the peer -------------------------------------------------------------------------------- */

static void say(const char *format, ...)
{
    char text[1000];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    assert_int_equal(write(s.to, text, (size_t)len), len);
}

static void hello(void)
{
    say("{\"jsonrpc\":\"2.0\",\"id\":\"hello\",\"method\":\"initialize\",\"params\":{"
        "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
        "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
}

static void call_tool(int id, const char *name)
{
    say("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
        "\"_meta\":{\"progressToken\":%d}}}\n",
        id, name, id);
}

/* Returns the next line without its newline; fails after ten seconds. */
static char *next_line(void)
{
    char *end;

    while (!(end = memchr(s.text + s.taken, '\n', s.len - s.taken))) {
        struct pollfd p = {.fd = s.from, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 10000), 1);
        ssize_t n = read(s.from, s.text + s.len, sizeof(s.text) - s.len);
        assert_true(n > 0);
        s.len += (size_t)n;
    }
    char *line = s.text + s.taken;
    *end = 0;
    s.taken = (size_t)(end - s.text) + 1;
    return line;
}

#define assert_next(part) assert_non_null(strstr(next_line(), (part)))

static bool quiet(void)
{
    struct pollfd p = {.fd = s.from, .events = POLLIN};

    return s.taken == s.len && poll(&p, 1, 30) == 0;
}

static void until(atomic_int *what, int value)
{
    for (int64_t end = wait_end(); atomic_load(what) < value && wait_more(end);)
        usleep(500);
    assert_true(atomic_load(what) >= value);
}

/* ---- the tests ------------------------------------------------------------------------------- */

/* Two hundred blocking calls run concurrently; meanwhile everything else is answered. */
static void test_slow_calls_delay_nobody(void **state)
{
    bool answered[SLOW] = {false};

    (void)state;
    hello();
    assert_next("\"hello\"");
    for (int id = 0; id < SLOW; id++)
        call_tool(id, "slow");
    until(&s.slow_now, SLOW);
    say("{\"jsonrpc\":\"2.0\",\"id\":1000,\"method\":\"ping\"}\n");
    assert_next("\"id\":1000,\"result\"");
    call_tool(1001, "threaded");
    for (int i = 0; i < 3; i++)
        assert_next("notifications/progress");
    assert_next("\"id\":1001,\"result\"");
    say("{\"jsonrpc\":\"2.0\",\"id\":1002,\"method\":\"resources/"
        "read\",\"params\":{\"uri\":\"r:\"}}\n");
    assert_next("\"id\":1002,\"result\"");
    assert_true(quiet());
    pthread_mutex_lock(&lock);
    atomic_store(&s.released, true);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < SLOW; i++) {
        int id = -1;
        assert_int_equal(sscanf(next_line(), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\"", &id), 1);
        assert_in_range(id, 0, SLOW - 1);
        assert_false(answered[id]);
        answered[id] = true;
    }
    assert_int_equal(atomic_load(&s.slow_most), SLOW);
}

static void test_posted_answers(void **state)
{
    enum { N = 50 };
    int steps[N] = {0};

    (void)state;
    hello();
    assert_next("\"hello\"");
    for (int id = 0; id < N; id++)
        call_tool(id, "threaded");
    for (int i = 0; i < 4 * N; i++) {
        char *line = next_line();
        int id, step = 4;
        if (sscanf(line, "{\"jsonrpc\":\"2.0\",\"id\":%d,", &id) != 1)
            assert_int_equal(sscanf(strstr(line, "\"progressToken\":"),
                                    "\"progressToken\":%d,\"progress\":%d", &id, &step),
                             2);
        assert_in_range(id, 0, N - 1);
        assert_int_equal(++steps[id], step);
    }
    assert_true(quiet());
}

/* The thread notices the cancellation without a callback on the server's thread, and its answer is
 * discarded. */
static void test_cancelled_meanwhile(void **state)
{
    (void)state;
    hello();
    assert_next("\"hello\"");
    call_tool(1, "patient");
    until(&s.threads, 1);
    assert_int_equal(atomic_load(&s.cancelled), 0);
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
        "cancelled\",\"params\":{\"requestId\":1}}\n");
    until(&s.finished, 1);
    assert_true(quiet());
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"); /* its id is free */
    assert_next("\"id\":1,\"result\":{}");
}

static void test_too_late(void **state)
{
    (void)state;
    hello();
    assert_next("\"hello\"");
    call_tool(1, "late");
    assert_next("\"data\":{\"timeoutMs\":20}");
    until(&s.finished, 1);
    assert_true(quiet());
}

static void test_channel_gone_meanwhile(void **state)
{
    (void)state;
    hello();
    assert_next("\"hello\"");
    for (int id = 0; id < 10; id++)
        call_tool(id, "patient");
    until(&s.threads, 10);
    mcp_loop_stop(s.loop);
    until(&s.finished, 10);
}

/* ---- changes from threads -------------------------------------------------------------------- */

static void updated(mcp_server *server, void *user)
{
    mcp_server_resource_updated(server, user);
}

static void add_tool(mcp_server *server, void *user)
{
    const mcp_tool tool = {.size = sizeof(tool), .name = user, .call = slow};
    if (mcp_server_add_tool(server, &tool, NULL, NULL) < 0)
        abort();
    free(user);
}

static void *change(void *arg)
{
    static char uri[] = "r:";
    for (int i = 0; i < 50; i++) {
        char *name = malloc(32);
        snprintf(name, 32, "%s_%d", (const char *)arg, i);
        if (mcp_server_post(s.server, updated, uri) != MCP_OK ||
            mcp_server_post(s.server, add_tool, name) != MCP_OK)
            abort();
    }
    return NULL;
}

static void test_changes(void **state)
{
    static char names[4][2] = {"a", "b", "c", "d"};
    pthread_t threads[4];
    bool told_tools = false, told_resource = false;

    (void)state;
    hello();
    assert_next("\"hello\"");
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/"
        "subscribe\",\"params\":{\"uri\":\"r:\"}}\n");
    assert_next("\"id\":1,\"result\":{}");
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, change, names[i]);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n");
    for (bool listed = false; !listed || !told_tools || !told_resource;) {
        char *line = next_line();
        told_tools |= strstr(line, "notifications/tools/list_changed") != NULL;
        told_resource |= strstr(line, "notifications/resources/updated") != NULL;
        if (strstr(line, "\"id\":2"))
            listed = strstr(line, "\"name\":\"a_49\"") && strstr(line, "\"name\":\"d_49\"");
        if (strstr(line, "\"id\":2") && !listed) /* posted changes may arrive after the replies */
            say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_slow_calls_delay_nobody, start, stop),
        cmocka_unit_test_setup_teardown(test_posted_answers, start, stop),
        cmocka_unit_test_setup_teardown(test_cancelled_meanwhile, start, stop),
        cmocka_unit_test_setup_teardown(test_too_late, start, stop),
        cmocka_unit_test_setup_teardown(test_channel_gone_meanwhile, start, stop),
        cmocka_unit_test_setup_teardown(test_changes, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
