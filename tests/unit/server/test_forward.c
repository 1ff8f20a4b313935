/* Questions of another server that a handler forwards: their text and that of the answers, the
 * handler's pointer, taking questions back, and limits. The transcripts "input/forward" test the
 * conversion for each revision, and allocation failures.
 */
#include "server/input/input.h"
#include "task_rig.h"

#include <mcp/input.h>
#include <mcp/sys/forward.h>

#define DIGITS \
    "{\"n\":[1.0000000000000000000000001, 1e999,12345678901234567890123],\"s\":\"\\u0041\"}"

static int released;

static void release(void *data)
{
    released += *(int *)data;
}

static int one = 1, ten = 10;

/* ---- a handler that asks twice --------------------------------------------------------------- */

static char got[4][512];
static int asked;

static int ask_raw(mcp_request *req, const char *key, const char *method, const char *params)
{
    mcp_raw raw = {.size = sizeof(raw), .json = mcp_str_from(params), .uri_prefix = "up:"};
    return mcp_request_ask_raw(req, MCP_OPTIONS(mcp_raw_question, .key = key, .method = method,
                                                .params = params ? &raw : NULL));
}

static int twice(rig *r, mcp_request *req)
{
    mcp_raw_answer answer;
    mcp_str all, params = mcp_request_params_text(req);
    (void)r;
    snprintf(got[2], sizeof(got[2]), "%.*s", (int)params.len, params.ptr);
    if (!mcp_request_data(req))
        mcp_request_set_data(req, &one, release);
    assert_ptr_equal(mcp_request_data(req), &one);
    if (mcp_request_raw_answer(req, "a", &answer) == MCP_OK) {
        snprintf(got[0], sizeof(got[0]), "%.*s", (int)answer.json.len, answer.json.ptr);
        assert_int_equal(mcp_json_typeof(answer.value), MCP_JSON_OBJECT);
        assert_int_equal(mcp_request_raw_answers(req, &all), MCP_OK);
        snprintf(got[1], sizeof(got[1]), "%.*s", (int)all.len, all.ptr);
        return mcp_reply_text(req, "done");
    }
    assert_int_equal(mcp_request_raw_answers(req, &all), MCP_ENOTFOUND);
    r->kept[0] = req;
    asked++;
    int a = ask_raw(req, "a", "elicitation/create",
                    "{\"message\":\"m\",\n\"requestedSchema\":" DIGITS "}");
    int b = ask_raw(req, "b", "roots/list", NULL);
    assert_int_equal(ask_raw(req, "b", "roots/list", NULL), MCP_INPUT_REQUIRED);
    assert_int_equal(b, MCP_INPUT_REQUIRED);
    return a;
}

static void begin(rig *r, mcp_channel **channel, rig_handler *handler)
{
    memset(r, 0, sizeof(*r));
    memset(got, 0, sizeof(got));
    released = asked = 0;
    assert_int_equal(rig_open(r, &(mcp_server_options){0}, handler), MCP_OK);
    assert_int_equal(rig_connect(r, NULL, NULL, channel), MCP_OK);
}

static void say(rig *r, mcp_channel *channel, const char *message)
{
    assert_int_equal(rig_say(r, channel, message), MCP_OK);
}

static void begin_legacy(rig *r, mcp_channel **channel, rig_handler *handler)
{
    begin(r, channel, handler);
    say(r, *channel,
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{\"elicitation\":{\"form\":{},\"url\":{}},\"roots\":{}},"
        "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    say(r, *channel, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    rig_sent(r);
    say(r, *channel,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
        "\"arguments\":{\"x\":1}}}");
}

static void end(rig *r, mcp_channel *channel)
{
    mcp_channel_free(channel);
    rig_close(r);
}

#define ABLE                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},\"roots\":{}}}"

/* ---- text ------------------------------------------------------------------------------------ */

/* Line ends are the only white space that changes. */
static void test_modern_text(void **state)
{
    (void)state;
    rig *r = calloc(1, sizeof(*r));
    mcp_channel *channel;
    begin(r, &channel, twice);
    say(r, channel,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"," ABLE
        "}}");
    assert_has(rig_sent(r), "{\"message\":\"m\",\"requestedSchema\":" DIGITS "}");
    assert_int_equal(released, 1);
    say(r, channel,
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
        "\"inputRespons\\u0065s\":{\"b\": 2.50,\"\\u0061\":" DIGITS "}," ABLE "}}");
    assert_has(rig_sent(r), "done");
    assert_string_equal(got[0], DIGITS);
    assert_string_equal(got[1], "{\"b\": 2.50,\"\\u0061\":" DIGITS "}");
    assert_int_equal(released, 2);
    end(r, channel);
    free(r);
}

static void test_legacy_text(void **state)
{
    (void)state;
    rig *r = calloc(1, sizeof(*r));
    mcp_channel *channel;
    begin_legacy(r, &channel, twice);
    assert_has(rig_sent(r), "\"requestedSchema\":" DIGITS "}");
    say(r, channel, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" DIGITS "}");
    assert_int_equal(asked, 1);
    /* The last answer begins the next round; its own "params" are not those of the request. */
    say(r, channel,
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-1,\"message\":\"\"},\"params\":{}}");
    assert_has(rig_sent(r), "done");
    assert_string_equal(got[0], DIGITS);
    assert_string_equal(got[1], "{\"a\":" DIGITS "}");
    assert_has(got[2], "\"arguments\":{\"x\":1}");
    assert_int_equal(released, 1);
    end(r, channel);
    free(r);
}

static int as_task_twice(rig *r, mcp_request *req)
{
    int rc = mcp_request_task(req, NULL);
    return rc == MCP_OK ? twice(r, req) : rc;
}

#define ABLE_TASK                                                                      \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","           \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},\"roots\":{}," \
    "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}"

static int asks_twice(rig *r, mcp_request *req);

static int as_task_asks(rig *r, mcp_request *req)
{
    int rc = mcp_request_task(req, NULL);
    return rc == MCP_OK ? asks_twice(r, req) : rc;
}

static void test_task(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w));
    char text[1024];
    memset(got, 0, sizeof(got));
    released = asked = 0;
    world_open(w, NULL, NULL, as_task_twice);
    mcp_channel *channel = peer(w, "alice");
    say(&w->r, channel,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
        "call\",\"params\":{\"name\":\"job\"," ABLE_TASK "}}");
    const char *id = strstr(rig_sent(&w->r), "\"taskId\":\"");
    assert_non_null(id);
    snprintf(w->id, sizeof(w->id), "%.22s", id + strlen("\"taskId\":\""));
    const char *task = ask_of(w, channel, "tasks/get");
    assert_has(task, "{\"a\":{");
    assert_has(task, ",\"b\":{");
    /* Another question is taken back, and the client sees only the first. */
    assert_int_equal(mcp_request_withdraw(w->r.kept[0], "b"), MCP_OK);
    task = ask_of(w, channel, "tasks/get");
    assert_has(task, DIGITS);
    assert_null(strstr(task, ",\"b\":{"));
    snprintf(text, sizeof(text), "\"taskId\":\"%s\",\"inputResponses\":{\"z\":1,\"a\":" DIGITS "}",
             w->id);
    ask(w, channel, "tasks/update", text);
    assert_string_equal(got[0], DIGITS);
    assert_string_equal(got[1], "{\"a\":" DIGITS "}");
    assert_has(ask_of(w, channel, "tasks/get"), "done");
    assert_int_equal(released, 1);

    /* After the last question the handler runs again. */
    say(&w->r, channel,
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
        "call\",\"params\":{\"name\":\"job\"," ABLE_TASK "}}");
    rig_sent(&w->r);
    mcp_request *req = w->r.kept[0];
    w->r.handler = rig_ok;
    assert_int_equal(mcp_request_withdraw(req, "b"), MCP_OK);
    assert_int_equal(released, 1);
    assert_int_equal(mcp_request_withdraw(req, "a"), MCP_OK);
    assert_int_equal(released, 2);
    mcp_channel_free(channel);
    rig_close(&w->r);
    free(w);
}

/* ---- the pointer of the handler -------------------------------------------------------------- */

static int replaces(rig *r, mcp_request *req)
{
    (void)r;
    mcp_request_set_data(req, &one, release);
    mcp_request_set_data(req, &ten, release);
    assert_int_equal(released, 1);
    mcp_request_set_data(req, &ten, NULL);
    assert_int_equal(released, 11);
    mcp_request_set_data(req, NULL, NULL);
    assert_int_equal(released, 11);
    assert_null(mcp_request_data(req));
    return mcp_reply_text(req, "replaced");
}

/* A request that waits for an answer has no handler that on_cancel could tell. */
static void test_release(void **state)
{
    (void)state;
    static const char *const ends[] = {
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}",
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
        NULL};
    rig *r = calloc(1, sizeof(*r));
    mcp_channel *channel;
    for (size_t i = 0; i < 3; i++) {
        begin_legacy(r, &channel, twice);
        assert_int_equal(released, 0);
        if (ends[i])
            say(r, channel, ends[i]);
        assert_int_equal(released, ends[i] ? 1 : 0);
        end(r, channel);
        assert_int_equal(released, 1);
    }
    begin_legacy(r, &channel, replaces);
    assert_has(rig_sent(r), "replaced");
    end(r, channel);
    free(r);
}

/* ---- questions that are taken back ----------------------------------------------------------- */

static void test_withdraw(void **state)
{
    (void)state;
    rig *r = calloc(1, sizeof(*r));
    mcp_channel *channel;
    begin_legacy(r, &channel, twice);
    rig_sent(r);
    assert_int_equal(mcp_request_withdraw(r->kept[0], "c"), MCP_ENOTFOUND);
    assert_int_equal(mcp_request_withdraw(r->kept[0], "b"), MCP_OK);
    assert_has(rig_sent(r), "notifications/cancelled\",\"params\":{\"requestId\":2");
    say(r, channel, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    assert_has(rig_sent(r), "done");
    assert_string_equal(got[1], "{\"a\":{}}");
    end(r, channel);

    /* After the last one the handler runs again. */
    begin_legacy(r, &channel, twice);
    say(r, channel, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    rig_sent(r);
    assert_int_equal(mcp_request_withdraw(r->kept[0], "b"), MCP_ENOTFOUND);
    assert_int_equal(asked, 1);
    r->handler = rig_ok;
    assert_int_equal(mcp_request_withdraw(r->kept[0], "a"), MCP_OK);
    const char *sent = rig_sent(r);
    assert_has(sent, "\"requestId\":1");
    assert_has(sent, "\"id\":7,\"result\":{");
    assert_int_equal(released, 1);
    end(r, channel);
    free(r);
}

/* Whatever allocation fails, the request ends once, and its data is released. */
static int asks_twice(rig *r, mcp_request *req)
{
    if (!mcp_request_data(req))
        mcp_request_set_data(req, &one, release);
    r->kept[0] = req;
    if (asked++)
        return mcp_reply_text(req, "done");
    int rc = ask_raw(req, "a", "elicitation/create", "{\"message\":\"m\"}");
    return rc == MCP_INPUT_REQUIRED ? ask_raw(req, "b", "elicitation/create", "{\"message\":\"n\"}")
                                    : rc;
}

static void test_no_memory(void **state)
{
    (void)state;
    static const char *const request =
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",%s}}";
    for (int task = 0; task < 2; task++) {
        bool ended = false;
        for (size_t n = 1; !ended; n++) {
            world *w = calloc(1, sizeof(*w));
            char message[512];
            released = asked = 0;
            world_open(w, NULL, NULL, task ? as_task_asks : asks_twice);
            mcp_channel *channel = task ? peer(w, "alice") : asking_peer(w, "alice");
            say(&w->r, channel, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
            w->r.memory.fail_at = w->r.memory.calls + n;
            snprintf(message, sizeof(message), request, "job", task ? ABLE_TASK : "\"x\":1");
            rig_say(&w->r, channel, message);
            if (asked == 1 && !released && mcp_request_withdraw(w->r.kept[0], "b") == MCP_OK &&
                !released)
                mcp_request_withdraw(w->r.kept[0], "a");
            ended = w->r.memory.calls < w->r.memory.fail_at;
            if (ended)
                assert_int_equal(asked, 2);
            mcp_channel_free(channel);
            rig_close(&w->r);
            assert_int_equal(released, asked > 0);
            free(w);
        }
    }
}

static int takes_back(rig *r, mcp_request *req)
{
    (void)r;
    assert_int_equal(mcp_request_withdraw(req, "a"), MCP_ENOTFOUND);
    assert_int_equal(ask_raw(req, "a", "roots/list", NULL), MCP_INPUT_REQUIRED);
    assert_int_equal(mcp_request_withdraw(req, "a"), MCP_OK);
    return mcp_reply_text(req, "none");
}

static void test_withdraw_early(void **state)
{
    (void)state;
    rig *r = calloc(1, sizeof(*r));
    mcp_channel *channel;
    begin_legacy(r, &channel, takes_back);
    const char *sent = rig_sent(r);
    assert_has(sent, "none");
    assert_null(strstr(sent, "roots/list"));
    end(r, channel);
    free(r);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static int limits(rig *r, mcp_request *req)
{
    char key[130], *big = calloc(1, (1 << 20) + 64);
    (void)r;
    memset(key, 'k', 129);
    key[129] = 0;
    assert_int_equal(ask_raw(req, key, "roots/list", NULL), MCP_EINVAL);
    assert_int_equal(ask_raw(req, "", "roots/list", NULL), MCP_EINVAL);
    assert_int_equal(ask_raw(req, NULL, "roots/list", NULL), MCP_EINVAL);
    assert_int_equal(ask_raw(req, "k", "tools/call", NULL), MCP_EINVAL);
    assert_int_equal(ask_raw(req, "k", NULL, NULL), MCP_EINVAL);
    assert_int_equal(ask_raw(req, "k", "roots/list", "[]"), MCP_EPROTOCOL);
    assert_int_equal(ask_raw(req, "k", "roots/list", "{"), MCP_EPARSE);
    assert_int_equal(ask_raw(req, "k", "elicitation/create", "{}"), MCP_EPROTOCOL);
    assert_int_equal(ask_raw(req, "k", "elicitation/create",
                             "{\"message\":\"m\",\"mode\":\"url\",\"url\":\"no url\"}"),
                     MCP_EPROTOCOL);
    assert_int_equal(ask_raw(req, "k", "elicitation/create",
                             "{\"message\":\"m\",\"mode\":\"url\",\"url\":\"a:b\","
                             "\"elicitationId\":7}"),
                     MCP_EPROTOCOL);
    assert_int_equal(
        ask_raw(req, "k", "elicitation/create", "{\"message\":\"m\",\"mode\":\"odd\"}"),
        MCP_EREMOTE);
    assert_int_equal(ask_raw(req, "k", "sampling/createMessage", "{}"), MCP_EREMOTE);
    memset(big, ' ', 1 << 20);
    memcpy(big, "{\"x\":\"", 6);
    memset(big + 6, 'x', 1 << 20);
    strcpy(big + 6 + (1 << 20), "\"}");
    assert_int_equal(ask_raw(req, "k", "roots/list", big), MCP_ELIMIT);
    assert_int_equal(mcp_request_set_long_state(req, (mcp_str){big, (1 << 20) + 1}), MCP_ELIMIT);
    assert_int_equal(mcp_request_set_long_state(req, (mcp_str){big, 1 << 20}), MCP_OK);
    assert_int_equal(mcp_request_state(req).len, 1 << 20);
    free(big);
    for (int i = 0; i < 65; i++) {
        snprintf(key, sizeof(key), "%d", i);
        assert_int_equal(ask_raw(req, key, "roots/list", NULL),
                         i < 64 ? MCP_INPUT_REQUIRED : MCP_ELIMIT);
    }
    return mcp_reply_text(req, "no error is set");
}

static int wrong_method(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                        void *user)
{
    (void)name, (void)value, (void)context, (void)user;
    assert_int_equal(ask_raw(req, "k", "roots/list", NULL), MCP_ESTATE);
    return MCP_OK;
}

static void test_limits(void **state)
{
    (void)state;
    rig *r = calloc(1, sizeof(*r));
    mcp_channel *channel;
    begin_legacy(r, &channel, limits);
    assert_has(rig_sent(r), "no error is set");
    static const mcp_prompt_argument argument = {.size = sizeof(argument), .name = "a"};
    assert_int_equal(mcp_server_add_prompt(r->server,
                                           MCP_OPTIONS(mcp_prompt, .name = "q", .get = rig_call,
                                                       .arguments = &argument, .n_arguments = 1,
                                                       .complete = wrong_method),
                                           r, NULL),
                     MCP_OK);
    say(r, channel,
        "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"completion/complete\",\"params\":{\"ref\":{"
        "\"type\":\"ref/prompt\",\"name\":\"q\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}}}");
    assert_has(rig_sent(r), "\"id\":8,\"result\"");
    end(r, channel);
    free(r);
}

static void test_needs(void **state)
{
    (void)state;
    static const struct {
        const char *method, *params, *needs;
    } lines[] = {
        {"elicitation/create", "{}", "elicitation.form"},
        {"elicitation/create", "{\"mode\":\"form\"}", "elicitation.form"},
        {"elicitation/create", "{\"mode\":\"url\"}", "elicitation.url"},
        {"elicitation/create", "{\"mode\":7}", NULL},
        {"roots/list", "{}", "roots"},
        {"sampling/createMessage", "{}", "sampling"},
        {"sampling/createMessage", "{\"tools\":[]}", "sampling.tools"},
        {"sampling/createMessage", "{\"toolChoice\":{}}", "sampling.tools"},
        {"sampling/createMessage", "{\"messages\":[{},{\"content\":{\"type\":\"text\"}}]}",
         "sampling"},
        {"sampling/createMessage", "{\"messages\":[{},{\"content\":{\"type\":\"tool_use\"}}]}",
         "sampling.tools"},
        {"sampling/createMessage",
         "{\"messages\":[{\"content\":[{},{\"type\":\"tool_result\"}]},{}]}", "sampling.tools"},
        {"tools/call", "{}", NULL},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        mcp_json_doc *doc = NULL;
        assert_int_equal(mcp_json_parse(mcp_str_from(lines[i].params), NULL, NULL, &doc, NULL),
                         MCP_OK);
        const char *needs = mcp_question_needs(mcp_str_from(lines[i].method), mcp_json_root(doc));
        assert_int_equal(!needs, !lines[i].needs);
        if (needs)
            assert_string_equal(needs, lines[i].needs);
        mcp_json_free(doc);
    }
    assert_string_equal(mcp_question_needs(MCP_STR("roots/list"), NULL), "roots");
}

static void test_instance(void **state)
{
    (void)state;
    world *w = calloc(1, sizeof(*w)), *v = calloc(1, sizeof(*v));
    world_open(w, NULL, NULL, rig_ok);
    world_open(v, NULL, NULL, rig_ok);
    w->no_random = true;
    assert_null(mcp__server_instance(w->r.server));
    w->no_random = false;
    const char *id = mcp__server_instance(w->r.server);
    assert_int_equal(strlen(id), 16);
    assert_int_equal(strspn(id, "0123456789abcdef"), 16);
    assert_ptr_equal(mcp__server_instance(w->r.server), id);
    assert_string_not_equal(mcp__server_instance(v->r.server), id);
    rig_close(&w->r);
    rig_close(&v->r);
    free(w);
    free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modern_text), cmocka_unit_test(test_legacy_text),
        cmocka_unit_test(test_task),        cmocka_unit_test(test_release),
        cmocka_unit_test(test_withdraw),    cmocka_unit_test(test_withdraw_early),
        cmocka_unit_test(test_no_memory),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_needs),       cmocka_unit_test(test_instance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
