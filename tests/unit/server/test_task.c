/* Tasks beside what transcripts show: other principals, channels and servers that go, stores that fail, timers of the
 * host, a thousand at once.
 */
#include "rig.h"

#include <stdlib.h>

#include <mcp/task.h>

#define DAY_MS 86400000
#define TASKS                                                                             \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","              \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},\"extensions\":{" \
    "\"io.modelcontextprotocol/tasks\":{}}}}"

/* The calendar, milliseconds since 1970, and the task that was made last. */
typedef struct world {
    rig r;
    int64_t calendar;
    bool no_random;
    char id[32];
} world;

static int64_t calendar(void *user)
{
    return ((world *)user)->calendar;
}

static int random_bytes(void *user, void *bytes, size_t len)
{
    static unsigned next;
    if (((world *)user)->no_random)
        return MCP_EIO;
    memset(bytes, 0, len);
    next++;
    memcpy(bytes, &next, len < sizeof(next) ? len : sizeof(next));
    return MCP_OK;
}

static int as_task(rig *r, mcp_request *req)
{
    int rc = mcp_request_task(req, NULL);
    return rc == MCP_OK ? rig_keep(r, req) : rc;
}

static int at_once(rig *r, mcp_request *req)
{
    (void)r;
    int rc = mcp_request_task(req, NULL);
    return rc == MCP_OK ? mcp_reply_text(req, "at once") : rc;
}

static void world_open(world *w, const mcp_host *host, const mcp_task_settings *settings,
                       rig_handler *handler)
{
    mcp_server_options o = {.clock = calendar, .random = random_bytes, .user = w, .host = host};
    w->calendar = 1767225600000; /* 2026-01-01 */
    assert_int_equal(rig_open(&w->r, &o, handler), MCP_OK);
    if (settings)
        assert_int_equal(mcp_server_set_tasks(w->r.server, settings, NULL), MCP_OK);
    const mcp_tool tool = {
        .size = sizeof(tool), .name = "job", .call = rig_call, .task_support = MCP_TASK_OPTIONAL};
    assert_int_equal(mcp_server_add_tool(w->r.server, &tool, &w->r, NULL), MCP_OK);
}

static mcp_channel *peer(world *w, const char *principal)
{
    mcp_channel *channel = NULL;
    assert_int_equal(rig_connect(&w->r, principal, NULL, &channel), MCP_OK);
    return channel;
}

static const char *ask(world *w, mcp_channel *channel, const char *method, const char *params)
{
    char message[1024];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s%s}}", method, params,
             *params ? "," : "", TASKS);
    assert_int_equal(rig_say(&w->r, channel, message), MCP_OK);
    return rig_sent(&w->r);
}

static const char *ask_of(world *w, mcp_channel *channel, const char *method)
{
    char params[128];
    snprintf(params, sizeof(params), "\"taskId\":\"%s\",\"inputResponses\":{}", w->id);
    return ask(w, channel, method, params);
}

static const char *make_task(world *w, mcp_channel *channel)
{
    const char *text = ask(w, channel, "tools/call", "\"name\":\"job\"");
    const char *id = strstr(text, "\"taskId\":\"");
    if (id)
        snprintf(w->id, sizeof(w->id), "%.22s", id + strlen("\"taskId\":\""));
    return text;
}

/* A session of 2025-11-25. */
static mcp_channel *asking_peer(world *w, const char *principal)
{
    mcp_channel *channel = peer(w, principal);
    rig_say(&w->r, channel,
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
            "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{}},"
            "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    return channel;
}

static const char *say_plainly(world *w, mcp_channel *channel, const char *method,
                               const char *params)
{
    char message[512];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{%s}}", method, params);
    assert_int_equal(rig_say(&w->r, channel, message), MCP_OK);
    return rig_sent(&w->r);
}

static void finish(world *w, size_t n)
{
    mcp_reply_finish(w->r.kept[n], mcp_reply_text(w->r.kept[n], "finished"));
}

/* ---- whose they are --------------------------------------------------------------------------------------- */

static void test_principals(void **state)
{
    (void)state;
    static const char *const others[] = {"bob", "", "alice ", NULL};
    static const char *const methods[] = {"tasks/get", "tasks/update", "tasks/cancel"};
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, NULL, as_task);
    mcp_channel *alice = peer(w, "alice"), *again = peer(w, "alice");
    make_task(w, alice);
    assert_string_equal(mcp_request_principal(w->r.kept[0]), "alice");
    for (size_t i = 0; i < 4; i++) {
        mcp_channel *other = peer(w, others[i]);
        for (size_t k = 0; k < 3; k++) {
            char known[512];
            snprintf(known, sizeof(known), "%s", ask_of(w, other, methods[k]));
            assert_has(known, "\"code\":-32602");
            /* It is the error of what does not exist, letter for letter. */
            char id[32];
            memcpy(id, w->id, sizeof(id));
            memcpy(w->id, "XXXXXXXXXXXXXXXXXXXXXX", 22);
            char unknown[512];
            snprintf(unknown, sizeof(unknown), "%s", ask_of(w, other, methods[k]));
            for (char *at; (at = strstr(known, id)) != NULL;)
                memset(at, 'X', 22);
            assert_string_equal(known, unknown);
            memcpy(w->id, id, sizeof(id));
        }
        char listen[128];
        snprintf(listen, sizeof(listen), "\"notifications\":{\"taskIds\":[\"%s\"]}", w->id);
        assert_has(ask(w, other, "subscriptions/listen", listen), "\"taskIds\":[]");
        mcp_channel_free(other);
        rig_sent(&w->r);
    }
    assert_int_equal(w->r.n_cancelled, 0);
    assert_has(ask_of(w, again, "tasks/get"), "\"working\"");
    finish(w, 0);
    assert_has(ask_of(w, again, "tasks/get"), "\"finished\"");
    mcp_channel_free(alice);
    mcp_channel_free(again);
    rig_close(&w->r);
    free(w);
}

static void test_list_is_ones_own(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, NULL, at_once);
    mcp_channel *alice = asking_peer(w, "alice"), *bob = asking_peer(w, "bob");
    assert_has(rig_sent(&w->r), "\"list\":{}");
    say_plainly(w, alice, "tools/call", "\"name\":\"job\",\"task\":{}");
    assert_has(say_plainly(w, alice, "tasks/list", ""), "\"completed\"");
    assert_has(say_plainly(w, bob, "tasks/list", ""), "\"tasks\":[]");
    /* Who is nobody in particular shares no list: others are nobody too. */
    mcp_channel *nobody = asking_peer(w, NULL);
    assert_null(strstr(rig_sent(&w->r), "\"list\":{}"));
    say_plainly(w, nobody, "tools/call", "\"name\":\"job\",\"task\":{}");
    assert_has(say_plainly(w, nobody, "tasks/list", ""), "\"code\":-32601");
    mcp_channel_free(alice);
    mcp_channel_free(bob);
    mcp_channel_free(nobody);
    rig_close(&w->r);
    free(w);
}

/* ---- what goes ------------------------------------------------------------------------------------------------ */

static void test_outlives_its_channel(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, NULL, as_task);
    mcp_channel *channel = peer(w, "alice");
    make_task(w, channel);
    mcp_channel_close(channel, w->r.now);
    mcp_channel_free(channel);
    assert_int_equal(w->r.n_cancelled, 0);
    mcp_request_progress(w->r.kept[0], 1, 2, "half");
    finish(w, 0);
    channel = peer(w, "alice");
    const char *text = ask_of(w, channel, "tasks/get");
    assert_has(text, "\"finished\"");
    assert_has(text, "\"statusMessage\":\"half\"");
    mcp_channel_free(channel);
    rig_close(&w->r);
    free(w);
}

static void test_session_goes(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, NULL, as_task);
    mcp_channel *channel = asking_peer(w, "alice");
    for (int i = 0; i < 2; i++) {
        rig_sent(&w->r);
        const char *text =
            say_plainly(w, channel, "tools/call",
                        "\"name\":\"job\",\"task\":{},\"_meta\":{\"progressToken\":1}");
        snprintf(w->id, sizeof(w->id), "%.22s", strstr(text, "\"taskId\":\"") + 10);
    }
    char params[64];
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", w->id);
    say_plainly(w, channel, "tasks/cancel", params);
    assert_int_equal(w->r.n_cancelled, 1);
    say_plainly(w, channel, "tasks/result", params);
    mcp_channel_free(channel);
    rig_sent(&w->r);
    /* Neither has anybody to tell. */
    for (size_t i = 0; i < 2; i++) {
        mcp_request_progress(w->r.kept[i], 1, 2, "half");
        mcp_request_log(w->r.kept[i], MCP_LOG_ERROR, NULL, MCP_STR("1"));
        assert_null(mcp_request_client_capabilities(w->r.kept[i]));
        finish(w, i);
    }
    assert_string_equal(rig_sent(&w->r), "");
    rig_close(&w->r);
    free(w);
}

static int never(rig *r, mcp_request *req)
{
    mcp_request_task(req, NULL);
    mcp_request_on_cancel(req, rig_cancelled, r);
    return MCP_PENDING;
}

static void test_server_goes(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, NULL, never);
    mcp_channel *channel = peer(w, "alice"), *asking = asking_peer(w, "alice");
    rig_sent(&w->r);
    for (int i = 0; i < 3; i++)
        make_task(w, channel);
    say_plainly(w, asking, "tools/call", "\"name\":\"job\",\"task\":{}");
    /* One was cancelled already, and its handler never said that it heard. */
    ask_of(w, channel, "tasks/cancel");
    assert_int_equal(w->r.n_cancelled, 1);
    mcp_channel_free(channel);
    mcp_channel_free(asking);
    rig_close(&w->r); /* gives everything back */
    assert_int_equal(w->r.n_cancelled, 4);
    free(w);
}

static int asks(rig *r, mcp_request *req)
{
    mcp_elicited got;
    (void)r;
    int rc = mcp_request_task(req, NULL);
    if (rc == MCP_OK)
        rc = mcp_request_elicit(req, "k",
                                MCP_OPTIONS(mcp_elicit, .message = "?",
                                            .schema = "{\"type\":\"object\",\"properties\":{}}"),
                                &got);
    return rc == MCP_OK ? mcp_reply_text(req, "asked") : rc;
}

static void test_server_goes_while_asking(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, NULL, asks);
    mcp_channel *channel = peer(w, "alice");
    make_task(w, channel);
    assert_has(ask_of(w, channel, "tasks/get"), "input_required");
    mcp_channel_free(channel);
    rig_close(&w->r);
    free(w);
}

/* The session that is asked goes; the next tasks/result is asked again. */
static void test_asked_again(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, NULL, asks);
    mcp_channel *first = asking_peer(w, "alice");
    rig_sent(&w->r);
    const char *text = say_plainly(w, first, "tools/call", "\"name\":\"job\",\"task\":{}");
    char params[64];
    snprintf(params, sizeof(params), "\"taskId\":\"%.22s\"", strstr(text, "\"taskId\":\"") + 10);
    assert_has(say_plainly(w, first, "tasks/result", params), "\"elicitation/create\"");
    mcp_channel_close(first, w->r.now);
    mcp_channel_free(first);
    mcp_channel *second = asking_peer(w, "alice");
    rig_sent(&w->r);
    assert_has(say_plainly(w, second, "tasks/get", params), "\"input_required\"");
    assert_has(say_plainly(w, second, "tasks/result", params), "\"elicitation/create\"");
    rig_say(&w->r, second,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"accept\",\"content\":{}}}");
    assert_has(rig_sent(&w->r), "\"asked\"");
    mcp_channel_free(second);
    rig_close(&w->r);
    free(w);
}

/* ---- time --------------------------------------------------------------------------------------------------------- */

typedef struct clockwork {
    void (*fn)(void *arg);
    void *arg;
    uint64_t ms;
    size_t started, stopped;
} clockwork;

static mcp_host_timer *timer_start(void *user, uint64_t ms, void (*fn)(void *arg), void *arg)
{
    clockwork *c = user;
    c->fn = fn;
    c->arg = arg;
    c->ms = ms;
    c->started++;
    return (mcp_host_timer *)user;
}

static void timer_stop(void *user, mcp_host_timer *timer)
{
    assert_ptr_equal(user, timer);
    ((clockwork *)user)->stopped++;
}

/* The host's timer cancels what runs too long, though no channel is there that could tick. */
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

/* A host that goes takes its timers with it; what runs as a task has some there too. */
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
    /* Without one the channel's clock does it. */
    w->calendar += 5000;
    assert_true(mcp_channel_deadline(channel) <= w->r.now);
    mcp_channel_free(channel);
    rig_close(&w->r);
    assert_int_equal(second.started, second.stopped);
    free(w);
}

/* What is over makes room, though no timer has run yet. */
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

/* ---- limits ---------------------------------------------------------------------------------------------------------- */

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
    /* Messages of what runs are counted, and given back. */
    while (strstr(make_task(w, channel), "\"task\""))
        made++;
    assert_in_range(made, 2, 4);
    finish(w, 0);
    assert_has(make_task(w, channel), "\"task\"");
    /* And what is kept. */
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

/* Calls count that go on after their tasks are over: there are no more of them than that. */
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

/* Answers are kept while the task runs: they count. */
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

/* ---- wrong calls ------------------------------------------------------------------------------------------------------ */

static int too_late(rig *r, mcp_request *req)
{
    (void)r;
    mcp_reply_text(req, "something");
    return mcp_request_task(req, NULL);
}

static void test_wrong_calls(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, NULL, too_late);
    mcp_channel *channel = peer(w, NULL);
    assert_has(make_task(w, channel), "\"code\":-32603");
    w->r.handler = at_once;
    assert_has(ask(w, channel, "prompts/get", "\"name\":\"p\""), "\"code\":-32603");
    w->no_random = true;
    assert_has(make_task(w, channel), "\"code\":-32603");
    w->no_random = false;
    assert_has(make_task(w, channel), "\"task\"");
    mcp_error error = {0};
    assert_int_equal(mcp_server_set_tasks(w->r.server, MCP_OPTIONS(mcp_task_settings, 0), &error),
                     MCP_ESTATE);
    mcp_channel_free(channel);
    rig_close(&w->r);
    free(w);
}

/* ---- a store of one's own --------------------------------------------------------------------------------------------- */

typedef struct shelf {
    mcp_task task; /* the one that it has; .size 0: none */
    char texts[4096];
    int fail_add, fail_update, fail_get; /* codes; MCP_OK: none */
    size_t updates, fail_after, removed, released;
} shelf;

static int shelf_update(const mcp_task *task, void *user)
{
    shelf *s = user;
    if (s->fail_update && s->updates++ >= s->fail_after)
        return s->fail_update;
    s->task = *task;
    char *at = s->texts;
    mcp_str *texts[] = {&s->task.id, &s->task.principal, &s->task.revision, &s->task.message,
                        &s->task.detail};
    for (size_t i = 0; i < 5; i++) {
        assert_true(at + texts[i]->len < s->texts + sizeof(s->texts));
        if (texts[i]->len)
            memmove(at, texts[i]->ptr, texts[i]->len);
        if (texts[i]->ptr)
            texts[i]->ptr = at;
        at += texts[i]->len;
    }
    return MCP_OK;
}

static int shelf_add(const mcp_task *task, void *user)
{
    shelf *s = user;
    int fail = s->fail_update;
    s->fail_update = MCP_OK;
    int rc = s->fail_add ? s->fail_add : shelf_update(task, user);
    s->fail_update = fail;
    s->task.sequence = 1;
    return rc;
}

static int shelf_get(mcp_str id, mcp_task *ret, void *user)
{
    shelf *s = user;
    if (s->fail_get)
        return s->fail_get;
    if (!s->task.size || !mcp_str_eq(id, s->task.id))
        return MCP_ENOTFOUND;
    *ret = s->task;
    return MCP_OK;
}

static int shelf_list(uint64_t after, int (*each)(const mcp_task *task, void *arg), void *arg,
                      void *user)
{
    shelf *s = user;
    return s->task.size && after < 1 ? each(&s->task, arg) : MCP_OK;
}

static void shelf_remove(mcp_str id, void *user)
{
    shelf *s = user;
    s->removed += s->task.size && mcp_str_eq(id, s->task.id);
    s->task.size = 0;
}

static void shelf_release(void *user)
{
    ((shelf *)user)->released++;
}

static const mcp_task_store shelf_store = {.size = sizeof(shelf_store),
                                           .add = shelf_add,
                                           .update = shelf_update,
                                           .get = shelf_get,
                                           .list = shelf_list,
                                           .remove = shelf_remove,
                                           .release = shelf_release};

static void test_own_store(void **state)
{
    (void)state;
    shelf s = {0};
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, MCP_OPTIONS(mcp_task_settings, .store = &shelf_store, .store_user = &s),
               as_task);
    mcp_channel *channel = peer(w, "alice");
    make_task(w, channel);
    assert_int_equal(s.task.status, MCP_TASK_WORKING);
    assert_true(mcp_str_eq(s.task.principal, MCP_STR("alice")));
    assert_true(mcp_str_eq(s.task.revision, MCP_STR("2026-07-28")));
    finish(w, 0);
    assert_int_equal(s.task.status, MCP_TASK_COMPLETED);
    assert_true(memcmp(s.task.detail.ptr, "{\"content\":[", 12) == 0);
    assert_has(ask_of(w, channel, "tasks/get"), "\"finished\"");
    mcp_channel_free(channel);
    rig_close(&w->r);
    assert_int_equal(s.released, 1);
    /* A server that comes after it finds what was kept; what was running then can be cancelled only. */
    s.task.status = MCP_TASK_WORKING;
    s.task.detail = (mcp_str){"", 0};
    memset(&w->r, 0, sizeof(w->r));
    world_open(w, NULL, MCP_OPTIONS(mcp_task_settings, .store = &shelf_store, .store_user = &s),
               as_task);
    channel = peer(w, "alice");
    assert_has(ask_of(w, channel, "tasks/get"), "\"working\"");
    assert_has(ask_of(w, channel, "tasks/update"), "\"result\"");
    w->calendar += 1000;
    ask_of(w, channel, "tasks/cancel");
    assert_has(ask_of(w, channel, "tasks/get"), "\"cancelled\"");
    assert_int_equal(s.task.updated_ms, w->calendar);
    mcp_channel_free(channel);
    rig_close(&w->r);
    free(w);
}

static void test_store_fails(void **state)
{
    (void)state;
    shelf s = {.fail_add = MCP_EIO};
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, MCP_OPTIONS(mcp_task_settings, .store = &shelf_store, .store_user = &s),
               as_task);
    mcp_channel *channel = peer(w, NULL);
    assert_has(make_task(w, channel), "\"code\":-32603");
    assert_int_equal(w->r.n_kept, 0);
    s.fail_add = MCP_OK;
    /* A result that cannot be kept is told as one. */
    make_task(w, channel);
    s.fail_update = MCP_EIO;
    s.updates = 0;
    s.fail_after = 0;
    s.fail_get = MCP_OK;
    mcp_request *req = w->r.kept[0];
    mcp_reply_text(req, "lost");
    mcp_reply_finish(req, MCP_OK);
    /* Nor could that be told: it is gone, and not there for ever. */
    assert_int_equal(s.removed, 1);
    s.fail_update = MCP_OK;
    assert_has(ask_of(w, channel, "tasks/get"), "\"code\":-32602");
    make_task(w, channel);
    s.fail_get = MCP_EIO;
    assert_has(ask_of(w, channel, "tasks/get"), "\"code\":-32603");
    s.fail_get = MCP_OK;
    finish(w, 1);
    mcp_channel_free(channel);
    rig_close(&w->r);
    free(w);
}

static void test_settings(void **state)
{
    (void)state;
    mcp_server *server;
    mcp_error error = {0};
    mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "s", .version = "1"), &server, NULL);
    mcp_task_store store = shelf_store;
    shelf s = {0};
    mcp_task_settings settings = {.size = sizeof(settings), .store = &store, .store_user = &s};
    store.list = NULL;
    assert_int_equal(mcp_server_set_tasks(server, &settings, &error), MCP_EINVAL);
    assert_int_equal(s.released, 0);
    store.list = shelf_list;
    assert_int_equal(mcp_server_set_tasks(server, &settings, &error), MCP_OK);
    assert_int_equal(mcp_server_set_tasks(server, &settings, &error), MCP_OK);
    assert_int_equal(s.released, 1);
    mcp_server_free(server);
    assert_int_equal(s.released, 2);
    for (size_t n = 1;; n++) {
        failalloc f = {0};
        mcp_allocator a = failalloc_allocator(&f);
        assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "s", .version = "1",
                                                    .allocator = &a),
                                        &server, NULL),
                         MCP_OK);
        size_t before = f.calls;
        f.fail_at = before + n;
        int rc = mcp_server_set_tasks(server, MCP_OPTIONS(mcp_task_settings, 0), &error);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        mcp_server_free(server);
        assert_int_equal(f.live, 0);
        if (f.calls < f.fail_at)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_principals),
        cmocka_unit_test(test_list_is_ones_own),
        cmocka_unit_test(test_outlives_its_channel),
        cmocka_unit_test(test_session_goes),
        cmocka_unit_test(test_server_goes),
        cmocka_unit_test(test_server_goes_while_asking),
        cmocka_unit_test(test_asked_again),
        cmocka_unit_test(test_timer_of_the_host),
        cmocka_unit_test(test_host_changes),
        cmocka_unit_test(test_room_in_time),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_calendar),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_calls_go_on),
        cmocka_unit_test(test_large_answers),
        cmocka_unit_test(test_wrong_calls),
        cmocka_unit_test(test_own_store),
        cmocka_unit_test(test_store_fails),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
