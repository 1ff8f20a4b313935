/* metrics.h: counters (metrics.c), and log lines at a limited rate. */
#ifndef MCP_SRC_HTTP_SERVER_METRICS_H
#define MCP_SRC_HTTP_SERVER_METRICS_H

#include <mcp/http.h>

#include "protocol/method.h"

typedef struct mcp__http_complaint {
    const char *what; /* NULL means "refused" */
    uint64_t count;   /* refusals since the last line */
    int64_t again;    /* earliest time of the next line */
} mcp__http_complaint;

/* Counts a refusal, and logs at most one line every ten seconds. */
void mcp__http_complain(mcp_http *http, mcp__http_complaint *complaint, mcp_str what);

/* ---- metrics.c -------------------------------------------------------------------------------------------------------- */

enum {
    MCP__HTTP_RESULTS = 3,
    MCP__HTTP_BUCKETS = MCP_USAGE_BUCKETS,
    MCP__HTTP_STATUSES = 22,
    MCP__HTTP_MOST_REFUSALS = 64,
    MCP__HTTP_REASONS = 40
};

/* How often logins were refused for a reason, a word of the program. */
typedef struct mcp__http_reason {
    char word[32];
    uint64_t count;
} mcp__http_reason;

typedef struct mcp__http_metrics {
    uint64_t answered[MCP__METHODS][MCP__HTTP_RESULTS];
    uint64_t by_status[MCP__HTTP_STATUSES];
    /* Without streams that have no answer; in microseconds. */
    uint64_t duration[MCP__METHODS][MCP__HTTP_BUCKETS + 1];
    uint64_t duration_sum[MCP__METHODS];
    uint64_t bytes_in, bytes_out;
    uint64_t sessions_begun, sessions_evicted, sessions_expired, duplex_begun;
    uint64_t sessions_evicted_own;      /* because of a share */
    uint64_t sessions_taken, forwarded; /* from and to other instances */
    uint64_t sessions_forgotten;        /* of other instances */
    uint64_t accepted, refused, shed;
    /* The number of refusals of each kind, indexed by mcp__http_refusal. Refusals for lack of
     * memory are counted in the budget. */
    uint64_t by_refusal[MCP__HTTP_MOST_REFUSALS];
    mcp__http_reason reasons[MCP__HTTP_REASONS + 1]; /* the last one is of all others */
    size_t n_reasons;
    size_t streams;
    uint64_t streams_begun, events;
} mcp__http_metrics;

/* Counts a login that was refused. */
void mcp__http_count_reason(mcp__http_metrics *m, mcp_str reason);
/* Writes all metrics in the text format of Prometheus. Omits tools and sources that access rules
 * hide from the principal. */
void mcp__http_put_metrics(mcp_http *http, const mcp_identity *identity, mcp__buf *b);

#endif
