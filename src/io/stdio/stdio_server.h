/* stdio_server.h: a server on a pair of descriptors. stdio_setup.c starts and ends it, stdio.c
 * runs it. */
#ifndef MCP_SRC_IO_STDIO_STDIO_SERVER_H
#define MCP_SRC_IO_STDIO_STDIO_SERVER_H

#include <mcp/sys/channel.h>
#include <signal.h>

#include "io/loop/loop.h"
#include "io/stdio/stdio.h"

typedef enum mcp__stdio_phase {
    MCP__STDIO_RUNNING,  /* messages are read and handled */
    MCP__STDIO_DRAINING, /* the input has ended and has been handled; answers may still follow */
    MCP__STDIO_CLOSING,  /* the channel is closed; its last messages are being written */
    MCP__STDIO_DONE,
} mcp__stdio_phase;

enum { MCP__STDIO_SIGNALS = 3 }; /* number of signals that stop the server */

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
    bool hung_up; /* the peer has ended or closed our input; unread data may be left */
    /* congested: too much output is pending; ending: a signal has arrived, or mcp_loop_stop()
     * was called */
    bool congested, ending;
    bool woken;                 /* the channel has requested a tick */
    bool in_always, out_always; /* always ready, and not pollable: a file or /dev/null */
    int in_watched;             /* events that in_poll waits for; 0 if it is stopped */
    bool out_watched;
    int64_t until; /* deadline of the closing phase or, if hung_up, of all that is left to do */
    int64_t armed; /* deadline of the timer, or INT64_MAX if it is not set */

    uv_timer_t timer;
    uv_poll_t in_poll, out_poll, parent_poll;
    int parent; /* descriptor of mcp__parent_open(), or -1 */
    uv_signal_t signals[MCP__STDIO_SIGNALS];
    size_t handles;               /* number of open handles */
    struct sigaction pipe_before; /* the action of SIGPIPE to restore, if pipe_ignored */
    bool pipe_ignored;
} mcp__stdio;

/* ---- stdio.c --------------------------------------------------------------------------------- */

/* Runs the server until it ends. Sets s->result and s->error. */
void mcp__stdio_run(mcp__stdio *s);
/* The functions `send` and `wake` of the channel. */
void mcp__stdio_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user);
void mcp__stdio_wake(mcp_channel *channel, void *user);
/* Callbacks of the handles that stdio_setup.c opens. */
void mcp__stdio_on_output(uv_poll_t *poll, int status, int events);
void mcp__stdio_on_signal(uv_signal_t *signal, int number);
void mcp__stdio_on_parent(uv_poll_t *poll, int status, int events);

#endif
