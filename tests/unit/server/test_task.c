/* Tests of tasks that transcripts cannot express: other principals, channels and servers that are
 * closed, invalid calls. Other files test time, limits and custom stores.
 */
#include "task_rig.h"

#include <mcp/sys/forward.h>

/* ---- ownership ------------------------------------------------------------------------------- */

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
            snprintf(known, sizeof(known), "%.511s", ask_of(w, other, methods[k]));
            assert_has(known, "\"code\":-32602");
            /* The error is exactly that of a task that does not exist. */
            char id[32];
            memcpy(id, w->id, sizeof(id));
            memcpy(w->id, "XXXXXXXXXXXXXXXXXXXXXX", 22);
            char unknown[512];
            snprintf(unknown, sizeof(unknown), "%.511s", ask_of(w, other, methods[k]));
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
    /* Each has more than a page; Bob cannot use the cursor of Alice's list. */
    for (int i = 0; i < PAGE; i++) {
        say_plainly(w, alice, "tools/call", "\"name\":\"job\",\"task\":{}");
        say_plainly(w, bob, "tools/call", "\"name\":\"job\",\"task\":{}");
    }
    char cursor[512];
    const char *at = strstr(say_plainly(w, alice, "tasks/list", ""), "\"nextCursor\":\"");
    assert_non_null(at);
    at += strlen("\"nextCursor\":");
    snprintf(cursor, sizeof(cursor), "\"cursor\":%.*s", (int)strcspn(at, ",}"), at);
    assert_has(say_plainly(w, bob, "tasks/list", cursor), "\"code\":-32602");
    assert_has(say_plainly(w, alice, "tasks/list", cursor), "\"completed\"");
    /* Anonymous callers share no list, because they may be different callers. */
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

/* One of several instances has not all tasks that the caller can get, and so has no list. */
static void test_no_list_of_a_part(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    const mcp_task_instance home = {
        .size = sizeof(home), .instance = "0123456789abcdef", .address = "unix:x"};
    world_open(w, NULL, NULL, at_once);
    assert_int_equal(mcp_server_set_task_instance(w->r.server, &home, NULL), MCP_OK);
    mcp_channel *alice = asking_peer(w, "alice");
    const char *said = rig_sent(&w->r);
    assert_has(said, "\"tasks\":{");
    assert_null(strstr(said, "\"list\":{}"));
    said = say_plainly(w, alice, "tasks/list", "");
    assert_has(said, "\"code\":-32601");
    assert_has(said, "several instances");
    mcp_channel_free(alice);
    rig_close(&w->r);
    free(w);
}

/* ---- closed channels and servers ------------------------------------------------------------- */

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

/* A task whose progress another server reports without end takes no more memory with each
 * notification. */
static void test_progress_of_another(void **state)
{
    enum { TIMES = 100, ROOM = 5000, BLOCKS = 4 };
    world *w = calloc(1, sizeof(*w));
    char params[ROOM + 100], message[ROOM];
    (void)state;
    world_open(w, NULL, NULL, as_task);
    mcp_channel *channel = peer(w, "ann");
    make_task(w, channel);
    memset(message, 'm', sizeof(message));
    const size_t before = w->r.memory.live;
    for (int i = 0; i < TIMES; i++) {
        snprintf(params, sizeof(params), "{\"progress\":%d,\"message\":\"%d %.*s\"}", i, i,
                 (int)sizeof(message) - 10, message);
        assert_int_equal(mcp_request_progress_raw(w->r.kept[0], mcp_str_from(params)), MCP_OK);
    }
    assert_in_range(w->r.memory.live, before, before + BLOCKS);
    assert_has(ask_of(w, channel, "tasks/get"), "mmm");
    finish(w, 0);
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
    /* Neither has a peer to notify. */
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
    /* One was already cancelled, and its handler did not react. */
    ask_of(w, channel, "tasks/cancel");
    assert_int_equal(w->r.n_cancelled, 1);
    mcp_channel_free(channel);
    mcp_channel_free(asking);
    rig_close(&w->r); /* frees everything */
    assert_int_equal(w->r.n_cancelled, 4);
    free(w);
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

/* The session that got an input request is closed; the next tasks/result gets it again. */
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

/* ---- wrong calls ----------------------------------------------------------------------------- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_principals),          cmocka_unit_test(test_list_is_ones_own),
        cmocka_unit_test(test_no_list_of_a_part),   cmocka_unit_test(test_outlives_its_channel),
        cmocka_unit_test(test_progress_of_another), cmocka_unit_test(test_session_goes),
        cmocka_unit_test(test_server_goes),         cmocka_unit_test(test_server_goes_while_asking),
        cmocka_unit_test(test_asked_again),         cmocka_unit_test(test_wrong_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
