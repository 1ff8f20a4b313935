/* pump.h: drives the channel of a client; all client transports use it. It calls mcp_channel_tick()
 * at the channel's deadline, and also before the loop blocks if the channel requested that.
 */
#ifndef MCP_SRC_IO_PUMP_H
#define MCP_SRC_IO_PUMP_H

#include "io/loop/loop.h"

typedef struct mcp__pump {
    mcp_loop *loop;
    mcp_client *client;
    mcp_channel *channel; /* of the client; NULL: not connected */
    void (*settle)(void *arg);
    void *arg;
    uv_idle_t idle; /* runs before the loop waits, if there is work */
    uv_timer_t deadline;
    bool woken;                /* the channel has requested a tick */
    unsigned handles;          /* number of open handles */
    void (*closed)(void *arg); /* called after the last handle was closed; may be NULL */
} mcp__pump;

/* settle: called once before the loop blocks, if mcp__pump_note() was called. */
void mcp__pump_init(mcp__pump *d, mcp_loop *loop, mcp_client *client, void (*settle)(void *arg),
                    void *arg);
/* Like mcp_client_connect_transport(). The channel is ticked for the first time before the loop
 * waits. */
int mcp__pump_connect(mcp__pump *d, const mcp_channel_options *options,
                      const mcp_transport_options *transport, mcp_error *error);
/* Schedules settle() before the loop waits. */
void mcp__pump_note(mcp__pump *d);
/* For the `wake` function of the channel. */
void mcp__pump_wake(mcp__pump *d);
/* Call this after each call of the channel: ticks it if it requested that, and sets the timer for
 * its deadline. */
void mcp__pump_turn(mcp__pump *d);
/* Ends the connection: stops the ticks and tells the client. */
void mcp__pump_end(mcp__pump *d, const char *why);
/* Closes its handles. d->handles becomes 0 some turns of the loop later. */
void mcp__pump_close(mcp__pump *d);
/* For mcp_transport_options.step. */
int mcp__pump_step(mcp__pump *d, uint64_t ms);

/* Ignores SIGPIPE where it has its default action, which would end the process at a write to a
 * closed pipe. */
void mcp__ignore_sigpipe(void);

#endif
