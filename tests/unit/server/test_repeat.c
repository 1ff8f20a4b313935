/* mcp_request_repeat(): a handler in steps, on a timer that the test fires. */
#include "rig.h"

typedef struct clockwork {
    void (*fn)(void *arg);
    void *arg;
    uint64_t ms;
    int started, stopped, steps;
    bool broken;
} clockwork;

static clockwork work;

static mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *arg), void *arg, void *user)
{
    if (work.broken)
        return NULL;
    work.fn = fn;
    work.arg = arg;
    work.ms = ms;
    work.started++;
    return user;
}

static void timer_stop(mcp_host_timer *timer, void *user)
{
    assert_ptr_equal(user, timer);
    work.stopped++;
}

static const mcp_host host = {
    .size = sizeof(host), .user = &work, .timer_start = timer_start, .timer_stop = timer_stop};

static int step(mcp_request *req, void *user)
{
    assert_ptr_equal(user, &work);
    return ++work.steps < 3 ? MCP_PENDING : mcp_reply_text(req, "three steps");
}

static int in_steps(rig *r, mcp_request *req)
{
    (void)r;
    return mcp_request_repeat(req, 20, step, &work);
}

static void open_rig(rig *r, const mcp_host *lent, mcp_channel **channel)
{
    memset(r, 0, sizeof(*r));
    work = (clockwork){0};
    assert_int_equal(rig_open(r, &(mcp_server_options){.host = lent}, in_steps), MCP_OK);
    assert_int_equal(rig_connect(r, NULL, NULL, channel), MCP_OK);
}

static void close_rig(rig *r, mcp_channel *channel)
{
    mcp_channel_free(channel);
    assert_int_equal(work.started, work.stopped);
    rig_close(r);
}

static rig r;

static void test_done(void **state)
{
    (void)state;
    mcp_channel *channel;
    open_rig(&r, &host, &channel);
    rig_call_tool(&r, channel, 1, "t");
    assert_int_equal(work.ms, 20);
    for (int i = 1; i <= 3; i++) {
        assert_string_equal(rig_sent(&r), "");
        work.fn(work.arg);
        assert_int_equal(work.steps, i);
    }
    assert_has(rig_sent(&r), "three steps");
    assert_int_equal(work.started, 3);
    close_rig(&r, channel);
}

/* It is not called any more, and nobody is answered. */
static void test_cancelled(void **state)
{
    (void)state;
    mcp_channel *channel;
    open_rig(&r, &host, &channel);
    rig_call_tool(&r, channel, 1, "t");
    work.fn(work.arg);
    rig_say(&r, channel,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
            "cancelled\",\"params\":{\"requestId\":1}}");
    assert_int_equal(work.steps, 1);
    assert_int_equal(work.started, work.stopped);
    assert_int_equal(mcp_channel_in_flight(channel), 0);
    assert_string_equal(rig_sent(&r), "");
    close_rig(&r, channel);
}

/* Its channel goes while it waits. */
static void test_channel_gone(void **state)
{
    (void)state;
    mcp_channel *channel;
    open_rig(&r, &host, &channel);
    rig_call_tool(&r, channel, 1, "t");
    close_rig(&r, channel);
}

static void test_no_timer(void **state)
{
    (void)state;
    mcp_channel *channel;
    open_rig(&r, &host, &channel);
    rig_call_tool(&r, channel, 1, "t");
    work.broken = true;
    work.fn(work.arg); /* there is no next one */
    assert_has(rig_sent(&r), "\"error\"");
    rig_call_tool(&r, channel, 2, "t");
    assert_has(rig_sent(&r), "\"error\"");
    close_rig(&r, channel);
    open_rig(&r, NULL, &channel); /* no host at all */
    rig_call_tool(&r, channel, 3, "t");
    assert_has(rig_sent(&r), "\"error\"");
    close_rig(&r, channel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_done),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_channel_gone),
        cmocka_unit_test(test_no_timer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
