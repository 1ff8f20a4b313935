/* A server whose peers do random things at random times: calls that request input, become tasks,
 * wait, and are answered late; expected and unexpected replies; cancellations, lost exchanges,
 * closed channels, rebuilds, time-outs. Everything depends on a seed, so that a failure can be
 * repeated: `test_fault_storm SEED [ROUNDS]` prints each seed before its round.
 *
 * The invariants: no memory is leaked or used after it is freed (the sanitizer checks this), and
 * every request that was not cancelled gets exactly one answer, at the latest when all handlers
 * have ended and all time-outs have expired. If allocations fail randomly, it gets at most one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/input.h>
#include <mcp/mcp.h>
#include <mcp/provider.h>
#include <mcp/sys/server.h>
#include <mcp/task.h>

#include "support/failalloc.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CAPABILITIES                                                                      \
    "{\"roots\":{},\"sampling\":{\"tools\":{}},\"elicitation\":{\"form\":{},\"url\":{}}," \
    "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
#define MODERN_META                                               \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/logLevel\":\"debug\","             \
    "\"io.modelcontextprotocol/clientCapabilities\":" CAPABILITIES

enum { PEERS = 4, IDS = 4096, EXCHANGES = 5, SEEN = 16, TEXT = 32 * 1024, TOKEN = 4242 };

/* The state of one request. */
typedef struct asked {
    bool excused; /* it need not get an answer */
    unsigned exchange, answers;
} asked;

typedef struct peer {
    mcp_channel *channel;
    bool modern, closed;
    int next_id;
    asked ids[IDS];
    int64_t questions[SEEN]; /* the latest ids of the server's requests */
    unsigned n_questions;
} peer;

typedef struct storm {
    bool failing; /* allocations fail randomly */
    uint64_t seed;
    uint64_t dice;
    failalloc memory;
    mcp_allocator allocator;
    mcp_server *server;
    peer peers[PEERS];
    int64_t now, calendar;
    mcp_request *kept[IDS];
    size_t n_kept;
    char tasks[SEEN][40], states[SEEN][TEXT / 2]; /* the latest ones */
    unsigned n_tasks, n_states;
    mcp_host host;
    void (*timer)(void *arg);
    void *timer_arg;
} storm;

/* Global, because handlers and the peers' send functions get only their own pointer. */
static storm s;

static unsigned dice(unsigned sides)
{
    s.dice ^= s.dice << 13;
    s.dice ^= s.dice >> 7;
    s.dice ^= s.dice << 17;
    return (unsigned)(s.dice % sides);
}

/* ---- handlers -------------------------------------------------------------------------------- */

static void forget(const mcp_request *req)
{
    for (size_t i = 0; i < s.n_kept; i++) {
        if (s.kept[i] == req) {
            s.kept[i] = s.kept[--s.n_kept];
            return;
        }
    }
}

static void on_cancel(mcp_request *req, void *user)
{
    (void)user;
    if (dice(2))
        return;
    forget(req);
    mcp_reply_finish(req, MCP_ECANCELLED);
}

static int ask_one(mcp_request *req, const char *key)
{
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}";
    const mcp_json *value;
    mcp_elicited elicited;
    switch (dice(4)) {
    case 0: return mcp_request_roots(req, key, &value);
    case 1:
        return mcp_request_elicit(
            req, key, MCP_OPTIONS(mcp_elicit, .message = "m", .schema = schema), &elicited);
    case 2:
        return mcp_request_sample(req, key, MCP_OPTIONS(mcp_sample, .text = "t", .max_tokens = 3),
                                  &value);
    default:
        return mcp_request_elicit(
            req, key, MCP_OPTIONS(mcp_elicit, .message = "m", .url = "https://a/b"), &elicited);
    }
}

/* Makes up to three input requests; sometimes the handler continues although the client does not
 * support one. */
static int ask(mcp_request *req)
{
    bool needed = false;
    for (unsigned n = 1 + dice(3); n > 0; n--) {
        char key[8];
        snprintf(key, sizeof(key), "k%u", dice(4));
        int rc = ask_one(req, key);
        if (rc < 0)
            return dice(4) ? rc : MCP_OK;
        needed = needed || rc == MCP_INPUT_REQUIRED;
    }
    return needed ? MCP_INPUT_REQUIRED : MCP_OK;
}

static int keep(mcp_request *req)
{
    assert_true(s.n_kept < COUNT(s.kept));
    mcp_request_on_cancel(req, on_cancel, NULL);
    s.kept[s.n_kept++] = req;
    return MCP_PENDING;
}

/* Runs one step of a handler. Returns false to continue with another step; otherwise *ret is the
 * handler's result. */
static bool step(mcp_request *req, int *ret)
{
    switch (dice(10)) {
    case 0: mcp_reply_text(req, "x"), *ret = MCP_OK; return true;
    case 1: *ret = ask(req); return true;
    case 2: return (*ret = ask(req)) != MCP_OK;
    case 3:
        *ret =
            mcp_request_task(req, MCP_OPTIONS(mcp_task_options, .ttl_ms = dice(2) ? 1000 : 100000));
        return *ret < 0;
    case 4: *ret = keep(req); return true;
    case 5: mcp_request_progress(req, dice(1000), 0, "p"); return false;
    case 6: mcp_request_task_message(req, "m"); return false;
    case 7:
        mcp_request_set_state(req, MCP_STR("state"));
        mcp_request_once(req, "o");
        return false;
    case 8:
        mcp_reply_meta(req, "a/b", MCP_STR("1"));
        mcp_reply_structured(req, MCP_STR("{\"a\":1}"));
        return false;
    default:
        mcp_request_logf(req, MCP_LOG_ERROR, "l", "t");
        *ret = mcp_reply_fail(req, 77, "no");
        return dice(3) == 0;
    }
}

static int handle(mcp_request *req)
{
    int rc;
    while (!step(req, &rc))
        ;
    return rc;
}

/* `user` must outlive everything that was built with it. */
static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    assert_true(!user || *(int *)user == TOKEN);
    return handle(req);
}

static int get(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return handle(req);
}

static int read_resource(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    return handle(req);
}

/* ---- the server ------------------------------------------------------------------------------ */

static mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *arg), void *arg, void *user)
{
    (void)user, (void)ms;
    s.timer = fn;
    s.timer_arg = arg;
    return malloc(1);
}

static void timer_stop(mcp_host_timer *timer, void *user)
{
    (void)user;
    s.timer = NULL;
    free(timer);
}

static int fill(void *bytes, size_t len, void *user)
{
    (void)user;
    for (size_t i = 0; i < len; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)dice(256);
    return MCP_OK;
}

static int64_t calendar(void *user)
{
    (void)user;
    return s.calendar;
}

static void release_token(void *user)
{
    *(int *)user = 0;
    free(user);
}

static int build(mcp_server *server, void *user, mcp_error *error)
{
    int *token = malloc(sizeof(*token));
    (void)user;
    *token = TOKEN;
    int rc = mcp_server_on_release(server, release_token, token);
    if (rc < 0) {
        free(token);
        return rc;
    }
    rc = mcp_server_add_tool(
        server, MCP_OPTIONS(mcp_tool, .name = "b", .call = call, .task_support = MCP_TASK_OPTIONAL),
        token, error);
    return dice(5) == 0 ? MCP_EIO : rc;
}

static void open_server(void)
{
    s.host =
        (mcp_host){.size = sizeof(s.host), .timer_start = timer_start, .timer_stop = timer_stop};
    assert_int_equal(
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1", .logging = true,
                                   .allocator = &s.allocator, .random = fill, .clock = calendar,
                                   .coalesce_ms = 10, .handler_timeout_ms = 2000,
                                   .input_timeout_ms = 2500, .no_rate_limits = true,
                                   .host = dice(2) ? &s.host : NULL),
                       &s.server, NULL),
        MCP_OK);
    assert_int_equal(mcp_server_add_tool(s.server,
                                         MCP_OPTIONS(mcp_tool, .name = "t", .call = call,
                                                     .task_support = MCP_TASK_OPTIONAL),
                                         NULL, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_add_tool(s.server,
                                         MCP_OPTIONS(mcp_tool, .name = "q", .call = call,
                                                     .task_support = MCP_TASK_REQUIRED),
                                         NULL, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_add_prompt(
                         s.server, MCP_OPTIONS(mcp_prompt, .name = "p", .get = get), NULL, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_add_resource(s.server,
                                             MCP_OPTIONS(mcp_resource, .uri = "x:/r", .name = "r",
                                                         .read = read_resource),
                                             NULL, NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_server_add_template(s.server,
                                MCP_OPTIONS(mcp_resource_template, .uri_template = "x:/t/{a}",
                                            .name = "t", .read = read_resource),
                                NULL, NULL),
        MCP_OK);
}

/* ---- peers ----------------------------------------------------------------------------------- */

static void note_text(char *to, size_t room, const mcp_json *value, unsigned *n)
{
    mcp_str text = mcp_json_string(value);
    if (!text.len || text.len >= room)
        return;
    memcpy(to, text.ptr, text.len);
    to[text.len] = '\0';
    ++*n;
}

static void note_answer(peer *p, const mcp_json *message, mcp_str text)
{
    int64_t id = mcp_json_int(mcp_json_get(message, "id"), -1);
    const mcp_json *result = mcp_json_get(message, "result");
    const mcp_json *task = mcp_json_get(result, "task") ? mcp_json_get(result, "task") : result;
    /* A message that cannot be parsed for lack of memory is answered without an id. */
    if (s.failing && mcp_json_is(mcp_json_get(message, "id"), MCP_JSON_NULL))
        return;
    if (id < 1 || id >= p->next_id || ++p->ids[id].answers > 1)
        fail_msg("seed %llu: an answer to nothing, or another: %.*s", (unsigned long long)s.seed,
                 (int)text.len, text.ptr);
    note_text(s.tasks[s.n_tasks % SEEN], sizeof(s.tasks[0]), mcp_json_get(task, "taskId"),
              &s.n_tasks);
    note_text(s.states[s.n_states % SEEN], sizeof(s.states[0]),
              mcp_json_get(result, "requestState"), &s.n_states);
}

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    mcp_json_doc *doc = NULL;
    (void)channel, (void)exchange;
    if (mcp_json_parse(message, NULL, NULL, &doc, NULL) != MCP_OK)
        fail_msg("seed %llu: no JSON: %.*s", (unsigned long long)s.seed, (int)message.len,
                 message.ptr);
    const mcp_json *root = mcp_json_root(doc);
    const mcp_json *id = mcp_json_get(root, "id");
    bool question = mcp_json_get(root, "method") != NULL;
    if (id && question)
        p->questions[p->n_questions++ % SEEN] = mcp_json_int(id, 0);
    else if (id && !mcp_json_is(id, MCP_JSON_STRING))
        note_answer(p, root, message);
    mcp_json_free(doc);
}

static void say(peer *p, unsigned exchange, const char *message)
{
    if (p->channel)
        mcp_channel_receive(p->channel, exchange, mcp_str_from(message), s.now);
}

static void connect_peer(peer *p, bool principal)
{
    static const char *const legacy[] = {"2025-11-25", "2025-06-18", "2025-03-26"};
    unsigned kind = dice(4);
    char hello[1024];
    *p = (peer){.modern = kind == COUNT(legacy), .next_id = 1};
    if (mcp_server_connect(s.server,
                           MCP_OPTIONS(mcp_channel_options, .send = on_send, .user = p,
                                       .principal = principal ? "p" : NULL, .shared_stream = true,
                                       .max_in_flight = 50),
                           &p->channel, NULL) != MCP_OK ||
        p->modern)
        return;
    snprintf(hello, sizeof(hello),
             "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"%s\",\"capabilities\":" CAPABILITIES
             ",\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
             legacy[kind]);
    say(p, 0, hello);
    say(p, 0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

/* Returns a random answer to an input request, valid or not. */
static const char *some_result(void)
{
    static const char any[] =
        "{\"roots\":[],\"action\":\"accept\",\"role\":\"user\",\"model\":\"m\","
        "\"content\":{\"a\":\"b\"}}";
    static const char *const results[] = {
        "{\"roots\":[]}",
        "{\"action\":\"accept\",\"content\":{\"a\":\"b\"}}",
        "{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\",\"text\":\"t\"}}",
        "{\"action\":\"decline\"}",
        "{}",
    };
    return dice(2) ? any : results[dice(COUNT(results))];
}

/* Sends METHOD with PARAMS and a new id. */
static void request(peer *p, const char *method, const char *params)
{
    static char message[TEXT];
    if (!p->channel || p->next_id == IDS)
        return;
    int id = p->next_id++;
    unsigned exchange = dice(EXCHANGES);
    p->ids[id] = (asked){.exchange = exchange, .excused = p->closed};
    int len = snprintf(message, sizeof(message),
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{%s,\"_meta\":{"
                       "\"progressToken\":1%s}}}",
                       id, method, params, p->modern ? "," MODERN_META : "");
    assert_in_range(len, 1, sizeof(message) - 1);
    say(p, exchange, message);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void call_something(peer *p)
{
    static const struct {
        const char *method, *params;
    } calls[] = {
        {"tools/call", "\"name\":\"t\""},       {"tools/call", "\"name\":\"b\""},
        {"tools/call", "\"name\":\"q\""},       {"prompts/get", "\"name\":\"p\""},
        {"resources/read", "\"uri\":\"x:/r\""}, {"resources/read", "\"uri\":\"x:/t/a\""},
    };
    static char params[TEXT * 3 / 4];
    unsigned i = dice(COUNT(calls));
    int len = snprintf(params, sizeof(params), "%s", calls[i].params);
    if (p->modern && s.n_states && dice(2))
        len += snprintf(params + len, sizeof(params) - (size_t)len, ",\"requestState\":\"%s\"",
                        s.states[dice(s.n_states < SEEN ? s.n_states : SEEN)]);
    if (p->modern && dice(2))
        snprintf(params + len, sizeof(params) - (size_t)len,
                 ",\"inputResponses\":{\"k0\":%s,\"k%u\":%s}", some_result(), 1 + dice(3),
                 some_result());
    else if (dice(4) == 0)
        snprintf(params + len, sizeof(params) - (size_t)len, ",\"task\":{\"ttl\":2000}");
    request(p, calls[i].method, params);
}

static const char *some_task(void)
{
    return s.n_tasks ? s.tasks[dice(s.n_tasks < SEEN ? s.n_tasks : SEEN)] : "x";
}

static void use_task(peer *p)
{
    static const char *const methods[] = {"tasks/get", "tasks/result", "tasks/cancel", "tasks/list",
                                          "tasks/update"};
    char params[2048];
    snprintf(params, sizeof(params),
             "\"taskId\":\"%s\",\"inputResponses\":{\"k0\":%s,\"k1\":%s,\"k2\":%s,\"k3~2\":%s}",
             some_task(), some_result(), some_result(), some_result(), some_result());
    request(p, methods[dice(COUNT(methods))], params);
}

static void listen(peer *p)
{
    char params[256];
    if (!p->modern || p->next_id == IDS)
        return;
    int id = p->next_id;
    snprintf(params, sizeof(params),
             "\"notifications\":{\"toolsListChanged\":true,\"taskIds\":[\"%s\",\"%s\"]}",
             some_task(), some_task());
    request(p, "subscriptions/listen", params);
    p->ids[id].excused = true; /* it stays open */
}

static void answer(peer *p)
{
    char message[512];
    if (!p->n_questions)
        return;
    long long id = (long long)p->questions[dice(p->n_questions < SEEN ? p->n_questions : SEEN)];
    if (dice(7))
        snprintf(message, sizeof(message), "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%s}", id,
                 some_result());
    else
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":-1,\"message\":\"no\"}}",
                 id);
    say(p, 0, message);
}

static void cancel(peer *p)
{
    char message[256];
    int id = p->next_id - 1 - (int)dice(6);
    if (id < 1)
        return;
    p->ids[id].excused = true;
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
             "\"params\":{\"requestId\":%d}}",
             id);
    say(p, 0, message);
}

static void lose_exchange(peer *p)
{
    unsigned exchange = dice(EXCHANGES);
    if (!p->channel)
        return;
    for (int id = 1; id < p->next_id; id++)
        p->ids[id].excused |= p->ids[id].exchange == exchange;
    mcp_channel_exchange_gone(p->channel, exchange, s.now);
}

static void disconnect(peer *p)
{
    if (!p->channel || dice(6))
        return;
    for (int id = 1; id < p->next_id; id++)
        p->ids[id].excused = true;
    p->closed = dice(2);
    if (p->closed)
        mcp_channel_close(p->channel, s.now);
    if (!p->closed || dice(2)) {
        mcp_channel_free(p->channel);
        connect_peer(p, p - s.peers > 1);
    }
}

static void finish_some(peer *p)
{
    static const int codes[] = {MCP_OK, MCP_EIO, MCP_ENOTFOUND};
    (void)p;
    if (!s.n_kept)
        return;
    mcp_request *req = s.kept[dice((unsigned)s.n_kept)];
    forget(req);
    mcp_reply_finish(req, dice(2) ? ask(req) : codes[dice(COUNT(codes))]);
}

static void pass(int64_t ms)
{
    s.now += ms;
    s.calendar += ms;
    for (size_t i = 0; i < PEERS; i++) {
        if (s.peers[i].channel)
            mcp_channel_tick(s.peers[i].channel, s.now);
    }
}

static void pass_some(peer *p)
{
    (void)p;
    pass(dice(3) ? 5 : 3000);
}

static void rebuild(peer *p)
{
    (void)p;
    mcp_server_rebuild(s.server, build, NULL, NULL);
}

static void fire(peer *p)
{
    (void)p;
    void (*timer)(void *arg) = s.timer;
    s.timer = NULL;
    if (timer)
        timer(s.timer_arg);
}

static void end_tasks(peer *p)
{
    (void)p;
    if (dice(10) == 0)
        mcp_server_cancel_tasks(s.server);
    else
        mcp_server_elicitation_complete(s.server, "x");
}

static void one_thing(void)
{
    static void (*const things[])(peer *) = {
        call_something, call_something, call_something, call_something, answer,
        answer,         answer,         use_task,       use_task,       use_task,
        listen,         cancel,         lose_exchange,  pass_some,      disconnect,
        finish_some,    finish_some,    rebuild,        fire,           end_tasks,
    };
    peer *p = &s.peers[dice(PEERS)];
    things[dice(COUNT(things))](p);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Ends all handlers, and lets all time-outs expire. */
static void calm_down(void)
{
    for (int i = 0; i < 4; i++) {
        while (s.n_kept)
            mcp_reply_finish(s.kept[--s.n_kept], MCP_OK);
        mcp_server_cancel_tasks(s.server);
        pass(3000);
    }
}

static void check_answers(void)
{
    for (size_t i = 0; i < PEERS; i++) {
        const peer *p = &s.peers[i];
        for (int id = 1; p->channel && id < p->next_id; id++) {
            if (!p->ids[id].excused && p->ids[id].answers != 1)
                fail_msg("seed %llu, peer %zu: request %d has %u answers",
                         (unsigned long long)s.seed, i, id, p->ids[id].answers);
        }
    }
}

static void play(uint64_t seed, bool failing)
{
    memset(&s, 0, sizeof(s));
    s.dice = seed * 0x9E3779B97F4A7C15u | 1;
    s.failing = failing;
    s.seed = seed;
    s.now = 1;
    s.calendar = 1767225600000;
    s.allocator = failalloc_allocator(&s.memory);
    open_server();
    for (size_t i = 0; i < PEERS; i++)
        connect_peer(&s.peers[i], i > 1);
    for (unsigned n = 200 + dice(400); n > 0; n--) {
        if (failing && dice(3) == 0)
            s.memory.fail_at = s.memory.calls + 1 + dice(20);
        one_thing();
        s.memory.fail_at = 0;
    }
    if (dice(2)) {
        calm_down();
        if (!failing)
            check_answers();
    }
    for (size_t i = 0; i < PEERS; i++)
        mcp_channel_free(s.peers[i].channel);
    while (s.n_kept)
        mcp_reply_finish(s.kept[--s.n_kept], MCP_OK);
    mcp_server_free(s.server);
    if (s.memory.live)
        fail_msg("seed %llu: %zu blocks were not given back", (unsigned long long)seed,
                 s.memory.live);
}

static uint64_t first_seed = 1, rounds = 150;
static bool tells; /* print each seed before its round, to identify the one of a crash */

static void play_all(bool failing)
{
    for (uint64_t seed = first_seed; seed < first_seed + rounds; seed++) {
        if (tells)
            print_message("# seed %llu\n", (unsigned long long)seed);
        play(seed, failing);
    }
}

static void test_storm(void **state)
{
    (void)state;
    play_all(false);
}

static void test_storm_without_memory(void **state)
{
    (void)state;
    play_all(true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storm),
        cmocka_unit_test(test_storm_without_memory),
    };
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10), rounds = 1, tells = true;
    if (argc > 2)
        rounds = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
