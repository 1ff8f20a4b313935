/* group_sessions.c: see group_sessions.h.
 *
 * The groups are sorted by issuer and name. So a session costs a search for each group that its token lists, however many
 * groups the configuration names. A caller may be in several groups; its sessions count for each of them.
 */
#define _GNU_SOURCE
#include "group_sessions.h"

#include <mcp/sys/http.h>
#include <mcp/sys/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callers.h"

enum { MOST = 1000 }; /* series; the sessions of further groups are in "other" */

typedef struct group {
    const issuer_test *test;
    uint64_t sessions;
    uint64_t last; /* the session that was counted last, by its number */
} group;

typedef struct table {
    group *items;
    size_t count, room;
    uint64_t n_sessions, other;
    bool failed;
} table;

/* ---- the groups -------------------------------------------------------------------------------- */

static void add_group(const issuer_test *test, void *user)
{
    table *t = user;
    if (t->count == t->room) {
        size_t room = t->room ? 2 * t->room : 16;
        group *grown = realloc(t->items, room * sizeof(*grown));
        t->failed = t->failed || !grown;
        if (!grown)
            return;
        t->items = grown;
        t->room = room;
    }
    t->items[t->count++] = (group){.test = test};
}

static int compare_text(mcp_str a, mcp_str b)
{
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare(const void *a_, const void *b_)
{
    const issuer_test *a = ((const group *)a_)->test, *b = ((const group *)b_)->test;
    int issuers = strcmp(a->issuer, b->issuer);
    return issuers ? issuers : compare_text(mcp_str_from(a->group), mcp_str_from(b->group));
}

/* Sorts the groups, and keeps one of equal ones. */
static void sort(table *t)
{
    size_t kept = 0;
    if (t->count)
        qsort(t->items, t->count, sizeof(*t->items), compare);
    for (size_t i = 0; i < t->count && kept < MOST; i++)
        if (!kept || compare(&t->items[kept - 1], &t->items[i]) != 0)
            t->items[kept++] = t->items[i];
    t->count = kept;
}

/* ---- the sessions ------------------------------------------------------------------------------ */

/* Returns a group of the issuer, any of them if name.ptr is NULL, or NULL. */
static group *find(const table *t, const char *issuer, mcp_str name)
{
    for (size_t low = 0, high = t->count; issuer && low < high;) {
        size_t middle = low + (high - low) / 2;
        const issuer_test *test = t->items[middle].test;
        int order = strcmp(issuer, test->issuer);
        if (order == 0 && name.ptr)
            order = compare_text(name, mcp_str_from(test->group));
        if (order == 0)
            return &t->items[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static void count_session(const mcp_identity *identity, void *user)
{
    table *t = user;
    const char *issuer = mcp_identity_issuer(identity);
    const group *any = find(t, issuer, (mcp_str){0}); /* all its groups are in the same claim */
    const mcp_json *list = any ? callers_groups(identity, mcp_str_from(any->test->groups)) : NULL;
    mcp_json_iter it = {0};
    bool member = false;
    t->n_sessions++;
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        group *g = find(t, issuer, mcp_json_string(v));
        if (g && g->last != t->n_sessions)
            g->sessions++, g->last = t->n_sessions;
        member = member || g;
    }
    t->other += !member;
}

/* Workers, and instances, have one endpoint for all addresses. */
static void count_all(table *t, const listeners *at)
{
    const mcp_http *before = NULL;
    for (size_t i = 0; at && i < at->count; i++) {
        const mcp_http *http = mcp_listener_http(at->items[i]);
        if (http != before)
            mcp_http_each_session(http, count_session, t);
        before = http;
    }
}

/* ---- the text ---------------------------------------------------------------------------------- */

static void put(const char *text, void (*add)(mcp_str text, void *arg), void *arg)
{
    add(mcp_str_from(text), arg);
}

static void put_group(const group *g, void (*add)(mcp_str text, void *arg), void *arg)
{
    char number[40];
    put("mcp_group_sessions{group=\"", add, arg);
    mcp_metric_label(mcp_str_from(g->test->group), add, arg);
    put("\",issuer=\"", add, arg);
    mcp_metric_label(mcp_str_from(g->test->issuer), add, arg);
    snprintf(number, sizeof(number), "\"} %llu\n", (unsigned long long)g->sessions);
    put(number, add, arg);
}

void group_sessions_metrics(const access_rules *rules, const listeners *at,
                            void (*add)(mcp_str text, void *arg), void *arg)
{
    table t = {.count = 0};
    char other[80];
    access_each_group(rules, add_group, &t);
    sort(&t);
    if (t.count && !t.failed) {
        count_all(&t, at);
        put("# HELP mcp_group_sessions Open sessions of older revisions, by the groups of their "
            "callers.\n"
            "# TYPE mcp_group_sessions gauge\n",
            add, arg);
        for (size_t i = 0; i < t.count; i++)
            put_group(&t.items[i], add, arg);
        snprintf(other, sizeof(other), "mcp_group_sessions{group=\"other\"} %llu\n",
                 (unsigned long long)t.other);
        put(other, add, arg);
    }
    free(t.items);
}
