/* test_source_child.c: `mcpd --source-child` as a service: what a module may do in it, its start-up
 * time, its memory limit, and the errors when it cannot start. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/sys/children.h>

#include "support/wait.h"

typedef struct fixture {
    mcp_loop *loop;
    mcp_client *client;
    mcp_service *service;
    mcp_service_use use;
    int ready, rc, done, ends;
    mcp_service_cause cause;
    char text[5000], log[2000];
} fixture;

static char folder[] = "/tmp/mcp-source-XXXXXX";
static char source[64];

static void on_ready(int rc, const mcp_error *error, void *user)
{
    fixture *f = user;

    (void)error;
    f->ready++;
    f->rc = rc;
}

static void on_end(const mcp_service_end *end, void *user)
{
    fixture *f = user;

    f->ends++;
    f->cause = end->cause;
}

static void on_log(const char *level, const char *line, void *user)
{
    fixture *f = user;
    size_t n = strlen(f->log);

    (void)level;
    snprintf(f->log + n, sizeof(f->log) - n, "%s\n", line);
}

static void on_result(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                      void *user)
{
    fixture *f = user;

    (void)client;
    (void)error;
    f->done++;
    f->rc = rc;
    const mcp_json *first = mcp_json_at(mcp_json_get(result, "contents"), 0);
    mcp_str text = mcp_json_string(mcp_json_get(first, "text"));
    snprintf(f->text, sizeof(f->text), "%.*s", (int)text.len, text.len ? text.ptr : "");
}

static void open_fixture(fixture *f, const char *line, uint64_t max_data)
{
    const char *const argv[] = {MCPD, "--source-child", NULL}, *const env[] = {NULL};

    *f = (fixture){.use = {.ready = on_ready, .user = f}};
    assert_int_equal(mcp_loop_new(NULL, &f->loop, NULL), MCP_OK);
    assert_int_equal(mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "t", .version = "1",
                                                .revision = "2026-07-28"),
                                    &f->client, NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_service_new(f->loop,
                        MCP_OPTIONS(mcp_service_options, .name = "source", .argv = argv, .env = env,
                                    .client = f->client, .own_pipes = true, .first_line = line,
                                    .max_data = max_data, .max_files = 256, .with_parent = true,
                                    .start_ms = 5000, .on_end = on_end, .log = on_log, .user = f),
                        &f->service, NULL),
        MCP_OK);
}

static void close_fixture(fixture *f)
{
    mcp_service_free(f->service);
    mcp_client_free(f->client);
    mcp_loop_free(f->loop);
}

static int begin(fixture *f)
{
    f->ready = 0;
    assert_int_equal(mcp_service_begin(f->service, &f->use, NULL), MCP_PENDING);
    for (int64_t end = wait_end(); !f->ready && wait_more(end);)
        mcp_loop_step(f->loop, 10);
    assert_int_equal(f->ready, 1);
    return f->rc;
}

static void read_uri(fixture *f, const char *uri)
{
    f->done = 0;
    assert_int_equal(mcp_client_read(f->client, uri,
                                     MCP_OPTIONS(mcp_call_options, .done = on_result, .user = f),
                                     NULL),
                     MCP_OK);
    for (int64_t end = wait_end(); !f->done && wait_more(end);)
        mcp_loop_step(f->loop, 10);
    assert_int_equal(f->done, 1);
}

static bool has(mcp_sandbox_kind kind)
{
    mcp_sandbox_part part = {.size = sizeof(part)};

    for (size_t i = 0; mcp_sandbox_probe(i, &part) == MCP_OK; i++) {
        if (part.kind == kind)
            return part.given;
    }
    return false;
}

static void line_for(char *to, size_t room, const char *what)
{
    snprintf(to, room,
             "{\"module\":\"probe\",\"file\":\"" PROBE "\",\"source\":\"%s\",\"read\":[\"%s\"]}",
             what, what);
}

/* Each attempt of the module, and the error that it must get, or NULL if it must succeed. */
static void test_probe(void **state)
{
    static const char *const forbidden[] = {"source-write", "passwd", "create", "parent-environ",
                                            "parent-memory"};
    static const char *const calls[] = {"connect", "ptrace", "kill", "fork"};
    fixture f;
    char line[300], good[40];

    (void)state;
    line_for(line, sizeof(line), source);
    open_fixture(&f, line, 0);
    assert_int_equal(begin(&f), MCP_OK);
    read_uri(&f, "probe://report");
    assert_int_equal(f.rc, MCP_OK);
    assert_non_null(strstr(f.text, "source 0\n"));
    assert_non_null(strstr(f.text, "core=0 env=0 0\n"));
    assert_null(strstr(f.text, "inherited"));
    for (size_t i = 0; has(MCP_SANDBOX_FILES) && i < 5; i++) {
        snprintf(good, sizeof(good), "\n%s 0\n", forbidden[i]);
        if (strstr(f.text, good))
            fail_msg("it could do this: %s", forbidden[i]);
    }
    for (size_t i = 0; has(MCP_SANDBOX_CALLS) && i < 4; i++) {
        snprintf(good, sizeof(good), "\n%s 0\n", calls[i]);
        if (strstr(f.text, good))
            fail_msg("it could do this: %s", calls[i]);
    }
    close_fixture(&f);
}

static uint64_t private_memory(long pid)
{
    char path[64], row[200];
    uint64_t kib = 0;
    snprintf(path, sizeof(path), "/proc/%ld/smaps_rollup", pid);
    FILE *file = fopen(path, "r");

    while (file && fgets(row, sizeof(row), file)) {
        if (strncmp(row, "Private_", 8) == 0)
            kib += strtoull(strchr(row, ':') + 1, NULL, 10);
    }
    if (file)
        fclose(file);
    return kib;
}

static void test_cost(void **state)
{
    mcp_service_state now = {.size = sizeof(now)};
    struct timespec from, to;
    fixture f;
    char line[300];

    (void)state;
    line_for(line, sizeof(line), source);
    /* The shadow memory of a sanitizer counts as data. */
    open_fixture(&f, line, SANITIZED ? 0 : UINT64_C(256) * 1024 * 1024);
    clock_gettime(CLOCK_MONOTONIC, &from);
    assert_int_equal(begin(&f), MCP_OK);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
    mcp_service_get_state(f.service, &now);
    uint64_t kib = private_memory(now.pid); /* this needs root */
    print_message("# start and handshake: %.1f ms, private memory: %llu KiB\n", ms,
                  (unsigned long long)kib);
    assert_true(kib < 2560 || SANITIZED);
    close_fixture(&f);
}

static void test_cannot_start(void **state)
{
    static const struct {
        const char *line, *said;
    } cases[] = {
        {"x", "source: "},
        {"{}", "the source has no module"},
        {"{\"module\":\"none\",\"source\":\"x\"}", "there is no module none"},
        {"{\"module\":\"probe\",\"file\":\"/no/such.so\",\"source\":\"x\"}", "/no/such.so"},
        {"{\"module\":\"probe\",\"file\":\"" PROBE "\",\"source\":\"refuse\"}", "not found"},
        {"{\"module\":\"probe\",\"file\":\"" PROBE "\",\"source\":\"x\",\"read\":[1]}",
         "a path of the source is not a string"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fixture f;
        open_fixture(&f, cases[i].line, 0);
        assert_int_equal(begin(&f), MCP_ECLOSED);
        for (int64_t end = wait_end(); !f.ends && wait_more(end);)
            mcp_loop_step(f.loop, 10);
        assert_int_equal(f.cause, MCP_SERVICE_EXITED);
        if (!strstr(f.log, cases[i].said))
            fail_msg("\"%s\" is not in \"%s\"", cases[i].said, f.log);
        close_fixture(&f);
    }
}

/* A module that ends its process, and one whose function never returns. */
static void test_contained(void **state)
{
    fixture f;
    char line[300];

    (void)state;
    line_for(line, sizeof(line), "crash");
    open_fixture(&f, line, 0);
    assert_int_equal(begin(&f), MCP_ECLOSED);
    for (int64_t end = wait_end(); !f.ends && wait_more(end);)
        mcp_loop_step(f.loop, 10);
    assert_int_equal(f.cause, SANITIZED ? MCP_SERVICE_EXITED : MCP_SERVICE_KILLED);
    close_fixture(&f);

    line_for(line, sizeof(line), "spin");
    open_fixture(&f, line, 0);
    assert_int_equal(mcp_service_begin(f.service, &f.use, NULL), MCP_PENDING);
    for (int i = 0; i < 10; i++)
        mcp_loop_step(f.loop, 10);
    mcp_service_abort(f.service, "it took too long");
    for (int64_t end = wait_end(); !f.ends && wait_more(end);)
        mcp_loop_step(f.loop, 10);
    assert_int_equal(f.cause, MCP_SERVICE_ABORTED);
    assert_int_equal(f.rc, MCP_ETIMEOUT);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_cannot_start),
        cmocka_unit_test(test_contained),
    };
    if (!mkdtemp(folder))
        return 1;
    snprintf(source, sizeof(source), "%s/data", folder);
    close(open(source, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(source);
    rmdir(folder);
    return rc;
}
