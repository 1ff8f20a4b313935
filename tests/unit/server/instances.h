/* instances.h: several servers as instances of one, with a bus and its values that the test plays, and
 * tasks at them.
 */
#ifndef MCP_TESTS_SERVER_INSTANCES_H
#define MCP_TESTS_SERVER_INSTANCES_H

#include <stdlib.h>

#include "rig.h"

#include <mcp/bus.h>
#include <mcp/task.h>

#include "server/tasks/task.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TASKS                                                                \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{"       \
    "\"io.modelcontextprotocol/tasks\":{}}}}"

enum { NODES = 3, TIMERS = 64, VALUES = 4096, UNDER_WAY = 64, PRINCIPALS = 3 };

/* ---- clocks ---------------------------------------------------------------------------------- */

static int64_t now_ms, wall_ms;
struct mcp_host_timer {
    int64_t at;
    void (*fn)(void *arg);
    void *arg;
    const void *node;
};
static mcp_host_timer timers[TIMERS];

static int64_t now(void *user)
{
    (void)user;
    return now_ms;
}

static int64_t wall(void *user)
{
    (void)user;
    return wall_ms;
}

static inline mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *), void *arg, void *user)
{
    for (size_t i = 0; i < TIMERS; i++) {
        if (!timers[i].fn) {
            timers[i] = (mcp_host_timer){now_ms + (int64_t)ms, fn, arg, user};
            return &timers[i];
        }
    }
    return NULL;
}

static inline void timer_stop(mcp_host_timer *timer, void *user)
{
    (void)user;
    *timer = (mcp_host_timer){0};
}

/* ---- the bus --------------------------------------------------------------------------------- */

static struct {
    char name[MCP_BUS_NAME_BYTES + 1];
    char *value; /* NULL if this place is free */
    size_t len;
    int64_t end;
} values[VALUES];
static int refuse; /* what `kept` and `fetched` report, if not MCP_OK */

typedef struct command {
    bool fetch;
    char name[MCP_BUS_NAME_BYTES + 1];
    char *value;
    size_t len;
    uint64_t number, ttl;
} command;

typedef struct node {
    rig r;
    mcp_host host;
    mcp_bus_events events;
    mcp_channel *peers[PRINCIPALS];
    command queue[UNDER_WAY];
    size_t n_queue;
    bool alive, connected, publishes;
    char instance[17];
} node;

static node nodes[NODES];
static unsigned lives; /* instances so far */

static inline int bus_open(const mcp_bus_events *events, void *user, mcp_error *error)
{
    (void)error;
    ((node *)user)->events = *events;
    return MCP_OK;
}

static inline int bus_publish(mcp_str entry, void *user)
{
    (void)entry;
    ((node *)user)->publishes = true;
    return MCP_OK;
}

static inline void bus_close(void *user)
{
    (void)user;
}

static inline int queue(node *n, command c, mcp_str name)
{
    if (!n->connected)
        return MCP_ESTATE;
    if (n->n_queue == UNDER_WAY)
        return MCP_ELIMIT;
    assert_in_range(name.len, 1, MCP_BUS_NAME_BYTES);
    memcpy(c.name, name.ptr, name.len);
    n->queue[n->n_queue++] = c;
    return MCP_OK;
}

static inline int bus_keep(mcp_str name, mcp_str value, uint64_t ttl_ms, void *user)
{
    command c = {.value = malloc(value.len), .len = value.len, .ttl = ttl_ms};
    assert_in_range(value.len, 1, MCP_BUS_VALUE_BYTES);
    assert_true(ttl_ms > 0);
    memcpy(c.value, value.ptr, value.len);
    int rc = queue(user, c, name);
    if (rc != MCP_OK)
        free(c.value);
    return rc;
}

static inline int bus_fetch(mcp_str name, uint64_t number, void *user)
{
    return queue(user, (command){.fetch = true, .number = number}, name);
}

static inline size_t place_of(const char *name)
{
    size_t at = VALUES;
    for (size_t i = 0; i < VALUES; i++) {
        if (values[i].value && strcmp(values[i].name, name) == 0)
            return i;
        if (!values[i].value && at == VALUES)
            at = i;
    }
    assert_true(at < VALUES);
    return at;
}

static inline void forget_value(size_t i)
{
    free(values[i].value);
    values[i].value = NULL;
}

static inline void set_value(const char *name, char *value, size_t len, uint64_t ttl)
{
    size_t i = place_of(name);
    forget_value(i);
    snprintf(values[i].name, sizeof(values[i].name), "%s", name);
    values[i].value = value;
    values[i].len = len;
    values[i].end = now_ms + (int64_t)ttl;
}

static inline void run_command(node *n, const command *c)
{
    size_t i = place_of(c->name);
    if (values[i].value && values[i].end <= now_ms)
        forget_value(i);
    if (c->fetch) {
        int rc = refuse ? refuse : values[i].value ? MCP_OK : MCP_ENOTFOUND;
        n->events.fetched(c->number, rc, (mcp_str){values[i].value, rc ? 0 : values[i].len},
                          n->events.user);
        return;
    }
    if (refuse)
        free(c->value);
    else
        set_value(c->name, c->value, c->len, c->ttl);
    n->events.kept(refuse, refuse ? "OOM" : NULL, n->events.user);
}

/* Carries out what is under way at all instances. */
static inline void pump(void)
{
    for (bool any = true; any;) {
        any = false;
        for (size_t k = 0; k < NODES; k++) {
            node *n = &nodes[k];
            if (!n->alive || !n->connected || !(n->n_queue || n->publishes))
                continue;
            any = true;
            if (n->publishes) {
                n->publishes = false;
                n->events.published(MCP_OK, NULL, n->events.user);
            }
            if (!n->n_queue)
                continue;
            command c = n->queue[0];
            memmove(n->queue, n->queue + 1, --n->n_queue * sizeof(c));
            run_command(n, &c);
        }
    }
}

static inline void pass(int64_t ms)
{
    for (int64_t end = now_ms + ms; now_ms < end; now_ms += 10, wall_ms += 10) {
        for (size_t i = 0; i < TIMERS; i++) {
            if (timers[i].fn && timers[i].at <= now_ms) {
                timers[i].at = INT64_MAX;
                timers[i].fn(timers[i].arg);
            }
        }
        pump();
    }
}

static inline void set_connected(node *n, bool connected)
{
    if (connected == n->connected)
        return;
    n->connected = connected;
    if (connected) {
        n->events.state(MCP_BUS_CONNECTED, "", n->events.user);
        return;
    }
    n->events.state(MCP_BUS_DOWN, "gone", n->events.user);
    size_t lost = n->n_queue;
    command c[UNDER_WAY];
    memcpy(c, n->queue, sizeof(c));
    n->n_queue = 0;
    if (n->publishes)
        n->events.published(MCP_EREMOTE, "gone", n->events.user);
    n->publishes = false;
    for (size_t i = 0; i < lost; i++) {
        free(c[i].value);
        if (c[i].fetch)
            n->events.fetched(c[i].number, MCP_EREMOTE, (mcp_str){NULL, 0}, n->events.user);
        else
            n->events.kept(MCP_EREMOTE, "gone", n->events.user);
    }
}

/* ---- instances ------------------------------------------------------------------------------- */

static const char *const names[PRINCIPALS] = {"alice", "bob", NULL};
static const char key[] = "0123456789abcdef0123456789abcdef";

static inline int as_task(rig *r, mcp_request *req)
{
    int rc = mcp_request_task(req, NULL);
    return rc == MCP_OK ? rig_keep(r, req) : rc;
}

static inline int share_with(node *n, bool keeps)
{
    const mcp_bus bus = {.size = sizeof(bus),
                         .user = n,
                         .open = bus_open,
                         .publish = bus_publish,
                         .close = bus_close,
                         .keep = keeps ? bus_keep : NULL,
                         .fetch = keeps ? bus_fetch : NULL};
    return mcp_server_share(n->r.server,
                            MCP_OPTIONS(mcp_share_options, .bus = &bus, .name = "jobs"), NULL);
}

static inline int prepare(node *n, const char *address, const mcp_task_settings *settings,
                          bool keeps)
{
    mcp_task_instance home = {.size = sizeof(home)};
    mcp_server *server = n->r.server;
    snprintf(n->instance, sizeof(n->instance), "%016x", ++lives);
    memcpy(home.instance, n->instance, sizeof(n->instance));
    snprintf(home.address, sizeof(home.address), "%s", address);
    int rc = settings ? mcp_server_set_tasks(server, settings, NULL) : MCP_OK;
    if (rc == MCP_OK)
        rc = mcp_server_add_tool(server,
                                 MCP_OPTIONS(mcp_tool, .name = "job", .call = rig_call,
                                             .task_support = MCP_TASK_OPTIONAL),
                                 &n->r, NULL);
    if (rc == MCP_OK)
        rc = mcp_server_set_seal(
            server, MCP_OPTIONS(mcp_seal_options, .key = key, .key_len = sizeof(key)), NULL);
    if (rc == MCP_OK)
        rc = share_with(n, keeps);
    return rc == MCP_OK ? mcp_server_set_task_instance(server, &home, NULL) : rc;
}

static inline int node_begin_with(node *n, const char *address, const mcp_task_settings *settings,
                                  bool keeps, size_t fail_at)
{
    memset(n, 0, sizeof(*n));
    n->r.memory.fail_at = fail_at;
    n->host = (mcp_host){.size = sizeof(n->host),
                         .user = n,
                         .now = now,
                         .timer_start = timer_start,
                         .timer_stop = timer_stop};
    int rc = rig_open(&n->r, &(mcp_server_options){.host = &n->host, .clock = wall}, as_task);
    if (rc == MCP_OK)
        rc = prepare(n, address, settings, keeps);
    n->alive = rc == MCP_OK;
    for (size_t i = 0; i < PRINCIPALS && rc == MCP_OK; i++)
        rc = rig_connect(&n->r, names[i], NULL, &n->peers[i]);
    return rc;
}

static inline void node_begin(node *n)
{
    assert_int_equal(node_begin_with(n, "https://other:1", NULL, true, 0), MCP_OK);
    set_connected(n, true);
}

/* The process ends without a word. */
static inline void node_kill(node *n)
{
    n->alive = n->connected = false;
    for (size_t i = 0; i < PRINCIPALS; i++)
        mcp_channel_free(n->peers[i]);
    if (n->r.server)
        mcp_server_free(n->r.server);
    assert_int_equal(n->r.memory.live, 0);
    for (size_t i = 0; i < n->n_queue; i++)
        free(n->queue[i].value);
    n->n_queue = 0;
    n->r.server = NULL;
    memset(n->peers, 0, sizeof(n->peers));
}

static inline void begin(void)
{
    now_ms = 1000;
    wall_ms = 1767225600000;
    refuse = MCP_OK;
    memset(timers, 0, sizeof(timers));
    for (size_t i = 0; i < NODES; i++)
        node_begin(&nodes[i]);
    pass(100);
}

static inline void end(void)
{
    for (size_t i = 0; i < NODES; i++) {
        if (nodes[i].r.server)
            node_kill(&nodes[i]);
    }
    for (size_t i = 0; i < VALUES; i++)
        forget_value(i);
}

/* ---- requests -------------------------------------------------------------------------------- */

static inline const char *say(node *n, size_t who, const char *method, const char *params)
{
    char message[2048];
    rig_sent(&n->r);
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s," TASKS "}}", method,
             params);
    mcp_channel_receive(n->peers[who], 0, mcp_str_from(message), n->r.now);
    return rig_sent(&n->r);
}

static inline const char *ask(node *n, size_t who, const char *method, const char *id)
{
    char params[MCP_TASK_ID_BYTES + 64];
    snprintf(params, sizeof(params), "\"taskId\":\"%.*s\",\"inputResponses\":{}", MCP_TASK_ID_BYTES,
             id);
    const char *text = say(n, who, method, params);
    if (*text)
        return text;
    pump();
    return rig_sent(&n->r);
}

static inline const char *make(node *n, size_t who, char id[MCP_TASK_ID_BYTES + 1])
{
    const char *text = say(n, who, "tools/call", "\"name\":\"job\"");
    const char *at = strstr(text, "\"taskId\":\"");
    id[0] = 0;
    if (at)
        snprintf(id, MCP_TASK_ID_BYTES + 1, "%.*s", (int)strcspn(at + 10, "\""), at + 10);
    return text;
}

static inline void finish(node *n, size_t kept, const char *text)
{
    mcp_reply_finish(n->r.kept[kept], mcp_reply_text(n->r.kept[kept], text));
}

#define LOST "The instance that ran the task has ended"
#define AWAY "cannot be reached"

#endif
