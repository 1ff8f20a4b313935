/* loopback.c: see loopback.h.
 *
 * A channel must not be freed from within its `send` callback or the functions that it calls. So a
 * channel whose answer came asynchronously is freed by a timer, or when the loopback is freed.
 */
#include "loopback.h"

#include <mcp/sys/server.h>

/* A protocol revision that needs no handshake. */
static const char revision[] = "2026-07-28";

/* One channel, for one request. */
typedef struct common_line {
    struct common_line *next; /* in the list of waiting lines, or of lines to be freed */
    common_loopback *loopback;
    mcp_channel *channel;
    common_ask *ask;       /* NULL after the request was abandoned */
    mcp_host_timer *timer; /* for the deadline of the request; NULL if it has none */
    bool receiving; /* the server is processing the request, so an answer now is synchronous */
} line;

struct common_loopback {
    mcp_server *server;
    mcp_allocator alloc;
    line *waiting, *finished;
    mcp_host_timer *timer;
};

/* ---- finished channels ----------------------------------------------------------------------- */

static void stop_timer(line *l)
{
    const mcp_host *host = mcp_server_host(l->loopback->server);
    if (l->timer && host) /* otherwise the host has freed the timer */
        host->timer_stop(l->timer, host->user);
    l->timer = NULL;
}

static void free_line(line *l)
{
    mcp_allocator alloc = l->loopback->alloc;
    stop_timer(l);
    mcp_channel_free(l->channel);
    common_release(&alloc, l);
}

static void free_spent(common_loopback *loopback)
{
    const mcp_host *host = mcp_server_host(loopback->server);
    if (loopback->timer && host) /* otherwise the host has freed the timer */
        host->timer_stop(loopback->timer, host->user);
    loopback->timer = NULL;
    while (loopback->finished) {
        line *l = loopback->finished;
        loopback->finished = l->next;
        free_line(l);
    }
}

static void on_timer(void *arg)
{
    free_spent(arg);
}

static void retire(line *l)
{
    common_loopback *loopback = l->loopback;
    stop_timer(l);
    const mcp_host *host = mcp_server_host(loopback->server);
    l->next = loopback->finished;
    loopback->finished = l;
    if (!loopback->timer && host && host->timer_start && host->timer_stop)
        loopback->timer = host->timer_start(0, on_timer, loopback, host->user);
}

static void unlink_line(line *l)
{
    line **at = &l->loopback->waiting;
    while (*at && *at != l)
        at = &(*at)->next;
    if (*at)
        *at = l->next;
}

static int64_t now(const common_loopback *loopback)
{
    const mcp_host *host = mcp_server_host(loopback->server);
    return host && host->now ? host->now(host->user) : 0;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Removes the line first, because `later` may send another request. */
static void resume(common_ask *ask, line *l)
{
    unlink_line(l);
    l->ask = NULL;
    ask->line = NULL;
    mcp_request_on_cancel(ask->req, NULL, NULL);
    retire(l);
    ask->later(ask->user);
}

static void take_answer(common_ask *ask, mcp_str message, const mcp_allocator *alloc)
{
    mcp_json_limits limits = {.size = sizeof(limits)};
    ask->len = message.len;
    ask->rc = mcp_json_parse(message, &limits, alloc, &ask->doc, NULL);
    const mcp_json *root = mcp_json_root(ask->doc);
    ask->result = mcp_json_get(root, "result");
    ask->error = mcp_json_get(root, "error");
}

static void hand_progress(const common_ask *ask, mcp_str message, const mcp_allocator *alloc)
{
    mcp_json_doc *doc = NULL;
    if (mcp_json_parse(message, NULL, alloc, &doc, NULL) != MCP_OK)
        return;
    const mcp_json *params = mcp_json_get(mcp_json_root(doc), "params");
    mcp_str text = mcp_json_string(mcp_json_get(params, "message"));
    if (mcp_json_get(params, "progressToken"))
        mcp_request_progress(ask->req, mcp_json_number(mcp_json_get(params, "progress"), 0),
                             mcp_json_number(mcp_json_get(params, "total"), 0), text.ptr);
    mcp_json_free(doc);
}

static void on_message(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    line *l = user;
    common_ask *ask = l->ask;
    (void)exchange;
    if (!ask)
        return;
    if (mcp_channel_output_info(channel)->kind != MCP_OUTPUT_RESPONSE) {
        if (ask->progress)
            hand_progress(ask, message, &l->loopback->alloc);
        return;
    }
    take_answer(ask, message, &l->loopback->alloc);
    if (l->receiving)
        l->ask = NULL;
    else
        resume(ask, l);
}

static void on_cancel(mcp_request *req, void *user)
{
    common_ask *ask = user;
    line *l = ask->line;
    (void)req;
    ask->rc = MCP_ECANCELLED;
    l->ask = NULL;
    mcp_channel_exchange_gone(l->channel, 0, now(l->loopback));
    resume(ask, l);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int put_request(const common_ask *ask, mcp_json_writer *w, mcp_str *ret)
{
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "jsonrpc", "2.0");
    mcp_json_put_int(w, "id", 1);
    mcp_json_put_string(w, "method", ask->method);
    mcp_json_put_object(w, "params");
    if (ask->put)
        ask->put(w, ask->user);
    mcp_json_put_object(w, "_meta");
    if (ask->progress)
        mcp_json_put_int(w, "progressToken", 1);
    mcp_json_put_string(w, "io.modelcontextprotocol/protocolVersion", revision);
    mcp_json_put_object(w, "io.modelcontextprotocol/clientCapabilities");
    mcp_json_end(w), mcp_json_end(w), mcp_json_end(w), mcp_json_end(w);
    return w ? mcp_json_writer_finish(w, ret) : MCP_ENOMEM;
}

static int send_request(const common_ask *ask, line *l)
{
    mcp_json_writer *w = mcp_json_writer_new(&l->loopback->alloc, 0);
    mcp_str text;
    int rc = put_request(ask, w, &text);
    l->receiving = true;
    if (rc == MCP_OK)
        rc = mcp_channel_receive(l->channel, 0, text, now(l->loopback));
    l->receiving = false;
    mcp_json_writer_free(w);
    return rc;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static void on_wake(mcp_channel *channel, void *user);

/* The answer to a request that is late may arrive within mcp_channel_tick(), which retires the line. */
static void on_deadline(void *arg)
{
    line *l = arg;
    stop_timer(l);
    mcp_channel_tick(l->channel, now(l->loopback));
    if (l->ask)
        on_wake(l->channel, l);
}

static void on_wake(mcp_channel *channel, void *user)
{
    line *l = user;
    const mcp_host *host = mcp_server_host(l->loopback->server);
    int64_t at = mcp_channel_deadline(channel), ms = at == INT64_MAX ? at : at - now(l->loopback);
    if (!host || !host->timer_start || !host->timer_stop || !host->now || ms > INT32_MAX)
        return;
    stop_timer(l);
    l->timer = host->timer_start(ms > 0 ? (uint64_t)ms : 0, on_deadline, l, host->user);
}

static bool list_mount(const char *prefix, void *user)
{
    const line *l = user;
    return !l->ask || !l->ask->list_mount || l->ask->list_mount(prefix, l->ask->mounts_user);
}

static int open_line(common_loopback *loopback, common_ask *ask, line **ret)
{
    line *l = common_alloc(&loopback->alloc, sizeof(*l));
    if (!l)
        return MCP_ENOMEM;
    *l = (line){.loopback = loopback, .ask = ask};
    int rc = mcp_server_connect(
        loopback->server,
        MCP_OPTIONS(mcp_channel_options, .send = on_message, .wake = on_wake, .user = l,
                    .identity = mcp_request_identity(ask->req), .max_reply = ask->max_reply,
                    .page_size = ask->page_size, .list_mount = list_mount, .inner = true),
        &l->channel, NULL);
    if (rc == MCP_OK)
        *ret = l;
    else
        common_release(&loopback->alloc, l);
    return rc;
}

int common_loopback_ask(common_loopback *loopback, common_ask *ask)
{
    line *l;
    ask->rc = MCP_OK;
    ask->result = ask->error = NULL;
    ask->doc = NULL;
    int rc = open_line(loopback, ask, &l);
    if (rc != MCP_OK)
        return rc;
    rc = send_request(ask, l);
    if (rc == MCP_OK && l->ask) { /* no answer yet */
        ask->line = l;
        l->next = loopback->waiting;
        loopback->waiting = l;
        mcp_request_on_cancel(ask->req, on_cancel, ask);
        return MCP_PENDING;
    }
    free_line(l);
    if (rc != MCP_OK) /* frees an answer that arrived before the failure */
        common_ask_clear(ask);
    return rc;
}

void common_ask_clear(common_ask *ask)
{
    mcp_json_free(ask->doc);
    ask->doc = NULL;
    ask->result = ask->error = NULL;
}

/* ---- creating and freeing -------------------------------------------------------------------- */

int common_loopback_new(mcp_server *server, const mcp_allocator *alloc, common_loopback **ret)
{
    mcp_allocator a = common_allocator(alloc);
    common_loopback *loopback = common_alloc(&a, sizeof(*loopback));
    if (!loopback)
        return MCP_ENOMEM;
    *loopback = (common_loopback){.server = server, .alloc = a};
    *ret = loopback;
    return MCP_OK;
}

void common_loopback_free(common_loopback *loopback)
{
    if (!loopback)
        return;
    while (loopback->waiting) {
        line *l = loopback->waiting;
        common_ask *ask = l->ask;
        loopback->waiting = l->next;
        if (ask) /* a waiting line has a request */
            ask->rc = MCP_ECLOSED, resume(ask, l);
    }
    free_spent(loopback);
    mcp_allocator a = loopback->alloc;
    common_release(&a, loopback);
}
