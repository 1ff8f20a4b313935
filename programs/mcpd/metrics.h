/* metrics.h: writes the metrics of sources as Prometheus text. */
#ifndef MCPD_METRICS_H
#define MCPD_METRICS_H

#include <mcp/mcp.h>

/* Receives the text of one metric. The caller sets `add`, `arg` and `numbers`. The other members
 * are private. */
typedef struct metric_sink {
    void (*add)(mcp_str text, void *arg);
    void *arg;
    bool numbers; /* sources are labelled with numbers, because their names may be secret */
    const char *metric;
    bool begun;
    size_t count;
    char label[500];
} metric_sink;

/* Begins the lines of the next source. The first call also writes the HELP and TYPE lines. */
void metric_begin(metric_sink *to, const char *metric, const char *type, const char *help,
                  const char *source);
/* Skips a source. The following sources keep their numbers. */
void metric_skip(metric_sink *to);
/* Writes one value of that source. `key` is the name of a second label with the value `word`, or
 * NULL. */
void metric_put(const metric_sink *to, const char *key, const char *word, uint64_t value);

#endif
