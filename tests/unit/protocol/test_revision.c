/* The table of revisions: lookup by name, negotiation, consistency. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "protocol/revision.h"

static void test_find(void **state)
{
    (void)state;
    static const char *const known[] = {"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26",
                                        "2024-11-05"};
    assert_int_equal(MCP__REVISIONS, MCP__COUNT(known));
    unsigned all = 0;
    for (size_t i = 0; i < MCP__COUNT(known); i++) {
        const mcp__revision *r = mcp__revision_find(mcp_str_from(known[i]));
        assert_ptr_equal(r, &mcp__revisions[i]);
        assert_int_equal(r->modern, i < MCP__ROW_NEWEST_LEGACY);
        assert_int_equal(r->modern, (mcp__revision_bit(r) & MCP__IN_MODERN) != 0);
        assert_int_equal(!r->modern, (mcp__revision_bit(r) & MCP__IN_LEGACY) != 0);
        assert_int_equal(r->not_found, r->modern ? -32602 : -32002);
        assert_int_equal(r->batches, i == MCP__ROW_2025_03_26);
        assert_int_equal(all & mcp__revision_bit(r), 0);
        all |= mcp__revision_bit(r);
    }
    assert_int_equal(all, MCP__IN_ALL);
    static const char *const unknown[] = {"", "2026-07-2", "2026-07-288", "2025-11-24", "draft"};
    for (size_t i = 0; i < MCP__COUNT(unknown); i++)
        assert_null(mcp__revision_find(mcp_str_from(unknown[i])));
    assert_null(mcp__revision_find((mcp_str){"2025-11-25\0", 11}));
}

static void test_negotiate(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"2024-11-05", "2024-11-05"}, {"2025-03-26", "2025-03-26"}, {"2025-06-18", "2025-06-18"},
        {"2025-11-25", "2025-11-25"}, {"2026-07-28", "2025-11-25"}, {"2030-01-01", "2025-11-25"},
        {"", "2025-11-25"},
    };
    for (size_t i = 0; i < MCP__COUNT(pairs); i++)
        assert_string_equal(mcp__revision_negotiate(mcp_str_from(pairs[i][0]))->name, pairs[i][1]);
    assert_string_equal(mcp__revision_newest(true)->name, "2026-07-28");
    assert_string_equal(mcp__revision_newest(false)->name, "2025-11-25");
}

/* The next revision has every feature of the previous one, except batches, which were removed. */
static void test_columns_grow(void **state)
{
    (void)state;
#define COLUMN(name)                         \
    {                                        \
#name, offsetof(mcp__revision, name) \
    }
    static const struct {
        const char *name;
        size_t at;
    } columns[] = {
        COLUMN(completions),
        COLUMN(title),
        COLUMN(icons),
        COLUMN(object_meta),
        COLUMN(last_modified),
        COLUMN(tool_annotations),
        COLUMN(output_schema),
        COLUMN(output_schema_any),
        COLUMN(implementation_extras),
        COLUMN(audio),
        COLUMN(resource_link),
        COLUMN(structured),
        COLUMN(structured_any),
        COLUMN(progress_message),
        COLUMN(result_type),
        COLUMN(caching),
        COLUMN(modern),
    };
    for (size_t i = 0; i + 1 < MCP__REVISIONS; i++) {
        for (size_t k = 0; k < MCP__COUNT(columns); k++) {
            bool newer = *((const bool *)&mcp__revisions[i] + columns[k].at);
            bool older = *((const bool *)&mcp__revisions[i + 1] + columns[k].at);
            if (older && !newer)
                fail_msg("%s lost %s", mcp__revisions[i].name, columns[k].name);
        }
    }
}

static void test_put_modern(void **state)
{
    (void)state;
    mcp__buf b;
    mcp__buf_init(&b, &mcp__default_allocator, 0);
    mcp__put_modern_revisions(&b);
    assert_true(mcp_str_eq(mcp__buf_view(&b), MCP_STR("[\"2026-07-28\"]")));
    mcp__buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_negotiate),
        cmocka_unit_test(test_columns_grow),
        cmocka_unit_test(test_put_modern),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
