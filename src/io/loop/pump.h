/* pump.h: what every transport of a client does between its loop and its channel: tick it in time, and
 * once more before the loop waits when something is to be sent.
 */
#ifndef MCP_SRC_IO_PUMP_H
#define MCP_SRC_IO_PUMP_H

#include "io/loop/loop.h"

typedef struct mcp__pump {
    mcp_loop *loop;
    mcp_client *client;
    mcp_channel *channel; /* the client's; NULL before and after its time */
    void (*settle)(void *arg);
    void *arg;
    uv_idle_t idle; /* runs before the loop waits when there is something to do */
    uv_timer_t deadline;
    bool woken; /* the channel wants a tick */
    unsigned handles;
} mcp__pump;

/* settle: what the transport does before the loop waits, after mcp__pump_note(). */
void mcp__pump_init(mcp__pump *d, mcp_loop *loop, mcp_client *client, void (*settle)(void *arg),
                    void *arg);
/* As mcp_client_connect_transport(). The channel is ticked for the first time before the loop waits. */
int mcp__pump_connect(mcp__pump *d, const mcp_channel_options *options,
                      const mcp_transport_options *transport, mcp_error *error);
/* settle() is to run before the loop waits. */
void mcp__pump_note(mcp__pump *d);
/* For the channel's `wake`. */
void mcp__pump_wake(mcp__pump *d);
/* To be called after the channel was: ticks it if it wants that, and looks when it is due next. */
void mcp__pump_turn(mcp__pump *d);
/* The connection is gone: no more ticks; the client is told. */
void mcp__pump_end(mcp__pump *d, const char *why);
/* Closes its handles; d->handles is 0 some turns of the loop later. */
void mcp__pump_close(mcp__pump *d);
/* For mcp_transport_options.step. */
int mcp__pump_step(mcp__pump *d, uint64_t ms);

/* A write to who is gone must not end us: SIGPIPE is ignored where it has its default action. */
void mcp__ignore_sigpipe(void);

#endif
