/* fixture.h: a server with one of everything, on the public API alone.
 *
 *   fixed:/...   registered resources and templates
 *   mem:...      a mounted provider: lists lazily, watches, answers later where it is told to
 *   tools        echo, every, fails, object, array, progress, logs, pending, work, broken, refuses
 *   prompts      plain, args, every
 *
 * What answers later waits until fixture_finish().
 */
#ifndef MCP_TESTS_FIXTURE_H
#define MCP_TESTS_FIXTURE_H

#include <mcp/mcp.h>

typedef struct fixture fixture;

typedef struct fixture_options {
    const mcp_allocator *allocator;
    bool empty;         /* nothing is registered */
    bool no_provider;   /* nothing is mounted */
    bool deferred_list; /* the provider lists later */
    bool no_subscribe, no_list_changed, declare, cache_public, logging, strict;
    bool fields;      /* only a tool made of a table of fields is registered */
    bool asks;        /* what asks the client is registered too */
    bool tasks;       /* what may be called as a task is registered too */
    size_t page_size; /* 4 */
    size_t max_tasks, max_task_bytes;
    /* Tool calls of each caller, one more a second; 0: no limit, since time hardly passes here. */
    uint32_t calls_burst;
    uint64_t coalesce_ms;
} fixture_options;

int fixture_new(const fixture_options *options, fixture **ret, mcp_error *error);
/* Ends what is pending, then frees the server; its channels have to be gone. */
void fixture_free(fixture *f);
mcp_server *fixture_server(fixture *f);

/* fixture_asks.c; how often what is done once was done since. */
int fixture_add_asks(mcp_server *server, mcp_error *error);
int fixture_once_count(void);

/* fixture_fields.c: a tool made of a table of fields. */
int fixture_add_fields(mcp_server *server, mcp_error *error);

/* fixture_tasks.c: tools that may be called as tasks. */
int fixture_add_tasks(fixture *f, const fixture_options *o, mcp_error *error);
/* The request waits until fixture_finish(), which answers it with `answer`, given `text`. */
int fixture_wait(fixture *f, mcp_request *req, mcp_str text,
                 int (*answer)(mcp_request *req, const char *text));

/* The calendar: milliseconds since the beginning of 2026. */
void fixture_set_time(fixture *f, int64_t ms);

/* Answers what waits: the n-th (from 1), or all for 0. */
void fixture_finish(fixture *f, size_t n);
size_t fixture_pending(const fixture *f);
/* How many requests heard of their cancellation. */
size_t fixture_cancelled(const fixture *f);
/* URIs of the provider that are watched; whether its list is. */
size_t fixture_watched(const fixture *f);
size_t fixture_list_watched(const fixture *f);

int fixture_add_resource(fixture *f, const char *uri);
int fixture_add_template(fixture *f, const char *uri_template);
int fixture_add_tool(fixture *f, const char *name);
int fixture_add_prompt(fixture *f, const char *name);

#endif
