/* io.h: what the files of src/io share: the loop's inside, lines in, bytes out, descriptors.
 *
 * Everything here belongs to the thread that runs the loop.
 */
#ifndef MCP_SRC_IO_H
#define MCP_SRC_IO_H

#include <stdatomic.h>
#include <sys/types.h>

#include <uv.h>

#include <mcp/io.h>

#include "base/base.h"

/* ---- loop.c ------------------------------------------------------------------------------------- */

struct mcp_loop {
    uv_loop_t uv;
    uv_async_t wakeup; /* mcp_loop_stop() */
    uv_timer_t pause;  /* mcp_loop_step() */
    atomic_bool stop;
    mcp_allocator allocator;
    mcp_host host;
    mcp__link things; /* the host's timers and polls */
    mcp__link works;  /* queued or running on worker threads */
    int log_level;
    size_t log_lost;      /* lines that stderr did not take */
    struct mcp__net *net; /* net.h; a program that never listens does not even link it */
    void (*net_free)(struct mcp__net *net);
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
    bool discarding; /* [start, end) is the head of a line whose rest is thrown away */
} mcp__lines;

enum { MCP__LINE_NONE, MCP__LINE_WHOLE, MCP__LINE_OVERSIZED };

void mcp__lines_init(mcp__lines *l, const mcp_allocator *allocator, size_t max_line);
void mcp__lines_free(mcp__lines *l);
/* Where to read to, and how much at most (at least 16 KiB). NULL: no memory. Lines that were taken
 * before are invalid afterwards. */
char *mcp__lines_room(mcp__lines *l, size_t *room);
void mcp__lines_added(mcp__lines *l, size_t n);
/* Takes the next line that is not empty, without its newline: whole, or too long and then its head.
 * It points into the buffer. */
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

#endif
