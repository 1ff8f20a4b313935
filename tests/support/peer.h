/* peer.h: a server with one provider and one peer on a modern channel, which records the reply to a
 * request and counts notifications. The test mounts the provider.
 */
#ifndef MCP_TESTS_PEER_H
#define MCP_TESTS_PEER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/io.h>
#include <mcp/sys/server.h>

static inline int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

typedef struct peer {
    mcp_loop *loop; /* runs the server and is freed with it, or NULL */
    mcp_server *server;
    mcp_channel *channel;
    mcp_identity *identity; /* of the next channel; NULL: anonymous */
    char reply[4 << 20];    /* the latest reply, or the acknowledgement of a subscription */
    size_t len, replies, updates, changes;
    void (*updated)(mcp_str message); /* gets each notifications/resources/updated; may be NULL */
    size_t page_size;                 /* 0 means the server's default */
    mcp_error error;
} peer;

static inline void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)channel, (void)exchange;
    assert_true(message.len < sizeof(p->reply));
    if (memmem(message.ptr, message.len, "\"method\":\"notifications/", 24)) {
        bool updated = memmem(message.ptr, message.len, "resources/updated", 17) != NULL;
        p->updates += updated;
        if (updated && p->updated)
            p->updated(message);
        p->changes += memmem(message.ptr, message.len, "list_changed", 12) != NULL;
        if (!memmem(message.ptr, message.len, "/acknowledged\"", 14))
            return;
    } else {
        p->replies++;
    }
    memcpy(p->reply, message.ptr, message.len);
    p->reply[p->len = message.len] = 0;
}

static inline int peer_serve(peer *p, const mcp_host *host, const mcp_allocator *alloc)
{
    return mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                      .coalesce_ms = 1, .host = host, .page_size = p->page_size,
                                      .allocator = alloc),
                          &p->server, &p->error);
}

static inline int peer_connect(peer *p)
{
    return mcp_server_connect(p->server,
                              MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p,
                                          .shared_stream = true, .identity = p->identity),
                              &p->channel, &p->error);
}

static inline void peer_close(peer *p)
{
    mcp_channel_free(p->channel);
    if (p->loop)
        assert_int_equal(mcp_loop_drain(p->loop, 10000), MCP_OK);
    mcp_server_free(p->server);
    mcp_loop_free(p->loop);
    p->channel = NULL;
    p->server = NULL;
    p->loop = NULL;
}

static inline void peer_send(peer *p, int id, const char *method, const char *params)
{
    static char message[256 << 10];
    int n = snprintf(message, sizeof(message),
                     "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{\"_meta\":{"
                     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                     "\"io.modelcontextprotocol/clientCapabilities\":{}}%s%s}}",
                     id, method, *params ? "," : "", params);
    assert_true(n > 0 && (size_t)n < sizeof(message));
    mcp_channel_receive(p->channel, 0, (mcp_str){message, (size_t)n}, now());
}

/* Sends a request and returns its synchronous answer, or "" if there is none. */
static inline const char *ask(peer *p, const char *method, const char *params)
{
    p->reply[0] = 0;
    peer_send(p, 1, method, params);
    return p->reply;
}

/* Runs the loop until *what is at least `count`, for at most `ms` milliseconds. Returns false if
 * the time was not enough. */
static inline bool run_until(peer *p, const size_t *what, size_t count, int64_t ms)
{
    for (int64_t until = now() + ms; *what < count && now() < until;) {
        mcp_loop_step(p->loop, 10);
        mcp_channel_tick(p->channel, now());
    }
    return *what >= count;
}

/* Sends a request and runs the loop until the answer arrives. What takes longer hangs. */
static inline const char *ask_and_wait(peer *p, const char *method, const char *params)
{
    size_t before = p->replies;
    peer_send(p, 1, method, params);
    if (!run_until(p, &p->replies, before + 1, 60000))
        fail_msg("no answer to %s", params);
    return p->reply;
}

/* Checks that a reply contains each string, or lacks it if it begins with "!". */
static inline void check_reply(const char *what, const char *reply, const char *const has[5])
{
    for (size_t i = 0; i < 5 && has[i]; i++) {
        bool absent = has[i][0] == '!';
        if ((strstr(reply, has[i] + absent) != NULL) == absent)
            fail_msg("%s: %s%s\n%.3000s", what, absent ? "has " : "lacks ", has[i] + absent, reply);
    }
}

#define READ      "resources/read"
#define LIST      "resources/list"
#define CALL      "tools/call"
#define NOT_FOUND "\"code\":-32602,\"message\":\"Resource not found"

#endif
