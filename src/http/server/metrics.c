/* metrics.c: writes the counters in the text format of Prometheus (0.0.4).
 *
 * All metrics are in one table, `metrics`. The values of labels come from the lists below, or from
 * what the server offers. They never come from a peer: an unknown method is counted as "other".
 */
#include "http/server/connection.h"

#include <inttypes.h>

static const char *const results[MCP__HTTP_RESULTS] = {"ok", "error", "gone"};

/* ---- the table ------------------------------------------------------------------------------ */

typedef enum metric_id {
    REQUESTS = 0,
    RESPONSES,
    DURATION,
    METHOD_DURATION,
    LOGIN_REFUSALS,
    REFUSALS,
    TOOL_CALLS,
    TOOL_IN_FLIGHT,
    TOOL_DURATION,
    SOURCE_READS,
    SOURCE_IN_FLIGHT,
    SOURCE_BYTES,
    SOURCE_LEFT_OUT,
    SOURCE_DURATION,
    CHANGES,
    LIMIT,
    LIMIT_USED,
    LIMIT_REFUSALS,
    RATE_REFUSALS,
    CONNECTIONS,
    CONNECTIONS_TOTAL,
    CONNECTIONS_REFUSED,
    CONNECTIONS_SHED,
    STREAMS,
    STREAMS_TOTAL,
    STREAM_EVENTS,
    STREAM_OLDEST,
    SESSIONS,
    SESSIONS_TOTAL,
    SSE_SESSIONS,
    SESSIONS_EVICTED,
    SESSIONS_EVICTED_OWN,
    SESSIONS_EXPIRED,
    SESSIONS_TAKEN,
    SESSIONS_FORGOTTEN,
    FORWARDED,
    MEMORY,
    MEMORY_LIMIT,
    MEMORY_STORED,
    MEMORY_SESSIONS,
    MEMORY_CALLERS,
    MEMORY_WAITS,
    MEMORY_REFUSALS,
    WORK_MEMORY,
    WORK_MEMORY_LIMIT,
    WORK_MEMORY_WAITS,
    WORK_MEMORY_REFUSALS,
    BYTES_IN,
    BYTES_OUT,
    METRICS
} metric_id;

/* The metrics, in the order of the output. */
static const struct {
    const char *name, *type, *help;
} metrics[METRICS] = {
    [REQUESTS] = {"mcp_requests_total", "counter", "HTTP requests answered, by JSON-RPC method."},
    [RESPONSES] = {"mcp_http_responses_total", "counter", "HTTP responses, by status."},
    [DURATION] = {"mcp_request_duration_seconds", "histogram",
                  "From the last byte of a request to the last of its answer, without streams."},
    [METHOD_DURATION] = {"mcp_method_duration_seconds", "histogram",
                         "The same, by JSON-RPC method."},
    [LOGIN_REFUSALS] = {"mcp_login_refusals_total", "counter",
                        "Requests refused by authentication, by reason."},
    [REFUSALS] = {"mcp_http_refusals_total", "counter",
                  "Requests refused before their message was handled, by reason."},
    [TOOL_CALLS] = {"mcp_tool_calls_total", "counter", "Tool calls that ended, by tool."},
    [TOOL_IN_FLIGHT] = {"mcp_tool_calls_in_flight", "gauge", "Tool calls in flight."},
    [TOOL_DURATION] = {"mcp_tool_call_duration_seconds", "histogram",
                       "From a tool call to its result."},
    [SOURCE_READS] = {"mcp_source_reads_total", "counter",
                      "Reads of resources that ended, by source."},
    [SOURCE_IN_FLIGHT] = {"mcp_source_reads_in_flight", "gauge", "Reads of resources in flight."},
    [SOURCE_BYTES] = {"mcp_source_read_bytes_total", "counter", "Bytes of resource contents read."},
    [SOURCE_LEFT_OUT] = {"mcp_source_left_out_total", "counter",
                         "Pages of lists without the source, because it could not be listed."},
    [SOURCE_DURATION] = {"mcp_source_read_duration_seconds", "histogram",
                         "From a read of a resource to its result."},
    [CHANGES] = {"mcp_changes_total", "counter",
                 "Requests that change something and ended, by operation."},
    [LIMIT] = {"mcp_limit", "gauge", "Limits of bytes, connections and sessions, by option."},
    [LIMIT_USED] = {"mcp_limit_used", "gauge",
                    "How much of a limit is used; if it applies to each client, by the client that "
                    "uses most."},
    [LIMIT_REFUSALS] = {"mcp_limit_refusals_total", "counter",
                        "Connections, requests and answers refused because of a limit."},
    [RATE_REFUSALS] = {"mcp_rate_refusals_total", "counter",
                       "Requests refused because a caller exceeded a rate, by option."},
    [CONNECTIONS] = {"mcp_connections", "gauge", "Open connections."},
    [CONNECTIONS_TOTAL] = {"mcp_connections_total", "counter", "Connections accepted."},
    [CONNECTIONS_REFUSED] = {"mcp_connections_refused_total", "counter",
                             "Connections refused because of a limit."},
    [CONNECTIONS_SHED] = {"mcp_connections_shed_total", "counter",
                          "Idle connections closed because descriptors ran short."},
    [STREAMS] = {"mcp_streams", "gauge", "Open event streams."},
    [STREAMS_TOTAL] = {"mcp_streams_total", "counter", "Event streams begun."},
    [STREAM_EVENTS] = {"mcp_stream_events_total", "counter", "Events sent on streams."},
    [STREAM_OLDEST] = {"mcp_stream_oldest_seconds", "gauge",
                       "How long the oldest stream has been open."},
    [SESSIONS] = {"mcp_sessions", "gauge", "Legacy sessions."},
    [SESSIONS_TOTAL] = {"mcp_sessions_total", "counter", "Legacy sessions begun."},
    [SSE_SESSIONS] = {"mcp_http_sse_sessions_total", "counter",
                      "Legacy sessions begun over HTTP+SSE (2024-11-05)."},
    [SESSIONS_EVICTED] = {"mcp_sessions_evicted_total", "counter",
                          "Sessions ended to make room for new ones."},
    [SESSIONS_EVICTED_OWN] = {"mcp_sessions_evicted_own_total", "counter",
                              "Those of them that ended because their client had its share."},
    [SESSIONS_EXPIRED] = {"mcp_sessions_expired_total", "counter",
                          "Sessions ended by the idle time-out."},
    [SESSIONS_TAKEN] = {"mcp_sessions_taken_total", "counter",
                        "Sessions of other instances that were made anew here."},
    [SESSIONS_FORGOTTEN] = {"mcp_sessions_forgotten_total", "counter",
                            "Sessions of other instances that cannot be made anew here any more, "
                            "because there are too many."},
    [FORWARDED] = {"mcp_forwarded_requests_total", "counter",
                   "Requests forwarded to the instances of their sessions or calls."},
    [MEMORY] = {"mcp_memory_bytes", "gauge", "Memory held for requests, answers and sessions."},
    [MEMORY_LIMIT] = {"mcp_memory_limit_bytes", "gauge", "Limit of mcp_memory_bytes (max_memory)."},
    [MEMORY_STORED] = {"mcp_memory_stored_bytes", "gauge",
                       "The part of it that holds events for replay."},
    [MEMORY_SESSIONS] = {"mcp_memory_sessions_bytes", "gauge",
                         "The part of it that holds legacy sessions."},
    [MEMORY_CALLERS] = {"mcp_memory_callers", "gauge", "Clients that use some of it."},
    [MEMORY_WAITS] = {"mcp_memory_waits_total", "counter", "Requests that waited for memory."},
    [MEMORY_REFUSALS] = {"mcp_memory_refusals_total", "counter",
                         "Requests and answers refused for lack of memory."},
    [WORK_MEMORY] = {"mcp_work_memory_bytes", "gauge",
                     "Memory held for contents that are being read."},
    [WORK_MEMORY_LIMIT] = {"mcp_work_memory_limit_bytes", "gauge",
                           "Limit of mcp_work_memory_bytes (max_work_memory)."},
    [WORK_MEMORY_WAITS] = {"mcp_work_memory_waits_total", "counter", "Reads that waited for it."},
    [WORK_MEMORY_REFUSALS] = {"mcp_work_memory_refusals_total", "counter",
                              "Reads refused for lack of it."},
    [BYTES_IN] = {"mcp_received_bytes_total", "counter", "Bytes received."},
    [BYTES_OUT] = {"mcp_sent_bytes_total", "counter", "Bytes sent."},
};

void mcp__http_count_reason(mcp__http_metrics *m, mcp_str reason)
{
    mcp__http_reason *r = m->reasons;
    mcp__http_reason *end = r + m->n_reasons;
    size_t len = MCP__MIN(reason.len, sizeof(r->word) - 1);
    while (r < end && (strncmp(r->word, reason.ptr, len) != 0 || r->word[len]))
        r++;
    if (r == end && m->n_reasons < MCP__HTTP_REASONS) {
        memcpy(r->word, reason.ptr, len);
        m->n_reasons++;
    }
    r->count++; /* without room, that of all others */
}

static uint64_t oldest_stream(const mcp_http *http)
{
    int64_t now = mcp__http_now(http), since = now;
    for (mcp__link *l = http->connections.next; l != &http->connections; l = l->next) {
        const mcp_http_connection *c = mcp__container(l, mcp_http_connection, link);
        if (c->phase == MCP__HTTP_STREAMING)
            since = MCP__MIN(since, c->since);
    }
    return (uint64_t)(now - since) / 1000;
}

/* Sets the values of the metrics without labels. */
static void get_values(const mcp_http *http, uint64_t values[METRICS])
{
    const mcp__http_metrics *m = &http->metrics;
    const mcp_http_budget *budget = http->budget;
    values[CONNECTIONS] = http->n_connections;
    values[CONNECTIONS_TOTAL] = m->accepted;
    values[CONNECTIONS_REFUSED] = m->refused;
    values[CONNECTIONS_SHED] = m->shed;
    values[STREAMS] = m->streams;
    values[STREAMS_TOTAL] = m->streams_begun;
    values[STREAM_EVENTS] = m->events;
    values[STREAM_OLDEST] = oldest_stream(http);
    values[SESSIONS] = http->session_shares.count;
    values[SESSIONS_TOTAL] = m->sessions_begun;
    values[SSE_SESSIONS] = m->duplex_begun;
    values[SESSIONS_EVICTED] = m->sessions_evicted;
    values[SESSIONS_EVICTED_OWN] = m->sessions_evicted_own;
    values[SESSIONS_EXPIRED] = m->sessions_expired;
    values[SESSIONS_TAKEN] = m->sessions_taken;
    values[SESSIONS_FORGOTTEN] = m->sessions_forgotten;
    values[FORWARDED] = m->forwarded;
    values[MEMORY] = budget->used;
    values[MEMORY_LIMIT] = budget->max_memory;
    values[MEMORY_STORED] = budget->stored;
    values[MEMORY_SESSIONS] = http->session_bytes;
    values[MEMORY_CALLERS] = budget->shares.count;
    values[MEMORY_WAITS] = budget->waited;
    values[MEMORY_REFUSALS] = budget->refused;
    mcp_work_memory work = {.size = sizeof(work)};
    mcp_server_get_work_memory(http->server, &work);
    values[WORK_MEMORY] = work.held;
    values[WORK_MEMORY_LIMIT] = work.limit;
    values[WORK_MEMORY_WAITS] = work.waited;
    values[WORK_MEMORY_REFUSALS] = work.refused;
    values[BYTES_IN] = m->bytes_in;
    values[BYTES_OUT] = m->bytes_out;
}

/* ---- text ----------------------------------------------------------------------------------------------- */

static void put_head(mcp__buf *b, metric_id id)
{
    mcp__buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", metrics[id].name, metrics[id].help,
                    metrics[id].name, metrics[id].type);
}

/* Writes seconds without trailing zeros. */
static void put_seconds(mcp__buf *b, uint64_t us)
{
    mcp__buf_printf(b, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
    while (!b->failed && b->ptr[b->len - 1] == '0')
        b->len--;
    if (!b->failed && b->ptr[b->len - 1] == '.')
        b->len--;
}

/* A label of a sample, NAME="VALUE", and of a tool also its source, unless .ptr is NULL. The labels le
 * and result are written without this struct. */
typedef struct label {
    const char *name;
    mcp_str value, source;
} label;

static void add_text(mcp_str text, void *arg)
{
    mcp__buf_str(arg, text);
}

static void put_one(mcp__buf *b, const char *name, mcp_str value)
{
    mcp__buf_printf(b, "%s=\"", name);
    mcp_metric_label(value, add_text, b);
    mcp__buf_char(b, '"');
}

static void put_label(mcp__buf *b, const label *l)
{
    put_one(b, l->name, l->value);
    if (!l->source.ptr)
        return;
    mcp__buf_char(b, ',');
    put_one(b, "source", l->source);
}

/* Writes the name of a sample and, unless l is NULL, the label. */
static void put_name(mcp__buf *b, metric_id id, const char *suffix, const label *l)
{
    mcp__buf_printf(b, "%s%s", metrics[id].name, suffix);
    if (!l)
        return;
    mcp__buf_char(b, '{');
    put_label(b, l);
    mcp__buf_char(b, '}');
}

static void put_value(mcp__buf *b, metric_id id, const label *l, uint64_t value)
{
    put_name(b, id, "", l);
    mcp__buf_printf(b, " %" PRIu64 "\n", value);
}

typedef struct durations {
    const uint64_t *bounds_us;
    const uint64_t *counts; /* n_bounds + 1 elements */
    size_t n_bounds;
    uint64_t sum_us;
} durations;

static void put_durations(mcp__buf *b, metric_id id, const label *l, const durations *d)
{
    uint64_t count = 0;
    for (size_t i = 0; i <= d->n_bounds; i++) {
        count += d->counts[i];
        mcp__buf_printf(b, "%s_bucket{", metrics[id].name);
        if (l) {
            put_label(b, l);
            mcp__buf_char(b, ',');
        }
        mcp__buf_lit(b, "le=\"");
        if (i < d->n_bounds)
            put_seconds(b, d->bounds_us[i]);
        else
            mcp__buf_lit(b, "+Inf");
        mcp__buf_printf(b, "\"} %" PRIu64 "\n", count);
    }
    put_name(b, id, "_sum", l);
    mcp__buf_char(b, ' ');
    put_seconds(b, d->sum_us);
    mcp__buf_char(b, '\n');
    put_name(b, id, "_count", l);
    mcp__buf_printf(b, " %" PRIu64 "\n", count);
}

static void put_requests(const mcp__http_metrics *m, mcp__buf *b)
{
    put_head(b, REQUESTS);
    for (mcp__method_id i = 0; i < MCP__METHODS; i++) {
        for (unsigned k = 0; k < MCP__HTTP_RESULTS; k++) {
            if (m->answered[i][k])
                mcp__buf_printf(b, "%s{method=\"%s\",result=\"%s\"} %" PRIu64 "\n",
                                metrics[REQUESTS].name, mcp__method_of(i)->name.ptr, results[k],
                                m->answered[i][k]);
        }
    }
    put_head(b, RESPONSES);
    for (size_t i = 0; i < MCP__HTTP_STATUSES; i++) {
        if (m->by_status[i])
            mcp__buf_printf(b, "%s{status=\"%d\"} %" PRIu64 "\n", metrics[RESPONSES].name,
                            mcp__http_statuses[i].status, m->by_status[i]);
    }
}

static void put_request_durations(const mcp__http_metrics *m, mcp__buf *b)
{
    uint64_t all[MCP__HTTP_BUCKETS + 1] = {0}, sum = 0;
    durations d = {.bounds_us = mcp_usage_bounds(), .n_bounds = MCP__HTTP_BUCKETS};
    put_head(b, METHOD_DURATION);
    for (mcp__method_id i = 0; i < MCP__METHODS; i++) {
        const label l = {.name = "method", .value = mcp__method_of(i)->name};
        uint64_t count = 0;
        for (size_t k = 0; k <= MCP__HTTP_BUCKETS; k++) {
            all[k] += m->duration[i][k];
            count += m->duration[i][k];
        }
        sum += m->duration_sum[i];
        d.counts = m->duration[i];
        d.sum_us = m->duration_sum[i];
        if (count && l.value.len)
            put_durations(b, METHOD_DURATION, &l, &d);
    }
    d.counts = all;
    d.sum_us = sum;
    put_head(b, DURATION);
    put_durations(b, DURATION, NULL, &d);
}

static char small_of(char c)
{
    bool upper = c >= 'A' && c <= 'Z';
    bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    return upper ? (char)(c + 32) : plain ? c : '_';
}

/* Writes a word such as NO_PATH in small letters. */
static void put_reason(mcp__buf *b, metric_id id, const char *word, uint64_t count)
{
    char small[sizeof(((mcp__http_reason *)0)->word)];
    size_t len = 0;
    for (; word[len] && len < sizeof(small) - 1; len++)
        small[len] = small_of(word[len]);
    put_value(b, id, &(label){.name = "reason", .value = {small, len}}, count);
}

static void put_refusals(const mcp__http_metrics *m, mcp__buf *b)
{
    const uint64_t others = m->reasons[MCP__HTTP_REASONS].count;
    put_head(b, LOGIN_REFUSALS);
    for (size_t i = 0; i < m->n_reasons; i++)
        put_reason(b, LOGIN_REFUSALS, m->reasons[i].word, m->reasons[i].count);
    if (others)
        put_reason(b, LOGIN_REFUSALS, "other", others);
    put_head(b, REFUSALS);
    for (mcp__http_refusal i = 1; i < MCP__HTTP_REFUSALS; i++) {
        if (m->by_refusal[i])
            put_reason(b, REFUSALS, mcp__http_refusal_name(i), m->by_refusal[i]);
    }
}

/* ---- tools and sources -------------------------------------------------------------------------------------- */

typedef struct usage_sink {
    mcp__buf *b;
    metric_id id;
} usage_sink;

static void put_outcomes(mcp__buf *b, metric_id id, const label *l, const mcp_usage *u)
{
    const struct {
        const char *name;
        uint64_t count;
    } outcomes[] = {
        {"ok", u->ok},        {"tool_error", u->tool_errors},   {"not_found", u->not_found},
        {"error", u->errors}, {"input_required", u->questions}, {"gone", u->gone},
    };
    for (size_t i = 0; i < MCP__COUNT(outcomes); i++) {
        if (!outcomes[i].count)
            continue;
        mcp__buf_printf(b, "%s{", metrics[id].name);
        put_label(b, l);
        mcp__buf_printf(b, ",result=\"%s\"} %" PRIu64 "\n", outcomes[i].name, outcomes[i].count);
    }
}

static void put_usage(const mcp_usage *u, void *user)
{
    const usage_sink *to = user;
    mcp__buf *b = to->b;
    const label l = {u->kind == MCP_USAGE_TOOL ? "tool" : "source", u->name, u->source};
    switch (to->id) {
    case TOOL_CALLS:
    case SOURCE_READS: put_outcomes(b, to->id, &l, u); break;
    case TOOL_IN_FLIGHT:
    case SOURCE_IN_FLIGHT: put_value(b, to->id, &l, u->in_flight); break;
    case SOURCE_BYTES: put_value(b, to->id, &l, u->bytes); break;
    case SOURCE_LEFT_OUT: put_value(b, to->id, &l, u->left_out); break;
    default:
        put_durations(b, to->id, &l,
                      &(durations){.bounds_us = u->bounds_us,
                                   .counts = u->buckets,
                                   .n_bounds = MCP_USAGE_BUCKETS,
                                   .sum_us = u->duration_us});
    }
}

/* For whom the metrics are. */
typedef struct viewer {
    const mcp_identity *identity;
    bool is_program; /* nothing is hidden */
} viewer;

/* All samples of a metric have to be adjacent, so the usage is read once for each metric. */
static void put_used(const mcp_http *http, const viewer *to, mcp__buf *b)
{
    for (metric_id id = TOOL_CALLS; id <= SOURCE_DURATION; id++) {
        mcp_usage_kind kind = id < SOURCE_READS ? MCP_USAGE_TOOL : MCP_USAGE_SOURCE;
        put_head(b, id);
        if (to->is_program)
            mcp_server_usage_all(http->server, kind, put_usage, &(usage_sink){b, id});
        else
            mcp_server_usage(http->server, to->identity, kind, put_usage, &(usage_sink){b, id});
    }
}

static void put_change(const mcp_change_count *c, void *user)
{
    mcp__buf_printf(user, "%s{operation=\"%s\",result=\"%s\"} %" PRIu64 "\n", metrics[CHANGES].name,
                    c->operation, c->result, c->count);
}

static void put_changes(const mcp_http *http, mcp__buf *b)
{
    put_head(b, CHANGES);
    mcp_server_change_counts(http->server, put_change, b);
}

/* ---- limits ----------------------------------------------------------------------------------------- */

enum { UNKNOWN = -1 };

/* A limit, and how much of it is used. A negative value means that it is unknown, and is not
 * written. */
typedef struct limit {
    const char *member; /* of the options */
    int64_t limit, used;
    uint64_t refused;
} limit;

/* Returns the number of bytes that are charged to the caller that uses most memory. */
static size_t largest_share(const mcp_http_budget *budget)
{
    size_t most = 0, at = 0;
    for (const mcp__http_share *s; (s = mcp__map_next(&budget->shares, &at)) != NULL;)
        most = MCP__MAX(most, s->used);
    return most;
}

/* Returns the largest number of connections of one address or principal, not counting trusted
 * proxies. */
static size_t largest(const mcp__map *in)
{
    size_t most = 0, at = 0;
    for (const mcp__http_address *a; (a = mcp__map_next(in, &at)) != NULL;)
        most = a->is_proxy ? most : MCP__MAX(most, a->count);
    return most;
}

static limit limit_of(const mcp_http *http, mcp__http_refusal why, size_t used)
{
    return (limit){mcp__http_option_of(why), (int64_t)mcp__http_limit_of(http, why), (int64_t)used,
                   http->metrics.by_refusal[why]};
}

static void put_limits(const mcp_http *http, mcp__buf *b)
{
    const mcp_http_budget *budget = http->budget;
    mcp_work_memory work = {.size = sizeof(work)};
    mcp_server_get_work_memory(http->server, &work);
    limit all[] = {
        limit_of(http, MCP__HTTP_NO_ROOM, budget->used),
        limit_of(http, MCP__HTTP_NO_SHARE, largest_share(budget)),
        {"max_work_memory", (int64_t)work.limit, (int64_t)work.held, work.refused},
        limit_of(http, MCP__HTTP_MANY_CONNECTIONS, http->n_connections),
        limit_of(http, MCP__HTTP_MANY_PER_ADDRESS, largest(&http->addresses)),
        limit_of(http, MCP__HTTP_MANY_PER_PRINCIPAL, largest(&http->principals)),
        {"keep_files", UNKNOWN, UNKNOWN, http->metrics.by_refusal[MCP__HTTP_NO_FILES]},
        limit_of(http, MCP__HTTP_MANY_SESSIONS, http->session_shares.count),
        limit_of(http, MCP__HTTP_MANY_SESSIONS_EACH, mcp__shares_largest(&http->session_shares)),
    };
    all[0].refused = budget->refused - budget->share_refused;
    all[1].refused = budget->share_refused;
    for (metric_id id = LIMIT; id <= LIMIT_REFUSALS; id++) {
        put_head(b, id);
        for (size_t i = 0; i < MCP__COUNT(all); i++) {
            const label l = {.name = "limit",
                             .value = mcp_str_from(mcp__http_option_name(http, all[i].member))};
            int64_t value = id == LIMIT ? all[i].limit : all[i].used;
            if (id == LIMIT_REFUSALS)
                put_value(b, id, &l, all[i].refused);
            else if (value >= 0)
                put_value(b, id, &l, (uint64_t)value);
        }
    }
}

static void put_rates(const mcp_http *http, mcp__buf *b)
{
    uint64_t count;
    const char *member;
    put_head(b, RATE_REFUSALS);
    for (size_t i = 0; (member = mcp_server_rate_refusals(http->server, i, &count)); i++)
        put_value(
            b, RATE_REFUSALS,
            &(label){.name = "limit", .value = mcp_str_from(mcp__http_option_name(http, member))},
            count);
}

/* ---- output --------------------------------------------------------------------------------- */

static void put_metrics(mcp_http *http, const viewer *to, mcp__buf *b)
{
    uint64_t values[METRICS] = {0};
    get_values(http, values);
    put_requests(&http->metrics, b);
    put_request_durations(&http->metrics, b);
    put_refusals(&http->metrics, b);
    put_used(http, to, b);
    put_changes(http, b);
    put_limits(http, b);
    put_rates(http, b);
    for (metric_id id = CONNECTIONS; id < METRICS; id++) {
        bool fleet = id >= SESSIONS_TAKEN && id <= FORWARDED;
        if ((id == SSE_SESSIONS && !http->options.sse_path) || (fleet && !http->fleet))
            continue;
        put_head(b, id);
        put_value(b, id, NULL, values[id]);
    }
    if (http->options.metrics)
        http->options.metrics(add_text, b, http->options.user);
}

void mcp__http_put_metrics(mcp_http *http, const mcp_identity *identity, mcp__buf *b)
{
    put_metrics(http, &(viewer){.identity = identity}, b);
}

int mcp_http_get_metrics(mcp_http *http, void (*add)(mcp_str text, void *arg), void *arg)
{
    mcp__buf b;
    mcp__buf_init(&b, http->allocator, 0);
    put_metrics(http, &(viewer){.is_program = true}, &b);
    int rc = b.failed ? MCP_ENOMEM : MCP_OK;
    if (rc == MCP_OK)
        add(mcp__buf_view(&b), arg);
    mcp__buf_free(&b);
    return rc;
}
