/* learn.c: registers the items of a source without a description. To find them, starts a process on
 * a loop of its own. */
#include <stdio.h>
#include <string.h>

#include "provider.h"

enum { MOST_ARGUMENTS = 64 };

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

static int add_template(isolated *r, const mcp_json *from, mcp_error *error)
{
    isolated_entry e;
    isolated_entry_read(&e, from, &r->alloc);
    int rc = mcp_server_add_template(
        r->server,
        MCP_OPTIONS(mcp_resource_template,
                    .uri_template = mcp_json_string(mcp_json_get(from, "uriTemplate")).ptr,
                    .name = e.resource.name, .title = e.resource.title,
                    .description = e.resource.description, .mime_type = e.resource.mime_type,
                    .annotations = e.resource.annotations, .icons = e.resource.icons,
                    .n_icons = e.resource.n_icons, .meta = e.resource.meta, .read = isolated_read,
                    .complete = isolated_complete),
        r, error);
    isolated_entry_free(&e);
    return rc;
}

static int add_resource(isolated *r, const mcp_json *from, mcp_error *error)
{
    isolated_entry e;
    isolated_entry_read(&e, from, &r->alloc);
    e.resource.read = isolated_read;
    int rc = mcp_server_add_resource(r->server, &e.resource, r, error);
    isolated_entry_free(&e);
    return rc;
}

static mcp_hint hint_of(const mcp_json *tool, const char *name)
{
    const mcp_json *v = mcp_json_get(mcp_json_get(tool, "annotations"), name);
    return !v ? MCP_HINT_UNSET : mcp_json_bool(v, false) ? MCP_HINT_YES : MCP_HINT_NO;
}

int isolated_name_taken(const isolated *r, int rc, const char *tool, mcp_error *error)
{
    if (rc == MCP_EEXIST && error)
        snprintf(error->text, sizeof(error->text),
                 "%.80s: another source has the tool %.64s; choose another name: ?name=NAME, or "
                 "?tool=NAME if it has this option",
                 r->options.name, tool);
    return rc;
}

static int add_tool(isolated *r, const mcp_json *from, mcp_error *error)
{
    isolated_entry e;
    char *input = isolated_text(&r->alloc, mcp_json_get(from, "inputSchema"));
    char *output = isolated_text(&r->alloc, mcp_json_get(from, "outputSchema"));
    isolated_entry_read(&e, from, &r->alloc);
    int rc = mcp_server_add_tool(
        r->server,
        MCP_OPTIONS(mcp_tool, .name = e.resource.name, .title = e.resource.title,
                    .description = e.resource.description, .input_schema = input,
                    .output_schema = output, .read_only = hint_of(from, "readOnlyHint"),
                    .destructive = hint_of(from, "destructiveHint"),
                    .idempotent = hint_of(from, "idempotentHint"),
                    .open_world = hint_of(from, "openWorldHint"), .icons = e.resource.icons,
                    .n_icons = e.resource.n_icons, .meta = e.resource.meta, .call = isolated_run),
        r, error);
    rc = isolated_name_taken(r, rc, e.resource.name, error);
    common_release(&r->alloc, input);
    common_release(&r->alloc, output);
    isolated_entry_free(&e);
    return rc;
}

static int add_prompt(isolated *r, const mcp_json *from, mcp_error *error)
{
    mcp_prompt_argument arguments[MOST_ARGUMENTS];
    const mcp_json *list = mcp_json_get(from, "arguments"), *v;
    mcp_json_iter it = {0};
    size_t n = 0;
    isolated_entry e;
    while (n < MOST_ARGUMENTS && (v = mcp_json_next(list, &it, NULL)) != NULL)
        arguments[n++] = (mcp_prompt_argument){
            .size = sizeof(*arguments),
            .required = mcp_json_bool(mcp_json_get(v, "required"), false),
            .name = mcp_json_string(mcp_json_get(v, "name")).ptr,
            .title = mcp_json_string(mcp_json_get(v, "title")).ptr,
            .description = mcp_json_string(mcp_json_get(v, "description")).ptr};
    isolated_entry_read(&e, from, &r->alloc);
    int rc = mcp_server_add_prompt(
        r->server,
        MCP_OPTIONS(mcp_prompt, .name = e.resource.name, .title = e.resource.title,
                    .description = e.resource.description, .arguments = arguments, .n_arguments = n,
                    .icons = e.resource.icons, .n_icons = e.resource.n_icons,
                    .meta = e.resource.meta, .get = isolated_run, .complete = isolated_complete),
        r, error);
    isolated_entry_free(&e);
    return rc;
}

static const struct {
    const char *method, *array;
    int (*add)(isolated *r, const mcp_json *from, mcp_error *error);
    bool without_mount; /* requested only if nothing is mounted */
} lists[] = {
    {"resources/templates/list", "resourceTemplates", add_template, false},
    {"resources/list", "resources", add_resource, true},
    {"prompts/list", "prompts", add_prompt, false},
    {"tools/list", "tools", add_tool, false},
};

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
        rc = lists[i].add(l->r, v, error);
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
