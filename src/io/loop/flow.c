/* flow.c: see flow.h. The credit grows with the time, up to that of one second. A message costs
 * MCP__FLOW_COST besides its bytes. So a burst, or one long message, is read at once.
 */
#include "io/loop/flow.h"

enum {
    LEAST_MS = 20, /* a shorter pause would only cost wake-ups */
    TOLD_EVERY_MS = 10000,
};

static void earn(mcp__flow *flow, int64_t now)
{
    int64_t most = (int64_t)flow->per_second * MCP__FLOW_COST;  /* in a second */
    int64_t ms = MCP__MIN(now - flow->at, INT64_C(1000000000)); /* no overflow */

    flow->credit = flow->begun ? MCP__MIN(flow->credit + most * ms / 1000, most) : most;
    flow->begun = true;
    flow->at = now;
}

static void tell(mcp__flow *flow, int64_t now)
{
    if (flow->told && now - flow->told_at < TOLD_EVERY_MS)
        return;
    flow->told = true;
    flow->told_at = now;
    if (flow->slowed)
        flow->slowed(flow->user);
}

uint64_t mcp__flow_take(mcp__flow *flow, int64_t now, size_t bytes, size_t messages)
{
    if (!flow->per_second)
        return 0;
    earn(flow, now);
    flow->credit -= (int64_t)(bytes + messages * MCP__FLOW_COST);
    if (flow->credit >= 0)
        return 0;
    tell(flow, now);
    int64_t ms = -flow->credit * 1000 / ((int64_t)flow->per_second * MCP__FLOW_COST);
    return (uint64_t)MCP__MAX(ms, (int64_t)LEAST_MS);
}
