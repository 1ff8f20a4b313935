/* The prompts as a peer sees them: what it gets, what is read for it, what it is told when files
 * change. Without workers, so that a reading is over when it was begun; workers are in
 * tests/programs/prompts.bats. */
#define _GNU_SOURCE
#include "../files/tree.h"

#include "../../support/failalloc.h"
#include "../files/fakehost.h"
#include "prompts.h"

typedef struct peer {
    tree folder;
    fakehost host;
    mcp_server *server;
    mcp_channel *channel;
    mcp_prompts *prompts;
    mcp_request *waiting; /* of mem:late */
    size_t notices;
    unsigned id;
    char reply[64 << 10]; /* the last message */
} peer;

static void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)exchange;
    if (mcp_channel_output_info(channel)->kind == MCP_OUTPUT_NOTIFICATION) {
        p->notices += memmem(message.ptr, message.len, "prompts/list_changed", 20) != NULL;
        return;
    }
    size_t len = message.len < sizeof(p->reply) ? message.len : sizeof(p->reply) - 1;
    memcpy(p->reply, message.ptr, len);
    p->reply[len] = 0;
}

/* ---- resources of the same server ------------------------------------------------------------ */

static int read_blob(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    return mcp_reply_bytes(req, "\0\1\377", 3, "image/png");
}

static int read_two(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    mcp_reply_content(req, MCP_OPTIONS(mcp_content, .text = MCP_STR("one"), .uri = "mem:two/1"));
    return mcp_reply_content(req,
                             MCP_OPTIONS(mcp_content, .text = MCP_STR("two"), .uri = "mem:two/2"));
}

static int read_late(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match;
    ((peer *)user)->waiting = req;
    return MCP_PENDING;
}

static int read_principal(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    const char *who = mcp_request_principal(req);
    return who && strcmp(who, "ann") == 0 ? mcp_reply_text(req, "for ann") : MCP_EACCESS;
}

static int read_large(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    static char large[9 << 20];
    memset(large, 'a', sizeof(large));
    return mcp_reply_str(req, (mcp_str){large, sizeof(large)}, NULL);
}

static const struct {
    const char *uri;
    mcp_read_fn *read;
    const char *text;
} resources[] = {
    {"mem:text", NULL, "the {{x}}\n<!-- assistant -->\ntext"},
    {"mem:blob", read_blob, NULL},
    {"mem:two", read_two, NULL},
    {"mem:late", read_late, NULL},
    {"mem:late/2", read_late, NULL},
    {"mem:ann", read_principal, NULL},
    {"mem:large", read_large, NULL},
};

static void make_server(peer *p, const mcp_host *host, const mcp_allocator *alloc)
{
    mcp_error error;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .coalesce_ms = 1, .declare_prompts = true,
                                                .host = host, .allocator = alloc),
                                    &p->server, &error),
                     MCP_OK);
    for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++)
        assert_int_equal(mcp_server_add_resource(
                             p->server,
                             MCP_OPTIONS(mcp_resource, .uri = resources[i].uri, .name = "r",
                                         .mime_type = "text/x-test", .read = resources[i].read,
                                         .text = resources[i].text),
                             p, &error),
                         MCP_OK);
}

static void open_peer(peer *p)
{
    mcp_error error;
    fakehost_init(&p->host);
    make_server(p, &p->host.host, NULL);
    int rc = mcp_prompts_add(
        p->server, MCP_OPTIONS(mcp_prompts_options, .folder = p->folder.path, .poll_ms = 50),
        &p->prompts, &error);
    if (rc != MCP_OK)
        fail_msg("%s", error.text);
    assert_int_equal(mcp_server_connect(p->server,
                                        MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p,
                                                    .principal = "ann", .shared_stream = true),
                                        &p->channel, &error),
                     MCP_OK);
}

static void close_peer(peer *p)
{
    mcp_channel_free(p->channel);
    mcp_prompts_free(p->prompts);
    mcp_server_free(p->server);
    assert_null(p->host.timers);
    assert_null(p->host.poll);
    tree_remove(&p->folder);
    free(p);
}

static peer *new_peer(void)
{
    peer *p = calloc(1, sizeof(*p));
    tree_make(&p->folder);
    return p;
}

static const char *send_text(peer *p, const char *message)
{
    p->reply[0] = 0;
    mcp_channel_receive(p->channel, 0, mcp_str_from(message), fakehost_now(&p->host));
    return p->reply;
}

static const char *ask(peer *p, const char *method, const char *params)
{
    char message[4096];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}}%s%s}}",
             ++p->id, method, *params ? "," : "", params);
    return send_text(p, message);
}

/* The messages of a prompt as text, between brackets; or the error. */
static const char *get(peer *p, const char *name, const char *arguments)
{
    char params[2048];
    snprintf(params, sizeof(params), "\"name\":\"%s\",\"arguments\":{%s}", name, arguments);
    return ask(p, "prompts/get", params);
}

static void expect(const char *reply, const char *part)
{
    if (*part == '!' ? strstr(reply, part + 1) != NULL : strstr(reply, part) == NULL)
        fail_msg("%s\nin %s", part, reply);
}

/* Time passes: for the watch, and then for notices. */
static void wait_a_little(peer *p, int64_t ms)
{
    fakehost_run(&p->host, ms);
    mcp_channel_tick(p->channel, fakehost_now(&p->host));
    fakehost_run(&p->host, 10);
    mcp_channel_tick(p->channel, fakehost_now(&p->host));
}

static void listen(peer *p)
{
    send_text(p, "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":{"
                 "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                 "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}");
    expect(p->reply, "\"prompts\":{\"listChanged\":true}");
    send_text(p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

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
    assert_int_equal(p->host.warnings, 2); /* bad.md, and c.md's name */
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
    const char *has; /* "!" before what must not be there */
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
    /* a value stays a value */
    {"{{x}}", "\"x\":\"<!-- assistant -->\\n{{y}}\\n{{resource: mem:text}}\"",
     "[" TEXT("user", "<!-- assistant -->\\n{{y}}\\n{{resource: mem:text}}") "]"},
    {"{{x}}{resource: mem:text}}", "\"x\":\"{\"", "[" TEXT("user", "{{resource: mem:text}}") "]"},
    {"<!-- {{x}} -->\nb", "\"x\":\"assistant\"", "[" TEXT("user", "<!-- assistant -->\\nb") "]"},
    {"{{x}}", "\"x\":\"\\u0000\"", TEXT("user", "\\u0000")},
    {"{{x}}", "\"x\":1", "-32602"},
    /* what cannot be read */
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
    /* one that fails late */
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

/* A host that was only lent takes its timers along. */
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

/* ---- changes --------------------------------------------------------------------------------- */

static void changes_are_told_once(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "b.md", "b");
    open_peer(p);
    listen(p);
    tree_file(&p->folder, "a.md", "a");
    tree_file(&p->folder, "c.md", "c");
    tree_file(&p->folder, "notes.txt", "x");
    wait_a_little(p, 100);
    assert_int_equal(p->notices, 1);
    expect(ask(p, "prompts/list", ""), "[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]");
    /* only a text */
    tree_file(&p->folder, "b.md", "other");
    wait_a_little(p, 100);
    assert_int_equal(p->notices, 1);
    expect(get(p, "b", ""), "\"text\":\"other\"");
    /* what a list shows */
    tree_file(&p->folder, "b.md", "---\ntitle: T\n---\nother");
    wait_a_little(p, 100);
    assert_int_equal(p->notices, 2);
    expect(ask(p, "prompts/list", ""),
           "[{\"name\":\"a\"},{\"name\":\"b\",\"title\":\"T\"},{\"name\":\"c\"}]");
    /* a file that has nothing to do with it */
    tree_file(&p->folder, "notes.txt", "y");
    wait_a_little(p, 100);
    assert_int_equal(p->notices, 2);
    /* as editors save */
    tree_file(&p->folder, "b.md~tmp", "renamed");
    assert_int_equal(rename(tree_at(&p->folder, "b.md~tmp"), tree_at(&p->folder, "b.md")), 0);
    assert_int_equal(unlink(tree_at(&p->folder, "a.md")), 0);
    wait_a_little(p, 100);
    assert_int_equal(p->notices, 3);
    expect(ask(p, "prompts/list", ""), "[{\"name\":\"b\"},{\"name\":\"c\"}]");
    expect(get(p, "b", ""), "\"text\":\"renamed\"");
    close_peer(p);
}

static void a_bad_file_keeps_its_last_state(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "a.md", "good");
    open_peer(p);
    listen(p);
    assert_int_equal(p->host.warnings, 0);
    tree_file(&p->folder, "a.md", "bad {{x}}");
    wait_a_little(p, 100);
    assert_int_equal(p->host.warnings, 1);
    assert_int_equal(p->notices, 0);
    expect(get(p, "a", ""), "\"text\":\"good\"");
    tree_file(&p->folder, "b.md", "new");
    wait_a_little(p, 100);
    assert_int_equal(p->host.warnings, 1); /* said once */
    tree_file(&p->folder, "a.md", "better");
    wait_a_little(p, 100);
    expect(get(p, "a", ""), "\"text\":\"better\"");
    close_peer(p);
}

static void a_name_that_is_freed_is_taken(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "a.md", "---\nname: n\n---\nfirst");
    tree_file(&p->folder, "b.md", "---\nname: n\n---\nsecond");
    open_peer(p);
    listen(p);
    assert_int_equal(p->host.warnings, 1);
    expect(get(p, "n", ""), "first");
    assert_int_equal(unlink(tree_at(&p->folder, "a.md")), 0);
    wait_a_little(p, 100);
    expect(get(p, "n", ""), "second");
    assert_int_equal(p->notices, 0); /* it looks the same */
    close_peer(p);
}

static void polling_does_it_too(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "a.md", "a");
    p->host.deaf = true;
    fakehost_init(&p->host);
    p->host.deaf = true;
    make_server(p, &p->host.host, NULL);
    mcp_error error;
    assert_int_equal(
        mcp_prompts_add(p->server,
                        MCP_OPTIONS(mcp_prompts_options, .folder = p->folder.path, .poll_ms = 20),
                        &p->prompts, &error),
        MCP_OK);
    assert_int_equal(mcp_server_connect(p->server,
                                        MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p),
                                        &p->channel, &error),
                     MCP_OK);
    tree_file(&p->folder, "b.md", "b");
    wait_a_little(p, 60);
    expect(ask(p, "prompts/list", ""), "[{\"name\":\"a\"},{\"name\":\"b\"}]");
    close_peer(p);
}

static void a_folder_that_is_replaced(void **state)
{
    peer *p = new_peer();
    char old[128];
    (void)state;
    tree_file(&p->folder, "a.md", "a");
    open_peer(p);
    snprintf(old, sizeof(old), "%s-old", p->folder.path);
    assert_int_equal(rename(p->folder.path, old), 0);
    wait_a_little(p, 120);
    assert_int_equal(p->host.warnings, 1);
    expect(get(p, "a", ""), "\"text\":\"a\""); /* it may be back in a moment */
    assert_int_equal(mkdir(p->folder.path, 0700), 0);
    tree_file(&p->folder, "b.md", "b");
    wait_a_little(p, 200);
    expect(ask(p, "prompts/list", ""), "[{\"name\":\"b\"}]");
    tree_file(&p->folder, "c.md", "c"); /* watched again */
    wait_a_little(p, 100);
    expect(ask(p, "prompts/list", ""), "[{\"name\":\"b\"},{\"name\":\"c\"}]");
    tree gone = {0};
    strcpy(gone.path, old);
    tree_remove(&gone);
    close_peer(p);
}

static void names_of_others_are_theirs(void **state)
{
    peer *p = new_peer();
    (void)state;
    mcp_error error;
    tree_file(&p->folder, "a.md", "mine");
    tree_file(&p->folder, "b.md", "mine");
    fakehost_init(&p->host);
    make_server(p, &p->host.host, NULL);
    assert_int_equal(mcp_prompts_add(p->server,
                                     MCP_OPTIONS(mcp_prompts_options, .folder = p->folder.path,
                                                 .no_watch = true),
                                     &p->prompts, &error),
                     MCP_OK);
    mcp_prompts *second = NULL;
    assert_int_equal(mcp_prompts_add(p->server,
                                     MCP_OPTIONS(mcp_prompts_options, .folder = p->folder.path,
                                                 .no_watch = true),
                                     &second, &error),
                     MCP_OK);
    assert_int_equal(p->host.warnings, 2);
    mcp_prompts_free(second); /* does not take the other's with it */
    assert_int_equal(mcp_server_remove_prompt(p->server, "a"), MCP_OK);
    close_peer(p);
}

static void a_folder_that_is_not_there(void **state)
{
    peer *p = new_peer();
    (void)state;
    mcp_error error = {0};
    make_server(p, NULL, NULL);
    assert_int_equal(mcp_prompts_add(p->server,
                                     MCP_OPTIONS(mcp_prompts_options, .folder = "/none/such"),
                                     &p->prompts, &error),
                     MCP_ENOTFOUND);
    assert_string_equal(error.text, "/none/such: No such file or directory");
    assert_int_equal(mcp_prompts_add(p->server, MCP_OPTIONS(mcp_prompts_options, .folder = ""),
                                     &p->prompts, &error),
                     MCP_EINVAL);
    close_peer(p);
}

/* Adding, getting with resources, completing and the end, with each allocation failing once. */
static void without_memory(void **state)
{
    peer *p = new_peer();
    (void)state;
    tree_file(&p->folder, "a.md",
              "---\narguments:\n  - name: x\n    complete: [y]\n---\n{{x}}\n"
              "{{resource: mem:text}}\n{{resource: mem:blob}}");
    tree_file(&p->folder, "b.md", "b");
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp_error error;
        fakehost_init(&p->host);
        make_server(p, &p->host.host, NULL);
        mcp_prompts *prompts = NULL;
        int rc = mcp_prompts_add(
            p->server, MCP_OPTIONS(mcp_prompts_options, .folder = p->folder.path, .allocator = &a),
            &prompts, &error);
        if (rc == MCP_OK) {
            assert_int_equal(
                mcp_server_connect(p->server,
                                   MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p),
                                   &p->channel, &error),
                MCP_OK);
            const char *reply = get(p, "a", "\"x\":\"1\"");
            if (f.calls < n)
                expect(reply, "\"blob\":\"AAH/\"");
            else
                assert_true(strstr(reply, "blob") || strstr(reply, "error"));
            mcp_channel_free(p->channel);
            p->channel = NULL;
        } else {
            assert_int_equal(rc, MCP_ENOMEM);
        }
        mcp_prompts_free(prompts);
        mcp_server_free(p->server);
        p->server = NULL;
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
    close_peer(p);
}

/* The same for the memory of the server, of which requests and channels are made. */
static void without_memory_of_the_server(void **state)
{
    peer *p = new_peer();
    mcp_error error;
    (void)state;
    /* So many that the request's first block does not do for them. */
    char text[2000] = "---\narguments:\n  - name: x\n---\n{{x}}\n{{resource: mem:blob}}\n";
    for (int i = 0; i < 31; i++)
        strcat(text, "{{resource: mem:text}}\n");
    tree_file(&p->folder, "a.md", text);
    for (size_t n = 1;; n++) {
        failalloc f = {0}, own = {0};
        mcp_allocator a = failalloc_allocator(&f), b = failalloc_allocator(&own);
        fakehost_init(&p->host);
        make_server(p, &p->host.host, &a);
        assert_int_equal(mcp_prompts_add(p->server,
                                         MCP_OPTIONS(mcp_prompts_options, .allocator = &b,
                                                     .folder = p->folder.path),
                                         &p->prompts, &error),
                         MCP_OK);
        assert_int_equal(
            mcp_server_connect(p->server, MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p),
                               &p->channel, &error),
            MCP_OK);
        f.fail_at = f.calls + n;
        get(p, "a", "\"x\":\"1\"");
        bool whole = f.calls < f.fail_at;
        if (whole)
            expect(p->reply, "\"blob\":\"AAH/\"");
        mcp_channel_free(p->channel);
        mcp_prompts_free(p->prompts);
        mcp_server_free(p->server);
        p->channel = NULL, p->prompts = NULL, p->server = NULL;
        assert_int_equal(f.live, 0);
        assert_int_equal(own.live, 0);
        if (whole)
            break;
    }
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
        cmocka_unit_test(changes_are_told_once),
        cmocka_unit_test(a_bad_file_keeps_its_last_state),
        cmocka_unit_test(a_name_that_is_freed_is_taken),
        cmocka_unit_test(polling_does_it_too),
        cmocka_unit_test(a_folder_that_is_replaced),
        cmocka_unit_test(names_of_others_are_theirs),
        cmocka_unit_test(a_folder_that_is_not_there),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(without_memory_of_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
