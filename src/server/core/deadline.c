/* deadline.c: deadlines of handlers.
 *
 * A request whose handler will answer later is inserted into its session's heap. At the deadline,
 * the handler is cancelled and the peer receives an error. The heap is a pairing heap whose links
 * are members of the requests. An insertion allocates no memory, so it cannot fail, and takes
 * constant time.
 *
 * Progress does not move a request in the heap. It only sets a flag. A request with the flag gets a
 * new deadline when its old one is reached.
 */
#include <inttypes.h>

#include "server/core/deadline.h"
#include "server/input/input.h"
#include "server/methods/methods.h"

/* ---- the heap -------------------------------------------------------------------------------- */

/* `before` is the left neighbour, or the parent of the leftmost sibling. The earlier deadline
 * becomes the parent. */
static mcp_request *meld(mcp_request *a, mcp_request *b)
{
    if (!a || !b)
        return a ? a : b;
    if (b->deadline.due < a->deadline.due) {
        mcp_request *t = a;
        a = b;
        b = t;
    }
    b->deadline.before = a;
    b->deadline.after = a->deadline.first;
    if (b->deadline.after)
        b->deadline.after->deadline.before = b;
    a->deadline.first = b;
    return a;
}

/* Merges siblings into one heap: in pairs from the left, then all from the right. */
static mcp_request *meld_all(mcp_request *at)
{
    mcp_request *pairs = NULL, *heap = NULL, *next;
    for (; at; at = next) {
        mcp_request *other = at->deadline.after;
        next = other ? other->deadline.after : NULL;
        at->deadline.after = NULL;
        if (other)
            other->deadline.after = NULL;
        at = meld(at, other);
        at->deadline.after = pairs;
        pairs = at;
    }
    for (at = pairs; at; at = next) {
        next = at->deadline.after;
        at->deadline.after = NULL;
        heap = meld(heap, at);
    }
    if (heap)
        heap->deadline.before = NULL;
    return heap;
}

static void heap_remove(mcp_request *req)
{
    mcp__deadline *d = &req->deadline;
    mcp_request *below = meld_all(d->first);
    if (d->session->deadlines == req) {
        d->session->deadlines = below;
    } else {
        if (d->before->deadline.first == req)
            d->before->deadline.first = d->after;
        else
            d->before->deadline.after = d->after;
        if (d->after)
            d->after->deadline.before = d->before;
        d->session->deadlines = meld(d->session->deadlines, below);
    }
    d->first = d->before = d->after = NULL;
}

static void heap_insert(mcp_request *req, mcp__session *session, int64_t now)
{
    mcp__deadline *d = &req->deadline;
    d->due = d->ms < (uint64_t)(INT64_MAX - now) ? now + (int64_t)d->ms : INT64_MAX;
    d->session = session;
    d->progressed = false;
    session->deadlines = meld(session->deadlines, req);
}

/* ---- life cycle ------------------------------------------------------------------------------ */

/* Returns whether it is the deadline of a source in a list. A trusted parent has its own. */
static bool is_for_list(const mcp_request *req)
{
    return req->method && req->method->resume && req->page.part &&
           !req->in.channel->options.trusted_parent;
}

void mcp__deadline_start(mcp_request *req)
{
    mcp__deadline *d = &req->deadline;
    mcp_channel *channel = req->in.channel;
    d->progressed = true; /* restarts a running deadline */
    if (d->session || !channel || channel->closed || req->cancelled)
        return;
    d->ms = req->target.entry && req->target.entry->timeout_ms
                ? req->target.entry->timeout_ms
                : req->server->options.handler_timeout_ms;
    if (is_for_list(req))
        d->ms = MCP__MIN(d->ms, req->server->options.list_ms);
    if (d->ms == UINT64_MAX)
        return;
    mcp__session *session = channel->state;
    heap_insert(req, session, MCP__MAX(channel->now, 0));
    if (session->deadlines == req)
        mcp__channel_wake(channel);
}

void mcp__deadline_stop(mcp_request *req)
{
    if (!req->deadline.session)
        return;
    heap_remove(req);
    req->deadline.session = NULL;
}

void mcp__deadline_stop_all(mcp__session *session)
{
    while (session->deadlines)
        mcp__deadline_stop(session->deadlines);
}

/* ---- expiry --------------------------------------------------------------------------------- */

static void time_out(mcp_request *req)
{
    if (req->cancelled || !req->in.channel)
        return;
    if (mcp__input_is_held(req)) {
        mcp__input_give_up(req,
                           mcp_reply_fail(req, MCP__INTERNAL_ERROR,
                                          "Internal error: input of the client is required, but "
                                          "notifications/initialized was not received"));
        return;
    }
    if (is_for_list(req)) {
        mcp__list_late(req);
        return;
    }
    req->cancelled = true;
    req->used.outcome = MCP__USED_ERROR;
    mcp__buf why, data;
    mcp__buf_init(&why, &req->server->allocator, SIZE_MAX);
    mcp__buf_init(&data, &req->server->allocator, SIZE_MAX);
    bool has_own = req->target.entry && req->target.entry->timeout_ms;
    mcp__buf_printf(&why, "Internal error: no answer and no progress within %" PRIu64 " ms (%s)",
                    req->deadline.ms, has_own ? "the tool's timeout_ms" : "handler_timeout_ms");
    mcp__buf_printf(&data, "{\"timeoutMs\":%" PRIu64 "}", req->deadline.ms);
    mcp__incoming_abandon(&req->in, MCP__INTERNAL_ERROR,
                          why.failed ? MCP_STR("Internal error: no answer in time")
                                     : mcp__buf_view(&why),
                          data.failed ? (mcp_str){0} : mcp__buf_view(&data));
    mcp__server_log(req->server, "warning", "%s: a handler did not answer within %" PRIu64 " ms",
                    mcp_request_method(req), req->deadline.ms);
    mcp__buf_free(&why);
    mcp__buf_free(&data);
    mcp__request_stop(req);
}

void mcp__deadline_tick(mcp__session *session, int64_t now)
{
    while (session->deadlines && session->deadlines->deadline.due <= now) {
        mcp_request *req = session->deadlines;
        /* While the client answers an input request, the handler is not late. */
        bool awaits_input = req->state != MCP__REQUEST_PENDING && !mcp__input_is_held(req);
        bool restart = req->deadline.progressed || awaits_input;
        mcp__deadline_stop(req);
        if (restart)
            heap_insert(req, session, now);
        else
            time_out(req);
    }
}
