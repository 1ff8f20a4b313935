/* Tasks of several instances: ids that name a home, what is kept for the others, what is said of a task whose
 * instance has ended.
 */
#include "instances.h"

/* ---- ids ------------------------------------------------------------------------------------- */

static void test_ids(void **state)
{
    (void)state;
    char id[MCP_TASK_ID_BYTES + 1], changed[MCP_TASK_ID_BYTES + 1];
    mcp_task_instance home = {.size = sizeof(home)};
    begin();
    make(&nodes[0], 0, id);
    assert_in_range(strlen(id), 100, 300);
    assert_int_equal(strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"),
                     strlen(id));
    mcp_server *other = nodes[1].r.server;
    assert_int_equal(mcp_server_get_task_instance(other, "alice", mcp_str_from(id), &home), MCP_OK);
    assert_string_equal(home.instance, nodes[0].instance);
    assert_string_equal(home.address, "https://other:1");
    assert_int_equal(mcp_server_get_task_instance(other, "bob", mcp_str_from(id), &home),
                     MCP_ENOTFOUND);
    assert_int_equal(mcp_server_get_task_instance(other, NULL, mcp_str_from(id), &home),
                     MCP_ENOTFOUND);
    for (size_t i = 0; id[i]; i++) {
        snprintf(changed, sizeof(changed), "%s", id);
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        assert_int_equal(mcp_server_get_task_instance(other, "alice", mcp_str_from(changed), &home),
                         MCP_ENOTFOUND);
        assert_has(ask(&nodes[1], 0, "tasks/get", changed), "-32602");
        changed[i] = 0;
        assert_int_equal(mcp_server_get_task_instance(other, "alice", mcp_str_from(changed), &home),
                         MCP_ENOTFOUND);
    }
    mcp_task_instance bad = {.size = sizeof(bad), .instance = "0123456789abcdeX", .address = "x"};
    assert_int_equal(mcp_server_set_task_instance(other, &bad, NULL), MCP_EINVAL);
    bad.instance[15] = 'f';
    bad.address[0] = 0;
    assert_int_equal(mcp_server_set_task_instance(other, &bad, NULL), MCP_EINVAL);
    assert_int_equal(mcp_server_get_task_instance(other, "alice", mcp_str_from(id), NULL),
                     MCP_EINVAL);
    home.size = 8;
    assert_int_equal(mcp_server_get_task_instance(other, "alice", mcp_str_from(id), &home),
                     MCP_EINVAL);
    assert_int_equal(mcp_server_set_task_instance(other, NULL, NULL), MCP_OK);
    make(&nodes[1], 0, changed);
    assert_int_equal(strlen(changed), 22);
    pass(25 * 3600 * 1000); /* longer than any task */
    home.size = sizeof(home);
    assert_int_equal(mcp_server_get_task_instance(other, "alice", mcp_str_from(id), &home),
                     MCP_ENOTFOUND);
    end();
}

/* ---- what is kept ----------------------------------------------------------------------------- */

static void test_kept(void **state)
{
    (void)state;
    char done[MCP_TASK_ID_BYTES + 1], runs[MCP_TASK_ID_BYTES + 1], late[MCP_TASK_ID_BYTES + 1];
    begin();
    make(&nodes[0], 0, done);
    make(&nodes[0], 0, runs);
    finish(&nodes[0], 0, "the result");
    pass(100);
    make(&nodes[0], 0, late);
    finish(&nodes[0], 2, "too late");
    node_kill(&nodes[0]); /* before the bus has taken it */
    const char *text = ask(&nodes[1], 0, "tasks/get", done);
    assert_has(text, "\"completed\"");
    assert_has(text, "the result");
    assert_has(text, done);
    assert_has(ask(&nodes[1], 1, "tasks/get", done), "-32602");
    assert_has(ask(&nodes[1], 2, "tasks/get", done), "-32602");
    assert_has(ask(&nodes[1], 0, "tasks/cancel", done), "\"result\"");
    assert_has(ask(&nodes[1], 0, "tasks/get", runs), "\"working\"");
    assert_has(ask(&nodes[1], 0, "tasks/cancel", runs), AWAY);
    assert_has(ask(&nodes[1], 0, "tasks/update", runs), AWAY);
    assert_has(ask(&nodes[1], 0, "tasks/get", late), AWAY);
    pass(15000);
    for (int i = 0; i < 2; i++) {
        const char *id = i ? late : runs;
        text = ask(&nodes[2], 0, "tasks/get", id);
        assert_has(text, "\"failed\"");
        assert_has(text, LOST);
        assert_has(text, id);
        assert_has(ask(&nodes[2], 0, "tasks/cancel", id), "\"result\"");
        assert_has(ask(&nodes[2], 0, "tasks/update", id), "\"result\"");
        assert_has(ask(&nodes[2], 1, "tasks/get", id), "-32602");
    }
    assert_has(ask(&nodes[1], 0, "tasks/get", done), "the result");
    pass(3600 * 1000);
    assert_has(ask(&nodes[1], 0, "tasks/get", done), "-32602");
    assert_has(ask(&nodes[1], 0, "tasks/get", runs), "-32602");
    end();
}

/* An instance without a bus for values, or that is not connected. */
static void test_without(void **state)
{
    (void)state;
    char id[MCP_TASK_ID_BYTES + 1];
    begin();
    make(&nodes[0], 0, id);
    pass(100);
    set_connected(&nodes[1], false);
    assert_has(ask(&nodes[1], 0, "tasks/get", id), AWAY);
    refuse = MCP_EREMOTE;
    assert_has(ask(&nodes[2], 0, "tasks/get", id), AWAY);
    refuse = MCP_OK;
    node_kill(&nodes[1]);
    assert_int_equal(node_begin_with(&nodes[1], "https://other:2", NULL, false, 0), MCP_OK);
    assert_has(ask(&nodes[1], 0, "tasks/get", id), AWAY);
    node_kill(&nodes[0]);
    assert_int_equal(node_begin_with(&nodes[0], "unix:/socket", NULL, false, 0), MCP_OK);
    make(&nodes[0], 0, id);
    node_kill(&nodes[0]);
    assert_has(ask(&nodes[1], 0, "tasks/get", id), LOST);
    end();
}

/* Values that are refused, or were lost with their connection, are kept again. */
static void test_again(void **state)
{
    (void)state;
    char id[8][MCP_TASK_ID_BYTES + 1];
    begin();
    refuse = MCP_ELIMIT;
    for (size_t i = 0; i < COUNT(id); i++) {
        make(&nodes[0], 0, id[i]);
        finish(&nodes[0], i, "kept again");
        pass(20);
    }
    pass(5000);
    refuse = MCP_OK;
    pass(5000);
    set_connected(&nodes[0], false);
    char late[MCP_TASK_ID_BYTES + 1];
    make(&nodes[0], 0, late);
    finish(&nodes[0], COUNT(id), "kept late");
    pass(1000);
    set_connected(&nodes[0], true);
    pass(1000);
    node_kill(&nodes[0]);
    for (size_t i = 0; i < COUNT(id); i++)
        assert_has(ask(&nodes[1], 0, "tasks/get", id[i]), "kept again");
    assert_has(ask(&nodes[1], 0, "tasks/get", late), "kept late");
    end();
}

/* More ends at once than the bus takes, while further tasks end: none is forgotten. */
static void test_burst(void **state)
{
    (void)state;
    enum { BURST = 300, MORE = 200 };
    static char id[BURST + MORE][MCP_TASK_ID_BYTES + 1];
    char label[32];
    begin();
    for (size_t i = 0; i < BURST; i++)
        make(&nodes[0], 0, id[i]);
    pass(1000);
    for (size_t i = 0; i < BURST + MORE; i++) {
        if (i >= BURST)
            make(&nodes[0], 0, id[i]);
        snprintf(label, sizeof(label), "label %zu.", i);
        finish(&nodes[0], i, label);
        if (i >= BURST)
            pass(10);
    }
    pass(100);
    node_kill(&nodes[0]);
    for (size_t i = 0; i < BURST + MORE; i++) {
        snprintf(label, sizeof(label), "label %zu.", i);
        assert_has(ask(&nodes[1], 0, "tasks/get", id[i]), label);
    }
    end();
}

static void test_large(void **state)
{
    (void)state;
    static char text[1 << 20];
    char id[MCP_TASK_ID_BYTES + 1];
    begin();
    make(&nodes[0], 0, id);
    memset(text, 'x', sizeof(text) - 1);
    finish(&nodes[0], 0, text);
    pass(100);
    node_kill(&nodes[0]);
    assert_has(ask(&nodes[1], 0, "tasks/get", id), "too large to be kept");
    end();
}

/* Nothing but what an instance with the key has kept under the same name is taken for a state. */
static void test_stranger(void **state)
{
    (void)state;
    char id[2][MCP_TASK_ID_BYTES + 1], *value[2];
    size_t at[2], n = 0;
    begin();
    for (size_t i = 0; i < 2; i++) {
        make(&nodes[0], 0, id[i]);
        finish(&nodes[0], i, i ? "second" : "first");
    }
    pass(100);
    node_kill(&nodes[0]);
    pass(16000);
    for (size_t i = 0; i < VALUES; i++) {
        if (values[i].value && values[i].name[0] == 't')
            at[n++] = i;
    }
    assert_int_equal(n, 2);
    value[0] = values[at[0]].value;
    value[1] = values[at[1]].value;
    values[at[0]].value = value[1];
    values[at[1]].value = value[0];
    size_t len = values[at[0]].len;
    values[at[0]].len = values[at[1]].len;
    values[at[1]].len = len;
    for (size_t i = 0; i < 2; i++)
        assert_has(ask(&nodes[1], 0, "tasks/get", id[i]), LOST);
    values[at[0]].value = value[0];
    values[at[1]].value = value[1];
    len = values[at[0]].len;
    values[at[0]].len = values[at[1]].len;
    values[at[1]].len = len;
    for (size_t i = 0; i < 2; i++)
        assert_has(ask(&nodes[1], 0, "tasks/get", id[i]), i ? "second" : "first");
    for (size_t i = 0; i < values[at[0]].len; i += 7) {
        value[0][i] ^= 1;
        const char *first = ask(&nodes[1], 0, "tasks/get", id[0]);
        const char *lost = strstr(first, LOST);
        if (!lost)
            assert_has(ask(&nodes[1], 0, "tasks/get", id[1]), LOST);
        value[0][i] ^= 1;
    }
    end();
}

/* The request ends before the bus answers, in every order. */
static void test_cancelled(void **state)
{
    (void)state;
    char id[MCP_TASK_ID_BYTES + 1], params[MCP_TASK_ID_BYTES + 64];
    begin();
    make(&nodes[0], 0, id);
    pass(100);
    node_kill(&nodes[0]);
    snprintf(params, sizeof(params), "\"taskId\":\"%s\"", id);
    assert_string_equal(say(&nodes[1], 0, "tasks/get", params), "");
    mcp_channel_receive(nodes[1].peers[0], 0,
                        MCP_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                "\"params\":{\"requestId\":1}}"),
                        0);
    pump();
    assert_string_equal(rig_sent(&nodes[1].r), "");
    assert_string_equal(say(&nodes[1], 0, "tasks/get", params), "");
    mcp_channel_free(nodes[1].peers[0]);
    nodes[1].peers[0] = NULL;
    pump();
    assert_string_equal(say(&nodes[2], 0, "tasks/get", params), "");
    set_connected(&nodes[2], false);
    assert_has(rig_sent(&nodes[2].r), AWAY);
    set_connected(&nodes[2], true);
    pass(100);
    assert_string_equal(say(&nodes[2], 0, "tasks/get", params), "");
    node_kill(&nodes[2]); /* with a request that waits */
    end();
}

static void test_memory(void **state)
{
    (void)state;
    char id[MCP_TASK_ID_BYTES + 1];
    begin();
    make(&nodes[0], 0, id);
    finish(&nodes[0], 0, "the result");
    pass(100);
    node_kill(&nodes[0]);
    node_kill(&nodes[1]);
    bool done = false;
    for (size_t fail = 1; !done; fail++) {
        assert_true(fail < 2000);
        node *n = &nodes[1];
        int rc = node_begin_with(n, "https://other:1", NULL, true, fail);
        if (rc == MCP_OK) {
            char own[MCP_TASK_ID_BYTES + 1];
            set_connected(n, true);
            pass(60);
            make(n, 0, own);
            if (own[0])
                finish(n, 0, "done");
            pass(60);
            const char *text = ask(n, 0, "tasks/get", id);
            done = n->r.memory.calls < fail;
            if (done)
                assert_has(text, "the result");
        }
        node_kill(n);
        memset(timers, 0, sizeof(timers));
        set_connected(&nodes[2], false);
        node_kill(&nodes[2]);
        node_begin(&nodes[2]);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),      cmocka_unit_test(test_kept),
        cmocka_unit_test(test_without),  cmocka_unit_test(test_again),
        cmocka_unit_test(test_large),    cmocka_unit_test(test_burst),
        cmocka_unit_test(test_stranger), cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
