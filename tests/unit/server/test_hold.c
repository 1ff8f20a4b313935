/* The memory limit for work: how many bytes are held at once, the order of callers, and the outcome
 * of waiting jobs. The host runs work when the test requests it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#include "support/failalloc.h"

enum { MIB = 1 << 20, LIMIT = 24 * MIB, READ = 3 * MIB, COST = 7 * MIB + 4, MANY = 150 };

typedef struct job {
    void (*work)(void *arg), (*done)(void *arg);
    void *arg;
} job;

typedef struct rig {
    failalloc memory;
    mcp_allocator allocator;
    mcp_host host;
    mcp_server *server;
    mcp_channel *channel[3];
    size_t bytes; /* for the next job */
    bool refuses; /* the host takes no work */
    int64_t now;
    job jobs[MANY];
    size_t n_jobs;
    void (*timer)(void *arg);
    void *timer_arg;
    uint64_t timer_ms;
    size_t n_worked, n_done, n_answers, n_errors;
    char order[2048]; /* the callers whose jobs ran, in order */
    char last[2048];
} rig;

/* The job of one call. */
typedef struct task {
    rig *r;
    char name;
} task;

static void worked(void *user)
{
    task *t = user;
    t->r->order[t->r->n_worked++] = t->name;
}

static void done(mcp_request *req, void *user)
{
    task *t = user;
    t->r->n_done++;
    mcp_reply_finish(req, mcp_reply_text(req, "read"));
}

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    rig *r = user;
    task *t = mcp_request_alloc(req, sizeof(*t));
    (void)arguments;
    if (!t)
        return MCP_ENOMEM;
    *t = (task){r, *mcp_request_principal(req)};
    return mcp_request_work_sized(req, r->bytes, worked, done, t);
}

static int host_work(void (*fn)(void *), void (*end)(void *), void *arg, void *user)
{
    rig *r = user;
    if (r->refuses)
        return MCP_ELIMIT;
    assert_true(r->n_jobs < MANY);
    r->jobs[r->n_jobs++] = (job){fn, end, arg};
    return MCP_OK;
}

static mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *), void *arg, void *user)
{
    rig *r = user;
    assert_null(r->timer);
    r->timer = fn;
    r->timer_arg = arg;
    r->timer_ms = ms;
    return (mcp_host_timer *)r;
}

static void timer_stop(mcp_host_timer *timer, void *user)
{
    assert_ptr_equal(user, timer);
    ((rig *)user)->timer = NULL;
}

static int64_t now(void *user)
{
    return ((rig *)user)->now;
}

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    rig *r = user;
    (void)channel, (void)exchange;
    snprintf(r->last, sizeof(r->last), "%.*s", (int)message.len, message.ptr);
    r->n_answers++;
    r->n_errors += strstr(r->last, "\"error\"") != NULL;
}

static void begin(rig *r)
{
    static const char *const names[] = {"a", "b", "c"};
    *r = (rig){.bytes = READ, .now = 1000};
    r->allocator = failalloc_allocator(&r->memory);
    r->host = (mcp_host){.size = sizeof(r->host),
                         .user = r,
                         .now = now,
                         .timer_start = timer_start,
                         .timer_stop = timer_stop,
                         .work = host_work};
    const mcp_server_options options = {.size = sizeof(options),
                                        .name = "s",
                                        .version = "1",
                                        .host = &r->host,
                                        .allocator = &r->allocator,
                                        .no_rate_limits = true,
                                        .max_work_memory = LIMIT};
    assert_int_equal(mcp_server_new(&options, &r->server, NULL), MCP_OK);
    assert_int_equal(
        mcp_server_add_tool(r->server, MCP_OPTIONS(mcp_tool, .name = "t", .call = call), r, NULL),
        MCP_OK);
    for (size_t i = 0; i < 3; i++) {
        const mcp_channel_options channel = {.size = sizeof(channel),
                                             .send = on_send,
                                             .user = r,
                                             .principal = names[i],
                                             .max_in_flight = 5000};
        assert_int_equal(mcp_server_connect(r->server, &channel, &r->channel[i], NULL), MCP_OK);
    }
}

static void end(rig *r)
{
    for (size_t i = 0; i < 3; i++)
        mcp_channel_free(r->channel[i]);
    mcp_server_free(r->server);
    assert_null(r->timer);
    assert_int_equal(r->memory.live, 0);
}

static void ask(rig *r, size_t who, int id)
{
    char message[512];
    int len = snprintf(message, sizeof(message),
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                       "\"name\":\"t\",\"_meta\":{"
                       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                       "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                       id);
    assert_int_equal(
        mcp_channel_receive(r->channel[who], 0, (mcp_str){message, (size_t)len}, r->now), MCP_OK);
}

static void cancel(rig *r, size_t who, int id)
{
    char message[128];
    int len = snprintf(message, sizeof(message),
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                       "\"requestId\":%d}}",
                       id);
    mcp_channel_receive(r->channel[who], 0, (mcp_str){message, (size_t)len}, r->now);
}

static mcp_work_memory memory_of(const rig *r)
{
    mcp_work_memory m = {.size = sizeof(m)};
    mcp_server_get_work_memory(r->server, &m);
    return m;
}

static void fire(rig *r)
{
    void (*fn)(void *arg) = r->timer;
    assert_non_null(fn);
    fn(r->timer_arg);
}

/* Runs the oldest job of the host. */
static void run_one(rig *r)
{
    assert_true(r->n_jobs > 0);
    job j = r->jobs[0];
    memmove(r->jobs, r->jobs + 1, --r->n_jobs * sizeof(*r->jobs));
    j.work(j.arg);
    j.done(j.arg);
    if (r->timer && r->timer_ms == 0)
        fire(r);
}

static void test_no_more_than_the_limit(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    for (int i = 0; i < MANY; i++)
        ask(&r, 0, i);
    for (int i = 0; i < MANY; i++) {
        assert_in_range(r.n_jobs, 1, LIMIT / COST);
        assert_int_equal(memory_of(&r).held, r.n_jobs * COST);
        run_one(&r);
    }
    mcp_work_memory m = memory_of(&r);
    assert_int_equal(m.limit, LIMIT);
    assert_int_equal(m.most, LIMIT / COST * COST);
    assert_int_equal(m.held + m.n_waiting + m.refused, 0);
    assert_int_equal(m.waited, MANY - LIMIT / COST);
    assert_int_equal(r.n_answers, MANY);
    assert_int_equal(r.n_errors, 0);
    end(&r);
}

static void test_callers_take_turns(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    for (int i = 0; i < 7; i++)
        ask(&r, 0, i);
    ask(&r, 1, 0);
    ask(&r, 1, 1);
    ask(&r, 2, 0);
    while (r.n_jobs)
        run_one(&r);
    assert_string_equal(r.order, "aaaabcabaa");
    end(&r);
}

static void test_small_reads_do_not_wait(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    for (int i = 0; i < 5; i++)
        ask(&r, 0, i);
    assert_int_equal(r.n_jobs, 3);
    r.bytes = 60 << 10;
    ask(&r, 0, 5);
    assert_int_equal(r.n_jobs, 4);
    assert_int_equal(memory_of(&r).held, 3 * COST);
    while (r.n_jobs)
        run_one(&r);
    end(&r);
}

static void test_larger_than_the_limit_runs_alone(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    ask(&r, 0, 0);
    r.bytes = SIZE_MAX;
    ask(&r, 1, 0);
    r.bytes = READ;
    ask(&r, 2, 0); /* would fit, but waits behind an earlier one */
    assert_int_equal(r.n_jobs, 1);
    run_one(&r);
    assert_int_equal(r.n_jobs, 1);
    run_one(&r);
    assert_string_equal(r.order, "ab");
    run_one(&r);
    assert_string_equal(r.order, "abc");
    assert_int_equal(memory_of(&r).held, 0);
    end(&r);
}

static void test_who_waits_too_long_is_refused(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    for (int i = 0; i < 5; i++)
        ask(&r, 0, i);
    r.now += 29999;
    fire(&r);
    assert_int_equal(r.n_answers, 0);
    r.now += 1;
    fire(&r);
    assert_int_equal(r.n_answers, 2);
    assert_int_equal(r.n_errors, 2);
    assert_non_null(strstr(r.last, "25165824 bytes (max_work_memory): try again later"));
    assert_non_null(strstr(r.last, "\"retryAfterMs\":1000"));
    assert_null(r.timer);
    while (r.n_jobs)
        run_one(&r);
    assert_int_equal(r.n_worked, 3);
    assert_int_equal(r.n_done, 5);
    end(&r);
}

static void test_too_many_wait(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    for (int i = 0; i < 3 + 1024; i++)
        ask(&r, 0, i);
    assert_int_equal(r.n_answers, 0);
    ask(&r, 0, 2000);
    assert_int_equal(r.n_errors, 1);
    assert_non_null(strstr(r.last, "too many large reads are waiting"));
    ask(&r, 1, 0); /* another caller may wait */
    assert_int_equal(r.n_answers, 1);
    while (r.n_jobs)
        run_one(&r);
    assert_int_equal(r.n_errors, 1);
    assert_int_equal(r.n_answers, 3 + 1024 + 2);
    end(&r);
}

static void test_cancelled_while_it_waits(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    for (int i = 0; i < 5; i++)
        ask(&r, 0, i);
    cancel(&r, 0, 4);
    cancel(&r, 0, 1); /* is at work */
    assert_int_equal(r.n_done, 1);
    assert_int_equal(memory_of(&r).n_waiting, 1);
    mcp_channel_free(r.channel[0]);
    r.channel[0] = NULL;
    assert_int_equal(r.n_done, 2);
    assert_int_equal(memory_of(&r).n_waiting, 0);
    assert_null(r.timer);
    assert_int_equal(memory_of(&r).held, 3 * COST);
    while (r.n_jobs)
        run_one(&r);
    assert_int_equal(memory_of(&r).held, 0);
    assert_int_equal(r.n_answers, 0);
    end(&r);
}

static void test_the_host_takes_no_work(void **state)
{
    (void)state;
    rig r;
    begin(&r);
    for (int i = 0; i < 4; i++)
        ask(&r, 0, i);
    r.refuses = true;
    run_one(&r);
    assert_int_equal(r.n_errors, 1);
    assert_int_equal(r.n_done, 2);
    assert_int_equal(memory_of(&r).held, 2 * COST);
    ask(&r, 0, 9);
    assert_int_equal(r.n_errors, 2);
    assert_int_equal(memory_of(&r).held, 2 * COST);
    while (r.n_jobs)
        run_one(&r);
    end(&r);
}

static void test_without_memory(void **state)
{
    (void)state;
    for (size_t at = 1;; at++) {
        rig r;
        begin(&r);
        for (int i = 0; i < 3; i++)
            ask(&r, 0, i);
        r.memory.fail_at = r.memory.calls + at;
        char message[512];
        int len = snprintf(message, sizeof(message),
                           "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{"
                           "\"name\":\"t\",\"_meta\":{"
                           "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                           "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
        mcp_channel_receive(r.channel[1], 0, (mcp_str){message, (size_t)len}, r.now);
        while (r.n_jobs)
            run_one(&r);
        bool failed = r.memory.calls >= r.memory.fail_at;
        r.memory.fail_at = 0;
        assert_int_equal(memory_of(&r).held + memory_of(&r).n_waiting, 0);
        end(&r);
        if (!failed)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_more_than_the_limit),
        cmocka_unit_test(test_callers_take_turns),
        cmocka_unit_test(test_small_reads_do_not_wait),
        cmocka_unit_test(test_larger_than_the_limit_runs_alone),
        cmocka_unit_test(test_who_waits_too_long_is_refused),
        cmocka_unit_test(test_too_many_wait),
        cmocka_unit_test(test_cancelled_while_it_waits),
        cmocka_unit_test(test_the_host_takes_no_work),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
