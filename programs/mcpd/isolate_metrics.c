/* isolate_metrics.c: metrics of the processes of sources, for /metrics. */
#include "isolate.h"
#include "metrics.h"

static uint64_t up(const mcp_isolated_state *s)
{
    return s->process.up;
}

static uint64_t memory(const mcp_isolated_state *s)
{
    return s->process.memory;
}

static uint64_t starts(const mcp_isolated_state *s)
{
    return s->process.starts;
}

static uint64_t refused(const mcp_isolated_state *s)
{
    return s->refused;
}

static uint64_t failed(const mcp_isolated_state *s)
{
    return s->failed;
}

static const struct {
    const char *name, *type, *help;
    /* returns the value; NULL for the ends of processes, which have a value for each cause */
    uint64_t (*value)(const mcp_isolated_state *s);
} metrics[] = {
    {"mcp_source_process_up", "gauge", "Whether the source's process is running.", up},
    {"mcp_source_process_memory_bytes", "gauge", "Private memory of the source's process.", memory},
    {"mcp_source_process_starts_total", "counter", "Processes that were started for the source.",
     starts},
    {"mcp_source_process_ends_total", "counter", "Processes that ended, by cause.", NULL},
    {"mcp_source_refused", "gauge",
     "Requests that are refused for a while because they ended a process.", refused},
    {"mcp_source_failed", "gauge", "Whether the source could not be opened when it was last used.",
     failed},
};

typedef struct writing {
    metric_sink to;
    size_t metric;
} writing;

static void put_each(const mcp_isolated_state *state, void *user)
{
    writing *w = user;
    size_t m = w->metric;
    const char *cause;
    metric_begin(&w->to, metrics[m].name, metrics[m].type, metrics[m].help, state->process.name);
    if (metrics[m].value) {
        metric_put(&w->to, NULL, NULL, metrics[m].value(state));
        return;
    }
    for (size_t i = 0; (cause = mcp_service_cause_name(i)) != NULL; i++)
        metric_put(&w->to, "cause", cause, state->process.ends[i]);
}

void isolate_metrics(const offer *o, void (*add)(mcp_str text, void *arg), void *arg)
{
    for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
        mcp_isolated_each(
            &o->isolated, put_each,
            &(writing){.to = {.add = add, .arg = arg, .numbers = o->rules != NULL}, .metric = i});
}
