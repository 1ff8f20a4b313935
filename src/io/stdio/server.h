/* server.h: a server on a pair of descriptors: its turns (stdio.c), its beginning and end (setup.c).
 */
#ifndef MCP_SRC_IO_STDIO_SERVER_H
#define MCP_SRC_IO_STDIO_SERVER_H

#include <signal.h>

#include "io/loop/loop.h"
#include "io/stdio/stdio.h"

typedef enum mcp__stdio_phase {
    MCP__STDIO_RUNNING,
    MCP__STDIO_DRAINING, /* the input ended and all of it was handed over: answers may still come */
    MCP__STDIO_CLOSING,  /* the channel is closed: the last words are on their way */
    MCP__STDIO_DONE,
} mcp__stdio_phase;

enum { MCP__STDIO_SIGNALS = 3 }; /* that end it */

typedef struct mcp__stdio {
    mcp_loop *loop;
    mcp_server *server;
    mcp_channel *channel;
    mcp_stdio_options options;
    mcp__descriptor in, out;
    mcp__lines lines;
    mcp__output output;

    mcp__stdio_phase phase;
    int result;
    mcp_error *error;
    bool eof;
    bool hung_up; /* nobody writes to us any more; there may be more to read before the end */
    bool congested, asked_to_end;
    bool woken;                 /* the channel wants a tick */
    bool in_always, out_always; /* cannot be polled: a file, /dev/null */
    int in_watched;             /* events */
    bool out_watched;
    int64_t until; /* when the phase, or the input that ended, ends at the latest */
    int64_t armed; /* what the timer is set to; INT64_MAX: nothing */

    uv_timer_t timer;
    uv_poll_t in_poll, out_poll, parent_poll;
    int parent; /* tells of its end; -1: nobody's */
    uv_signal_t signals[MCP__STDIO_SIGNALS];
    size_t handles; /* that are open */
    struct sigaction pipe_before;
    bool pipe_ignored;
} mcp__stdio;

/* ---- stdio.c ---------------------------------------------------------------------------------------- */

/* Turns until the end; s->result is then set. */
void mcp__stdio_run(mcp__stdio *s);
/* The channel's `send` and `wake`. */
void mcp__stdio_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user);
void mcp__stdio_wake(mcp_channel *channel, void *user);
/* Of the handles that setup.c opens. */
void mcp__stdio_on_output(uv_poll_t *poll, int status, int events);
void mcp__stdio_on_signal(uv_signal_t *signal, int number);
void mcp__stdio_on_parent(uv_poll_t *poll, int status, int events);

#endif
