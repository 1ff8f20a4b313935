/* Subscriptions: one function for both eras, the notifications, and recovery of lost subscriptions. */
#include "fake_server.h"

#define MODERN                                                                                    \
    {                                                                                             \
        "server/discover", RESULT("{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}") \
    }
#define LEGACY(capabilities)                                               \
    {"server/discover", ERROR("-32601", "")},                              \
    {                                                                      \
        "initialize", RESULT("{\"protocolVersion\":\"2025-11-25\"," SERVER \
                             ",\"capabilities\":{" capabilities "}}")      \
    }
#define NOTICE(method, params) \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" method "\",\"params\":" params "}"
#define META         "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":$}"
#define ACK(filter)  NOTICE("subscriptions/acknowledged", "{" META ",\"notifications\":" filter "}")
#define UPDATED(uri) NOTICE("resources/updated", "{\"uri\":\"" uri "\"}")

static const mcp_client_options plain = {.size = sizeof(plain), .timeout_ms = 5000};

/* The events of a subscription, one letter each: R P T r for changes, A L X for its states. */
typedef struct listener {
    char told[256];
    char error[256];
    mcp_subscription *subscription;
    bool end_it;
} listener;

static void tell(listener *l, const char *format, mcp_str text)
{
    size_t at = strlen(l->told);
    snprintf(l->told + at, sizeof(l->told) - at, format, (int)text.len, text.ptr ? text.ptr : "");
}

static void on_change(mcp_client *client, mcp_subscription *s, mcp_change change, mcp_str uri,
                      void *user)
{
    static const char *const letters[] = {"r(%.*s)", "R%.*s", "P%.*s", "T%.*s"};
    listener *l = user;
    (void)client;
    assert_ptr_equal(s, l->subscription);
    tell(l, letters[change], uri);
    if (l->end_it)
        mcp_subscription_end(s);
}

static void on_state(mcp_client *client, mcp_subscription *s, mcp_subscription_state state,
                     const mcp_error *error, void *user)
{
    static const char *const letters[] = {"A%.*s", "L%.*s", "X%.*s"};
    listener *l = user;
    (void)client;
    assert_true((state == MCP_SUBSCRIPTION_ACTIVE) == (error == NULL));
    if (l->subscription)
        assert_ptr_equal(s, l->subscription);
    tell(l, letters[state], (mcp_str){0});
    if (error)
        snprintf(l->error, sizeof(l->error), "%s", error->text);
    if (l->end_it)
        mcp_subscription_end(s);
}

static void subscribe(fake *f, listener *l, const char *const *uris, size_t n, bool lists)
{
    *l = (listener){0};
    assert_int_equal(
        mcp_client_subscribe(f->client,
                             MCP_OPTIONS(mcp_subscription_options, .uris = uris, .n_uris = n,
                                         .resources = lists, .tools = lists, .changed = on_change,
                                         .state = on_state, .user = l),
                             &l->subscription),
        MCP_OK);
}

static const char *const ab[] = {"a:1", "b:2"};

/* ---- modern ---------------------------------------------------------------------------------- */

static void test_listen(void **state)
{
    (void)state;
    /* clang-format off */
    static const char told[] =
        ACK("{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"a:1\"]}") "\n"
        UPDATED("a:1") "\n"
        UPDATED("a:1/x") "\n"
        UPDATED("a:10") "\n"
        UPDATED("c:3") "\n"
        NOTICE("resources/list_changed", "{}") "\n"
        NOTICE("prompts/list_changed", "{}") "\n"
        NOTICE("tools/list_changed", "{}");
    /* clang-format on */
    static const fake_reply replies[FAKE_REPLIES] = {MODERN, {"subscriptions/listen", told}};
    fake f;
    listener l;
    fake_open(&f, replies, &plain);
    subscribe(&f, &l, ab, 2, true);
    fake_run(&f);
    assert_string_equal(f.methods, "server/discover subscriptions/listen ");
    assert_contains(fake_last(&f),
                    "\"params\":{\"notifications\":{\"resourcesListChanged\":true,"
                    "\"toolsListChanged\":true,\"resourceSubscriptions\":[\"a:1\",\"b:2\"]},"
                    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\"");
    assert_string_equal(l.told, "Ar(a:1)r(a:1/x)RT");
    assert_true(mcp_subscription_honours(l.subscription, MCP_CHANGE_TOOLS, NULL));
    assert_false(mcp_subscription_honours(l.subscription, MCP_CHANGE_RESOURCES, NULL));
    assert_false(mcp_subscription_honours(l.subscription, MCP_CHANGE_PROMPTS, NULL));
    assert_true(mcp_subscription_honours(l.subscription, MCP_CHANGE_RESOURCE, "a:1"));
    assert_false(mcp_subscription_honours(l.subscription, MCP_CHANGE_RESOURCE, "b:2"));
    assert_false(mcp_subscription_honours(l.subscription, MCP_CHANGE_RESOURCE, "z:9"));
    fake_close(&f);
}

/* If the set of subscriptions changes, a new stream is opened for all; the old one is closed when
 * the new one is acknowledged. */
static void test_listen_again(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN,
        {"subscriptions/listen", ACK("{\"resourceSubscriptions\":[\"a:1\",\"b:2\",\"c:3\"]}")}};
    static const char *const c[] = {"c:3", "a:1"};
    for (int http = 0; http < 2; http++) {
        fake f;
        listener one, two;
        fake_open_as(&f, replies, &plain, http);
        subscribe(&f, &one, ab, 2, false);
        fake_run(&f);
        fake_reset(&f);
        subscribe(&f, &two, c, 2, false);
        mcp_channel_tick(f.channel, f.now);
        assert_string_equal(f.methods, "subscriptions/listen ");
        assert_contains(fake_last(&f), "\"resourceSubscriptions\":[\"a:1\",\"b:2\",\"c:3\"]");
        fake_run(&f);
        assert_string_equal(f.methods, http ? "subscriptions/listen "
                                            : "subscriptions/listen notifications/cancelled ");
        assert_string_equal(f.abandoned, http ? "2 " : "");
        if (!http)
            assert_contains(fake_last(&f), "{\"requestId\":2}");
        assert_string_equal(one.told, "A");
        assert_string_equal(two.told, "A");
        fake_deliver(&f, UPDATED("a:1"), "", 0);
        assert_string_equal(one.told, "Ar(a:1)");
        assert_string_equal(two.told, "Ar(a:1)");

        assert_int_equal(mcp_subscription_set_uris(one.subscription, c, 1), MCP_OK);
        mcp_subscription_end(two.subscription);
        fake_run(&f);
        assert_string_equal(one.told, "Ar(a:1)A");
        fake_reset(&f);
        mcp_subscription_end(one.subscription);
        fake_run(&f);
        assert_string_equal(f.methods, http ? "" : "notifications/cancelled ");
        assert_string_equal(f.abandoned, http ? "4 " : "");
        assert_int_equal(mcp_channel_deadline(f.channel), INT64_MAX);
        fake_close(&f);
    }
}

static void test_lost(void **state)
{
    (void)state;
    static const struct {
        const char *end; /* of the stream */
        bool http;
        const char *told, *text;
    } lines[] = {
        {RESULT("{\"resultType\":\"complete\"}"), false, "ALA", "ended the subscription"},
        {NOTICE("cancelled", "{\"requestId\":$}"), false, "ALA", "ended the subscription"},
        {ERROR("-32603", ",\"message\":\"too many\""), false, "ALA", "too many"},
        {ERROR("-32601", ",\"message\":\"no such\""), false, "AX", "no such"},
        {"!200", true, "ALA", "before it was complete"},
        {"!000", true, "ALA", "cannot be reached"},
        {"!503", true, "ALA", "503"},
    };
    for (size_t i = 0; i < MCP__COUNT(lines); i++) {
        fake_reply replies[FAKE_REPLIES] = {
            MODERN, {"subscriptions/listen", ACK("{\"toolsListChanged\":true}")}};
        fake f;
        listener l;
        fake_open_as(&f, replies, &plain, lines[i].http);
        subscribe(&f, &l, NULL, 0, true);
        fake_run(&f);
        fake_deliver_on(&f, f.exchange[1], mcp_str_from(lines[i].end), MCP_STR("2"));
        int64_t lost = f.now;
        fake_run(&f);
        assert_string_equal(l.told, lines[i].told);
        assert_contains(l.error, lines[i].text);
        if (strstr(lines[i].told, "L"))
            assert_in_range((uintmax_t)(f.now - lost), 750, 1251);
        fake_close(&f);
    }
}

/* Each failure doubles the delay, up to the maximum; a missing answer is a failure too. */
static void test_back_off(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {MODERN,
                                                     {"subscriptions/listen", ERROR("-32603", "")}};
    static const fake_reply silent[FAKE_REPLIES] = {MODERN, {"subscriptions/listen", NULL}};
    fake f;
    listener l;
    fake_open(&f, replies, MCP_OPTIONS(mcp_client_options, .retry_ms = 100, .max_retry_ms = 1000));
    subscribe(&f, &l, NULL, 0, true);
    f.until = f.now + 12000;
    int64_t last = 0, waits[32];
    size_t n = 0, seen = 1;
    while (fake_step(&f) && n < 8) {
        if (f.n_sent > seen) {
            if (last)
                waits[n++] = f.now - last;
            last = f.now;
            seen = f.n_sent;
        }
    }
    assert_true(n >= 6);
    for (size_t i = 0; i < n; i++) {
        int64_t middle = i < 4 ? (int64_t)100 << i : 1000;
        assert_true(waits[i] >= middle * 3 / 4 && waits[i] <= middle * 5 / 4 + 1);
    }
    fake_close(&f);

    fake_open(&f, silent, MCP_OPTIONS(mcp_client_options, .timeout_ms = 500));
    subscribe(&f, &l, NULL, 0, true);
    f.until = f.now + 700;
    fake_run(&f);
    assert_string_equal(l.told, "L");
    assert_contains(l.error, "did not acknowledge");
    assert_contains(fake_last(&f), "notifications/cancelled");
    fake_close(&f);
}

/* The client does not retry before the time that the server requests. */
static void test_retry_after(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN, {"subscriptions/listen", ACK("{\"toolsListChanged\":true}")}};
    fake f;
    listener l;
    fake_open_http(&f, replies, &plain);
    subscribe(&f, &l, NULL, 0, true);
    fake_run(&f);
    mcp_client_exchange_ended(
        f.client, f.exchange[1],
        MCP_OPTIONS(mcp_exchange_end, .status = 503, .retry_after_ms = 300000), f.now);
    int64_t lost = f.now;
    fake_run(&f);
    assert_string_equal(l.told, "ALA");
    assert_in_range((uintmax_t)(f.now - lost), 300000, 500001);
    fake_close(&f);
}

/* A new connection restores the subscriptions automatically. */
static void test_reconnect(void **state)
{
    (void)state;
    static const fake_reply scripts[2][FAKE_REPLIES] = {
        {MODERN, {"subscriptions/listen", ACK("{\"toolsListChanged\":true}")}},
        {LEGACY("\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true}"),
         {"resources/subscribe", RESULT("{}")}}};
    for (int legacy = 0; legacy < 2; legacy++) {
        fake f;
        listener l;
        fake_open(&f, scripts[legacy], &plain);
        subscribe(&f, &l, ab, legacy ? 2 : 0, true);
        fake_run(&f);
        assert_string_equal(l.told, "A");
        char first[512];
        memcpy(first, f.methods, sizeof(first));
        mcp_client_disconnected(f.client, "status 9");
        assert_string_equal(l.told, "AL");
        assert_string_equal(l.error, "status 9");
        assert_false(mcp_subscription_honours(l.subscription, MCP_CHANGE_TOOLS, NULL));
        fake_reset(&f);
        memset(f.used, 0, sizeof(f.used));
        assert_int_equal(fake_connect(&f), MCP_OK);
        fake_run(&f);
        assert_string_equal(l.told, "ALA");
        assert_string_equal(f.methods, first);
        fake_close(&f);
    }
}

/* ---- legacy ---------------------------------------------------------------------------------- */

static void test_watch(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        LEGACY("\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true}"),
        {"resources/subscribe", RESULT("{}")},
        {"resources/subscribe", ERROR("-32002", ",\"message\":\"no b\"")},
        {"resources/subscribe", RESULT("{}")},
        {"resources/unsubscribe", RESULT("{}")},
    };
    static const char *const b[] = {"b:2"}, *const c[] = {"c:3"};
    fake f;
    listener l, only_b;
    fake_open(&f, replies, &plain);
    subscribe(&f, &l, ab, 2, true);
    subscribe(&f, &only_b, b, 1, false);
    fake_run(&f);
    assert_string_equal(f.methods, "server/discover initialize notifications/initialized "
                                   "resources/subscribe resources/subscribe ");
    assert_string_equal(l.told, "A");
    assert_string_equal(only_b.told, "X");
    assert_string_equal(only_b.error, "no b");
    assert_true(mcp_subscription_honours(l.subscription, MCP_CHANGE_RESOURCE, "a:1"));
    assert_false(mcp_subscription_honours(l.subscription, MCP_CHANGE_RESOURCE, "b:2"));
    assert_true(mcp_subscription_honours(l.subscription, MCP_CHANGE_TOOLS, NULL));
    assert_false(mcp_subscription_honours(l.subscription, MCP_CHANGE_RESOURCES, NULL));
    fake_deliver(&f, UPDATED("a:1"), "", 0);
    fake_deliver(&f, NOTICE("tools/list_changed", "{}"), "", 0);
    assert_string_equal(l.told, "Ar(a:1)T");

    fake_reset(&f);
    mcp_subscription_end(only_b.subscription);
    mcp_subscription_set_uris(l.subscription, c, 1);
    fake_run(&f);
    assert_string_equal(f.methods, "resources/subscribe resources/unsubscribe ");
    assert_contains(fake_last(&f), "{\"uri\":\"a:1\"}");
    assert_string_equal(l.told, "Ar(a:1)TA");
    fake_close(&f);
}

/* In a new session the client subscribes again. */
static void test_watch_in_new_session(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("\"resources\":{\"subscribe\":true}"),
                                                     {"resources/subscribe", RESULT("{}")},
                                                     {"m", "!404s"},
                                                     {"m", RESULT("{}")}};
    fake f;
    listener l;
    fake_open_http(&f, replies, &plain);
    subscribe(&f, &l, ab, 1, false);
    fake_run(&f);
    fake_reset(&f);
    mcp_client_call(f.client, "m", NULL, fake_done, &f);
    fake_run(&f);
    assert_int_equal(f.rc, MCP_OK);
    assert_string_equal(f.methods, "m initialize notifications/initialized m resources/subscribe ");
    assert_string_equal(l.told, "ALA");
    fake_close(&f);
}

/* The session ended with its stream: the client starts a new one and subscribes again. */
static void test_watch_lost_with_stream(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("\"resources\":{\"subscribe\":true}"),
                                                     {"resources/subscribe", RESULT("{}")}};
    static const int statuses[] = {404, 400};
    for (size_t i = 0; i < MCP__COUNT(statuses); i++) {
        fake f;
        listener l;
        fake_open_http(&f, replies, &plain);
        subscribe(&f, &l, ab, 1, false);
        fake_run(&f);
        fake_reset(&f);
        const mcp_exchange_end end = {.size = sizeof(end), .status = statuses[i], .session = true};
        mcp_client_exchange_ended(f.client, 0, &end, f.now);
        fake_run(&f);
        assert_string_equal(f.methods, "initialize notifications/initialized resources/subscribe ");
        assert_string_equal(l.told, "ALA");
        fake_close(&f);
    }
}

static void test_watch_not_offered(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("\"resources\":{}")};
    fake f;
    listener l;
    fake_open(&f, replies, &plain);
    subscribe(&f, &l, ab, 2, true);
    fake_run(&f);
    assert_string_equal(l.told, "X");
    assert_contains(l.error, "does not offer subscriptions");
    assert_string_equal(f.methods, "server/discover initialize notifications/initialized ");
    fake_close(&f);
}

/* The server accepted the subscriptions, but offers no stream for notifications. */
static void test_watch_without_stream(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        {"server/discover", "!404"},
        {"initialize",
         RESULT("{\"protocolVersion\":\"2025-06-18\"," SERVER ",\"capabilities\":{\"resources\":{"
                "\"subscribe\":true}}}")},
        {"notifications/initialized", NULL},
        {"resources/subscribe", RESULT("{}")}};
    static const int statuses[] = {405, 404, 400};
    for (size_t i = 0; i < MCP__COUNT(statuses); i++) {
        fake f;
        listener l;
        fake_ready(&f, replies, &plain, true);
        subscribe(&f, &l, ab, 1, false);
        fake_run(&f);
        assert_string_equal(l.told, "A");
        const mcp_exchange_end end = {.size = sizeof(end), .status = statuses[i]};
        mcp_client_exchange_ended(f.client, 0, &end, f.now);
        fake_run(&f);
        assert_string_equal(l.told, "AX");
        assert_contains(l.error, "no stream for notifications");
        fake_close(&f);
    }
}

/* A subscription that is ended while its answer is pending, and a connection that is closed then. */
static void test_watch_ends_early(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {LEGACY("\"resources\":{\"subscribe\":true}"),
                                                     {"resources/subscribe", RESULT("{}")},
                                                     {"resources/unsubscribe", RESULT("{}")}};
    for (int gone = 0; gone < 2; gone++) {
        fake f;
        listener l;
        fake_ready(&f, replies, &plain, false);
        subscribe(&f, &l, ab, 1, false);
        mcp_channel_tick(f.channel, f.now);
        mcp_channel_tick(f.channel, f.now);
        assert_string_equal(f.methods, "resources/subscribe ");
        mcp_subscription_end(l.subscription);
        mcp_channel_tick(f.channel, f.now);
        if (gone)
            mcp_client_disconnected(f.client, NULL);
        else
            fake_run(&f);
        assert_string_equal(f.methods, gone ? "resources/subscribe "
                                            : "resources/subscribe resources/unsubscribe ");
        fake_close(&f);
    }
}

/* ---- from within ----------------------------------------------------------------------------- */

static void test_end_within(void **state)
{
    (void)state;
    static const fake_reply replies[FAKE_REPLIES] = {
        MODERN, {"subscriptions/listen", ACK("{\"toolsListChanged\":true}")}};
    for (int when = 0; when < 2; when++) {
        fake f;
        listener one, two;
        fake_open(&f, replies, &plain);
        subscribe(&f, &one, NULL, 0, true);
        subscribe(&f, &two, NULL, 0, true);
        one.end_it = when == 0;
        fake_run(&f);
        one.end_it = true;
        fake_deliver(&f, NOTICE("tools/list_changed", "{}"), "", 0);
        fake_deliver(&f, NOTICE("tools/list_changed", "{}"), "", 0);
        fake_run(&f);
        assert_string_equal(one.told, when ? "AT" : "A");
        assert_string_equal(two.told, "ATT");
        fake_close(&f);
    }
}

static void test_arguments(void **state)
{
    (void)state;
    static const char *const bad[] = {"\xff"}, *const none[] = {NULL};
    mcp_subscription *s = NULL;
    fake f;
    fake_open(&f, NULL, &plain);
    assert_int_equal(
        mcp_client_subscribe(f.client, MCP_OPTIONS(mcp_subscription_options, .tools = true), &s),
        MCP_EINVAL);
    assert_int_equal(mcp_client_subscribe(f.client,
                                          MCP_OPTIONS(mcp_subscription_options, .uris = bad,
                                                      .n_uris = 1, .changed = on_change),
                                          &s),
                     MCP_EINVAL);
    assert_int_equal(mcp_client_subscribe(f.client,
                                          MCP_OPTIONS(mcp_subscription_options, .uris = none,
                                                      .n_uris = 1, .changed = on_change),
                                          &s),
                     MCP_EINVAL);
    assert_int_equal(mcp_subscription_set_uris(NULL, ab, 2), MCP_EINVAL);
    assert_false(mcp_subscription_honours(NULL, MCP_CHANGE_TOOLS, NULL));
    mcp_subscription_end(NULL);
    fake_close(&f);
}

static void test_no_memory(void **state)
{
    (void)state;
    static const fake_reply scripts[2][FAKE_REPLIES] = {
        {MODERN, {"subscriptions/listen", ACK("{\"resourceSubscriptions\":[\"a:1\"]}")}},
        {LEGACY("\"resources\":{\"subscribe\":true}"),
         {"resources/subscribe", RESULT("{}")},
         {"resources/unsubscribe", RESULT("{}")}}};
    for (int legacy = 0; legacy < 2; legacy++) {
        bool ended = false;
        for (size_t n = 1; !ended; n++) {
            failalloc a = {.fail_at = n};
            mcp_allocator allocator = failalloc_allocator(&a);
            fake f;
            listener l = {0};
            int rc = fake_open(&f, scripts[legacy],
                               MCP_OPTIONS(mcp_client_options, .allocator = &allocator));
            if (rc == MCP_OK)
                rc = mcp_client_subscribe(f.client,
                                          MCP_OPTIONS(mcp_subscription_options, .uris = ab,
                                                      .n_uris = 2, .changed = on_change,
                                                      .state = on_state, .user = &l),
                                          &l.subscription);
            if (rc == MCP_OK) {
                f.until = f.now + 200000;
                fake_run(&f);
                assert_true(l.told[0] != 0);
                rc = mcp_subscription_set_uris(l.subscription, ab + 1, 1);
                assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
                fake_run(&f);
            }
            fake_close(&f);
            assert_int_equal(a.live, 0);
            ended = a.calls < n;
            if (ended)
                assert_string_equal(l.told, legacy ? "AA" : "AX");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listen),
        cmocka_unit_test(test_listen_again),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_back_off),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_reconnect),
        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_watch_in_new_session),
        cmocka_unit_test(test_watch_lost_with_stream),
        cmocka_unit_test(test_watch_not_offered),
        cmocka_unit_test(test_watch_without_stream),
        cmocka_unit_test(test_watch_ends_early),
        cmocka_unit_test(test_end_within),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
