/* Lists that have parts of several servers: none of them waits for a server that is slow, dead or
 * broken, and callers learn of what they have missed. */
#include "wires.h"

enum { LIST_MS = 1000, FIRST_MS = 10000 }; /* the defaults of the mounts */

/* Two servers, "up" and "slow". The messages of `slow` are delivered only while it is not frozen. */
typedef struct rig {
    wires up, slow;
    bool frozen;
    size_t page_size;
} rig;

static char log_text[1 << 16];

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "called");
}

static void add_tool(mcp_server *server, const char *name)
{
    mcp_server_add_tool(server, MCP_OPTIONS(mcp_tool, .name = name, .call = call), NULL, NULL);
}

static mcp_server *other_new(size_t page_size)
{
    mcp_server *s;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                                .coalesce_ms = 1, .page_size = page_size),
                                    &s, NULL),
                     MCP_OK);
    add_tool(s, "a");
    add_tool(s, "b");
    mcp_server_add_resource(
        s, MCP_OPTIONS(mcp_resource, .uri = "x:/r", .name = "r", .text = "text"), NULL, NULL);
    return s;
}

static void run(rig *r)
{
    for (int i = 0; i < 4; i++) {
        wires_run(&r->up);
        r->slow.now = r->up.now;
        if (!r->frozen)
            wires_run(&r->slow);
    }
}

static int mount_slow(mcp_server *server, void *user, mcp_error *error)
{
    rig *r = user;
    return mcp_upstream_mount(
        server,
        MCP_OPTIONS(mcp_upstream_options, .name = "slow", .connect = wires_connect,
                    .disconnect = wires_disconnect, .user = &r->slow, .revision = r->up.revision,
                    .idle_ms = 600000, .group = &r->up.group, .allocator = &r->up.allocator),
        error);
}

static int mount_both(mcp_server *server, void *user, mcp_error *error)
{
    rig *r = user;
    int rc = wires_mount(server, &r->up, error);
    return rc == MCP_OK ? mount_slow(server, r, error) : rc;
}

static bool open_rig(rig *r, const char *revision)
{
    mcp_server *up = r->up.other, *slow = r->slow.other;
    r->up.revision = revision;
    r->up.log = log_text;
    r->up.log_room = sizeof(log_text);
    r->slow = (wires){.other = slow, .last = &r->slow.first};
    return wires_open(&r->up, up) == MCP_OK && mount_slow(r->up.front, r, NULL) == MCP_OK;
}

/* Connects a peer that is told of changes. */
static void greet(rig *r, const char *principal)
{
    assert_int_equal(wires_peer(&r->up, r->up.front, principal), MCP_OK);
    wires_say(&r->up, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                      "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                      "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    wires_say(&r->up, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    run(r);
}

static void open_all(rig *r, const char *revision)
{
    mcp_server *up = other_new(r->page_size), *slow = other_new(r->page_size);
    *r = (rig){.up.other = up, .slow.other = slow};
    assert_true(open_rig(r, revision));
    greet(r, "ann");
}

static void close_all(rig *r)
{
    mcp_server *up = r->up.other, *slow = r->slow.other;
    wires_close(&r->up);
    assert_null(r->slow.open);
    assert_null(r->slow.first);
    mcp_server_free(up);
    mcp_server_free(slow);
}

/* Sends what the clients of the front server have queued. */
static void tick(const wires *all)
{
    for (wire *w = all->open; w; w = w->next) {
        if (w->here)
            mcp_channel_tick(w->here, all->now);
    }
}

static void send(rig *r, const char *message)
{
    free(r->up.reply);
    r->up.reply = NULL;
    r->up.log_len = 0;
    log_text[0] = 0;
    mcp_channel_receive(r->up.peer, 0, mcp_str_from(message), r->up.now);
    tick(&r->up);
    tick(&r->slow);
}

#define LIST(what) "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"" what "/list\"}"
#define MODERN(what, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"" what "/list\",\"params\":{" params WIRES_META "}}"

static const char *say(rig *r, const char *message)
{
    send(r, message);
    run(r);
    return r->up.reply ? r->up.reply : "";
}

/* Lets the time go on, and the timers fire that are due. */
static const char *wait_for(rig *r, int64_t ms)
{
    r->up.now += ms;
    for (wire_timer *t = r->up.timers; t < r->up.timers + WIRE_TIMERS; t++) {
        void (*fn)(void *arg) = t->fn;
        if (fn && t->due <= r->up.now) {
            t->fn = NULL;
            fn(t->arg);
        }
    }
    run(r);
    return r->up.reply ? r->up.reply : "";
}

static void has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("%s in\n%s", part, text);
}

static const char *const revisions[] = {NULL, "2026-07-28", "2025-11-25", "2024-11-05"};
enum { REVISIONS = sizeof(revisions) / sizeof(revisions[0]) };

/* All servers are asked before the first one has answered. */
static void test_together(void **state)
{
    (void)state;
    static rig r;
    for (size_t i = 0; i < REVISIONS; i++) {
        open_all(&r, revisions[i]);
        say(&r, LIST("tools"));
        r.up.sent[0] = r.slow.sent[0] = 0;
        send(&r, LIST("tools"));
        wires_has(r.up.sent, "tools/list");
        wires_has(r.slow.sent, "tools/list");
        r.slow.sent[0] = 0;
        run(&r);
        wires_has(r.up.reply, "\"up_a\"");
        wires_has(strstr(r.up.reply, "\"up_b\""), "\"slow_a\"");
        assert_string_equal(r.slow.sent, ""); /* it was asked once */
        close_all(&r);
    }
}

/* The last list of a slow server is listed. A notification follows only if it has changed. */
static void test_slow(void **state)
{
    (void)state;
    static rig r;
    for (size_t i = 0; i < REVISIONS; i++) {
        open_all(&r, revisions[i]);
        say(&r, LIST("tools"));
        for (int changes = 0; changes < 2; changes++) {
            r.frozen = true;
            assert_string_equal(say(&r, MODERN("tools", "")), "");
            const char *reply = wait_for(&r, LIST_MS);
            wires_has(reply, "\"up_a\"");
            wires_has(reply, "\"slow_b\"");
            wires_has(reply, "\"ttlMs\":0,\"cacheScope\":\"private\"");
            if (changes)
                add_tool(r.slow.other, "c");
            r.up.log_len = 0;
            log_text[0] = 0;
            r.frozen = false;
            run(&r);
            if (changes)
                wires_has(log_text, "notifications/tools/list_changed");
            else
                assert_string_equal(log_text, "");
        }
        wires_has(say(&r, LIST("tools")), "\"slow_c\"");
        close_all(&r);
    }
}

/* A server that has never answered is left out, until it has answered. */
static void test_never(void **state)
{
    (void)state;
    static rig r;
    for (size_t i = 0; i < REVISIONS; i++) {
        open_all(&r, revisions[i]);
        r.frozen = true;
        assert_string_equal(say(&r, LIST("tools")), "");
        assert_string_equal(wait_for(&r, LIST_MS), "");
        wires_has(wait_for(&r, FIRST_MS), "\"up_a\"");
        has_not(r.up.reply, "slow_");
        wires_has(say(&r, LIST("tools")), "\"up_a\""); /* it does not wait again */
        has_not(r.up.reply, "slow_");
        r.up.log_len = 0;
        r.frozen = false;
        run(&r);
        wires_has(log_text, "notifications/tools/list_changed");
        wires_has(say(&r, LIST("tools")), "\"slow_a\"");
        close_all(&r);
    }
}

/* While an answer is overdue, the other server is not asked again, and nobody waits for it. */
static void test_overdue(void **state)
{
    (void)state;
    static rig r;
    open_all(&r, NULL);
    say(&r, LIST("tools"));
    r.frozen = true;
    say(&r, LIST("tools"));
    wires_has(wait_for(&r, LIST_MS), "\"slow_a\"");
    r.slow.sent[0] = 0;
    for (int i = 0; i < 50; i++)
        wires_has(say(&r, LIST("tools")), "\"slow_a\"");
    assert_string_equal(r.slow.sent, "");
    send(&r, LIST("resources")); /* another list is asked for */
    wires_has(r.slow.sent, "resources/list");
    run(&r);
    assert_null(r.up.reply);
    wires_has(wait_for(&r, FIRST_MS), "mcp+up:x:/r");
    r.frozen = false;
    run(&r);
    close_all(&r);
}

/* The last list of a server that cannot be reached is listed at once. It belongs to one principal. */
static void test_dead(void **state)
{
    (void)state;
    static rig r;
    open_all(&r, NULL);
    say(&r, LIST("tools"));
    r.slow.down = true;
    wires_cut(r.slow.open);
    wires_has(say(&r, LIST("tools")), "\"slow_a\"");
    wires_has(say(&r, MODERN("tools", "")), "\"ttlMs\":0");
    greet(&r, "bob");
    wires_has(say(&r, LIST("tools")), "\"up_a\"");
    has_not(r.up.reply, "slow_");
    greet(&r, NULL);
    wires_has(say(&r, LIST("tools")), "\"up_a\"");
    has_not(r.up.reply, "slow_");
    r.slow.down = false;
    wires_has(say(&r, LIST("tools")), "\"slow_a\"");
    close_all(&r);
}

/* Reads the cursor of the next page. */
static bool next_page(const rig *r, char *message, size_t room)
{
    const char *at = strstr(r->up.reply, "\"nextCursor\":\"");
    if (!at)
        return false;
    at += strlen("\"nextCursor\":\"");
    snprintf(
        message, room,
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{\"cursor\":\"%.*s\"}}",
        (int)strcspn(at, "\""), at);
    return true;
}

static size_t count_pages(rig *r, const char *last)
{
    char message[2048];
    size_t n = 1;
    for (say(r, LIST("tools")); next_page(r, message, sizeof(message)); n++)
        wires_has(say(r, message), "\"result\"");
    wires_has(r->up.reply, last);
    return n;
}

/* All pages of the last list are listed, unless its first page has changed since. */
static void test_pages(void **state)
{
    (void)state;
    static rig r = {.page_size = 1};
    char message[2048];
    open_all(&r, NULL);
    size_t n = count_pages(&r, "\"slow_b\"");
    assert_int_equal(n, 3); /* up_a; up_b and slow_a; slow_b */
    r.slow.down = true;
    wires_cut(r.slow.open);
    assert_int_equal(count_pages(&r, "\"slow_b\""), n);
    r.slow.down = false;
    mcp_server_remove_tool(r.slow.other, "a");
    assert_int_equal(count_pages(&r, "\"slow_b\""), n - 1);
    add_tool(r.slow.other, "c");
    say(&r, LIST("tools"));
    while (!strstr(r.up.reply, "\"slow_b\"") && next_page(&r, message, sizeof(message)))
        say(&r, message);
    r.slow.down = true;
    wires_cut(r.slow.open);
    assert_true(next_page(&r, message, sizeof(message)));
    wires_has(say(&r, message), "\"tools\":[]"); /* this page was never read */
    close_all(&r);
}

static int fails(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)req, (void)cursor, (void)max, (void)user;
    return MCP_ENOMEM; /* without memory, a list of this library is an error */
}

/* An error of one server does not fail the list. */
static void test_error(void **state)
{
    (void)state;
    static rig r;
    static const mcp_provider broken = {.size = sizeof(broken), .name = "m", .list = fails};
    open_all(&r, NULL);
    assert_int_equal(mcp_server_mount(r.slow.other, "m:", &broken, NULL, NULL), MCP_OK);
    wires_has(say(&r, LIST("resources")), "mcp+up:x:/r");
    wires_has(r.up.reply, "{\"uri\":\"mcp+slow:\",\"name\":\"mcp+slow\",\"description\":");
    has_not(r.up.reply, "mcp+slow:x:/r");
    close_all(&r);
}

/* A request that ends while other servers have begun to work for it. */
static void test_cancelled(void **state)
{
    (void)state;
    static rig r;
    for (int frozen = 0; frozen < 2; frozen++) {
        open_all(&r, NULL);
        say(&r, LIST("tools"));
        send(&r, LIST("tools"));
        if (!frozen) /* `slow` answers before `up` */
            wires_run(&r.slow);
        r.frozen = frozen;
        assert_null(r.up.reply);
        say(&r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                "\"requestId\":2}}");
        assert_null(r.up.reply);
        assert_int_equal(r.up.cancels, 1);
        r.frozen = false;
        run(&r);
        wires_has(say(&r, LIST("tools")), "\"slow_a\"");
        send(&r, LIST("tools"));
        mcp_channel_free(r.up.peer);
        r.up.peer = NULL;
        if (!frozen)
            run(&r);
        for (wire *w = r.slow.open; frozen && w; w = w->next)
            wires_cut(w);
        close_all(&r);
    }
}

static int said;

static void count_said(const char *level, const char *line, void *user)
{
    (void)level, (void)user;
    said += strstr(line, "mcp:slow: ") && strstr(line, "lists have its last entries");
}

/* However many lists are made while a server is slow, the log says so once a minute. */
static void test_said(void **state)
{
    (void)state;
    static rig r;
    mcp_server *up = other_new(0), *slow = other_new(0);
    r = (rig){.up.other = up, .slow.other = slow, .up.host_log = count_said};
    assert_true(open_rig(&r, NULL));
    greet(&r, "ann");
    say(&r, LIST("tools"));
    r.frozen = true;
    for (int minute = 0; minute < 3; minute++) {
        said = 0;
        say(&r, LIST("tools"));
        wires_has(wait_for(&r, LIST_MS), "\"slow_a\"");
        for (int i = 0; i < 50; i++)
            wires_has(say(&r, LIST("tools")), "\"slow_a\"");
        assert_int_equal(said, 1);
        wait_for(&r, 60000);
    }
    r.frozen = false;
    run(&r);
    close_all(&r);
}

/* The servers are mounted again: what was listed last is kept, and a list that is being made goes
 * on. */
static void test_reload(void **state)
{
    (void)state;
    static rig r;
    for (int during = 0; during < 2; during++) {
        mcp_server *up = other_new(0), *slow = other_new(0);
        r = (rig){.up.other = up, .slow.other = slow, .up.rebuilt = true};
        r.up.log = log_text;
        r.up.log_room = sizeof(log_text);
        r.slow.last = &r.slow.first;
        assert_int_equal(wires_open(&r.up, up), MCP_OK);
        assert_int_equal(mcp_server_rebuild(r.up.front, mount_both, &r, NULL), MCP_OK);
        greet(&r, "ann");
        say(&r, LIST("tools"));
        r.frozen = true;
        if (during)
            send(&r, LIST("tools"));
        assert_int_equal(mcp_server_rebuild(r.up.front, mount_both, &r, NULL), MCP_OK);
        if (!during)
            send(&r, LIST("tools"));
        run(&r);
        wires_has(wait_for(&r, LIST_MS), "\"slow_a\"");
        wires_has(r.up.reply, "\"up_a\"");
        r.frozen = false;
        run(&r);
        wires_has(say(&r, LIST("tools")), "\"slow_a\"");
        close_all(&r);
    }
}

/* Many principals list: what is kept does not grow without limit, and the latest is kept. */
static void test_memory(void **state)
{
    (void)state;
    static rig r;
    static char long_text[100000];
    char name[32];
    open_all(&r, NULL);
    memset(long_text, 'x', sizeof(long_text) - 1);
    mcp_server_add_tool(
        r.slow.other, MCP_OPTIONS(mcp_tool, .name = "long", .description = long_text, .call = call),
        NULL, NULL);
    r.up.log = NULL;
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        assert_int_equal(wires_peer(&r.up, r.up.front, name), MCP_OK);
        wires_has(say(&r, MODERN("tools", "")), "slow_long");
    }
    r.slow.down = true;
    for (wire *w = r.slow.open; w; w = w->next)
        wires_cut(w);
    for (int i = 0; i < 60; i += 59) {
        snprintf(name, sizeof(name), "p%d", i);
        assert_int_equal(wires_peer(&r.up, r.up.front, name), MCP_OK);
        assert_int_equal(strstr(say(&r, MODERN("tools", "")), "slow_long") != NULL, i > 0);
    }
    close_all(&r);
}

/* The lists of a single principal take too much: the one that was used least recently is forgotten. */
static void test_memory_of_one(void **state)
{
    (void)state;
    static rig r;
    static char text[900000];
    open_all(&r, NULL);
    memset(text, 'x', sizeof(text) - 1);
    mcp_server_add_tool(r.slow.other,
                        MCP_OPTIONS(mcp_tool, .name = "long", .description = text, .call = call),
                        NULL, NULL);
    mcp_server_add_prompt(r.slow.other,
                          MCP_OPTIONS(mcp_prompt, .name = "long", .description = text, .get = call),
                          NULL, NULL);
    mcp_server_add_resource(r.slow.other,
                            MCP_OPTIONS(mcp_resource, .uri = "x:/long", .name = "long",
                                        .description = text, .text = "text"),
                            NULL, NULL);
    r.up.log = NULL;
    wires_has(say(&r, LIST("prompts")), "slow_long");
    wires_has(say(&r, LIST("tools")), "slow_long");
    wires_has(say(&r, LIST("resources")), "x:/long");
    r.slow.down = true;
    wires_cut(r.slow.open);
    has_not(say(&r, LIST("prompts")), "slow_long");
    wires_has(say(&r, LIST("tools")), "slow_long");
    wires_has(say(&r, LIST("resources")), "x:/long");
    close_all(&r);
}

static void use_all(rig *r)
{
    if (wires_peer(&r->up, r->up.front, "ann") != MCP_OK)
        return;
    say(r, MODERN("tools", ""));
    send(r, MODERN("tools", ""));
    wires_run(&r->slow); /* an early answer */
    run(r);
    r->frozen = true;
    say(r, MODERN("tools", ""));
    wait_for(r, FIRST_MS);
    say(r, MODERN("tools", ""));
    r->frozen = false;
    run(r);
}

static void test_no_memory(void **state)
{
    (void)state;
    static rig r;
    mcp_server *up = other_new(0), *slow = other_new(0);
    for (size_t at = 1; at < 6000; at++) {
        r = (rig){.up.memory.fail_at = at, .up.other = up, .slow.other = slow};
        bool opened = open_rig(&r, NULL);
        if (opened)
            use_all(&r);
        bool through = r.up.memory.calls < at;
        wires_close(&r.up);
        if (opened && through) {
            mcp_server_free(up);
            mcp_server_free(slow);
            return;
        }
    }
    fail();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_together),  cmocka_unit_test(test_slow),
        cmocka_unit_test(test_never),     cmocka_unit_test(test_overdue),
        cmocka_unit_test(test_said),      cmocka_unit_test(test_dead),
        cmocka_unit_test(test_pages),     cmocka_unit_test(test_error),
        cmocka_unit_test(test_cancelled), cmocka_unit_test(test_reload),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_memory_of_one),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("upstream: lists", tests, NULL, NULL);
}
