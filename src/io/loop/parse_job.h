/* parse_job.h: long messages of servers are parsed on a worker thread, so that the loop goes on
 * meanwhile. A transport passes nothing else of the same stream on until then.
 */
#ifndef MCP_SRC_IO_PARSE_H
#define MCP_SRC_IO_PARSE_H

#include "io/loop/loop.h"

#include <mcp/sys/channel.h>

typedef struct mcp__parse_job mcp__parse_job;

/* Begins to parse a message. The job takes the buffer `holder`, in which the message is, and leaves an
 * empty one; if it is NULL, the message is copied. `done` is called on the loop's thread, and must call
 * mcp__parse_receive(). Returns NULL if the message is short or cannot be parsed elsewhere: the caller then
 * still has the buffer, and receives the message at once. */
mcp__parse_job *mcp__parse_elsewhere(mcp_loop *loop, const mcp_channel *channel, mcp_str message,
                                     mcp__buf *holder,
                                     void (*done)(mcp__parse_job *job, void *owner), void *owner);
/* Passes the message to the channel, like mcp_channel_receive(). */
void mcp__parse_receive(mcp__parse_job *job, mcp_channel *channel, mcp_exchange exchange);
/* Does the same without waiting for the thread if the channel is not NULL. `done` is not called any
 * more. `job` may be NULL. */
void mcp__parse_leave(mcp__parse_job *job, mcp_channel *channel, mcp_exchange exchange);

#endif
