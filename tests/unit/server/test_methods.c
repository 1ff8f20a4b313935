/* test_methods.c: the list of methods (protocol/method.h) and the server's table are complete: every row has a name, each
 * name once, and a request has a function that answers it. A method that was added to one of both only is found here. */
#include "protocol/method.h"
#include "protocol/mirror.h"
#include "rig.h"
#include "server/methods/methods.h"

static bool is_message(mcp__method_id id)
{
    return id != MCP__METHOD_NONE && id != MCP__METHOD_OTHER;
}

static void test_every_row_has_a_name(void **state)
{
    (void)state;
    for (mcp__method_id id = 0; id < MCP__METHODS; id++) {
        const mcp__method_row *row = mcp__method_of(id);
        assert_true(id == MCP__METHOD_NONE || row->name.len);
        assert_int_equal(strlen(row->name.ptr), row->name.len);
        assert_int_equal(mcp__method_find(row->name), id);
    }
    assert_int_equal(mcp__method_find(MCP_STR("resources/rea")), MCP__METHOD_OTHER);
    assert_int_equal(mcp__method_find(MCP_STR("x")), MCP__METHOD_OTHER);
}

static void test_every_request_is_answered(void **state)
{
    (void)state;
    for (mcp__method_id id = 0; id < MCP__METHODS; id++) {
        const mcp__method_row *row = mcp__method_of(id);
        const mcp__method *method = &mcp__methods[id];
        bool request = is_message(id) && !(row->traits & MCP__IS_NOTICE);
        print_message("# %s\n", row->name.ptr);
        assert_true(request == (method->run != NULL));
        if (!request)
            continue;
        assert_true(method->revisions != 0);
        assert_true(!method->array == (method->head.len == 0));
        /* What may ask is run again with the answers, and no other. */
        assert_true((row->traits & MCP__MAY_ASK) == (method->again ? MCP__MAY_ASK : 0U));
        /* An audit record, a metric and a header name what the request is about. */
        assert_true(!(row->traits & (MCP__NAME_IN_HEADER | MCP__ABOUT_TASK)) || row->target);
        if (row->traits & MCP__NAME_IN_HEADER)
            assert_string_equal(mcp__mirror_name(row->name), row->target);
        else
            assert_null(mcp__mirror_name(row->name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_has_a_name),
        cmocka_unit_test(test_every_request_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
