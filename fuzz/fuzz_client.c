/* fuzz_client.c: a client whose server is the input. The first byte selects the transport and the
 * revision. Each line is a message, in which `$` stands for the id of the client's newest request.
 * Exceptions: a line that begins with "@" is a directive (see `directives`), and "!" ends the
 * exchange with an HTTP status, whose body is the rest of the line.
 *
 * For any input, each output is one line of JSON-RPC, every call has exactly one outcome, and all
 * memory is freed.
 */
#include <stdio.h>
#include <stdlib.h>

#include <mcp/client.h>
#include <mcp/sys/client.h>

#include "../tests/support/failalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_CALLS = 64, MOST_QUESTIONS = 8, MOST_LINE = 8192 };

typedef struct peer {
    mcp_client *client;
    mcp_channel *channel;
    int64_t now;
    bool http;
    unsigned newest; /* id of the newest request */
    size_t made, done;
    mcp_call_id last;
    mcp_question *questions[MOST_QUESTIONS];
    size_t n_questions;
    mcp_subscription *subscription;
} peer;

static void check(bool ok)
{
    if (!ok)
        abort();
}

/* ---- callbacks of the client ----------------------------------------------------------------- */

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    const mcp_json_limits limits = {.size = sizeof(limits), .max_depth = 1024};
    mcp_json_doc *doc = NULL;
    mcp_str name, value;
    (void)channel;
    check(!memchr(message.ptr, '\n', message.len));
    check(mcp_json_parse(message, &limits, NULL, &doc, NULL) == MCP_OK);
    const mcp_json *root = mcp_json_root(doc);
    mcp_client_output output = *mcp_client_sending(p->client);
    if (output.kind == MCP_OUTPUT_REQUEST) {
        check(p->http ? exchange != 0 : exchange == 0);
        check(mcp_str_eq(mcp_json_string(mcp_json_get(root, "method")), output.method));
        p->newest = (unsigned)mcp_json_int(mcp_json_get(root, "id"), 0);
    }
    for (size_t i = 0; p->http && mcp_client_header(p->client, i, &name, &value); i++) {
        for (size_t k = 0; k < value.len; k++)
            check(value.ptr[k] >= 0x20 && value.ptr[k] < 0x7f);
    }
    mcp_json_free(doc);
}

static void on_abandon(mcp_channel *channel, mcp_exchange exchange, void *user)
{
    (void)channel, (void)user;
    check(exchange != 0);
}

static bool on_fall_back(mcp_channel *channel, void *user)
{
    (void)channel;
    return ((peer *)user)->made % 2;
}

static void on_done(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user)
{
    peer *p = user;
    (void)client, (void)result;
    check((rc == MCP_OK) == (error == NULL));
    p->done++;
}

static void on_progress(mcp_client *client, mcp_call_id call, const mcp_progress *progress,
                        void *user)
{
    (void)client, (void)progress, (void)user;
    check(call != 0);
}

static void on_question(mcp_client *client, mcp_question *question, void *user)
{
    peer *p = user;
    (void)client;
    if (p->n_questions < MOST_QUESTIONS)
        p->questions[p->n_questions++] = question;
    else
        check(mcp_question_fail(question, 0, "too much") == MCP_OK);
}

static void on_change(mcp_client *client, mcp_subscription *s, mcp_change change, mcp_str uri,
                      void *user)
{
    (void)client, (void)s, (void)change, (void)uri, (void)user;
}

/* ---- what the program does ------------------------------------------------------------------- */

static mcp_call_options options_of(peer *p)
{
    return (mcp_call_options){.size = sizeof(mcp_call_options),
                              .done = on_done,
                              .progress = p->made % 2 ? on_progress : NULL,
                              .user = p};
}

static void count(peer *p, int rc)
{
    p->made += rc == MCP_OK;
}

static void call_tool(peer *p)
{
    const mcp_call_options o = options_of(p);
    count(p, mcp_client_call_tool(p->client, "t", "{\"a\":\"b c\",\"o\":{\"d\":1}}", &o, &p->last));
}
static void list_tools(peer *p)
{
    const mcp_call_options o = options_of(p);
    count(p, mcp_client_list_all(p->client, "tools/list", NULL, &o, &p->last));
}
static void read_uri(peer *p)
{
    const mcp_call_options o = options_of(p);
    count(p, mcp_client_read(p->client, "a:1", &o, &p->last));
}
static void ping(peer *p)
{
    const mcp_call_options o = options_of(p);
    count(p, mcp_client_ping(p->client, &o, &p->last));
}
static void take_back(peer *p)
{
    (void)mcp_client_cancel(p->client, p->last, "no");
}
static void subscribe(peer *p)
{
    static const char *const uris[] = {"a:1", "b:2"};
    if (p->subscription)
        (void)mcp_subscription_set_uris(p->subscription, uris + 1, 1);
    else
        (void)mcp_client_subscribe(p->client,
                                   MCP_OPTIONS(mcp_subscription_options, .uris = uris, .n_uris = 2,
                                               .tools = true, .changed = on_change),
                                   &p->subscription);
}
static void unsubscribe(peer *p)
{
    mcp_subscription_end(p->subscription);
    p->subscription = NULL;
}
static mcp_question *take_question(peer *p)
{
    return p->n_questions ? p->questions[--p->n_questions] : NULL;
}
static void accept_it(peer *p)
{
    mcp_question *q = take_question(p);
    bool form = q && mcp_question_kind_of(q) == MCP_QUESTION_FORM;
    if (q && mcp_question_accept(q, form ? "{\"a\":1}" : NULL, NULL) != MCP_OK)
        check(mcp_question_fail(q, 1, NULL) == MCP_OK);
}
static void decline(peer *p)
{
    mcp_question *q = take_question(p);
    if (q && mcp_question_decline(q) != MCP_OK)
        check(mcp_question_fail(q, 0, "\xff") == MCP_OK);
}
static void pass_time(peer *p)
{
    p->now += 100;
    if (p->channel)
        mcp_channel_tick(p->channel, p->now);
}
static void pass_long_time(peer *p)
{
    p->now += 400000;
    if (p->channel)
        mcp_channel_tick(p->channel, p->now);
}
static void connect_again(peer *p)
{
    const mcp_channel_options channel = {.size = sizeof(channel),
                                         .send = on_send,
                                         .user = p,
                                         .max_message = MOST_LINE / 2,
                                         .max_in_flight = 4,
                                         .max_batch = 6};
    const mcp_transport_options transport = {.size = sizeof(transport),
                                             .exchanges = p->http,
                                             .abandon = on_abandon,
                                             .fall_back = on_fall_back};
    if (p->channel)
        mcp_client_disconnected(p->client, NULL);
    check(mcp_client_connect_transport(p->client, &channel, &transport, &p->channel, NULL) ==
          MCP_OK);
}
static void authorize(peer *p)
{
    (void)mcp_client_set_authorization(p->client, p->made % 2 ? "a" : NULL);
}

static void (*const directives['z' + 1])(peer *p) = {
    ['c'] = call_tool, ['l'] = list_tools, ['r'] = read_uri,       ['p'] = ping,
    ['x'] = take_back, ['s'] = subscribe,  ['u'] = unsubscribe,    ['a'] = accept_it,
    ['d'] = decline,   ['t'] = pass_time,  ['T'] = pass_long_time, ['n'] = connect_again,
    ['w'] = authorize,
};

/* ---- what the server sends ------------------------------------------------------------------- */

static void hear(peer *p, mcp_str line)
{
    static char text[MOST_LINE + 64];
    size_t at = 0;
    for (size_t i = 0; i < line.len && at < MOST_LINE; i++) {
        if (line.ptr[i] == '$')
            at += (size_t)snprintf(text + at, 16, "%u", p->newest);
        else
            text[at++] = line.ptr[i];
    }
    mcp_exchange exchange = p->http ? p->newest : 0;
    if (at > 4 && text[0] == '!') {
        mcp_exchange_end end = {.size = sizeof(end), .body = {text + 4, at - 4}};
        for (int i = 1; i < 4; i++)
            end.status = end.status * 10 + (text[i] - '0');
        end.session = p->now % 2;
        mcp_client_exchange_ended(p->client, exchange, &end, p->now);
    } else {
        mcp_channel_receive(p->channel, exchange, (mcp_str){text, at}, p->now);
    }
}

static void take_line(peer *p, mcp_str line)
{
    if (line.len >= 2 && line.ptr[0] == '@') {
        unsigned char c = (unsigned char)line.ptr[1];
        if (c <= 'z' && directives[c] && p->made < MOST_CALLS)
            directives[c](p);
    } else {
        hear(p, line);
    }
    p->now++;
    for (int i = 0; i < 8 && mcp_channel_deadline(p->channel) <= p->now; i++)
        mcp_channel_tick(p->channel, p->now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const revisions[] = {NULL,         "2026-07-28", "2025-11-25",
                                            "2025-03-26", "2024-11-05", "2025-06-18"};
    failalloc memory = {0};
    mcp_allocator allocator = failalloc_allocator(&memory);
    if (!size)
        return 0;
    peer p = {.now = 1, .http = data[0] & 1};
    mcp_client_options options = {.size = sizeof(options),
                                  .name = "fuzz",
                                  .version = "1",
                                  .user = &p,
                                  .revision = revisions[(data[0] >> 1) % 6],
                                  .elicit_form = on_question,
                                  .elicit_url = on_question,
                                  .sample = on_question,
                                  .roots = on_question,
                                  .max_pages = 8,
                                  .max_rounds = 4,
                                  .max_questions = 4,
                                  .max_cache = 2048,
                                  .max_list = 4096,
                                  .allocator = &allocator};
    check(mcp_client_new(&options, &p.client, NULL) == MCP_OK);
    connect_again(&p);
    for (size_t at = 1; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t len = end ? (size_t)(end - data) - at : size - at;
        take_line(&p, (mcp_str){(const char *)data + at, len});
        at += len + 1;
    }
    mcp_client_free(p.client);
    check(p.done == p.made);
    check(memory.live == 0);
    return 0;
}
