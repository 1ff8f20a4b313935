/* Completions that are cached for the next TAB: which, how many, how large and how long. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcpctl/completions.h>

/* Returns the string that is cached for a key, or NULL. */
static const char *got(const completions *k, const char *key, int64_t now)
{
    mcp_str text = mcp_json_string(mcp_json_get(completions_get(k, key, now), "v"));
    return text.len ? text.ptr : NULL;
}

static void put_since(completions *k, const char *key, const char *value, unsigned changes,
                      int64_t now)
{
    mcp_json_doc *doc = NULL;
    size_t size = strlen(value) + 16;
    char *text = malloc(size);
    snprintf(text, size, "{\"v\":\"%s\"}", value);
    assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL), MCP_OK);
    completions_put(k, key, mcp_json_root(doc), changes, now);
    mcp_json_free(doc);
    free(text);
}

static void put(completions *k, const char *key, const char *value, int64_t now)
{
    put_since(k, key, value, completions_changes(k), now);
}

static void test_by_key_and_time(void **state)
{
    (void)state;
    completions *k = completions_new();
    assert_null(got(k, "a", 0));
    put(k, "a", "one", 100);
    put(k, "b", "two", 100);
    assert_string_equal(got(k, "a", 100), "one");
    assert_string_equal(got(k, "b", 100 + COMPLETIONS_MS - 1), "two");
    assert_null(got(k, "b", 100 + COMPLETIONS_MS));
    assert_null(got(k, "ab", 100));
    put(k, "b", "three", 100 + COMPLETIONS_MS); /* the expired entry still has its place */
    assert_string_equal(got(k, "b", 100 + COMPLETIONS_MS), "three");
    completions_free(k);
}

static void test_changes(void **state)
{
    (void)state;
    completions *k = completions_new();
    put(k, "a", "one", 0);
    unsigned before = completions_changes(k);
    completions_forget(k);
    assert_null(got(k, "a", 0));
    put_since(k, "a", "stale", before, 0); /* it was requested before the change */
    assert_null(got(k, "a", 0));
    put(k, "a", "fresh", 0);
    assert_string_equal(got(k, "a", 0), "fresh");
    completions_free(k);
}

static void test_limits(void **state)
{
    (void)state;
    completions *k = completions_new();
    char key[16], *large = calloc(1, COMPLETIONS_MOST_BYTES + 1);
    for (int i = 0; i <= COMPLETIONS_MOST; i++) {
        snprintf(key, sizeof(key), "%d", i);
        put(k, key, key, 0);
    }
    assert_null(got(k, "0", 0)); /* the oldest entry was evicted */
    assert_string_equal(got(k, "1", 0), "1");
    assert_string_equal(got(k, key, 0), key);
    memset(large, 'x', COMPLETIONS_MOST_BYTES);
    put(k, "large", large, 0);
    assert_null(got(k, "large", 0));
    put(k, large, "v", 0);
    assert_null(got(k, large, 0));
    free(large);
    completions_free(k);
    put(NULL, "a", "b", 0);
    assert_null(got(NULL, "a", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_key_and_time),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
