/* What the configuration says about the tools, prompts and resources of another server: which are
 * offered, under which names and with which texts.
 */
#include "wires.h"

static size_t watched;

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    return mcp_reply_textf(req, "<%s>", (const char *)user);
}

static int get(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "prompted");
}

static int complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user)
{
    (void)name, (void)value, (void)context, (void)user;
    return mcp_reply_completion(req, MCP_STR("completed"));
}

static int read_one(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)match, (void)user;
    return mcp_reply_textf(req, "<%.*s>", (int)uri.len, uri.ptr);
}

static int link_to(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    int rc = mcp_reply_content(
        req, MCP_OPTIONS(mcp_content, .kind = MCP_CONTENT_LINK, .uri = "x:/key/a", .name = "key"));
    return rc == MCP_OK ? mcp_reply_text(req, "linked") : rc;
}

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    snprintf(canonical, room, "%.*s", (int)uri.len, uri.ptr);
    return MCP_OK;
}

static int watch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    watched++;
    return MCP_OK;
}

static void unwatch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    watched--;
}

static void add_tool(mcp_server *s, const char *name)
{
    mcp_server_add_tool(s,
                        MCP_OPTIONS(mcp_tool, .name = name, .title = "old title",
                                    .description = "old text", .call = call),
                        (void *)(uintptr_t)name, NULL);
}

static mcp_server *other_new(void)
{
    static const mcp_prompt_argument argument = {.size = sizeof(argument), .name = "a"};
    static const mcp_provider provider = {.size = sizeof(provider),
                                          .name = "m",
                                          .resolve = resolve,
                                          .watch = watch,
                                          .unwatch = unwatch};
    mcp_server *s;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                                .coalesce_ms = 1),
                                    &s, NULL),
                     MCP_OK);
    add_tool(s, "a");
    add_tool(s, "b");
    add_tool(s, "get.c");
    mcp_server_add_tool(s, MCP_OPTIONS(mcp_tool, .name = "link", .call = link_to), NULL, NULL);
    mcp_server_add_prompt(s,
                          MCP_OPTIONS(mcp_prompt, .name = "a", .description = "old text",
                                      .arguments = &argument, .n_arguments = 1, .get = get,
                                      .complete = complete),
                          NULL, NULL);
    mcp_server_add_prompt(s, MCP_OPTIONS(mcp_prompt, .name = "secret", .get = get), NULL, NULL);
    mcp_server_add_resource(
        s, MCP_OPTIONS(mcp_resource, .uri = "x:/r", .name = "r", .read = read_one), NULL, NULL);
    mcp_server_add_resource(
        s, MCP_OPTIONS(mcp_resource, .uri = "x:/key/a", .name = "key", .read = read_one), NULL,
        NULL);
    mcp_server_add_template(s,
                            MCP_OPTIONS(mcp_resource_template, .uri_template = "x:/key/{n}",
                                        .name = "n", .read = read_one, .complete = complete),
                            NULL, NULL);
    mcp_server_mount(s, "m:", &provider, NULL, NULL);
    return s;
}

static void open_with(wires *w, const mcp_upstream_options *policy)
{
    *w = (wires){.policy = *policy};
    assert_int_equal(wires_open(w, other_new()), MCP_OK);
    assert_int_equal(wires_peer(w, w->front, "ann"), MCP_OK);
}

static void close_all(wires *w)
{
    wires_close(w);
    mcp_server_free(w->other);
}

static void lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("%s in\n%s", part, text);
}

static const mcp_upstream_change changes[] = {
    {.item = MCP_ITEM_TOOL,
     .original = "a",
     .name = "b",
     .title = "new \"title\"",
     .description = "new text"},
    {.item = MCP_ITEM_TOOL, .original = "get.c", .name = "get_c"},
    {.item = MCP_ITEM_PROMPT, .original = "a", .name = "ask", .description = "new prompt"},
};
static const mcp_upstream_options changed = {.changes = changes, .n_changes = 3};

/* Writes the name after `begin` in a list as a member of params. */
static const char *param_of(const char *list, const char *begin)
{
    static char params[128];
    const char *at = strstr(list, begin);
    assert_non_null(at);
    snprintf(params, sizeof(params), "\"name\":\"%.*s\"", (int)strcspn(at + 1, "\""), at + 1);
    return params;
}

/* A tool gets another name. A tool that the other server has under this name gets a hash, whether or not
 * the list was read before. */
static void test_names(void **state)
{
    (void)state;
    static wires w;
    static char old_b[128];
    for (int listed = 1; listed >= 0; listed--) {
        open_with(&w, &changed);
        if (listed) {
            const char *list = wires_ask(&w, "tools/list", "");
            wires_has(list, "\"name\":\"up_b\"");
            wires_has(list, "\"name\":\"up_get_c\"");
            lacks(list, "\"up_a\"");
            snprintf(old_b, sizeof(old_b), "%s", param_of(list, "\"up_b_"));
        }
        wires_has(wires_ask(&w, "tools/call", old_b), "<b>");
        wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_b\""), "<a>");
        wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_get_c\""), "<get.c>");
        wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_a\""), "Unknown tool: up_a");
        wires_has(wires_ask(&w, "prompts/get", "\"name\":\"up_ask\""), "prompted");
        wires_has(wires_ask(&w, "prompts/get", "\"name\":\"up_a\""), "Unknown prompt: up_a");
        wires_has(wires_ask(&w, "prompts/get", "\"name\":\"up_b\""), "Unknown prompt");
        wires_has(wires_ask(&w, "completion/complete",
                            "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"up_ask\"},"
                            "\"argument\":{\"name\":\"a\",\"value\":\"\"}"),
                  "completed");
        close_all(&w);
    }
}

/* Titles and descriptions are replaced in lists, for clients of each revision. */
static void test_texts(void **state)
{
    (void)state;
    static wires w;
    open_with(&w, &changed);
    const char *list = wires_ask(&w, "tools/list", "");
    wires_has(list, "\"title\":\"new \\\"title\\\"\",\"description\":\"new text\"");
    wires_has(list, "old text"); /* of the other tools */
    wires_has(wires_ask(&w, "prompts/list", ""), "\"description\":\"new prompt\"");
    lacks(wires_ask(&w, "prompts/list", ""), "old text");
    close_all(&w);
    open_with(&w, &changed);
    wires_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                  "\"protocolVersion\":\"2025-03-26\",\"capabilities\":{},"
                  "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    wires_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    list = wires_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
    wires_has(list, "\"name\":\"up_b\"");
    wires_has(list, "\"description\":\"new text\"");
    lacks(list, "\"title\":\"new \\\"title\\\"\",\"desc"); /* the revision has no titles */
    close_all(&w);
}

/* What is hidden cannot be listed, used, completed or watched, in whatever way its URI is written, and no
 * link leads there. */
static void test_hidden(void **state)
{
    (void)state;
    static wires w;
    static const char *const tools[] = {"get*", NULL}, *const prompts[] = {"secret", NULL},
                             *const resources[] = {"x:/key/*", "m:*", NULL};
    open_with(&w, &(mcp_upstream_options){
                      .hide_tools = tools, .hide_prompts = prompts, .hide_resources = resources});
    lacks(wires_ask(&w, "tools/list", ""), "get");
    lacks(wires_ask(&w, "prompts/list", ""), "secret");
    wires_has(wires_ask(&w, "resources/list", ""), "mcp+up:x:/r");
    lacks(wires_ask(&w, "resources/list", ""), "key");
    lacks(wires_ask(&w, "resources/templates/list", ""), "key");
    lacks(wires_ask(&w, "tools/call", "\"name\":\"up_link\""), "key");
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_link\""), "linked");
    wires_has(wires_ask(&w, "prompts/get", "\"name\":\"up_secret\""), "Unknown prompt");
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"mcp+up:x:/r\""), "<x:/r>");
    static const char *const spellings[] = {"x:/key/a", "x:/%6bey/a", "x:/./key/a", "x:/%2E/key/a"};
    for (size_t i = 0; i < sizeof(spellings) / sizeof(*spellings); i++) {
        char params[128];
        size_t runs = w.runs;
        snprintf(params, sizeof(params), "\"uri\":\"mcp+up:%s\"", spellings[i]);
        wires_has(wires_ask(&w, "resources/read", params), "\"error\":");
        assert_int_equal(w.runs, runs); /* the other server was not asked */
    }
    lacks(wires_ask(&w, "completion/complete",
                    "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"mcp+up:x:/key/{n}\"},"
                    "\"argument\":{\"name\":\"n\",\"value\":\"\"}"),
          "completed");
    wires_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                  "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                  "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    wires_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    wires_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\","
                  "\"params\":{\"uri\":\"mcp+up:m:/a\"}}");
    assert_int_equal(watched, 0);
    close_all(&w);
}

/* With a list of what is offered, everything else is hidden. */
static void test_only(void **state)
{
    (void)state;
    static wires w;
    static const char *const tools[] = {"*k", "a", NULL}, *const none[] = {NULL},
                             *const resources[] = {"x:/r", NULL};
    open_with(&w, &(mcp_upstream_options){
                      .only_tools = tools, .only_prompts = none, .only_resources = resources});
    const char *list = wires_ask(&w, "tools/list", "");
    wires_has(list, "\"up_a\"");
    wires_has(list, "\"up_link\"");
    lacks(list, "\"up_b\"");
    wires_has(wires_ask(&w, "tools/call", "\"name\":\"up_b\""), "Unknown tool: up_b");
    wires_has(wires_ask(&w, "prompts/list", ""), "\"prompts\":[]");
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"mcp+up:x:/r\""), "<x:/r>");
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"mcp+up:x:/q\""), "\"error\":");
    close_all(&w);
}

/* Makes n requests, and returns how many succeed. */
static int requests(wires *w, const char *method, const char *params, int n)
{
    int good = 0;
    for (int i = 0; i < n; i++)
        good += strstr(wires_ask(w, method, params), "\"result\"") != NULL;
    return good;
}

static void on_state(const mcp_upstream_state *state, void *user)
{
    *(mcp_upstream_state *)user = *state;
}

/* Each principal may make some requests in a minute: calls of some tools, and requests in all. The names
 * of tools are those at the other server, so no new name goes past a limit. */
static void test_rates(void **state)
{
    (void)state;
    static wires w;
    static const char *const tools[] = {"a", "get*", NULL};
    static const mcp_upstream_rate rates[] = {{.tools = tools, .per_minute = 60, .burst = 2},
                                              {.per_minute = 6}};
    mcp_upstream_state figures;
    mcp_upstream_options policy = changed;
    policy.rates = rates;
    policy.n_rates = 2;
    open_with(&w, &policy);
    assert_int_equal(requests(&w, "tools/list", "", 20), 20);
    assert_int_equal(requests(&w, "tools/call", "\"name\":\"up_b\"", 1), 1);
    assert_int_equal(requests(&w, "tools/call", "\"name\":\"up_get_c\"", 3), 1);
    const char *refusal = wires_ask(&w, "tools/call", "\"name\":\"up_b\"");
    wires_has(refusal, "too many requests: one caller may make 60 a minute (rates/0 of up); try "
                       "again in ");
    wires_has(refusal, "\"data\":{\"retryAfterMs\":");
    mcp_upstream_each(&w.group, on_state, &figures);
    assert_int_equal(figures.requests[MCP_UPSTREAM_LIMITED], 3);
    assert_int_equal(w.runs, 2); /* what is refused is not forwarded */
    assert_int_equal(requests(&w, "resources/read", "\"uri\":\"mcp+up:x:/r\"", 2), 2);
    assert_int_equal(requests(&w, "prompts/get", "\"name\":\"up_ask\"", 1), 1);
    assert_int_equal(requests(&w, "tools/call", "\"name\":\"up_link\"", 5), 1);
    wires_has(wires_ask(&w, "prompts/get", "\"name\":\"up_ask\""), "(rates/1 of up)");
    mcp_channel *ann = w.peer;
    w.peer = NULL;
    assert_int_equal(wires_peer(&w, w.front, "bob"), MCP_OK);
    assert_int_equal(requests(&w, "tools/call", "\"name\":\"up_b\"", 5), 2);
    mcp_channel_free(ann);
    close_all(&w);
}

/* A tool whose original name is not known yet is counted once the list has been read. */
static void test_rate_of_unknown(void **state)
{
    (void)state;
    static wires w;
    static const char *const tools[] = {"get.c", NULL};
    static const mcp_upstream_rate rates[] = {{.tools = tools, .per_minute = 60, .burst = 1}};
    static char params[128];
    open_with(&w, &(mcp_upstream_options){0});
    snprintf(params, sizeof(params), "%s", param_of(wires_ask(&w, "tools/list", ""), "\"up_get_"));
    close_all(&w);
    open_with(&w, &(mcp_upstream_options){.rates = rates, .n_rates = 1});
    wires_has(wires_ask(&w, "tools/call", params), "<get.c>");
    wires_has(wires_ask(&w, "tools/call", params), "(rates/0 of up)");
    close_all(&w);
    static const mcp_upstream_rate none[] = {{.tools = tools, .per_minute = 1, .burst = 1},
                                             {.tools = tools, .per_minute = 1, .burst = 1}};
    open_with(&w, &(mcp_upstream_options){.rates = none, .n_rates = 2});
    wires_ask(&w, "tools/call", params);
    assert_int_equal(w.runs, 1);
    w.now += 30000;
    wires_has(wires_ask(&w, "tools/call", params), "(rates/0 of up)");
    assert_int_equal(w.runs, 1);
    close_all(&w);
}

static char measured[4096];
static size_t n_measured;

/* The cost of a text is its length. */
static uint64_t cost_of(mcp_str text)
{
    size_t len = strlen(measured);
    n_measured++;
    snprintf(measured + len, sizeof(measured) - len, "%.*s\n", (int)text.len, text.ptr);
    return text.len;
}

static uint64_t definitions(const wires *w)
{
    mcp_upstream_state state;
    measured[0] = '\0';
    n_measured = 0;
    mcp_upstream_each(&w->group, on_state, &state);
    return state.definitions;
}

/* The definitions of the tools that are offered are measured when somebody asks, once as long as they stay the same. */
static void test_definitions(void **state)
{
    (void)state;
    static wires w;
    static const char *const hidden[] = {"link", "c*", NULL};
    mcp_upstream_options policy = changed;
    policy.hide_tools = hidden;
    w = (wires){.policy = policy, .rebuilt = true};
    assert_int_equal(wires_open(&w, other_new()), MCP_OK);
    assert_int_equal(wires_peer(&w, w.front, "ann"), MCP_OK);
    w.group.cost = cost_of;
    assert_int_equal(definitions(&w), 0);
    wires_ask(&w, "tools/list", "");
    uint64_t all = definitions(&w);
    size_t n = n_measured;
    assert_int_equal(all, strlen(measured) - n); /* without the ends of lines */
    wires_has(measured, "\"a\"\nnew text\n{");
    wires_has(measured, "\"get.c\"\n\"old text\"\n{");
    lacks(measured, "link");
    lacks(measured, "title");
    wires_ask(&w, "tools/list", "");
    assert_int_equal(definitions(&w), all);
    assert_int_equal(n_measured, 0);
    mcp_server_add_tool(w.other, MCP_OPTIONS(mcp_tool, .name = "more", .call = link_to), NULL,
                        NULL);
    wires_ask(&w, "tools/list", "");
    assert_int_equal(definitions(&w), all + strlen("\"more\"") + strlen("{\"type\":\"object\"}"));
    wires_has(measured, "\"more\"\n{\"type\":\"object\"}\n");
    w.policy.hide_tools = NULL;
    assert_int_equal(mcp_server_rebuild(w.front, wires_mount, &w, NULL), MCP_OK);
    wires_run(&w);
    assert_true(definitions(&w) > all);
    wires_has(measured, "\"link\"");
    close_all(&w);
}

/* Names that cannot be given, and pairs of items that would have the same one. */
static void test_checks(void **state)
{
    (void)state;
    static const struct {
        mcp_upstream_change changes[2];
        bool transparent;
        const char *says;
    } cases[] = {
        {{{.original = "a", .name = "x"}, {.original = "b", .name = "x"}},
         false,
         "the tools \"a\" and \"b\" would both be called up_x"},
        {{{.original = "a", .name = "b"}, {.original = "b", .description = "text"}},
         false,
         "the tools \"a\" and \"b\" would both be called up_b"},
        {{{.original = "a", .name = "b.c"}, {.original = "b"}},
         false,
         "\"b.c\" cannot be the name of \"a\": it may have at most 61 characters"},
        {{{.original = "a", .name = ""}, {.original = "b"}}, false, "\"\" cannot be the name"},
        {{{.original = "a", .name = "b_0123456789abcdef"}, {.original = "b"}},
         false,
         "cannot be the name"},
        {{{.original = "a",
           .name = "12345678901234567890123456789012345678901234567890123456789012"},
          {.original = "b"}},
         false,
         "cannot be the name"},
        {{{.original = "a", .name = "b"}, {.original = "c"}}, true, "names cannot be changed"},
        {{{.original = "a", .name = "b"}, {.original = "b", .name = "a"}}, false, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        mcp_server *s = NULL;
        mcp_error error = {0};
        mcp_upstream_change two[2] = {cases[i].changes[0], cases[i].changes[1]};
        static const char *const argv[] = {"true", NULL};
        two[0].item = two[1].item = MCP_ITEM_TOOL;
        assert_int_equal(
            mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1"), &s,
                           NULL),
            MCP_OK);
        int rc = mcp_upstream_mount(s,
                                    MCP_OPTIONS(mcp_upstream_options, .name = "up", .argv = argv,
                                                .changes = two, .n_changes = 2,
                                                .transparent = cases[i].transparent),
                                    &error);
        assert_int_equal(rc, cases[i].says ? MCP_EINVAL : MCP_OK);
        if (cases[i].says)
            wires_has(error.text, cases[i].says);
        mcp_server_free(s);
    }
}

/* Every allocation fails in turn, while a server with a policy is mounted. */
static void test_memory(void **state)
{
    (void)state;
    static const char *const list[] = {"a", "b", NULL};
    mcp_upstream_options policy = changed;
    policy.only_tools = policy.only_prompts = policy.hide_prompts = list;
    policy.only_resources = policy.hide_resources = list;
    policy.rates = &(mcp_upstream_rate){.tools = list, .per_minute = 1};
    policy.n_rates = 1;
    for (size_t n = 0;; n++) {
        static wires w;
        w = (wires){.policy = policy, .memory = {.fail_at = n + 1}};
        mcp_server *other = other_new();
        int rc = wires_open(&w, other);
        wires_close(&w);
        mcp_server_free(other);
        if (rc == MCP_OK)
            break;
        assert_int_equal(rc, MCP_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),       cmocka_unit_test(test_texts),
        cmocka_unit_test(test_hidden),      cmocka_unit_test(test_only),
        cmocka_unit_test(test_checks),      cmocka_unit_test(test_memory),
        cmocka_unit_test(test_rates),       cmocka_unit_test(test_rate_of_unknown),
        cmocka_unit_test(test_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
