/* task_rig.h: a server whose tool `job` may be called as a task, with a calendar clock that the
 * test sets, and peers of both eras.
 */
#ifndef MCP_TESTS_TASK_RIG_H
#define MCP_TESTS_TASK_RIG_H

#include "rig.h"

#include <stdlib.h>

#include <mcp/task.h>

#define TASKS                                                                             \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","              \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},\"extensions\":{" \
    "\"io.modelcontextprotocol/tasks\":{}}}}"

enum { PAGE = 5 }; /* entries in one page of a list */

/* The calendar clock, in milliseconds since 1970, and the latest task. */
typedef struct world {
    rig r;
    int64_t calendar;
    bool no_random;
    char id[32];
} world;

static inline int64_t calendar(void *user)
{
    return ((world *)user)->calendar;
}

static inline int random_bytes(void *bytes, size_t len, void *user)
{
    static unsigned next;
    if (((world *)user)->no_random)
        return MCP_EIO;
    memset(bytes, 0, len);
    next++;
    memcpy(bytes, &next, len < sizeof(next) ? len : sizeof(next));
    return MCP_OK;
}

static inline int as_task(rig *r, mcp_request *req)
{
    int rc = mcp_request_task(req, NULL);
    return rc == MCP_OK ? rig_keep(r, req) : rc;
}

static inline int at_once(rig *r, mcp_request *req)
{
    (void)r;
    int rc = mcp_request_task(req, NULL);
    return rc == MCP_OK ? mcp_reply_text(req, "at once") : rc;
}

static inline void world_open(world *w, const mcp_host *host, const mcp_task_settings *settings,
                              rig_handler *handler)
{
    mcp_server_options o = {
        .clock = calendar, .random = random_bytes, .user = w, .host = host, .page_size = PAGE};
    w->calendar = 1767225600000; /* 2026-01-01 */
    assert_int_equal(rig_open(&w->r, &o, handler), MCP_OK);
    if (settings)
        assert_int_equal(mcp_server_set_tasks(w->r.server, settings, NULL), MCP_OK);
    const mcp_tool tool = {
        .size = sizeof(tool), .name = "job", .call = rig_call, .task_support = MCP_TASK_OPTIONAL};
    assert_int_equal(mcp_server_add_tool(w->r.server, &tool, &w->r, NULL), MCP_OK);
}

static inline mcp_channel *peer(world *w, const char *principal)
{
    mcp_channel *channel = NULL;
    assert_int_equal(rig_connect(&w->r, principal, NULL, &channel), MCP_OK);
    return channel;
}

static inline const char *ask(world *w, mcp_channel *channel, const char *method,
                              const char *params)
{
    char message[2048];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s%s}}", method, params,
             *params ? "," : "", TASKS);
    assert_int_equal(rig_say(&w->r, channel, message), MCP_OK);
    return rig_sent(&w->r);
}

static inline const char *ask_of(world *w, mcp_channel *channel, const char *method)
{
    char params[128];
    snprintf(params, sizeof(params), "\"taskId\":\"%s\",\"inputResponses\":{}", w->id);
    return ask(w, channel, method, params);
}

static inline const char *make_task(world *w, mcp_channel *channel)
{
    const char *text = ask(w, channel, "tools/call", "\"name\":\"job\"");
    const char *id = strstr(text, "\"taskId\":\"");
    if (id)
        snprintf(w->id, sizeof(w->id), "%.22s", id + strlen("\"taskId\":\""));
    return text;
}

/* Opens a session of 2025-11-25. */
static inline mcp_channel *asking_peer(world *w, const char *principal)
{
    mcp_channel *channel = peer(w, principal);
    rig_say(&w->r, channel,
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
            "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{}},"
            "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    return channel;
}

static inline const char *say_plainly(world *w, mcp_channel *channel, const char *method,
                                      const char *params)
{
    char message[1536];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{%s}}", method, params);
    assert_int_equal(rig_say(&w->r, channel, message), MCP_OK);
    return rig_sent(&w->r);
}

static inline void finish(world *w, size_t n)
{
    mcp_reply_finish(w->r.kept[n], mcp_reply_text(w->r.kept[n], "finished"));
}

static inline int asks(rig *r, mcp_request *req)
{
    mcp_elicited got;
    (void)r;
    int rc = mcp_request_task(req, NULL);
    if (rc == MCP_OK)
        rc = mcp_request_elicit(req, "k",
                                MCP_OPTIONS(mcp_elicit, .message = "?",
                                            .schema = "{\"type\":\"object\",\"properties\":{}}"),
                                &got);
    return rc == MCP_OK ? mcp_reply_text(req, "asked") : rc;
}

#endif
