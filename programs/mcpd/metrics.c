/* metrics.c: see metrics.h. */
#include "metrics.h"

#include <stdio.h>
#include <string.h>

/* A label whose pieces do not fit ends before them. */
static void add_piece(mcp_str piece, void *arg)
{
    metric_sink *to = arg;
    if (piece.len < sizeof(to->label) - to->label_len) {
        memcpy(to->label + to->label_len, piece.ptr, piece.len);
        to->label_len += piece.len;
    }
    to->label[to->label_len] = 0;
}

static void begin(metric_sink *to, const metric *m, const char *source)
{
    char text[400];
    int n = snprintf(text, sizeof(text), "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name,
                     m->type);
    if (!to->begun && n > 0)
        to->add((mcp_str){text, (size_t)n}, to->arg);
    to->begun = true;
    to->label_len = 0;
    mcp_metric_label(mcp_str_from(source), add_piece, to);
}

static uint64_t number(const void *at, size_t width)
{
    bool flag;
    uint32_t small;
    uint64_t value;
    switch (width) {
    case sizeof(flag): memcpy(&flag, at, sizeof(flag)); return flag;
    case sizeof(small): memcpy(&small, at, sizeof(small)); return small;
    default: memcpy(&value, at, sizeof(value)); return value;
    }
}

static void put(const metric_sink *to, const metric *m, const char *word, uint64_t value)
{
    char text[900];
    int n = snprintf(text, sizeof(text), "%s{source=\"%s\"%s%s%s%s%s} %llu\n", m->name, to->label,
                     word ? "," : "", word ? m->key : "", word ? "=\"" : "", word ? word : "",
                     word ? "\"" : "", (unsigned long long)value);
    if (n > 0 && (size_t)n < sizeof(text))
        to->add((mcp_str){text, (size_t)n}, to->arg);
}

/* Writes a time in microseconds as seconds, without trailing zeros. */
static void put_seconds(char to[32], uint64_t us)
{
    int n = snprintf(to, 32, "%llu.%06llu", (unsigned long long)(us / 1000000),
                     (unsigned long long)(us % 1000000));
    while (to[n - 1] == '0')
        to[--n] = 0;
    if (to[n - 1] == '.')
        to[--n] = 0;
}

static void put_sample(const metric_sink *to, const metric *m, const char *rest)
{
    char text[900];
    int n = snprintf(text, sizeof(text), "%s%s\n", m->name, rest);
    if (n > 0 && (size_t)n < sizeof(text))
        to->add((mcp_str){text, (size_t)n}, to->arg);
}

static void put_histogram(const metric_sink *to, const metric *m, const void *state)
{
    const char *counts = (const char *)state + m->at;
    const uint64_t *bounds = mcp_usage_bounds();
    uint64_t count = 0;
    char rest[700], seconds[32];
    for (size_t i = 0; i <= MCP_USAGE_BUCKETS; i++) {
        count += number(counts + i * m->width, m->width);
        snprintf(seconds, sizeof(seconds), "+Inf");
        if (i < MCP_USAGE_BUCKETS)
            put_seconds(seconds, bounds[i]);
        snprintf(rest, sizeof(rest), "_bucket{source=\"%s\",le=\"%s\"} %llu", to->label, seconds,
                 (unsigned long long)count);
        put_sample(to, m, rest);
    }
    put_seconds(seconds, number((const char *)state + m->sum_at, sizeof(uint64_t)));
    snprintf(rest, sizeof(rest), "_sum{source=\"%s\"} %s", to->label, seconds);
    put_sample(to, m, rest);
    snprintf(rest, sizeof(rest), "_count{source=\"%s\"} %llu", to->label,
             (unsigned long long)count);
    put_sample(to, m, rest);
}

void metric_put(metric_sink *to, const metric *m, const char *source, const void *state)
{
    const char *at = (const char *)state + m->at, *word;
    begin(to, m, source);
    if (m->sum_at) {
        put_histogram(to, m, state);
        return;
    }
    if (!m->word)
        put(to, m, NULL, number(at, m->width));
    for (size_t i = 0; m->word && (word = m->word(i)) != NULL; i++)
        put(to, m, word, number(at + i * m->width, m->width));
}
