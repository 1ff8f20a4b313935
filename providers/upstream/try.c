/* try.c: connects to a server once, to find out whether it works (mcpd --doctor). */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "session.h"

enum { MOST_MS = 20000, PING_MS = 5000, DRAIN_MS = 2000 };

typedef struct attempt {
    mcp_loop *loop;
    mcp_server *server;
    mcp_upstream_group group;
    mcp_service_use use;
    bool over;
    int rc;
    mcp_error *error;
    mcp_upstream_tool_fn *each; /* NULL: the tools are not needed */
    void *user;
} attempt;

static void take(attempt *a, int rc, const mcp_error *error)
{
    a->over = true;
    a->rc = rc;
    if (error && a->error)
        *a->error = *error;
}

static void on_ready(int rc, const mcp_error *error, void *user)
{
    take(user, rc, error);
}

static void on_started(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                       void *user)
{
    (void)client, (void)result;
    take(user, rc, error);
}

static int begin(attempt *a, upstream_session *s)
{
    int rc = MCP_OK;
    if (!s->service)
        return mcp_client_start(s->client, on_started, a);
    a->use.ready = on_ready;
    a->use.user = a;
    rc = mcp_service_begin(s->service, &a->use, a->error);
    a->over = rc == MCP_OK;
    return rc == MCP_PENDING ? MCP_OK : rc;
}

/* Runs the loop until the handshake is answered, or fails after MOST_MS. */
static int wait_for(attempt *a)
{
    int64_t end = mcp_loop_now(a->loop) + MOST_MS;
    while (!a->over && mcp_loop_now(a->loop) < end)
        mcp_loop_step(a->loop, (uint64_t)(end - mcp_loop_now(a->loop)));
    if (a->over)
        return a->rc;
    if (a->error) {
        a->error->code = MCP_ETIMEOUT;
        snprintf(a->error->text, sizeof(a->error->text), "no answer within %d s", MOST_MS / 1000);
    }
    return MCP_ETIMEOUT;
}

static void put_string(FILE *to, const char *before, const mcp_json *value)
{
    mcp_str s = mcp_json_string(value);
    if (s.len)
        fprintf(to, "%s%.*s", before, (int)(s.len < 64 ? s.len : 64), s.ptr);
}

static void put_offers(FILE *to, const mcp_json *capabilities)
{
    static const char *const names[] = {"resources", "prompts", "tools", "completions"};
    const char *before = "; offers ";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const mcp_json *c = mcp_json_get(capabilities, names[i]);
        if (!c)
            continue;
        bool subscribe = mcp_json_bool(mcp_json_get(c, "subscribe"), false);
        fprintf(to, "%s%s%s", before, names[i], subscribe ? " with subscriptions" : "");
        before = ", ";
    }
}

/* Returns false if a program does not answer a ping, so that it would be ended when a request is beyond
 * its time (hung.c). */
static bool answers_ping(attempt *a, upstream_session *s)
{
    mcp_error error;
    attempt ping = {.loop = a->loop, .error = &error};
    const mcp_call_options o = {
        .size = sizeof(o), .done = on_started, .user = &ping, .timeout_ms = PING_MS};
    return !s->service || mcp_client_ping(s->client, &o, NULL) != MCP_OK ||
           wait_for(&ping) != MCP_ETIMEOUT;
}

static void say(const mcp_client *client, int64_t took, bool pings, char *summary, size_t room)
{
    const mcp_json *info = mcp_client_server_info(client);
    FILE *to = fmemopen(summary, room, "w");
    if (!to)
        return;
    fprintf(to, "answers after %lld ms", (long long)took);
    put_string(to, ": ", mcp_json_get(info, "name"));
    put_string(to, " ", mcp_json_get(info, "version"));
    fprintf(to, ", revision %s", mcp_client_revision(client));
    put_offers(to, mcp_client_server_capabilities(client));
    if (!pings)
        fputs("; answers no ping, so it is ended when a request is beyond its time", to);
    fclose(to);
}

/* ---- tools ----------------------------------------------------------------------------------- */

static bool on_page(mcp_client *client, const mcp_json *result, void *user)
{
    const attempt *a = user;
    mcp_json_iter it = {0};
    const mcp_json *tools = mcp_json_get(result, "tools");
    (void)client;
    for (const mcp_json *tool; (tool = mcp_json_next(tools, &it, NULL)) != NULL;) {
        mcp_str name = mcp_json_string(mcp_json_get(tool, "name"));
        if (name.len && !memchr(name.ptr, 0, name.len))
            a->each(a->group.first->options.name, name.ptr, tool, a->user);
    }
    return true;
}

static int list_tools(attempt *a, mcp_client *client)
{
    mcp_call_id call;
    if (!a->each)
        return MCP_OK;
    a->each(a->group.first->options.name, NULL, NULL, a->user);
    if (!mcp_json_get(mcp_client_server_capabilities(client), "tools"))
        return MCP_OK;
    a->over = false;
    int rc = mcp_client_list_all(client, "tools/list", on_page,
                                 MCP_OPTIONS(mcp_call_options, .done = on_started, .user = a,
                                             .timeout_ms = MOST_MS, .no_cache = true),
                                 &call);
    return rc == MCP_OK ? wait_for(a) : rc;
}

static int try_mounted(attempt *a, char *summary, size_t room)
{
    upstream_session *s;
    int64_t began = mcp_loop_now(a->loop), took = 0;
    int rc = upstream_session_get(a->group.first, &(upstream_wanted){0}, &s, a->error);
    if (rc == MCP_OK)
        rc = begin(a, s);
    if (rc == MCP_OK)
        rc = wait_for(a);
    took = mcp_loop_now(a->loop) - began;
    if (rc == MCP_OK)
        say(s->client, took, answers_ping(a, s), summary, room);
    if (rc == MCP_OK)
        rc = list_tools(a, s->client);
    return rc;
}

int upstream_try(const mcp_upstream_options *options, char *summary, size_t room,
                 mcp_upstream_tool_fn *each, void *user, mcp_error *error)
{
    attempt a = {.error = error, .each = each, .user = user};
    mcp_upstream_options o = *options;
    o.group = &a.group;
    summary[0] = 0;
    int rc = mcp_loop_new(NULL, &a.loop, error);
    if (rc == MCP_OK)
        rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "mcpd",
                                        .version = MCP_VERSION_STRING,
                                        .host = mcp_loop_host(a.loop)),
                            &a.server, error);
    if (rc == MCP_OK)
        rc = mcp_upstream_mount(a.server, &o, error);
    if (rc == MCP_OK)
        rc = try_mounted(&a, summary, room);
    mcp_server_free(a.server);
    if (a.loop)
        (void)mcp_loop_drain(a.loop, DRAIN_MS);
    mcp_loop_free(a.loop);
    return rc;
}
