/* bus.c: connects to Redis, again and again.
 *
 * If one of the two links fails, both are closed, and connected again after a pause. So there is one state,
 * and one reason for it.
 */
#define _GNU_SOURCE
#include "redis.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONGEST_PAUSE_MS = 5000,
    WRITER_MS = 5000,  /* how long the server may take for a command */
    READER_MS = 10000, /* the same, with the 5 s that XREAD waits */
};

/* ---- states ---------------------------------------------------------------------------------- */

static void tell(redis_bus *b, mcp_bus_state state, const char *why)
{
    b->events.state(state, why, b->events.user);
}

static void stop_timer(redis_bus *b)
{
    if (b->timer)
        b->host->timer_stop(b->timer, b->host->user);
    b->timer = NULL;
}

static void try_now(void *arg);

/* Instances that lost the same server do not all come back in the same moment. */
static uint64_t vary(const redis_bus *b)
{
    uint64_t seed = (uint64_t)(uintptr_t)b ^ (uint64_t)b->host->now(b->host->user);
    return b->pause_ms * 3 / 4 + (seed * 0x9e3779b97f4a7c15u >> 32) % (b->pause_ms / 2);
}

/* Without memory for a timer the bus stays down. */
static void pause_then_try(redis_bus *b)
{
    stop_timer(b);
    b->phase = REDIS_PAUSING;
    b->timer = b->host->timer_start(vary(b), try_now, b, b->host->user);
    b->pause_ms = b->pause_ms * 2 < LONGEST_PAUSE_MS ? b->pause_ms * 2 : LONGEST_PAUSE_MS;
}

static void fail(redis_bus *b, const char *why)
{
    char before[sizeof(b->why)];
    bool worked = b->phase == REDIS_WORKING;
    memcpy(before, b->why, sizeof(before));
    snprintf(b->why, sizeof(b->why), "%.36s: %.199s",
             b->address.path[0] ? "redis" : b->address.host, why);
    link_close(&b->reader);
    link_close(&b->writer);
    pause_then_try(b);
    redis_reader_lost(b);
    redis_writer_lost(b, b->why);
    redis_keep_lost(b, b->why);
    if (worked || strcmp(before, b->why) != 0)
        tell(b, MCP_BUS_DOWN, b->why);
}

void redis_ready(redis_bus *b, bool *which)
{
    *which = true;
    if (!b->reader_ready || !b->writer_ready)
        return;
    b->phase = REDIS_WORKING;
    b->why[0] = 0;
    tell(b, MCP_BUS_CONNECTED, "");
    redis_read(b);
}

/* ---- the links ------------------------------------------------------------------------------- */

static void on_lost(void *user)
{
    redis_bus *b = user;
    char why[LINK_WHY];
    const redis_link *l = link_is_open(&b->reader) ? &b->writer : &b->reader;
    memcpy(why, l->why, sizeof(why));
    if (b->reader.too_large)
        b->skip = true;
    fail(b, why);
}

bool redis_check(redis_link *link, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ERROR)
        return true;
    link_fail(link, "it answers: %.150s", reply->str);
    return false;
}

static void greeted_reader(const redisReply *reply, void *user)
{
    redis_bus *b = user;
    (void)redis_check(&b->reader, reply);
}

static void greeted_writer(const redisReply *reply, void *user)
{
    redis_bus *b = user;
    (void)redis_check(&b->writer, reply);
}

static bool put(redis_bus *b, redis_link *l, int argc, const char *const *argv)
{
    static const link_command reader = {greeted_reader}, writer = {greeted_writer};
    size_t lens[3];
    for (int i = 0; i < argc; i++)
        lens[i] = strlen(argv[i]);
    int rc = link_send(l, l == &b->reader ? &reader : &writer, argc, argv, lens);
    if (rc != MCP_OK)
        link_fail(l, "%s", mcp_error_text(rc));
    return rc == MCP_OK;
}

bool redis_greet(redis_bus *b, redis_link *l)
{
    char db[16];
    bool ok = true;
    snprintf(db, sizeof(db), "%d", b->address.db);
    if (b->password && b->user)
        ok = put(b, l, 3, (const char *const[]){"AUTH", b->user, b->password});
    else if (b->password)
        ok = put(b, l, 2, (const char *const[]){"AUTH", b->password});
    if (ok && b->address.db)
        ok = put(b, l, 2, (const char *const[]){"SELECT", db});
    return ok;
}

static bool open_links(redis_bus *b)
{
    link_place at = {.port = b->address.port, .tls = b->tls};
    if (b->address.path[0])
        at.path = b->address.path;
    else
        at.host = b->places.items[b->attempt++ % b->places.count];
    b->reader_ready = b->writer_ready = false;
    if (link_open(&b->reader, &at) != MCP_OK) {
        memcpy(b->writer.why, b->reader.why, sizeof(b->writer.why));
        return false;
    }
    return link_open(&b->writer, &at) == MCP_OK;
}

static void connect_links(redis_bus *b)
{
    char why[LINK_WHY];
    b->phase = REDIS_CONNECTING;
    if (open_links(b)) {
        redis_reader_start(b);
        redis_writer_start(b);
        return;
    }
    memcpy(why, b->writer.why, sizeof(why));
    fail(b, why);
}

static void resolved(redis_bus *b, const redis_places *found)
{
    if (!found->count) {
        fail(b, "the name has no address");
        return;
    }
    b->places = *found;
    connect_links(b);
}

static void try_now(void *arg)
{
    redis_bus *b = arg;
    stop_timer(b);
    if (b->address.path[0] || redis_is_numeric(b->address.host)) {
        connect_links(b);
        return;
    }
    b->phase = REDIS_RESOLVING;
    int rc = redis_resolve(b, resolved);
    if (rc != MCP_OK)
        fail(b, mcp_error_text(rc));
}

/* ---- the interface --------------------------------------------------------------------------- */

static int redis_open(const mcp_bus_events *events, void *user, mcp_error *error)
{
    redis_bus *b = user;
    b->events = *events;
    b->phase = REDIS_PAUSING;
    b->timer = b->host->timer_start(0, try_now, b, b->host->user);
    return b->timer ? MCP_OK : redis_explain(error, MCP_ENOMEM, "no memory for the bus");
}

static void redis_close(void *user)
{
    redis_bus *b = user;
    stop_timer(b);
    redis_resolve_stop(b);
    link_close(&b->reader);
    link_close(&b->writer);
    redis_tls_free(b->tls);
    if (b->password) /* it is not kept in freed memory */
        explicit_bzero(b->password, strlen(b->password));
    free(b->password);
    free(b->user);
    free(b->key);
    free(b);
}

/* A write to a closed connection must not end the program. */
static void ignore_sigpipe(void)
{
    struct sigaction now, ignore = {.sa_handler = SIG_IGN};
    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        sigaction(SIGPIPE, &ignore, NULL);
}

static bool keep(char **to, const char *text)
{
    *to = text ? strdup(text) : NULL;
    return *to || !text;
}

static redis_bus *make(const char *stream, const char *user, const char *password)
{
    static const char prefix[] = "mcp:bus:";
    redis_bus *b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    size_t room = sizeof(prefix) + strlen(stream);
    b->key = malloc(room);
    if (b->key)
        snprintf(b->key, room, "%s%s", prefix, stream);
    if (b->key && keep(&b->user, user) && keep(&b->password, password))
        return b;
    redis_close(b);
    return NULL;
}

int redis_make(const char *address, const char *stream, const char *user, const char *password,
               const mcp_host *host, mcp_bus *ret, mcp_error *error)
{
    redis_address a;
    if (!address || !stream || !*stream || !host || !host->timer_start || !host->poll_start_write)
        return redis_explain(error, MCP_EINVAL,
                             "redis: needs an address, a name, and a host with timers and polling");
    int rc = redis_address_read(address, &a, error);
    if (rc != MCP_OK)
        return rc;
    redis_bus *b = make(stream, user, password);
    if (!b)
        return redis_explain(error, MCP_ENOMEM, "no memory for the bus");
    b->address = a;
    rc = a.tls ? redis_tls_new(&b->address, &b->tls, error) : MCP_OK;
    if (rc != MCP_OK) {
        redis_close(b);
        return rc;
    }
    ignore_sigpipe();
    b->host = host;
    b->pause_ms = REDIS_FIRST_PAUSE_MS;
    snprintf(b->places.items[0], REDIS_PLACE, "%.63s", a.host);
    b->places.count = 1;
    b->reader = (redis_link){
        .host = host, .patience_ms = READER_MS, .lost = on_lost, .user = b, .write_fd = -1};
    b->writer = (redis_link){
        .host = host, .patience_ms = WRITER_MS, .lost = on_lost, .user = b, .write_fd = -1};
    *ret = (mcp_bus){.size = sizeof(*ret),
                     .user = b,
                     .open = redis_open,
                     .publish = redis_publish,
                     .close = redis_close,
                     .keep = redis_keep,
                     .fetch = redis_fetch};
    return MCP_OK;
}
