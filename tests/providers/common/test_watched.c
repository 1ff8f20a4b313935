/* The list of watched URIs: adding, removing, the provider's data for each, every allocation
 * failing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "buffer.h"
#include "failalloc.h"
#include "watched.h"

enum { MANY = 40 };

static const char *uri_of(size_t i)
{
    static char uri[32];
    snprintf(uri, sizeof(uri), "mem:%zu", i);
    return uri;
}

/* Returns how many URIs were added. */
static size_t fill(common_watched *w, const mcp_allocator *alloc)
{
    size_t n = 0;
    for (size_t i = 0; i < MANY; i++) {
        size_t *own = common_alloc(alloc, sizeof(*own));
        if (own)
            *own = i;
        n += common_watched_add(w, alloc, uri_of(i), own) == MCP_OK;
    }
    return n;
}

static void test_in_and_out(void **state)
{
    failalloc memory = {0};
    mcp_allocator a = failalloc_allocator(&memory);
    common_watched w = {0};
    (void)state;
    assert_false(common_watched_any(&w));
    assert_int_equal(fill(&w, &a), MANY);
    assert_true(common_watched_any(&w));
    for (size_t i = 0; i < MANY; i += 2)
        common_watched_remove(&w, &a, uri_of(i));
    common_watched_remove(&w, &a, "mem:none");
    assert_int_equal(w.n, MANY / 2);
    for (size_t i = 0; i < w.n; i++) {
        size_t own = *(const size_t *)w.item[i].own;
        assert_int_equal(own % 2, 1);
        assert_string_equal(w.item[i].uri, uri_of(own));
    }
    common_watched_clear(&w, &a);
    assert_false(common_watched_any(&w));
    w.list = true;
    assert_true(common_watched_any(&w));
    assert_int_equal(memory.live, 0);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc memory = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&memory);
        common_watched w = {0};
        size_t filled = fill(&w, &a);
        assert_int_equal(filled, w.n);
        common_watched_clear(&w, &a);
        assert_int_equal(memory.live, 0);
        if (memory.calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_and_out),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
