/* The public writer: commas, balanced brackets, and errors after every kind of misuse. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "json/json.h"
#include "support/failalloc.h"

static void write_sample(mcp_json_writer *w, const mcp_json *value)
{
    mcp_json_begin_object(w);
    mcp_json_put_null(w, "null");
    mcp_json_put_array(w, "bools");
    mcp_json_add_bool(w, true), mcp_json_add_bool(w, false);
    mcp_json_end(w);
    mcp_json_key_str(w, (mcp_str){"n\0", 2}), mcp_json_begin_array(w);
    mcp_json_add_int(w, -1), mcp_json_add_uint(w, UINT64_MAX), mcp_json_add_real(w, 22.5);
    mcp_json_end(w);
    mcp_json_put_string(w, "s", "a\"b");
    mcp_json_put_str(w, "t", (mcp_str){"\0", 1});
    mcp_json_put_string(w, "none", NULL);
    mcp_json_put_base64(w, "b", "foob", 4);
    mcp_json_put_value(w, "v", value);
    mcp_json_put_raw(w, "r", MCP_STR("[1,{}]"));
    mcp_json_put_object(w, "e"), mcp_json_end(w);
    mcp_json_put_array(w, "f"), mcp_json_end(w);
    mcp_json_end(w);
}

static const char sample[] =
    "{\"null\":null,\"bools\":[true,false],\"n\\u0000\":[-1,18446744073709551615,22.5],"
    "\"s\":\"a\\\"b\",\"t\":\"\\u0000\",\"none\":\"\",\"b\":\"Zm9vYg==\",\"v\":{\"x\":[1,2]},"
    "\"r\":[1,{}],\"e\":{},\"f\":[]}";

static void test_sample(void **state)
{
    (void)state;
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse(MCP_STR("{ \"x\": [1, 2] }"), NULL, NULL, &doc, NULL), MCP_OK);
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    for (int round = 0; round < 2; round++) {
        mcp_str text;
        write_sample(w, mcp_json_root(doc));
        assert_int_equal(mcp_json_writer_finish(w, &text), MCP_OK);
        assert_true(mcp_str_eq(text, mcp_str_from(sample)));
        mcp_json_writer_reset(w);
    }
    mcp_json_writer_free(w);
    mcp_json_free(doc);
}

/* Makes one call for each letter, so that misuse can be written as a table: { [ begin, . end, k
 * key, v value, r raw with a newline, e empty raw, u a string that is not UTF-8, U a key that is
 * not UTF-8. */
static void play(mcp_json_writer *w, const char *calls)
{
    for (; *calls; calls++) {
        switch (*calls) {
        case '{': mcp_json_begin_object(w); break;
        case '[': mcp_json_begin_array(w); break;
        case '.': mcp_json_end(w); break;
        case 'k': mcp_json_key(w, "k"); break;
        case 'v': mcp_json_add_int(w, 1); break;
        case 'r': mcp_json_add_raw(w, MCP_STR("[\n]")); break;
        case 'R': mcp_json_add_raw(w, MCP_STR("[\r]")); break;
        case 'e': mcp_json_add_raw(w, MCP_STR("")); break;
        case 'u': mcp_json_add_string(w, "\xFF"); break;
        case 'U': mcp_json_key(w, "\xFF"); break;
        default: fail_msg("no call '%c'", *calls);
        }
    }
}

static void test_misuse(void **state)
{
    (void)state;
    static const struct {
        const char *calls;
        int rc;
        const char *text;
    } cases[] = {
        {"v", MCP_OK, "1"},
        {"[vv.", MCP_OK, "[1,1]"},
        {"[[.v[v..", MCP_OK, "[[],1,[1]]"},
        {"{kvk{kv.k[v..", MCP_OK, "{\"k\":1,\"k\":{\"k\":1},\"k\":[1]}"},
        {"", MCP_ESTATE, NULL},
        {"[", MCP_ESTATE, NULL},
        {"{kv", MCP_ESTATE, NULL},
        {".", MCP_ESTATE, NULL},
        {"[..", MCP_ESTATE, NULL},
        {"vv", MCP_ESTATE, NULL},
        {"v[", MCP_ESTATE, NULL},
        {"[.v", MCP_ESTATE, NULL},
        {"k", MCP_ESTATE, NULL},
        {"[k", MCP_ESTATE, NULL},
        {"{v", MCP_ESTATE, NULL},
        {"{[", MCP_ESTATE, NULL},
        {"{kk", MCP_ESTATE, NULL},
        {"{k.", MCP_ESTATE, NULL},
        {"{kvv", MCP_ESTATE, NULL},
        {"{k[v.v", MCP_ESTATE, NULL},
        {"[r.", MCP_EINVAL, NULL},
        {"[R.", MCP_EINVAL, NULL},
        {"[e.", MCP_EINVAL, NULL},
        {"[u.", MCP_EINVAL, NULL},
        {"{Uv.", MCP_EINVAL, NULL},
        {"[u...", MCP_EINVAL, NULL}, /* the first error is reported */
        {"k[u", MCP_ESTATE, NULL},
    };
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_str text = {NULL, 0};
        mcp_json_writer_reset(w);
        play(w, cases[i].calls);
        int rc = mcp_json_writer_finish(w, &text);
        if (rc != cases[i].rc)
            fail_msg("'%s': %s", cases[i].calls, mcp_error_name(rc));
        assert_int_equal(mcp_json_writer_finish(w, &text), rc);
        assert_true(mcp_str_eq(text, mcp_str_from(cases[i].text)));
    }
    mcp_json_writer_free(w);
}

static void test_depth(void **state)
{
    (void)state;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str text;
    for (int i = 0; i < MCP__JSON_DEEPEST; i++)
        i % 3 ? mcp_json_begin_array(w) : (mcp_json_begin_object(w), mcp_json_key(w, ""));
    for (int i = MCP__JSON_DEEPEST - 1; i >= 0; i--) {
        if (i == MCP__JSON_DEEPEST - 1)
            mcp_json_add_null(w);
        mcp_json_end(w);
    }
    assert_int_equal(mcp_json_writer_finish(w, &text), MCP_OK);
    mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JSON_DEEPEST};
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse(text, &limits, NULL, &doc, NULL), MCP_OK);
    mcp_json_writer_reset(w);
    mcp_json_add_value(w, mcp_json_root(doc)); /* the deepest possible value */
    assert_int_equal(mcp_json_writer_finish(w, &text), MCP_OK);
    mcp_json_free(doc);
    mcp_json_writer_reset(w);
    for (int i = 0; i < MCP__JSON_DEEPEST + 1; i++)
        mcp_json_begin_array(w);
    assert_int_equal(mcp_json_writer_finish(w, &text), MCP_ELIMIT);
    mcp_json_writer_free(w);
}

static void test_limit(void **state)
{
    (void)state;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 5);
    mcp_str text;
    play(w, "[vv.");
    assert_int_equal(mcp_json_writer_finish(w, &text), MCP_OK);
    mcp_json_writer_reset(w);
    play(w, "[vvv.");
    assert_int_equal(mcp_json_writer_finish(w, &text), MCP_ELIMIT);
    mcp_json_writer_free(w);
}

static void test_no_writer(void **state)
{
    (void)state;
    mcp_str text;
    write_sample(NULL, NULL);
    play(NULL, "{k[v.r.");
    assert_int_equal(mcp_json_writer_finish(NULL, &text), MCP_ENOMEM);
    mcp_json_writer_reset(NULL);
    mcp_json_writer_free(NULL);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp_json_writer *w = mcp_json_writer_new(&a, 0);
        memset(&a, 0, sizeof(a)); /* it was copied */
        mcp_str text;
        write_sample(w, NULL);
        assert_int_equal(mcp_json_writer_finish(w, &text), f.calls < n ? MCP_OK : MCP_ENOMEM);
        if (w && f.calls >= n) { /* it recovers */
            mcp_json_writer_reset(w);
            mcp_json_add_null(w);
            assert_int_equal(mcp_json_writer_finish(w, &text), MCP_OK);
        }
        mcp_json_writer_free(w);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample),    cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_depth),     cmocka_unit_test(test_limit),
        cmocka_unit_test(test_no_writer), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
