/* A hostile server: every kind of message, in every state of a client. In all cases each call has
 * exactly one outcome, memory is bounded, and the client becomes idle.
 */
#include "fake_server.h"

#define MODERN                                                                \
    {                                                                         \
        "server/discover", RESULT("{\"supportedVersions\":[\"2026-07-28\"]}") \
    }
#define LEGACY(version)                                                                     \
    {"server/discover", ERROR("-32601", "")},                                               \
    {                                                                                       \
        "initialize",                                                                       \
            RESULT("{\"protocolVersion\":\"" version "\",\"capabilities\":{\"resources\":{" \
                   "\"subscribe\":true}}}")                                                 \
    }
#define NOTICE(method, params) \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" method "\",\"params\":" params "}"
#define ASK(id, method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define META(id) "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "}"

static const char *const messages[] = {
    "",
    "\xff\xfe",
    "null",
    "7",
    "[]",
    "[[]]",
    "[7,null,{}]",
    "{}",
    "{\"jsonrpc\":\"2.0\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":null}",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}",
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"id\":2}",
    "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":9223372036854775807,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"error\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":-1,\"result\":{}}",
    "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]",
    ASK("1", "ping", "[]"),
    ASK("{}", "ping", "{}"),
    ASK("null", "ping", "{}"),
    ASK("1.5", "ping", "{}"),
    ASK("99999999999999999999999999999999", "ping", "{}"),
    ASK("\"\\u0000\"", "ping", "{}"),
    ASK("1", "", "{}"),
    ASK("1", "initialize", "{}"),
    ASK("1", "sampling/createMessage", "{\"messages\":7}"),
    ASK("1", "sampling/createMessage", "{\"messages\":[]}"),
    ASK("1", "sampling/createMessage", "{\"messages\":[]}"), /* the same id again */
    ASK("2", "elicitation/create", "{\"message\":\"\",\"requestedSchema\":{\"properties\":7}}"),
    ASK("3", "elicitation/create", "{\"mode\":7,\"message\":\"\",\"requestedSchema\":{}}"),
    ASK("4", "elicitation/create", "{\"mode\":\"url\",\"message\":\"\",\"url\":\"javascript:x\"}"),
    ASK("5", "roots/list", "{\"x\":[]}"),
    ASK("6", "tasks/get", "{}"),
    NOTICE("cancelled", "{}"),
    NOTICE("cancelled", "{\"requestId\":1}"),
    NOTICE("cancelled", "{\"requestId\":2}"),
    NOTICE("cancelled", "{\"requestId\":{}}"),
    NOTICE("progress", "{\"progressToken\":{},\"progress\":{}}"),
    NOTICE("progress", "{\"progressToken\":1,\"progress\":1e308}"),
    NOTICE("progress", "{\"progressToken\":1,\"progress\":1e999}"),
    NOTICE("progress", "{\"progressToken\":-1,\"progress\":1}"),
    NOTICE("message", "{\"level\":7,\"data\":[]}"),
    NOTICE("message", "{}"),
    NOTICE("resources/updated", "{}"),
    NOTICE("resources/updated", "{\"uri\":\"\"}"),
    NOTICE("resources/updated", "{\"uri\":{}}"),
    NOTICE("tools/list_changed", "{}"),
    NOTICE("elicitation/complete", "{\"elicitationId\":7}"),
    NOTICE("subscriptions/acknowledged", "{}"),
    NOTICE("subscriptions/acknowledged", "{" META("2") "}"),
    NOTICE("subscriptions/acknowledged", "{" META("3") ",\"notifications\":7}"),
    NOTICE("subscriptions/acknowledged", "{" META("4") ",\"notifications\":{"
                                                       "\"resourceSubscriptions\":[7,{}]}}"),
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":7}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/\\u001b[2J\"}",
};

/* Answers, in which `$` stands for the id of the newest request. */
static const char *const answers[] = {
    RESULT("{}"),
    RESULT("[]"),
    RESULT("{\"resultType\":7}"),
    RESULT("{\"resultType\":\"later\"}"),
    RESULT("{\"resultType\":\"input_required\"}"),
    RESULT("{\"resultType\":\"input_required\",\"requestState\":\"\",\"inputRequests\":{}}"),
    RESULT("{\"resultType\":\"input_required\",\"inputRequests\":{\"\":{\"method\":"
           "\"elicitation/create\",\"params\":{\"message\":\"\",\"requestedSchema\":{}}}}}"),
    RESULT("{\"tools\":[7,{\"name\":7},{\"name\":\"\"},{\"name\":\"t\",\"inputSchema\":[]}],"
           "\"nextCursor\":\"x\",\"ttlMs\":1e99,\"cacheScope\":7}"),
    RESULT("{\"supportedVersions\":[{}]}"),
    RESULT("{\"protocolVersion\":{}}"),
    ERROR("-32042", ",\"data\":{\"elicitations\":[{\"mode\":\"url\",\"url\":7}]}"),
    ERROR("-32020", ""),
    ERROR("-32022", ",\"data\":{\"supported\":{}}"),
    ERROR("{}", ",\"message\":7"),
    "!404s",
    "!200",
    "!999",
    "!400 {\"jsonrpc\":\"2.0\",\"id\":\"z\",\"error\":{\"code\":-32020}}",
    "!400 [",
};

static void on_question(mcp_client *client, mcp_question *question, void *user)
{
    size_t *asked = user;
    (void)client;
    switch ((*asked)++ % 3) {
    case 0: mcp_question_fail(question, 0, NULL); break;
    case 1:
        if (mcp_question_accept(question, NULL, NULL) != MCP_OK)
            mcp_question_fail(question, 7, "\xff no");
        break;
    default: break; /* never */
    }
}

static void on_change(mcp_client *client, mcp_subscription *s, mcp_change change, mcp_str uri,
                      void *user)
{
    (void)client, (void)s, (void)change, (void)uri, (void)user;
}

static bool on_page(mcp_client *client, const mcp_json *result, void *user)
{
    (void)client, (void)result, (void)user;
    return true;
}

static void on_progress(mcp_client *client, mcp_call_id call, const mcp_progress *progress,
                        void *user)
{
    (void)client, (void)call, (void)progress, (void)user;
}

static void count(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                  void *user)
{
    fake *f = user;
    (void)client, (void)result;
    assert_true((rc == MCP_OK) == (error == NULL));
    f->done++;
}

/* Brings a client into a state and returns the number of pending calls. */
static size_t prepare(fake *f, int ticks)
{
    static const char *const uris[] = {"a:1"};
    const mcp_call_options o = {
        .size = sizeof(o), .done = count, .progress = on_progress, .user = f};
    mcp_subscription *s;
    mcp_client_subscribe(f->client,
                         MCP_OPTIONS(mcp_subscription_options, .uris = uris, .n_uris = 1,
                                     .tools = true, .changed = on_change),
                         &s);
    mcp_client_call_tool(f->client, "t", "{\"a\":1}", &o, NULL);
    mcp_client_list_all(f->client, "tools/list", on_page, &o, NULL);
    mcp_client_read(f->client, "a:1", &o, NULL);
    mcp_client_ping(f->client, &o, NULL);
    for (int i = 0; i < ticks; i++)
        fake_step(f);
    return 4;
}

static void say(fake *f, const char *message)
{
    char id[32];
    snprintf(id, sizeof(id), "%zu", f->n_sent);
    mcp_exchange exchange = f->http && f->n_sent ? f->exchange[f->n_sent - 1] : 0;
    fake_deliver_on(f, exchange, mcp_str_from(message), mcp_str_from(id));
    if (mcp_channel_deadline(f->channel) <= f->now)
        mcp_channel_tick(f->channel, f->now);
}

static void torment(const fake_reply *replies, bool http, int ticks, size_t first)
{
    fake f;
    size_t asked = 0;
    fake_open_as(&f, replies,
                 MCP_OPTIONS(mcp_client_options, .user = &asked, .elicit_form = on_question,
                             .elicit_url = on_question, .sample = on_question, .roots = on_question,
                             .max_rounds = 2, .max_questions = 4, .timeout_ms = 100,
                             .max_pages = 3),
                 http);
    size_t calls = prepare(&f, ticks);
    for (size_t i = 0; i < MCP__COUNT(messages); i++)
        say(&f, messages[(first + i) % MCP__COUNT(messages)]);
    for (size_t i = 0; i < MCP__COUNT(answers) && f.n_sent < 150; i++)
        say(&f, answers[(first + i) % MCP__COUNT(answers)]);
    assert_true(mcp_channel_in_flight(f.channel) <= 4);
    f.until = f.now + 5000;
    for (int i = 0; i < 100 && f.n_sent < 200 && fake_step(&f); i++)
        ;
    mcp_client_disconnected(f.client, NULL);
    assert_int_equal(f.done, calls);
    fake_close(&f);
}

static void test_states(void **state)
{
    (void)state;
    static const fake_reply scripts[][FAKE_REPLIES] = {
        {{0}}, {MODERN}, {LEGACY("2025-11-25")}, {LEGACY("2025-03-26")}};
    for (size_t s = 0; s < MCP__COUNT(scripts); s++) {
        for (int http = 0; http < 2; http++) {
            for (int ticks = 0; ticks < 12; ticks += 2) {
                for (size_t first = 0; first < MCP__COUNT(messages); first += 7)
                    torment(scripts[s], http, ticks, first);
            }
        }
    }
}

/* Endless requests of the server use bounded memory. */
static void test_flood_of_questions(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("2025-11-25")};
    failalloc a = {0};
    mcp_allocator allocator = failalloc_allocator(&a);
    fake f;
    size_t asked = 2; /* so that the first is not answered */
    fake_open(&f, replies,
              MCP_OPTIONS(mcp_client_options, .user = &asked, .sample = on_question,
                          .max_questions = 8, .allocator = &allocator));
    mcp_client_start(f.client, NULL, NULL);
    fake_run(&f);
    for (int i = 0; i < 200; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%d", i);
        fake_deliver(&f, ASK("$", "sampling/createMessage", "{\"messages\":[]}"), id, strlen(id));
        if (i == 30)
            assert_true(a.live < 400);
    }
    assert_true(a.live < 400);
    assert_true(asked < 80);
    fake_close(&f);
    assert_int_equal(a.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_flood_of_questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
