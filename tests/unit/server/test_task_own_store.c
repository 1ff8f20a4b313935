/* Tasks in a store of the program: one that works, and ones that fail.
 */
#include "task_rig.h"

typedef struct shelf {
    mcp_task task; /* the stored task; .size is 0 if there is none */
    char texts[4096];
    int fail_add, fail_update, fail_get; /* the results of the functions */
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
    mcp_task_copy(ret, &s->task);
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

static mcp_task_store shelf_store(shelf *s)
{
    return (mcp_task_store){.size = sizeof(mcp_task_store),
                            .user = s,
                            .add = shelf_add,
                            .update = shelf_update,
                            .get = shelf_get,
                            .list = shelf_list,
                            .remove = shelf_remove,
                            .release = shelf_release};
}

static void test_own_store(void **state)
{
    (void)state;
    shelf s = {0};
    const mcp_task_store store = shelf_store(&s);
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, MCP_OPTIONS(mcp_task_settings, .store = &store), as_task);
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
    /* A later server finds the stored tasks; those that were running can only be cancelled. */
    s.task.status = MCP_TASK_WORKING;
    s.task.detail = (mcp_str){"", 0};
    memset(&w->r, 0, sizeof(w->r));
    world_open(w, NULL, MCP_OPTIONS(mcp_task_settings, .store = &store), as_task);
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
    const mcp_task_store store = shelf_store(&s);
    world *w = calloc(1, sizeof(*w));
    world_open(w, NULL, MCP_OPTIONS(mcp_task_settings, .store = &store), as_task);
    mcp_channel *channel = peer(w, NULL);
    assert_has(make_task(w, channel), "\"code\":-32603");
    assert_int_equal(w->r.n_kept, 0);
    s.fail_add = MCP_OK;
    /* A result that cannot be stored becomes an error. */
    make_task(w, channel);
    s.fail_update = MCP_EIO;
    s.updates = 0;
    s.fail_after = 0;
    s.fail_get = MCP_OK;
    mcp_request *req = w->r.kept[0];
    mcp_reply_text(req, "lost");
    mcp_reply_finish(req, MCP_OK);
    /* If the error cannot be stored either, the task is removed. */
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
    shelf s = {0};
    mcp_task_store store = shelf_store(&s);
    mcp_task_settings settings = {.size = sizeof(settings), .store = &store};
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
        cmocka_unit_test(test_own_store),
        cmocka_unit_test(test_store_fails),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
