/* fixture.h: a server with one item of every kind, which uses only the public API.
 *
 *   fixed:/...   registered resources and templates
 *   mem:...      a mounted provider: lists in pages, watches, and answers later if configured
 *   tools        echo, every, fails, object, array, progress, logs, pending, work, broken, refuses
 *   prompts      plain, args, every
 *
 * Deferred answers wait for fixture_finish().
 */
#ifndef MCP_TESTS_FIXTURE_H
#define MCP_TESTS_FIXTURE_H

#include <mcp/mcp.h>

typedef struct fixture fixture;

typedef struct fixture_options {
    const mcp_allocator *allocator;
    bool empty;         /* nothing is registered */
    bool no_provider;   /* nothing is mounted */
    bool deferred_list; /* the provider answers list requests later */
    bool no_subscribe, no_list_changed, declare, cache_public, logging, strict;
    bool fields;      /* only a tool that is described by a table of fields is registered */
    bool asks;        /* items that request input from the client are registered too */
    bool tasks;       /* tools that may be called as tasks are registered too */
    size_t page_size; /* the default is 4 */
    size_t max_tasks, max_task_bytes;
    /* Number of tool calls that each caller may make at once; the rate is one call a second. 0
     * means no limit. */
    uint32_t calls_burst;
    uint64_t coalesce_ms;
} fixture_options;

int fixture_new(const fixture_options *options, fixture **ret, mcp_error *error);
/* Finishes pending requests, then frees the server. Its channels must be freed before. */
void fixture_free(fixture *f);
mcp_server *fixture_server(fixture *f);

/* fixture_asks.c: registers the items that request input. fixture_once_count() returns how often
 * the action ran that mcp_request_once() guards. */
int fixture_add_asks(mcp_server *server, mcp_error *error);
/* fixture_raw.c: the tool "forward", and the number of its requests that have not ended. */
int fixture_forwards(mcp_request *req, const mcp_json *arguments, void *user);
int fixture_live_plans(void);
int fixture_once_count(void);

/* fixture_fields.c: registers a tool that is described by a table of fields. */
int fixture_add_fields(mcp_server *server, mcp_error *error);

/* fixture_tasks.c: registers tools that may be called as tasks. */
int fixture_add_tasks(fixture *f, const fixture_options *o, mcp_error *error);
/* Makes the request wait until fixture_finish(), which then answers it by calling `answer` with
 * `text`. */
int fixture_wait(fixture *f, mcp_request *req, mcp_str text,
                 int (*answer)(mcp_request *req, const char *text));

/* Sets the calendar time to `ms` milliseconds after the beginning of 2026. */
void fixture_set_time(fixture *f, int64_t ms);

/* Answers the n-th waiting request, counted from 1, or all if n is 0. */
void fixture_finish(fixture *f, size_t n);
size_t fixture_pending(const fixture *f);
/* Returns how many cancel callbacks were called. */
size_t fixture_cancelled(const fixture *f);
/* Return the number of URIs that the provider watches, and of watches of its list. */
size_t fixture_watched(const fixture *f);
size_t fixture_list_watched(const fixture *f);

int fixture_add_resource(fixture *f, const char *uri);
int fixture_add_template(fixture *f, const char *uri_template);
int fixture_add_tool(fixture *f, const char *name);
int fixture_add_prompt(fixture *f, const char *name);

#endif
