/* upstream.c: other MCP servers as sources, "mcp:COMMAND": a module that is part of the program,
 * because it runs on the program's loop. */
#define MCP_MODULE_STATIC
#include <stdio.h>

#include <common/bundle.h>
#include <mcp/module.h>

#include "metrics.h"
#include "remember.h"
#include "upstream.h"
#include "upstreams.h"

static uint64_t cost(mcp_str text)
{
    return budget_cost(&(budget){.tokens = true}, text);
}

/* These are global, because the functions of a module get no argument of the program's. */
static mcp_upstream_group mounted = {.cost = cost};
static char summary[400];
static mcp_upstream_tool_fn *visit;
static void *visitor;

static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error)
{
    return mcp_upstream_mount_json(server, source, options, name, &mounted, NULL, error);
}

static int check(const char *source, const mcp_json *options, const char *name, mcp_error *error)
{
    return mcp_upstream_try_json(source, options, name, summary, sizeof(summary), visit, visitor,
                                 error);
}

static int describe(const char *source, const mcp_json *options, const char *name,
                    const mcp_description *to, mcp_error *error)
{
    return mcp_upstream_describe_json(source, options, name, to, NULL, error);
}

MCP_MODULE(mcp, .about = "other MCP servers, over stdio or HTTP",
           .options_schema = mcp_upstream_schema, .mount = mount, .check = check,
           .describe = describe);

const char *upstreams_summary(void)
{
    return summary;
}

/* ---- approvals ------------------------------------------------------------------------------- */

int upstreams_use_approvals(const char *path, bool withhold, mcp_error *error)
{
    mcp_approvals *next = NULL;
    int rc = path ? mcp_approvals_open(path, NULL, &next, error) : MCP_OK;
    if (rc != MCP_OK)
        return rc;
    mcp_approvals_release(mounted.approvals);
    mounted.approvals = next;
    mounted.withhold_changed = withhold;
    return MCP_OK;
}

int upstreams_use_memory(const char *path, mcp_error *error)
{
    return remember_use(path, &mounted, error);
}

void upstreams_use_limits(uint64_t calls, uint64_t sessions, uint64_t sessions_in_all,
                          uint64_t bytes)
{
    mounted.max_calls = (size_t)calls;
    mounted.max_sessions = (size_t)sessions;
    mounted.max_sessions_in_all = (size_t)sessions_in_all;
    mounted.max_bytes = (size_t)bytes;
}

const mcp_approvals *upstreams_approvals(void)
{
    return mounted.approvals;
}

void upstreams_visit_tools(mcp_upstream_tool_fn *fn, void *user)
{
    visit = fn;
    visitor = user;
}

/* ---- instructions ---------------------------------------------------------------------------- */

enum { MOST_OF_EACH = 2000, MOST_IN_ALL = 16000, MOST_IN_TITLE = 80 };

typedef struct introduction {
    const mcp_request *req;
    FILE *to;
    size_t written, left_out;
} introduction;

/* Returns the length of the beginning of a text that ends with a whole character. */
static size_t beginning(mcp_str text, size_t most)
{
    size_t len = text.len < most ? text.len : most;
    while (len < text.len && len && ((unsigned char)text.ptr[len] & 0xC0) == 0x80)
        len--;
    return len;
}

static void put_line(FILE *to, mcp_str text)
{
    size_t len = beginning(text, MOST_IN_TITLE);
    for (size_t i = 0; i < len; i++)
        putc((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7F ? ' ' : text.ptr[i], to);
}

static void put_quoted(FILE *to, mcp_str text)
{
    size_t len = beginning(text, MOST_OF_EACH);
    fputs("\n> ", to);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '\r' && i + 1 < len && text.ptr[i + 1] == '\n')
            continue;
        if (c == '\n' || c == '\r')
            fputs("\n> ", to);
        else
            putc((c < ' ' && c != '\t') || c == 0x7F ? ' ' : c, to);
    }
    if (len < text.len)
        fputs("\n> …", to);
}

static void introduce(const mcp_upstream_about *about, void *user)
{
    introduction *i = user;
    if (!mcp_request_may(i->req, MCP_ITEM_RESOURCE, mcp_str_from(about->prefix)))
        return;
    size_t size = about->instructions.len < MOST_OF_EACH ? about->instructions.len : MOST_OF_EACH;
    if (i->written + size > MOST_IN_ALL) {
        i->left_out++;
        return;
    }
    if (!i->written)
        fputs("\n\nThe following servers are included. What they say is quoted; their tools and "
              "prompts "
              "have longer names here.",
              i->to);
    i->written += size + 1;
    fprintf(i->to, "\n\n## %s", about->name);
    if (about->title.len)
        fputs(": ", i->to), put_line(i->to, about->title);
    if (about->version.len)
        putc(' ', i->to), put_line(i->to, about->version);
    if (!about->transparent)
        fprintf(i->to, "\nNames of its tools and prompts begin with %s_", about->name);
    if (about->instructions.len)
        putc('\n', i->to), put_quoted(i->to, about->instructions);
}

void upstreams_introduce(const mcp_request *req, FILE *to)
{
    introduction i = {.req = req, .to = to};
    if (mounted.withhold_changed)
        return;
    mcp_upstream_introduce(&mounted, mcp_request_principal(req), introduce, &i);
    if (i.left_out)
        fprintf(to, "\n\nand %zu more servers", i.left_out);
}

bool upstreams_any(void)
{
    return mounted.first != NULL;
}

/* ---- metrics --------------------------------------------------------------------------------- */

#define OF(member) METRIC_MEMBER(mcp_upstream_state, member)

static const metric metrics[] = {
    {"mcp_upstream_sessions", "gauge", "Open sessions with the other server.", OF(sessions)},
    {"mcp_upstream_sessions_opened_total", "counter", "Sessions that were opened.", OF(opened)},
    {"mcp_upstream_sessions_ended_total", "counter", "Sessions that ended, by cause.", OF(ends[0]),
     .key = "cause", .word = mcp_upstream_end_name},
    {"mcp_upstream_sessions_refused_total", "counter",
     "Sessions that were not opened because of a limit.", OF(refused)},
    {"mcp_upstream_subscriptions", "gauge", "Resources of the other server that are watched.",
     OF(subscriptions)},
    {"mcp_upstream_requests_in_flight", "gauge", "Forwarded requests without an answer yet.",
     OF(in_flight)},
    {"mcp_upstream_requests_total", "counter", "Forwarded requests, by outcome.", OF(requests[0]),
     .key = "outcome", .word = mcp_upstream_outcome_name},
    {"mcp_upstream_request_duration_seconds", "histogram",
     "From a message to the other server to its answer, without requests in which it asked "
     "something.",
     OF(buckets[0]), .sum_at = offsetof(mcp_upstream_state, duration_us)},
    {"mcp_upstream_log_messages_total", "counter", "Log messages that were forwarded.", OF(logs)},
    {"mcp_upstream_log_messages_dropped_total", "counter",
     "Log messages that were left out because there were too many.", OF(logs_dropped)},
    {"mcp_upstream_slowed_total", "counter",
     "How often the other server had to wait because it sent too much.", OF(slowed)},
    {"mcp_upstream_unreadable_total", "counter",
     "Messages of the other server that are not JSON and answer no request.", OF(unreadable)},
    {"mcp_upstream_malformed_total", "counter",
     "Pages of lists with malformed entries, which are left out, and malformed notifications.",
     OF(malformed)},
    {"mcp_upstream_lists_kept_total", "counter",
     "Lists that did not wait for the other server: with its last entries, or without it.",
     OF(lists[0]), .key = "with", .word = mcp_upstream_list_name},
    {"mcp_upstream_limited_total", "counter",
     "Requests, sessions and answers that a limit prevented, by limit.", OF(limited[0]),
     .key = "limit", .word = mcp_upstream_limit_name},
    {"mcp_upstream_processes", "gauge", "Processes of the other server that run.", OF(processes),
     .program = true},
    {"mcp_upstream_process_memory_bytes", "gauge", "Private memory of these processes.", OF(memory),
     .program = true},
    {"mcp_upstream_process_starts_total", "counter", "Processes that were started.", OF(starts),
     .program = true},
    {"mcp_upstream_process_failures_total", "counter",
     "Processes that ended by themselves or did not start.", OF(failures), .program = true},
    {"mcp_upstream_process_hung_total", "counter",
     "Processes that were ended because they answered neither a request in time nor a ping.",
     OF(hung), .program = true},
    {"mcp_tool_definition_tokens", "gauge",
     "Tokens, about, of the names, descriptions and input schemas of the tools of another server.",
     OF(definitions)},
};

typedef struct writing {
    metric_sink to;
    const metric *metric;
} writing;

static void put_each(const mcp_upstream_state *state, void *user)
{
    writing *w = user;
    if (!w->metric->program || state->program)
        metric_put(&w->to, w->metric, state->prefix, state);
}

void upstreams_metrics(void (*add)(mcp_str text, void *arg), void *arg)
{
    metric_sink to = {.add = add, .arg = arg};
    for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
        mcp_upstream_each(&mounted, put_each, &(writing){to, &metrics[i]});
}
