/* upstream.c: other MCP servers as sources, "mcp:COMMAND": a module that is part of the program,
 * because it runs on the program's loop. */
#define MCP_MODULE_STATIC
#include <stdio.h>

#include <mcp/module.h>

#include "metrics.h"
#include "upstream.h"
#include "upstreams.h"

/* These are global, because the functions of a module have no `user` argument. */
static mcp_upstream_group mounted;
static char said[300];

static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error)
{
    return mcp_upstream_mount_json(server, source, options, name, &mounted, NULL, error);
}

static int check(const char *source, const mcp_json *options, const char *name, mcp_error *error)
{
    return mcp_upstream_try_json(source, options, name, said, sizeof(said), error);
}

static int describe(const char *source, const mcp_json *options, const char *name,
                    const mcp_description *to, mcp_error *error)
{
    return mcp_upstream_describe_json(source, options, name, to, NULL, error);
}

MCP_MODULE(mcp, .about = "other MCP servers, over stdio or HTTP",
           .options_schema = mcp_upstream_schema, .mount = mount, .check = check,
           .describe = describe);

const char *upstreams_said(void)
{
    return said;
}

/* ---- metrics --------------------------------------------------------------------------------- */

static uint64_t sessions(const mcp_upstream_state *s)
{
    return s->sessions;
}

static uint64_t subscriptions(const mcp_upstream_state *s)
{
    return s->subscriptions;
}

static uint64_t in_flight(const mcp_upstream_state *s)
{
    return s->in_flight;
}

static uint64_t opened(const mcp_upstream_state *s)
{
    return s->opened;
}

static uint64_t refused(const mcp_upstream_state *s)
{
    return s->refused;
}

static uint64_t processes(const mcp_upstream_state *s)
{
    return s->processes;
}

static uint64_t memory(const mcp_upstream_state *s)
{
    return s->memory;
}

static uint64_t starts(const mcp_upstream_state *s)
{
    return s->starts;
}

static uint64_t failures(const mcp_upstream_state *s)
{
    return s->failures;
}

static void put_ends(const metric_sink *to, const mcp_upstream_state *s)
{
    for (size_t i = 0; i < MCP_UPSTREAM_ENDS; i++)
        metric_put(to, "cause", mcp_upstream_end_name((mcp_upstream_end)i), s->ends[i]);
}

static void put_requests(const metric_sink *to, const mcp_upstream_state *s)
{
    for (size_t i = 0; i < MCP_UPSTREAM_OUTCOMES; i++)
        metric_put(to, "outcome", mcp_upstream_outcome_name((mcp_upstream_outcome)i),
                   s->requests[i]);
}

static const struct {
    const char *name, *type, *help;
    uint64_t (*value)(const mcp_upstream_state *s); /* NULL if the next member is set */
    void (*put)(const metric_sink *to, const mcp_upstream_state *s);
    bool program; /* the metric exists only for servers that are programs */
} metrics[] = {
    {"mcp_upstream_sessions", "gauge", "Open sessions with the other server.", sessions, NULL,
     false},
    {"mcp_upstream_sessions_opened_total", "counter", "Sessions that were opened.", opened, NULL,
     false},
    {"mcp_upstream_sessions_ended_total", "counter", "Sessions that ended, by cause.", NULL,
     put_ends, false},
    {"mcp_upstream_sessions_refused_total", "counter",
     "Sessions that were not opened because of max_sessions.", refused, NULL, false},
    {"mcp_upstream_subscriptions", "gauge", "Resources of the other server that are watched.",
     subscriptions, NULL, false},
    {"mcp_upstream_requests_in_flight", "gauge", "Forwarded requests without an answer yet.",
     in_flight, NULL, false},
    {"mcp_upstream_requests_total", "counter", "Forwarded requests, by outcome.", NULL,
     put_requests, false},
    {"mcp_upstream_processes", "gauge", "Processes of the other server that run.", processes, NULL,
     true},
    {"mcp_upstream_process_memory_bytes", "gauge", "Private memory of these processes.", memory,
     NULL, true},
    {"mcp_upstream_process_starts_total", "counter", "Processes that were started.", starts, NULL,
     true},
    {"mcp_upstream_process_failures_total", "counter",
     "Processes that ended by themselves or did not start.", failures, NULL, true},
};

typedef struct writing {
    metric_sink to;
    size_t metric;
} writing;

static void put_each(const mcp_upstream_state *state, void *user)
{
    writing *w = user;
    char source[64];
    size_t m = w->metric;
    if (metrics[m].program && !state->program) {
        metric_skip(&w->to);
        return;
    }
    snprintf(source, sizeof(source), "mcp:%s", state->name);
    metric_begin(&w->to, metrics[m].name, metrics[m].type, metrics[m].help, source);
    if (metrics[m].value)
        metric_put(&w->to, NULL, NULL, metrics[m].value(state));
    else
        metrics[m].put(&w->to, state);
}

void upstreams_metrics(bool numbers, void (*add)(mcp_str text, void *arg), void *arg)
{
    for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
        mcp_upstream_each(
            &mounted, put_each,
            &(writing){.to = {.add = add, .arg = arg, .numbers = numbers}, .metric = i});
}
