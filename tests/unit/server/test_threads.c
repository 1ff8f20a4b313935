/* The functions for other threads, with a host of the test: what is posted to it, in which order it
 * runs, and what is rejected. (Real threads: tests/unit/io/test_post.c.)
 */
#include "rig.h"

static rig r;
static struct {
    void (*fn[10])(void *arg);
    void *arg[10];
    size_t n, refuse_from;
} queue;

static int host_post(void (*fn)(void *arg), void *arg, void *user)
{
    (void)user;
    if (queue.n >= queue.refuse_from)
        return MCP_ELIMIT;
    queue.fn[queue.n] = fn;
    queue.arg[queue.n++] = arg;
    return MCP_OK;
}

static void run_queue(void)
{
    for (size_t i = 0; i < queue.n; i++)
        queue.fn[i](queue.arg[i]);
    queue.n = 0;
}

static mcp_host host = {.size = sizeof(host), .post = host_post};

static void changed(mcp_server *server, void *user)
{
    assert_ptr_equal(server, r.server);
    mcp_server_resources_changed(server);
    strcat(user, "s");
}

static void answer(mcp_request *req, void *user)
{
    strcat(user, "r");
    mcp_reply_text(req, user);
    mcp_reply_finish(req, MCP_OK);
}

static void report(mcp_request *req, void *user)
{
    mcp_request_progress(req, 1, 2, NULL);
    strcat(user, "p");
}

static void test_in_order(void **state)
{
    char order[16] = "";
    mcp_channel *channel;
    (void)state;
    r = (rig){0};
    queue.n = 0;
    queue.refuse_from = 3;
    assert_int_equal(rig_open(&r, &(mcp_server_options){.host = &host}, rig_keep), MCP_OK);
    assert_int_equal(rig_connect(&r, NULL, NULL, &channel), MCP_OK);
    rig_call_tool(&r, channel, 1, "t");
    assert_int_equal(mcp_request_post(r.kept[0], report, order), MCP_OK);
    assert_int_equal(mcp_server_post(r.server, changed, order), MCP_OK);
    assert_int_equal(mcp_request_post(r.kept[0], answer, order), MCP_OK);
    assert_int_equal(mcp_server_post(r.server, changed, order), MCP_ELIMIT);
    assert_string_equal(order, "");
    assert_string_equal(rig_sent(&r), "");
    run_queue();
    assert_has(rig_sent(&r), "\"psr\"");
    mcp_channel_free(channel);
    rig_close(&r);
}

/* The request was cancelled, or its channel closed, before the posted function ran. */
static void test_nobody_waits(void **state)
{
    (void)state;
    for (int gone = 0; gone < 2; gone++) {
        char order[16] = "";
        mcp_channel *channel;
        r = (rig){0};
        queue.n = 0;
        queue.refuse_from = 10;
        assert_int_equal(rig_open(&r, &(mcp_server_options){.host = &host}, rig_keep), MCP_OK);
        assert_int_equal(rig_connect(&r, NULL, NULL, &channel), MCP_OK);
        rig_call_tool(&r, channel, 1, "t");
        assert_int_equal(mcp_request_post(r.kept[0], report, order), MCP_OK);
        if (gone)
            mcp_channel_free(channel);
        else
            rig_say(&r, channel,
                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                    "\"requestId\":1}}");
        assert_int_equal(mcp_request_post(r.kept[0], answer, order), MCP_OK);
        run_queue();
        assert_string_equal(order, "pr");
        assert_string_equal(rig_sent(&r), "");
        if (!gone)
            mcp_channel_free(channel);
        rig_close(&r);
    }
}

static void test_refused(void **state)
{
    static const mcp_host without = {.size = sizeof(without)};
    (void)state;
    for (int i = 0; i < 2; i++) {
        mcp_channel *channel;
        char order[16] = "";
        r = (rig){0};
        assert_int_equal(rig_open(&r, &(mcp_server_options){.host = i ? &without : NULL}, rig_keep),
                         MCP_OK);
        assert_int_equal(rig_connect(&r, NULL, NULL, &channel), MCP_OK);
        rig_call_tool(&r, channel, 1, "t");
        assert_int_equal(mcp_server_post(r.server, changed, order), MCP_EUNSUPPORTED);
        assert_int_equal(mcp_request_post(r.kept[0], answer, order), MCP_EUNSUPPORTED);
        assert_int_equal(mcp_server_post(r.server, NULL, order), MCP_EINVAL);
        assert_int_equal(mcp_server_post(NULL, changed, order), MCP_EINVAL);
        assert_int_equal(mcp_request_post(r.kept[0], NULL, order), MCP_EINVAL);
        assert_int_equal(mcp_request_post(NULL, answer, order), MCP_EINVAL);
        mcp_reply_finish(r.kept[0], MCP_OK);
        mcp_channel_free(channel);
        rig_close(&r);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    char order[16] = "";
    r = (rig){0};
    queue.n = 0;
    assert_int_equal(rig_open(&r, &(mcp_server_options){.host = &host}, rig_keep), MCP_OK);
    r.memory.fail_at = r.memory.calls + 1;
    assert_int_equal(mcp_server_post(r.server, changed, order), MCP_ENOMEM);
    assert_int_equal(queue.n, 0);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_nobody_waits),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
