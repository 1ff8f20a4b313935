/* JSON-RPC messages: every kind, invalid shapes, parsing ids, scanning for ids, and the output. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "jsonrpc/envelope.h"
#include "support/failalloc.h"

static const struct {
    const char *text;
    mcp__message_kind kind;
    const char *method; /* NULL if absent */
    bool id, params, result;
    int code;
} kinds_cases[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", MCP__REQUEST, "m", true, false, false, 0},
    {"{\"params\":{},\"method\":\"m\",\"id\":\"\",\"jsonrpc\":\"2.0\",\"more\":[]}", MCP__REQUEST,
     "m", true, true, false, 0},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"id\":1}}", MCP__NOTIFICATION, "m", false,
     true, false, 0},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}", MCP__RESULT, NULL, true, false, true, 0},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[1]}", MCP__RESULT, NULL, true, false, true, 0},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", MCP__ERROR, NULL, true, false, true, 0},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", MCP__ERROR, NULL, false, false, true, 0},
    {"{\"jsonrpc\":\"2.0\",\"error\":{}}", MCP__ERROR, NULL, false, false, true, 0},
    /* none */
    {"7", MCP__INVALID, NULL, false, false, false, MCP__INVALID_REQUEST},
    {"[]", MCP__INVALID, NULL, false, false, false, MCP__INVALID_REQUEST},
    {"{}", MCP__INVALID, NULL, false, false, false, MCP__INVALID_REQUEST},
    {"{\"id\":1,\"method\":\"m\"}", MCP__INVALID, NULL, true, false, false, MCP__INVALID_REQUEST},
    {"{\"jsonrpc\":\"2.00\",\"id\":1,\"method\":\"m\"}", MCP__INVALID, NULL, true, false, false,
     MCP__INVALID_REQUEST},
    {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", MCP__INVALID, NULL, true, false, false,
     MCP__INVALID_REQUEST},
    {"{\"JSONRPC\":\"2.0\",\"id\":1,\"method\":\"m\"}", MCP__INVALID, NULL, true, false, false,
     MCP__INVALID_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", MCP__INVALID, NULL, false, false, false,
     MCP__INVALID_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", MCP__INVALID, NULL, false, false, false,
     MCP__INVALID_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}", MCP__INVALID, NULL, true, false, false,
     MCP__INVALID_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":1}", MCP__INVALID, NULL, true, false, false,
     MCP__INVALID_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":null}", MCP__INVALID, "m", true,
     true, false, MCP__INVALID_PARAMS},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[]}", MCP__INVALID, "m", false, true, false,
     MCP__INVALID_PARAMS},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"result\":1}", MCP__INVALID, "m", true, false,
     true, MCP__INVALID_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"error\":{}}", MCP__INVALID, "m", true, false,
     true, MCP__INVALID_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}", MCP__INVALID, NULL, true, false,
     true, MCP__INVALID_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"e\"}", MCP__INVALID, NULL, true, false, true,
     MCP__INVALID_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"result\":{}}", MCP__INVALID, NULL, false, false, true,
     MCP__INVALID_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}", MCP__INVALID, NULL, false, false, true,
     MCP__INVALID_REQUEST},
};

static void test_kinds(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(kinds_cases); i++) {
        mcp_json_doc *doc;
        mcp__message m;
        assert_int_equal(mcp_json_parse(mcp_str_from(kinds_cases[i].text), NULL, NULL, &doc, NULL),
                         MCP_OK);
        mcp__message_read(mcp_json_root(doc), &m);
        if (m.kind != kinds_cases[i].kind || m.code != kinds_cases[i].code)
            fail_msg("%s: kind %d, code %d", kinds_cases[i].text, m.kind, m.code);
        assert_int_equal(m.id != NULL, kinds_cases[i].id);
        assert_int_equal(m.params != NULL, kinds_cases[i].params);
        assert_int_equal(m.result != NULL, kinds_cases[i].result);
        if (m.kind != MCP__INVALID)
            assert_true(mcp_str_eq(m.method, mcp_str_from(kinds_cases[i].method)));
        assert_int_equal(m.problem != NULL, m.kind == MCP__INVALID);
        mcp_json_free(doc);
    }
}

/* An invalid message is still classified by its form, because a notification must never be
 * answered. */
static void test_looks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool method, has_id;
    } cases[] = {
        {"{\"method\":\"notifications/x\"}", true, false},
        {"{\"jsonrpc\":\"1.0\",\"method\":\"x\",\"id\":1}", true, true},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"id\":1.5}", true, true},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"id\":null}", true, true},
        {"{\"jsonrpc\":\"2.0\",\"method\":7}", false, false},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[]}", true, false},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_json_doc *doc;
        mcp__message m;
        assert_int_equal(mcp_json_parse(mcp_str_from(cases[i].text), NULL, NULL, &doc, NULL),
                         MCP_OK);
        mcp__message_read(mcp_json_root(doc), &m);
        assert_int_equal(m.kind, MCP__INVALID);
        assert_int_equal(m.method.len > 0, cases[i].method);
        assert_int_equal(m.has_id, cases[i].has_id);
        mcp_json_free(doc);
    }
}

/* Each id value has one text, so it can be looked up in whatever notation the peer uses. */
static void test_put_id(void **state)
{
    (void)state;
    static const struct {
        const char *text, *out;
    } cases[] = {
        {"1", "1"},         {"1.0", "1"},    {"1e0", "1"},
        {"-0", "0"},        {"-0.0", "0"},   {"120e-1", "12"},
        {"\"1\"", "\"1\""}, {"1e3", "1000"}, {"18446744073709551616", "18446744073709551616"},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_json_doc *doc;
        mcp__buf b;
        mcp__buf_init(&b, &mcp__default_allocator, 0);
        assert_int_equal(mcp_json_parse(mcp_str_from(cases[i].text), NULL, NULL, &doc, NULL),
                         MCP_OK);
        mcp__put_id(&b, mcp_json_root(doc));
        if (!mcp_str_eq(mcp__buf_view(&b), mcp_str_from(cases[i].out)))
            fail_msg("%s: %.*s", cases[i].text, (int)b.len, b.ptr);
        mcp__buf_free(&b);
        mcp_json_free(doc);
    }
}

static void test_is_id(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is;
    } cases[] = {
        {"0", true},      {"-1", true},     {"18446744073709551616", true},
        {"\"\"", true},   {"\"x\"", true},  {"-99999999999999999999999999", true},
        {"1.0", true},    {"1e0", true},    {"-0", true},
        {"-0.0", true},   {"120e-1", true}, {"9007199254740992.0", true},
        {"1.5", false},   {"1e-1", false},  {"1e300", false},
        {"1e999", false}, {"null", false},  {"true", false},
        {"[]", false},    {"{}", false},    {"1234567890123456789012345.5e900", false},
    };
    assert_false(mcp__is_id(NULL));
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_json_doc *doc;
        assert_int_equal(mcp_json_parse(mcp_str_from(cases[i].text), NULL, NULL, &doc, NULL),
                         MCP_OK);
        if (mcp__is_id(mcp_json_root(doc)) != cases[i].is)
            fail_msg("%s", cases[i].text);
        mcp_json_free(doc);
    }
}

static const struct {
    const char *head;
    const char *id; /* NULL if none is found */
} scans[] = {
    {"{\"id\":1,", "1"},
    {"{\"id\":1}", "1"},
    {"{ \"id\" :\t-12 ,\"x\":[[[", "-12"},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"params\":{", "\"a\""},
    {"{\"id\":\"\\u0041\\\"}{\",\"x", "\"A\\\"}{\""},
    {"{\"id\":123456789012345678901234567890,", "123456789012345678901234567890"},
    /* not the id of the message */
    {"{\"params\":{\"id\":2},\"id\":3,", "3"},
    {"{\"params\":[{\"id\":2}],\"a\":\"id\",\"id\":3,", "3"},
    {"{\"method\":\"id\",\"id\":4,", "4"},
    {"{\"a\":\"\\\"id\\\":7,\",\"id\":5,", "5"},
    {"{\"a\":[\"id\",8],\"id\":6,", "6"},
    {"{\"a\":[{\"x\":1},\"id\",8],\"id\":6,", "6"},
    {"{\"params\":{\"id\":2}", NULL},
    {"[{\"id\":2}]", NULL},
    {"{\"Id\":2,\"ID\":3,", NULL},
    /* truncated: a part of an id is not an id */
    {"{\"id\":12", NULL},
    {"{\"id\":\"ab", NULL},
    {"{\"id\":\"ab\\", NULL},
    {"{\"id\":", NULL},
    {"{\"id\"", NULL},
    {"{\"id", NULL},
    {"{", NULL},
    {"", NULL},
    /* no id */
    {"{\"id\":null,", NULL},
    {"{\"id\":1.0,", "1"},
    {"{\"id\":1.5,", NULL},
    {"{\"id\":1-2,", NULL},
    {"{\"id\":{\"id\":1},", NULL},
    {"{\"id\":\"\\ud800\",", NULL},
    {"{\"id\":\"\xff\",", NULL},
    {"{\"id\":01,", NULL},
};

static void test_scan_id(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP__COUNT(scans); i++) {
        mcp__buf id;
        mcp__buf_init(&id, &mcp__default_allocator, 0);
        bool found = mcp__scan_id(mcp_str_from(scans[i].head), &mcp__default_allocator, &id);
        if (found != (scans[i].id != NULL) ||
            !mcp_str_eq(mcp__buf_view(&id), mcp_str_from(scans[i].id)))
            fail_msg("%s: %.*s", scans[i].head, (int)id.len, id.ptr ? id.ptr : "");
        mcp__buf_free(&id);
    }
}

/* An id that is truncated at any byte is never read as another id. */
static void test_scan_id_truncated(void **state)
{
    (void)state;
    const mcp_str whole = MCP_STR("{\"params\":{\"id\":77},\"id\":\"a\\u0062\\\"c\",\"x\":1}");
    for (size_t len = 0; len <= whole.len; len++) {
        mcp__buf id;
        mcp__buf_init(&id, &mcp__default_allocator, 0);
        if (mcp__scan_id((mcp_str){whole.ptr, len}, &mcp__default_allocator, &id))
            assert_true(mcp_str_eq(mcp__buf_view(&id), MCP_STR("\"ab\\\"c\"")));
        else
            assert_true(len < whole.len - 7);
        mcp__buf_free(&id);
    }
}

/* For every tail of a message, the scan finds either the id, if it follows the last array or
 * object, or nothing, but never another id. */
static void test_scan_id_back(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after; /* the message; tails longer than `after` show the id */
        const char *id;             /* NULL if no tail shows it */
    } cases[] = {
        {"{\"params\":{\"x\":1},", "\"id\":77}", "77"},
        {"{\"params\":[],", "\"id\" :\t-7 ,\"jsonrpc\" : \"2.0\"\n} ", "-7"},
        {"{\"x\":{\"id\":1},", "\"id\":1e0,\"method\":\"a\"}", "1"},
        {"{\"x\":[{\"id\":1}],", "\"id\":\"a\\\\\\\"b\",\"c\":null}", "\"a\\\\\\\"b\""},
        {"{\"x\":1,", "\"id\":\"7\",\"y\":\"\\\"id\\\":9}\"}", "\"7\""},
        {"{\"id\":1,\"x\":{\"id\":2}}", "", NULL},
        {"{\"id\":1,\"x\":[2,\"id\",3]}", "", NULL},
        {"{\"x\":1,\"ID\":2,\"y\":\"id\"}", "", NULL},
        {"{\"x\":1,\"id\":null}", "", NULL},
        {"{\"x\":1,\"id\":2", "", NULL},
        {"[{\"x\":1,\"id\":2}]", "", NULL},
        {"", "", NULL},
    };
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        char text[200];
        snprintf(text, sizeof(text), "%s%s", cases[i].before, cases[i].after);
        mcp_str whole = mcp_str_from(text);
        for (size_t len = 0; len <= whole.len; len++) {
            mcp__buf id;
            mcp__buf_init(&id, &mcp__default_allocator, 0);
            bool found = mcp__scan_id_back(mcp__str_sub(whole, whole.len - len),
                                           &mcp__default_allocator, &id);
            bool shown = cases[i].id && len > strlen(cases[i].after);
            if (found != shown ||
                (found && !mcp_str_eq(mcp__buf_view(&id), mcp_str_from(cases[i].id))))
                fail_msg("%s, the last %zu: %d %.*s", whole.ptr, len, found, (int)id.len,
                         id.ptr ? id.ptr : "");
            mcp__buf_free(&id);
        }
    }
}

static void test_scan_id_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp__buf id;
        mcp__buf_init(&id, &a, 0);
        bool found = mcp__scan_id(MCP_STR("{\"id\":\"abc\","), &a, &id);
        assert_int_equal(found, f.calls < n);
        mcp__buf_free(&id);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
        assert_true(n < 100);
    }
}

static void test_written(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        mcp__no_id no_id;
        const char *data;
        const char *text;
    } errors[] = {
        {"1", MCP__NO_ID_NULL, "",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"\\\"é\\n\"}}"},
        {"\"a\"", MCP__NO_ID_ABSENT, "[1]",
         "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32600,\"message\":\"\\\"é\\n\","
         "\"data\":[1]}}"},
        {"", MCP__NO_ID_NULL, "",
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"\\\"é\\n\"}}"},
        {"", MCP__NO_ID_ABSENT, "",
         "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"\\\"é\\n\"}}"},
    };
    mcp__buf b;
    mcp__buf_init(&b, &mcp__default_allocator, 0);
    for (size_t i = 0; i < MCP__COUNT(errors); i++) {
        mcp__buf_reset(&b, 0);
        mcp__put_error(&b, mcp_str_from(errors[i].id), errors[i].no_id, MCP__INVALID_REQUEST,
                       MCP_STR("\"é\n"), mcp_str_from(errors[i].data));
        assert_true(mcp_str_eq(mcp__buf_view(&b), mcp_str_from(errors[i].text)));
    }
    mcp__buf_reset(&b, 0);
    mcp__put_result_head(&b, MCP_STR("7"));
    mcp__put_notification_head(&b, MCP_STR("n/\"x\""));
    mcp__put_request_head(&b, INT64_MIN, MCP_STR("r"));
    mcp__buf_char(&b, 0);
    assert_string_equal(b.ptr, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":"
                               "{\"jsonrpc\":\"2.0\",\"method\":\"n/\\\"x\\\"\",\"params\":"
                               "{\"jsonrpc\":\"2.0\",\"id\":-9223372036854775808,\"method\":\"r\","
                               "\"params\":");
    mcp__buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_put_id),       cmocka_unit_test(test_is_id),
        cmocka_unit_test(test_scan_id),      cmocka_unit_test(test_scan_id_truncated),
        cmocka_unit_test(test_scan_id_back), cmocka_unit_test(test_scan_id_no_memory),
        cmocka_unit_test(test_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
