/* The decision before a handler runs: what it is about, what its outcomes do, and that rules count again
 * after a wait. The transcripts with --decided show that a wait makes no other difference.
 */
#include <mcp/decide.h>

#include "rig.h"

/* What the function returns, and what it was asked about last. */
static struct {
    int rc;
    bool tool_error;
    mcp_request *waiting;
    unsigned asked, ran;
    char about[400];
} now;

static const char *const items[] = {"resource", "template", "prompt", "tool"};

static int decide(mcp_request *req, const mcp_intent *intent, void *user)
{
    size_t len = (size_t)snprintf(now.about, sizeof(now.about), "%s %d", mcp_request_method(req),
                                  (int)intent->operation);
    assert_ptr_equal(user, &now);
    for (size_t i = 0; i < intent->n_things; i++)
        len += (size_t)snprintf(now.about + len, sizeof(now.about) - len, " %s=%.*s",
                                items[intent->things[i].item], (int)intent->things[i].name.len,
                                intent->things[i].name.ptr);
    now.asked++;
    if (now.rc == MCP_PENDING)
        now.waiting = req;
    if (now.tool_error)
        return mcp_reply_tool_error(req, "no") == MCP_OK ? MCP_EREMOTE : MCP_ENOMEM;
    return now.rc == MCP_EINVAL ? mcp_reply_fail(req, MCP_CODE_DENIED, "no") : now.rc;
}

static int count_run(rig *r, mcp_request *req)
{
    (void)r, (void)req;
    now.ran++;
    return MCP_OK;
}

static int read_mem(mcp_request *req, mcp_str uri, void *user)
{
    (void)uri, (void)user;
    now.ran++;
    return mcp_reply_text(req, "here");
}

/* Percent-encoding is the only thing in which spellings differ, and only "b" is encoded. */
static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    bool encoded = uri.len == 7 && memcmp(uri.ptr, "mem:%62", 7) == 0;
    (void)user;
    if (uri.len > 7)
        return MCP_ENOTFOUND;
    snprintf(canonical, room, "%.*s", encoded ? 5 : (int)uri.len, encoded ? "mem:b" : uri.ptr);
    return MCP_OK;
}

static int watch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    return MCP_OK;
}

static void unwatch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
}

static bool hides;

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)name, (void)user;
    return !hides;
}

static void open_rig(rig *r, mcp_channel **channel)
{
    static const mcp_provider provider = {.size = sizeof(provider),
                                          .name = "mem",
                                          .read = read_mem,
                                          .resolve = resolve,
                                          .watch = watch,
                                          .unwatch = unwatch};
    *r = (rig){.local = true};
    memset(&now, 0, sizeof(now));
    hides = false;
    assert_int_equal(rig_open(r, &(mcp_server_options){.size = 0}, count_run), MCP_OK);
    assert_int_equal(mcp_server_mount(r->server, "mem:", &provider, NULL, NULL), MCP_OK);
    mcp_server_set_decide(r->server, decide, &now);
    assert_int_equal(rig_connect(r, NULL, NULL, channel), MCP_OK);
}

static void close_rig(rig *r, mcp_channel *channel)
{
    mcp_channel_free(channel);
    rig_close(r);
}

static const char *ask(rig *r, mcp_channel *channel, const char *method, const char *params)
{
    char message[600];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s" RIG_META "}}",
             method, params, *params ? "," : "");
    assert_int_equal(rig_say(r, channel, message), MCP_OK);
    return rig_sent(r);
}

static void test_about(void **state)
{
    static rig r;
    mcp_channel *channel;
    static const struct {
        const char *method, *params, *about;
    } rows[] = {
        {"tools/call", "\"name\":\"t\"", "tools/call 1 tool=t"},
        {"prompts/get", "\"name\":\"p\"", "prompts/get 0 prompt=p"},
        {"completion/complete",
         "\"ref\":{\"type\":\"ref/"
         "prompt\",\"name\":\"p\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}",
         "completion/complete 0 prompt=p"},
        {"resources/read", "\"uri\":\"mem:%62?line=1\"", "resources/read 0 resource=mem:b"},
        {"subscriptions/listen",
         "\"notifications\":{\"resourceSubscriptions\":[\"mem:%62\",\"mem:none-such\",\"mem:c\"]}",
         "subscriptions/listen 0 resource=mem:b resource=mem:c"},
        /* not asked about */
        {"resources/list", "", ""},
        {"tools/list", "", ""},
        {"tools/call", "\"name\":\"none\"", ""},
        {"resources/read", "\"uri\":\"mem:none-such\"", ""},
    };
    (void)state;
    open_rig(&r, &channel);
    now.rc = MCP_EINVAL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        now.about[0] = '\0';
        const char *sent = ask(&r, channel, rows[i].method, rows[i].params);
        assert_string_equal(now.about, rows[i].about);
        if (*rows[i].about)
            assert_has(sent, "\"code\":-31403");
    }
    assert_int_equal(now.ran, 0);
    close_rig(&r, channel);
}

static void test_outcomes(void **state)
{
    static rig r;
    mcp_channel *channel;
    (void)state;
    open_rig(&r, &channel);
    assert_has(ask(&r, channel, "tools/call", "\"name\":\"t\""), "\"content\":[]");
    assert_int_equal(now.ran, 1);
    now.tool_error = true;
    assert_has(ask(&r, channel, "tools/call", "\"name\":\"t\""), "\"isError\":true");
    now.tool_error = false;
    now.rc = MCP_EREMOTE; /* without a reply it is a failure */
    assert_has(ask(&r, channel, "tools/call", "\"name\":\"t\""), "\"error\":");
    assert_int_equal(now.ran, 1);
    mcp_server_set_decide(r.server, NULL, NULL);
    assert_has(ask(&r, channel, "tools/call", "\"name\":\"t\""), "\"content\":[]");
    close_rig(&r, channel);
}

/* After the wait, rules count again, and the function is asked again. */
static void test_wait(void **state)
{
    static rig r;
    mcp_channel *channel;
    (void)state;
    open_rig(&r, &channel);
    assert_int_equal(mcp_server_set_access(r.server, MCP_OPTIONS(mcp_access, .may = may)), MCP_OK);
    now.rc = MCP_PENDING;
    assert_string_equal(ask(&r, channel, "resources/read", "\"uri\":\"mem:b\""), "");
    mcp_request_decide_again(now.waiting); /* it may wait again */
    assert_int_equal(now.asked, 2);
    assert_string_equal(rig_sent(&r), "");
    hides = true;
    mcp_request_decide_again(now.waiting);
    assert_has(rig_sent(&r), "Resource not found");
    hides = false;
    ask(&r, channel, "resources/read", "\"uri\":\"mem:b\"");
    assert_int_equal(now.ran, 0);
    now.rc = MCP_OK;
    mcp_request_decide_again(now.waiting);
    assert_has(rig_sent(&r), "here");
    assert_int_equal(now.ran, 1);
    close_rig(&r, channel);
}

/* A subscription has no deadline, though it waited for the decision with one. */
static void test_deadline(void **state)
{
    static rig r;
    mcp_channel *channel;
    (void)state;
    open_rig(&r, &channel);
    now.rc = MCP_PENDING;
    ask(&r, channel, "subscriptions/listen",
        "\"notifications\":{\"resourceSubscriptions\":[\"mem:b\"]}");
    now.rc = MCP_OK;
    mcp_request_decide_again(now.waiting);
    assert_has(rig_sent(&r), "acknowledged");
    mcp_channel_tick(channel, r.now + 3600 * 1000);
    assert_string_equal(rig_sent(&r), "");
    now.rc = MCP_PENDING;
    r.now += 3600 * 1000;
    assert_int_equal(rig_call_tool(&r, channel, 2, "t"), MCP_OK);
    mcp_request_on_cancel(now.waiting, rig_cancelled, &r);
    mcp_channel_tick(channel, r.now + 3600 * 1000);
    assert_has(rig_sent(&r), "no answer and no progress");
    assert_int_equal(r.n_cancelled, 1);
    mcp_request_decide_again(now.waiting); /* it has ended for its peer */
    assert_string_equal(rig_sent(&r), "");
    assert_int_equal(now.ran, 0);
    close_rig(&r, channel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_about),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
