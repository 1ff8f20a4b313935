/* metrics.c: see metrics.h. */
#include "metrics.h"

#include <stdio.h>

static void escape(const char *text, char *to, size_t room)
{
    size_t n = 0;
    for (; *text && n + 3 < room; text++) {
        if (*text == '"' || *text == '\\')
            to[n++] = '\\';
        to[n++] = *text >= 0 && *text < ' ' ? ' ' : *text;
    }
    to[n] = 0;
}

void metric_begin(metric_sink *to, const char *metric, const char *type, const char *help,
                  const char *source)
{
    char text[400];
    int n =
        snprintf(text, sizeof(text), "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric, type);
    if (!to->begun && n > 0)
        to->add((mcp_str){text, (size_t)n}, to->arg);
    to->begun = true;
    to->count++;
    to->metric = metric;
    if (to->numbers)
        snprintf(to->label, sizeof(to->label), "%zu", to->count);
    else
        escape(source, to->label, sizeof(to->label));
}

void metric_skip(metric_sink *to)
{
    to->count++;
}

void metric_put(const metric_sink *to, const char *key, const char *word, uint64_t value)
{
    char text[900];
    int n = snprintf(text, sizeof(text), "%s{source=\"%s\"%s%s%s%s%s} %llu\n", to->metric,
                     to->label, key ? "," : "", key ? key : "", key ? "=\"" : "", key ? word : "",
                     key ? "\"" : "", (unsigned long long)value);
    if (n > 0 && (size_t)n < sizeof(text))
        to->add((mcp_str){text, (size_t)n}, to->arg);
}
