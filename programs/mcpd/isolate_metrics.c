/* isolate_metrics.c: metrics of the processes of sources, for /metrics. */
#include "isolate.h"
#include "metrics.h"

typedef struct figures {
    const mcp_service_state *state;
    size_t refused;
} figures;

static uint64_t up(const figures *f)
{
    return f->state->up;
}

static uint64_t memory(const figures *f)
{
    return f->state->memory;
}

static uint64_t starts(const figures *f)
{
    return f->state->starts;
}

static uint64_t refused(const figures *f)
{
    return f->refused;
}

static const struct {
    const char *name, *type, *help;
    uint64_t (*value)(const figures *f); /* NULL for the ends, which are counted by cause */
} metrics[] = {
    {"mcp_source_process_up", "gauge", "Whether the source's process is running.", up},
    {"mcp_source_process_memory_bytes", "gauge", "Private memory of the source's process.", memory},
    {"mcp_source_process_starts_total", "counter", "Processes that were started for the source.",
     starts},
    {"mcp_source_process_ends_total", "counter", "Processes that ended, by cause.", NULL},
    {"mcp_source_refused", "gauge",
     "Requests that are refused for a while because they ended a process.", refused},
};

typedef struct writing {
    metric_sink to;
    size_t metric;
} writing;

static void put_each(const mcp_service_state *state, size_t n_refused, void *user)
{
    writing *w = user;
    size_t m = w->metric;
    const char *cause;
    metric_begin(&w->to, metrics[m].name, metrics[m].type, metrics[m].help, state->name);
    if (metrics[m].value) {
        metric_put(&w->to, NULL, NULL, metrics[m].value(&(figures){state, n_refused}));
        return;
    }
    for (size_t i = 0; (cause = mcp_service_cause_name(i)) != NULL; i++)
        metric_put(&w->to, "cause", cause, state->ends[i]);
}

void isolate_metrics(const offer *o, void (*add)(mcp_str text, void *arg), void *arg)
{
    for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
        mcp_isolated_each(
            &o->isolated, put_each,
            &(writing){.to = {.add = add, .arg = arg, .numbers = o->rules != NULL}, .metric = i});
}
