/* learn.c: registers the items of a source without a description. To find them, starts a process on
 * a loop of its own. */
#include <mcp/sys/forward.h>
#include <stdio.h>
#include <string.h>

#include "provider.h"

typedef struct learning {
    isolated *r;
    isolated_link link;
    mcp_loop *loop;
    mcp_service_use use;
    mcp_error *error;
    bool ready;
    int rc;
} learning;

enum { LAST_MS = 500 };

static int fail(mcp_error *error, int rc, const char *name, const char *text)
{
    if (error) {
        error->code = rc;
        error->offset = 0;
        snprintf(error->text, sizeof(error->text), "%.80s: %.170s", name, text);
    }
    return rc;
}

/* ---- the process ----------------------------------------------------------------------------- */

static void on_ready(int rc, const mcp_error *error, void *user)
{
    learning *l = user;
    l->ready = true;
    l->rc = rc;
    if (rc != MCP_OK && l->error)
        *l->error = *error;
}

static int start(learning *l, mcp_error *error)
{
    mcp_error why = {0};
    l->use = (mcp_service_use){.ready = on_ready, .user = l};
    l->error = error;
    int rc = mcp_service_begin(l->link.service, &l->use, error);
    while (rc == MCP_PENDING && !l->ready) {
        int step = mcp_loop_step(l->loop, 1000);
        if (step != MCP_OK)
            return step;
    }
    rc = rc == MCP_PENDING ? l->rc : rc;
    isolated_link_read(&l->link);
    /* The stderr of the process is logged when the process ends. */
    for (int64_t end = mcp_loop_now(l->loop) + LAST_MS;
         rc != MCP_OK && !l->link.ended && mcp_loop_now(l->loop) < end;)
        mcp_loop_step(l->loop, 10);
    if (isolated_link_failure(&l->link, &why) != MCP_OK) {
        if (error)
            *error = why;
        return why.code;
    }
    if (rc == MCP_OK && !mcp_json_get(mcp_json_root(l->link.report), "mounted"))
        return fail(error, MCP_EPROTOCOL, l->r->options.name, "it does not say what it mounted");
    return rc;
}

/* ---- registering ----------------------------------------------------------------------------- */

int isolated_name_taken(const isolated *r, int rc, const char *tool, mcp_error *error)
{
    if (rc == MCP_EEXIST && error)
        snprintf(error->text, sizeof(error->text),
                 "%.80s: another source has the tool %.64s; choose another name: ?name=NAME, or "
                 "?tool=NAME if it has this option",
                 r->options.name, tool);
    return rc;
}

typedef union descriptor {
    size_t size;
    mcp_resource resource;
    mcp_resource_template tmpl;
    mcp_prompt prompt;
    mcp_tool tool;
} descriptor;

static int add_template(isolated *r, descriptor *d, mcp_error *error)
{
    d->tmpl.read = isolated_read;
    d->tmpl.complete = isolated_complete;
    return mcp_server_add_template(r->server, &d->tmpl, r, error);
}

static int add_resource(isolated *r, descriptor *d, mcp_error *error)
{
    d->resource.read = isolated_read;
    return mcp_server_add_resource(r->server, &d->resource, r, error);
}

static int add_prompt(isolated *r, descriptor *d, mcp_error *error)
{
    d->prompt.get = isolated_run;
    d->prompt.complete = isolated_complete;
    return mcp_server_add_prompt(r->server, &d->prompt, r, error);
}

static int add_tool(isolated *r, descriptor *d, mcp_error *error)
{
    d->tool.call = isolated_run;
    d->tool.task_support = MCP_TASK_FORBIDDEN; /* tasks are not forwarded */
    return isolated_name_taken(r, mcp_server_add_tool(r->server, &d->tool, r, error), d->tool.name,
                               error);
}

static const struct {
    const char *method, *array;
    mcp_item item;
    size_t size;
    int (*add)(isolated *r, descriptor *d, mcp_error *error);
    bool without_mount; /* requested only if nothing is mounted */
} lists[] = {
    {"resources/templates/list", "resourceTemplates", MCP_ITEM_TEMPLATE,
     sizeof(mcp_resource_template), add_template, false},
    {"resources/list", "resources", MCP_ITEM_RESOURCE, sizeof(mcp_resource), add_resource, true},
    {"prompts/list", "prompts", MCP_ITEM_PROMPT, sizeof(mcp_prompt), add_prompt, false},
    {"tools/list", "tools", MCP_ITEM_TOOL, sizeof(mcp_tool), add_tool, false},
};

static int add_entry(isolated *r, size_t i, const mcp_json *from, mcp_error *error)
{
    descriptor d = {.size = lists[i].size};
    mcp_entry_memory *memory = NULL;
    int rc = mcp_entry_read(lists[i].item, from, &d, &r->alloc, &memory);
    if (rc == MCP_OK)
        rc = lists[i].add(r, &d, error);
    mcp_entry_memory_free(memory);
    return rc;
}

static int add_list(learning *l, size_t i, mcp_error *error)
{
    mcp_json_doc *doc = NULL;
    mcp_call_id call;
    mcp_json_iter it = {0};
    mcp_error why = {0};
    int rc = mcp_client_list_all(l->link.client, lists[i].method, NULL, NULL, &call);
    if (rc == MCP_OK)
        rc = mcp_client_wait(l->link.client, call, &doc, &why);
    const mcp_json *list = mcp_json_get(mcp_json_root(doc), lists[i].array), *v;
    if (rc != MCP_OK && rc != MCP_EREMOTE) /* MCP_EREMOTE: the process has no such list */
        fail(error, rc, l->r->options.name, why.text[0] ? why.text : mcp_error_text(rc));
    else
        rc = MCP_OK;
    while (rc == MCP_OK && (v = mcp_json_next(list, &it, NULL)) != NULL)
        rc = add_entry(l->r, i, v, error);
    mcp_json_free(doc);
    return rc;
}

static int add_all(learning *l, mcp_error *error)
{
    const mcp_json *mounted = mcp_json_get(mcp_json_root(l->link.report), "mounted"), *v;
    bool any = mcp_json_count(mounted) > 0;
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    while (rc == MCP_OK && (v = mcp_json_next(mounted, &it, NULL)) != NULL)
        rc = isolated_mount(l->r,
                            MCP_OPTIONS(mcp_source, .prefix = mcp_json_string(v).ptr, .lists = true,
                                        .subscribe = true, .list_changed = true),
                            error);
    for (size_t i = 0; rc == MCP_OK && i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (!any || !lists[i].without_mount)
            rc = add_list(l, i, error);
    }
    return rc;
}

int isolated_learn(isolated *r, mcp_error *error)
{
    learning l = {.r = r, .link = {.fd = -1}};
    int rc = mcp_loop_new(&r->alloc, &l.loop, error);
    if (rc == MCP_OK)
        rc = isolated_link_open(&l.link, r, l.loop, mcp_loop_host(l.loop), error);
    if (rc == MCP_OK)
        rc = start(&l, error);
    if (rc == MCP_OK)
        rc = add_all(&l, error);
    isolated_link_close(&l.link);
    mcp_loop_free(l.loop);
    return rc;
}
