/* server.c: the server object: its options, identity, capabilities and host. */
#include <stdio.h>

#include "server/core/access.h"
#include "server/core/build.h"
#include "server/core/seal.h"
#include "server/share/share.h"
#include "server/share/watch.h"
#include "server/core/server.h"
#include "server/methods/left_out.h"
#include "server/tasks/tasks.h"

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_server_options, page_size, 1000),
    MCP_DEFAULT(mcp_server_options, list_ttl_ms, 5000),
    MCP_DEFAULT(mcp_server_options, coalesce_ms, 100, .maximum = 3600 * 1000),
    MCP_DEFAULT(mcp_server_options, input_timeout_ms, 10 * 60 * 1000),
    MCP_DEFAULT(mcp_server_options, handler_timeout_ms, 600 * 1000),
    MCP_DEFAULT(mcp_server_options, max_work_memory, 128 << 20),
    MCP_DEFAULT(mcp_server_options, list_ms, 10 * 1000),
};

/* ---- identity -------------------------------------------------------------------------------- */

/* Renders the Implementation object in the form of each revision. `info` is set at the end, when
 * the buffer no longer moves. */
static int render_info(mcp_server *server, const mcp_server_options *o)
{
    size_t start[MCP__REVISIONS + 1];
    mcp__buf *b = &server->info_text;
    mcp__buf_init(b, &server->allocator, SIZE_MAX);
    for (size_t i = 0; i < MCP__REVISIONS; i++) {
        const mcp__revision *r = &mcp__revisions[i];
        start[i] = b->len;
        mcp__object info = mcp__object_begin(b, r);
        mcp__object_name(&info, o->name, o->title);
        mcp__object_str(&info, "version", o->version);
        if (r->implementation_extras) {
            mcp__object_str(&info, "description", o->description);
            mcp__object_str(&info, "websiteUrl", o->website_url);
        }
        mcp__object_icons(&info, o->icons, o->n_icons);
        mcp__object_end(&info);
    }
    start[MCP__REVISIONS] = b->len;
    for (size_t i = 0; i < MCP__REVISIONS && !b->failed; i++)
        server->info[i] = (mcp_str){b->ptr + start[i], start[i + 1] - start[i]};
    return b->failed;
}

static void set_defaults(mcp_server_options *o)
{
    MCP_SET_DEFAULTS(o, defaults);
    if (o->list_ttl_ms == MCP_TTL_NONE)
        o->list_ttl_ms = 0;
}

/* Clears the pointers to strings, which belong to the program. */
static void forget_texts(mcp_server_options *o)
{
    o->name = o->version = o->title = o->description = o->website_url = o->instructions = NULL;
    o->icons = NULL;
    o->host = NULL;
    o->allocator = NULL;
}

static int check_options(const mcp_server_options *o, mcp_error *error)
{
    if (!o->name || !*o->name)
        return mcp__fail(error, MCP_EINVAL, 0, "a server needs a \"name\"");
    if (!o->version)
        return mcp__fail(error, MCP_EINVAL, 0, "a server needs a \"version\"");
    return mcp__check_array(o->icons, o->n_icons, "mcp_icon", error);
}

int mcp__need_server(const mcp_server *server, mcp_error *error)
{
    return server ? MCP_OK
                  : mcp__fail(error, MCP_EINVAL, 0, "a server is required, and NULL was given");
}

int mcp_server_new(const mcp_server_options *options, mcp_server **ret, mcp_error *error)
{
    mcp__no_error(error);
    mcp_server_options o = {.name = NULL};
    int rc = ret ? MCP__TAKE(&o, options, mcp_server_options, error)
                 : mcp__fail(error, MCP_EINVAL, 0, "ret is required");
    if (rc == MCP_OK)
        rc = check_options(&o, error);
    if (rc != MCP_OK)
        return rc;
    const mcp_allocator *allocator = mcp__allocator(o.allocator);
    mcp_server *server = mcp__zalloc(allocator, sizeof(*server));
    if (!server)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a server");
    server->allocator = *allocator;
    mcp__list_init(&server->sessions);
    mcp__list_init(&server->retired);
    mcp__usage_init(server);
    uint64_t seed = (uintptr_t)server;
    mcp__map_init(&server->topics, &server->allocator, seed, ~seed);
    for (size_t i = 0; i < MCP__KINDS; i++)
        mcp__map_init(&server->registry[i].by_key, &server->allocator, seed, i);
    if (o.host)
        mcp_server_set_host(server, o.host);
    set_defaults(&o);
    mcp__rate_init(server, &o);
    mcp__hold_init(server, o.max_work_memory);
    rc = mcp_json_parse(MCP_STR("{}"), NULL, &server->allocator, &server->no_arguments, NULL);
    if (rc == MCP_OK)
        rc = render_info(server, &o);
    if (rc == MCP_OK && !(server->name = mcp__strdup(&server->allocator, mcp_str_from(o.name))))
        rc = MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = mcp_server_set_instructions(server, o.instructions);
    if (rc != MCP_OK) {
        mcp_server_free(server);
        return mcp__fail(error, rc, 0, "cannot create the server: %s",
                         rc == MCP_EINVAL ? "a string is not UTF-8" : mcp_error_text(rc));
    }
    server->options = o;
    forget_texts(&server->options);
    *ret = server;
    return MCP_OK;
}

int mcp_server_set_instructions(mcp_server *server, const char *instructions)
{
    mcp_str text = mcp_str_from(instructions);
    if (mcp__utf8_valid(text.ptr, text.len) != text.len)
        return MCP_EINVAL;
    char *copy = instructions ? mcp__strdup(&server->allocator, text) : NULL;
    if (instructions && !copy)
        return MCP_ENOMEM;
    mcp__release(&server->allocator, server->instructions);
    server->instructions = copy;
    return MCP_OK;
}

void mcp_server_set_instructions_hook(mcp_server *server,
                                      const char *(*make)(mcp_request *req, void *user), void *user)
{
    server->make_instructions = make;
    server->instructions_user = user;
}

void mcp_server_free(mcp_server *server)
{
    if (!server)
        return;
    mcp__left_out_leave_host(server); /* first, because it has a channel */
    assert(mcp__list_empty(&server->sessions));
    mcp__watch_free(server);
    mcp__share_free(server);
    mcp__tasks_free(server); /* first, because handlers of tasks may use the rest */
    for (size_t i = 0; i < server->n_mounts; i++)
        mcp__mount_free(server, server->mounts[i]);
    mcp__release(&server->allocator, server->mounts);
    mcp__build_free_all(server);
    mcp__hub_free(server);
    mcp__rate_free(server);
    mcp__hold_free(server);
    mcp__registry_free(server);
    mcp__usage_free(server);
    mcp__seal_free(server);
    mcp__access_free(server);
    mcp__buf_free(&server->info_text);
    mcp_json_free(server->no_arguments);
    mcp__release(&server->allocator, server->task_instance);
    mcp__release(&server->allocator, server->instructions);
    mcp__release(&server->allocator, server->name);
    mcp_allocator keep = server->allocator;
    mcp__release(&keep, server);
}

/* ---- capabilities ---------------------------------------------------------------------------- */

/* Returns whether the capability is declared to the client of this request. If no tool is offered
 * to the client, tools are not declared. */
static bool offers_to(const mcp_request *req, mcp__kind kind)
{
    const mcp_server *server = req->server;
    const mcp__registry *r = &server->registry[kind];
    bool tools = kind == MCP__TOOLS;
    if (tools ? server->options.declare_tools : mcp__server_registers(server, kind))
        return true;
    for (size_t i = 0; tools && i < r->count; i++) {
        if (mcp__entry_offered(r->items[i], req))
            return true;
    }
    for (size_t i = 0; i < server->n_mounts; i++) {
        if (mcp__mount_declares(server->mounts[i], kind, req))
            return true;
    }
    return false;
}

static void put_capability(mcp__object *o, const mcp_request *req, mcp__kind kind, const char *name)
{
    const mcp_server *server = req->server;
    if (!offers_to(req, kind))
        return;
    mcp__object_key(o, name);
    mcp__object inner = mcp__object_begin(o->buf, o->revision);
    if (kind == MCP__RESOURCES && !server->options.no_subscribe) {
        mcp__object_key(&inner, "subscribe");
        mcp__buf_lit(o->buf, "true");
    }
    if (!server->options.no_list_changed) {
        mcp__object_key(&inner, "listChanged");
        mcp__buf_lit(o->buf, "true");
    }
    mcp__object_end(&inner);
}

void mcp__put_capabilities(mcp__buf *b, const mcp_request *req)
{
    const mcp_server *server = req->server;
    mcp__object o = mcp__object_begin(b, req->revision);
    put_capability(&o, req, MCP__RESOURCES, "resources");
    put_capability(&o, req, MCP__PROMPTS, "prompts");
    put_capability(&o, req, MCP__TOOLS, "tools");
    if (mcp__server_logs(server)) {
        mcp__object_key(&o, "logging");
        mcp__buf_lit(b, "{}");
    }
    if (req->revision->completions && mcp__server_completes(server)) {
        mcp__object_key(&o, "completions");
        mcp__buf_lit(b, "{}");
    }
    mcp__task_capabilities(&o, req->in.channel);
    mcp__object_end(&o);
}

/* ---- host ------------------------------------------------------------------------------------ */

const mcp_host *mcp_server_host(const mcp_server *server)
{
    return server->has_host ? &server->host : NULL;
}

void mcp_server_set_host(mcp_server *server, const mcp_host *host)
{
    mcp__watch_free(server);
    mcp__share_free(server);
    mcp__tasks_leave_host(server, host == NULL);
    mcp__build_leave_host(server);
    mcp__hold_leave_host(server);
    mcp__left_out_leave_host(server);
    server->has_host = MCP__TAKE(&server->host, host, mcp_host, NULL) == MCP_OK;
    mcp__tasks_enter_host(server);
    mcp__build_enter_host(server);
}

void mcp__server_log(const mcp_server *server, const char *level, const char *format, ...)
{
    if (!server->has_host || !server->host.log)
        return;
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    server->host.log(level, line, server->host.user);
}
