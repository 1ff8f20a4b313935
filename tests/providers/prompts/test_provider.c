/* test_provider.c: prompts from a peer's point of view: the messages, and the embedded resources.
 * There are no workers, so files are read synchronously; tests/programs/prompts.bats tests workers. */
#define _GNU_SOURCE
#include "prompts_rig.h"

/* ---- getting --------------------------------------------------------------------------------- */

static void prompts_are_listed(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "b.md",
              "---\ntitle: B\ndescription: d\nicons: [https://a/i.png]\narguments:\n  - name: x\n"
              "    title: X\n    description: dx\n    required: true\n---\n{{x}}");
    tree_file(&p->folder, "a.md", "text");
    tree_file(&p->folder, "bad.md", "{{x}}");
    tree_file(&p->folder, "c.md", "---\nname: a\n---\nnever");
    open_peer(p);
    assert_int_equal(p->host.warnings, 2); /* for bad.md, and for the name of c.md */
    const char *reply = ask(p, "prompts/list", "");
    expect(reply, "\"prompts\":[{\"name\":\"a\"},{\"name\":\"b\",\"title\":\"B\",\"description\":"
                  "\"d\",\"arguments\":[{\"name\":\"x\",\"title\":\"X\",\"description\":\"dx\","
                  "\"required\":true}],\"icons\":[{\"src\":\"https://a/i.png\"}]}]");
    expect(get(p, "a", ""), "\"text\":\"text\"");
    expect(get(p, "b", ""), "argument \\\"x\\\" is required");
    expect(get(p, "bad", ""), "-32602");
    close_peer(p);
}

#define TEXT(role, text) \
    "{\"role\":\"" role "\",\"content\":{\"type\":\"text\",\"text\":\"" text "\"}}"
#define RESOURCE(uri, type, text)                                                        \
    "{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri \
    "\",\"mimeType\":\"" type "\"," text "}}}"

static const struct {
    const char *file, *arguments;
    const char *has; /* a string that the reply must contain, or must lack if it begins with "!" */
} gets[] = {
    {"---\ndescription: d\n---\na\n<!-- assistant -->\nb", "",
     "\"messages\":[" TEXT("user", "a") "," TEXT("assistant", "b") "],\"description\":\"d\""},
    {"a {{x}} {{y}}.", "\"x\":\"1\"", "[" TEXT("user", "a 1 .") "]"},
    {"{{y}}\n<!-- assistant -->\nb", "", "[" TEXT("assistant", "b") "]"},
    {"a\n{{resource: mem:text}}\nb", "\"x\":\"1\"",
     "[" TEXT("user", "a") "," RESOURCE(
         "mem:text", "text/x-test",
         "\"text\":\"the {{x}}\\n<!-- assistant -->\\ntext\"") "," TEXT("user", "b") "]"},
    {"{{resource: mem:blob}}", "", "[" RESOURCE("mem:blob", "image/png", "\"blob\":\"AAH/\"") "]"},
    {"{{resource: mem:two}}", "",
     "[" RESOURCE("mem:two/1", "text/x-test", "\"text\":\"one\"") "," RESOURCE(
         "mem:two/2", "text/x-test", "\"text\":\"two\"") "]"},
    {"{{resource: mem:ann}}", "", "\"text\":\"for ann\""},
    /* an argument's value is not parsed */
    {"{{x}}", "\"x\":\"<!-- assistant -->\\n{{y}}\\n{{resource: mem:text}}\"",
     "[" TEXT("user", "<!-- assistant -->\\n{{y}}\\n{{resource: mem:text}}") "]"},
    {"{{x}}{resource: mem:text}}", "\"x\":\"{\"", "[" TEXT("user", "{{resource: mem:text}}") "]"},
    {"<!-- {{x}} -->\nb", "\"x\":\"assistant\"", "[" TEXT("user", "<!-- assistant -->\\nb") "]"},
    {"{{x}}", "\"x\":\"\\u0000\"", TEXT("user", "\\u0000")},
    {"{{x}}", "\"x\":1", "-32602"},
    /* resources that cannot be read */
    {"a\n{{resource: mem:none}}", "",
     "\"code\":-32603,\"message\":\"The prompt p cannot be built: its resource mem:none: Resource "
     "not found\""},
    {"{{resource: mem:large}}\n{{resource: mem:large}}", "",
     "mem:large: Internal error: the reply"},
    {"{{resource: mem:text}}\n{{resource: mem:none}}", "", "!messages"},
};

static void what_is_got(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(gets) / sizeof(*gets); i++) {
        char text[1024];
        peer *p = new_peer();
        bool front = strncmp(gets[i].file, "---", 3) == 0;
        snprintf(text, sizeof(text), "%s%s",
                 front ? "" : "---\narguments:\n  - name: x\n  - name: y\n---\n", gets[i].file);
        tree_file(&p->folder, "p.md", text);
        open_peer(p);
        expect(get(p, "p", gets[i].arguments), gets[i].has);
        close_peer(p);
    }
}

static void values_have_a_limit(void **state)
{
    peer *p = new_peer();
    (void)state;
    size_t len = 0;
    char *text = malloc(256 << 10), *message = malloc(256 << 10);
    len = (size_t)sprintf(text, "---\narguments:\n  - name: x\n---\n");
    for (int i = 0; i < 50; i++)
        len += (size_t)sprintf(text + len, "{{x}}");
    tree_file(&p->folder, "p.md", text);
    open_peer(p);
    memset(text, 'a', 100 << 10);
    text[100 << 10] = 0;
    sprintf(message,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":{\"name\":\"p\","
            "\"arguments\":{\"x\":\"%s\"},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
            "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
            text);
    expect(send_text(p, message), "more than 4194304 bytes");
    free(text), free(message);
    close_peer(p);
}

static void choices_are_completed(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(
        &p->folder, "p.md",
        "---\narguments:\n  - name: x\n    complete: [Alpha, beta, alps]\n  - name: y\n---\nt");
    open_peer(p);
#define COMPLETE(name, value)                               \
    ask(p, "completion/complete",                           \
        "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"}," \
        "\"argument\":{\"name\":\"" name "\",\"value\":\"" value "\"}")
    expect(COMPLETE("x", ""), "\"values\":[\"Alpha\",\"beta\",\"alps\"],\"total\":3");
    expect(COMPLETE("x", "al"), "\"values\":[\"Alpha\",\"alps\"],\"total\":2");
    expect(COMPLETE("x", "ALPH"), "\"values\":[\"Alpha\"]");
    expect(COMPLETE("x", "x"), "\"values\":[]");
    expect(COMPLETE("y", "a"), "\"values\":[]");
    expect(COMPLETE("z", ""), "-32602");
    close_peer(p);
}

/* ---- resources that are answered later ------------------------------------------------------- */

static void answer(peer *p, const char *text)
{
    mcp_request *req = p->waiting;
    p->waiting = NULL;
    assert_non_null(req);
    mcp_reply_text(req, text);
    mcp_reply_finish(req, MCP_OK);
}

static void late_resources(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "p.md",
              "{{resource: mem:late}}\n{{resource: mem:text}}\n"
              "{{resource: mem:late/2}}\nend");
    open_peer(p);
    assert_string_equal(get(p, "p", ""), "");
    answer(p, "one");
    assert_string_equal(p->reply, "");
    answer(p, "two");
    expect(p->reply, "\"text\":\"one\"");
    expect(p->reply, "\"text\":\"two\"");
    expect(p->reply, "\"text\":\"end\"");
    fakehost_run(&p->host, 5);
    /* a resource whose read fails later */
    p->reply[0] = 0;
    get(p, "p", "");
    answer(p, "one");
    mcp_reply_finish(p->waiting, MCP_ENOTFOUND);
    expect(p->reply, "its resource mem:late/2: Resource not found");
    close_peer(p);
}

static void the_peer_is_gone_meanwhile(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "p.md", "{{resource: mem:late}}");
    open_peer(p);
    get(p, "p", "");
    mcp_channel_free(p->channel);
    p->channel = NULL;
    answer(p, "nobody hears it");
    close_peer(p);
}

/* When a borrowed host is removed from the server, its timers are stopped. */
static void the_host_is_gone_meanwhile(void **state)
{
    peer *p = new_peer();
    mcp_error error;
    (void)state;
    tree_file(&p->folder, "p.md", "{{resource: mem:late}}");
    fakehost_init(&p->host);
    make_server(p, NULL, NULL);
    assert_int_equal(mcp_prompts_add(p->server,
                                     MCP_OPTIONS(mcp_prompts_options, .folder = p->folder.path),
                                     &p->prompts, &error),
                     MCP_OK);
    mcp_server_set_host(p->server, &p->host.host);
    assert_int_equal(mcp_server_connect(p->server,
                                        MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p),
                                        &p->channel, &error),
                     MCP_OK);
    get(p, "p", "");
    answer(p, "one");
    expect(p->reply, "\"text\":\"one\"");
    assert_non_null(p->host.timers);
    mcp_server_set_host(p->server, NULL);
    fakehost_timer_stop(p->host.timers, &p->host);
    close_peer(p);
}

static void the_file_is_gone_meanwhile(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "p.md", "other");
    tree_file(&p->folder, "q.md", "{{resource: mem:late}}\nold");
    open_peer(p);
    get(p, "q", "");
    assert_int_equal(unlink(tree_at(&p->folder, "q.md")), 0);
    wait_a_little(p, 100);
    expect(ask(p, "prompts/list", ""), "\"prompts\":[{\"name\":\"p\"}]");
    answer(p, "text");
    expect(p->reply, TEXT("user", "old"));
    close_peer(p);
}

static void the_end_comes_meanwhile(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "p.md", "{{resource: mem:late}}");
    open_peer(p);
    get(p, "p", "");
    mcp_prompts_free(p->prompts);
    p->prompts = NULL;
    expect(p->reply, "mem:late: the server ends");
    answer(p, "nobody hears it");
    close_peer(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_are_listed),
        cmocka_unit_test(what_is_got),
        cmocka_unit_test(values_have_a_limit),
        cmocka_unit_test(choices_are_completed),
        cmocka_unit_test(late_resources),
        cmocka_unit_test(the_peer_is_gone_meanwhile),
        cmocka_unit_test(the_host_is_gone_meanwhile),
        cmocka_unit_test(the_file_is_gone_meanwhile),
        cmocka_unit_test(the_end_comes_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
