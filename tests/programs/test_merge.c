/* Sums of the metrics of several workers (mcpd --workers). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/merge.h"

typedef struct text {
    char bytes[16384];
    size_t len;
} text;

static void collect(mcp_str piece, void *arg)
{
    text *t = arg;
    assert_true(t->len + piece.len < sizeof(t->bytes));
    memcpy(t->bytes + t->len, piece.ptr, piece.len);
    t->len += piece.len;
    t->bytes[t->len] = 0;
}

static bool visible(bool tool, mcp_str name, void *user)
{
    (void)user;
    return mcp_str_eq(name, tool ? MCP_STR("seen \"1\"") : MCP_STR("file:"));
}

static void expect_sum(const char *const *texts, size_t n, const merge_filter *filter,
                       const char *want)
{
    text got = {.len = 0};
    merge *m = merge_new();
    for (size_t i = 0; i < n; i++)
        assert_true(merge_add(m, mcp_str_from(texts[i]), i ? filter : NULL));
    merge_put(m, collect, &got);
    merge_free(m);
    assert_string_equal(got.bytes, want);
}

static void sums(void **state)
{
    static const char *const texts[] = {
        "# HELP a_total A.\n# TYPE a_total counter\na_total 3\n"
        "# HELP b B.\n# TYPE b gauge\nb{x=\"1\"} 2\nb{x=\"2\"} 1\n"
        "# HELP d_seconds D.\n# TYPE d_seconds histogram\nd_seconds_bucket{le=\"0.1\"} 1\n"
        "d_seconds_sum 0.1\n"
        "# HELP process_start_time_seconds S.\n# TYPE process_start_time_seconds gauge\n"
        "process_start_time_seconds 1000.25\n",
        "# HELP a_total A.\n# TYPE a_total counter\na_total 9007199254740000\n"
        "# HELP b B.\n# TYPE b gauge\nb{x=\"2\"} 5\nb{x=\"3 4\"} 6\n"
        "# HELP c C.\n# TYPE c gauge\nc 0\n"
        "# HELP d_seconds D.\n# TYPE d_seconds histogram\nd_seconds_bucket{le=\"0.1\"} 1\n"
        "d_seconds_sum 0.025125\n"
        "# HELP process_start_time_seconds S.\n# TYPE process_start_time_seconds gauge\n"
        "process_start_time_seconds 900\n"
        "nonsense\n\n# nonsense\nb"};
    (void)state;
    expect_sum(texts, 2, NULL,
               "# HELP a_total A.\n# TYPE a_total counter\na_total 9007199254740003\n"
               "# HELP b B.\n# TYPE b gauge\nb{x=\"1\"} 2\nb{x=\"2\"} 6\nb{x=\"3 4\"} 6\n"
               "# HELP d_seconds D.\n# TYPE d_seconds histogram\nd_seconds_bucket{le=\"0.1\"} 2\n"
               "d_seconds_sum 0.125125\n"
               "# HELP process_start_time_seconds S.\n# TYPE process_start_time_seconds gauge\n"
               "process_start_time_seconds 900\n"
               "# HELP c C.\n# TYPE c gauge\nc 0\n");
    expect_sum(texts + 1, 1, NULL,
               "# HELP a_total A.\n# TYPE a_total counter\na_total 9007199254740000\n"
               "# HELP b B.\n# TYPE b gauge\nb{x=\"2\"} 5\nb{x=\"3 4\"} 6\n"
               "# HELP c C.\n# TYPE c gauge\nc 0\n"
               "# HELP d_seconds D.\n# TYPE d_seconds histogram\nd_seconds_bucket{le=\"0.1\"} 1\n"
               "d_seconds_sum 0.025125\n"
               "# HELP process_start_time_seconds S.\n# TYPE process_start_time_seconds gauge\n"
               "process_start_time_seconds 900\n");
    const merge_filter counters = {.counters = true};
    const char *const ended[] = {"", texts[0]};
    expect_sum(ended, 2, &counters,
               "# HELP a_total A.\n# TYPE a_total counter\na_total 3\n"
               "# HELP b B.\n# TYPE b gauge\n"
               "# HELP d_seconds D.\n# TYPE d_seconds histogram\nd_seconds_bucket{le=\"0.1\"} 1\n"
               "d_seconds_sum 0.1\n"
               "# HELP process_start_time_seconds S.\n# TYPE process_start_time_seconds gauge\n");
}

/* A caller learns no names that it may not see, in no family. A tool whose source is hidden has none. */
static void hidden(void **state)
{
    static const char head[] =
        "# HELP mcp_tool_calls_total T.\n# TYPE mcp_tool_calls_total counter\n";
    static const char reads[] =
        "# HELP mcp_source_reads_total R.\n# TYPE mcp_source_reads_total counter\n";
    char own[1024], other[2048], want[2048];
    (void)state;
    snprintf(own, sizeof(own), "%smcp_tool_calls_total{tool=\"other\",result=\"ok\"} 1\n", head);
    snprintf(other, sizeof(other),
             "%smcp_tool_calls_total{tool=\"seen \\\"1\\\"\",result=\"ok\"} 2\n"
             "mcp_tool_calls_total{tool=\"secret\",result=\"ok\"} 4\n"
             "mcp_tool_calls_total{tool=\"secret2\",result=\"error\"} 8\n"
             "mcp_tool_calls_total{tool=\"open\n"
             "mcp_tool_calls_total{tool=\"secret 1\n"
             "mcp_tool_calls_total{tool=\"seen \\\"1\\\"\",source=\"file:\",result=\"ok\"} 32\n"
             "mcp_tool_calls_total{tool=\"seen \\\"1\\\"\",source=\"mcp+x:\",result=\"ok\"} 64\n"
             "mcp_tool_calls_total{tool=\"secret\",source=\"file:\",result=\"ok\"} 128\n"
             "%smcp_source_reads_total{source=\"file:\",result=\"ok\"} 1\n"
             "mcp_source_reads_total{source=\"git://x\",result=\"ok\"} 16\n"
             "# HELP mcp_upstream_sessions S.\n# TYPE mcp_upstream_sessions gauge\n"
             "mcp_upstream_sessions{source=\"mcp+x:\"} 2\n"
             "mcp_upstream_sessions{source=\"\"} 3\n"
             "# HELP mcp_group_sessions G.\n# TYPE mcp_group_sessions gauge\n"
             "mcp_group_sessions{group=\"red\",issuer=\"https://id\"} 4\n"
             "mcp_group_sessions{group=\"other\"} 1\n",
             head, reads);
    snprintf(want, sizeof(want),
             "%smcp_tool_calls_total{tool=\"other\",result=\"ok\"} 133\n"
             "mcp_tool_calls_total{tool=\"seen \\\"1\\\"\",result=\"ok\"} 66\n"
             "mcp_tool_calls_total{tool=\"other\",result=\"error\"} 8\n"
             "mcp_tool_calls_total{tool=\"seen \\\"1\\\"\",source=\"file:\",result=\"ok\"} 32\n"
             "%smcp_source_reads_total{source=\"file:\",result=\"ok\"} 1\n"
             "mcp_source_reads_total{source=\"other\",result=\"ok\"} 16\n"
             "# HELP mcp_upstream_sessions S.\n# TYPE mcp_upstream_sessions gauge\n"
             "mcp_upstream_sessions{source=\"other\"} 5\n"
             "# HELP mcp_group_sessions G.\n# TYPE mcp_group_sessions gauge\n"
             "mcp_group_sessions{group=\"other\"} 5\n",
             head, reads);
    const char *const texts[] = {own, other};
    expect_sum(texts, 2, &(merge_filter){.may = visible}, want);
    /* A name that is too long to be understood is left out. */
    char *lengthy = malloc(5000);
    int n = snprintf(lengthy, 5000, "%smcp_tool_calls_total{tool=\"", head);
    memset(lengthy + n, 'x', 4000);
    snprintf(lengthy + n + 4000, 8, "\"} 1\n");
    const char *const endless[] = {own, lengthy};
    expect_sum(endless, 2, &(merge_filter){.may = visible}, own);
    free(lengthy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums), cmocka_unit_test(hidden)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
