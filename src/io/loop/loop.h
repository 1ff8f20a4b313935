/* loop.h: the internals of the event loop, for src/io. Only mcp__post() and mcp__host_post() may be
 * called by any thread. Everything else is for the thread that runs the loop.
 */
#ifndef MCP_SRC_IO_LOOP_H
#define MCP_SRC_IO_LOOP_H

#include <stdatomic.h>
#include <sys/types.h>

#include <uv.h>

#include <mcp/io.h>

#include "base/base.h"

/* ---- async.c: calls from other threads ------------------------------------------------------- */

/* A call that the loop's thread will make, part of a larger object. `run` may free that object. */
typedef struct mcp__posted {
    struct mcp__posted *next;
    void (*run)(struct mcp__posted *posted);
} mcp__posted;

typedef struct mcp__posts {
    uv_mutex_t lock;
    int counter;      /* an eventfd: readable when calls were queued */
    uv_poll_t wakeup; /* referenced while there is work, so that the loop keeps running */
    mcp__posted *first, **end;
} mcp__posts;

/* mcp__posts_init() returns 0 or libuv's error. mcp__posts_free() must be called after the handles
 * of the loop have been closed. */
int mcp__posts_init(mcp_loop *loop);
void mcp__posts_free(mcp_loop *loop);
/* Queues a call, from any thread. Calls run in the order in which they were queued. */
void mcp__post(mcp_loop *loop, mcp__posted *posted);
/* Runs the calls that are in the queue now. Returns whether there were any. */
bool mcp__posts_run(mcp_loop *loop);
int mcp__host_post(void (*fn)(void *arg), void *arg, void *user);

/* ---- workers.c: threads for blocking work ---------------------------------------------------- */

typedef enum mcp__lane { MCP__LANE_SHORT = 0, MCP__LANE_LONG, MCP__LANES } mcp__lane;

typedef struct mcp__workers {
    uv_mutex_t lock;             /* protects all members except `growth` */
    uv_timer_t growth;           /* starts another thread when work has waited */
    uv_cond_t left;              /* signalled when a thread is about to end */
    mcp__link lanes[MCP__LANES]; /* queues of jobs */
    mcp__link idle;              /* idle threads, the most recently used last */
    size_t max_threads, max_long, max_waiting;
    uint64_t idle_ms;             /* a thread without work ends after this time */
    size_t threads, starting;     /* all threads; new threads without a job so far */
    size_t waiting, long_running; /* queued jobs; long jobs that are running */
    bool stopping, any_ended;
    uv_thread_t ended; /* the last thread that ended, not joined yet */
} mcp__workers;

int mcp__workers_init(mcp_loop *loop);
/* Ends the threads and waits for them. All work must have finished. */
void mcp__workers_free(mcp_loop *loop);
/* Cancels jobs that have not begun. Their `done` is called in a later turn of the loop. Running
 * work cannot be cancelled. */
void mcp__workers_cancel(mcp_loop *loop);
int mcp__host_work(void (*fn)(void *arg), void (*done)(void *arg), void *arg, void *user);
int mcp__host_work_long(void (*fn)(void *arg), void (*done)(void *arg), void *arg, void *user);

/* ---- loop.c ---------------------------------------------------------------------------------- */

struct mcp_loop {
    uv_loop_t uv;
    uv_async_t wakeup; /* wakes up the loop for mcp_loop_stop() */
    uv_timer_t pause;  /* time-out of mcp_loop_step() and mcp_loop_drain() */
    /* These three belong to mcp__loop_turn(). next_timer is the time at which the first timer is
     * due, or UINT64_MAX. */
    uv_prepare_t before_waiting;
    uv_idle_t no_waiting;
    uint64_t next_timer;
    atomic_bool stop;
    mcp_allocator allocator;
    mcp_host host;
    bool parsed;            /* this turn has got a message from parse_job.c */
    mcp__link host_handles; /* timers and polls of the host */
    mcp__link pumps;        /* mcp__pump with work to do before the loop blocks */
    mcp__link works;        /* queued or running on worker threads, or waiting for `done` */
    mcp__posts posts;
    mcp__workers workers;
    int log_level;
    size_t log_lost;      /* lines discarded because stderr would have blocked */
    struct mcp__net *net; /* http_server/net.h, or NULL; linked only if used */
    void (*net_free)(struct mcp__net *net);
    struct mcp__multi *multi; /* http_client/client.h, or NULL; linked only if used */
    void (*multi_stop)(struct mcp__multi *multi);
    size_t leaving;     /* number of DELETE requests of freed clients (http_client/leave.c) */
    mcp__link services; /* children/service.h; initialized when services_stop is set */
    void (*services_stop)(mcp_loop *loop);
};

/* Handles events once, like uv_run() with UV_RUN_ONCE, but also returns when a timer has fired.
 * Before libuv 1.45, uv_run() first runs the timers that are due and then waits for other events,
 * without a time-out if there is no further timer. */
bool mcp__loop_turn(mcp_loop *loop);
/* Returns whether mcp_loop_stop() was called since the last call of this function. */
bool mcp__loop_stopped(mcp_loop *loop);
/* Returns the time at which this turn of the loop began, in milliseconds. It costs no system
 * call. */
static inline int64_t mcp__loop_now(const mcp_loop *loop)
{
    return (int64_t)uv_now(&loop->uv);
}
/* Sets an error "WHAT: REASON" for a status of libuv. Returns MCP_EIO or MCP_ENOMEM. */
int mcp__uv_fail(mcp_error *error, int status, const char *what);

/* ---- system.c -------------------------------------------------------------------------------- */

/* Fills bytes with cryptographic randomness. Returns MCP_OK or MCP_EIO. */
int mcp__system_random(void *bytes, size_t len, void *user);
/* Returns milliseconds since 1970. */
int64_t mcp__system_wall(void *user);
/* Returns microseconds of the monotonic clock. */
int64_t mcp__system_us(void *user);

/* ---- log.c ----------------------------------------------------------------------------------- */

void mcp__log_line(mcp_loop *loop, const char *level, const char *line);

#endif
