/* test_isolated_entries.c: entries with every member arrive unchanged from a process, for callers
 * of both eras. */
#define _GNU_SOURCE
#include "isolated_fixture.h"
#include "support/entries.h"

static const struct {
    const char *name, *method;
} kinds[ENTRY_KINDS] = {
    [MCP_ITEM_RESOURCE] = {"resource", "resources/list"},
    [MCP_ITEM_TEMPLATE] = {"template", "resources/templates/list"},
    [MCP_ITEM_PROMPT] = {"prompt", "prompts/list"},
    [MCP_ITEM_TOOL] = {"tool", "tools/list"},
};

static int open_entries(fixture *f, const entry *filled, mcp_error *error)
{
    static const char *const argv[] = {MCPD, "--source-child", NULL};
    mcp_json_writer *source = mcp_json_writer_new(NULL, 0), *line = mcp_json_writer_new(NULL, 0);
    mcp_str text;
    char terminated[8192];
    mcp_json_begin_object(source);
    for (mcp_item kind = 0; kind < ENTRY_KINDS; kind++) {
        char *json = entry_json(kind, &filled[kind], &mcp__revisions[0]);
        mcp_json_key(source, kinds[kind].name);
        mcp_json_add_raw(source, mcp_str_from(json));
        free(json);
    }
    mcp_json_end(source);
    assert_int_equal(mcp_json_writer_finish(source, &text), MCP_OK);
    mcp_json_begin_object(line);
    mcp_json_key(line, "module");
    mcp_json_add_string(line, "entries");
    mcp_json_key(line, "file");
    mcp_json_add_string(line, ENTRIES);
    mcp_json_key(line, "source");
    mcp_json_add_str(line, text);
    mcp_json_key(line, "report");
    mcp_json_add_bool(line, true);
    mcp_json_end(line);
    assert_int_equal(mcp_json_writer_finish(line, &text), MCP_OK);
    snprintf(terminated, sizeof(terminated), "%.*s", (int)text.len, text.ptr);
    *f = (fixture){0};
    assert_int_equal(mcp_loop_new(NULL, &f->loop, NULL), MCP_OK);
    mcp_host host = *mcp_loop_host(f->loop);
    host.log = on_log;
    logged[0] = 0;
    assert_int_equal(
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1", .host = &host),
                       &f->server, NULL),
        MCP_OK);
    int rc = mcp_isolated_mount(f->server,
                                MCP_OPTIONS(mcp_isolated_options, .name = "entries", .argv = argv,
                                            .line = terminated, .group = &f->group),
                                error);
    mcp_json_writer_free(source);
    mcp_json_writer_free(line);
    return rc;
}

static const char *list(fixture *f, int id, const char *method, const mcp__revision *r)
{
    char text[500];
    if (r->modern)
        return ask(f, id, method, "");
    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\"}", id, method);
    mcp_channel_receive(f->channel, 0, mcp_str_from(text), mcp_loop_now(f->loop));
    return answer(f, id);
}

static void greet(fixture *f, const mcp__revision *r)
{
    char text[500];
    if (r->modern)
        return;
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"%s\",\"capabilities\":{},"
             "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
             r->name);
    mcp_channel_receive(f->channel, 0, mcp_str_from(text), mcp_loop_now(f->loop));
    has(answer(f, 0), r->name);
    mcp_channel_receive(f->channel, 0,
                        MCP_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
                        mcp_loop_now(f->loop));
}

static void test_all_members(void **state)
{
    entry filled[ENTRY_KINDS];
    (void)state;
    for (mcp_item kind = 0; kind < ENTRY_KINDS; kind++)
        entry_make(kind, &filled[kind]);
    filled[MCP_ITEM_TOOL].tool.task_support = MCP_TASK_FORBIDDEN; /* a source has no tasks */
    for (const mcp__revision *r = mcp__revisions; r < mcp__revisions + MCP__REVISIONS; r++) {
        fixture f;
        mcp_error error = {0};
        if (open_entries(&f, filled, &error) != MCP_OK)
            fail_msg("%s\n%s", error.text, logged);
        connect_as(&f, NULL);
        greet(&f, r);
        for (mcp_item kind = 0; kind < ENTRY_KINDS; kind++) {
            char *expected = entry_json(kind, &filled[kind], r);
            has(list(&f, 1 + (int)kind, kinds[kind].method, r), expected);
            free(expected);
        }
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_members)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
