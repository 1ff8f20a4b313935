/* link.c: connects the client of a session to the other server. */
#include <mcp/sys/io.h>
#include <stdlib.h>
#include <stdio.h>

#include "session.h"

/* ---- the environment of a program ------------------------------------------------------------ */

/* The variables that a program inherits. None of them should contain a secret. */
static const char *const passed[] = {"PATH", "HOME", "LANG", "TMPDIR", "USER"};
enum { PASSED = sizeof(passed) / sizeof(passed[0]) };

typedef struct environment {
    char texts[PASSED][4096];
    const char **items; /* borrowed strings; ends with NULL */
    size_t n;
} environment;

static size_t count_of(const char *const *texts)
{
    size_t n = 0;
    while (texts && texts[n])
        n++;
    return n;
}

/* Adds NAME=value, and removes another value of NAME. */
static void put(environment *e, const char *text)
{
    size_t name = strcspn(text, "=") + 1, i = 0;
    while (i < e->n && strncmp(e->items[i], text, name) != 0)
        i++;
    e->items[i] = text;
    e->n += i == e->n;
}

static void inherit(environment *e)
{
    for (size_t i = 0; i < PASSED; i++) {
        const char *value = getenv(passed[i]);
        size_t room = sizeof(e->texts[i]);
        int len = value ? snprintf(e->texts[i], room, "%s=%s", passed[i], value) : -1;
        if (len > 0 && (size_t)len < room)
            put(e, e->texts[i]);
    }
}

/* Returns false if out of memory. */
static bool make_environment(environment *e, const upstream *up)
{
    const mcp_upstream_options *o = &up->options;
    size_t most = PASSED + count_of(o->env) + count_of(o->env_add);
    e->n = 0;
    e->items = common_alloc(&up->alloc, (most + 1) * sizeof(*e->items));
    if (!e->items)
        return false;
    if (!o->env)
        inherit(e);
    for (size_t i = 0; o->env && o->env[i]; i++)
        put(e, o->env[i]);
    for (size_t i = 0; o->env_add && o->env_add[i]; i++)
        put(e, o->env_add[i]);
    e->items[e->n] = NULL;
    return true;
}

/* ---- links ----------------------------------------------------------------------------------- */

static void on_end(const mcp_service_end *end, void *user)
{
    upstream_session *s = user;
    s->missed = true;
    upstream_doubt_end(s);
    if (end->cause != MCP_SERVICE_IDLE && end->cause != MCP_SERVICE_STOPPED)
        upstream_watch_announce(s);
}

static void on_stderr(const char *level, const char *line, void *user)
{
    const upstream_session *s = user;
    const mcp_upstream_options *o = &s->up->options;
    (void)level;
    o->trace(o->name, MCP_UPSTREAM_STDERR, mcp_str_from(line), o->user);
}

static void on_slowed(void *user)
{
    const upstream_session *s = user;
    char line[120];
    s->up->totals.slowed++;
    snprintf(line, sizeof(line),
             "it sends more than %zu messages in a second (messages_per_second), so it has to wait",
             s->up->options.messages_per_second);
    upstream_say(s->up, "warning", line);
}

static int open_service(upstream_session *s, mcp_loop *loop, mcp_error *error)
{
    const mcp_upstream_options *o = &s->up->options;
    environment env;
    if (!make_environment(&env, s->up))
        return MCP_ENOMEM;
    int rc = mcp_service_new(
        loop,
        MCP_OPTIONS(mcp_service_options, .name = o->name, .argv = o->argv, .env = env.items,
                    .cwd = o->cwd, .client = s->client,
                    .idle_ms = UINT64_MAX, /* the session has its own */
                    .start_ms = o->timeout_ms, .on_end = on_end, .log = o->trace ? on_stderr : NULL,
                    .user = s, .messages_per_second = o->messages_per_second, .slowed = on_slowed),
        &s->service, error);
    common_release(&s->up->alloc, (void *)env.items);
    return rc;
}

/* Called only for HTTP+SSE; other versions of HTTP transports have no lasting connection. */
static void on_http_end(const char *why, void *user)
{
    (void)why;
    upstream_session_lost(user);
}

int upstream_link_open(upstream_session *s, mcp_error *error)
{
    const mcp_upstream_options *o = &s->up->options;
    if (o->connect)
        return o->connect(s->client, s->principal, &s->link, o->user, error);
    mcp_loop *loop = mcp_host_loop(mcp_server_host(s->up->server));
    if (!loop) {
        snprintf(error->text, sizeof(error->text), "the server has no loop");
        return MCP_ESTATE;
    }
    if (o->argv)
        return open_service(s, loop, error);
    int rc = upstream_login_open(s, loop, error);
    if (rc != MCP_OK)
        return rc;
    return mcp_http_client_connect(
        loop, s->client,
        MCP_OPTIONS(mcp_http_client_options, .url = o->url, .headers = o->headers,
                    .oauth = upstream_login_client(s), .on_end = on_http_end, .user = s,
                    .messages_per_second = o->messages_per_second, .slowed = on_slowed),
        &s->http, error);
}

void upstream_link_close(upstream_session *s)
{
    const mcp_upstream_options *o = &s->up->options;
    if (s->link && o->disconnect)
        o->disconnect(s->link, o->user);
    if (s->service)
        upstream_count_process(s->up, s->service);
    mcp_service_free(s->service);
    mcp_http_client_leave(s->http);
    s->link = NULL;
    s->service = NULL;
    s->http = NULL;
}
