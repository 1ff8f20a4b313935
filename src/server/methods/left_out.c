/* left_out.c: sources that lists do without, because their provider failed or did not answer in time.
 *
 * A list is what can be listed. What a provider added before it failed is removed, and the list
 * continues with the next source; list.c does that. This file remembers which mounts are missing, says
 * so, and asks them again until they can be listed, so that the change is announced. They are asked on
 * behalf of the caller whose list lacked them, from the position at which they failed: other callers,
 * and other pages, may have been answered all the time.
 *
 * A provider that did not answer in time is not waited for again, until it has answered here.
 */
#include "server/methods/left_out.h"

#include <stdio.h>

#include "protocol/cursor.h"
#include "protocol/identity.h"
#include "server/core/access.h"

enum { FIRST_PAUSE_MS = 1000, LONGEST_PAUSE_MS = 30000, QUIET_MS = 60000, MOST_SHOWN = 300 };

/* Asks the missing mounts, one after another. */
struct mcp__probe {
    mcp_server *server;
    mcp_host_timer *timer; /* NULL while nothing is missing */
    mcp_channel *channel;  /* of the question; NULL if there is none */
    bool answered;
    const char *prefix; /* of the mount that is asked. It may be gone, so this is only compared */
    size_t next;     /* whom to ask next: the number of a mount times MCP__KINDS, plus the kind */
    uint64_t pause;  /* after all have been asked */
    int64_t idle_at; /* when nothing was missing any more */
};

static const struct {
    mcp_item item;
    const char *list, *array;
} kinds[MCP__KINDS] = {
    [MCP__RESOURCES] = {MCP_ITEM_RESOURCE, "resources/list", "resources"},
    [MCP__TEMPLATES] = {MCP_ITEM_TEMPLATE, "resources/templates/list", "templates"},
    [MCP__PROMPTS] = {MCP_ITEM_PROMPT, "prompts/list", "prompts"},
    [MCP__TOOLS] = {MCP_ITEM_TOOL, "tools/list", "tools"},
};

static bool has_timers(const mcp_server *server)
{
    const mcp_host *h = &server->host;
    return server->has_host && h->timer_start && h->timer_stop && h->now;
}

/* ---- asking again ---------------------------------------------------------------------------- */

static void on_answer(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user);
static void on_time(void *arg);

static void set_timer(struct mcp__probe *p, uint64_t ms)
{
    const mcp_host *host = &p->server->host;
    if (p->timer)
        host->timer_stop(p->timer, host->user);
    p->timer = host->timer_start(ms, on_time, p, host->user);
}

static bool is_authenticating(const char *prefix, void *user)
{
    const struct mcp__probe *p = user;
    return prefix == p->prefix;
}

static const struct mcp__probe *probe_of(const mcp_request *req)
{
    const mcp_channel *channel = req->in.channel;
    return channel && channel->options.list_mount == is_authenticating ? channel->options.user
                                                                       : NULL;
}

bool mcp__left_out_skips(const mcp_request *req, const mcp__mount *mount)
{
    const struct mcp__probe *p = probe_of(req);
    return p && mount->prefix != p->prefix;
}

bool mcp__left_out_begins(mcp_request *req)
{
    const struct mcp__probe *p = probe_of(req);
    const mcp_server *server = req->server;
    for (size_t i = 0; p && i < server->n_mounts; i++) {
        const mcp__left_out *l = &server->mounts[i]->left_out;
        if (server->mounts[i]->prefix != p->prefix)
            continue;
        req->page.part = (uint32_t)i + 1;
        req->page.position = mcp__request_copy(req, (mcp_str){l->position, l->position_len});
    }
    return p != NULL;
}

/* The answer is not read: list.c has reported the outcome. */
static void on_answer(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    struct mcp__probe *p = user;
    (void)channel, (void)exchange, (void)message;
    p->answered = true;
    if (p->timer)
        set_timer(p, 0);
}

static void ask(struct mcp__probe *p, const mcp__mount *mount, mcp__kind kind)
{
    mcp_server *server = p->server;
    int64_t now = server->host.now(server->host.user);
    char text[300];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             kinds[kind].list);
    p->prefix = mount->prefix;
    p->answered = false;
    if (mcp_server_connect(server,
                           MCP_OPTIONS(mcp_channel_options, .send = on_answer, .user = p,
                                       .identity = mount->left_out.caller, .page_size = 1,
                                       .list_mount = is_authenticating, .inner = true),
                           &p->channel, NULL) == MCP_OK)
        mcp_channel_receive(p->channel, 0, mcp_str_from(text), now);
}

/* Asks the next one that is missing. Returns false if all have been asked. */
static bool ask_next(struct mcp__probe *p)
{
    const mcp_server *server = p->server;
    for (; p->next < server->n_mounts * MCP__KINDS; p->next++) {
        const mcp__mount *mount = server->mounts[p->next / MCP__KINDS];
        mcp__kind kind = (mcp__kind)(p->next % MCP__KINDS);
        if (!(mount->left_out.lists & 1u << kind) || mount->left_out.n_running)
            continue;
        p->next++;
        ask(p, mount, kind);
        return true;
    }
    return false;
}

static bool any_is_missing(const mcp_server *server)
{
    for (size_t i = 0; i < server->n_mounts; i++) {
        if (server->mounts[i]->left_out.lists)
            return true;
    }
    return false;
}

static void on_time(void *arg)
{
    struct mcp__probe *p = arg;
    const mcp_host *host = &p->server->host;
    host->timer_stop(p->timer, host->user);
    p->timer = NULL;
    if (p->channel && !p->answered)
        mcp_channel_tick(p->channel, host->now(host->user));
    if (p->channel && !p->answered) {
        set_timer(p, FIRST_PAUSE_MS);
        return;
    }
    mcp_channel_free(p->channel);
    p->channel = NULL;
    if (ask_next(p)) {
        set_timer(p, p->answered ? 0 : FIRST_PAUSE_MS);
    } else if (any_is_missing(p->server)) {
        p->next = 0;
        set_timer(p, p->pause);
        p->pause = MCP__MIN(p->pause * 2, (uint64_t)LONGEST_PAUSE_MS);
    } else {
        p->idle_at = host->now(host->user);
    }
}

/* A source that fails and recovers all the time is asked less and less often, too. */
static void ask_later(mcp_server *server)
{
    struct mcp__probe *p = server->probe;
    if (!has_timers(server))
        return;
    if (!p) {
        p = server->probe = mcp__zalloc(&server->allocator, sizeof(*p));
        if (!p)
            return;
        p->server = server;
        p->idle_at = INT64_MIN / 2;
    }
    if (p->timer || p->channel)
        return;
    if (server->host.now(server->host.user) - p->idle_at > QUIET_MS)
        p->pause = FIRST_PAUSE_MS;
    p->next = 0;
    set_timer(p, p->pause);
}

void mcp__left_out_leave_host(mcp_server *server)
{
    struct mcp__probe *p = server->probe;
    if (!p)
        return;
    server->probe = NULL;
    if (p->timer)
        server->host.timer_stop(p->timer, server->host.user);
    mcp_channel_free(p->channel);
    mcp__release(&server->allocator, p);
}

/* ---- what is missing ------------------------------------------------------------------------- */

static bool is_same_caller(const mcp_identity *a, const mcp_identity *b)
{
    return mcp__same_binding(mcp_identity_binding(a), mcp_identity_binding(b));
}

/* Remembers who misses the mount, and from where on. */
static void begin(mcp_request *req, mcp__mount *mount)
{
    const mcp_allocator *a = &req->server->allocator;
    mcp__left_out *l = &mount->left_out;
    mcp_str at = req->page.position;
    mcp_identity *before = l->caller;
    l->caller = req->identity ? mcp_identity_ref(req->identity) : NULL;
    mcp_identity_unref(before);
    mcp__release(a, l->position);
    l->position = at.len ? mcp__strdup(a, at) : NULL;
    l->position_len = l->position ? at.len : 0;
}

/* Remembers for the page that it is without the mount, or a part of it. Whether a list of tools or
 * prompts would have had something for this caller cannot be known, so the prefix decides: it is named
 * to those who may see resources below it. */
static void tell(mcp_request *req, mcp_str prefix)
{
    if (!prefix.len || !mcp__access_list(req, MCP_ITEM_RESOURCE, prefix))
        return;
    mcp__missing **at = &req->page.missing;
    while (*at)
        at = &(*at)->next;
    mcp__missing *missing = mcp_request_alloc(req, sizeof(*missing));
    char *copy = missing ? mcp_request_strdup(req, prefix) : NULL;
    if (!copy)
        return;
    *missing = (mcp__missing){.prefix = copy};
    *at = missing;
}

void mcp__without(mcp_request *req, const mcp__mount *mount, mcp_str prefix)
{
    if (probe_of(req))
        return;
    req->page.incomplete = true;
    tell(req, prefix);
    if (mount->meter)
        mcp__meter_left_out(mount->meter);
}

void mcp__put_left_out(mcp_request *req)
{
    mcp__buf b;
    if (!req->page.missing)
        return;
    mcp__buf_init(&b, &req->server->allocator, 0);
    for (const mcp__missing *m = req->page.missing; m; m = m->next) {
        mcp__buf_char(&b, m == req->page.missing ? '[' : ',');
        mcp__json_put_str(&b, mcp_str_from(m->prefix));
    }
    mcp__buf_char(&b, ']');
    if (b.failed)
        req->reply.failed = b.failed;
    else
        (void)mcp__reply_meta(req, "libmcp/left-out", mcp__buf_view(&b));
    mcp__buf_free(&b);
}

void mcp__leave_out(mcp_request *req, mcp__mount *mount, mcp_str why, bool late)
{
    mcp__left_out *l = &mount->left_out;
    unsigned list = 1u << req->method->lists;
    mcp__without(req, mount, mcp_str_from(mount->prefix));
    if (!(l->lists & list) || (late && !(l->late & list)))
        mcp__server_log(req->server, "warning", "%s: lists of %s are without it: %.*s",
                        mount->prefix, kinds[req->method->lists].array,
                        (int)mcp__utf8_cut(why.ptr, MCP__MIN(why.len, (size_t)MOST_SHOWN)),
                        why.ptr);
    if (!l->lists)
        begin(req, mount);
    if (why.ptr && req->method->lists == MCP__RESOURCES) {
        mcp__release(&req->server->allocator, l->why);
        l->why = mcp__strdup(&req->server->allocator, why);
    }
    l->lists |= list;
    if (late)
        l->late |= list;
    else if (probe_of(req))
        l->late &= ~list; /* it answers again, if only that it fails */
    ask_later(req->server);
}

int mcp__put_placeholder(mcp_request *req, const char *uri, const char *name)
{
    return mcp_reply_resource(
        req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = name,
                         .description = "This source cannot be listed now. Reading this resource "
                                        "says why."));
}

/* Returns what is wrong with the mount, if the URI is that of the entry for it. */
static const char *why_of(const mcp_request *req, const mcp__mount *mount, mcp_str uri)
{
    const mcp__left_out *l = &mount->left_out;
    bool is_entry = l->lists & 1u << MCP__RESOURCES && mcp_str_eq(uri, mcp_str_from(mount->prefix));
    return is_entry && is_same_caller(l->caller, req->identity) ? l->why : NULL;
}

const char *mcp__left_out_why(const mcp_request *req, const mcp__mount *mount, mcp_str uri)
{
    return mount->provider.list_items ? why_of(req, mount, uri) : NULL;
}

const char *mcp__left_out_unread(const mcp_request *req)
{
    mcp_str uri = req->target.uri;
    const mcp__mount *mount =
        req->method->run == mcp__run_read ? mcp__mount_find(req->server, uri) : NULL;
    const char *why = mount ? why_of(req, mount, uri) : NULL;
    return why && mcp__may_read(req->server, mcp_request_identity(req), uri) ? why : NULL;
}

bool mcp__left_out_at_once(const mcp_request *req, const mcp__mount *mount)
{
    return mount->left_out.late & 1u << req->method->lists && !probe_of(req);
}

void mcp__listed(mcp_request *req, mcp__mount *mount)
{
    mcp__left_out *l = &mount->left_out;
    unsigned list = 1u << req->method->lists;
    if (!(l->lists & list) || !is_same_caller(l->caller, req->identity) ||
        !mcp_str_eq(req->page.position, (mcp_str){l->position, l->position_len}))
        return;
    l->lists &= ~list;
    l->late &= ~list;
    mcp__server_log(req->server, "info", "%s: lists of %s have it again", mount->prefix,
                    kinds[req->method->lists].array);
    mcp_server_list_changed(req->server, kinds[req->method->lists].item);
}

void mcp__left_out_running(mcp_request *req, mcp__mount *mount)
{
    req->page.given_up = mount;
    mount->left_out.n_running++;
}

void mcp__left_out_ended(mcp_request *req)
{
    const mcp_server *server = req->server;
    req->page.given_up->left_out.n_running--;
    req->page.given_up = NULL;
    if (server->probe && server->probe->timer && !server->probe->channel) {
        server->probe->next = 0;
        server->probe->pause = FIRST_PAUSE_MS;
        set_timer(server->probe, FIRST_PAUSE_MS);
    }
}
