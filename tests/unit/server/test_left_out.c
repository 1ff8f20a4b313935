/* Providers that cannot be listed: a list is what can be listed, says what is missing, and is announced
 * when the provider can be listed again.
 */
#include "rig.h"

#define LIST(what, more) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" what "\",\"params\":{" more RIG_META "}}"
#define ENTRY(uri, name)                                                                         \
    "{\"uri\":\"" uri "\",\"name\":\"" name "\",\"description\":\"This source cannot be listed " \
    "now. Reading this resource says why.\"}"
#define WITHOUT(prefixes) "\"libmcp/left-out\":[" prefixes "]"
#define ONE(uri)          "{\"uri\":\"" uri "\",\"name\":\"n\"}"

struct mcp_host_timer {
    void (*fn)(void *arg);
    void *arg;
    int64_t due; /* INT64_MAX after it fired */
    mcp_host_timer *next;
};

enum { FAIL, KEEP, FLOOD, CODE, PART };

/* A provider of three resources, one on each page. */
typedef struct source {
    const char *prefix;
    int fails_at; /* the page that fails; -1 if none */
    int how;      /* FAIL and the others */
    size_t asked;
} source;

static rig r;
static mcp_channel *channel;
static mcp_host_timer *timers;
static char log_text[4096];
static source a, b;
static const char *denied; /* the principal that may not see "a:" */

static int64_t host_now(void *user)
{
    (void)user;
    return r.now;
}

static mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *arg), void *arg, void *user)
{
    mcp_host_timer *timer = malloc(sizeof(*timer));
    (void)user;
    *timer = (mcp_host_timer){fn, arg, r.now + (int64_t)ms, timers};
    timers = timer;
    return timer;
}

static void timer_stop(mcp_host_timer *timer, void *user)
{
    mcp_host_timer **at = &timers;
    (void)user;
    while (*at != timer)
        at = &(*at)->next;
    *at = timer->next;
    free(timer);
}

static void on_log(const char *level, const char *line, void *user)
{
    size_t len = strlen(log_text);
    (void)user;
    snprintf(log_text + len, sizeof(log_text) - len, "%s: %s\n", level, line);
}

static const char *logged(void)
{
    static char text[sizeof(log_text)];
    memcpy(text, log_text, sizeof(text));
    log_text[0] = 0;
    return text;
}

/* Lets the time pass, in steps of 100 ms. */
static void wait_ms(int64_t ms)
{
    for (int64_t end = r.now + ms; r.now < end;) {
        r.now += 100;
        for (mcp_host_timer *t = timers; t; t = t->next) {
            if (t->due > r.now)
                continue;
            t->due = INT64_MAX;
            t->fn(t->arg);
            t = timers;
            if (!t)
                break;
        }
        mcp_channel_tick(channel, r.now);
    }
}

static int fail_list(source *s, mcp_request *req)
{
    static char big[4096];
    switch (s->how) {
    case FAIL: return mcp_reply_fail(req, -32603, "The disk of %s is broken", s->prefix);
    case KEEP: return rig_keep(&r, req);
    case CODE: return MCP_EIO;
    case PART:
        assert_int_equal(mcp_reply_without(req, NULL, "part"), MCP_EINVAL);
        assert_int_equal(mcp_reply_without(req, "a:part", NULL), MCP_EINVAL);
        return mcp_reply_without(req, "a:part", "part");
    case FLOOD:
        memset(big, 'x', sizeof(big) - 1);
        return mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = "a:big", .name = big));
    }
    return MCP_OK;
}

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    source *s = user;
    int page = cursor.len ? *cursor.ptr - '0' : 0;
    char uri[20], next = (char)('1' + page);
    (void)max;
    s->asked++;
    snprintf(uri, sizeof(uri), "%s%d", s->prefix, page);
    int rc = mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = "n"));
    if (rc == MCP_OK && page == s->fails_at)
        rc = fail_list(s, req);
    bool is_last = page == 2 || (page == s->fails_at && s->how != PART);
    return rc == MCP_OK && !is_last ? mcp_reply_next(req, (mcp_str){&next, 1}) : rc;
}

static int list_items(mcp_request *req, mcp_item item, mcp_str cursor, size_t max, void *user)
{
    source *s = user;
    (void)item, (void)cursor, (void)max;
    s->asked++;
    return s->fails_at == 0 ? fail_list(s, req) : MCP_OK;
}

static bool gone; /* there is nothing to read */

static int read_one(mcp_request *req, mcp_str uri, void *user)
{
    (void)uri, (void)user;
    if (gone)
        return MCP_ENOTFOUND;
    return mcp_reply_text(req, "read");
}

static bool may(const mcp_identity *who, mcp_item item, mcp_str name, void *user)
{
    const char *principal = mcp_identity_principal(who);
    (void)item, (void)user;
    return !principal || strcmp(principal, denied) != 0 || name.ptr[0] != 'a';
}

static void mount(source *s, const char *prefix, bool tools)
{
    const mcp_provider provider = {.size = sizeof(provider),
                                   .name = "/a/secret/path",
                                   .list = list,
                                   .list_items = tools ? list_items : NULL,
                                   .items = tools ? 1u << MCP_ITEM_TOOL : 0,
                                   .read = read_one};
    *s = (source){.prefix = prefix, .fails_at = -1};
    assert_int_equal(mcp_server_mount(r.server, prefix, &provider, s, NULL), MCP_OK);
}

static void open_server(void)
{
    const mcp_host host = {.size = sizeof(host),
                           .now = host_now,
                           .timer_start = timer_start,
                           .timer_stop = timer_stop,
                           .log = on_log};
    r = (rig){0};
    denied = NULL;
    log_text[0] = 0;
    assert_int_equal(
        rig_open(&r, &(mcp_server_options){.host = &host, .list_ms = 500, .coalesce_ms = 1},
                 rig_ok),
        MCP_OK);
    mount(&a, "a:", true);
    mount(&b, "b:", false);
}

static void connect_peer(const char *principal)
{
    assert_int_equal(rig_connect(&r, principal, NULL, &channel), MCP_OK);
}

static void begin(void)
{
    open_server();
    connect_peer(NULL);
    rig_say(&r, channel,
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
            "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\","
            "\"version\":\"1\"}}}");
    rig_say(&r, channel, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    rig_sent(&r);
}

static void end(void)
{
    mcp_channel_free(channel);
    rig_close(&r);
    assert_null(timers);
}

static const char *ask(const char *message)
{
    rig_say(&r, channel, message);
    return rig_sent(&r);
}

/* Asks for all pages, and returns them. */
static const char *ask_all(void)
{
    static char all[32 * 1024];
    char message[600];
    const char *answer = ask(LIST("resources/list", ""));
    size_t len = 0;
    for (;;) {
        assert_true(len + strlen(answer) < sizeof(all));
        memcpy(all + len, answer, strlen(answer) + 1);
        len += strlen(answer);
        const char *next = strstr(answer, "\"nextCursor\":");
        if (!next)
            return all;
        snprintf(message, sizeof(message), LIST("resources/list", "\"cursor\":%.*s,"),
                 (int)strcspn(next + 13, ",}"), next + 13);
        answer = ask(message);
    }
}

static void has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" is in: %s", part, text);
}

static uint64_t left_out;

static void take_usage(const mcp_usage *usage, void *user)
{
    (void)user;
    if (mcp_str_eq(usage->name, MCP_STR("a:")))
        left_out = usage->left_out;
}

/* ---- what is listed -------------------------------------------------------------------------- */

static void test_each_page(void **state)
{
    (void)state;
    for (int how = FAIL; how <= CODE; how++) {
        for (int page = 0; how != KEEP && page < 3; page++) {
            open_server();
            assert_int_equal(mcp_server_connect(r.server,
                                                MCP_OPTIONS(mcp_channel_options, .send = rig_send,
                                                            .user = &r, .max_reply = 3000),
                                                &channel, NULL),
                             MCP_OK);
            a.fails_at = page;
            a.how = how;
            const char *all = ask_all();
            assert_has(all, ENTRY("a:", "a"));
            assert_has(all, "\"ttlMs\":0");
            assert_has(all, WITHOUT("\"a:\""));
            assert_has(all, ONE("b:0"));
            assert_has(all, ONE("b:2"));
            has_not(all, "error");
            has_not(all, "secret");
            has_not(all, page == 0 ? ONE("a:0") : page == 1 ? ONE("a:1") : ONE("a:2"));
            if (page)
                assert_has(all, ONE("a:0"));
            assert_has(logged(), how == FAIL
                                     ? "warning: a:: lists of resources are without it: The "
                                       "disk of a: is broken"
                                 : how == CODE ? "input or output failed"
                                               : "larger than max_reply");
            ask_all();
            assert_string_equal(logged(), ""); /* said once */
            mcp_server_usage(r.server, NULL, MCP_USAGE_SOURCE, take_usage, NULL);
            assert_int_equal(left_out, 2);
            end();
        }
    }
}

/* A part of a provider is missing: its other entries are there, it has logged that itself, and it is not
 * asked again. */
static void test_part(void **state)
{
    (void)state;
    for (int page = 0; page < 3; page++) {
        open_server();
        denied = "eve";
        mcp_server_set_access(r.server, MCP_OPTIONS(mcp_access, .may = may));
        connect_peer(NULL);
        a.fails_at = page;
        a.how = PART;
        const char *all = ask_all();
        assert_has(all, ENTRY("a:part", "part"));
        assert_has(all, "\"ttlMs\":0");
        assert_has(all, WITHOUT("\"a:part\""));
        assert_has(all, ONE("a:0"));
        assert_has(all, ONE("a:2"));
        assert_has(all, ONE("b:2"));
        assert_has(ask(LIST("resources/read", "\"uri\":\"a:part\",")), "\"text\":\"read\"");
        mcp_server_usage(r.server, NULL, MCP_USAGE_SOURCE, take_usage, NULL);
        assert_int_equal(left_out, 1);
        assert_string_equal(logged(), "");
        size_t asked = a.asked;
        wait_ms(100000);
        assert_int_equal(a.asked, asked);
        mcp_channel_free(channel);
        connect_peer("eve");
        all = ask_all();
        has_not(all, "a:part");
        has_not(all, "left-out");
        end();
    }
}

/* Tools have no entry. Reading the entry of a provider of tools says what is wrong. */
static void test_tools_and_read(void **state)
{
    (void)state;
    begin();
    a.fails_at = 0;
    const char *text = ask(LIST("tools/list", ""));
    assert_has(text, "\"name\":\"t\"");
    assert_has(text, "\"ttlMs\":0");
    assert_has(text, WITHOUT("\"a:\""));
    has_not(text, "error");
    assert_has(logged(), "lists of tools are without it");
    assert_has(ask(LIST("resources/read", "\"uri\":\"a:\",")), "\"text\":\"read\"");
    ask(LIST("resources/list", ""));
    text = ask(LIST("resources/read", "\"uri\":\"a:\","));
    assert_has(text, "\"error\":{\"code\":-32603,\"message\":\"The disk of a: is broken\"");
    assert_has(ask(LIST("resources/read", "\"uri\":\"a:1\",")), "\"text\":\"read\"");
    end();
}

/* Reading the entry of a provider that is gone says so, and only this. */
static void test_gone(void **state)
{
    (void)state;
    begin();
    gone = true;
    assert_has(ask(LIST("resources/read", "\"uri\":\"b:\",")), "Resource not found");
    b.fails_at = 0;
    ask_all();
    assert_has(ask(LIST("resources/read", "\"uri\":\"b:\",")), "The disk of b: is broken");
    assert_has(ask(LIST("resources/read", "\"uri\":\"b:1\",")), "Resource not found");
    gone = false;
    assert_has(ask(LIST("resources/read", "\"uri\":\"b:\",")), "\"text\":\"read\"");
    end();
}

static void test_who_sees_it(void **state)
{
    (void)state;
    open_server();
    denied = "eve";
    mcp_server_set_access(r.server, MCP_OPTIONS(mcp_access, .may = may));
    a.fails_at = 0;
    connect_peer("eve");
    const char *all = ask_all();
    has_not(all, "\"a:\"");
    has_not(all, "left-out");
    has_not(ask(LIST("tools/list", "")), "left-out");
    assert_has(all, ONE("b:2"));
    mcp_channel_free(channel);
    connect_peer("adam");
    assert_has(ask_all(), ENTRY("a:", "a"));
    assert_has(ask(LIST("tools/list", "")), WITHOUT("\"a:\""));
    b.fails_at = 0;
    assert_has(ask(LIST("resources/list", "")), WITHOUT("\"a:\",\"b:\""));
    a.fails_at = b.fails_at = -1;
    has_not(ask_all(), "left-out");
    end();
}

/* A cursor that the provider refuses is still an error. */
static int refuse_cursor(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    static bool refuse;
    (void)max, (void)user;
    refuse = cursor.len > 0;
    return refuse ? MCP_EINVAL : mcp_reply_next(req, MCP_STR("x"));
}

static void test_cursor(void **state)
{
    static const mcp_provider provider = {
        .size = sizeof(provider), .name = "c", .list = refuse_cursor};
    (void)state;
    begin();
    assert_int_equal(mcp_server_mount(r.server, "c:", &provider, NULL, NULL), MCP_OK);
    assert_has(ask_all(), "\"error\":{\"code\":-32602");
    has_not(logged(), "without it");
    end();
}

/* ---- recovery -------------------------------------------------------------------------------- */

#define CHANGED "notifications/resources/list_changed"

static void test_heals(void **state)
{
    (void)state;
    for (int page = 0; page < 3; page++) {
        begin();
        a.fails_at = page;
        ask_all();
        wait_ms(100000);
        has_not(rig_sent(&r), CHANGED); /* the other pages can be listed all the time */
        assert_in_range(a.asked, 4, 20);
        logged();
        a.fails_at = -1;
        wait_ms(40000);
        assert_has(rig_sent(&r), CHANGED);
        assert_string_equal(logged(), "info: a:: lists of resources have it again\n");
        const char *all = ask_all();
        assert_has(all, ONE("a:2"));
        has_not(all, "\"ttlMs\":0");
        size_t asked = a.asked;
        wait_ms(100000);
        assert_int_equal(a.asked, asked);
        end();
    }
}

/* A list that is asked for finds it out, too. */
static void test_heals_at_once(void **state)
{
    (void)state;
    begin();
    a.fails_at = 0;
    ask_all();
    a.fails_at = -1;
    assert_has(ask_all(), ONE("a:2"));
    wait_ms(200);
    assert_has(rig_sent(&r), CHANGED);
    end();
}

/* Another caller for whom the provider works does not end it, or each list would announce another. */
static void test_of_each_caller(void **state)
{
    mcp_channel *other = NULL, *first;
    (void)state;
    begin();
    first = channel;
    a.fails_at = 0;
    ask_all();
    a.fails_at = -1;
    assert_int_equal(rig_connect(&r, "other", NULL, &other), MCP_OK);
    channel = other;
    assert_has(ask_all(), ONE("a:2"));
    channel = first;
    a.fails_at = 0;
    wait_ms(500);
    has_not(rig_sent(&r), CHANGED);
    mcp_channel_free(other);
    end();
}

/* ---- providers that do not answer ------------------------------------------------------------ */

static void test_late(void **state)
{
    (void)state;
    begin();
    a.fails_at = 0;
    a.how = KEEP;
    assert_string_equal(ask(LIST("resources/list", "")), "");
    wait_ms(400);
    assert_string_equal(rig_sent(&r), "");
    wait_ms(100);
    const char *text = rig_sent(&r);
    assert_has(text, "{\"resources\":[" ENTRY("a:", "a") "],\"nextCursor\":");
    assert_has(text, "\"ttlMs\":0");
    assert_has(logged(), "did not answer within 500 ms (list_ms)");
    assert_int_equal(r.n_cancelled, 1);
    /* It is neither waited for nor asked again while it works. */
    size_t asked = a.asked;
    text = ask_all();
    assert_has(text, ENTRY("a:", "a"));
    assert_has(text, ONE("b:2"));
    wait_ms(100000);
    assert_int_equal(a.asked, asked);
    mcp_reply_finish(r.kept[0], MCP_ECANCELLED);
    wait_ms(2000); /* asked, and late again */
    assert_int_equal(a.asked, asked + 1);
    assert_string_equal(rig_sent(&r), "");
    a.fails_at = -1;
    mcp_reply_finish(r.kept[1], MCP_ECANCELLED);
    wait_ms(5000);
    assert_has(rig_sent(&r), CHANGED);
    assert_has(ask_all(), ONE("a:2"));
    end();
}

static void test_late_and_gone(void **state)
{
    (void)state;
    begin();
    a.fails_at = 0;
    a.how = KEEP;
    ask(LIST("resources/list", ""));
    wait_ms(500);
    mcp_channel_free(channel);
    mcp_reply_finish(r.kept[0], MCP_OK);
    connect_peer(NULL);
    wait_ms(1500); /* asked again; the host leaves while it is pending */
    assert_int_equal(r.n_kept, 2);
    mcp_server_set_host(r.server, NULL);
    mcp_reply_finish(r.kept[1], MCP_OK);
    end();
}

static int build(mcp_server *server, void *user, mcp_error *error)
{
    (void)server, (void)user, (void)error;
    return MCP_OK;
}

static void test_rebuilt(void **state)
{
    (void)state;
    begin();
    a.fails_at = 0;
    a.how = KEEP;
    ask(LIST("resources/list", ""));
    assert_int_equal(mcp_server_rebuild(r.server, build, NULL, NULL), MCP_OK);
    wait_ms(500);
    assert_has(rig_sent(&r), ENTRY("a:", "a"));
    mcp_reply_finish(r.kept[0], MCP_OK);
    end();
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        begin();
        a.fails_at = 0;
        r.memory.fail_at = r.memory.calls + n;
        const char *text = ask(LIST("resources/list", ""));
        bool failed = r.memory.calls >= r.memory.fail_at;
        r.memory.fail_at = 0;
        if (!strstr(text, "\"error\"") && *text)
            assert_has(text, "\"resources\":[");
        end();
        if (!failed)
            return;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_page),      cmocka_unit_test(test_part),
        cmocka_unit_test(test_tools_and_read), cmocka_unit_test(test_gone),
        cmocka_unit_test(test_who_sees_it),    cmocka_unit_test(test_cursor),
        cmocka_unit_test(test_heals),          cmocka_unit_test(test_heals_at_once),
        cmocka_unit_test(test_of_each_caller), cmocka_unit_test(test_late),
        cmocka_unit_test(test_late_and_gone),  cmocka_unit_test(test_rebuilt),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
