/* Entries with every member are forwarded unchanged, for each pair of revisions of the caller and
 * of the other server: the caller gets the members that both have. */
#include "wires.h"

#include "support/entries.h"

static const char *const methods[ENTRY_KINDS] = {
    [MCP_ITEM_RESOURCE] = "resources/list",
    [MCP_ITEM_TEMPLATE] = "resources/templates/list",
    [MCP_ITEM_PROMPT] = "prompts/list",
    [MCP_ITEM_TOOL] = "tools/list",
};

static int read_one(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    return mcp_reply_text(req, "read");
}

static int run(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "run");
}

static mcp_server *other_new(entry filled[ENTRY_KINDS])
{
    mcp_server *s;
    filled[MCP_ITEM_RESOURCE].resource.read = filled[MCP_ITEM_TEMPLATE].tmpl.read = read_one;
    filled[MCP_ITEM_PROMPT].prompt.get = filled[MCP_ITEM_TOOL].tool.call = run;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "other", .version = "1",
                                                .no_rate_limits = true),
                                    &s, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_add_resource(s, &filled[MCP_ITEM_RESOURCE].resource, NULL, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_add_template(s, &filled[MCP_ITEM_TEMPLATE].tmpl, NULL, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_add_prompt(s, &filled[MCP_ITEM_PROMPT].prompt, NULL, NULL), MCP_OK);
    assert_int_equal(mcp_server_add_tool(s, &filled[MCP_ITEM_TOOL].tool, NULL, NULL), MCP_OK);
    return s;
}

static const char *list(wires *all, const char *method, const mcp__revision *r)
{
    char text[500];
    if (r->modern)
        return wires_ask(all, method, "");
    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"%s\"}", method);
    return wires_say(all, text);
}

static void greet(wires *all, const mcp__revision *r)
{
    char text[500];
    if (r->modern)
        return;
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"%s\",\"capabilities\":{},"
             "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
             r->name);
    wires_has(wires_say(all, text), r->name);
    wires_say(all, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

/* A caller that has to request tasks is told that this server runs each tool as one. */
static void check_list(const char *text, mcp_item kind, char *expected, const mcp__revision *caller)
{
    size_t len = strlen(expected) - 1;
    expected[len] = 0;
    wires_has(text, expected);
    bool executes = kind == MCP_ITEM_TOOL && caller->tasks == MCP__TASKS_ASKED;
    const char *end = executes ? ",\"execution\":{\"taskSupport\":\"optional\"}}" : "}";
    if (strncmp(strstr(text, expected) + len, end, strlen(end)) != 0)
        fail_msg("%s has more than %s", text, expected);
}

static void check_pair(entry filled[ENTRY_KINDS], const mcp__revision *caller,
                       const mcp__revision *between)
{
    mcp_server *other = other_new(filled);
    wires all = {.revision = between->name, .transparent = true};
    assert_int_equal(wires_open(&all, other), MCP_OK);
    assert_int_equal(wires_peer(&all, all.front, "ann"), MCP_OK);
    greet(&all, caller);
    for (mcp_item kind = 0; kind < ENTRY_KINDS; kind++) {
        char *expected = entry_json(kind, &filled[kind], caller > between ? caller : between);
        check_list(list(&all, methods[kind], caller), kind, expected, caller);
        free(expected);
    }
    wires_close(&all);
    mcp_server_free(other);
}

static void test_all_members(void **state)
{
    entry filled[ENTRY_KINDS];
    (void)state;
    for (mcp_item kind = 0; kind < ENTRY_KINDS; kind++)
        entry_make(kind, &filled[kind]);
    filled[MCP_ITEM_TOOL].tool.task_support = MCP_TASK_FORBIDDEN; /* see test_tasks.c */
    for (size_t i = 0; i < MCP__REVISIONS * MCP__REVISIONS; i++)
        check_pair(filled, &mcp__revisions[i / MCP__REVISIONS],
                   &mcp__revisions[i % MCP__REVISIONS]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_members)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
