/* Independent parts: the heap of timers, media types, the stored headers, the event store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failalloc.h"
#include "http/server/http_session.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Sets, moves and stops random timers; the earliest must always be on top. */
static void test_timers(void **state)
{
    (void)state;
    enum { N = 200 };
    mcp__http_timer timers[N] = {0}, *heap = NULL;
    uint32_t seed = 1;
    for (int step = 0; step < 50000; step++) {
        seed = seed * 1664525u + 1013904223u;
        mcp__http_timer *t = &timers[(seed >> 8) % N];
        int64_t due = (int64_t)(seed >> 20);
        switch (seed >> 30) {
        case 0: mcp__http_timer_stop(&heap, t); break;
        case 1: mcp__http_timer_hasten(&heap, t, due); break;
        case 2: mcp__http_timer_set(&heap, t, due); break;
        default:
            if (heap)
                mcp__http_timer_stop(&heap, heap);
            break;
        }
        int64_t earliest = INT64_MAX;
        for (size_t i = 0; i < N && step % 16 == 0; i++) {
            if (timers[i].armed && timers[i].due < earliest)
                earliest = timers[i].due;
        }
        if (step % 16 == 0)
            assert_true(earliest == (heap ? heap->due : INT64_MAX));
    }
    int64_t last = INT64_MIN;
    while (heap) {
        assert_true(heap->due >= last);
        last = heap->due;
        mcp__http_timer_stop(&heap, heap);
    }
    for (size_t i = 0; i < N; i++)
        assert_false(timers[i].armed);
    mcp__http_timer_set(&heap, &timers[0], INT64_MAX); /* never */
    assert_null(heap);
    mcp__http_timer_set(&heap, &timers[0], 5);
    mcp__http_timer_hasten(&heap, &timers[0], 9);
    assert_true(heap->due == 5);
}

static void test_accept(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        unsigned types;
    } rows[] = {
        {"application/json", MCP__HTTP_JSON},
        {"text/event-stream", MCP__HTTP_SSE},
        {"application/json, text/event-stream", MCP__HTTP_JSON | MCP__HTTP_SSE},
        {"text/event-stream,application/json", MCP__HTTP_JSON | MCP__HTTP_SSE},
        {"*/*", MCP__HTTP_JSON | MCP__HTTP_SSE},
        {"text/html;q=0.9;level=\"1,2;3\", */*;q=0.1", MCP__HTTP_JSON | MCP__HTTP_SSE},
        {"APPLICATION/Json ; charset=utf-8", MCP__HTTP_JSON},
        {"application/*", MCP__HTTP_JSON},
        {"text/*", MCP__HTTP_SSE},
        {"application/json;q=0, text/event-stream;q=0.5", MCP__HTTP_SSE},
        {"application/json;q=0.000", 0},
        {"application/jsonl", 0},
        {"text/html;x=\"\\\", */*\"", 0},
        {"x;y=\"*/*", 0},
        {"x;y=\"\\", 0},
        {"", 0},
        {",,;;,", 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (mcp__http_accepts(mcp_str_from(rows[i].value)) != rows[i].types)
            fail_msg("%s", rows[i].value);
    }
}

static void test_content_type(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool json;
    } rows[] = {
        {"application/json", true},
        {"Application/JSON;charset=UTF-8", true},
        {"application/json ;", true},
        {"application/json-rpc", false},
        {"text/plain", false},
        {"text/plain;application/json", false},
        {"", false},
        {"application/json, text/plain", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(mcp__http_is_json(mcp_str_from(rows[i].value)), rows[i].json);
}

static void add(mcp__http_head *head, const char *name, const char *value)
{
    for (const char *at = name; *at; at++) /* in pieces */
        mcp__http_head_name(head, at, 1);
    mcp__http_head_name_end(head);
    for (const char *at = value; *at; at++)
        mcp__http_head_value(head, at, 1);
    mcp__http_head_value_end(head);
}

static const char *const head_cases[] = {
    "Host",
    "Origin",
    "Authorization",
    "Content-Type",
    "Content-Encoding",
    "Accept",
    "Expect",
    "Mcp-Session-Id",
    "MCP-Protocol-Version",
    "Mcp-Method",
    "Mcp-Name",
    "Last-Event-ID",
    "Traceparent",
    "Access-Control-Request-Headers",
    "Mcp-Param-One",
    "Mcp-Param-Two",
};

static void test_head(void **state)
{
    (void)state;
    static const char *const others[] = {"Hosts",           "Hos",    "Mcp-Param-", "Mcp_Method",
                                         "Mcp-Param-Three", "Cookie", "",           "AcCeP\xf4",
                                         "Mcp-Params-One"};
    mcp__http_head head = {0};
    mcp__buf_init(&head.bytes, NULL, 0);
    for (int round = 0; round < 3; round++) {
        mcp__http_head_reset(&head);
        mcp__buf_lit(&head.bytes, "/target");
        for (size_t i = 0; i < COUNT(head_cases); i++) {
            char value[64];
            snprintf(value, sizeof(value), " \t <%s> \t", head_cases[i]);
            add(&head, head_cases[i], value);
            add(&head, "Cookie", "forgotten");
        }
        assert_int_equal(head.count, 2 * COUNT(head_cases));
        assert_false(head.duplicate);
        mcp_str value;
        for (size_t i = 0; i < COUNT(head_cases); i++) {
            char expected[64];
            snprintf(expected, sizeof(expected), "<%s>", head_cases[i]);
            assert_true(mcp__http_find(&head, head_cases[i], &value));
            assert_true(mcp_str_eq(value, mcp_str_from(expected)));
        }
        for (size_t i = 0; i < COUNT(others); i++)
            assert_false(mcp__http_find(&head, others[i], &value));
        assert_null(memchr(head.bytes.ptr, 'k', head.bytes.len)); /* of Cookie */
        assert_int_equal(head.repeated, 0);
        add(&head, "aCCEPT", "");
        assert_false(head.duplicate);
        add(&head, "hOST", "");
        assert_true(head.duplicate);
        static const char *const mirrored[] = {"MCP-METHOD", "mcp-name", "mcp-protocol-version",
                                               "mcp-param-TWO"};
        for (size_t i = 0; i < COUNT(mirrored); i++) {
            add(&head, mirrored[i], "x");
            assert_true(mcp__http_find(&head, mirrored[i], &value));
            assert_true(mcp_str_eq(value, MCP_STR("\n")));
        }
        assert_true(mcp__http_find(&head, "mcp-param-one", &value));
        assert_true(mcp_str_eq(value, MCP_STR("<Mcp-Param-One>")));
    }
    mcp__buf_free(&head.bytes);
}

static int collect(uint64_t event, mcp_str message, void *arg)
{
    mcp__buf *b = arg;
    mcp__buf_printf(b, "%u=%.*s ", (unsigned)event, (int)message.len, message.ptr);
    return MCP_OK;
}

static void replay_is(const mcp_event_store *store, const char *session, uint64_t stream,
                      uint64_t event, int rc, const char *expected)
{
    mcp__buf b;
    mcp__buf_init(&b, NULL, 0);
    assert_int_equal(store->replay(mcp_str_from(session), stream, event, collect, &b, store->user),
                     rc);
    assert_int_equal(b.len, strlen(expected));
    assert_memory_equal(b.len ? b.ptr : "", expected, b.len);
    mcp__buf_free(&b);
}

static void test_store(void **state)
{
    (void)state;
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    mcp_event_store store;
    mcp_http_budget *budget = NULL;
    assert_int_equal(
        mcp_http_budget_new(MCP_OPTIONS(mcp_http_budget_options, .allocator = &a), &budget, NULL),
        MCP_OK);
    mcp__http_store *own = mcp__http_store_new(&a, budget, 400, &store);
    assert_non_null(own);
    replay_is(&store, "x", 0, 0, MCP_ENOTFOUND, "");
    for (uint64_t i = 1; i <= 3; i++) {
        store.append(MCP_STR("x"), 0, i, MCP_STR("a"), store.user);
        store.append(MCP_STR("x"), 7, i, MCP_STR("b"), store.user);
        store.append(MCP_STR("y"), 0, i, MCP_STR("c"), store.user);
    }
    replay_is(&store, "x", 0, 0, MCP_OK, "1=a 2=a 3=a ");
    replay_is(&store, "x", 7, 2, MCP_OK, "3=b ");
    replay_is(&store, "x", 7, 3, MCP_OK, "");
    replay_is(&store, "x", 7, 4, MCP_ENOTFOUND, "");
    replay_is(&store, "x", 8, 0, MCP_ENOTFOUND, "");
    /* The oldest events are evicted; a replay does not skip the gap. */
    for (uint64_t i = 4; i <= 9; i++)
        assert_int_equal(store.append(MCP_STR("x"), 0, i, MCP_STR("long enough"), store.user),
                         MCP_OK);
    replay_is(&store, "x", 0, 0, MCP_ENOTFOUND, "");
    replay_is(&store, "x", 0, 8, MCP_OK, "9=long enough ");
    replay_is(&store, "y", 0, 0, MCP_OK, "1=c 2=c 3=c ");
    char big[400] = "";
    assert_int_equal(store.append(MCP_STR("x"), 0, 10, (mcp_str){big, sizeof(big)}, store.user),
                     MCP_ELIMIT);
    store.forget(MCP_STR("y"), store.user);
    replay_is(&store, "y", 0, 0, MCP_ENOTFOUND, "");
    store.forget(MCP_STR("y"), store.user);
    mcp__http_store_free(own);
    assert_int_equal(mcp_http_budget_used(budget), 0);
    mcp_http_budget_free(budget);
    assert_int_equal(f.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers),       cmocka_unit_test(test_accept),
        cmocka_unit_test(test_content_type), cmocka_unit_test(test_head),
        cmocka_unit_test(test_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
