/* metrics.c: counters, and how Prometheus reads them (text format 0.0.4).
 *
 * A label's value comes from the lists below and never from a peer: what is unknown is "other".
 */
#include "http/http.h"

#include <inttypes.h>

static const mcp_str methods[MCP__HTTP_METHODS] = {
    {"", 0},
    {"other", 5},
    {"initialize", 10},
    {"notifications/initialized", 25},
    {"notifications/cancelled", 23},
    {"ping", 4},
    {"server/discover", 15},
    {"subscriptions/listen", 20},
    {"resources/list", 14},
    {"resources/templates/list", 24},
    {"resources/read", 14},
    {"resources/subscribe", 19},
    {"resources/unsubscribe", 21},
    {"prompts/list", 12},
    {"prompts/get", 11},
    {"tools/list", 10},
    {"tools/call", 10},
    {"completion/complete", 19},
    {"logging/setLevel", 16},
    {"batch", 5},
};

static const char *const results[MCP__HTTP_RESULTS] = {"ok", "error", "gone"};

static const int statuses[MCP__HTTP_STATUSES] = {200, 202, 204, 400, 401, 403, 404, 405, 406,
                                                 408, 413, 414, 415, 417, 429, 431, 503, 505};

static const int64_t buckets[MCP__HTTP_BUCKETS] = {1, 2, 5, 10, 25, 100, 250, 1000, 5000, 30000};
static const char *const seconds[MCP__HTTP_BUCKETS] = {"0.001", "0.002", "0.005", "0.01", "0.025",
                                                       "0.1",   "0.25",  "1",     "5",    "30"};

unsigned mcp__http_metric_of(mcp_str method)
{
    for (unsigned i = 0; i < MCP__HTTP_METHODS; i++) {
        if (mcp_str_eq(method, methods[i]))
            return i;
    }
    return 1;
}

mcp_str mcp__http_metric_name(unsigned metric)
{
    return methods[metric < MCP__HTTP_METHODS ? metric : 1];
}

void mcp__http_count(mcp_http *http, unsigned metric, int status, int code, int64_t duration)
{
    mcp__http_metrics *m = &http->metrics;
    unsigned result = status == 0 ? 2 : code != 0 || status >= 400;
    m->answered[metric][result]++;
    for (size_t i = 0; i < MCP__HTTP_STATUSES; i++) {
        if (statuses[i] == status) {
            m->by_status[i]++;
            break;
        }
    }
    size_t bucket = 0;
    while (bucket < MCP__HTTP_BUCKETS && duration > buckets[bucket])
        bucket++;
    m->duration[bucket]++;
    m->duration_sum += (uint64_t)duration;
    m->duration_count++;
}

/* ---- text ----------------------------------------------------------------------------------------------- */

static void put(mcp__buf *b, const char *name, const char *type, const char *help, uint64_t value)
{
    mcp__buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
    mcp__buf_printf(b, "%s %" PRIu64 "\n", name, value);
}

static void put_requests(const mcp__http_metrics *m, mcp__buf *b)
{
    mcp__buf_lit(b, "# HELP mcp_requests_total HTTP requests answered, by JSON-RPC method.\n"
                    "# TYPE mcp_requests_total counter\n");
    for (unsigned i = 0; i < MCP__HTTP_METHODS; i++) {
        for (unsigned k = 0; k < MCP__HTTP_RESULTS; k++) {
            if (m->answered[i][k])
                mcp__buf_printf(b, "mcp_requests_total{method=\"%s\",result=\"%s\"} %" PRIu64 "\n",
                                methods[i].ptr, results[k], m->answered[i][k]);
        }
    }
    mcp__buf_lit(b, "# HELP mcp_http_responses_total HTTP responses, by status.\n"
                    "# TYPE mcp_http_responses_total counter\n");
    for (size_t i = 0; i < MCP__HTTP_STATUSES; i++) {
        if (m->by_status[i])
            mcp__buf_printf(b, "mcp_http_responses_total{status=\"%d\"} %" PRIu64 "\n", statuses[i],
                            m->by_status[i]);
    }
}

static void put_durations(const mcp__http_metrics *m, mcp__buf *b)
{
    uint64_t sum = 0;
    mcp__buf_lit(b, "# HELP mcp_request_duration_seconds From the last byte of a request to the "
                    "last of its answer; streams until their end.\n"
                    "# TYPE mcp_request_duration_seconds histogram\n");
    for (size_t i = 0; i < MCP__HTTP_BUCKETS; i++) {
        sum += m->duration[i];
        mcp__buf_printf(b, "mcp_request_duration_seconds_bucket{le=\"%s\"} %" PRIu64 "\n",
                        seconds[i], sum);
    }
    mcp__buf_printf(b, "mcp_request_duration_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n",
                    m->duration_count);
    mcp__buf_printf(b, "mcp_request_duration_seconds_sum %" PRIu64 ".%03" PRIu64 "\n",
                    m->duration_sum / 1000, m->duration_sum % 1000);
    mcp__buf_printf(b, "mcp_request_duration_seconds_count %" PRIu64 "\n", m->duration_count);
}

static void add_text(void *arg, mcp_str text)
{
    mcp__buf_str(arg, text);
}

void mcp__http_put_metrics(mcp_http *http, mcp__buf *b)
{
    const mcp__http_metrics *m = &http->metrics;
    put_requests(m, b);
    put_durations(m, b);
    put(b, "mcp_connections", "gauge", "Open connections.", http->n_connections);
    put(b, "mcp_connections_total", "counter", "Connections accepted.", m->accepted);
    put(b, "mcp_connections_refused_total", "counter", "Connections over a limit.", m->refused);
    put(b, "mcp_connections_shed_total", "counter",
        "Idle connections closed because descriptors ran short.", m->shed);
    put(b, "mcp_streams", "gauge", "Open event streams.", m->streams);
    put(b, "mcp_sessions", "gauge", "Legacy sessions.", http->n_sessions);
    put(b, "mcp_sessions_total", "counter", "Legacy sessions begun.", m->sessions_begun);
    if (http->options.sse_path)
        put(b, "mcp_http_sse_sessions_total", "counter", "Of those, over HTTP+SSE (2024-11-05).",
            m->duplex_begun);
    put(b, "mcp_sessions_evicted_total", "counter", "Sessions that made room for others.",
        m->sessions_evicted);
    put(b, "mcp_sessions_expired_total", "counter", "Sessions ended for idleness.",
        m->sessions_expired);
    const mcp_http_budget *budget = http->budget;
    put(b, "mcp_memory_bytes", "gauge", "Held for requests and answers of clients.", budget->used);
    put(b, "mcp_memory_limit_bytes", "gauge", "What that may be (max_memory).", budget->max_memory);
    put(b, "mcp_memory_stored_bytes", "gauge", "Of it, events kept for replay.", budget->stored);
    put(b, "mcp_memory_callers", "gauge", "Clients with a share of it.", budget->shares.count);
    put(b, "mcp_memory_waits_total", "counter", "Requests that waited for memory.", budget->waited);
    put(b, "mcp_memory_refusals_total", "counter",
        "Requests and answers refused for want of memory.", budget->refused);
    put(b, "mcp_received_bytes_total", "counter", "Bytes received.", m->bytes_in);
    put(b, "mcp_sent_bytes_total", "counter", "Bytes sent.", m->bytes_out);
    if (http->options.metrics)
        http->options.metrics(http->options.user, add_text, b);
}
