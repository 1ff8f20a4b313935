/* wires.h: a front server that forwards to another server in memory. Each session of the front
 * server's provider is a wire between the provider's client and a channel of the other server. The
 * test sets the time. */
#ifndef MCP_TESTS_WIRES_H
#define MCP_TESTS_WIRES_H

#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <mcp/mcp.h>
#include <mcp/sys/client.h>
#include <mcp/sys/server.h>

#include "support/failalloc.h"
#include "upstream.h"

#define WIRES_META                                            \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" \
    "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

typedef struct wire_message {
    struct wire_message *next;
    struct wire *wire;
    bool to_server;
    size_t len;
    char text[];
} wire_message;

typedef struct wires wires;

typedef struct wire_timer {
    int64_t due;
    void (*fn)(void *arg); /* NULL if it is free or has fired */
    void *arg;
    bool taken, is_short;
} wire_timer;

enum { WIRE_TIMERS = 8, WIRE_SHORT_MS = 15, WIRE_PEERS = 8 };

typedef struct wire {
    struct wire *next;
    wires *all;
    mcp_client *client;
    mcp_channel *here, *there; /* channel of the client, channel of the other server */
    bool hung;                 /* the other server gets no messages any more */
} wire;

struct wires {
    failalloc memory;
    mcp_allocator allocator;
    mcp_server *other, *front;
    mcp_channel *peer;              /* channel of the front server's peer */
    mcp_channel *peers[WIRE_PEERS]; /* channels of further peers, which the test owns, or NULL */
    wire *open;
    wire_message *first, **last;
    int64_t now;
    wire_timer timers[WIRE_TIMERS];
    bool down, mute; /* connections fail; they are open, but the other server gets nothing */
    size_t id;       /* of the last request of the peer */
    size_t connects;
    size_t runs; /* number of tools/call, prompts/get and resources/read sent to the other server */
    char sent[512];            /* the last message that was sent to it */
    size_t cancels;            /* number of notifications/cancelled sent to it */
    unsigned long long run_id; /* id of the last of these requests */
    uint64_t question_ms;      /* options of the mount */
    size_t max_parked, max_parked_in_all, max_sessions, max_calls, max_calls_in_all;
    const char *const *hide_tools;
    mcp_upstream_options policy; /* the members about names, texts and what is offered */
    bool no_questions, transparent, shared;
    bool rebuilt; /* the server is mounted in a build, so that it can be mounted again */
    mcp_upstream_group group;
    char *reply; /* the last answer to the peer */
    size_t notices;
    char notice[256];
    const char *revision; /* of the connections between the servers; NULL if it is negotiated */
    /* the headers of the peer's messages (mcp_channel_options.header), whose `user` is this struct */
    bool (*header)(mcp_channel *channel, mcp_exchange exchange, const char *name, mcp_str *value,
                   void *user);
    void (*host_log)(const char *level, const char *line, void *user); /* mcp_host.log */
    char *log; /* if set, all messages to the peer are appended to it, as lines */
    size_t log_len, log_room;
};

static void wires_put(wire *w, bool to_server, mcp_str text)
{
    wires *all = w->all;
    wire_message *m = malloc(sizeof(*m) + text.len + 1);
    *m = (wire_message){.wire = w, .to_server = to_server, .len = text.len};
    memcpy(m->text, text.ptr, text.len);
    m->text[text.len] = 0;
    *all->last = m;
    all->last = &m->next;
}

static void wires_send_here(mcp_channel *channel, mcp_exchange exchange, mcp_str text, void *user)
{
    static const char *const runs[] = {"tools/call", "prompts/get", "resources/read"};
    wires *all = ((wire *)user)->all;
    (void)channel, (void)exchange;
    for (size_t i = 0; i < 3; i++) {
        if (memmem(text.ptr, text.len, runs[i], strlen(runs[i])) == NULL)
            continue;
        const char *id = memmem(text.ptr, text.len, "\"id\":", 5);
        all->runs++;
        all->run_id = id ? strtoull(id + 5, NULL, 10) : 0;
    }
    snprintf(all->sent, sizeof(all->sent), "%.*s", (int)text.len, text.ptr);
    all->cancels += memmem(text.ptr, text.len, "s/cancelled", 11) != NULL;
    wires_put(user, true, text);
}

static void wires_send_there(mcp_channel *channel, mcp_exchange exchange, mcp_str text, void *user)
{
    (void)channel, (void)exchange;
    wires_put(user, false, text);
}

static int wires_connect(mcp_client *client, const char *principal, void **ret, void *user,
                         mcp_error *error)
{
    wires *all = user;
    wire *w = calloc(1, sizeof(*w));
    all->connects++;
    w->all = all;
    w->client = client;
    w->hung = all->mute;
    int rc = all->down ? MCP_EIO
                       : mcp_server_connect(
                             all->other,
                             MCP_OPTIONS(mcp_channel_options, .user = w, .send = wires_send_there,
                                         .shared_stream = true, .principal = principal),
                             &w->there, error);
    if (rc == MCP_OK)
        rc = mcp_client_connect(client,
                                MCP_OPTIONS(mcp_channel_options, .user = w, .send = wires_send_here,
                                            .shared_stream = true),
                                &w->here, error);
    if (rc != MCP_OK) {
        mcp_channel_free(w->there);
        free(w);
        return rc;
    }
    w->next = all->open;
    all->open = w;
    *ret = w;
    return MCP_OK;
}

/* Discards the messages in flight. */
static void wires_cut(wire *w)
{
    wires *all = w->all;
    wire_message **at = &all->first;
    while (*at) {
        wire_message *m = *at;
        if (m->wire == w) {
            *at = m->next;
            free(m);
        } else {
            at = &m->next;
        }
    }
    all->last = at;
    if (w->here)
        mcp_client_disconnected(w->client, "the wire was cut");
    w->here = NULL;
    mcp_channel_free(w->there);
    w->there = NULL;
}

static void wires_disconnect(void *link, void *user)
{
    wires *all = user;
    wire *w = link, **at = &all->open;
    wires_cut(w);
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    free(w);
}

static char *wires_copy(mcp_str text)
{
    char *copy = malloc(text.len + 1);
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    return copy;
}

static void wires_answer(mcp_channel *channel, mcp_exchange exchange, mcp_str text, void *user)
{
    wires *all = user;
    (void)exchange;
    if (all->log) {
        assert_true(text.len + 2 < all->log_room - all->log_len);
        all->log_len += (size_t)snprintf(all->log + all->log_len, all->log_room - all->log_len,
                                         "%.*s\n", (int)text.len, text.ptr);
    }
    if (mcp_channel_output_info(channel)->kind != MCP_OUTPUT_RESPONSE) {
        all->notices++;
        snprintf(all->notice, sizeof(all->notice), "%.*s", (int)text.len, text.ptr);
        return;
    }
    free(all->reply);
    all->reply = wires_copy(text);
}

static int64_t wires_now(void *user)
{
    return ((wires *)user)->now;
}

static mcp_host_timer *wires_timer(uint64_t ms, void (*fn)(void *arg), void *arg, void *user)
{
    wires *all = user;
    wire_timer *t = all->timers;
    while (t < all->timers + WIRE_TIMERS && t->taken)
        t++;
    assert_true(t < all->timers + WIRE_TIMERS);
    *t = (wire_timer){.due = all->now + (int64_t)ms,
                      .fn = fn,
                      .arg = arg,
                      .taken = true,
                      .is_short = ms <= WIRE_SHORT_MS};
    return (mcp_host_timer *)t;
}

static void wires_timer_stop(mcp_host_timer *timer, void *user)
{
    (void)user;
    ((wire_timer *)timer)->taken = false;
    ((wire_timer *)timer)->fn = NULL;
}

/* Calls the functions of the short timers that are due, or of all timers. Returns whether a short
 * timer is running. */
static inline bool wires_timers(wires *all, bool is_short)
{
    bool running = false;
    for (wire_timer *t = all->timers; t < all->timers + WIRE_TIMERS; t++) {
        void (*fn)(void *arg) = t->fn;
        if (fn && (!is_short || (t->is_short && t->due <= all->now))) {
            t->fn = NULL;
            fn(t->arg);
        }
        running |= t->fn && t->is_short;
    }
    return running;
}

/* Delivers all messages in flight, and lets short timers fire. */
static inline void wires_run(wires *all)
{
    for (unsigned idle = 0; idle < 3;) {
        wire_message *m;
        for (wire *w = all->open; w; w = w->next) {
            if (w->here)
                mcp_channel_tick(w->here, all->now);
            if (w->there)
                mcp_channel_tick(w->there, all->now);
        }
        if (all->peer)
            mcp_channel_tick(all->peer, all->now);
        for (size_t i = 0; i < WIRE_PEERS; i++) {
            if (all->peers[i])
                mcp_channel_tick(all->peers[i], all->now);
        }
        all->now += 2;
        bool running = wires_timers(all, true);
        if (!(m = all->first)) {
            idle += !running;
            continue;
        }
        idle = 0;
        all->first = m->next;
        if (!m->next)
            all->last = &all->first;
        mcp_str text = {m->text, m->len};
        if (m->to_server && m->wire->there && !m->wire->hung)
            mcp_channel_receive(m->wire->there, 0, text, all->now);
        else if (!m->to_server && m->wire->here)
            mcp_channel_receive(m->wire->here, 0, text, all->now);
        free(m);
    }
}

static inline int wires_mount(mcp_server *server, void *user, mcp_error *error)
{
    wires *all = user;
    return mcp_upstream_mount(
        server,
        MCP_OPTIONS(
            mcp_upstream_options, .name = "up", .connect = wires_connect,
            .disconnect = wires_disconnect, .user = all, .revision = all->revision,
            .max_sessions = all->max_sessions ? all->max_sessions : 2, .idle_ms = 1000,
            .question_ms = all->question_ms, .max_parked = all->max_parked,
            .max_parked_in_all = all->max_parked_in_all, .no_questions = all->no_questions,
            .transparent = all->transparent, .shared = all->shared, .max_calls = all->max_calls,
            .max_calls_in_all = all->max_calls_in_all,
            .hide_tools = all->hide_tools ? all->hide_tools : all->policy.hide_tools,
            .only_tools = all->policy.only_tools, .only_prompts = all->policy.only_prompts,
            .hide_prompts = all->policy.hide_prompts, .only_resources = all->policy.only_resources,
            .hide_resources = all->policy.hide_resources, .changes = all->policy.changes,
            .n_changes = all->policy.n_changes, .rates = all->policy.rates,
            .n_rates = all->policy.n_rates, .group = &all->group, .allocator = &all->allocator),
        error);
}

/* Opens all parts; `other` is the server that the test provides. */
static inline int wires_open(wires *all, mcp_server *other)
{
    const mcp_host host = {.size = sizeof(host),
                           .user = all,
                           .now = wires_now,
                           .log = all->host_log,
                           .timer_start = wires_timer,
                           .timer_stop = wires_timer_stop};
    all->allocator = failalloc_allocator(&all->memory);
    all->other = other;
    all->last = &all->first;
    all->now = 1000;
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                        .allocator = &all->allocator, .host = &host,
                                        .coalesce_ms = 1, .no_rate_limits = true),
                            &all->front, NULL);
    if (rc == MCP_OK)
        rc = all->rebuilt ? mcp_server_rebuild(all->front, wires_mount, all, NULL)
                          : wires_mount(all->front, all, NULL);
    return rc;
}

/* Delivers a message that the other server did not send. */
static inline void wires_inject(wires *all, const char *text)
{
    wires_put(all->open, false, mcp_str_from(text));
    wires_run(all);
}

static inline int wires_peer(wires *all, mcp_server *server, const char *principal)
{
    mcp_channel_free(all->peer);
    all->peer = NULL;
    return mcp_server_connect(server,
                              MCP_OPTIONS(mcp_channel_options, .send = wires_answer, .user = all,
                                          .principal = principal, .header = all->header,
                                          .shared_stream = true),
                              &all->peer, NULL);
}

static inline void wires_close(wires *all)
{
    mcp_channel_free(all->peer);
    mcp_server_free(all->front);
    assert_null(all->open);
    assert_int_equal(all->memory.live, 0);
    free(all->reply);
    all->reply = NULL;
}

/* Sends a message and returns the reply after all messages were delivered. */
static inline const char *wires_say(wires *all, const char *message)
{
    free(all->reply);
    all->reply = NULL;
    if (all->peer)
        mcp_channel_receive(all->peer, 0, mcp_str_from(message), all->now);
    wires_run(all);
    return all->reply ? all->reply : "";
}

static inline const char *wires_ask(wires *all, const char *method, const char *params)
{
    char message[2048];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s" WIRES_META "}}",
             method, params, *params ? "," : "");
    return wires_say(all, message);
}

#define wires_has(text, part)                        \
    do {                                             \
        const char *text_ = (text), *part_ = (part); \
        if (!strstr(text_, part_))                   \
            fail_msg("no %s in\n%s", part_, text_);  \
    } while (0)

#endif
