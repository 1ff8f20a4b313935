/* timer.h: a heap of timers, the earliest first (timer.c). */
#ifndef MCP_SRC_HTTP_SERVER_TIMER_H
#define MCP_SRC_HTTP_SERVER_TIMER_H

#include "base/base.h"

/* A timer, part of the object that it belongs to. Initialize it with zeros. */
typedef struct mcp__http_timer {
    struct mcp__http_timer *child, *next, *prev; /* prev: left sibling or parent */
    int64_t due;
    bool armed;
    bool of_peer; /* belongs to a mcp__http_peer, else to a connection */
} mcp__http_timer;

void mcp__http_timer_set(mcp__http_timer **heap, mcp__http_timer *timer, int64_t due);
void mcp__http_timer_stop(mcp__http_timer **heap, mcp__http_timer *timer);
/* Sets the timer, unless it is already due earlier. If the timer then fires too early, its owner
 * sets it again. That costs less than moving the timer at each event. */
static inline void mcp__http_timer_hasten(mcp__http_timer **heap, mcp__http_timer *timer,
                                          int64_t due)
{
    if (!timer->armed || due < timer->due)
        mcp__http_timer_set(heap, timer, due);
}

#endif
