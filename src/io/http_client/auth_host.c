/* auth_host.c: the functions that a resource server (mcp/auth.h) or a client (mcp/oauth.h) needs, for
 * a loop. */
#define _GNU_SOURCE
#include "io/loop/loop.h"

static int64_t now(void *user)
{
    return mcp_loop_now(user);
}

static int fetch(const mcp_fetch_options *options, mcp_fetch **ret, mcp_error *error, void *user)
{
    return mcp_loop_fetch(user, options, ret, error);
}

static void fetch_cancel(mcp_fetch *fetch, void *user)
{
    (void)user;
    mcp_fetch_cancel(fetch);
}

static void write_log(const char *level, const char *line, void *user)
{
    mcp__log_line(user, level, line);
}

void mcp_loop_auth_host(mcp_loop *loop, mcp_auth_host *ret)
{
    mcp_auth_host host = {
        .size = ret->size,
        .user = loop,
        .now = now,
        .wall = mcp__system_wall,
        .random = mcp__system_random,
        .work = mcp__host_work,
        .fetch = fetch,
        .fetch_cancel = fetch_cancel,
        .log = write_log,
        .timer_start = mcp_loop_host(loop)->timer_start,
        .timer_stop = mcp_loop_host(loop)->timer_stop,
    };
    memcpy(ret, &host, MCP__MIN(ret->size, sizeof(host)));
}
