/* own_loop.c: a server in its own event loop: poll(2) on stdin and stdout, timers, and only the engine (libmcp without
 * libmcp-io).
 *
 *     cc own_loop.c $(pkg-config --cflags --libs mcp) -o own_loop
 *     mcpctl call remind '{"ms":500}' -- ./own_loop
 *
 * A loop with other tasks needs the same three steps: receive() passes the input to the channel,
 * mcp_channel_tick() passes the time, and time_to_wait() returns how long the loop may sleep. Only
 * handlers and providers that use timers, descriptors or threads need a host (mcp/provider.h); this
 * one has timers.
 */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <mcp/mcp.h>
#include <mcp/sys/server.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void *user)
{
    struct timespec t;
    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- timers -------------------------------------------------------------------------------------- */

struct mcp_host_timer {
    struct mcp_host_timer *next;
    int64_t at; /* due time; INT64_MAX after it fired */
    void (*fn)(void *arg);
    void *arg;
};

static mcp_host_timer *timers;

static mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *arg), void *arg, void *user)
{
    mcp_host_timer *t = malloc(sizeof *t);
    if (!t)
        return NULL;
    *t = (mcp_host_timer){timers, now(user) + (int64_t)ms, fn, arg};
    return timers = t;
}

static void timer_stop(mcp_host_timer *timer, void *user)
{
    mcp_host_timer **at = &timers;
    (void)user;
    while (*at != timer)
        at = &(*at)->next;
    *at = timer->next;
    free(timer);
}

/* Returns a timer that is due, or NULL. It searches from the start each time, because callbacks may
 * start and stop timers. */
static mcp_host_timer *due(int64_t t)
{
    for (mcp_host_timer *i = timers; i; i = i->next) {
        if (i->at <= t)
            return i;
    }
    return NULL;
}

static const mcp_host host = {
    .size = sizeof(host), .now = now, .timer_start = timer_start, .timer_stop = timer_stop};

/* ---- what is offered ------------------------------------------------------------------------------- */

typedef struct reminder {
    mcp_request *req;
    mcp_host_timer *timer;
} reminder;

static void remind_now(void *arg)
{
    reminder *r = arg;
    timer_stop(r->timer, NULL);
    mcp_reply_finish(r->req, mcp_reply_text(r->req, "It is time"));
}

static int remind(mcp_request *req, const mcp_json *arguments, void *user)
{
    reminder *r = mcp_request_alloc(req, sizeof *r);
    int64_t ms = mcp_json_int(mcp_json_get(arguments, "ms"), 0);
    (void)user;
    if (!r || ms < 0)
        return mcp_reply_tool_error(req, "ms is 0 or more");
    *r = (reminder){req, timer_start((uint64_t)ms, remind_now, r, NULL)};
    return r->timer ? MCP_PENDING : MCP_ENOMEM;
}

/* ---- the stream -------------------------------------------------------------------------------------- */

/* Sends one message to the peer, and waits until all of it is written. A loop with several peers
 * would instead keep what could not be written, call mcp_channel_set_writable(), and continue when
 * the descriptor is writable. */
static void send_line(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)channel, (void)exchange, (void)user;
    fwrite(message.ptr, 1, message.len, stdout);
    putchar('\n');
    fflush(stdout);
}

/* Passes each complete line of the input to the channel. Returns the length of the incomplete line
 * that remains. */
static size_t receive(mcp_channel *channel, char *input, size_t len)
{
    char *line = input, *end;
    while ((end = memchr(line, '\n', len - (size_t)(line - input))) != NULL) {
        mcp_channel_receive(channel, 0, (mcp_str){line, (size_t)(end - line)}, now(NULL));
        line = end + 1;
    }
    len -= (size_t)(line - input);
    memmove(input, line, len);
    return len;
}

static int time_to_wait(const mcp_channel *channel)
{
    int64_t at = mcp_channel_deadline(channel);
    for (const mcp_host_timer *i = timers; i; i = i->next)
        at = i->at < at ? i->at : at;
    int64_t ms = at == INT64_MAX ? -1 : at - now(NULL);
    return at == INT64_MAX ? -1 : ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms;
}

static void serve(mcp_channel *channel)
{
    static char input[1 << 20]; /* the longest message */
    size_t len = 0;
    while (len < sizeof input) {
        struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
        poll(&in, 1, time_to_wait(channel));
        if (in.revents) {
            ssize_t n = read(STDIN_FILENO, input + len, sizeof input - len);
            if (n <= 0)
                return;
            len = receive(channel, input, len + (size_t)n);
        }
        for (mcp_host_timer *t; (t = due(now(NULL))) != NULL;) {
            t->at = INT64_MAX;
            t->fn(t->arg);
        }
        mcp_channel_tick(channel, now(NULL));
    }
}

int main(void)
{
    mcp_server *server = NULL;
    mcp_channel *channel = NULL;
    mcp_error error = {0};
    int rc = mcp_server_new(
        MCP_OPTIONS(mcp_server_options, .name = "own_loop", .version = "1.0", .host = &host),
        &server, &error);
    if (rc == MCP_OK)
        rc = mcp_server_add_tool(server,
                                 MCP_OPTIONS(mcp_tool, .name = "remind", .call = remind,
                                             .description = "Answer after some milliseconds",
                                             .input_schema =
                                                 "{\"type\":\"object\",\"required\":[\"ms\"],"
                                                 "\"properties\":{\"ms\":{\"type\":\"integer\"}}}"),
                                 NULL, &error);
    if (rc == MCP_OK)
        rc = mcp_server_connect(server,
                                MCP_OPTIONS(mcp_channel_options, .send = send_line,
                                            .shared_stream = true, .max_message = (1 << 20) - 1),
                                &channel, &error);
    if (rc == MCP_OK)
        serve(channel);
    else
        fprintf(stderr, "own_loop: %s\n", error.text);
    mcp_channel_free(channel);
    mcp_server_free(server);
    return rc == MCP_OK ? 0 : 1;
}
