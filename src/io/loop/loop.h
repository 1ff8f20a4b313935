/* loop.h: the internals of the loop, shared by src/io. Everything here belongs to the thread that
 * runs the loop, except mcp__post() and mcp__host_post().
 */
#ifndef MCP_SRC_IO_LOOP_H
#define MCP_SRC_IO_LOOP_H

#include <stdatomic.h>
#include <sys/types.h>

#include <uv.h>

#include <mcp/io.h>

#include "base/base.h"

/* ---- async.c: calls from other threads -------------------------------------------------------------- */

/* A function to run on the loop's thread; embed it. `run` may free it. */
typedef struct mcp__posted {
    struct mcp__posted *next;
    void (*run)(struct mcp__posted *posted);
} mcp__posted;

typedef struct mcp__posts {
    uv_mutex_t lock;
    uv_async_t wakeup; /* keeps the loop running while there is work */
    mcp__posted *first, **end;
} mcp__posts;

/* mcp__posts_init() returns 0 or libuv's status. The handles are closed with the loop's others,
 * before mcp__posts_free(). */
int mcp__posts_init(mcp_loop *loop);
void mcp__posts_free(mcp_loop *loop);
/* From any thread: queues a call. Calls run in order. */
void mcp__post(mcp_loop *loop, mcp__posted *posted);
/* Runs the calls queued now. Returns whether there were any. */
bool mcp__posts_run(mcp_loop *loop);
int mcp__host_post(void (*fn)(void *arg), void *arg, void *user);

/* ---- workers.c: threads for blocking work --------------------------------------------------- */

typedef enum mcp__lane { MCP__LANE_SHORT = 0, MCP__LANE_LONG, MCP__LANES } mcp__lane;

typedef struct mcp__workers {
    uv_mutex_t lock; /* protects all members except `growth` */
    uv_timer_t growth;
    uv_cond_t left; /* a thread is about to end */
    mcp__link lanes[MCP__LANES];
    mcp__link idle; /* most recently used last */
    size_t max_threads, max_long, max_waiting;
    uint64_t idle_ms;         /* after which a thread without work ends */
    size_t threads, starting; /* all threads; those that have yet to take work */
    size_t waiting, long_running;
    bool stopping, any_ended;
    uv_thread_t ended; /* the last thread that ended, not joined yet */
} mcp__workers;

int mcp__workers_init(mcp_loop *loop);
/* Ends the threads. No work may be running. */
void mcp__workers_free(mcp_loop *loop);
/* Cancels work that has not begun; its `done` is called soon. */
void mcp__workers_cancel(mcp_loop *loop);
int mcp__host_work(void (*fn)(void *arg), void (*done)(void *arg), void *arg, void *user);
int mcp__host_work_long(void (*fn)(void *arg), void (*done)(void *arg), void *arg, void *user);

/* ---- loop.c ------------------------------------------------------------------------------------- */

struct mcp_loop {
    uv_loop_t uv;
    uv_async_t wakeup; /* mcp_loop_stop() */
    uv_timer_t pause;  /* mcp_loop_step() */
    atomic_bool stop;
    mcp_allocator allocator;
    mcp_host host;
    mcp__link host_handles; /* timers and polls of the host */
    mcp__link works;        /* queued or running on worker threads, or waiting for `done` */
    mcp__posts posts;
    mcp__workers workers;
    int log_level;
    size_t log_lost;      /* lines dropped because stderr did not take them */
    struct mcp__net *net; /* http_server/net.h; not linked into a program that never listens */
    void (*net_free)(struct mcp__net *net);
    struct mcp__multi *multi; /* http_client/client.h; likewise */
    void (*multi_stop)(struct mcp__multi *multi);
    mcp__link services; /* children/service.h; the same */
    void (*services_stop)(mcp_loop *loop);
};

/* Whether mcp_loop_stop() was called since the last call of this function. */
bool mcp__loop_stopped(mcp_loop *loop);
/* Returns the time of this turn: cheap, but outdated after slow work. */
static inline int64_t mcp__loop_now(const mcp_loop *loop)
{
    return (int64_t)uv_now(&loop->uv);
}
/* Returns MCP_EIO with libuv's text, or MCP_ENOMEM. */
int mcp__uv_fail(mcp_error *error, int status, const char *what);

/* ---- log.c -------------------------------------------------------------------------------------- */

/* Copies text for a terminal: control characters and invalid UTF-8 become \xNN. Cut between
 * characters if the room is too small. Writes at most room bytes with the NUL. Returns the
 * length. */
size_t mcp__log_escape(char *to, size_t room, mcp_str text);
void mcp__log_line(mcp_loop *loop, const char *level, const char *line);

#endif
