/* server.h: a server on a pair of descriptors: its turns (stdio.c), start and end (setup.c). */
#ifndef MCP_SRC_IO_STDIO_SERVER_H
#define MCP_SRC_IO_STDIO_SERVER_H

#include <signal.h>

#include "io/loop/loop.h"
#include "io/stdio/stdio.h"

typedef enum mcp__stdio_phase {
    MCP__STDIO_RUNNING,
    MCP__STDIO_DRAINING, /* the input has ended and has been handled; answers may still follow */
    MCP__STDIO_CLOSING,  /* the channel is closed; its last messages are being written */
    MCP__STDIO_DONE,
} mcp__stdio_phase;

enum { MCP__STDIO_SIGNALS = 3 }; /* that stop it */

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
    bool hung_up; /* the peer has closed our input; unread data may be left */
    bool congested, asked_to_end;
    bool woken;                 /* the channel has requested a tick */
    bool in_always, out_always; /* cannot be polled: a file or /dev/null */
    int in_watched;             /* events being watched */
    bool out_watched;
    int64_t until; /* latest end of the phase, or of draining after the input ended */
    int64_t armed; /* deadline of the timer; INT64_MAX: none */

    uv_timer_t timer;
    uv_poll_t in_poll, out_poll, parent_poll;
    int parent; /* a descriptor that becomes readable when the parent ends; -1: none */
    uv_signal_t signals[MCP__STDIO_SIGNALS];
    size_t handles; /* number of open handles */
    struct sigaction pipe_before;
    bool pipe_ignored;
} mcp__stdio;

/* ---- stdio.c ---------------------------------------------------------------------------------------- */

/* Runs turns until the end. s->result is set then. */
void mcp__stdio_run(mcp__stdio *s);
/* The `send` and `wake` functions of the channel. */
void mcp__stdio_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user);
void mcp__stdio_wake(mcp_channel *channel, void *user);
/* Callbacks of the handles that setup.c opens. */
void mcp__stdio_on_output(uv_poll_t *poll, int status, int events);
void mcp__stdio_on_signal(uv_signal_t *signal, int number);
void mcp__stdio_on_parent(uv_poll_t *poll, int status, int events);

#endif
