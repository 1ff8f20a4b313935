/* isolate_metrics.c: metrics of the processes of sources, for /metrics. */
#include "isolate.h"
#include "metrics.h"

#include <mcp/sys/children.h>

#define OF(member) METRIC_MEMBER(mcp_isolated_state, member)

static const metric metrics[] = {
    {"mcp_source_process_up", "gauge", "Whether the source's process is running.", OF(process.up)},
    {"mcp_source_process_memory_bytes", "gauge", "Private memory of the source's process.",
     OF(process.memory)},
    {"mcp_source_process_starts_total", "counter", "Processes that were started for the source.",
     OF(process.starts)},
    {"mcp_source_process_ends_total", "counter", "Processes that ended, by cause.",
     OF(process.ends[0]), .key = "cause", .word = mcp_service_cause_name},
    {"mcp_source_refused", "gauge",
     "Requests that are refused for a while because they ended a process.", OF(refused)},
    {"mcp_source_failed", "gauge", "Whether the source could not be opened when it was last used.",
     OF(failed)},
    {"mcp_source_crowded_total", "counter",
     "Requests that failed because all processes of sources were busy.", OF(crowded)},
};

typedef struct writing {
    metric_sink to;
    const metric *metric;
} writing;

static void put_each(const mcp_isolated_state *state, void *user)
{
    writing *w = user;
    metric_put(&w->to, w->metric, state->prefix, state);
}

void isolate_metrics(const offer *o, void (*add)(mcp_str text, void *arg), void *arg)
{
    metric_sink to = {.add = add, .arg = arg};
    for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
        mcp_isolated_each(&o->isolated, put_each, &(writing){to, &metrics[i]});
}
