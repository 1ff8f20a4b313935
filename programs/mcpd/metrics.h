/* metrics.h: writes the metrics of sources as Prometheus text. The label "source" is the prefix of the
 * URIs, as in the families of the library, so that queries can join them; scrape.c hides it from callers
 * who may not see it. */
#ifndef MCPD_METRICS_H
#define MCPD_METRICS_H

#include <stddef.h>

#include <mcp/mcp.h>

/* Receives the text of one metric. The caller sets `add` and `arg`. The other members are
 * private. */
typedef struct metric_sink {
    void (*add)(mcp_str text, void *arg);
    void *arg;
    bool begun;
    char label[500];
    size_t label_len;
} metric_sink;

/* A metric whose values are members of a struct that describes the state of a source. */
typedef struct metric {
    const char *name, *type, *help;
    size_t at, width; /* the member, METRIC_MEMBER(); its first element if it is an array */
    const char *key;  /* the label of an array's elements, or NULL for a single value */
    const char *(*word)(size_t i); /* returns the value of that label, or NULL past the end */
    bool program;                  /* only sources that are programs have it */
    /* Of a histogram: where the sum of the durations is, in microseconds. `at` are the numbers of
     * durations between the bounds of mcp_usage_bounds(). */
    size_t sum_at;
} metric;

/* A bool, or an unsigned integer of 4 or 8 bytes. */
#define METRIC_MEMBER(type, member) \
    .at = offsetof(type, member), .width = sizeof(((type *)0)->member)

/* Writes the lines of the next source, which is in this state. The first call also writes the HELP
 * and TYPE lines. */
void metric_put(metric_sink *to, const metric *m, const char *source, const void *state);

#endif
