/* drive.h: what every transport of a client does between its loop and its channel: tick it in time, and
 * once more before the loop waits when something is to be sent.
 */
#ifndef MCP_SRC_IO_DRIVE_H
#define MCP_SRC_IO_DRIVE_H

#include "io/loop/loop.h"

typedef struct mcp__drive {
    mcp_loop *loop;
    mcp_client *client;
    mcp_channel *channel; /* the client's; NULL before and after its time */
    void (*settle)(void *arg);
    void *arg;
    uv_idle_t idle; /* runs before the loop waits when there is something to do */
    uv_timer_t deadline;
    bool woken; /* the channel wants a tick */
    unsigned handles;
} mcp__drive;

/* settle: what the transport does before the loop waits, after mcp__drive_note(). */
void mcp__drive_init(mcp__drive *d, mcp_loop *loop, mcp_client *client, void (*settle)(void *arg),
                     void *arg);
/* As mcp_client_connect_transport(). The channel is ticked for the first time before the loop waits. */
int mcp__drive_connect(mcp__drive *d, const mcp_channel_options *options,
                       const mcp_transport_options *transport, mcp_error *error);
/* settle() is to run before the loop waits. */
void mcp__drive_note(mcp__drive *d);
/* For the channel's `wake`. */
void mcp__drive_wake(mcp__drive *d);
/* To be called after the channel was: ticks it if it wants that, and looks when it is due next. */
void mcp__drive_turn(mcp__drive *d);
/* The connection is gone: no more ticks; the client is told. */
void mcp__drive_end(mcp__drive *d, const char *why);
/* Closes its handles; d->handles is 0 some turns of the loop later. */
void mcp__drive_close(mcp__drive *d);
/* For mcp_transport_options.step. */
int mcp__drive_step(mcp__drive *d, uint64_t ms);

/* A write to who is gone must not end us: SIGPIPE is ignored where it has its default action. */
void mcp__ignore_sigpipe(void);

#endif
