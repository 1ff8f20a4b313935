/* The parts of traced requests: their ids, their parents, their times, and which requests are traced. */
#include "rig.h"

#include <mcp/trace.h>

static rig r;
static mcp_channel *peer;
static mcp_host host;
static int64_t clock_us;
static char told[4096]; /* the last trace */
static char traceparent[MCP_TRACEPARENT_ROOM];
static unsigned char id[16], first[8], parent[8];
static size_t n_traces, n_spans;

static void ended(const mcp_trace *trace, void *user)
{
    static const char *const kinds[] = {"request", "source", "call", "work"};
    const mcp_span *whole = trace->spans;
    size_t len = 0;
    assert_ptr_equal(user, &r);
    assert_int_equal(trace->size, sizeof(*trace));
    assert_int_equal(whole->kind, MCP_SPAN_REQUEST);
    memcpy(id, trace->id, sizeof(id));
    memcpy(first, whole->id, sizeof(first));
    memcpy(parent, whole->parent, sizeof(parent));
    n_traces++;
    n_spans = 0;
    told[0] = '\0';
    for (const mcp_span *s = whole; s; s = s->next, n_spans++) {
        const char *above = s == whole                         ? ""
                            : memcmp(s->parent, first, 8) == 0 ? " in it"
                                                               : " deeper";
        assert_int_equal(s->size, sizeof(*s));
        len += (size_t)snprintf(told + len, sizeof(told) - len, "%s%s%s%s %d+%d%s;", kinds[s->kind],
                                s->name ? " " : "", s->name ? s->name : "", above, (int)s->begin_us,
                                (int)s->duration_us, s->failed ? " failed" : "");
        assert_true(len < sizeof(told));
    }
}

static int64_t now_us(void *user)
{
    (void)user;
    return clock_us;
}

static int work(void (*fn)(void *arg), void (*done)(void *arg), void *arg, void *user)
{
    (void)user;
    clock_us += 5; /* it waits */
    fn(arg);
    done(arg);
    return MCP_OK;
}

static int read_rig(mcp_request *req, mcp_str uri, void *user)
{
    (void)uri;
    return ((rig *)user)->handler(user, req);
}

static int run_rig(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    (void)item, (void)name;
    return ((rig *)user)->handler(user, req);
}

static void begin(double share)
{
    static const mcp_provider plain = {.size = sizeof(plain), .name = "rig", .read = read_rig};
    static const mcp_provider other = {.size = sizeof(other),
                                       .name = "other",
                                       .run = run_rig,
                                       .items = 1u << MCP_ITEM_TOOL,
                                       .names = "far_"};
    r = (rig){.local = true};
    told[0] = '\0';
    n_traces = 0;
    clock_us = 1000;
    assert_int_equal(rig_open(&r, &(mcp_server_options){.handler_timeout_ms = 5000}, rig_ok),
                     MCP_OK);
    host = (mcp_host){.size = sizeof(host), .now_us = now_us, .work = work};
    mcp_server_set_host(r.server, &host);
    assert_int_equal(mcp_server_mount(r.server, "db:one/", &plain, &r, NULL), MCP_OK);
    assert_int_equal(mcp_server_mount(r.server, "mcp:far/", &other, &r, NULL), MCP_OK);
    assert_int_equal(mcp_server_set_trace(r.server, share, ended, &r), MCP_OK);
    assert_int_equal(rig_connect(&r, "ann", "here", &peer), MCP_OK);
}

static void end(void)
{
    mcp_channel_free(peer);
    rig_close(&r);
}

/* `members` are those of params, `meta` further ones of its _meta. */
static void ask_with(const char *method, const char *members, const char *meta)
{
    char message[1024], of_rig[] = RIG_META;
    of_rig[strlen(of_rig) - 1] = '\0';
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s%s%s%s}}}", method,
             members, *members ? "," : "", of_rig, *meta ? "," : "", meta);
    rig_say(&r, peer, message);
    rig_sent(&r);
}

static void ask(const char *method, const char *members)
{
    ask_with(method, members, "");
}

static void read_in(const char *parent_there)
{
    char meta[300];
    snprintf(meta, sizeof(meta), "\"traceparent\":\"%s\"", parent_there);
    ask_with("resources/read", "\"uri\":\"db:one/a\"", meta);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static int takes_time(rig *of, mcp_request *req)
{
    clock_us += 30;
    return rig_ok(of, req);
}

static void test_read(void **state)
{
    (void)state;
    begin(1);
    r.handler = takes_time;
    ask("resources/read", "\"uri\":\"db:one/a\"");
    assert_string_equal(told, "request 0+30;source db:one/ in it 0+30;");
    assert_memory_equal(parent, ((char[8]){0}), 8);
    ask("resources/read", "\"uri\":\"no:such\"");
    assert_string_equal(told, "request 0+0 failed;");
    ask("prompts/list", "");
    assert_string_equal(told, "request 0+0;");
    end();
}

static int fails(rig *of, mcp_request *req)
{
    (void)of;
    clock_us += 7;
    return mcp_reply_fail(req, MCP_CODE_INTERNAL, "no");
}

static void test_failure(void **state)
{
    (void)state;
    begin(1);
    r.handler = fails;
    ask("resources/read", "\"uri\":\"db:one/a\"");
    assert_string_equal(told, "request 0+7 failed;source db:one/ in it 0+7 failed;");
    end();
}

static void slow(void *user)
{
    (void)user;
    clock_us += 40;
}

static void slow_done(mcp_request *req, void *user)
{
    clock_us += 2;
    mcp_reply_finish(req, rig_ok(user, req));
}

static int works(rig *of, mcp_request *req)
{
    clock_us += 10;
    return mcp_request_work(req, slow, slow_done, of);
}

/* The time for which work waits is not part of it. */
static void test_work(void **state)
{
    (void)state;
    begin(1);
    r.handler = works;
    ask("resources/read", "\"uri\":\"db:one/a\"");
    assert_string_equal(told, "request 0+57;source db:one/ in it 0+57;work deeper 15+40;");
    end();
}

static int calls(rig *of, mcp_request *req)
{
    mcp_span *good = mcp_request_span_begin(req, MCP_SPAN_CALL, "far"), *bad;
    assert_non_null(good);
    assert_true(mcp_request_traceparent(req, good, traceparent));
    clock_us += 20;
    mcp_request_span_end(req, good, false);
    clock_us += 1;
    mcp_request_span_end(req, good, true); /* has ended */
    bad = mcp_request_span_begin(req, MCP_SPAN_CALL, "far");
    clock_us += 3;
    mcp_request_span_end(req, bad, true);
    mcp_request_span_begin(req, MCP_SPAN_CALL, "open");
    clock_us += 4;
    return rig_ok(of, req);
}

static void hex(char *to, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

static void test_call(void **state)
{
    char digits[33];
    (void)state;
    begin(1);
    r.handler = calls;
    ask("tools/call", "\"name\":\"far_away\"");
    assert_string_equal(told, "request 0+28;source mcp:far/ in it 0+28;call far deeper 0+20;"
                              "call far deeper 21+3 failed;call open deeper 24+4;");
    hex(digits, id, 16);
    assert_memory_equal(traceparent, "00-", 3);
    assert_memory_equal(traceparent + 3, digits, 32);
    assert_string_equal(traceparent + 52, "-01");
    end();
}

static int calls_often(rig *of, mcp_request *req)
{
    for (int i = 0; i < 3 * MCP_SPANS; i++) {
        mcp_span *s = mcp_request_span_begin(req, MCP_SPAN_CALL, NULL);
        mcp_request_span_end(req, s, false);
    }
    return rig_ok(of, req);
}

static void test_many(void **state)
{
    (void)state;
    begin(1);
    r.handler = calls_often;
    ask("resources/read", "\"uri\":\"db:one/a\"");
    assert_int_equal(n_spans, MCP_SPANS);
    end();
}

/* ---- the caller's trace ------------------------------------------------------------------------ */

#define PARENT "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"

static int passes_on(rig *of, mcp_request *req)
{
    mcp_request_traceparent(req, NULL, traceparent);
    return rig_ok(of, req);
}

static void test_parent(void **state)
{
    static const unsigned char theirs[] = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7};
    char digits[33];
    (void)state;
    begin(1);
    r.handler = passes_on;
    read_in(PARENT);
    hex(digits, id, 16);
    assert_string_equal(digits, "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_memory_equal(parent, theirs, 8);
    assert_memory_equal(traceparent, PARENT, 36);
    assert_memory_not_equal(traceparent + 36, &PARENT[36], 16);
    assert_string_equal(traceparent + 52, "-01"); /* ours, whatever the caller's flag */
    end();
}

/* What is no traceparent begins a trace, and is not passed on. */
static void test_invalid(void **state)
{
    static const char *const invalid[] = {
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        PARENT "0",
        "",
    };
    unsigned char before[16];
    (void)state;
    for (int share = 0; share <= 1; share++) {
        begin(share);
        r.handler = passes_on;
        for (size_t i = 0; i < sizeof(invalid) / sizeof(*invalid); i++) {
            memcpy(before, id, sizeof(id));
            read_in(invalid[i]);
            if (share) {
                assert_memory_not_equal(id, before, sizeof(id));
                assert_memory_equal(parent, ((char[8]){0}), 8);
            } else {
                assert_string_equal(traceparent, "");
            }
        }
        end();
    }
}

static void test_untraced(void **state)
{
    (void)state;
    begin(0);
    r.handler = passes_on;
    read_in(PARENT);
    assert_int_equal(n_traces, 0);
    assert_string_equal(traceparent, PARENT);
    end();
}

/* ---- which requests ------------------------------------------------------------------------------ */

static void test_share(void **state)
{
    enum { N = 4000 };
    char params[200];
    size_t n;
    (void)state;
    begin(0.25);
    r.handler = rig_ok;
    for (int i = 0; i < N; i++)
        ask("resources/read", "\"uri\":\"db:one/a\"");
    assert_in_range(n_traces, N / 5, N / 3);
    /* All requests of a trace, or none: also with the flag "sampled". */
    for (int i = 0; i < 64; i++) {
        n = n_traces;
        for (int span = 1; span <= 4; span++) {
            snprintf(params, sizeof(params),
                     "00-4bf92f3577b34da6a3ce929d0e0e%04x-00f067aa0ba9020%d-0%d", i, span,
                     span % 2);
            read_in(params);
        }
        assert_true(n_traces == n || n_traces == n + 4);
    }
    end();
}

static void test_arguments(void **state)
{
    (void)state;
    begin(1);
    assert_int_equal(mcp_server_set_trace(NULL, 1, ended, NULL), MCP_EINVAL);
    assert_int_equal(mcp_server_set_trace(r.server, -0.1, ended, NULL), MCP_EINVAL);
    assert_int_equal(mcp_server_set_trace(r.server, 1.1, ended, NULL), MCP_EINVAL);
    assert_int_equal(mcp_server_set_trace(r.server, 0.0 / 0.0, ended, NULL), MCP_EINVAL);
    assert_null(mcp_request_span_begin(NULL, MCP_SPAN_CALL, NULL));
    assert_false(mcp_request_traceparent(NULL, NULL, traceparent));
    mcp_request_span_end(NULL, NULL, true);
    assert_int_equal(mcp_server_set_trace(r.server, 1, NULL, NULL), MCP_OK);
    r.handler = rig_ok;
    ask("resources/read", "\"uri\":\"db:one/a\"");
    assert_int_equal(n_traces, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),    cmocka_unit_test(test_failure),
        cmocka_unit_test(test_work),    cmocka_unit_test(test_call),
        cmocka_unit_test(test_many),    cmocka_unit_test(test_parent),
        cmocka_unit_test(test_invalid), cmocka_unit_test(test_untraced),
        cmocka_unit_test(test_share),   cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
