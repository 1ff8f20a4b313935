/* long.c: long-running tools: asynchronous answers, progress and cancellation.
 *
 *     mcpctl call --yes wait seconds=3 -- ./long
 *     ./long --http 127.0.0.1:8642
 *
 * A server handles all requests on one thread, so a handler that waits or computes for long must do
 * so elsewhere and return MCP_PENDING. `wait` uses a timer and `count_primes` a worker thread;
 * meanwhile the server still answers `status`. After MCP_PENDING, mcp_reply_finish() must be called
 * exactly once in every case.
 */
#include <mcp/io.h>
#include <stdatomic.h>
#include <stdio.h>

typedef struct counts {
    mcp_server *server;
    int running, cancelled;
} counts;

static void finish(mcp_request *req, counts *c, int outcome)
{
    c->running--;
    c->cancelled += mcp_request_cancelled(req);
    mcp_reply_finish(req, outcome); /* sends nothing if the request was cancelled */
}

/* ---- waiting: a timer ------------------------------------------------------------------------ */

enum { STEPS = 10 };

typedef struct nap {
    mcp_request *req;
    counts *counts;
    const mcp_host *host;
    mcp_host_timer *timer;
    double seconds;
    int step;
} nap;

static void nap_step(void *arg);

static bool nap_for(nap *n, double seconds)
{
    mcp_host_timer *timer =
        n->host->timer_start((uint64_t)(seconds * 1000), nap_step, n, n->host->user);
    if (!timer)
        return false;
    n->host->timer_stop(n->timer, n->host->user); /* the previous one, which may have fired */
    n->timer = timer;
    return true;
}

static void nap_end(nap *n, int outcome)
{
    n->host->timer_stop(n->timer, n->host->user);
    finish(n->req, n->counts, outcome);
}

static void nap_step(void *arg)
{
    nap *n = arg;
    mcp_request_progress(n->req, ++n->step, STEPS, "waiting");
    if (n->step == STEPS)
        nap_end(n, mcp_reply_textf(n->req, "Waited for %g s", n->seconds));
    else if (!nap_for(n, n->seconds / STEPS))
        nap_end(n, MCP_ENOMEM);
}

/* The client no longer wants the answer: finish without waiting for the next step. */
static void nap_cancelled(mcp_request *req, void *user)
{
    (void)req;
    nap_end(user, MCP_ECANCELLED);
}

static int wait_call(mcp_request *req, const mcp_json *arguments, void *user)
{
    counts *c = user;
    nap *n = mcp_request_alloc(req, sizeof(*n));
    if (!n)
        return MCP_ENOMEM;
    *n = (nap){.req = req, .counts = c, .host = mcp_server_host(c->server)};
    n->seconds = mcp_json_number(mcp_json_get(arguments, "seconds"), 0);
    mcp_request_logf(req, MCP_LOG_INFO, "wait", "waiting for %g s", n->seconds);
    if (!nap_for(n, n->seconds / STEPS))
        return MCP_ENOMEM;
    mcp_request_on_cancel(req, nap_cancelled, n);
    c->running++;
    return MCP_PENDING;
}

/* ---- computing: a worker thread -------------------------------------------------------------- */

typedef struct search {
    mcp_request *req;
    counts *counts;
    long below;
    atomic_long at; /* the worker's position, for progress */
    long found;
} search;

static bool is_prime(long n)
{
    for (long d = 2; d * d <= n; d++) {
        if (n % d == 0)
            return false;
    }
    return true;
}

/* Runs on the server's thread, where the request may be used. */
static void search_progress(mcp_request *req, void *user)
{
    search *s = user;
    mcp_request_progress(req, (double)atomic_load(&s->at), (double)s->below, NULL);
}

/* Runs on a worker thread: checks for cancellation and posts its progress. */
static void search_work(void *user)
{
    search *s = user;
    for (long n = 2; n < s->below && !mcp_request_cancelled(s->req); n++) {
        s->found += is_prime(n);
        if (n % 100000 == 0) {
            atomic_store(&s->at, n);
            mcp_request_post(s->req, search_progress, s);
        }
    }
}

static void search_done(mcp_request *req, void *user)
{
    search *s = user;
    finish(req, s->counts, mcp_reply_textf(req, "%ld primes below %ld", s->found, s->below));
}

static int count_primes(mcp_request *req, const mcp_json *arguments, void *user)
{
    counts *c = user;
    search *s = mcp_request_alloc(req, sizeof(*s));
    if (!s)
        return MCP_ENOMEM;
    *s = (search){.req = req, .counts = c};
    s->below = (long)mcp_json_int(mcp_json_get(arguments, "below"), 0);
    int rc = mcp_request_work(req, search_work, search_done, s);
    c->running += rc == MCP_PENDING;
    return rc;
}

/* ---- status ---------------------------------------------------------------------------------- */

static int status(mcp_request *req, const mcp_json *arguments, void *user)
{
    counts *c = user;
    (void)arguments;
    return mcp_reply_textf(req, "%d running, %d cancelled", c->running, c->cancelled);
}

static const mcp_tool tools[] = {
    {.size = sizeof(mcp_tool),
     .name = "wait",
     .description = "Wait for some seconds",
     .input_schema = "{\"type\":\"object\",\"required\":[\"seconds\"],\"properties\":{"
                     "\"seconds\":{\"type\":\"number\",\"minimum\":0,\"maximum\":3600}}}",
     .timeout_ms = 2 * 3600 * 1000,
     .call = wait_call},
    {.size = sizeof(mcp_tool),
     .name = "count_primes",
     .description = "Count the primes below a number",
     .input_schema = "{\"type\":\"object\",\"required\":[\"below\"],\"properties\":{"
                     "\"below\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000000000}}}",
     .call = count_primes},
    {.size = sizeof(mcp_tool),
     .name = "status",
     .description = "How many calls are running, and how many were cancelled",
     .read_only = MCP_HINT_YES,
     .call = status},
};

static int serve(mcp_server *server, int argc, char **argv, mcp_error *error)
{
    if (argc == 3 && strcmp(argv[1], "--http") == 0)
        return mcp_serve_http(server, argv[2], NULL, error);
    return mcp_serve_stdio(server, error);
}

int main(int argc, char **argv)
{
    counts c = {0};
    mcp_error error = {0};
    int rc = mcp_server_new(
        MCP_OPTIONS(mcp_server_options, .name = "long", .version = "1.0", .logging = true),
        &c.server, &error);
    for (size_t i = 0; rc == MCP_OK && i < sizeof(tools) / sizeof(tools[0]); i++)
        rc = mcp_server_add_tool(c.server, &tools[i], &c, &error);
    if (rc == MCP_OK)
        rc = serve(c.server, argc, argv, &error);
    if (rc != MCP_OK)
        fprintf(stderr, "long: %s\n", error.text);
    if (rc != MCP_ETIMEOUT) /* after a time-out a worker may still use it */
        mcp_server_free(c.server);
    return rc == MCP_OK ? 0 : 1;
}
