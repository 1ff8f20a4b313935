/* share_rig.h: two instances on a bus that the test plays. */
#ifndef MCP_TESTS_SERVER_SHARE_RIG_H
#define MCP_TESTS_SERVER_SHARE_RIG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include <mcp/bus.h>
#include <mcp/sys/bus.h>

#include "rig.h"

enum { TIMERS = 8, STORED = 64 };

/* The clocks and timers of all instances. */
static int64_t now_ms, wall_ms;
struct mcp_host_timer {
    int64_t at; /* 0 if it is free */
    void (*fn)(void *arg);
    void *arg;
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
    (void)user;
    for (size_t i = 0; i < TIMERS; i++) {
        if (!timers[i].fn) {
            timers[i] = (mcp_host_timer){now_ms + (int64_t)ms, fn, arg};
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

static const mcp_host host = {
    .size = sizeof(host), .now = now, .timer_start = timer_start, .timer_stop = timer_stop};

static inline void pass(int64_t ms)
{
    for (int64_t end = now_ms + ms; now_ms < end; now_ms += 10, wall_ms += 10) {
        for (size_t i = 0; i < TIMERS; i++) {
            if (timers[i].fn && timers[i].at && timers[i].at <= now_ms) {
                timers[i].at = 0;
                timers[i].fn(timers[i].arg);
            }
        }
    }
}

/* ---- the bus --------------------------------------------------------------------------------- */

typedef struct side {
    rig r;
    mcp_channel *peer;
    mcp_bus_events events;
    bool opened, closed;
    char entry[MCP_BUS_ENTRY_BYTES]; /* under way */
    size_t len;
    size_t n_gaps, n_messages;
    char message[64];
} side;

static side a, b;
static uint32_t
    limit; /* calls per second at all instances together; 0 means that nothing is counted together */

static inline int bus_open(const mcp_bus_events *events, void *user, mcp_error *error)
{
    side *s = user;
    (void)error;
    s->events = *events;
    s->opened = true;
    return MCP_OK;
}

static inline int bus_publish(mcp_str entry, void *user)
{
    side *s = user;
    if (s->len)
        return MCP_ESTATE;
    assert_in_range(entry.len, 1, MCP_BUS_ENTRY_BYTES);
    memcpy(s->entry, entry.ptr, entry.len);
    s->len = entry.len;
    return MCP_OK;
}

static inline void bus_close(void *user)
{
    ((side *)user)->closed = true;
}

static inline void on_message(mcp_str topic, mcp_str data, void *user)
{
    side *s = user;
    s->n_messages++;
    snprintf(s->message, sizeof(s->message), "%.*s=%.*s", (int)topic.len, topic.ptr, (int)data.len,
             data.ptr);
}

static inline void on_gap(void *user)
{
    ((side *)user)->n_gaps++;
}

/* ---- instances ------------------------------------------------------------------------------- */

static const char key1[] = "0123456789abcdef0123456789abcdef";

static inline int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    snprintf(canonical, room, "%.*s", (int)uri.len, uri.ptr);
    return MCP_OK;
}

static inline int watch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    return MCP_OK;
}

static inline void unwatch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
}

static inline int read_none(mcp_request *req, mcp_str uri, void *user)
{
    (void)req, (void)uri, (void)user;
    return MCP_ENOTFOUND;
}

static const mcp_provider provider = {.size = sizeof(provider),
                                      .name = "files",
                                      .read = read_none,
                                      .resolve = resolve,
                                      .watch = watch,
                                      .unwatch = unwatch};

static inline int share_as(side *s, const char *name, size_t max_marks)
{
    const mcp_bus bus = {.size = sizeof(bus),
                         .user = s,
                         .open = bus_open,
                         .publish = bus_publish,
                         .close = bus_close};
    return mcp_server_share(s->r.server,
                            MCP_OPTIONS(mcp_share_options, .bus = &bus, .name = name,
                                        .max_marks = max_marks, .message = on_message,
                                        .gap = on_gap, .user = s, .share_limits = limit),
                            NULL);
}

static inline int begin(side *s, const char *key, const char *name, size_t max_marks)
{
    memset(s, 0, sizeof(*s));
    int rc =
        rig_open(&s->r,
                 &(mcp_server_options){
                     .host = &host, .clock = wall, .coalesce_ms = 1, .calls_per_second = limit},
                 rig_ok);
    if (rc == MCP_OK)
        rc = mcp_server_mount(s->r.server, "mem:", &provider, NULL, NULL);
    if (rc == MCP_OK)
        rc = mcp_server_set_seal(
            s->r.server, MCP_OPTIONS(mcp_seal_options, .key = key, .key_len = strlen(key)), NULL);
    if (rc == MCP_OK)
        rc = share_as(s, name, max_marks);
    return rc;
}

static inline void connect_bus(side *s)
{
    s->events.state(MCP_BUS_CONNECTED, "", s->events.user);
}

static inline void subscribe(side *s)
{
    assert_int_equal(rig_connect(&s->r, NULL, NULL, &s->peer), MCP_OK);
    rig_say(&s->r, s->peer,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"
            "\"notifications\":{\"resourceSubscriptions\":[\"mem:x\"],\"toolsListChanged\":true,"
            "\"resourcesListChanged\":true}," RIG_META "}}");
    rig_sent(&s->r);
}

static inline void open_two(void)
{
    now_ms = 1000;
    wall_ms = 1700000000000;
    memset(timers, 0, sizeof(timers));
    assert_int_equal(begin(&a, key1, "notes", 0), MCP_OK);
    assert_int_equal(begin(&b, key1, "notes", 0), MCP_OK);
    subscribe(&b);
    connect_bus(&a);
    connect_bus(&b);
    mcp_channel_tick(b.peer, b.r.now += 1000);
    mcp_channel_tick(b.peer, b.r.now += 1000);
    rig_sent(&b.r);
}

static inline void close_one(side *s)
{
    mcp_channel_free(s->peer);
    s->peer = NULL;
    rig_close(&s->r);
    assert_int_equal(s->closed, true);
}

static inline void close_two(void)
{
    close_one(&a);
    close_one(&b);
    for (size_t i = 0; i < TIMERS; i++)
        assert_null(timers[i].fn);
}

/* What the subscriber of an instance was told since the last call. */
static const char *told(side *s)
{
    mcp_channel_tick(s->peer, s->r.now += 1000);
    mcp_channel_tick(s->peer, s->r.now += 1000);
    return rig_sent(&s->r);
}

static inline mcp_share_usage usage(const side *s)
{
    mcp_share_usage u = {.size = sizeof(u)};
    assert_true(mcp_server_get_share(s->r.server, &u));
    return u;
}

/* Stores the entry that is under way, and gives it to both. Returns a copy. */
static inline mcp_str carry(side *from, side *to)
{
    static char copy[MCP_BUS_ENTRY_BYTES];
    mcp_str entry = {copy, from->len};
    assert_true(from->len > 0);
    memcpy(copy, from->entry, from->len);
    from->len = 0;
    from->events.published(MCP_OK, NULL, from->events.user);
    from->events.received(entry, from->events.user); /* its own entries have no effect */
    if (to)
        to->events.received(entry, to->events.user);
    return entry;
}

#define UPDATED "\"notifications/resources/updated\""
#define TOOLS   "\"notifications/tools/list_changed\""
#define LIST    "\"notifications/resources/list_changed\""

#endif
