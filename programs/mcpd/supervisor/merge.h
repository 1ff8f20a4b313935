/* merge.h: adds up metrics in the text format of Prometheus. */
#ifndef MCPD_MERGE_H
#define MCPD_MERGE_H

#include <mcp/base.h>

typedef struct merge merge;

/* What is added of a text. Zero means everything. */
typedef struct merge_filter {
    bool counters; /* only counters and histograms */
    /* Returns whether the name of a tool or source may be shown. Figures of others, and of all groups, are added to
     * those of "other". NULL means that all may be shown. */
    bool (*may)(bool tool, mcp_str name, void *user);
    void *user;
} merge_filter;

merge *merge_new(void); /* NULL if out of memory */
void merge_free(merge *m);
/* Adds a text. What is not in the format is skipped. Returns false if out of memory. */
bool merge_add(merge *m, mcp_str text, const merge_filter *filter);
/* Passes the sums on, in the order in which the names were added. */
void merge_put(const merge *m, void (*add)(mcp_str text, void *arg), void *arg);

#endif
