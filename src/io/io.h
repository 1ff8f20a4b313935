/* io.h: what the files of src/io share: the loop's inside, lines in, bytes out, descriptors.
 *
 * Everything here belongs to the thread that runs the loop, but for mcp__post() and mcp__host_post().
 */
#ifndef MCP_SRC_IO_H
#define MCP_SRC_IO_H

#include <stdatomic.h>
#include <sys/types.h>

#include <uv.h>

#include <mcp/io.h>

#include "base/base.h"

/* ---- post.c: calls from other threads -------------------------------------------------------------- */

/* Something to be run on the loop's thread; embed it. `run` may free it. */
typedef struct mcp__posted {
    struct mcp__posted *next;
    void (*run)(struct mcp__posted *posted);
} mcp__posted;

typedef struct mcp__posts {
    uv_mutex_t lock;
    uv_async_t wakeup; /* keeps the loop running while there is work */
    mcp__posted *first, **end;
} mcp__posts;

/* Both return 0 or libuv's status. The handles are closed with the loop's others, before _free(). */
int mcp__posts_init(mcp_loop *loop);
void mcp__posts_free(mcp_loop *loop);
/* From any thread: runs it in the order of the calls. */
void mcp__post(mcp_loop *loop, mcp__posted *posted);
/* Runs what is queued now; whether there was anything. */
bool mcp__posts_run(mcp_loop *loop);
int mcp__host_post(void *user, void (*fn)(void *arg), void *arg);

/* ---- workers.c: threads for what blocks -------------------------------------------------------------- */

typedef enum mcp__lane { MCP__LANE_SHORT = 0, MCP__LANE_LONG, MCP__LANES } mcp__lane;

typedef struct mcp__workers {
    uv_mutex_t lock; /* of everything but `growth` */
    uv_timer_t growth;
    uv_cond_t left; /* a thread is about to end */
    mcp__link lanes[MCP__LANES];
    mcp__link idle; /* the one used last is last */
    size_t max_threads, max_long, max_waiting;
    uint64_t idle_ms;         /* a thread without work ends after this time */
    size_t threads, starting; /* that are there; that are on their way to look for work */
    size_t waiting, long_running;
    bool stopping, any_ended;
    uv_thread_t ended; /* the last one; nobody has joined it yet */
} mcp__workers;

int mcp__workers_init(mcp_loop *loop);
/* Ends the threads; nothing runs any more. */
void mcp__workers_free(mcp_loop *loop);
/* What has not begun never runs; its `done` is called soon. */
void mcp__workers_cancel(mcp_loop *loop);
int mcp__host_work(void *user, void (*fn)(void *arg), void (*done)(void *arg), void *arg);
int mcp__host_work_long(void *user, void (*fn)(void *arg), void (*done)(void *arg), void *arg);

/* ---- loop.c ------------------------------------------------------------------------------------- */

struct mcp_loop {
    uv_loop_t uv;
    uv_async_t wakeup; /* mcp_loop_stop() */
    uv_timer_t pause;  /* mcp_loop_step() */
    atomic_bool stop;
    mcp_allocator allocator;
    mcp_host host;
    mcp__link things; /* the host's timers and polls */
    mcp__link works;  /* queued or running on worker threads, or on their way back */
    mcp__posts posts;
    mcp__workers workers;
    int log_level;
    size_t log_lost;      /* lines that stderr did not take */
    struct mcp__net *net; /* net.h; a program that never listens does not even link it */
    void (*net_free)(struct mcp__net *net);
    struct mcp__web *web; /* http_client.h; the same */
    void (*web_stop)(struct mcp__web *web);
};

/* Whether mcp_loop_stop() was called since the last time that this was asked. */
bool mcp__loop_stopped(mcp_loop *loop);
/* The time of this turn: cheap, but old after something slow. */
static inline int64_t mcp__loop_now(const mcp_loop *loop)
{
    return (int64_t)uv_now(&loop->uv);
}
/* MCP_EIO with libuv's text, or MCP_ENOMEM. */
int mcp__uv_fail(mcp_error *error, int status, const char *what);

/* ---- log.c -------------------------------------------------------------------------------------- */

/* Copies text so that it is harmless on a terminal: control characters and what is not UTF-8 become
 * \xNN; cut (at a character) when there is no room. Writes at most room bytes with the NUL; returns
 * the length. */
size_t mcp__log_escape(char *to, size_t room, mcp_str text);
void mcp__log_line(mcp_loop *loop, const char *level, const char *line);

/* ---- lines.c: a stream cut into lines ----------------------------------------------------------- */

typedef struct mcp__lines {
    const mcp_allocator *allocator;
    char *ptr;
    size_t cap, start, end; /* [start, end) is what was read and not yet taken */
    size_t scanned;         /* no newline before this */
    size_t max_line;
    /* Of a line that is too long: [0, scanned) is its head, [scanned, end) the last of it that was read. */
    bool discarding;
    mcp_str tail; /* of the oversized line that was taken last: its end */
} mcp__lines;

enum { MCP__LINE_NONE, MCP__LINE_WHOLE, MCP__LINE_OVERSIZED };

void mcp__lines_init(mcp__lines *l, const mcp_allocator *allocator, size_t max_line);
void mcp__lines_free(mcp__lines *l);
/* Where to read to, and how much at most (at least 16 KiB). NULL: no memory. Lines that were taken
 * before are invalid afterwards. */
char *mcp__lines_room(mcp__lines *l, size_t *room);
void mcp__lines_added(mcp__lines *l, size_t n);
/* Takes the next line that is not empty, without its newline: whole, or too long and then its head, and its end in
 * l->tail. They point into the buffer. */
int mcp__lines_next(mcp__lines *l, mcp_str *line);
/* At the end of input, after mcp__lines_next() found no more: the last line, which has no newline. */
int mcp__lines_rest(mcp__lines *l, mcp_str *line);

/* ---- output.c: bytes on their way to a descriptor ------------------------------------------------ */

typedef struct mcp__output {
    const mcp_allocator *allocator;
    int fd;
    char *ptr;
    size_t cap, start, end;
    size_t limit; /* more waiting than this is a failure */
    bool blocked; /* the descriptor took no more: wait until it is writable */
    int failed;   /* sticks: MCP_ECLOSED, MCP_EIO, MCP_ENOMEM, MCP_ELIMIT */
    int sys;      /* errno of MCP_EIO */
} mcp__output;

void mcp__output_init(mcp__output *o, const mcp_allocator *allocator, int fd, size_t limit);
void mcp__output_free(mcp__output *o);
static inline size_t mcp__output_pending(const mcp__output *o)
{
    return o->end - o->start;
}
/* Puts message and a newline behind what waits; a large one is written at once as far as possible. */
void mcp__output_line(mcp__output *o, mcp_str message);
/* Writes what waits until all is written or the descriptor takes no more (`blocked`). */
void mcp__output_flush(mcp__output *o);

/* ---- descriptor.c -------------------------------------------------------------------------------- */

typedef struct mcp__descriptor {
    int fd;
    bool owned; /* close it at the end */
    bool fifo;
    int flags; /* of fcntl(F_SETFL), to be restored; -1: nothing was changed */
} mcp__descriptor;

/* Opens those of 0, 1 and 2 that are closed on /dev/null, so that nothing else takes their place. */
int mcp__descriptor_fill_standard(void);
/* For reading fd: as it is, or a private description of it where it is a terminal. */
int mcp__descriptor_input(mcp__descriptor *d, int fd);
/* For writing: a duplicate. With `take`, fd becomes another name of stderr. */
int mcp__descriptor_output(mcp__descriptor *d, int fd, bool take);
/* Makes it as it was found; closes it if it is ours. */
void mcp__descriptor_release(mcp__descriptor *d);

/* ---- parent.c ------------------------------------------------------------------------------------ */

/* A descriptor that is readable when our parent process has ended; -1 where there is nothing to wait for: no
 * parent, one that is not to take us along (nohup), or a system that cannot tell. */
int mcp__parent_open(void);

#endif
