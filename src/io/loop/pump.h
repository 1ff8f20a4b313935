/* pump.h: connects the loop with the channel of a client, for all client transports. It calls
 * mcp_channel_tick() at the deadline of the channel and, if the channel requested a tick, before
 * the loop blocks (mcp__pumps_settle()).
 */
#ifndef MCP_SRC_IO_PUMP_H
#define MCP_SRC_IO_PUMP_H

#include "io/loop/loop.h"

#include <mcp/sys/client.h>

typedef struct mcp__pump {
    mcp_loop *loop;
    mcp_client *client;
    mcp_channel *channel; /* of the client, or NULL if it is not connected */
    void (*settle)(void *arg);
    void *arg;
    uv_idle_t idle; /* active while there is work to do before the loop blocks */
    mcp__link link; /* in loop->pumps during that time */
    uv_timer_t deadline;
    bool woken;                /* the channel has requested a tick */
    bool settling;             /* settle() will be called after the tick */
    unsigned handles;          /* number of open handles */
    void (*closed)(void *arg); /* called after the last handle was closed; may free d; or NULL */
} mcp__pump;

/* Initializes a pump. `settle` is called once before the loop blocks, after mcp__pump_note() or
 * mcp__pump_wake(). */
void mcp__pump_init(mcp__pump *d, mcp_loop *loop, mcp_client *client, void (*settle)(void *arg),
                    void *arg);
/* Connects the client with mcp_client_connect_transport(), and returns the result of that call. The
 * channel gets its first tick before the loop blocks. */
int mcp__pump_connect(mcp__pump *d, const mcp_channel_options *options,
                      const mcp_transport_options *transport, mcp_error *error);
/* Schedules a call of settle() before the loop blocks. */
void mcp__pump_note(mcp__pump *d);
/* Schedules a tick of the channel and settle(). For the `wake` function of the channel. */
void mcp__pump_wake(mcp__pump *d);
/* Calls mcp_channel_tick() if the channel requested that, and sets the timer for its deadline. Must
 * be called after each call of the channel. */
void mcp__pump_turn(mcp__pump *d);
/* Ends the connection. Calls mcp_client_disconnected() with the reason. */
void mcp__pump_end(mcp__pump *d, const char *why);
/* Closes the handles. d->handles becomes 0 some turns of the loop later. */
void mcp__pump_close(mcp__pump *d);
/* Runs one turn of the loop, for mcp_transport_options.step. */
int mcp__pump_step(mcp__pump *d, uint64_t ms);

/* Does what the pumps of the loop were asked to do before it blocks. Otherwise the next turn of the
 * loop does it, but that turn does not block. */
void mcp__pumps_settle(mcp_loop *loop);

/* Ignores SIGPIPE if it has its default action. Otherwise a write to a closed pipe would end the
 * process. */
void mcp__ignore_sigpipe(void);

#endif
