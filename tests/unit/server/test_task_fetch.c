/* A store that finds tasks later (mcp_task_store.fetch): what the request gets, in which order things can end,
 * limits, and every allocation failing.
 */
#include "task_rig.h"

enum { WAITS = 16 };

/* A store that is empty here, and has one task elsewhere. */
typedef struct far_store {
    mcp_task task;
    mcp_task_wait *waits[WAITS];
    size_t n_waits, n_fetched, n_updated;
    int at_once; /* what `fetch` returns instead of waiting, or MCP_OK: it answers before it returns */
    bool quick;
} far_store;

static int far_add(const mcp_task *task, void *user)
{
    (void)task, (void)user;
    return MCP_OK;
}

static int far_update(const mcp_task *task, void *user)
{
    far_store *f = user;
    f->n_updated++;
    assert_int_equal(task->status, MCP_TASK_CANCELLED);
    return MCP_OK;
}

static int far_get(mcp_str id, mcp_task *ret, void *user)
{
    (void)id, (void)ret, (void)user;
    return MCP_ENOTFOUND;
}

static int far_list(uint64_t after, int (*each)(const mcp_task *task, void *arg), void *arg,
                    void *user)
{
    (void)after, (void)each, (void)arg, (void)user;
    return MCP_OK;
}

static void far_remove(mcp_str id, void *user)
{
    (void)id, (void)user;
}

static int far_fetch(mcp_str id, mcp_task_wait *wait, void *user)
{
    far_store *f = user;
    assert_int_equal(id.len, 22);
    f->n_fetched++;
    if (!f->quick) {
        assert_true(f->n_waits < WAITS);
        f->waits[f->n_waits++] = wait;
        return MCP_PENDING;
    }
    if (f->at_once != MCP_OK)
        return f->at_once;
    mcp_task_found(wait, MCP_OK, &f->task);
    return MCP_PENDING;
}

static world *begin(far_store *f, size_t max_waiting, size_t fail_at)
{
    world *w = calloc(1, sizeof(*w));
    const mcp_task_store store = {.size = sizeof(store),
                                  .user = f,
                                  .add = far_add,
                                  .update = far_update,
                                  .get = far_get,
                                  .list = far_list,
                                  .remove = far_remove,
                                  .fetch = far_fetch};
    world_open(w, NULL, MCP_OPTIONS(mcp_task_settings, .store = &store, .max_waiting = max_waiting),
               as_task);
    w->r.memory.fail_at = fail_at ? w->r.memory.calls + fail_at : 0;
    snprintf(w->id, sizeof(w->id), "AAAAAAAAAAAAAAAAAAAAAA");
    f->task = (mcp_task){.size = sizeof(f->task),
                         .sequence = 1,
                         .id = mcp_str_from(w->id),
                         .principal = MCP_STR("alice"),
                         .revision = MCP_STR("2026-07-28"),
                         .status = MCP_TASK_COMPLETED,
                         .message = MCP_STR("far away"),
                         .created_ms = w->calendar,
                         .updated_ms = w->calendar,
                         .ttl_ms = 60000,
                         .detail = MCP_STR("{\"content\":[]}")};
    return w;
}

static void end(world *w)
{
    rig_close(&w->r);
    free(w);
}

static const char *answer(world *w, far_store *f, int rc)
{
    mcp_task_wait *wait = f->waits[--f->n_waits];
    mcp_task_found(wait, rc, rc == MCP_OK ? &f->task : NULL);
    return rig_sent(&w->r);
}

static void test_later(void **state)
{
    (void)state;
    far_store f = {0};
    world *w = begin(&f, 0, 0);
    mcp_channel *alice = peer(w, "alice"), *bob = peer(w, "bob");
    assert_string_equal(ask_of(w, alice, "tasks/get"), "");
    const char *text = answer(w, &f, MCP_OK);
    assert_has(text, "\"completed\"");
    assert_has(text, "\"statusMessage\":\"far away\"");
    assert_has(text, "\"result\":{\"content\":[]}");
    assert_string_equal(ask_of(w, bob, "tasks/get"), "");
    assert_has(answer(w, &f, MCP_OK), "-32602"); /* it is not his */
    ask_of(w, alice, "tasks/get");
    assert_has(answer(w, &f, MCP_ENOTFOUND), "-32602");
    ask_of(w, alice, "tasks/get");
    assert_has(answer(w, &f, MCP_EREMOTE), "-32603");
    ask_of(w, alice, "tasks/update");
    assert_has(answer(w, &f, MCP_OK), "\"result\"");
    f.task.status = MCP_TASK_WORKING;
    f.task.detail = MCP_STR("");
    ask_of(w, alice, "tasks/cancel");
    assert_has(answer(w, &f, MCP_OK), "\"result\"");
    assert_int_equal(f.n_updated, 1);
    ask_of(w, alice, "tasks/get");
    w->calendar += 60000;
    assert_has(answer(w, &f, MCP_OK), "-32602"); /* it has expired meanwhile */
    mcp_channel_free(alice);
    mcp_channel_free(bob);
    end(w);
}

static void test_asked(void **state)
{
    (void)state;
    far_store f = {0};
    world *w = begin(&f, 0, 0);
    mcp_channel *alice = asking_peer(w, "alice");
    rig_sent(&w->r);
    f.task.revision = MCP_STR("2025-11-25");
    f.task.detail = MCP_STR("{\"content\":[],\"x\":1}");
    assert_string_equal(
        say_plainly(w, alice, "tasks/result", "\"taskId\":\"AAAAAAAAAAAAAAAAAAAAAA\""), "");
    assert_has(answer(w, &f, MCP_OK), "\"x\":1");
    f.task.status = MCP_TASK_WORKING;
    f.task.detail = MCP_STR("");
    say_plainly(w, alice, "tasks/result", "\"taskId\":\"AAAAAAAAAAAAAAAAAAAAAA\"");
    assert_has(answer(w, &f, MCP_OK), "no longer runs on this server");
    say_plainly(w, alice, "tasks/cancel", "\"taskId\":\"AAAAAAAAAAAAAAAAAAAAAA\"");
    assert_has(answer(w, &f, MCP_OK), "\"cancelled\"");
    mcp_channel_free(alice);
    end(w);
}

static void test_at_once(void **state)
{
    (void)state;
    far_store f = {.quick = true};
    world *w = begin(&f, 0, 0);
    mcp_channel *alice = peer(w, "alice");
    assert_has(ask_of(w, alice, "tasks/get"), "\"completed\"");
    f.at_once = MCP_ENOTFOUND;
    assert_has(ask_of(w, alice, "tasks/get"), "-32602");
    f.at_once = MCP_EIO;
    assert_has(ask_of(w, alice, "tasks/get"), "-32603");
    assert_int_equal(f.n_fetched, 3);
    mcp_channel_free(alice);
    end(w);
}

/* The answer comes after the request was cancelled, or its channel was closed; or never. */
static void test_ended(void **state)
{
    (void)state;
    far_store f = {0};
    world *w = begin(&f, 0, 0);
    mcp_channel *alice = peer(w, "alice");
    ask_of(w, alice, "tasks/get");
    rig_say(&w->r, alice,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
            "\"requestId\":1}}");
    assert_string_equal(answer(w, &f, MCP_OK), "");
    ask_of(w, alice, "tasks/get");
    mcp_channel_free(alice);
    assert_string_equal(answer(w, &f, MCP_OK), "");
    alice = peer(w, "alice");
    ask_of(w, alice, "tasks/get");
    mcp_error error = {0};
    assert_int_equal(mcp_server_set_tasks(w->r.server, MCP_OPTIONS(mcp_task_settings, 0), &error),
                     MCP_ESTATE);
    mcp_channel_free(alice);
    end(w); /* with a wait that nobody ends */
}

static void test_limit(void **state)
{
    (void)state;
    far_store f = {0};
    world *w = begin(&f, 3, 0);
    mcp_channel *peers[4];
    for (size_t i = 0; i < 4; i++)
        peers[i] = peer(w, "alice");
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(ask_of(w, peers[i], "tasks/get"), "");
    assert_has(ask_of(w, peers[3], "tasks/get"), "max_waiting");
    /* A request that was cancelled counts until the store has answered. */
    mcp_channel_free(peers[0]);
    assert_has(ask_of(w, peers[3], "tasks/get"), "max_waiting");
    assert_has(answer(w, &f, MCP_OK), "\"completed\"");
    assert_string_equal(ask_of(w, peers[3], "tasks/get"), "");
    while (f.n_waits)
        answer(w, &f, MCP_OK);
    for (size_t i = 1; i < 4; i++)
        mcp_channel_free(peers[i]);
    end(w);
}

static void test_memory(void **state)
{
    (void)state;
    for (size_t fail_at = 1; fail_at < 200; fail_at++) {
        far_store f = {0};
        world *w = begin(&f, 0, fail_at);
        mcp_channel *alice = NULL;
        if (rig_connect(&w->r, "alice", NULL, &alice) == MCP_OK) {
            (void)rig_say(&w->r, alice,
                          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/get\",\"params\":{"
                          "\"taskId\":\"AAAAAAAAAAAAAAAAAAAAAA\"," TASKS "}}");
            if (f.n_waits)
                answer(w, &f, MCP_OK);
        }
        bool done = !w->r.memory.fail_at || w->r.memory.calls < w->r.memory.fail_at;
        mcp_channel_free(alice);
        end(w);
        if (done)
            return;
    }
    fail_msg("it never ends");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_later), cmocka_unit_test(test_asked), cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_ended), cmocka_unit_test(test_limit), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
