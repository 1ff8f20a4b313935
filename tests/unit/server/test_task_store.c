/* The in-memory store of tasks: order, limits, members that an update does not change, allocation
 * failures. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "server/tasks/task.h"
#include "support/failalloc.h"

typedef struct shelf {
    failalloc memory;
    mcp_allocator allocator;
    mcp_task_store store;
} shelf;

static int open_shelf(shelf *s, size_t max_tasks, size_t max_per_principal, size_t max_bytes)
{
    const mcp_task_settings settings = {.max_tasks = max_tasks,
                                        .max_tasks_per_principal = max_per_principal,
                                        .max_bytes = max_bytes};
    s->allocator = failalloc_allocator(&s->memory);
    return mcp__task_memory_new(&s->allocator, &settings, &s->store);
}

static void close_shelf(shelf *s)
{
    s->store.release(s->store.user);
    assert_int_equal(s->memory.live, 0);
}

static mcp_task task_named(const char *id, const char *principal)
{
    return (mcp_task){.size = sizeof(mcp_task),
                      .id = mcp_str_from(id),
                      .principal = mcp_str_from(principal),
                      .revision = MCP_STR("2026-07-28"),
                      .message = MCP_STR("hello"),
                      .created_ms = 7,
                      .ttl_ms = 1000};
}

static int add(shelf *s, const char *id, const char *principal)
{
    mcp_task task = task_named(id, principal);
    return s->store.add(&task, s->store.user);
}

typedef struct seen {
    shelf *s;
    char ids[256];
    const char *remove, *stop;
} seen;

static int look(const mcp_task *task, void *arg)
{
    seen *list = arg;
    strncat(list->ids, task->id.ptr, task->id.len);
    if (list->remove && mcp_str_eq(task->id, mcp_str_from(list->remove)))
        list->s->store.remove(task->id, list->s->store.user);
    return list->stop && mcp_str_eq(task->id, mcp_str_from(list->stop)) ? 42 : MCP_OK;
}

static void test_order(void **state)
{
    (void)state;
    shelf s = {0};
    mcp_task got = {.size = sizeof(got)};
    open_shelf(&s, 100, 100, 1 << 20);
    const char *ids[] = {"c", "a", "d", "b"};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(add(&s, ids[i], i % 2 ? NULL : "alice"), MCP_OK);
    assert_int_equal(add(&s, "a", NULL), MCP_EEXIST);
    seen all = {.s = &s, .remove = "a"};
    assert_int_equal(s.store.list(0, look, &all, s.store.user), MCP_OK);
    assert_string_equal(all.ids, "cadb");
    assert_int_equal(s.store.get(MCP_STR("a"), &got, s.store.user), MCP_ENOTFOUND);
    s.store.remove(MCP_STR("a"), s.store.user);
    assert_int_equal(s.store.get(MCP_STR("c"), &got, s.store.user), MCP_OK);
    assert_true(mcp_str_eq(got.principal, MCP_STR("alice")));
    seen rest = {.s = &s, .stop = "d"};
    assert_int_equal(s.store.list(got.sequence, look, &rest, s.store.user), 42);
    assert_string_equal(rest.ids, "d");
    close_shelf(&s);
}

static void test_update(void **state)
{
    (void)state;
    static char large[20000];
    shelf s = {0};
    mcp_task got = {.size = sizeof(got)};
    memset(large, 'x', sizeof(large));
    open_shelf(&s, 100, 100, 10000);
    add(&s, "a", "alice");
    mcp_task task = task_named("a", "mallory");
    task.revision = MCP_STR("other");
    task.created_ms = 8;
    task.status = MCP_TASK_COMPLETED;
    task.detail = (mcp_str){large, sizeof(large)};
    assert_int_equal(s.store.update(&task, s.store.user), MCP_ELIMIT);
    s.store.get(MCP_STR("a"), &got, s.store.user);
    assert_int_equal(got.status, MCP_TASK_WORKING);
    assert_true(mcp_str_eq(got.message, MCP_STR("hello")));
    task.detail.len = 5000;
    assert_int_equal(s.store.update(&task, s.store.user), MCP_OK);
    s.store.get(MCP_STR("a"), &got, s.store.user);
    assert_int_equal(got.status, MCP_TASK_COMPLETED);
    assert_int_equal(got.detail.len, 5000);
    assert_memory_equal(got.detail.ptr, large, 5000);
    /* The id and the principal do not change. */
    assert_true(mcp_str_eq(got.principal, MCP_STR("alice")));
    assert_true(mcp_str_eq(got.revision, MCP_STR("2026-07-28")));
    assert_int_equal(got.created_ms, 7);
    /* Memory that one task frees can be used by another. */
    size_t n = 0;
    char id[] = "0";
    for (; add(&s, id, NULL) == MCP_OK; id[0]++)
        n++;
    assert_in_range(n, 1, 5);
    task.detail.len = 10;
    assert_int_equal(s.store.update(&task, s.store.user), MCP_OK);
    assert_int_equal(add(&s, id, NULL), MCP_OK);
    task.id = MCP_STR("unknown");
    assert_int_equal(s.store.update(&task, s.store.user), MCP_ENOTFOUND);
    close_shelf(&s);
}

/* A full store still accepts short results. */
static void test_short_always_fits(void **state)
{
    (void)state;
    char text[900];
    shelf s = {0};
    memset(text, 'x', sizeof(text));
    open_shelf(&s, 100, 100, 5000);
    char id[] = "0";
    while (add(&s, id, NULL) == MCP_OK)
        id[0]++;
    assert_in_range(id[0], '1', '9');
    while (--id[0] >= '0') {
        mcp_task task = task_named(id, NULL);
        task.detail = (mcp_str){text, sizeof(text)};
        assert_int_equal(s.store.update(&task, s.store.user), MCP_OK);
    }
    close_shelf(&s);
}

static void test_counts(void **state)
{
    (void)state;
    shelf s = {0};
    open_shelf(&s, 4, 2, 1 << 20);
    assert_int_equal(add(&s, "a", "alice"), MCP_OK);
    assert_int_equal(add(&s, "b", "alice"), MCP_OK);
    assert_int_equal(add(&s, "c", "alice"), MCP_ELIMIT);
    assert_int_equal(add(&s, "c", ""), MCP_OK);
    assert_int_equal(add(&s, "d", NULL), MCP_OK); /* NULL differs from the empty principal */
    assert_int_equal(add(&s, "e", NULL), MCP_ELIMIT);
    s.store.remove(MCP_STR("a"), s.store.user);
    assert_int_equal(add(&s, "e", NULL), MCP_OK);
    assert_int_equal(add(&s, "f", "alice"), MCP_ELIMIT);
    close_shelf(&s);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        shelf s = {.memory.fail_at = n};
        if (open_shelf(&s, 100, 100, 1 << 20) != MCP_OK) {
            assert_int_equal(s.memory.live, 0);
            continue;
        }
        mcp_task got = {.size = sizeof(got)}, task = task_named("a", "alice");
        bool added = add(&s, "a", "alice") == MCP_OK;
        task.status = MCP_TASK_FAILED;
        int rc = s.store.update(&task, s.store.user);
        assert_int_equal(s.store.get(MCP_STR("a"), &got, s.store.user),
                         added ? MCP_OK : MCP_ENOTFOUND);
        if (added)
            assert_int_equal(got.status, rc == MCP_OK ? MCP_TASK_FAILED : MCP_TASK_WORKING);
        bool reached = s.memory.calls >= n;
        close_shelf(&s);
        if (!reached)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_short_always_fits),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
