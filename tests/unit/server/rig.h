/* rig.h: a server with one handler for everything, and peers that record what they receive. The
 * test sets the time.
 */
#ifndef MCP_TESTS_SERVER_RIG_H
#define MCP_TESTS_SERVER_RIG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#include "support/failalloc.h"

#define RIG_META                                              \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" \
    "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

typedef struct rig rig;
typedef int rig_handler(rig *r, mcp_request *req);

struct rig {
    failalloc memory;
    mcp_allocator allocator;
    mcp_server *server;
    rig_handler *handler;
    int64_t now;
    bool local; /* peers are on this machine */
    mcp_request *kept[1000];
    size_t n_kept, n_cancelled;
    char sent[256 * 1024];
    size_t len;
};

static int rig_call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    return ((rig *)user)->handler(user, req);
}

static int rig_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                        void *user)
{
    (void)name, (void)value, (void)context;
    return ((rig *)user)->handler(user, req);
}

static void rig_cancelled(mcp_request *req, void *user)
{
    assert_true(mcp_request_cancelled(req));
    ((rig *)user)->n_cancelled++;
}

/* A handler that stores the request; the test may answer it later. */
static inline int rig_keep(rig *r, mcp_request *req)
{
    assert_true(r->n_kept < sizeof(r->kept) / sizeof(r->kept[0]));
    r->kept[r->n_kept++] = req;
    mcp_request_on_cancel(req, rig_cancelled, r);
    return MCP_PENDING;
}

/* A handler that answers immediately. */
static inline int rig_ok(rig *r, mcp_request *req)
{
    (void)r, (void)req;
    return MCP_OK;
}

static void rig_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    rig *r = user;
    (void)channel, (void)exchange;
    assert_true(r->len + message.len + 2 < sizeof(r->sent));
    memcpy(r->sent + r->len, message.ptr, message.len);
    r->len += message.len;
    r->sent[r->len++] = '\n';
    r->sent[r->len] = 0;
}

/* Returns the output since the previous call. */
static inline const char *rig_sent(rig *r)
{
    r->sent[r->len] = 0;
    r->len = 0;
    return r->sent;
}

static inline int rig_add_tool(rig *r, const char *name, uint64_t timeout_ms)
{
    return mcp_server_add_tool(
        r->server, MCP_OPTIONS(mcp_tool, .name = name, .call = rig_call, .timeout_ms = timeout_ms),
        r, NULL);
}

/* Creates the server with a tool "t" and a prompt "p", whose argument "a" has completion. Sets the
 * name, version and allocator of the options. */
static inline int rig_open(rig *r, mcp_server_options *o, rig_handler *handler)
{
    static const mcp_prompt_argument argument = {.size = sizeof(argument), .name = "a"};
    r->handler = handler;
    r->now = 1000;
    r->allocator = failalloc_allocator(&r->memory);
    o->size = sizeof(*o);
    o->name = "rig";
    o->version = "1";
    o->allocator = &r->allocator;
    int rc = mcp_server_new(o, &r->server, NULL);
    if (rc == MCP_OK)
        rc = rig_add_tool(r, "t", 0);
    if (rc == MCP_OK)
        rc = mcp_server_add_prompt(r->server,
                                   MCP_OPTIONS(mcp_prompt, .name = "p", .arguments = &argument,
                                               .n_arguments = 1, .get = rig_call,
                                               .complete = rig_complete),
                                   r, NULL);
    return rc;
}

static inline void rig_close(rig *r)
{
    mcp_server_free(r->server);
    assert_int_equal(r->memory.live, 0);
}

static inline int rig_connect(rig *r, const char *principal, const char *caller, mcp_channel **ret)
{
    return mcp_server_connect(r->server,
                              MCP_OPTIONS(mcp_channel_options, .send = rig_send, .user = r,
                                          .principal = principal, .caller = caller,
                                          .local = r->local, .max_in_flight = 500),
                              ret, NULL);
}

static inline int rig_say(rig *r, mcp_channel *channel, const char *message)
{
    return mcp_channel_receive(channel, 0, mcp_str_from(message), r->now);
}

static inline int rig_call_tool(rig *r, mcp_channel *channel, int id, const char *name)
{
    char message[512];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/"
             "call\",\"params\":{\"name\":\"%s\"," RIG_META "}}",
             id, name);
    return rig_say(r, channel, message);
}

#define assert_has(text, part)                                  \
    do {                                                        \
        const char *has_text = (text);                          \
        if (!strstr(has_text, (part)))                          \
            fail_msg("\"%s\" is not in: %s", (part), has_text); \
    } while (0)

#endif
