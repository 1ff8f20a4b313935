/* A channel with a minimal role: what reaches the role, what the channel answers itself, our own
 * requests, the limits, and the failure of every allocation.
 *
 * The role keeps each request until the test answers it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "channel/channel.h"
#include "support/failalloc.h"

enum { MAX = 64 };

typedef struct toy {
    failalloc memory;
    mcp_allocator allocator;
    mcp_channel *channel;
    bool batches;
    mcp__incoming *kept[MAX];
    size_t n_kept, n_cancelled, n_notified, n_ticked, n_closed, n_released, n_woken;
    int64_t deadline;
    char
        sent[8192]; /* all output, one message on each line, with the prefix "@7 " for exchange 7 */
    size_t len;
    mcp_output_info info; /* about the last message sent */
    int answers[MAX];     /* the result codes of our own requests */
    size_t n_answers;
} toy;

/* ---- the role -------------------------------------------------------------------------------- */

static toy *toy_of(const mcp_channel *channel)
{
    return channel->state;
}

static void toy_request(mcp__incoming *in)
{
    toy *t = toy_of(in->channel);
    mcp_str method = in->message.method;
    if (mcp_str_eq(method, MCP_STR("now"))) {
        mcp__incoming_reply(in, MCP_STR("now"), 0);
    } else if (mcp_str_eq(method, MCP_STR("error"))) {
        mcp__incoming_error(in, 7, MCP_STR("seven"), MCP_STR("[]"));
    } else if (mcp_str_eq(method, MCP_STR("again"))) {
        /* the same id, before this handler returns */
        mcp_channel_receive(in->channel, in->exchange,
                            MCP_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"now\"}"), 1);
        t->kept[t->n_kept++] = in;
    } else if (mcp_str_eq(method, MCP_STR("end all"))) {
        while (t->n_kept)
            mcp__incoming_reply(t->kept[--t->n_kept], MCP_STR(""), 0);
        t->kept[t->n_kept++] = in;
        t->memory.fail_at = t->memory.calls + 1;
    } else {
        t->kept[t->n_kept++] = in;
        if (mcp_str_eq(method, MCP_STR("listen")))
            mcp__incoming_set_long_lived(in);
    }
}

static void toy_cancel(mcp__incoming *in)
{
    toy_of(in->channel)->n_cancelled++;
}

static void toy_notification(mcp_channel *channel, const mcp__message *message)
{
    assert_true(message->kind == MCP__NOTIFICATION);
    toy_of(channel)->n_notified++;
}

static void toy_tick(mcp_channel *channel, int64_t now)
{
    assert_int_equal(channel->now, now);
    toy_of(channel)->n_ticked++;
}

static int64_t toy_deadline(const mcp_channel *channel)
{
    return toy_of(channel)->deadline;
}

static void toy_close(mcp_channel *channel)
{
    toy_of(channel)->n_closed++;
}

static void toy_release(mcp_channel *channel)
{
    toy_of(channel)->n_released++;
}

static bool toy_batches(const mcp_channel *channel)
{
    return toy_of(channel)->batches;
}

static mcp__no_id toy_no_id(const mcp_channel *channel)
{
    (void)channel;
    return MCP__NO_ID_NULL;
}

static const mcp__role role = {
    .request_size = sizeof(mcp__incoming) + 8,
    .request = toy_request,
    .cancel = toy_cancel,
    .notification = toy_notification,
    .tick = toy_tick,
    .deadline = toy_deadline,
    .close = toy_close,
    .release = toy_release,
    .batches = toy_batches,
    .no_id = toy_no_id,
};

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    toy *t = user;
    char head[32] = "";
    if (exchange)
        snprintf(head, sizeof(head), "@%d ", (int)exchange);
    int n = snprintf(t->sent + t->len, sizeof(t->sent) - t->len, "%s%.*s\n", head, (int)message.len,
                     message.ptr);
    t->len += (size_t)n;
    assert_true(t->len < sizeof(t->sent));
    t->info = *mcp_channel_output_info(channel);
}

static void on_wake(mcp_channel *channel, void *user)
{
    (void)channel;
    ((toy *)user)->n_woken++;
}

static int toy_open(toy *t, mcp_channel_options options)
{
    t->allocator = failalloc_allocator(&t->memory);
    t->deadline = INT64_MAX;
    options.size = sizeof(options);
    options.send = on_send;
    options.wake = on_wake;
    options.user = t;
    return mcp__channel_new(&role, t, &options, &t->allocator, &t->channel, NULL);
}

static void toy_free(toy *t)
{
    mcp_channel_free(t->channel);
    for (size_t i = 0; i < t->n_kept; i++) {
        if (t->kept[i])
            mcp__incoming_drop(t->kept[i]);
    }
    assert_int_equal(t->memory.live, 0);
}

static int take(toy *t, const char *message)
{
    return mcp_channel_receive(t->channel, 0, mcp_str_from(message), 1);
}

/* Returns the output since the previous call. */
static const char *sent(toy *t)
{
    static char copy[8192];
    memcpy(copy, t->sent, t->len);
    copy[t->len] = 0;
    t->len = 0;
    return copy;
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static void on_answer(mcp_channel *channel, int rc, const mcp_json *result, void *user)
{
    toy *t = user;
    (void)channel;
    assert_int_equal(result != NULL, rc == MCP_OK || rc == MCP_EREMOTE);
    t->answers[t->n_answers++] = rc;
}

/* ---- their requests -------------------------------------------------------------------------- */

static void test_options(void **state)
{
    (void)state;
    toy t = {0};
    t.allocator = failalloc_allocator(&t.memory);
    mcp_error error = {0};
    mcp_channel_options none = {.size = sizeof(none)};
    assert_int_equal(mcp__channel_new(&role, &t, &none, &t.allocator, &t.channel, &error),
                     MCP_EINVAL);
    assert_int_equal(error.code, MCP_EINVAL);
    assert_int_equal(t.memory.live, 0);
    assert_int_equal(toy_open(&t, (mcp_channel_options){.max_message = 99}), MCP_OK);
    assert_int_equal(mcp_channel_max_message(t.channel), 99);
    assert_int_equal(t.channel->options.max_depth, 64);
    assert_int_equal(t.channel->options.max_in_flight, 1024);
    toy_free(&t);
    assert_int_equal(t.n_closed, 1);
    assert_int_equal(t.n_released, 1);
}

static void test_out_of_order(void **state)
{
    (void)state;
    toy t = {0};
    assert_int_equal(toy_open(&t, (mcp_channel_options){0}), MCP_OK);
    for (int i = 0; i < 5; i++) {
        char message[128];
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":\"%d and more than fits into a short key, a little\","
                 "\"method\":\"m\"}",
                 i);
        assert_int_equal(take(&t, message), MCP_OK);
    }
    assert_int_equal(mcp_channel_in_flight(t.channel), 5);
    assert_string_equal(sent(&t), "");
    static const size_t order[] = {3, 0, 4, 1, 2};
    for (size_t i = 0; i < 5; i++) {
        char number[8];
        mcp__incoming *in = t.kept[order[i]];
        assert_int_equal(mcp__incoming_id(in).ptr[1], '0' + (int)order[i]);
        snprintf(number, sizeof(number), "%zu", order[i]);
        mcp__incoming_reply(in, mcp_str_from(number), 0);
    }
    t.n_kept = 0;
    assert_string_equal(sent(&t), "3\n0\n4\n1\n2\n");
    assert_int_equal(mcp_channel_in_flight(t.channel), 0);
    toy_free(&t);
}

static void test_ids_in_use(void **state)
{
    (void)state;
    toy t = {0};
    assert_int_equal(toy_open(&t, (mcp_channel_options){.max_in_flight = 2}), MCP_OK);
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}");
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}");
    assert_true(has(sent(&t), "\"id\":1,\"error\":{\"code\":-32600"));
    /* ids of another exchange are independent */
    mcp_channel_receive(t.channel, 7, MCP_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}"),
                        1);
    assert_int_equal(t.n_kept, 2);
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"m\"}");
    assert_true(has(sent(&t), "\"id\":2,\"error\":{\"code\":-32603"));
    mcp__incoming_error(t.kept[1], 7, MCP_STR("x"), MCP_STR(""));
    t.n_kept = 1;
    assert_string_equal(
        sent(&t), "@7 {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":7,\"message\":\"x\"}}\n");
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"now\"}");
    assert_string_equal(sent(&t), "now\n");
    /* long-lived requests do not count */
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"listen\"}");
    assert_int_equal(mcp_channel_in_flight(t.channel), 1);
    assert_int_equal(t.n_kept, 2);
    toy_free(&t);
}

/* The key of a request is not in the table while its handler runs. */
static void test_keys_of_running_requests(void **state)
{
    (void)state;
    const char *const used = "\"id\":1,\"error\":{\"code\":-32600";
    toy t = {0};
    assert_int_equal(toy_open(&t, (mcp_channel_options){0}), MCP_OK);
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"again\"}");
    assert_true(has(sent(&t), used));
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"now\"}");
    assert_true(has(sent(&t), used));
    for (int i = 2; i < 40; i++) {
        char message[64];
        snprintf(message, sizeof(message), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"m\"}", i);
        take(&t, message);
    }
    /* The table becomes empty during this handler, which must not need memory for the key. */
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":41,\"method\":\"end all\"}");
    assert_int_equal(mcp_channel_in_flight(t.channel), 1);
    t.memory.fail_at = 0;
    sent(&t);
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":41,\"method\":\"now\"}");
    assert_true(has(sent(&t), "\"id\":41,\"error\":{\"code\":-32600"));
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"now\"}");
    assert_string_equal(sent(&t), "now\n");
    toy_free(&t);
}

static void test_exchange_gone(void **state)
{
    (void)state;
    toy t = {0};
    assert_int_equal(toy_open(&t, (mcp_channel_options){0}), MCP_OK);
    const mcp_str message = MCP_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}");
    mcp_channel_receive(t.channel, 1, message, 1);
    mcp_channel_receive(t.channel, 2, message, 1);
    mcp_channel_exchange_gone(t.channel, 2, 2);
    assert_int_equal(t.n_cancelled, 1);
    mcp_channel_exchange_gone(t.channel, 3, 2);
    assert_int_equal(t.n_cancelled, 1);
    toy_free(&t);
    assert_int_equal(t.n_cancelled, 3);
}

static void test_find(void **state)
{
    (void)state;
    toy t = {0};
    assert_int_equal(toy_open(&t, (mcp_channel_options){0}), MCP_OK);
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0041\",\"method\":\"m\"}");
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901,\"method\":\"m\"}");
    static const struct {
        const char *id;
        int at; /* -1: none */
    } cases[] = {
        {"\"A\"", 0}, {"123456789012345678901", 1}, {"\"a\"", -1}, {"12345678901234567890", -1}};
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        mcp_json_doc *doc;
        assert_int_equal(mcp_json_parse(mcp_str_from(cases[i].id), NULL, NULL, &doc, NULL), MCP_OK);
        mcp__incoming *found = mcp__channel_find(t.channel, mcp_json_root(doc));
        assert_ptr_equal(found, cases[i].at < 0 ? NULL : t.kept[cases[i].at]);
        mcp_json_free(doc);
    }
    toy_free(&t);
}

static void test_oversized(void **state)
{
    (void)state;
    toy t = {0};
    assert_int_equal(toy_open(&t, (mcp_channel_options){.max_message = 64}), MCP_OK);
    mcp_channel_receive_oversized(t.channel, 5, MCP_STR("{\"jsonrpc\":\"2.0\",\"id\":9,\"x"),
                                  (mcp_str){0}, 1);
    const char *text = sent(&t);
    assert_true(has(text, "@5 {\"jsonrpc\":\"2.0\",\"id\":9,\"error\":{\"code\":-32600"));
    assert_true(has(text, "64"));
    assert_true(has(text, "max_message"));
    mcp_channel_receive_oversized(t.channel, 0, MCP_STR("{\"jsonr"), (mcp_str){0}, 1);
    assert_true(has(sent(&t), "\"id\":null"));
    /* Some peers write the id last. */
    mcp_channel_receive_oversized(t.channel, 0, MCP_STR("{\"jsonrpc\":\"2.0\",\"par"),
                                  MCP_STR("xxx\"},\"id\":7}"), 1);
    assert_true(has(sent(&t), "\"id\":7,\"error\":{\"code\":-32600"));
    /* a message of exactly the limit is accepted */
    char message[80];
    memset(message, ' ', sizeof(message));
    memcpy(message, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"now\"}", 39);
    mcp_channel_receive(t.channel, 0, (mcp_str){message, 64}, 1);
    assert_string_equal(sent(&t), "now\n");
    mcp_channel_receive(t.channel, 0, (mcp_str){message, 65}, 1);
    assert_true(has(sent(&t), "max_message"));
    toy_free(&t);
}

/* The information that a transport gets about the message that it sends. */
static void test_output_info(void **state)
{
    (void)state;
    static const struct {
        const char *message;
        mcp_output_kind kind;
        int code;
        bool malformed;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"now\"}", MCP_OUTPUT_RESPONSE, 0, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"error\"}", MCP_OUTPUT_RESPONSE, 7, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1}", MCP_OUTPUT_RESPONSE, -32600, true},
        {"nothing", MCP_OUTPUT_RESPONSE, -32700, true},
    };
    toy t = {0};
    assert_int_equal(toy_open(&t, (mcp_channel_options){0}), MCP_OK);
    for (size_t i = 0; i < MCP__COUNT(cases); i++) {
        take(&t, cases[i].message);
        assert_int_equal(t.info.kind, cases[i].kind);
        assert_int_equal(t.info.code, cases[i].code);
        assert_int_equal(t.info.malformed, cases[i].malformed);
    }
    mcp__channel_notify(t.channel, 0, MCP_STR("n"), MCP_STR("{}"));
    assert_int_equal(t.info.kind, MCP_OUTPUT_NOTIFICATION);
    assert_int_equal(t.info.code, 0);
    mcp__channel_request(t.channel, 0, MCP_STR("q"), MCP_STR("{}"), 0, on_answer, &t, NULL);
    assert_int_equal(t.info.kind, MCP_OUTPUT_REQUEST);
    toy_free(&t);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void test_close(void **state)
{
    (void)state;
    toy t = {0};
    assert_int_equal(toy_open(&t, (mcp_channel_options){.principal = "me"}), MCP_OK);
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}");
    t.deadline = 5; /* the role did not announce this deadline */
    assert_true(mcp_channel_deadline(t.channel) == INT64_MAX);
    mcp__channel_wake(t.channel);
    assert_int_equal(mcp_channel_deadline(t.channel), 5);
    mcp_channel_close(t.channel, 3);
    mcp_channel_close(t.channel, 4);
    assert_int_equal(t.n_closed, 1);
    assert_int_equal(t.n_cancelled, 1);
    assert_int_equal(take(&t, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"now\"}"), MCP_ECLOSED);
    assert_int_equal(mcp_channel_receive_oversized(t.channel, 0, MCP_STR("{"), (mcp_str){0}, 5),
                     MCP_ECLOSED);
    assert_int_equal(mcp__channel_notify(t.channel, 0, MCP_STR("n"), MCP_STR("{}")), MCP_ECLOSED);
    mcp_channel_tick(t.channel, 9);
    assert_int_equal(t.n_ticked, 0);
    assert_true(mcp_channel_deadline(t.channel) == INT64_MAX);
    mcp__incoming_reply(t.kept[0], MCP_STR("too late"), 0);
    t.n_kept = 0;
    assert_string_equal(sent(&t), "");
    toy_free(&t);
    assert_int_equal(t.n_closed, 1);
    mcp_channel_free(NULL);
}

static void test_requests_outlive_the_channel(void **state)
{
    (void)state;
    toy t = {.batches = true};
    assert_int_equal(toy_open(&t, (mcp_channel_options){0}), MCP_OK);
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}");
    take(&t, "[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"m\"},{\"jsonrpc\":\"2.0\",\"id\":3,"
             "\"method\":\"m\"}]");
    mcp_channel_free(t.channel);
    t.channel = NULL;
    assert_int_equal(t.n_cancelled, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_null(t.kept[i]->channel);
        mcp__incoming_reply(t.kept[i], MCP_STR("nobody hears this"), 0);
    }
    t.n_kept = 0;
    assert_string_equal(sent(&t), "");
    toy_free(&t);
}

/* ---- our requests ---------------------------------------------------------------------------- */

static int64_t ask(toy *t, uint64_t timeout)
{
    int64_t id = 0;
    assert_int_equal(mcp__channel_request(t->channel, 0, MCP_STR("q"), MCP_STR("{}"), timeout,
                                          on_answer, t, &id),
                     MCP_OK);
    return id;
}

static void test_outgoing(void **state)
{
    (void)state;
    toy t = {0};
    assert_int_equal(toy_open(&t, (mcp_channel_options){0}), MCP_OK);
    mcp_channel_tick(t.channel, 1000);
    assert_int_equal(ask(&t, 0), 1);
    assert_int_equal(ask(&t, 50), 2);
    assert_int_equal(ask(&t, 20), 3);
    assert_int_equal(ask(&t, UINT64_MAX), 4);
    assert_true(has(sent(&t), "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"q\",\"params\":{}}\n"));
    assert_int_equal(t.n_woken, 4);
    assert_int_equal(mcp_channel_deadline(t.channel), 1020);
    t.deadline = 1010;
    assert_int_equal(mcp_channel_deadline(t.channel), 1010);
    t.deadline = INT64_MAX;

    mcp_channel_tick(t.channel, 1019);
    assert_int_equal(t.n_answers, 0);
    mcp_channel_tick(t.channel, 1020);
    assert_int_equal(t.n_answers, 1);
    assert_int_equal(t.answers[0], MCP_ETIMEOUT);
    assert_int_equal(mcp_channel_deadline(t.channel), 1050);

    /* answers out of order, to an unknown request, and repeated */
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
    take(&t, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":1,\"message\":\"no\"}}");
    assert_int_equal(t.answers[1], MCP_OK);
    assert_int_equal(t.answers[2], MCP_EREMOTE);
    static const char *const stray[] = {"4", "\"1\"", "0", "-1", "99999999999999999999"};
    for (size_t i = 0; i < MCP__COUNT(stray); i++) {
        char message[100];
        snprintf(message, sizeof(message), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}",
                 stray[i]);
        take(&t, message);
    }
    assert_int_equal(t.n_answers, 3);
    assert_int_equal(t.channel->stray_answers, MCP__COUNT(stray));
    assert_string_equal(sent(&t), "");

    int64_t id = ask(&t, 0);
    assert_true(mcp__channel_forget(t.channel, id));
    assert_false(mcp__channel_forget(t.channel, id));
    assert_false(mcp__channel_fail(t.channel, id, MCP_ETIMEOUT, NULL));
    mcp_channel_close(t.channel, 2000);
    assert_int_equal(t.n_answers, 4);
    assert_int_equal(t.answers[3], MCP_ECLOSED);
    assert_int_equal(
        mcp__channel_request(t.channel, 0, MCP_STR("q"), MCP_STR("{}"), 0, on_answer, &t, NULL),
        MCP_ECLOSED);
    toy_free(&t);
}

static void test_outgoing_too_long(void **state)
{
    (void)state;
    toy t = {0};
    assert_int_equal(toy_open(&t, (mcp_channel_options){.max_reply = 60}), MCP_OK);
    const mcp_str params = MCP_STR("{\"a\":\"0123456789012345678901234567890123456789\"}");
    assert_int_equal(
        mcp__channel_request(t.channel, 0, MCP_STR("q"), params, 5, on_answer, &t, NULL),
        MCP_ELIMIT);
    assert_int_equal(mcp__channel_notify(t.channel, 0, MCP_STR("q"), params), MCP_ELIMIT);
    assert_string_equal(sent(&t), "");
    assert_true(mcp_channel_deadline(t.channel) == INT64_MAX);
    toy_free(&t);
    assert_int_equal(t.n_answers, 0);
}

static void test_writable(void **state)
{
    (void)state;
    toy t = {0};
    assert_int_equal(toy_open(&t, (mcp_channel_options){0}), MCP_OK);
    mcp_channel_set_writable(t.channel, true, 1);
    assert_int_equal(t.n_ticked, 0);
    mcp_channel_set_writable(t.channel, false, 2);
    assert_int_equal(t.n_ticked, 0);
    mcp_channel_set_writable(t.channel, true, 3);
    assert_int_equal(t.n_ticked, 1);
    toy_free(&t);
}

/* ---- every allocation failing ---------------------------------------------------------------- */

static const char *const script[] = {
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"now\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"an id that is too long for a short key, by some "
    "bytes\",\"method\":\"m\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"error\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":7}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}",
    "[{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"m\"},{},{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":"
    "\"error\"}]",
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"x\":",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
};

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        toy t = {.batches = true, .memory = {.fail_at = n}};
        int rc = toy_open(&t, (mcp_channel_options){.principal = "me"});
        if (rc == MCP_OK) {
            mcp__channel_request(t.channel, 0, MCP_STR("q"), MCP_STR("{}"), 9, on_answer, &t, NULL);
            for (size_t i = 0; i < MCP__COUNT(script); i++) {
                rc = take(&t, script[i]);
                assert_true(rc == MCP_OK || (rc == MCP_ENOMEM && t.memory.calls >= n));
            }
            mcp_channel_receive_oversized(t.channel, 0, MCP_STR("{\"id\":8,"), (mcp_str){0}, 2);
            mcp_channel_tick(t.channel, 100);
            for (size_t i = 0; i < t.n_kept; i++)
                mcp__incoming_reply(t.kept[i], MCP_STR("later"), 0);
            t.n_kept = 0;
            assert_int_equal(mcp_channel_in_flight(t.channel), 0);
            sent(&t);
            if (t.memory.calls >= n) {
                take(&t, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"now\"}");
                assert_string_equal(sent(&t), "now\n");
            }
        } else {
            assert_int_equal(rc, MCP_ENOMEM);
            t.channel = NULL;
        }
        bool reached = t.memory.calls >= n;
        toy_free(&t);
        if (!reached)
            break;
        assert_true(n < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_out_of_order),
        cmocka_unit_test(test_ids_in_use),
        cmocka_unit_test(test_keys_of_running_requests),
        cmocka_unit_test(test_exchange_gone),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_oversized),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_requests_outlive_the_channel),
        cmocka_unit_test(test_outgoing),
        cmocka_unit_test(test_outgoing_too_long),
        cmocka_unit_test(test_writable),
        cmocka_unit_test(test_output_info),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
