/* isolate_metrics.c: metrics of the processes of sources, for /metrics. */
#include <stdio.h>

#include "isolate.h"

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

typedef struct sink {
    void (*add)(mcp_str text, void *arg);
    void *arg;
    size_t metric, count;
    bool numbers; /* sources are labelled by number, because names may be secret */
} sink;

static void escape(const char *text, char *to, size_t room)
{
    size_t n = 0;
    for (; *text && n + 3 < room; text++) {
        if (*text == '"' || *text == '\\')
            to[n++] = '\\';
        to[n++] = *text >= 0 && *text < ' ' ? ' ' : *text;
    }
    to[n] = 0;
}

static void put(const sink *to, const char *name, const char *cause, uint64_t value)
{
    char text[900], label[500];
    escape(name, label, sizeof(label));
    int n = snprintf(text, sizeof(text), "%s{source=\"%s\"%s%s%s} %llu\n", metrics[to->metric].name,
                     label, cause ? ",cause=\"" : "", cause ? cause : "", cause ? "\"" : "",
                     (unsigned long long)value);
    if (n > 0 && (size_t)n < sizeof(text))
        to->add((mcp_str){text, (size_t)n}, to->arg);
}

static void head(sink *to)
{
    char text[400];
    int n = snprintf(text, sizeof(text), "# HELP %s %s\n# TYPE %s %s\n", metrics[to->metric].name,
                     metrics[to->metric].help, metrics[to->metric].name, metrics[to->metric].type);
    if (to->count == 0 && n > 0)
        to->add((mcp_str){text, (size_t)n}, to->arg);
    to->count++;
}

static void put_each(const mcp_service_state *state, size_t n_refused, void *user)
{
    sink *to = user;
    const char *cause, *name = state->name;
    char number[24];
    head(to);
    if (to->numbers) {
        snprintf(number, sizeof(number), "%zu", to->count);
        name = number;
    }
    if (metrics[to->metric].value) {
        put(to, name, NULL, metrics[to->metric].value(&(figures){state, n_refused}));
        return;
    }
    for (size_t i = 0; (cause = mcp_service_cause_name(i)) != NULL; i++)
        put(to, name, cause, state->ends[i]);
}

void isolate_metrics(const offer *o, void (*add)(mcp_str text, void *arg), void *arg)
{
    for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
        mcp_isolated_each(
            &o->isolated, put_each,
            &(sink){.add = add, .arg = arg, .metric = i, .numbers = o->rules != NULL});
}
