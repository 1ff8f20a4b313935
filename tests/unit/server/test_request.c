/* The lifetime of a request from the handler's point of view: finished within the handler or later,
 * after a cancellation, after its channel is closed, on a worker; and invalid arguments of the
 * reply functions.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#include "support/failalloc.h"

typedef struct peer peer;
typedef int handler(peer *p, mcp_request *req);

struct peer {
    failalloc memory;
    mcp_allocator allocator;
    mcp_host host;
    mcp_server *server;
    mcp_channel *channel;
    handler *call;
    mcp_request *kept;
    size_t n_cancelled, n_done, n_worked;
    int results[32]; /* the results of the reply functions */
    void (*work)(void *arg);
    void (*done)(void *arg);
    void *arg;
    char sent[8192];
    size_t len;
};

static int call_tool(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    return ((peer *)user)->call(user, req);
}

static int get_prompt(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    return ((peer *)user)->call(user, req);
}

static int read_resource(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match;
    return ((peer *)user)->call(user, req);
}

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)channel, (void)exchange;
    assert_true(p->len + message.len + 2 < sizeof(p->sent));
    memcpy(p->sent + p->len, message.ptr, message.len);
    p->len += message.len;
    p->sent[p->len++] = '\n';
}

static void connect_peer(peer *p)
{
    const mcp_channel_options options = {
        .size = sizeof(options), .send = on_send, .user = p, .principal = "somebody"};
    assert_int_equal(mcp_server_connect(p->server, &options, &p->channel, NULL), MCP_OK);
}

static void peer_open(peer *p, handler *call, bool with_host)
{
    *p = (peer){.call = call, .host = p->host};
    p->allocator = failalloc_allocator(&p->memory);
    const mcp_server_options options = {.size = sizeof(options),
                                        .name = "s",
                                        .version = "1",
                                        .logging = true,
                                        .host = with_host ? &p->host : NULL,
                                        .allocator = &p->allocator};
    assert_int_equal(mcp_server_new(&options, &p->server, NULL), MCP_OK);
    assert_int_equal(mcp_server_add_tool(
                         p->server, MCP_OPTIONS(mcp_tool, .name = "t", .call = call_tool), p, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_add_prompt(p->server,
                                           MCP_OPTIONS(mcp_prompt, .name = "p", .get = get_prompt),
                                           p, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_add_resource(
                         p->server,
                         MCP_OPTIONS(mcp_resource, .uri = "r:", .name = "r", .read = read_resource),
                         p, NULL),
                     MCP_OK);
    connect_peer(p);
}

static void peer_free(peer *p)
{
    mcp_channel_free(p->channel);
    mcp_server_free(p->server);
    assert_int_equal(p->memory.live, 0);
}

static int ask_with(peer *p, const char *method, const char *params, const char *meta)
{
    char message[1024];
    int len = snprintf(message, sizeof(message),
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s\"_meta\":{"
                       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                       "\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}},"
                       "%s}}}",
                       method, params, *params ? "," : "", meta);
    return mcp_channel_receive(p->channel, 0, (mcp_str){message, (size_t)len}, 1000);
}

static int ask(peer *p, const char *method, const char *params)
{
    return ask_with(p, method, params, "\"progressToken\":9");
}

static int ask_tool(peer *p)
{
    return ask(p, "tools/call", "\"name\":\"t\"");
}

static void cancel(peer *p)
{
    mcp_channel_receive(p->channel, 0,
                        MCP_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                "\"params\":{\"requestId\":1}}"),
                        1001);
}

static const char *sent(peer *p)
{
    static char copy[sizeof(p->sent)];
    memcpy(copy, p->sent, p->len);
    copy[p->len] = 0;
    p->len = 0;
    return copy;
}

#define assert_has(text, part) assert_non_null(strstr((text), (part)))

/* ---- handlers -------------------------------------------------------------------------------- */

static void on_cancel(mcp_request *req, void *user)
{
    peer *p = user;
    assert_true(mcp_request_cancelled(req));
    p->n_cancelled++;
}

static int keep(peer *p, mcp_request *req)
{
    p->kept = req;
    mcp_request_on_cancel(req, on_cancel, p);
    return MCP_PENDING;
}

static int finish_at_once(peer *p, mcp_request *req)
{
    (void)p;
    mcp_reply_text(req, "at once");
    mcp_reply_finish(req, MCP_OK);
    return MCP_PENDING;
}

static int fail_at_once(peer *p, mcp_request *req)
{
    (void)p;
    mcp_reply_finish(req, mcp_reply_fail(req, 42, "at once"));
    return MCP_PENDING;
}

static void worked(void *user)
{
    ((peer *)user)->n_worked++;
}

static void work_done(mcp_request *req, void *user)
{
    peer *p = user;
    p->n_done++;
    mcp_reply_finish(req, mcp_reply_textf(req, "worked %zu", p->n_worked));
}

static int work(peer *p, mcp_request *req)
{
    return mcp_request_work(req, worked, work_done, p);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void test_later(void **state)
{
    (void)state;
    peer p = {0};
    peer_open(&p, keep, false);
    ask_tool(&p);
    assert_int_equal(mcp_channel_in_flight(p.channel), 1);
    assert_string_equal(sent(&p), "");
    assert_int_equal(mcp_reply_text(p.kept, "later"), MCP_OK);
    mcp_reply_finish(p.kept, MCP_OK);
    assert_has(sent(&p), "\"later\"");
    assert_int_equal(mcp_channel_in_flight(p.channel), 0);
    assert_int_equal(p.n_cancelled, 0);
    peer_free(&p);
}

static void test_within_the_handler(void **state)
{
    (void)state;
    peer p = {0};
    peer_open(&p, finish_at_once, false);
    ask_tool(&p);
    assert_has(sent(&p), "\"at once\"");
    assert_int_equal(mcp_channel_in_flight(p.channel), 0);
    p.call = fail_at_once;
    ask_tool(&p);
    assert_has(sent(&p), "\"error\":{\"code\":42,\"message\":\"at once\"}");
    assert_int_equal(mcp_channel_in_flight(p.channel), 0);
    peer_free(&p);
}

static void test_after_a_cancel(void **state)
{
    (void)state;
    peer p = {0};
    peer_open(&p, keep, false);
    ask_tool(&p);
    cancel(&p);
    cancel(&p);
    assert_int_equal(p.n_cancelled, 1);
    assert_true(mcp_request_cancelled(p.kept));
    /* all functions may still be called, without effect */
    assert_int_equal(mcp_reply_text(p.kept, "unheard"), MCP_OK);
    mcp_request_progress(p.kept, 1, 0, NULL);
    assert_non_null(mcp_request_alloc(p.kept, 100));
    mcp_reply_fail(p.kept, 1, "unheard");
    mcp_reply_finish(p.kept, MCP_OK);
    assert_string_equal(sent(&p), "");
    assert_int_equal(mcp_channel_in_flight(p.channel), 0);
    peer_free(&p);
}

static void test_cancel_taken_back(void **state)
{
    (void)state;
    peer p = {0};
    peer_open(&p, keep, false);
    ask_tool(&p);
    mcp_request_on_cancel(p.kept, NULL, NULL);
    cancel(&p);
    assert_int_equal(p.n_cancelled, 0);
    mcp_reply_finish(p.kept, MCP_OK);
    peer_free(&p);
}

static void test_after_the_channel(void **state)
{
    (void)state;
    static const bool closed[] = {true, false};
    for (size_t i = 0; i < 2; i++) {
        peer p = {0};
        peer_open(&p, keep, false);
        ask_tool(&p);
        mcp_reply_text(p.kept, "half of it");
        if (closed[i])
            mcp_channel_close(p.channel, 2000);
        mcp_channel_free(p.channel);
        p.channel = NULL;
        assert_int_equal(p.n_cancelled, 1);
        assert_true(mcp_request_cancelled(p.kept));
        assert_string_equal(mcp_request_method(p.kept), "tools/call");
        assert_string_equal(mcp_request_revision(p.kept), "2026-07-28");
        assert_string_equal(mcp_request_principal(p.kept), "somebody");
        mcp_reply_text(p.kept, "the other half");
        mcp_reply_structured(p.kept, MCP_STR("{}"));
        mcp_reply_meta(p.kept, "k", MCP_STR("1"));
        mcp_request_progress(p.kept, 1, 0, NULL);
        mcp_reply_finish(p.kept, MCP_OK);
        assert_string_equal(sent(&p), "");
        peer_free(&p);
    }
}

/* Objects that a handler uses stay valid after their removal from the registry. */
static void test_removed_meanwhile(void **state)
{
    (void)state;
    peer p = {0};
    peer_open(&p, keep, false);
    ask(&p, "resources/read", "\"uri\":\"r:\"");
    assert_int_equal(mcp_server_remove_resource(p.server, "r:"), MCP_OK);
    mcp_reply_text(p.kept, "still here");
    mcp_reply_finish(p.kept, MCP_OK);
    assert_has(sent(&p), "\"text\":\"still here\"");
    peer_free(&p);
}

/* ---- work ------------------------------------------------------------------------------------ */

static int host_work(void (*fn)(void *), void (*done)(void *), void *arg, void *user)
{
    peer *p = user;
    p->work = fn;
    p->done = done;
    p->arg = arg;
    return MCP_OK;
}

static int host_refuses(void (*fn)(void *), void (*done)(void *), void *arg, void *user)
{
    (void)user, (void)fn, (void)done, (void)arg;
    return MCP_ELIMIT;
}

static void test_work_without_a_host(void **state)
{
    (void)state;
    peer p = {0};
    peer_open(&p, work, false);
    ask_tool(&p);
    assert_has(sent(&p), "\"worked 1\"");
    assert_int_equal(p.n_done, 1);
    peer_free(&p);
}

static void test_work_on_a_host(void **state)
{
    (void)state;
    peer p = {.host = {.size = sizeof(mcp_host), .work = host_work}};
    p.host.user = &p;
    peer_open(&p, work, true);
    ask_tool(&p);
    assert_int_equal(p.n_worked, 0);
    p.work(p.arg);
    assert_string_equal(sent(&p), "");
    p.done(p.arg);
    assert_has(sent(&p), "\"worked 1\"");
    /* cancelled in the meantime: done is still called */
    ask_tool(&p);
    cancel(&p);
    p.work(p.arg);
    p.done(p.arg);
    assert_int_equal(p.n_done, 2);
    assert_string_equal(sent(&p), "");
    /* its channel is closed in the meantime */
    ask_tool(&p);
    mcp_channel_free(p.channel);
    p.channel = NULL;
    p.work(p.arg);
    p.done(p.arg);
    assert_int_equal(p.n_done, 3);
    assert_string_equal(sent(&p), "");
    peer_free(&p);
}

static void test_work_refused(void **state)
{
    (void)state;
    peer p = {.host = {.size = sizeof(mcp_host), .work = host_refuses}};
    peer_open(&p, work, true);
    ask_tool(&p);
    assert_has(sent(&p), "\"error\":{\"code\":-32603");
    assert_int_equal(p.n_worked + p.n_done, 0);
    peer_free(&p);
}

/* ---- functions for handlers ------------------------------------------------------------------ */

static int look(peer *p, mcp_request *req)
{
    (void)p;
    assert_string_equal(mcp_request_principal(req), "somebody");
    assert_string_equal(mcp_request_revision(req), "2026-07-28");
    assert_string_equal(mcp_request_method(req), "prompts/get");
    assert_non_null(mcp_json_get(mcp_request_client_capabilities(req), "roots"));
    assert_int_equal(mcp_json_int(mcp_json_get(mcp_request_meta(req), "progressToken"), 0), 9);
    assert_true(
        mcp_str_eq(mcp_json_string(mcp_json_get(mcp_request_params(req), "name")), MCP_STR("p")));
    assert_false(mcp_request_cancelled(req));
    char *copy = mcp_request_strdup(req, (mcp_str){"abc", 2});
    assert_string_equal(copy, "ab");
    return mcp_reply_text(req, copy);
}

static void test_asked(void **state)
{
    (void)state;
    peer p = {0};
    peer_open(&p, look, false);
    ask(&p, "prompts/get", "\"name\":\"p\"");
    assert_has(sent(&p), "\"ab\"");
    peer_free(&p);
}

/* Each call adds invalid content; the first error is reported. */
static int wrong_content(peer *p, mcp_request *req)
{
    static const mcp_content cases[] = {
        {.size = sizeof(mcp_content), .kind = MCP_CONTENT_IMAGE, .text = {"x", 1}},
        {.size = sizeof(mcp_content), .kind = MCP_CONTENT_AUDIO},
        {.size = sizeof(mcp_content), .kind = MCP_CONTENT_LINK, .uri = "a:"},
        {.size = sizeof(mcp_content), .kind = MCP_CONTENT_LINK, .name = "a"},
        {.size = sizeof(mcp_content), .kind = MCP_CONTENT_RESOURCE, .text = {"x", 1}},
        {.size = sizeof(mcp_content), .kind = (mcp_content_kind)99},
        {.size = sizeof(mcp_content), .bytes = "x", .bytes_len = 1},
        {.size = sizeof(mcp_content), .text = {"\xff", 1}},
        {.size = sizeof(mcp_content), .text = {"x", 1}, .meta = "7"},
    };
    size_t which = p->n_done++;
    if (which == sizeof(cases) / sizeof(cases[0]))
        return MCP_ETIMEOUT; /* the end */
    p->results[0] = mcp_reply_content(req, &cases[which]);
    p->results[1] = mcp_reply_text(req, "and more");
    return p->results[1];
}

static void test_wrong_content(void **state)
{
    (void)state;
    peer p = {0};
    peer_open(&p, wrong_content, false);
    for (;;) {
        ask_tool(&p);
        const char *text = sent(&p);
        assert_has(text, "\"id\":1,\"error\":{\"code\":-32603");
        if (strstr(text, "time-out"))
            break;
        if (p.results[0] != MCP_EINVAL || p.results[1] != MCP_EINVAL)
            fail_msg("case %zu", p.n_done);
    }
    assert_int_equal(p.n_done, 10);
    peer_free(&p);
}

static int wrong_calls(peer *p, mcp_request *req)
{
    (void)p;
    assert_int_equal(mcp_reply_completion(req, MCP_STR("x")), MCP_ESTATE);
    assert_int_equal(mcp_reply_text(req, "x"), MCP_ESTATE);
    return MCP_OK;
}

static int wrong_entry(peer *p, mcp_request *req)
{
    (void)p;
    return mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = "a:", .name = "a"));
}

static int fails_twice(peer *p, mcp_request *req)
{
    (void)p;
    mcp_reply_fail(req, 1, "first \xff cut");
    assert_int_equal(mcp_reply_text(req, "x"), MCP_ESTATE);
    mcp_reply_fail(req, 2, "second");
    return MCP_OK; /* the error stays */
}

static int not_json(peer *p, mcp_request *req)
{
    (void)p;
    assert_int_equal(mcp_reply_structured(req, MCP_STR("{")), MCP_EPARSE);
    return MCP_OK;
}

static void test_wrong_calls(void **state)
{
    (void)state;
    peer p = {0};
    peer_open(&p, wrong_calls, false);
    ask_tool(&p);
    assert_has(sent(&p), "\"error\":{\"code\":-32603");
    p.call = wrong_entry;
    ask_tool(&p);
    assert_has(sent(&p), "\"error\":{\"code\":-32603");
    p.call = not_json;
    ask_tool(&p);
    assert_has(sent(&p), "\"error\":{\"code\":-32603");
    p.call = fails_twice;
    ask_tool(&p);
    assert_has(sent(&p), "\"error\":{\"code\":1,\"message\":\"first \"}");
    peer_free(&p);
}

static int report(peer *p, mcp_request *req)
{
    (void)p;
    mcp_request_progress(req, (double)NAN, 0, NULL);
    mcp_request_progress(req, (double)INFINITY, 0, NULL);
    mcp_request_progress(req, -1, (double)INFINITY, "a");
    mcp_request_progress(req, 5, 5, "b");
    mcp_request_progress(req, 4, 4, "less");
    return MCP_OK;
}

static void test_progress(void **state)
{
    (void)state;
    peer p = {0};
    peer_open(&p, report, false);
    ask_tool(&p);
    const char *text = sent(&p);
    static const char begin[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
        "{\"progressToken\":9,\"progress\":-1";
    assert_memory_equal(text, begin, sizeof(begin) - 1);
    assert_null(strstr(text, "null"));
    assert_null(strstr(text, "less"));
    assert_has(text, "\"total\":5");
    assert_has(text, "\"message\":\"b\"");
    peer_free(&p);
}

static int report_often(peer *p, mcp_request *req)
{
    (void)p;
    for (int i = 1; i <= 30; i++)
        mcp_request_progress(req, i, 30, NULL);
    return MCP_OK;
}

/* At most 20 in a second, and the last one is always sent. */
static void test_progress_limit(void **state)
{
    (void)state;
    peer p = {0};
    peer_open(&p, report_often, false);
    ask_tool(&p);
    size_t n = 0;
    const char *text = sent(&p), *last = NULL;
    for (const char *at = text; (at = strstr(at, "\"progress\":")) != NULL; n++)
        last = at++;
    assert_int_equal(n, 21);
    assert_non_null(strstr(last, "\"progress\":30"));
    peer_free(&p);
}

static int log_often(peer *p, mcp_request *req)
{
    (void)p;
    for (int i = 1; i <= 15; i++) {
        mcp_request_log(req, MCP_LOG_WARNING, NULL, MCP_STR("1"));
        mcp_request_logf(req, MCP_LOG_WARNING, NULL, "%d", i);
        mcp_request_log(req, MCP_LOG_DEBUG, NULL, MCP_STR("1")); /* not wanted: does not count */
    }
    return MCP_OK;
}

/* At most 20 in a second and request; the next request has its own. */
static void test_log_limit(void **state)
{
    (void)state;
    peer p = {0};
    peer_open(&p, log_often, false);
    for (int i = 0; i < 2; i++) {
        size_t n = 0;
        ask_with(&p, "tools/call", "\"name\":\"t\"",
                 "\"io.modelcontextprotocol/logLevel\":\"warning\"");
        const char *text = sent(&p);
        for (const char *at = text; (at = strstr(at, "notifications/message")) != NULL; at++)
            n++;
        assert_int_equal(n, 20);
        assert_has(text, "\"result\"");
    }
    peer_free(&p);
}

static int out_of_files(peer *p, mcp_request *req)
{
    (void)p, (void)req;
    return MCP_EFILES;
}

static struct {
    int64_t now;
    size_t lines;
    char last[200];
} logged;

static int64_t logged_now(void *user)
{
    (void)user;
    return logged.now;
}

static void logged_line(const char *level, const char *line, void *user)
{
    (void)user;
    assert_string_equal(level, "error");
    logged.lines++;
    snprintf(logged.last, sizeof(logged.last), "%s", line);
}

/* The error names the limit that was reached. The log has one line for each interval, with a count. */
static void test_no_files(void **state)
{
    (void)state;
    peer p = {.host = {.size = sizeof(mcp_host), .now = logged_now, .log = logged_line}};
    peer_open(&p, out_of_files, true);
    logged.now = 1000;
    for (int i = 0; i < 5; i++) {
        ask(&p, "resources/read", "\"uri\":\"r:\"");
        const char *text = sent(&p);
        assert_has(text, "\"code\":-32603,\"message\":\"The server has no file descriptor left");
        assert_has(text, "\"retryAfterMs\":1000");
        assert_null(strstr(text, "max_reply"));
    }
    assert_int_equal(logged.lines, 1);
    assert_has(logged.last, "1 answers failed");
    logged.now += 10000;
    ask_tool(&p);
    assert_has(sent(&p), "no file descriptor left");
    assert_int_equal(logged.lines, 2);
    assert_has(logged.last, "5 answers failed");
    peer_free(&p);
}

/* The peer of ask() declares {"roots":{}}. */
static int require_each(peer *p, mcp_request *req)
{
    static const struct {
        const char *capability;
        int expected;
    } cases[] = {
        {"roots", MCP_OK},         {NULL, MCP_EINVAL},      {"", MCP_EINVAL},
        {".", MCP_EINVAL},         {"roots.", MCP_EINVAL},  {".roots", MCP_EINVAL},
        {"root", MCP_EREMOTE},     {"rootss", MCP_EREMOTE}, {"roots.listChanged", MCP_EREMOTE},
        {"sampling", MCP_EREMOTE},
    };
    (void)p;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(mcp_request_require(req, cases[i].capability), cases[i].expected);
    return MCP_OK;
}

static int require_extension(peer *p, mcp_request *req)
{
    (void)p;
    return mcp_request_require(req, "extensions.io.modelcontextprotocol/tasks");
}

static void test_require(void **state)
{
    (void)state;
    peer p = {0};
    peer_open(&p, require_each, false);
    ask_tool(&p); /* the first error counts */
    assert_has(sent(&p), "\"data\":{\"requiredCapabilities\":{\"root\":{}}}");
    p.call = require_extension;
    ask_tool(&p);
    const char *text = sent(&p);
    assert_has(text, "{\"code\":-32021,\"message\":\"This needs the capability extensions.io");
    assert_has(text, "\"data\":{\"requiredCapabilities\":{\"extensions\":{"
                     "\"io.modelcontextprotocol/tasks\":{}}}}");
    peer_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_later),
        cmocka_unit_test(test_within_the_handler),
        cmocka_unit_test(test_after_a_cancel),
        cmocka_unit_test(test_cancel_taken_back),
        cmocka_unit_test(test_after_the_channel),
        cmocka_unit_test(test_removed_meanwhile),
        cmocka_unit_test(test_work_without_a_host),
        cmocka_unit_test(test_work_on_a_host),
        cmocka_unit_test(test_work_refused),
        cmocka_unit_test(test_asked),
        cmocka_unit_test(test_no_files),
        cmocka_unit_test(test_require),
        cmocka_unit_test(test_wrong_content),
        cmocka_unit_test(test_wrong_calls),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_progress_limit),
        cmocka_unit_test(test_log_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
