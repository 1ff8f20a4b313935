/* mcp_request_repeat(): steps by the host's timers, and every way in which they end. After the end
 * of the request, no timer is left and no step runs.
 */
#include "rig.h"

struct mcp_host_timer {
    void (*fn)(void *arg);
    void *arg;
    uint64_t ms;
    bool over; /* it fired, but must still be stopped */
};

static struct {
    rig r;
    mcp_channel *channel;
    mcp_host host;
    mcp_host_timer timers[4];
    size_t n_timers; /* not stopped */
    bool no_timer;
    size_t steps, cleaned;
    int (*step)(mcp_request *req, void *user);
} t;

static int64_t now(void *user)
{
    (void)user;
    return 1000;
}

static mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *arg), void *arg, void *user)
{
    (void)user;
    if (t.no_timer)
        return NULL;
    assert_true(t.n_timers < 4);
    for (size_t i = 0;; i++) {
        if (!t.timers[i].fn) {
            t.n_timers++;
            t.timers[i] = (mcp_host_timer){fn, arg, ms, false};
            return &t.timers[i];
        }
    }
}

static void timer_stop(mcp_host_timer *timer, void *user)
{
    (void)user;
    assert_non_null(timer->fn);
    timer->fn = NULL;
    t.n_timers--;
}

/* Fires the only timer. */
static void fire(void)
{
    for (size_t i = 0; i < 4; i++) {
        if (t.timers[i].fn && !t.timers[i].over) {
            t.timers[i].over = true;
            t.timers[i].fn(t.timers[i].arg);
            return;
        }
    }
    fail_msg("no timer is running");
}

static int begin(rig *r, mcp_request *req)
{
    (void)r;
    return mcp_request_repeat(req, 250, t.step, &t);
}

static void open_with(rig_handler *handler, int (*step)(mcp_request *req, void *user))
{
    memset(&t, 0, sizeof(t));
    t.step = step;
    t.host = (mcp_host){
        .size = sizeof(t.host), .now = now, .timer_start = timer_start, .timer_stop = timer_stop};
    mcp_server_options o = {.host = &t.host};
    assert_int_equal(rig_open(&t.r, &o, handler), MCP_OK);
    assert_int_equal(rig_connect(&t.r, NULL, NULL, &t.channel), MCP_OK);
    rig_call_tool(&t.r, t.channel, 1, "t");
}

static void close_all(void)
{
    mcp_channel_free(t.channel);
    assert_int_equal(t.n_timers, 0);
    rig_close(&t.r);
}

static void cancel(void)
{
    rig_say(&t.r, t.channel,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
            "\"requestId\":1}}");
}

static int third_answers(mcp_request *req, void *user)
{
    assert_ptr_equal(user, &t);
    return ++t.steps < 3 ? MCP_PENDING : mcp_reply_text(req, "three");
}

static int forever(mcp_request *req, void *user)
{
    (void)req, (void)user;
    t.steps++;
    return MCP_PENDING;
}

static void test_steps(void **state)
{
    (void)state;
    open_with(begin, third_answers);
    assert_int_equal(t.timers[0].ms, 250);
    fire();
    fire();
    assert_string_equal(rig_sent(&t.r), "");
    assert_int_equal(t.n_timers, 1);
    fire();
    assert_has(rig_sent(&t.r), "\"text\":\"three\"");
    assert_int_equal(t.n_timers, 0);
    assert_int_equal(mcp_channel_in_flight(t.channel), 0);
    close_all();
}

static int fails(mcp_request *req, void *user)
{
    (void)user;
    return mcp_reply_fail(req, 42, "burnt");
}

static int finishes_itself(mcp_request *req, void *user)
{
    (void)user;
    mcp_reply_text(req, "by itself");
    mcp_reply_finish(req, MCP_OK);
    return MCP_PENDING;
}

static int slows_down(mcp_request *req, void *user)
{
    if (t.steps++ == 0)
        return mcp_request_repeat(req, 500, slows_down, user);
    return mcp_reply_textf(req, "after %d", (int)t.timers[0].ms);
}

static void test_other_ends(void **state)
{
    (void)state;
    open_with(begin, fails);
    fire();
    assert_has(rig_sent(&t.r), "\"error\":{\"code\":42,\"message\":\"burnt\"}");
    close_all();
    open_with(begin, finishes_itself);
    fire();
    assert_has(rig_sent(&t.r), "by itself");
    close_all();
    open_with(begin, slows_down);
    fire();
    assert_int_equal(t.n_timers, 1);
    fire();
    assert_has(rig_sent(&t.r), "after 500");
    close_all();
}

static void cleans(mcp_request *req, void *user)
{
    (void)req, (void)user;
    t.cleaned++;
}

static int begin_and_clean(rig *r, mcp_request *req)
{
    mcp_request_on_cancel(req, cleans, r);
    return begin(r, req);
}

static void finishes_on_cancel(mcp_request *req, void *user)
{
    cleans(req, user);
    mcp_reply_finish(req, MCP_ECANCELLED);
}

static int begin_and_finish(rig *r, mcp_request *req)
{
    mcp_request_on_cancel(req, finishes_on_cancel, r);
    return begin(r, req);
}

static void test_cancelled(void **state)
{
    static rig_handler *const handlers[] = {begin, begin_and_clean, begin_and_finish};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        open_with(handlers[i], forever);
        fire();
        cancel();
        assert_int_equal(t.n_timers, 0);
        assert_int_equal(mcp_channel_in_flight(t.channel), 0);
        assert_int_equal(t.cleaned, i > 0);
        assert_string_equal(rig_sent(&t.r), "");
        close_all();
        assert_int_equal(t.steps, 1);
        open_with(handlers[i], forever);
        close_all(); /* the channel ends first */
        assert_int_equal(t.cleaned, i > 0);
    }
}

/* The step closes its own channel. */
static int closes(mcp_request *req, void *user)
{
    (void)user;
    t.steps++;
    mcp_channel_close(t.channel, 1000);
    assert_true(mcp_request_cancelled(req));
    return MCP_PENDING;
}

static void test_cancelled_within_a_step(void **state)
{
    (void)state;
    open_with(begin, closes);
    fire();
    assert_int_equal(t.n_timers, 0);
    close_all();
}

static void test_too_late(void **state)
{
    (void)state;
    open_with(begin, forever);
    mcp_channel_tick(t.channel, 1000 + 600001);
    mcp_channel_tick(t.channel, 1000 + 2 * 600001);
    assert_has(rig_sent(&t.r), "no answer and no progress within 600000 ms");
    assert_int_equal(t.n_timers, 0);
    close_all();
}

static int begin_then_fail(rig *r, mcp_request *req)
{
    assert_int_equal(begin(r, req), MCP_PENDING);
    return mcp_reply_fail(req, 43, "no");
}

static int begin_without_step(rig *r, mcp_request *req)
{
    (void)r;
    return mcp_request_repeat(req, 1, NULL, NULL);
}

static void test_not_begun(void **state)
{
    (void)state;
    open_with(begin_then_fail, forever);
    assert_has(rig_sent(&t.r), "\"code\":43");
    close_all();
    open_with(begin_without_step, forever);
    assert_has(rig_sent(&t.r), "\"code\":-32603");
    close_all();
    open_with(begin, forever);
    t.no_timer = true;
    fire();
    assert_has(rig_sent(&t.r), "\"code\":-32603");
    rig_call_tool(&t.r, t.channel, 2, "t");
    assert_has(rig_sent(&t.r), "\"code\":-32603");
    mcp_server_set_host(t.r.server, NULL);
    rig_call_tool(&t.r, t.channel, 3, "t");
    assert_has(rig_sent(&t.r), "\"code\":-32603");
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),     cmocka_unit_test(test_other_ends),
        cmocka_unit_test(test_cancelled), cmocka_unit_test(test_cancelled_within_a_step),
        cmocka_unit_test(test_too_late),  cmocka_unit_test(test_not_begun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
