/* What one principal may use at all servers of a group together: requests, sessions, bytes. Each limit is
 * named in the refusal and counted, and does not concern other principals. */
#include "wires.h"

static int say(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "said");
}

static void gone(mcp_request *req, void *user)
{
    (void)user;
    mcp_reply_finish(req, MCP_ECANCELLED);
}

static int hold(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_request_on_cancel(req, gone, NULL);
    return MCP_PENDING;
}

static mcp_server *other_new(void)
{
    mcp_server *s;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                                .coalesce_ms = 1),
                                    &s, NULL),
                     MCP_OK);
    mcp_server_add_tool(s, MCP_OPTIONS(mcp_tool, .name = "t", .call = say), NULL, NULL);
    mcp_server_add_tool(s, MCP_OPTIONS(mcp_tool, .name = "w", .call = hold), NULL, NULL);
    return s;
}

/* Opens a front server with two servers, "one" and "two", in one group. */
static void open_two(wires *w, bool shared)
{
    static const char *const names[] = {"one", "two"};
    mcp_error error;
    assert_int_equal(wires_open(w, other_new()), MCP_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(
            mcp_upstream_mount(w->front,
                               MCP_OPTIONS(mcp_upstream_options, .name = names[i],
                                           .connect = wires_connect, .disconnect = wires_disconnect,
                                           .user = w, .max_sessions = 8, .idle_ms = 1000,
                                           .shared = shared, .group = &w->group,
                                           .allocator = &w->allocator),
                               &error),
            MCP_OK);
    assert_int_equal(wires_peer(w, w->front, "ann"), MCP_OK);
}

static void close_two(wires *w)
{
    mcp_server *other = w->other;
    wires_close(w);
    mcp_server_free(other);
}

/* Calls a tool. Returns the answer, or "". */
static const char *call(wires *w, const char *params)
{
    char message[1024];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{%s," WIRES_META
             "}}",
             ++w->id, params);
    return wires_say(w, message);
}

static void begin(wires *w, const char *params)
{
    assert_string_equal(call(w, params), "");
}

static void is_said(wires *w, const char *params)
{
    wires_has(call(w, params), "\"text\":\"said\"");
}

static void is_refused(wires *w, const char *params, const char *limit)
{
    const char *reply = call(w, params);
    wires_has(reply, "try again later");
    wires_has(reply, limit);
}

static void add(const mcp_upstream_state *state, void *user)
{
    uint64_t *sums = user;
    for (size_t i = 0; i < MCP_UPSTREAM_LIMITS; i++)
        sums[i] += state->limited[i];
}

/* Checks how often each limit refused something. */
static void is_counted(const wires *w, mcp_upstream_limit limit, uint64_t n)
{
    uint64_t sums[MCP_UPSTREAM_LIMITS] = {0};
    mcp_upstream_each(&w->group, add, sums);
    for (size_t i = 0; i < MCP_UPSTREAM_LIMITS; i++)
        assert_int_equal(sums[i], i == limit ? n : 0);
}

/* Continues as another principal; the requests of the one before stay in flight. */
static mcp_channel *next_peer(wires *w, const char *principal)
{
    mcp_channel *before = w->peer;
    w->peer = NULL;
    assert_int_equal(wires_peer(w, w->front, principal), MCP_OK);
    return before;
}

static void test_calls(void **state)
{
    (void)state;
    static wires w;
    for (int shared = 0; shared < 2; shared++) {
        w = (wires){.group = {.max_calls = 2}};
        open_two(&w, shared);
        begin(&w, "\"name\":\"one_w\"");
        begin(&w, "\"name\":\"two_w\"");
        is_refused(&w, "\"name\":\"one_t\"", "(max-upstream-calls)");
        is_refused(&w, "\"name\":\"two_t\"", "(max-upstream-calls)");
        is_counted(&w, MCP_UPSTREAM_GROUP_CALLS, 2);
        mcp_channel *ann = next_peer(&w, "bob");
        is_said(&w, "\"name\":\"one_t\"");
        is_said(&w, "\"name\":\"two_t\"");
        mcp_channel_free(ann); /* cancels the calls */
        wires_run(&w);
        assert_int_equal(wires_peer(&w, w.front, "ann"), MCP_OK);
        is_said(&w, "\"name\":\"one_t\"");
        close_two(&w);
    }
}

static void test_sessions(void **state)
{
    (void)state;
    static wires w;
    w = (wires){.group = {.max_sessions = 1}};
    open_two(&w, false);
    is_said(&w, "\"name\":\"one_t\"");
    is_said(&w, "\"name\":\"two_t\""); /* the idle session with the other server has ended */
    assert_int_equal(w.connects, 2);
    wires_timers(&w, false);
    assert_non_null(w.open);
    assert_null(w.open->next);
    begin(&w, "\"name\":\"two_w\"");
    is_refused(&w, "\"name\":\"one_t\"", "(max-upstream-sessions)");
    is_counted(&w, MCP_UPSTREAM_GROUP_SESSIONS, 1);
    is_said(&w, "\"name\":\"two_t\""); /* the session that is open can be used */
    mcp_channel *ann = next_peer(&w, NULL);
    is_said(&w, "\"name\":\"one_t\"");
    mcp_channel_free(ann);
    wires_run(&w);
    close_two(&w);
    /* Shared sessions are nobody's. */
    w = (wires){.group = {.max_sessions = 1}};
    open_two(&w, true);
    begin(&w, "\"name\":\"one_w\"");
    is_said(&w, "\"name\":\"two_t\"");
    close_two(&w);
}

/* The sessions of all callers together, shared ones too. */
static void test_sessions_in_all(void **state)
{
    (void)state;
    static wires w;
    w = (wires){.group = {.max_sessions = 5, .max_sessions_in_all = 2}};
    open_two(&w, false);
    begin(&w, "\"name\":\"one_w\"");
    is_said(&w, "\"name\":\"two_t\"");
    mcp_channel *ann = next_peer(&w, "bob");
    is_said(&w, "\"name\":\"one_t\""); /* the idle session of the other caller has ended */
    assert_int_equal(w.connects, 3);
    begin(&w, "\"name\":\"one_w\"");
    is_refused(&w, "\"name\":\"two_t\"", "(max-upstream-sessions-in-all)");
    is_counted(&w, MCP_UPSTREAM_GROUP_SESSIONS_IN_ALL, 1);
    mcp_channel_free(ann);
    wires_run(&w);
    /* The session of the other caller is idle, but each of them has one. */
    is_refused(&w, "\"name\":\"two_t\"", "(max-upstream-sessions-in-all)");
    w.now += 2000;
    wires_timers(&w, false); /* it ends */
    is_said(&w, "\"name\":\"two_t\"");
    close_two(&w);
    w = (wires){.group = {.max_sessions_in_all = 1}};
    open_two(&w, true);
    begin(&w, "\"name\":\"one_w\"");
    is_refused(&w, "\"name\":\"two_t\"", "(max-upstream-sessions-in-all)");
    close_two(&w);
}

static void test_bytes(void **state)
{
    (void)state;
    static wires w;
    char big[512], held[600], more[600];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = 0;
    snprintf(held, sizeof(held), "\"name\":\"one_w\",\"arguments\":{\"a\":\"%s\"}", big);
    snprintf(more, sizeof(more), "\"name\":\"two_t\",\"arguments\":{\"a\":\"%s\"}", big);
    for (int shared = 0; shared < 2; shared++) {
        w = (wires){.group = {.max_bytes = 1000}};
        open_two(&w, shared);
        is_said(&w, more);
        is_said(&w, more); /* what a request held is free again */
        begin(&w, held);
        is_refused(&w, more, "(max-upstream-bytes)");
        is_counted(&w, MCP_UPSTREAM_GROUP_BYTES, 1);
        is_said(&w, "\"name\":\"two_t\"");
        mcp_channel *ann = next_peer(&w, "bob");
        is_said(&w, more);
        mcp_channel_free(ann);
        wires_run(&w);
        close_two(&w);
    }
}

/* Calls a tool as a client that declares the capabilities that the bits stand for: 48 sets. */
static const char *call_with(wires *w, unsigned set, const char *tool)
{
    static const char *const forms[] = {"", "\"form\":{}", "\"url\":{}", "\"form\":{},\"url\":{}"};
    static const char *const samples[] = {"\"x\":{}", "\"sampling\":{}",
                                          "\"sampling\":{\"tools\":{}}"};
    char message[1024], form[64] = "";
    if (set % 4)
        snprintf(form, sizeof(form), ",\"elicitation\":{%s}", forms[set % 4]);
    snprintf(
        message, sizeof(message),
        "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
        "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{%s%s%s%s}}}}",
        ++w->id, tool, samples[set / 4 % 3], form, set / 12 % 2 ? ",\"roots\":{}" : "",
        set / 24 % 2 ? ",\"extensions\":{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":"
                       "[\"text/html;profile=mcp-app\"]}}"
                     : "");
    return wires_say(w, message);
}

static size_t n_open(wires *w)
{
    size_t n = 0;
    wires_timers(w, false);
    for (const wire *at = w->open; at; at = at->next)
        n++;
    return n;
}

/* Opens a server with one upstream, as `ann`. */
static void open_one(wires *w, size_t most, size_t each)
{
    mcp_error error;
    assert_int_equal(wires_open(w, other_new()), MCP_OK);
    assert_int_equal(
        mcp_upstream_mount(w->front,
                           MCP_OPTIONS(mcp_upstream_options, .name = "one",
                                       .connect = wires_connect, .disconnect = wires_disconnect,
                                       .user = w, .max_sessions = most, .max_sessions_each = each,
                                       .idle_ms = 1000, .group = &w->group,
                                       .allocator = &w->allocator),
                           &error),
        MCP_OK);
    assert_int_equal(wires_peer(w, w->front, "ann"), MCP_OK);
}

/* A caller who varies the capabilities has few sessions with a server at once, by default 8. */
static void test_each(void **state)
{
    (void)state;
    static wires w;
    w = (wires){0};
    open_one(&w, 64, 0);
    for (unsigned set = 0; set < 48; set++) {
        wires_has(call_with(&w, set, "one_t"), "\"text\":\"said\"");
        assert_int_equal(n_open(&w), set < 8 ? set + 1 : 8);
    }
    assert_int_equal(w.connects, 48);
    close_two(&w);
    /* Sessions that are in use do not end. */
    w = (wires){0};
    open_one(&w, 64, 3);
    for (unsigned set = 0; set < 3; set++)
        assert_string_equal(call_with(&w, set, "one_w"), "");
    const char *reply = call_with(&w, 3, "one_t");
    wires_has(reply,
              "too many sessions of this caller are open (max_sessions_each): try again later");
    is_counted(&w, MCP_UPSTREAM_MAX_SESSIONS_EACH, 1);
    wires_has(call_with(&w, 2, "one_t"), "\"text\":\"said\"");
    mcp_channel *ann = next_peer(&w, "bob");
    wires_has(call_with(&w, 3, "one_t"), "\"text\":\"said\"");
    assert_int_equal(n_open(&w), 4);
    mcp_channel_free(ann);
    wires_run(&w);
    close_two(&w);
}

/* Callers who fill max_sessions end their own sessions, and not those of callers who have fewer. */
static void test_fair(void **state)
{
    (void)state;
    static wires w;
    w = (wires){0};
    open_one(&w, 4, 100);
    mcp_channel *ann = next_peer(&w, "bob");
    wires_has(call_with(&w, 0, "one_t"), "\"text\":\"said\"");
    mcp_channel *bob = w.peer;
    for (unsigned round = 0; round < 3; round++) {
        w.peer = ann;
        for (unsigned set = 0; set < 10; set++) {
            w.now++;
            wires_has(call_with(&w, set, "one_t"), "\"text\":\"said\"");
            assert_in_range(n_open(&w), 1, 4);
        }
        size_t connects = w.connects;
        w.peer = bob;
        wires_has(call_with(&w, 0, "one_t"), "\"text\":\"said\"");
        assert_int_equal(w.connects, connects); /* it is the same session */
    }
    /* A second one of bob takes the place of one of ann, who still has as many; a third one does not. */
    size_t connects = w.connects;
    wires_has(call_with(&w, 1, "one_t"), "\"text\":\"said\"");
    wires_has(call_with(&w, 0, "one_t"), "\"text\":\"said\"");
    assert_int_equal(w.connects, connects + 1);
    wires_has(call_with(&w, 2, "one_t"), "\"text\":\"said\"");
    wires_has(call_with(&w, 1, "one_t"), "\"text\":\"said\"");
    assert_int_equal(w.connects, connects + 3); /* the third one ended the second one */
    w.peer = ann;
    wires_has(call_with(&w, 9, "one_t"), "\"text\":\"said\"");
    wires_has(call_with(&w, 8, "one_t"), "\"text\":\"said\"");
    assert_int_equal(w.connects, connects + 3);
    mcp_channel_free(bob);
    close_two(&w);
}

static int say_much(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    for (size_t i = 0; i < 200; i++)
        mcp_reply_text(req, "said");
    return MCP_OK;
}

/* An answer that is too large is an error that says so, or its entries are left out. What else the server
 * answers, and what other servers answer, is as before. */
static void test_answers(void **state)
{
    static const struct {
        const char *name;
        mcp_upstream_options limits;
        const char *listed,
            *said; /* by a list and by the call of "much"; NULL: as without limits */
    } rows[] = {
        {"none", {.size = 0}, NULL, NULL},
        {"max_values",
         {.max_values = 500},
         NULL,
         "JSON with more values than the limit of 500 (max_values)"},
        {"max_answer", {.max_answer = 4000}, NULL, "longer than 4000 bytes"},
        {"max_entries",
         {.max_entries = 2},
         "a page of tools/list has more than 2 entries (max_entries)",
         NULL},
    };
    static char log[1 << 16];
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        static wires w;
        mcp_error error;
        print_message("# %s\n", rows[i].name);
        w = (wires){.log = log, .log_room = sizeof(log)};
        open_two(&w, false);
        mcp_server_add_tool(w.other, MCP_OPTIONS(mcp_tool, .name = "much", .call = say_much), NULL,
                            NULL);
        mcp_upstream_options o = rows[i].limits;
        o.size = sizeof(o);
        o.name = "three", o.connect = wires_connect, o.disconnect = wires_disconnect;
        o.user = &w, o.group = &w.group, o.allocator = &w.allocator;
        assert_int_equal(mcp_upstream_mount(w.front, &o, &error), MCP_OK);
        const char *list = wires_ask(&w, "tools/list", "");
        wires_has(list, "\"two_much\"");
        if (rows[i].listed)
            assert_null(strstr(list, "\"three_t\""));
        else
            wires_has(list, "\"three_t\"");
        const char *reply = call(&w, "\"name\":\"three_much\"");
        wires_has(reply, rows[i].said ? "The server three " : "\"text\":\"said\"");
        if (rows[i].said) {
            wires_has(reply, rows[i].said);
            wires_has(reply, "Ask for less, or raise max_answer");
        }
        is_said(&w, "\"name\":\"three_t\"");
        is_said(&w, "\"name\":\"two_t\"");
        close_two(&w);
    }
}

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < MCP_UPSTREAM_LIMITS; i++)
        assert_non_null(mcp_upstream_limit_name(i));
    assert_null(mcp_upstream_limit_name(MCP_UPSTREAM_LIMITS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_sessions_in_all),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_fair),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
