/* pair.h: a server in front of another one, for fuzzing. The front server forwards to the other.
 * The pair accepts any messages and has no assertions about them. If there is no other server, the
 * messages to it are dropped. The peer answers the questions that it gets as results. */
#ifndef MCP_TESTS_PAIR_H
#define MCP_TESTS_PAIR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/mcp.h>
#include <mcp/sys/client.h>
#include <mcp/sys/server.h>

#include "upstream.h"

typedef enum pair_treat { PAIR_WHOLE = 0, PAIR_CUT, PAIR_TWICE } pair_treat;

enum { PAIR_MESSAGES = 512, PAIR_SHORT_MS = 15, PAIR_STATE = 16384 };

#define PAIR_CAPABILITIES                                                                 \
    "{\"elicitation\":{\"form\":{},\"url\":{}},\"roots\":{},\"sampling\":{\"tools\":{}}," \
    "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"

typedef struct pair {
    mcp_server *front, *other;
    mcp_channel *peer;  /* channel of the front server's peer */
    mcp_channel *here;  /* channel of the provider's client; NULL if no session is open */
    mcp_channel *there; /* channel of the other server */
    mcp_client *client;
    int64_t now;
    uint64_t answered;
    pair_treat treat;
    void (*soon)(void *arg); /* a short timer, or NULL */
    void *soon_arg;
    char state[PAIR_STATE]; /* the last requestState, or "" */
    const char *request;    /* the request that it belongs to */
    size_t states;          /* number of states that were sent back */
    struct {
        char *text;
        size_t len;
        bool to_other;
    } queue[PAIR_MESSAGES]; /* further messages are dropped */
    size_t first, n;
} pair;

static void pair_put(pair *p, mcp_str text, bool to_other)
{
    size_t len = p->treat == PAIR_CUT ? text.len / 2 : text.len;
    for (int i = 0; p->other && i < (p->treat == PAIR_TWICE ? 2 : 1) && p->n < PAIR_MESSAGES; i++) {
        char *copy = malloc(len + 1);
        if (!copy)
            abort();
        memcpy(copy, text.ptr, len);
        p->queue[p->n].text = copy;
        p->queue[p->n].len = len;
        p->queue[p->n++].to_other = to_other;
    }
}

static void pair_send_here(mcp_channel *channel, mcp_exchange exchange, mcp_str text, void *user)
{
    (void)channel, (void)exchange;
    pair_put(user, text, true);
}

static void pair_send_there(mcp_channel *channel, mcp_exchange exchange, mcp_str text, void *user)
{
    (void)channel, (void)exchange;
    pair_put(user, text, false);
}

/* Keeps the requestState of a result, and the request that it belongs to. */
static void pair_keep_state(pair *p, const mcp_json *message)
{
    static const char *const requests[] = {
        [101] = "resources/read\",\"params\":{\"uri\":\"mcp+up:x:1\"",
        [103] = "tools/call\",\"params\":{\"name\":\"up_t\"",
        [106] = "prompts/get\",\"params\":{\"name\":\"up_p\""};
    int64_t id = mcp_json_int(mcp_json_get(message, "id"), 0);
    const mcp_json *state = mcp_json_get(mcp_json_get(message, "result"), "requestState");
    mcp_str text = mcp_json_string(state);
    if (text.len && text.len < sizeof(p->state))
        snprintf(p->state, sizeof(p->state), "%s", text.ptr);
    if (id > 0 && id <= 106 && requests[id])
        p->request = requests[id]; /* the ids of pair_ask_all() */
}

/* Checks that each output of the front server is one line of JSON, for any input. */
static void pair_answer(mcp_channel *channel, mcp_exchange exchange, mcp_str text, void *user)
{
    mcp_json_doc *doc = NULL;
    (void)channel, (void)exchange;
    const mcp_json_limits limits = {.size = sizeof(limits), .max_depth = 1024};
    if (memchr(text.ptr, '\n', text.len) ||
        mcp_json_parse(text, &limits, NULL, &doc, NULL) != MCP_OK)
        abort();
    pair_keep_state(user, mcp_json_root(doc));
    mcp_json_free(doc);
}

static int pair_connect(mcp_client *client, const char *principal, void **ret, void *user,
                        mcp_error *error)
{
    pair *p = user;
    if (p->here)
        return MCP_ELIMIT;
    int rc = mcp_client_connect(
        client,
        MCP_OPTIONS(mcp_channel_options, .send = pair_send_here, .user = p, .shared_stream = true),
        &p->here, error);
    if (rc == MCP_OK && p->other)
        rc = mcp_server_connect(p->other,
                                MCP_OPTIONS(mcp_channel_options, .send = pair_send_there, .user = p,
                                            .shared_stream = true, .principal = principal),
                                &p->there, error);
    p->client = client;
    *ret = p;
    return rc;
}

static void pair_disconnect(void *link, void *user)
{
    pair *p = user;
    (void)link;
    p->here = NULL;
    mcp_client_disconnected(p->client, "over");
    mcp_channel_free(p->there);
    p->there = NULL;
}

static int64_t pair_now(void *user)
{
    return ((pair *)user)->now;
}

static mcp_host_timer *pair_timer(uint64_t ms, void (*fn)(void *arg), void *arg, void *user)
{
    pair *p = user;
    if (ms > PAIR_SHORT_MS)
        return user;
    p->soon = fn;
    p->soon_arg = arg;
    return (mcp_host_timer *)&p->soon;
}

static void pair_timer_stop(mcp_host_timer *timer, void *user)
{
    pair *p = user;
    if ((void *)timer == (void *)&p->soon)
        p->soon = NULL;
}

static void pair_open(pair *p, mcp_server *other)
{
    const mcp_host host = {.size = sizeof(host),
                           .user = p,
                           .now = pair_now,
                           .timer_start = pair_timer,
                           .timer_stop = pair_timer_stop};
    p->other = other;
    p->now = 1000;
    if (mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "f", .version = "1", .host = &host,
                                   .coalesce_ms = 1, .no_rate_limits = true),
                       &p->front, NULL) != MCP_OK ||
        mcp_upstream_mount(p->front,
                           MCP_OPTIONS(mcp_upstream_options, .name = "up", .connect = pair_connect,
                                       .disconnect = pair_disconnect, .user = p),
                           NULL) != MCP_OK ||
        mcp_server_connect(p->front,
                           MCP_OPTIONS(mcp_channel_options, .send = pair_answer, .user = p,
                                       .shared_stream = true, .principal = "ann"),
                           &p->peer, NULL) != MCP_OK)
        abort();
}

/* Answers the questions of the last InputRequiredResult. */
static inline void pair_proceed(pair *p)
{
    static char message[PAIR_STATE + 1024];
    snprintf(
        message, sizeof(message),
        "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"%s,\"requestState\":\"%s\","
        "\"inputResponses\":{\"1\":{\"action\":\"accept\",\"content\":{}},"
        "\"2\":{\"roots\":[{\"uri\":\"file:///\"}]},\"3\":{\"action\":\"decline\"}},\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":" PAIR_CAPABILITIES "}}}",
        1000 + p->states++, p->request ? p->request : "x\",\"params\":{\"a\":1", p->state);
    p->state[0] = 0;
    mcp_channel_receive(p->peer, 0, mcp_str_from(message), p->now);
}

static inline void pair_fire(pair *p)
{
    void (*fn)(void *arg) = p->soon;
    p->soon = NULL;
    if (fn)
        fn(p->soon_arg);
    if (p->state[0] && p->states < 8)
        pair_proceed(p);
}

/* Advances the time and delivers all pending messages. */
static void pair_turn(pair *p)
{
    for (int i = 0; i < 4 || (p->first < p->n && i < 2 * PAIR_MESSAGES); i++) {
        p->now += 2;
        if (p->here)
            mcp_channel_tick(p->here, p->now);
        if (p->there)
            mcp_channel_tick(p->there, p->now);
        mcp_channel_tick(p->peer, p->now);
        pair_fire(p);
        if (p->first == p->n)
            continue;
        size_t at = p->first++;
        mcp_str text = {p->queue[at].text, p->queue[at].len};
        mcp_channel *to = p->queue[at].to_other ? p->there : p->here;
        if (to)
            mcp_channel_receive(to, 0, text, p->now);
        free(p->queue[at].text);
        if (p->first == p->n)
            p->first = p->n = 0;
    }
}

static void pair_say(pair *p, const char *text)
{
    mcp_channel_receive(p->peer, 0, mcp_str_from(text), p->now);
}

static inline void pair_greet(pair *p)
{
    pair_say(p, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                "\"protocolVersion\":\"2025-11-25\",\"capabilities\":" PAIR_CAPABILITIES ","
                "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    pair_say(p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

/* Sends one request of each kind in the peer's protocol era. The requests wait for their answers. */
static inline void pair_ask_all(pair *p)
{
    static const char *const asks[] = {
        "resources/list\",\"params\":{",
        "resources/read\",\"params\":{\"uri\":\"mcp+up:x:1\",",
        "tools/list\",\"params\":{",
        "tools/call\",\"params\":{\"name\":\"up_t\",",
        "tools/call\",\"params\":{\"name\":\"up_t_0123456789abcdef\",",
        "prompts/list\",\"params\":{",
        "prompts/get\",\"params\":{\"name\":\"up_p\",",
        "resources/templates/list\",\"params\":{",
        ("completion/complete\",\"params\":{\"ref\":{\"type\":\"ref/resource\",\"uri\":"
         "\"mcp+up:x:{a}\"},\"argument\":{\"name\":\"a\",\"value\":\"\"},"),
        "tools/call\",\"params\":{\"name\":\"up_t\",\"task\":{\"ttl\":5000},",
    };
    bool legacy = mcp_channel_revision(p->peer) != NULL;
    char message[512];
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        snprintf(
            message, sizeof(message),
            "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"%s\"_meta\":{%s\"progressToken\":%zu}}}",
            100 + i, asks[i],
            legacy ? ""
                   : "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/logLevel\":\"debug\","
                     "\"io.modelcontextprotocol/clientCapabilities\":" PAIR_CAPABILITIES ",",
            i);
        pair_say(p, message);
    }
    pair_turn(p);
}

static void pair_close(pair *p)
{
    mcp_channel_free(p->peer);
    mcp_server_free(p->front);
    mcp_server_free(p->other);
    for (; p->first < p->n; p->first++)
        free(p->queue[p->first].text);
}

#endif
