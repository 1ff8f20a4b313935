/* callers.h: two callers, which are connected to servers of this process in memory, and a loop. */
#ifndef MCP_TESTS_CALLERS_H
#define MCP_TESTS_CALLERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <mcp/io.h>
#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#include "support/wait.h"

typedef struct callers_one {
    mcp_channel *channel;
    char log[1 << 19]; /* messages that it received since the last callers_say(), as lines */
    size_t len, lines;
} callers_one;

typedef struct callers {
    mcp_loop *loop;
    callers_one at[2];
} callers;

static void callers_take(mcp_channel *channel, mcp_exchange number, mcp_str message, void *user)
{
    callers_one *c = user;
    (void)channel, (void)number;
    assert_true(message.len + 2 < sizeof(c->log) - c->len);
    memcpy(c->log + c->len, message.ptr, message.len);
    c->len += message.len;
    c->log[c->len++] = '\n';
    c->log[c->len] = 0;
    c->lines++;
}

static inline void callers_step(callers *all, uint64_t ms)
{
    mcp_loop_step(all->loop, ms);
    for (int i = 0; i < 2; i++) {
        if (all->at[i].channel)
            mcp_channel_tick(all->at[i].channel, mcp_loop_now(all->loop));
    }
}

/* Sends a message unless it is NULL, waits until the caller has at least n lines, and returns
 * them. */
static inline const char *callers_say(void *user, bool second, const char *message, size_t n)
{
    static char got[sizeof(((callers_one *)0)->log)];
    callers *all = user;
    callers_one *c = &all->at[second];
    if (message)
        mcp_channel_receive(c->channel, 0, mcp_str_from(message), mcp_loop_now(all->loop));
    callers_step(all, 0);
    for (int64_t end = wait_end(); c->lines < n && wait_more(end);)
        callers_step(all, 1);
    if (c->lines < n)
        fail_msg("%zu of %zu messages after %s: %s", c->lines, n, message ? message : "nothing",
                 c->log);
    memcpy(got, c->log, c->len);
    got[c->len] = 0;
    c->len = c->lines = 0;
    return got;
}

/* Connects a caller again, with the handshake if the revision has one. */
static inline void callers_connect_as(callers *all, bool second, mcp_server *server,
                                      const char *revision, const char *principal)
{
    char message[256];
    callers_one *c = &all->at[second];
    mcp_channel_free(c->channel);
    c->channel = NULL;
    c->len = c->lines = 0;
    assert_int_equal(
        mcp_server_connect(server,
                           MCP_OPTIONS(mcp_channel_options, .send = callers_take, .user = c,
                                       .principal = principal, .shared_stream = true),
                           &c->channel, NULL),
        MCP_OK);
    if (strcmp(revision, "2026-07-28") == 0)
        return;
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"%s\",\"capabilities\":{},"
             "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
             revision);
    callers_say(all, second, message, 1);
    callers_say(all, second, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 0);
}

static inline void callers_connect(callers *all, bool second, mcp_server *server,
                                   const char *revision)
{
    callers_connect_as(all, second, server, revision, "ann");
}

static inline void callers_leave(callers *all)
{
    for (int i = 0; i < 2; i++) {
        mcp_channel_free(all->at[i].channel);
        all->at[i].channel = NULL;
    }
}

#endif
