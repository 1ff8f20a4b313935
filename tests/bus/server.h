/* server.h: a Redis server of the test, on a Unix socket, and buses that are connected with it. */
#ifndef MCP_TESTS_BUS_SERVER_H
#define MCP_TESTS_BUS_SERVER_H

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mcp/io.h>

#include "redis.h"
#include "wait.h"

static char top[64], place[100]; /* the folder of the test, and its socket */
static pid_t server_pid;
static redisContext *admin;

/* Sends a command; the reply is freed by the next one. */
static inline const redisReply *ask(const char *format, ...)
{
    static redisReply *last;
    va_list args;
    if (last)
        freeReplyObject(last);
    va_start(args, format);
    last = redisvCommand(admin, format, args);
    va_end(args);
    assert_non_null(last);
    return last;
}

static inline void start_server(const char *persist)
{
    server_pid = fork();
    if (server_pid == 0) {
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", place, "--dir", top,
               "--save", "", "--appendonly", persist, "--appendfsync", "always", "--logfile", "log",
               (char *)NULL);
        _exit(127);
    }
    for (int64_t end = wait_end(); wait_more(end); usleep(10000)) {
        admin = redisConnectUnix(place);
        if (admin && !admin->err) {
            redisReply *pong = redisCommand(admin, "PING");
            bool up = pong && pong->type == REDIS_REPLY_STATUS;
            if (pong)
                freeReplyObject(pong);
            if (up)
                return;
        }
        if (admin)
            redisFree(admin);
        admin = NULL;
        assert_int_equal(waitpid(server_pid, NULL, WNOHANG), 0);
    }
    fail_msg("the server does not start");
}

static inline void kill_server(void)
{
    kill(server_pid, SIGKILL);
    waitpid(server_pid, NULL, 0);
    server_pid = 0;
    redisFree(admin);
    admin = NULL;
    unlink(place);
}

/* ---- buses ----------------------------------------------------------------------------------- */

typedef struct instance {
    mcp_bus bus;
    mcp_bus_state state;
    char why[240], last[240]; /* of the state; of the last entry */
    size_t n_received, n_gaps, n_states;
    int published; /* 1: no answer yet */
    char refusal[240];
    /* Values. */
    size_t n_kept, n_fetched;
    int kept, fetched; /* the last outcomes */
    uint64_t number;   /* of the last fetch */
    char value[240];   /* the last one, cut */
    size_t value_len;
} instance;

static mcp_loop *loop;
static instance a, b;

static inline void on_received(mcp_str entry, void *user)
{
    instance *i = user;
    i->n_received++;
    snprintf(i->last, sizeof(i->last), "%.*s", (int)(entry.len < 200 ? entry.len : 200), entry.ptr);
}

static inline void on_gap(void *user)
{
    ((instance *)user)->n_gaps++;
}

static inline void on_published(int rc, const char *why, void *user)
{
    instance *i = user;
    i->published = rc;
    snprintf(i->refusal, sizeof(i->refusal), "%s", why ? why : "");
}

static inline void on_kept(int rc, const char *why, void *user)
{
    instance *i = user;
    i->n_kept++;
    i->kept = rc;
    snprintf(i->refusal, sizeof(i->refusal), "%s", why ? why : "");
}

static inline void on_fetched(uint64_t number, int rc, mcp_str value, void *user)
{
    instance *i = user;
    i->n_fetched++;
    i->fetched = rc;
    i->number = number;
    i->value_len = value.len;
    snprintf(i->value, sizeof(i->value), "%.*s", (int)(value.len < 200 ? value.len : 200),
             value.len ? value.ptr : "");
}

static inline void on_state(mcp_bus_state state, const char *why, void *user)
{
    instance *i = user;
    i->state = state;
    i->n_states++;
    snprintf(i->why, sizeof(i->why), "%s", why);
}

static inline int open_on(instance *i, const char *address, const char *user, const char *password,
                          const mcp_host *host)
{
    mcp_bus_events events = {.size = sizeof(events),
                             .user = i,
                             .received = on_received,
                             .gap = on_gap,
                             .published = on_published,
                             .state = on_state,
                             .kept = on_kept,
                             .fetched = on_fetched};
    mcp_error error = {0};
    *i = (instance){.published = 1};
    int rc = redis_make(address, "test", user, password, host, &i->bus, &error);
    if (rc != MCP_OK)
        return rc;
    rc = i->bus.open(&events, i->bus.user, &error);
    if (rc == MCP_OK)
        return rc;
    i->bus.close(i->bus.user);
    i->bus = (mcp_bus){0};
    return rc;
}

static inline void close_bus(instance *i)
{
    if (i->bus.close)
        i->bus.close(i->bus.user);
    i->bus = (mcp_bus){0};
}

/* Runs the loop until the condition holds. */
#define WAIT_FOR(condition)                                              \
    do {                                                                 \
        for (int64_t end_ = wait_end(); !(condition);) {                 \
            if (!wait_more(end_))                                        \
                fail_msg("%s (a: %s, b: %s)", #condition, a.why, b.why); \
            mcp_loop_step(loop, 20);                                     \
        }                                                                \
    } while (0)

static inline void connect_bus(instance *i)
{
    assert_int_equal(open_on(i, place, NULL, NULL, mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(i->state == MCP_BUS_CONNECTED);
}

/* Publishes again until the entry is stored. */
static inline void publish(instance *i, const char *text)
{
    do {
        WAIT_FOR(i->state == MCP_BUS_CONNECTED);
        i->published = 1;
        if (i->bus.publish(mcp_str_from(text), i->bus.user) == MCP_OK)
            WAIT_FOR(i->published != 1);
    } while (i->published != MCP_OK);
}

#define ASSERT_HAS(text, part)                            \
    do {                                                  \
        if (!strstr(text, part))                          \
            fail_msg("\"%s\" has no \"%s\"", text, part); \
    } while (0)

/* The set-up and tear-down of a group of tests with one server. */
static inline int set_up_server(void **state)
{
    (void)state;
    strcpy(top, "/tmp/mcp-redis-XXXXXX");
    if (!mkdtemp(top) || mcp_loop_new(NULL, &loop, NULL) != MCP_OK)
        return 1;
    snprintf(place, sizeof(place), "%s/socket", top);
    start_server("no");
    return 0;
}

static inline int tear_down_server(void **state)
{
    char command[100];
    (void)state;
    mcp_loop_free(loop);
    kill_server();
    snprintf(command, sizeof(command), "rm -rf %s", top);
    return system(command) != 0;
}

#endif
