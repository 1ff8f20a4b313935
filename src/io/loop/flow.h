/* flow.h: limits how fast messages of a server are read, so that a server that sends without end costs
 * little. What is not read fills the buffers of the kernel, and then the server has to wait.
 */
#ifndef MCP_SRC_IO_FLOW_H
#define MCP_SRC_IO_FLOW_H

#include "base/base.h"

enum {
    MCP__FLOW_COST = 4 << 10,     /* a message takes as much time as so many bytes, about */
    MCP__FLOW_MOST = 1000 * 1000, /* the highest limit, in messages per second */
};

typedef struct mcp__flow {
    size_t per_second; /* messages in a second, on average; 0 means no limit */
    /* Called when the server has to wait, at most once in ten seconds. May be NULL. */
    void (*slowed)(void *user);
    void *user;
    int64_t credit; /* the bytes that may be read now; below 0 if there were more */
    int64_t at, told_at;
    bool begun, told;
} mcp__flow;

/* Counts what was read. Returns for how many milliseconds nothing more may be read. */
uint64_t mcp__flow_take(mcp__flow *flow, int64_t now, size_t bytes, size_t messages);

#endif
