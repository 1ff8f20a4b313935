/* timer.h: a heap of deadlines (timer.c). */
#ifndef MCP_SRC_HTTP_SERVER_TIMER_H
#define MCP_SRC_HTTP_SERVER_TIMER_H

#include "base/base.h"

/* Zero-initialized. The links are inside the members, so nothing is allocated. */
typedef struct mcp__http_timer {
    struct mcp__http_timer *child, *next, *prev; /* prev: the left sibling, or the parent */
    int64_t due;
    bool armed;
    bool of_peer; /* in a mcp__http_peer, else in a connection */
} mcp__http_timer;

void mcp__http_timer_set(mcp__http_timer **heap, mcp__http_timer *timer, int64_t due);
void mcp__http_timer_stop(mcp__http_timer **heap, mcp__http_timer *timer);
/* Changes the deadline only to an earlier one. A timer that fires too early is set again by its
 * owner, which costs less than moving it at each event. */
static inline void mcp__http_timer_hasten(mcp__http_timer **heap, mcp__http_timer *timer,
                                          int64_t due)
{
    if (!timer->armed || due < timer->due)
        mcp__http_timer_set(heap, timer, due);
}

#endif
