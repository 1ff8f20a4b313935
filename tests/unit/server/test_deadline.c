/* Handlers that take too long: when they time out, what the peer and the handler receive, and that
 * a late answer is discarded.
 */
#include <stdlib.h>

#include "rig.h"

#define LATE \
    "\"error\":{\"code\":-32603,\"message\":\"Internal error: no answer and no progress within "

static rig r;
static mcp_channel *channel;

static void begin(uint64_t timeout_ms, rig_handler *handler)
{
    r = (rig){0};
    assert_int_equal(rig_open(&r, &(mcp_server_options){.handler_timeout_ms = timeout_ms}, handler),
                     MCP_OK);
    assert_int_equal(rig_connect(&r, NULL, NULL, &channel), MCP_OK);
}

static void end(void)
{
    mcp_channel_free(channel);
    rig_close(&r);
}

static const char *at(int64_t now)
{
    r.now = now;
    mcp_channel_tick(channel, now);
    return rig_sent(&r);
}

/* ---- one ------------------------------------------------------------------------------------- */

static void test_too_late(void **state)
{
    (void)state;
    begin(300, rig_keep);
    assert_true(mcp_channel_deadline(channel) == INT64_MAX);
    rig_call_tool(&r, channel, 7, "t");
    assert_int_equal(mcp_channel_deadline(channel), 1300);
    assert_string_equal(at(1299), "");
    assert_int_equal(r.n_cancelled, 0);
    const char *text = at(1300);
    assert_has(text, "\"id\":7," LATE "300 ms (handler_timeout_ms)\",\"data\":{\"timeoutMs\":300}");
    assert_int_equal(r.n_cancelled, 1);
    assert_true(mcp_request_cancelled(r.kept[0]));
    assert_int_equal(mcp_channel_in_flight(channel), 0);
    assert_true(mcp_channel_deadline(channel) == INT64_MAX);
    /* The late answer is discarded, and the id may be used again. */
    rig_call_tool(&r, channel, 7, "t");
    assert_int_equal(mcp_channel_in_flight(channel), 1);
    assert_int_equal(mcp_reply_text(r.kept[0], "late"), MCP_OK);
    mcp_request_progress(r.kept[0], 1, 0, NULL);
    mcp_reply_finish(r.kept[0], MCP_OK);
    assert_string_equal(rig_sent(&r), "");
    assert_int_equal(mcp_channel_in_flight(channel), 1);
    mcp_reply_text(r.kept[1], "in time");
    mcp_reply_finish(r.kept[1], MCP_OK);
    text = rig_sent(&r);
    assert_has(text, "\"id\":7");
    assert_has(text, "in time");
    end();
}

/* A cancellation applies to the current request of the id, not to an earlier one. */
static void test_cancel_finds_the_living(void **state)
{
    (void)state;
    begin(300, rig_keep);
    rig_call_tool(&r, channel, 7, "t");
    at(1300);
    rig_call_tool(&r, channel, 7, "t");
    rig_say(&r, channel,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
            "\"params\":{\"requestId\":7}}");
    assert_int_equal(r.n_cancelled, 2);
    assert_true(mcp_request_cancelled(r.kept[1]));
    assert_string_equal(at(5000), ""); /* cancelled: not answered, late or not */
    mcp_reply_finish(r.kept[1], MCP_OK);
    mcp_reply_finish(r.kept[0], MCP_OK);
    assert_string_equal(rig_sent(&r), "");
    end();
}

static void test_limits_of_each_tool(void **state)
{
    (void)state;
    begin(0, rig_keep);
    assert_int_equal(rig_add_tool(&r, "short", 50), MCP_OK);
    assert_int_equal(rig_add_tool(&r, "endless", UINT64_MAX), MCP_OK);
    assert_int_equal(rig_add_tool(&r, "far", UINT64_MAX - 1), MCP_OK);
    rig_call_tool(&r, channel, 1, "endless");
    assert_true(mcp_channel_deadline(channel) == INT64_MAX);
    rig_call_tool(&r, channel, 2, "far");
    assert_true(mcp_channel_deadline(channel) == INT64_MAX);
    rig_call_tool(&r, channel, 3, "t");
    assert_int_equal(mcp_channel_deadline(channel), 601000);
    rig_call_tool(&r, channel, 4, "short");
    assert_int_equal(mcp_channel_deadline(channel), 1050);
    assert_has(at(1050), "\"id\":4," LATE "50 ms (the tool's timeout_ms)");
    assert_has(at(601000), "\"id\":3," LATE "600000 ms (handler_timeout_ms)");
    assert_string_equal(at(INT64_MAX - 1), "");
    for (size_t i = 0; i < r.n_kept; i++)
        mcp_reply_finish(r.kept[i], MCP_OK);
    end();
}

static void test_never_for_the_whole_server(void **state)
{
    (void)state;
    begin(UINT64_MAX, rig_keep);
    rig_call_tool(&r, channel, 1, "t");
    assert_true(mcp_channel_deadline(channel) == INT64_MAX);
    mcp_reply_finish(r.kept[0], MCP_OK);
    end();
}

/* A progress report extends the time, with or without a token. */
static void test_progress_is_life(void **state)
{
    (void)state;
    begin(100, rig_keep);
    rig_call_tool(&r, channel, 1, "t");
    for (int64_t now = 1100; now < 2000; now += 100) {
        mcp_request_progress(r.kept[0], (double)now, 0, NULL);
        assert_string_equal(at(now), "");
        assert_int_equal(mcp_channel_deadline(channel), now + 100);
    }
    assert_has(at(2000), LATE);
    mcp_reply_finish(r.kept[0], MCP_OK);
    end();
}

/* A deferred part counts as progress: each page of a list has the full time. */
static int list_later(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)max, (void)user;
    if (cursor.len == 0)
        return rig_keep(&r, req);
    return MCP_OK;
}

static int read_nothing(mcp_request *req, mcp_str uri, void *user)
{
    (void)req, (void)uri, (void)user;
    return MCP_ENOTFOUND;
}

static void test_parts_are_life(void **state)
{
    static const mcp_provider provider = {
        .size = sizeof(provider), .name = "later", .list = list_later, .read = read_nothing};
    (void)state;
    begin(100, rig_keep);
    assert_int_equal(mcp_server_mount(r.server, "a:", &provider, NULL, NULL), MCP_OK);
    assert_int_equal(mcp_server_mount(r.server, "b:", &provider, NULL, NULL), MCP_OK);
    rig_say(&r, channel,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\",\"params\":{" RIG_META
            "}}");
    assert_int_equal(r.n_kept, 1);
    assert_string_equal(at(1090), "");
    mcp_reply_finish(r.kept[0], MCP_OK); /* the second mount's part begins */
    assert_int_equal(r.n_kept, 2);
    assert_string_equal(at(1100), "");
    assert_int_equal(r.n_cancelled, 0);
    assert_has(at(1200), "\"id\":1,\"result\":{\"resources\":[{\"uri\":\"b:\"");
    assert_int_equal(r.n_cancelled, 1);
    mcp_reply_finish(r.kept[1], MCP_OK);
    assert_string_equal(rig_sent(&r), "");
    end();
}

static int ask_then_keep(rig *self, mcp_request *req)
{
    const mcp_json *roots;
    int rc = mcp_request_roots(req, "roots", &roots);
    return rc == MCP_OK ? rig_keep(self, req) : rc;
}

static int keep_always(rig *self, mcp_request *req)
{
    r.n_kept = 0;
    return rig_keep(self, req);
}

/* The time for a request to the client does not count for the handler. `later` means that the
 * handler was deferred before it asked. */
static void wait_for_the_client(bool later)
{
    begin(100, later ? keep_always : ask_then_keep);
    rig_say(
        &r, channel,
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{\"roots\":{}},\"clientInfo\":{\"name\":\"c\","
        "\"version\":\"1\"}}}");
    rig_say(&r, channel, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    rig_sent(&r);
    rig_say(&r, channel,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}");
    if (later) {
        const mcp_json *roots;
        assert_int_equal(mcp_request_roots(r.kept[0], "roots", &roots), MCP_INPUT_REQUIRED);
        mcp_reply_finish(r.kept[0], MCP_INPUT_REQUIRED);
    }
    const char *text = rig_sent(&r);
    assert_has(text, "\"method\":\"roots/list\"");
    int question = atoi(strstr(text, "\"id\":") + 5);
    for (int64_t now = 1010; now < 5000; now += 10)
        assert_string_equal(at(now), "");
    char answer[100];
    snprintf(answer, sizeof(answer), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"roots\":[]}}",
             question);
    rig_say(&r, channel, answer);
    assert_int_equal(r.n_kept, 1);
    for (; r.now < 5090; r.now++)
        assert_string_equal(at(r.now), "");
    assert_has(at(5200), "\"id\":1," LATE);
    mcp_reply_finish(r.kept[0], MCP_OK);
    assert_string_equal(rig_sent(&r), "");
    end();
}

static void test_waiting_for_the_client(void **state)
{
    (void)state;
    wait_for_the_client(false);
    wait_for_the_client(true);
}

static void test_channel_goes_first(void **state)
{
    (void)state;
    for (int closed = 0; closed < 2; closed++) {
        begin(100, rig_keep);
        for (int id = 0; id < 5; id++)
            rig_call_tool(&r, channel, id, "t");
        if (closed)
            mcp_channel_close(channel, 1001);
        assert_string_equal(closed ? at(1500) : "", "");
        mcp_channel_free(channel);
        channel = NULL;
        for (size_t i = 0; i < r.n_kept; i++)
            mcp_reply_finish(r.kept[i], MCP_OK);
        end();
    }
}

/* Handlers that hang still count for max_in_flight. */
static void test_hanging_handlers_are_bounded(void **state)
{
    (void)state;
    begin(100, rig_keep);
    for (int id = 0; id < 500; id++)
        rig_call_tool(&r, channel, id, "t");
    assert_int_equal(r.n_kept, 500);
    at(1100);
    assert_int_equal(r.n_cancelled, 500);
    assert_int_equal(mcp_channel_in_flight(channel), 0);
    rig_call_tool(&r, channel, 1, "t");
    assert_has(rig_sent(&r), "max_in_flight");
    for (size_t i = 0; i < 500; i++)
        mcp_reply_finish(r.kept[i], MCP_OK);
    rig_call_tool(&r, channel, 1, "t");
    assert_int_equal(mcp_channel_in_flight(channel), 1);
    mcp_reply_finish(r.kept[500], MCP_OK);
    end();
}

/* ---- many ------------------------------------------------------------------------------------ */

static unsigned next_random(unsigned *seed)
{
    return *seed = *seed * 1103515245 + 12345, *seed >> 16 & 0x7fff;
}

/* Many deadlines, with some requests finished in between: each expires in the right millisecond. */
static void test_many(void **state)
{
    enum { TOOLS = 37, CALLS = 400 };
    int64_t due[CALLS];
    unsigned seed = 1;
    (void)state;
    begin(0, rig_keep);
    for (int i = 0; i < TOOLS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%d", i);
        assert_int_equal(rig_add_tool(&r, name, (uint64_t)(150 + next_random(&seed) % 500)),
                         MCP_OK);
    }
    for (int id = 0; id < CALLS; id++) {
        char name[16];
        r.now = 1000 + id / 4;
        snprintf(name, sizeof(name), "t%u", next_random(&seed) % TOOLS);
        rig_call_tool(&r, channel, id, name);
        due[id] = -1;
    }
    /* The answers contain the time-out of each tool, so it is read from there. */
    size_t answered = 0, finished = 0;
    for (int64_t now = r.now; now < 2000; now++) {
        int64_t next = mcp_channel_deadline(channel);
        const char *text = at(now);
        assert_true((*text != 0) == (next <= now));
        for (const char *p = text; (p = strstr(p, "\"id\":")) != NULL; p++) {
            int id = atoi(p + 5);
            assert_int_equal(due[id], -1);
            const char *ms = strstr(p, "\"timeoutMs\":");
            due[id] = 1000 + id / 4 + atoi(ms + 12);
            assert_int_equal(due[id], now);
            answered++;
        }
        size_t victim = next_random(&seed) % CALLS;
        if (now % 3 == 0 && r.kept[victim] && due[victim] == -1) {
            mcp_reply_finish(r.kept[victim], MCP_OK);
            r.kept[victim] = NULL;
            due[victim] = 0;
            finished++;
            rig_sent(&r);
        }
    }
    assert_int_equal(answered + finished, CALLS);
    assert_true(finished > 20);
    assert_true(mcp_channel_deadline(channel) == INT64_MAX);
    for (size_t i = 0; i < r.n_kept; i++) {
        if (r.kept[i])
            mcp_reply_finish(r.kept[i], MCP_OK);
    }
    end();
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* The array is sent when the last request was answered or timed out. The data of a handler stays
 * valid until the handler ends. */
static void test_batch(void **state)
{
    (void)state;
    begin(100, rig_keep);
    rig_say(
        &r, channel,
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-03-26\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    rig_sent(&r);
    rig_say(
        &r, channel,
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}},"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"},"
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}]");
    assert_string_equal(rig_sent(&r), "");
    mcp_reply_finish(r.kept[1], MCP_OK);
    const char *text = at(1100);
    assert_int_equal(text[0], '[');
    assert_has(text, "\"id\":2");
    assert_has(text, "\"id\":3,\"result\"");
    assert_has(text, "\"id\":1," LATE);
    assert_has(text, "}]\n");
    assert_true(mcp_str_eq(mcp_json_string(mcp_json_get(mcp_request_params(r.kept[0]), "name")),
                           MCP_STR("t")));
    mcp_reply_finish(r.kept[0], MCP_OK);
    assert_string_equal(rig_sent(&r), "");
    end();
}

/* ---- without memory -------------------------------------------------------------------------- */

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        r = (rig){.memory.fail_at = n};
        channel = NULL;
        int rc = rig_open(&r, &(mcp_server_options){.handler_timeout_ms = 10}, rig_keep);
        if (rc == MCP_OK)
            rc = rig_connect(&r, "p", "c", &channel);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        if (rc == MCP_OK) {
            rig_call_tool(&r, channel, 1, "t");
            at(1010);
            assert_int_equal(r.n_cancelled, r.n_kept);
            assert_int_equal(mcp_channel_in_flight(channel), 0);
            for (size_t i = 0; i < r.n_kept; i++)
                mcp_reply_finish(r.kept[i], MCP_OK);
        }
        mcp_channel_free(channel);
        rig_close(&r);
        if (r.memory.calls < n)
            break;
    }
    assert_int_equal(r.n_cancelled, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_late),
        cmocka_unit_test(test_cancel_finds_the_living),
        cmocka_unit_test(test_limits_of_each_tool),
        cmocka_unit_test(test_never_for_the_whole_server),
        cmocka_unit_test(test_progress_is_life),
        cmocka_unit_test(test_parts_are_life),
        cmocka_unit_test(test_waiting_for_the_client),
        cmocka_unit_test(test_channel_goes_first),
        cmocka_unit_test(test_hanging_handlers_are_bounded),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
