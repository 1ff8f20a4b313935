/* Tasks, the timers of the host and the calendar, and very many of them.
 */
#include "task_rig.h"

#define DAY_MS 86400000

/* ---- time ------------------------------------------------------------------------------------ */

typedef struct clockwork {
    void (*fn)(void *arg);
    void *arg;
    uint64_t ms;
    size_t started, stopped;
} clockwork;

static mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *arg), void *arg, void *user)
{
    clockwork *c = user;
    c->fn = fn;
    c->arg = arg;
    c->ms = ms;
    c->started++;
    return (mcp_host_timer *)user;
}

static void timer_stop(mcp_host_timer *timer, void *user)
{
    assert_ptr_equal(user, timer);
    ((clockwork *)user)->stopped++;
}

/* The host's timer cancels a task that runs too long, even without any channel that ticks. */
static void test_timer_of_the_host(void **state)
{
    (void)state;
    clockwork c = {0};
    const mcp_host host = {
        .size = sizeof(host), .user = &c, .timer_start = timer_start, .timer_stop = timer_stop};
    world *w = calloc(1, sizeof(*w));
    world_open(w, &host, MCP_OPTIONS(mcp_task_settings, .default_ttl_ms = 5000), as_task);
    mcp_channel *channel = peer(w, NULL);
    make_task(w, channel);
    assert_int_equal(c.ms, 5000);
    assert_true(mcp_channel_deadline(channel) != w->r.now + 5000);
    mcp_channel_free(channel);
    w->calendar += 4999;
    c.fn(c.arg); /* too early: it is set again */
    assert_int_equal(w->r.n_cancelled, 0);
    assert_int_equal(c.started, 2);
    w->calendar += 1;
    c.fn(c.arg);
    assert_int_equal(w->r.n_cancelled, 1);
    assert_int_equal(c.started, c.stopped);
    finish(w, 0);
    rig_close(&w->r);
    free(w);
}

/* A host that is removed takes its timers with it, including those of running tasks. */
static void test_host_changes(void **state)
{
    (void)state;
    clockwork first = {0}, second = {0};
    mcp_host host = {
        .size = sizeof(host), .user = &first, .timer_start = timer_start, .timer_stop = timer_stop};
    world *w = calloc(1, sizeof(*w));
    world_open(w, &host, MCP_OPTIONS(mcp_task_settings, .default_ttl_ms = 5000), as_task);
    mcp_channel *channel = peer(w, NULL);
    make_task(w, channel);
    host.user = &second;
    mcp_server_set_host(w->r.server, &host);
    assert_int_equal(first.started, first.stopped);
    assert_int_equal(second.ms, 5000);
    assert_int_equal(w->r.n_cancelled, 0);
    mcp_server_set_host(w->r.server, NULL);
    assert_int_equal(second.started, second.stopped);
    assert_int_equal(w->r.n_cancelled, 1);
    assert_has(ask_of(w, channel, "tasks/get"), "\"cancelled\"");
    finish(w, 0);
    /* Without a host, the ticks of a channel cancel it. */
    w->calendar += 5000;
    assert_true(mcp_channel_deadline(channel) <= w->r.now);
    mcp_channel_free(channel);
    rig_close(&w->r);
    assert_int_equal(second.started, second.stopped);
    free(w);
}

/* Expired tasks do not count for the limit, even if no timer has fired yet. */
static void test_room_in_time(void **state)
{
    (void)state;
    clockwork c = {0};
    const mcp_host host = {
        .size = sizeof(host), .user = &c, .timer_start = timer_start, .timer_stop = timer_stop};
    world *w = calloc(1, sizeof(*w));
    world_open(w, &host, MCP_OPTIONS(mcp_task_settings, .default_ttl_ms = 5000, .max_tasks = 1),
               at_once);
    mcp_channel *channel = peer(w, NULL);
    assert_has(make_task(w, channel), "\"task\"");
    w->calendar += 4999;
    assert_has(make_task(w, channel), "max_tasks");
    w->calendar += 1;
    assert_has(make_task(w, channel), "\"task\"");
    mcp_channel_free(channel);
    rig_close(&w->r);
    assert_int_equal(c.started, c.stopped);
    free(w);
}

static int changes(rig *r, mcp_request *req)
{
    assert_null(mcp_request_task_id(req));
    assert_int_equal(mcp_request_task_message(req, "nobody hears it"), MCP_OK);
    int rc = mcp_request_task(req, MCP_OPTIONS(mcp_task_options, .ttl_ms = 5000, .message = "a"));
    if (rc != MCP_OK)
        return rc;
    assert_int_equal(strlen(mcp_request_task_id(req)), 22);
    assert_int_equal(
        mcp_request_task(req, MCP_OPTIONS(mcp_task_options, .ttl_ms = UINT64_MAX, .poll_ms = 3)),
        MCP_OK);
    assert_int_equal(mcp_request_task_message(req, "not UTF-8: \xff"), MCP_EINVAL);
    return rig_keep(r, req);
}

static void test_changed(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, NULL, changes);
    mcp_channel *channel = peer(w, NULL);
    assert_has(make_task(w, channel), "\"ttlMs\":5000,\"pollIntervalMs\":1000");
    const char *text = ask_of(w, channel, "tasks/get");
    assert_has(text, "\"statusMessage\":\"a\"");
    assert_has(text, "\"ttlMs\":86400000,\"pollIntervalMs\":3");
    w->calendar += DAY_MS - 1;
    assert_has(ask_of(w, channel, "tasks/get"), "\"working\"");
    w->calendar += 1;
    assert_has(ask_of(w, channel, "tasks/get"), "\"code\":-32602");
    assert_int_equal(w->r.n_cancelled, 1);
    finish(w, 0);
    mcp_channel_free(channel);
    rig_close(&w->r);
    free(w);
}

static void test_calendar(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } days[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {951782399999, "2000-02-28T23:59:59.999Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {951868800000, "2000-03-01T00:00:00.000Z"},
        {1709164800000, "2024-02-29T00:00:00.000Z"},
        {1735689599000, "2024-12-31T23:59:59.000Z"},
        {4107542400000, "2100-03-01T00:00:00.000Z"},
        {-5, "1970-01-01T00:00:00.000Z"},
    };
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, NULL, at_once);
    mcp_channel *channel = peer(w, NULL);
    for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++) {
        char expected[64];
        w->calendar = days[i].ms;
        snprintf(expected, sizeof(expected), "\"createdAt\":\"%s\"", days[i].text);
        assert_has(make_task(w, channel), expected);
    }
    mcp_channel_free(channel);
    rig_close(&w->r);
    free(w);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_many(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL,
               MCP_OPTIONS(mcp_task_settings, .max_tasks = 150, .max_tasks_per_principal = 100,
                           .default_ttl_ms = 5000),
               as_task);
    mcp_channel *alice = peer(w, "alice"), *bob = peer(w, "bob");
    for (int i = 0; i < 1000; i++)
        assert_has(make_task(w, alice), i < 100 ? "\"task\"" : "\"code\":-32603");
    for (int i = 0; i < 60; i++)
        assert_has(make_task(w, bob), i < 50 ? "\"task\"" : "max_tasks");
    assert_int_equal(w->r.n_kept, 150);
    w->calendar += 5000;
    mcp_channel_tick(alice, w->r.now += 5000);
    assert_int_equal(w->r.n_cancelled, 150);
    for (size_t i = 0; i < 150; i++)
        finish(w, i);
    assert_has(make_task(w, alice), "\"task\"");
    finish(w, 150);
    mcp_channel_free(alice);
    mcp_channel_free(bob);
    rig_close(&w->r);
    free(w);
}

static void test_bytes(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL,
               MCP_OPTIONS(mcp_task_settings, .max_bytes = 10000, .max_running_bytes = 4000),
               as_task);
    mcp_channel *channel = peer(w, NULL);
    size_t made = 0;
    /* The messages of running tasks count for the memory limit, and are freed. */
    while (strstr(make_task(w, channel), "\"task\""))
        made++;
    assert_in_range(made, 2, 4);
    finish(w, 0);
    assert_has(make_task(w, channel), "\"task\"");
    /* So do the stored results. */
    w->r.handler = at_once;
    for (size_t i = 1; i < w->r.n_kept; i++)
        finish(w, i);
    made = w->r.n_kept;
    while (strstr(make_task(w, channel), "\"task\""))
        made++;
    assert_in_range(made, 6, 9);
    mcp_channel_free(channel);
    rig_close(&w->r);
    free(w);
}

/* Calls that continue after their tasks have ended still count for the limit. */
static void test_calls_go_on(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    world_open(
        w, NULL,
        MCP_OPTIONS(mcp_task_settings, .default_ttl_ms = 1000, .max_running_bytes = 64 << 10),
        as_task);
    mcp_channel *channel = peer(w, NULL);
    for (int i = 0; i < 100; i++) {
        make_task(w, channel);
        w->calendar += 1000;
        mcp_channel_tick(channel, w->r.now += 1000);
    }
    assert_int_equal(w->r.n_cancelled, w->r.n_kept);
    assert_in_range(w->r.n_kept, 32, 64);
    for (size_t i = 0; i < w->r.n_kept; i++)
        finish(w, i);
    assert_has(make_task(w, channel), "\"task\"");
    mcp_channel_free(channel);
    rig_close(&w->r);
    free(w);
}

/* Answers of the client are stored while the task runs, so they count too. */
static void test_large_answers(void **state)
{
    (void)state;
    char params[900], text[512];
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, MCP_OPTIONS(mcp_task_settings, .max_running_bytes = 1724), asks);
    mcp_channel *channel = peer(w, NULL);
    make_task(w, channel);
    memset(text, 'x', sizeof(text));
    snprintf(params, sizeof(params),
             "\"taskId\":\"%s\",\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{"
             "\"%.500s\":1}}}",
             w->id, text);
    assert_has(ask(w, channel, "tasks/update", params), "max_running_bytes");
    assert_has(ask_of(w, channel, "tasks/get"), "\"inputRequests\":{\"k\":");
    snprintf(params, sizeof(params),
             "\"taskId\":\"%s\",\"inputResponses\":{\"k\":{\"action\":\"decline\"}}", w->id);
    ask(w, channel, "tasks/update", params);
    assert_has(ask_of(w, channel, "tasks/get"), "\"asked\"");
    mcp_channel *asking = asking_peer(w, NULL);
    rig_sent(&w->r);
    const char *made = say_plainly(w, asking, "tools/call", "\"name\":\"job\",\"task\":{}");
    snprintf(params, sizeof(params), "\"taskId\":\"%.22s\"", strstr(made, "\"taskId\":\"") + 10);
    say_plainly(w, asking, "tasks/result", params);
    snprintf(params, sizeof(params),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"accept\",\"content\":{"
             "\"%.500s\":1,\"%.250s\":2}}}",
             text, text);
    rig_say(&w->r, asking, params);
    assert_has(rig_sent(&w->r), "max_running_bytes");
    mcp_channel_free(channel);
    mcp_channel_free(asking);
    rig_close(&w->r);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timer_of_the_host),
        cmocka_unit_test(test_host_changes),
        cmocka_unit_test(test_room_in_time),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_calendar),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_calls_go_on),
        cmocka_unit_test(test_large_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
