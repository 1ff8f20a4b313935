/* What a caller can do with a call: options, progress, cancelling it, waiting for it, typed
 * functions. */
#include "fake_server.h"

#define MODERN                                                                                    \
    {                                                                                             \
        "server/discover", RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}") \
    }
#define LEGACY                                                             \
    {"server/discover", ERROR("-32601", "")},                              \
    {                                                                      \
        "initialize", RESULT("{\"protocolVersion\":\"2025-11-25\"," SERVER \
                             ",\"capabilities\":{\"logging\":{}}}")        \
    }
#define NOTICE(method, params) \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" method "\",\"params\":" params "}\n"

static const mcp_client_options plain = {.size = sizeof(plain)};

/* ---- progress -------------------------------------------------------------------------------- */

static void on_progress(mcp_client *client, mcp_call_id call, const mcp_progress *p, void *user)
{
    fake *f = user;
    assert_ptr_equal(client, f->client);
    assert_true(call != 0);
    size_t at = strlen(f->text);
    snprintf(f->text + at, sizeof(f->text) - at, "%g/%g%s %.*s;", p->progress,
             p->has_total ? p->total : -1.0, p->has_total ? "" : "?", (int)p->message.len,
             p->message.ptr ? p->message.ptr : "");
}

static void on_end(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                   void *user)
{
    fake *f = user;
    char progress[sizeof(f->text)];
    memcpy(progress, f->text, sizeof(progress));
    fake_done(client, rc, result, error, user);
    if (rc == MCP_OK)
        memcpy(f->text, progress, sizeof(progress));
}

static void test_progress(void **state)
{
    (void)state;
    static const char answer[] =
        NOTICE("progress", "{\"progressToken\":1,\"progress\":1,\"total\":4,\"message\":\"one\"}")
            NOTICE("progress", "{\"progressToken\":1,\"progress\":1,\"total\":4}") /* not larger */
        NOTICE("progress", "{\"progressToken\":1,\"progress\":0.5}")               /* smaller */
        NOTICE("progress", "{\"progressToken\":1,\"progress\":\"2\"}")  /* not a number */
        NOTICE("progress", "{\"progressToken\":\"1\",\"progress\":3}")  /* another token */
        NOTICE("progress", "{\"progressToken\":99,\"progress\":3}")     /* an unknown token */
        NOTICE("progress", "{\"progress\":3}") NOTICE("progress", "{}") /* no token */
        NOTICE("progress", "{\"progressToken\":1,\"progress\":2.5}") RESULT("{}"); /* larger */
    static const fake_reply scripts[2][FAKE_REPLIES] = {{MODERN, {"m", answer}},
                                                        {LEGACY, {"m", answer}}};
    for (int era = 0; era < 2; era++) {
        fake f;
        fake_ready(&f, scripts[era], &plain, false);
        assert_int_equal(mcp_client_request(f.client, "m", "{\"_meta\":{\"progressToken\":\"x\"}}",
                                            MCP_OPTIONS(mcp_call_options, .done = on_end,
                                                        .progress = on_progress, .user = &f),
                                            NULL),
                         MCP_OK);
        fake_run(&f);
        assert_int_equal(f.done, 1);
        assert_string_equal(f.text, "1/4 one;2.5/-1? ;");
        assert_contains(fake_last(&f), "\"progressToken\":1");
        assert_null(strstr(fake_last(&f), "\"x\""));
        fake_close(&f);
    }
}

/* Each progress notification extends the time, up to a limit. */
static void test_progress_gives_time(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {MODERN, {"m", NULL}};
    fake f;
    fake_ready(&f, replies, &plain, false);
    mcp_call_options o = {.size = sizeof(o),
                          .done = on_end,
                          .progress = on_progress,
                          .user = &f,
                          .timeout_ms = 100,
                          .max_timeout_ms = 250};
    mcp_client_request(f.client, "m", NULL, &o, NULL);
    mcp_channel_tick(f.channel, f.now);
    int64_t begin = f.now;
    for (int i = 1; i < 4; i++) {
        char notice[128];
        snprintf(notice, sizeof(notice),
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
                 "{\"progressToken\":1,\"progress\":%d}}",
                 i);
        f.now += 80;
        mcp_channel_tick(f.channel, f.now);
        assert_int_equal(f.done, 0);
        fake_deliver(&f, notice, "", 0);
    }
    fake_run(&f);
    assert_int_equal(f.rc, MCP_ETIMEOUT);
    assert_int_equal(f.now - begin, 250);
    assert_contains(f.text, "within 0.250 s");
    fake_close(&f);
}

/* ---- time-outs ------------------------------------------------------------------------------- */

static void test_timeouts(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {MODERN, {"m", NULL}};
    fake f;
    fake_ready(&f, replies, &plain, false);
    int64_t begin = f.now;
    mcp_client_request(
        f.client, "m", NULL,
        MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = &f, .timeout_ms = 7), NULL);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_ETIMEOUT);
    assert_int_equal(f.now, begin + 7);
    fake_reset(&f);
    mcp_client_request(
        f.client, "m", NULL,
        MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = &f, .timeout_ms = MCP_NO_TIMEOUT),
        NULL);
    fake_run(&f);
    assert_int_equal(f.done, 0);
    assert_int_equal(mcp_channel_deadline(f.channel), INT64_MAX);
    fake_close(&f);
    assert_int_equal(f.done, 1);
    assert_int_equal(f.rc, MCP_ECLOSED);
}

/* ---- cancelling ------------------------------------------------------------------------------ */

static void test_cancel(void **state)
{
    (void)state;
    static const fake_reply scripts[2][FAKE_REPLIES] = {{MODERN, {"m", NULL}},
                                                        {LEGACY, {"m", NULL}}};
    for (int era = 0; era < 2; era++) {
        for (int http = 0; http < 2; http++) {
            for (int when = 0; when < 2; when++) { /* 0 means before it was sent */
                fake f;
                mcp_call_id call = 0;
                fake_ready(&f, scripts[era], &plain, http);
                mcp_client_request(f.client, "m", NULL,
                                   MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = &f),
                                   &call);
                if (when)
                    mcp_channel_tick(f.channel, f.now);
                assert_int_equal(mcp_client_cancel(f.client, call, "no \"more\""), MCP_OK);
                assert_int_equal(f.done, 0); /* not called from within the function */
                assert_int_equal(mcp_client_cancel(f.client, call, NULL), MCP_ENOTFOUND);
                fake_run(&f);
                assert_int_equal(f.done, 1);
                assert_int_equal(f.rc, MCP_ECANCELLED);
                assert_string_equal(f.text, "no \"more\"");
                /* If a call has its own stream, closing the stream cancels the call for a modern
                 * server. */
                bool notice = when && !(http && !era);
                assert_string_equal(f.methods, !when    ? ""
                                               : notice ? "m notifications/cancelled "
                                                        : "m ");
                if (notice)
                    assert_contains(fake_last(&f), "\"reason\":\"no \\\"more\\\"\"");
                assert_string_equal(f.abandoned, !when || !http ? "" : era ? "3 " : "2 ");
                assert_int_equal(mcp_client_cancel(f.client, call, NULL), MCP_ENOTFOUND);
                assert_int_equal(mcp_client_cancel(f.client, 0, NULL), MCP_EINVAL);
                fake_close(&f);
            }
        }
    }
}

/* An answer that arrives before the cancellation could be sent has no effect. */
static void test_cancel_is_final(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {MODERN, {"m", NULL}};
    fake f;
    mcp_call_id call = 0;
    fake_ready(&f, replies, &plain, false);
    mcp_client_request(f.client, "m", NULL,
                       MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = &f), &call);
    mcp_channel_tick(f.channel, f.now);
    mcp_client_cancel(f.client, call, NULL);
    fake_deliver(&f, RESULT("{}"), "2", 1);
    assert_int_equal(f.rc, MCP_ECANCELLED);
    fake_run(&f);
    assert_int_equal(f.done, 1);
    assert_string_equal(f.methods, "m ");
    fake_close(&f);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int step(uint64_t ms, void *user)
{
    fake *f = user;
    (void)ms;
    if (f->stop)
        return MCP_ECANCELLED;
    if (f->hang_up) {
        mcp_client_disconnected(f->client, "status 1");
        return MCP_OK;
    }
    fake_step(f);
    return MCP_OK;
}

static void open_waiting(fake *f, const fake_reply *replies, bool with_step)
{
    assert_int_equal(fake_open(f, replies, &plain), MCP_OK);
    mcp_client_disconnected(f->client, NULL);
    assert_int_equal(mcp_client_connect_transport(
                         f->client, MCP_OPTIONS(mcp_channel_options, .send = fake_send, .user = f),
                         MCP_OPTIONS(mcp_transport_options, .step = with_step ? step : NULL),
                         &f->channel, NULL),
                     MCP_OK);
}

static void test_wait(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN, {"m", RESULT("{\"x\":1}")}, {"e", ERROR("5", ",\"message\":\"no\"")}, {"t", NULL}};
    fake f;
    mcp_error error = {0};
    mcp_json_doc *doc = NULL;
    mcp_call_id a = 0, b = 0;
    open_waiting(&f, replies, true);
    assert_int_equal(mcp_client_wait(f.client, 0, &doc, &error), MCP_OK);
    assert_non_null(mcp_json_get(mcp_json_root(doc), "supportedVersions"));
    mcp_json_free(doc), doc = NULL;
    assert_int_equal(mcp_client_wait(f.client, 0, NULL, &error), MCP_OK);

    /* Two at a time, in the wrong order. */
    assert_int_equal(mcp_client_request(f.client, "m", NULL, NULL, &a), MCP_OK);
    assert_int_equal(mcp_client_request(f.client, "e", NULL, NULL, &b), MCP_OK);
    assert_int_equal(mcp_client_wait(f.client, b, &doc, &error), MCP_EREMOTE);
    assert_string_equal(error.text, "no");
    assert_int_equal(mcp_json_int(mcp_json_get(mcp_json_root(doc), "code"), 0), 5);
    mcp_json_free(doc), doc = NULL;
    assert_int_equal(mcp_client_wait(f.client, a, &doc, &error), MCP_OK);
    assert_int_equal(mcp_json_int(mcp_json_get(mcp_json_root(doc), "x"), 0), 1);
    mcp_json_free(doc), doc = NULL;
    assert_int_equal(mcp_client_wait(f.client, a, &doc, &error), MCP_ENOTFOUND);

    /* A cancelled call whose result was stored, a call with a callback, and a time-out. */
    mcp_client_request(f.client, "m", NULL, NULL, &a);
    fake_run(&f);
    assert_int_equal(mcp_client_cancel(f.client, a, NULL), MCP_OK);
    assert_int_equal(mcp_client_wait(f.client, a, NULL, NULL), MCP_ENOTFOUND);
    mcp_client_request(f.client, "m", NULL,
                       MCP_OPTIONS(mcp_call_options, .done = fake_done, .user = &f), &a);
    assert_int_equal(mcp_client_wait(f.client, a, NULL, NULL), MCP_ENOTFOUND);
    mcp_client_request(f.client, "t", NULL, NULL, &a);
    assert_int_equal(mcp_client_wait(f.client, a, &doc, &error), MCP_ETIMEOUT);
    assert_null(doc);

    /* The loop is stopped, which ends the wait. */
    mcp_client_request(f.client, "t", NULL, NULL, &a);
    f.stop = true;
    assert_int_equal(mcp_client_wait(f.client, a, NULL, &error), MCP_ECANCELLED);
    f.stop = false;
    fake_run(&f);
    assert_int_equal(mcp_client_wait(f.client, a, NULL, &error), MCP_ENOTFOUND);

    /* The connection is closed during the wait. */
    mcp_client_request(f.client, "t", NULL, NULL, &a);
    f.hang_up = true;
    assert_int_equal(mcp_client_wait(f.client, a, NULL, &error), MCP_ECLOSED);
    assert_string_equal(error.text, "status 1");
    assert_int_equal(mcp_client_wait(f.client, 0, NULL, &error), MCP_ECLOSED);
    fake_close(&f);
}

/* With `as_is`, the question of a server is the outcome. */
static void test_wait_as_is(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN, {"m", RESULT("{\"resultType\":\"input_required\",\"requestState\":\"s\"}")}};
    fake f;
    mcp_error error = {0};
    mcp_json_doc *doc = NULL;
    mcp_call_id call = 0;
    open_waiting(&f, replies, true);
    mcp_client_request(f.client, "m", NULL, MCP_OPTIONS(mcp_call_options, .as_is = true), &call);
    assert_int_equal(mcp_client_wait(f.client, call, &doc, &error), MCP_INPUT_REQUIRED);
    assert_int_equal(error.code, 0);
    assert_true(mcp_str_eq(mcp_json_string(mcp_json_get(mcp_json_root(doc), "requestState")),
                           MCP_STR("s")));
    mcp_json_free(doc);
    fake_close(&f);
}

static void wait_in_callback(mcp_client *client, int rc, const mcp_json *result,
                             const mcp_error *error, void *user)
{
    fake *f = user;
    (void)rc, (void)result, (void)error;
    f->rc = mcp_client_wait(client, 0, NULL, NULL);
}

static void test_wait_is_not_possible(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {MODERN};
    static const fake_reply broken[FAKE_REPLIES] = {
        {"server/discover", ERROR("-32022", ",\"message\":\"x\",\"data\":{\"supported\":[]}")}};
    fake f;
    mcp_error error = {0};
    mcp_call_id call = 0;
    open_waiting(&f, replies, false);
    assert_int_equal(mcp_client_wait(f.client, 0, NULL, &error), MCP_ESTATE);
    mcp_client_request(f.client, "m", NULL, NULL, &call);
    assert_int_equal(mcp_client_wait(f.client, call, NULL, &error), MCP_ESTATE);
    fake_close(&f);

    open_waiting(&f, replies, true);
    mcp_client_start(f.client, wait_in_callback, &f);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_ESTATE);
    fake_close(&f);

    open_waiting(&f, broken, true);
    assert_int_equal(mcp_client_wait(f.client, 0, NULL, &error), MCP_EPROTOCOL);
    assert_contains(error.text, "it lists: none");
    fake_close(&f);
}

/* ---- typed forms ----------------------------------------------------------------------------- */

/* Invalid arguments are rejected, and nothing is sent. */
static void refused(mcp_client *c)
{
    static const mcp_completion_query both = {
        .size = sizeof(both), .prompt = "p", .uri_template = "t", .argument = "a"};
    assert_int_equal(mcp_client_read(c, NULL, NULL, NULL), MCP_EINVAL);
    assert_int_equal(mcp_client_read(c, "\xff", NULL, NULL), MCP_EINVAL);
    assert_int_equal(mcp_client_call_tool(c, "t", "[1]", NULL, NULL), MCP_EPARSE);
    assert_int_equal(mcp_client_call_tool(c, "t", "{", NULL, NULL), MCP_EPARSE);
    assert_int_equal(mcp_client_complete(c, &both, NULL, NULL), MCP_EINVAL);
    assert_int_equal(
        mcp_client_complete(c, MCP_OPTIONS(mcp_completion_query, .prompt = "p"), NULL, NULL),
        MCP_EINVAL);
    assert_int_equal(mcp_client_notify(c, "", NULL), MCP_EINVAL);
    assert_int_equal(mcp_client_notify(c, "n", "7"), MCP_EINVAL);
}

static void test_typed(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY};
    fake f;
    fake_ready(&f, replies, &plain, false);
    mcp_client *c = f.client;
    assert_int_equal(mcp_client_read(c, "a:\"b\"", NULL, NULL), MCP_OK);
    assert_int_equal(mcp_client_call_tool(c, "t", "{\"x\":[1]}", NULL, NULL), MCP_OK);
    assert_int_equal(mcp_client_call_tool(c, "t", NULL, NULL, NULL), MCP_OK);
    assert_int_equal(mcp_client_get_prompt(c, "p", "{\"x\":\"y\"}", NULL, NULL), MCP_OK);
    assert_int_equal(
        mcp_client_complete(c,
                            MCP_OPTIONS(mcp_completion_query, .prompt = "p", .argument = "a",
                                        .value = "v", .context = "{\"b\":\"w\"}"),
                            NULL, NULL),
        MCP_OK);
    assert_int_equal(mcp_client_complete(
                         c,
                         MCP_OPTIONS(mcp_completion_query, .uri_template = "x{y}", .argument = "y"),
                         NULL, NULL),
                     MCP_OK);
    assert_int_equal(mcp_client_ping(c, NULL, NULL), MCP_OK);
    assert_int_equal(mcp_client_notify(c, "notifications/mine", "{\"a\":1,\"_meta\":{\"b\":2}}"),
                     MCP_OK);
    assert_int_equal(mcp_client_notify(c, "notifications/mine", NULL), MCP_OK);
    refused(c);

    static const char *const expected[] = {
        "\"method\":\"resources/read\",\"params\":{\"uri\":\"a:\\\"b\\\"\"}}",
        "\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{\"x\":[1]}}}",
        "\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}",
        "\"method\":\"prompts/get\",\"params\":{\"name\":\"p\",\"arguments\":{\"x\":\"y\"}}}",
        "\"params\":{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":{\"name\":\"a\","
        "\"value\":\"v\"},\"context\":{\"arguments\":{\"b\":\"w\"}}}}",
        "\"params\":{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"x{y}\"},\"argument\":"
        "{\"name\":\"y\",\"value\":\"\"}}}",
        "\"method\":\"ping\",\"params\":{}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/mine\",\"params\":{\"a\":1,\"_meta\":"
        "{\"b\":2}}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/mine\",\"params\":{}}",
    };
    size_t before = f.n_sent;
    mcp_channel_tick(f.channel, f.now);
    assert_int_equal(f.n_sent, before + MCP__COUNT(expected));
    for (size_t i = 0; i < MCP__COUNT(expected); i++)
        assert_contains(f.sent[before + i], expected[i]);
    fake_close(&f);
}

/* ---- log messages ---------------------------------------------------------------------------- */

static void on_log(mcp_client *client, mcp_str level, mcp_str logger, const mcp_json *data,
                   void *user)
{
    fake *f = user;
    assert_ptr_equal(client, f->client);
    mcp_str text = mcp_json_string(data);
    snprintf(f->text, sizeof(f->text), "%.*s %.*s %.*s", (int)level.len, level.ptr, (int)logger.len,
             logger.ptr ? logger.ptr : "", (int)text.len, text.ptr);
}

static void on_notice(mcp_client *client, mcp_str method, const mcp_json *params, void *user)
{
    fake *f = user;
    (void)client, (void)params;
    size_t at = strlen(f->result);
    snprintf(f->result + at, sizeof(f->result) - at, "%.*s ", (int)method.len, method.ptr);
}

static void test_log(void **state)
{
    (void)state;
    static const fake_reply scripts[2][FAKE_REPLIES] = {
        {MODERN, {"m", RESULT("{}")}},
        {LEGACY, {"logging/setLevel", RESULT("{}")}, {"m", RESULT("{}")}}};
    for (int era = 0; era < 2; era++) {
        fake f;
        fake_open(&f, scripts[era],
                  MCP_OPTIONS(mcp_client_options, .log = on_log, .notification = on_notice));
        assert_int_equal(mcp_client_set_log_level(f.client, "loud"), MCP_EINVAL);
        assert_int_equal(mcp_client_set_log_level(f.client, "notice"), MCP_OK);
        mcp_client_start(f.client, NULL, NULL);
        fake_run(&f);
        assert_string_equal(f.methods, era ? "server/discover initialize notifications/initialized "
                                             "logging/setLevel "
                                           : "server/discover ");
        if (era)
            assert_contains(fake_last(&f), "{\"level\":\"notice\"}");
        mcp_client_call(f.client, "m", NULL, NULL, NULL);
        fake_run(&f);
        assert_true(!era == (strstr(fake_last(&f),
                                    "\"io.modelcontextprotocol/logLevel\":\"notice\"") != NULL));
        mcp_client_request(f.client, "m", NULL, MCP_OPTIONS(mcp_call_options, .log_level = "debug"),
                           NULL);
        fake_run(&f);
        assert_true(!era == (strstr(fake_last(&f), "/logLevel\":\"debug\"") != NULL));
        assert_int_equal(mcp_client_request(f.client, "m", NULL,
                                            MCP_OPTIONS(mcp_call_options, .log_level = "loud"),
                                            NULL),
                         MCP_EINVAL);
        fake_deliver(&f,
                     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
                     "\"level\":\"info\",\"logger\":\"l\",\"data\":\"d\"}}",
                     "", 0);
        assert_string_equal(f.text, "info l d");
        fake_deliver(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/odd\"}", "", 0);
        assert_string_equal(f.result, "notifications/message notifications/odd ");
        fake_close(&f);
    }
}

static void on_misbehaved(mcp_client *client, const char *what, void *user)
{
    fake *f = user;
    assert_ptr_equal(client, f->client);
    f->pages++;
    snprintf(f->text, sizeof(f->text), "%s", what);
}

/* Nobody sees a malformed notification. It is reported, and ends nothing. */
static void test_malformed_notifications(void **state)
{
    (void)state;
    static const struct {
        const char *message, *why;
        bool only_legacy;
    } bad[] = {
        {NOTICE("message", "{\"level\":\"info\"}"),
         "message: /params/data: expected object or array or ", false},
        {NOTICE("message", "{\"level\":\"loud\",\"data\":1}"), "message: /params/level: expected ",
         false},
        {NOTICE("message", "{\"level\":\"info\",\"logger\":{},\"data\":1}"),
         "message: /params/logger: expected string, got object", false},
        {NOTICE("progress", "{\"progressToken\":1,\"progress\":\"2\"}"),
         "progress: /params/progress: expected number, got string", false},
        {NOTICE("progress", "{\"progressToken\":1.5,\"progress\":2}"),
         "progress: /params/progressToken: expected string or integer, got another number", false},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}",
         "progress: /params: expected object, got nothing", false},
        {NOTICE("resources/updated", "{\"uri\":[]}"),
         "resources/updated: /params/uri: expected string, got array", false},
        {NOTICE("tools/list_changed", "{\"_meta\":5}"),
         "tools/list_changed: /params/_meta: expected object, got integer", false},
        {NOTICE("prompts/list_changed", "{\"_meta\":[]}"),
         "prompts/list_changed: /params/_meta: expected object, got array", false},
        {NOTICE("resources/list_changed", "{\"_meta\":\"\"}"),
         "resources/list_changed: /params/_meta: expected object, got string", false},
        {NOTICE("cancelled", "{\"requestId\":{}}"),
         "cancelled: /params/requestId: expected string or integer, got object", false},
        {NOTICE("elicitation/complete", "{}"),
         "elicitation/complete: /params/elicitationId: expected string, got nothing", true},
        {NOTICE("tasks/status", "{\"taskId\":\"t\"}"),
         "tasks/status: /params/createdAt: expected string, got nothing", true},
    };
    static const fake_reply scripts[2][FAKE_REPLIES] = {{MODERN, {"m", RESULT("{}")}},
                                                        {LEGACY, {"m", RESULT("{}")}}};
    for (int era = 0; era < 2; era++) {
        fake f;
        fake_ready(&f, scripts[era],
                   MCP_OPTIONS(mcp_client_options, .log = on_log, .notification = on_notice,
                               .misbehaved = on_misbehaved),
                   false);
        size_t reports = 0;
        for (size_t i = 0; i < MCP__COUNT(bad); i++) {
            if (bad[i].only_legacy && !era)
                continue;
            f.text[0] = 0;
            fake_deliver(&f, bad[i].message, "", 0);
            assert_int_equal(f.pages, ++reports);
            assert_contains(f.text, "a notification is malformed and ignored: notifications/");
            assert_contains(f.text, bad[i].why);
        }
        assert_string_equal(f.result, "");
        fake_deliver(
            &f, NOTICE("message", "{\"level\":\"info\",\"logger\":null,\"data\":null,\"x\":1}"), "",
            0);
        assert_string_equal(f.result, "notifications/message ");
        assert_int_equal(f.pages, reports);
        mcp_client_call(f.client, "m", NULL, fake_done, &f);
        fake_run(&f);
        assert_int_equal(f.rc, MCP_OK);
        fake_close(&f);
    }
}

/* The text of params has all the digits and escapes that the server wrote. */
static void see_text(fake *f, mcp_client *client)
{
    mcp_str text = mcp_client_notification_text(client);
    size_t at = strlen(f->result);
    snprintf(f->result + at, sizeof(f->result) - at, "%.*s|", (int)text.len,
             text.ptr ? text.ptr : "");
}

static void on_log_text(mcp_client *client, mcp_str level, mcp_str logger, const mcp_json *data,
                        void *user)
{
    (void)level, (void)logger, (void)data;
    see_text(user, client);
}

static void on_notice_text(mcp_client *client, mcp_str method, const mcp_json *params, void *user)
{
    (void)method, (void)params;
    see_text(user, client);
}

static void test_notification_text(void **state)
{
    (void)state;
#define LOGGED "{\"level\":\"info\", \"data\":[1.00,1e400,\"\\u0041\"]}"
    static const fake_reply replies[FAKE_REPLIES] = {MODERN};
    fake f;
    fake_open(&f, replies,
              MCP_OPTIONS(mcp_client_options, .log = on_log_text, .notification = on_notice_text));
    mcp_client_start(f.client, NULL, NULL);
    fake_run(&f);
    fake_deliver(&f,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":" LOGGED "}",
                 "", 0);
    fake_deliver(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"n\":-0.10}}", "", 0);
    fake_deliver(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", "", 0);
    assert_string_equal(f.result, LOGGED "|" LOGGED "|{\"n\":-0.10}||");
    assert_null(mcp_client_notification_text(NULL).ptr);
    fake_close(&f);
}

/* ---- trace ----------------------------------------------------------------------------------- */

static void on_trace(mcp_client *client, bool sent, mcp_exchange exchange, mcp_str message,
                     void *user)
{
    fake *f = user;
    (void)client, (void)exchange;
    size_t at = strlen(f->result);
    snprintf(f->result + at, sizeof(f->result) - at, "%c%c", sent ? '>' : '<',
             memchr(message.ptr, '!', message.len) ? '!' : ' ');
}

static void test_trace(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {MODERN, {"m", "no message!\n" RESULT("{}")}};
    fake f;
    fake_open(&f, replies, MCP_OPTIONS(mcp_client_options, .trace = on_trace));
    mcp_client_call(f.client, "m", NULL, NULL, NULL);
    fake_run(&f);
    assert_string_equal(f.result, "> < > <!< ");
    fake_close(&f);
    /* The trace shows an error that arrives with an HTTP error status, but no body that is not a
     * message. */
    static const fake_reply refusing[FAKE_REPLIES] = {
        MODERN,
        {"m", "!400 " ERROR("-32021", ",\"message\":\"needs sampling!\"")},
        {"m", "!500 oh no!"}};
    fake_open_http(&f, refusing, MCP_OPTIONS(mcp_client_options, .trace = on_trace));
    mcp_client_call(f.client, "m", NULL, NULL, NULL);
    mcp_client_call(f.client, "m", NULL, NULL, NULL);
    fake_run(&f);
    assert_string_equal(f.result, "> < > > <!");
    fake_close(&f);
}

/* ---- without memory -------------------------------------------------------------------------- */

static void test_no_memory(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        LEGACY, {"resources/read", RESULT("{\"contents\":[]}")}, {"logging/setLevel", NULL}};
    bool ended = false;
    for (size_t n = 1; !ended; n++) {
        failalloc a = {.fail_at = n};
        mcp_allocator allocator = failalloc_allocator(&a);
        fake f;
        size_t kept = 0, over = 0;
        mcp_call_id calls[3] = {0};
        int rc = fake_open(&f, replies,
                           MCP_OPTIONS(mcp_client_options, .allocator = &allocator,
                                       .extensions = "{\"a/b\":{}}", .description = "d"));
        if (rc == MCP_OK) {
            mcp_client_set_log_level(f.client, "info");
            kept += mcp_client_read(f.client, "a:b", NULL, &calls[0]) == MCP_OK;
            kept += mcp_client_call_tool(f.client, "t", "{}", NULL, &calls[1]) == MCP_OK;
            kept += mcp_client_complete(f.client,
                                        MCP_OPTIONS(mcp_completion_query, .prompt = "p",
                                                    .argument = "a", .context = "{}"),
                                        NULL, &calls[2]) == MCP_OK;
            mcp_client_cancel(f.client, calls[1], "for a reason");
            mcp_client_notify(f.client, "notifications/x", "{\"a\":1}");
            fake_run(&f);
            for (size_t i = 0; i < 3; i++)
                over += calls[i] && mcp_client_cancel(f.client, calls[i], NULL) == MCP_OK;
            assert_int_equal(over, kept);
        }
        fake_close(&f);
        assert_int_equal(a.live, 0);
        ended = a.calls < n;
        if (ended)
            assert_int_equal(kept, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_progress_gives_time),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_is_final),
        cmocka_unit_test(test_wait),
        cmocka_unit_test(test_wait_as_is),
        cmocka_unit_test(test_wait_is_not_possible),
        cmocka_unit_test(test_typed),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_malformed_notifications),
        cmocka_unit_test(test_notification_text),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
