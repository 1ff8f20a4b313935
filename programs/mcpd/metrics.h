/* metrics.h: writes the metrics of sources as Prometheus text. */
#ifndef MCPD_METRICS_H
#define MCPD_METRICS_H

#include <mcp/mcp.h>

/* Where the text goes. `add`, `arg` and `numbers` are set by the caller, who uses one sink for each
 * metric. */
typedef struct metric_sink {
    void (*add)(mcp_str text, void *arg);
    void *arg;
    bool numbers;       /* sources are labelled by number, because names may be secret */
    const char *metric; /* private, like all others */
    bool begun;
    size_t count;
    char label[500];
} metric_sink;

/* Begins the lines of the next source. The first call writes the head of the metric. */
void metric_begin(metric_sink *to, const char *metric, const char *type, const char *help,
                  const char *source);
/* Leaves out a source, which keeps its number. */
void metric_skip(metric_sink *to);
/* Writes one value of that source. `key` is a further label, or NULL. */
void metric_put(const metric_sink *to, const char *key, const char *word, uint64_t value);

#endif
