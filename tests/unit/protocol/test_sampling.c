/* Tools in the messages of sampling requests: without memory, and with very many of them. The rules
 * are in tests/unit/server/test_sample.c and tests/unit/client/test_question.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failalloc.h"
#include "protocol/sampling.h"

enum { MANY = 20000 };

/* A tool is used `n` times, and answered in the reverse order, but for the first use if `lacks`. */
static mcp_json_doc *conversation(int n, bool lacks)
{
    size_t room = (size_t)n * 140 + 200;
    char *text = malloc(room), *to = text;
    mcp_json_doc *doc = NULL;
    assert_non_null(text);
    to += sprintf(to, "[{\"role\":\"assistant\",\"content\":[");
    for (int i = 0; i < n; i++)
        to += sprintf(to, "%s{\"type\":\"tool_use\",\"id\":\"%d\",\"name\":\"t\",\"input\":{}}",
                      i ? "," : "", i);
    to += sprintf(to, "]},{\"role\":\"user\",\"content\":[");
    for (int i = n - 1; i >= lacks; i--)
        to += sprintf(to, "%s{\"type\":\"tool_result\",\"toolUseId\":\"%d\",\"content\":[]}",
                      i < n - 1 ? "," : "", i);
    to += sprintf(to, "]}]");
    assert_true((size_t)(to - text) < room);
    assert_int_equal(mcp_json_parse((mcp_str){text, (size_t)(to - text)}, NULL, NULL, &doc, NULL),
                     MCP_OK);
    free(text);
    return doc;
}

static void test_no_memory(void **state)
{
    mcp_json_doc *doc = conversation(20, false);
    mcp__sampling found;
    bool ended = false;
    (void)state;
    for (size_t n = 1; !ended; n++) {
        failalloc a = {.fail_at = n};
        mcp_allocator allocator = failalloc_allocator(&a);
        int rc = mcp__sampling_check(mcp_json_root(doc), &allocator, &found);
        assert_int_equal(a.live, 0);
        ended = a.calls < n;
        assert_int_equal(rc, ended ? MCP_OK : MCP_ENOMEM);
    }
    assert_null(found.problem);
    assert_true(found.has_tools);
    mcp_json_free(doc);
}

static void test_many(void **state)
{
    (void)state;
    for (int lacks = 0; lacks < 2; lacks++) {
        mcp_json_doc *doc = conversation(MANY, lacks);
        mcp__sampling found;
        assert_int_equal(mcp__sampling_check(mcp_json_root(doc), mcp__allocator(NULL), &found),
                         MCP_OK);
        assert_int_equal(found.problem != NULL, lacks);
        assert_int_equal(found.message, 2);
        mcp_json_free(doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_memory),
                                       cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
