/* work_memory.c: limits the memory of work in progress. The bytes that a handler will read into
 * memory on a worker thread are reserved before the work begins, and released when the request is finished.
 * The limit applies to the sum of all reservations of a server.
 *
 * Work that does not fit waits. Callers take turns, each with its requests in order, so a caller
 * with a thousand large reads delays another caller by only one read. A request is refused only if
 * it waited too long, or if too many requests wait. Released memory is given to waiting requests
 * from a timer, because it is released in the middle of an answer.
 */
#include <inttypes.h>
#include <stdio.h>

#include "server/core/work_memory.h"
#include "server/core/request.h"

enum {
    MIN_BYTES = 64 << 10, /* smaller work is not limited */
    WAIT_MS = 30 * 1000,
    CHECK_MS = 500, /* interval at which waiting requests are checked for their time-out */
    MAX_WAITING = 4096,
    MAX_WAITING_EACH = 1024,
};

/* A caller with waiting requests. */
typedef struct holder {
    mcp__link turn;  /* in server->holds.turns */
    mcp__link queue; /* mcp__hold */
    size_t count;
    size_t len;
    char name[]; /* 'p' and the principal, or 'a' and the address */
} holder;

struct mcp__hold {
    mcp__link in_queue; /* in the queue of its caller */
    mcp__link in_all;   /* in server->holds.waiting, longest wait first */
    holder *caller;     /* NULL if not waiting */
    mcp_request *req;
    size_t bytes;
    bool held;
    int64_t until;
    void (*work)(void *user);
    void (*done)(mcp_request *req, void *user);
    void *user;
};

/* Returns the memory of the content and of its Base64 form in the answer. */
static size_t cost_of(size_t bytes)
{
    size_t encoded = bytes / 3 * 4 + 4;
    return bytes < SIZE_MAX / 4 ? bytes + encoded : SIZE_MAX / 2;
}

/* Work that alone exceeds the limit fits when nothing else is reserved. */
static bool fits(const mcp__holds *holds, size_t bytes)
{
    return !holds->used || (bytes <= holds->limit && holds->used <= holds->limit - bytes);
}

/* ---- callers with waiting requests ----------------------------------------------------------- */

static holder *holder_new(mcp_server *server, mcp_str name)
{
    holder *caller = mcp__alloc(&server->allocator, sizeof(*caller) + name.len);
    if (!caller)
        return NULL;
    assert(name.ptr);
    mcp__list_init(&caller->queue);
    caller->count = 0;
    caller->len = name.len;
    memcpy(caller->name, name.ptr, name.len);
    if (mcp__map_add(&server->holds.by_name, (mcp_str){caller->name, name.len}, caller) != MCP_OK) {
        mcp__release(&server->allocator, caller);
        return NULL;
    }
    mcp__list_append(&server->holds.turns, &caller->turn);
    return caller;
}

static void holder_free(mcp_server *server, holder *caller)
{
    mcp__map_remove(&server->holds.by_name, (mcp_str){caller->name, caller->len});
    mcp__list_remove(&caller->turn);
    mcp__release(&server->allocator, caller);
}

/* Returns NULL if out of memory. */
static holder *holder_of(mcp_request *req)
{
    mcp_server *server = req->server;
    const mcp_channel *channel = mcp__request_channel(req);
    const char *principal = mcp_request_principal(req);
    const char *address = channel ? channel->options.caller : NULL;
    mcp__buf name;
    mcp__buf_init(&name, &server->allocator, SIZE_MAX);
    mcp__buf_char(&name, principal ? 'p' : 'a');
    mcp__buf_str(&name, mcp_str_from(principal ? principal : address));
    holder *caller = NULL;
    if (!name.failed) {
        caller = mcp__map_get(&server->holds.by_name, mcp__buf_view(&name));
        caller = caller ? caller : holder_new(server, mcp__buf_view(&name));
    }
    mcp__buf_free(&name);
    return caller;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void check_waiting(void *arg);

static void stop_timer(mcp_server *server)
{
    mcp__holds *holds = &server->holds;
    if (holds->timer)
        server->host.timer_stop(holds->timer, server->host.user);
    holds->timer = NULL;
    holds->immediate = false;
}

static void arm(mcp_server *server, bool immediate)
{
    mcp__holds *holds = &server->holds;
    if (holds->timer && (holds->immediate || !immediate))
        return;
    stop_timer(server);
    holds->timer = server->host.timer_start(immediate ? 0 : CHECK_MS, check_waiting, server,
                                            server->host.user);
    holds->immediate = immediate;
}

static int refuse(mcp_request *req, const char *what)
{
    const mcp_server_options *o = &req->server->options;
    const char *name = o->option_name ? o->option_name("max_work_memory", o->user) : NULL;
    req->server->holds.refused++;
    return mcp_reply_fail_data(req, MCP__INTERNAL_ERROR, "{\"retryAfterMs\":1000}",
                               "Internal error: %s; the limit for all clients together is "
                               "%zu bytes (%s): try again later",
                               what, req->server->holds.limit, name ? name : "max_work_memory");
}

static int enqueue(mcp__hold *h)
{
    mcp_server *server = h->req->server;
    mcp__holds *holds = &server->holds;
    holder *caller = holds->n_waiting < MAX_WAITING ? holder_of(h->req) : NULL;
    if (holds->n_waiting >= MAX_WAITING || (caller && caller->count >= MAX_WAITING_EACH))
        return refuse(h->req, "too many large reads are waiting");
    if (!caller)
        return MCP_ENOMEM;
    h->caller = caller;
    h->until = server->host.now(server->host.user) + WAIT_MS;
    mcp__list_append(&caller->queue, &h->in_queue);
    mcp__list_append(&holds->waiting, &h->in_all);
    caller->count++;
    holds->n_waiting++;
    holds->waited++;
    arm(server, false);
    return MCP_PENDING;
}

/* Ends the wait of a request, and moves its caller to the end of the list of turns. */
static void dequeue(mcp__hold *h)
{
    mcp_server *server = h->req->server;
    holder *caller = h->caller;
    assert(caller);
    h->caller = NULL;
    mcp__list_remove(&h->in_queue);
    mcp__list_remove(&h->in_all);
    server->holds.n_waiting--;
    if (--caller->count == 0) {
        holder_free(server, caller);
    } else {
        mcp__list_remove(&caller->turn);
        mcp__list_append(&server->holds.turns, &caller->turn);
    }
    if (!server->holds.n_waiting)
        stop_timer(server);
}

static void take(mcp__hold *h)
{
    mcp__holds *holds = &h->req->server->holds;
    h->held = true;
    holds->used += h->bytes;
    holds->most = MCP__MAX(holds->most, holds->used);
}

static void give_back(mcp__hold *h)
{
    mcp_server *server = h->req->server;
    if (h->held)
        server->holds.used -= h->bytes;
    h->held = false;
    if (server->holds.n_waiting)
        arm(server, true);
}

/* Begins work that has waited. The handler has already returned MCP_PENDING, so `done` is called
 * even on failure. */
static void begin(mcp__hold *h)
{
    mcp_request *req = h->req;
    take(h);
    int rc = mcp_request_work(req, h->work, h->done, h->user);
    if (rc == MCP_PENDING)
        return;
    mcp_reply_fail(req, MCP__INTERNAL_ERROR, "Internal error: %s", mcp_error_text(rc));
    h->done(req, h->user);
}

static void check_waiting(void *arg)
{
    mcp_server *server = arg;
    mcp__holds *holds = &server->holds;
    int64_t now = server->host.now(server->host.user);
    stop_timer(server);
    while (!mcp__list_empty(&holds->waiting)) {
        mcp__hold *h = mcp__container(holds->waiting.next, mcp__hold, in_all);
        if (h->until > now)
            break;
        dequeue(h);
        refuse(h->req, "no memory became available for this read within 30 seconds");
        h->done(h->req, h->user);
    }
    while (!mcp__list_empty(&holds->turns)) {
        holder *caller = mcp__container(holds->turns.next, holder, turn);
        mcp__hold *h = mcp__container(caller->queue.next, mcp__hold, in_queue);
        if (!fits(holds, h->bytes))
            break;
        dequeue(h);
        begin(h);
    }
    if (holds->n_waiting)
        arm(server, false);
}

/* ---- for requests ---------------------------------------------------------------------------- */

int mcp_request_work_sized(mcp_request *req, size_t bytes, void (*fn)(void *user),
                           void (*done)(mcp_request *req, void *user), void *user)
{
    mcp_server *server = req->server;
    mcp__holds *holds = &server->holds;
    if (req->hold)
        give_back(req->hold);
    if (bytes < MIN_BYTES || !server->has_host || !server->host.work || !server->host.timer_start ||
        !server->host.now)
        return mcp_request_work(req, fn, done, user);
    if (!req->hold)
        req->hold = mcp_request_alloc(req, sizeof(*req->hold));
    mcp__hold *h = req->hold;
    if (!h)
        return MCP_ENOMEM;
    *h = (mcp__hold){.req = req, .bytes = cost_of(bytes), .work = fn, .done = done, .user = user};
    mcp__list_init(&h->in_queue);
    mcp__list_init(&h->in_all);
    if (holds->n_waiting || !fits(holds, h->bytes))
        return enqueue(h);
    take(h);
    return mcp_request_work(req, fn, done, user);
}

bool mcp__hold_waits(const mcp_request *req)
{
    return req->hold && req->hold->caller;
}

void mcp__hold_cancel(mcp_request *req)
{
    mcp__hold *h = req->hold;
    dequeue(h);
    h->done(req, h->user);
}

void mcp__hold_end(mcp_request *req)
{
    mcp__hold *h = req->hold;
    if (!h)
        return;
    if (h->caller)
        dequeue(h);
    give_back(h);
    req->hold = NULL;
}

/* ---- for the server -------------------------------------------------------------------------- */

void mcp_server_get_work_memory(const mcp_server *server, mcp_work_memory *ret)
{
    const mcp__holds *holds = &server->holds;
    mcp_work_memory now = {.size = sizeof(now),
                           .held = holds->used,
                           .limit = holds->limit,
                           .most = holds->most,
                           .n_waiting = holds->n_waiting,
                           .waited = holds->waited,
                           .refused = holds->refused};
    size_t size = MCP__MIN(ret->size, sizeof(now));
    memcpy(ret, &now, size);
    ret->size = size;
}

void mcp__hold_init(mcp_server *server, size_t limit)
{
    mcp__holds *holds = &server->holds;
    holds->limit = limit;
    mcp__list_init(&holds->turns);
    mcp__list_init(&holds->waiting);
    mcp__map_init(&holds->by_name, &server->allocator, (uintptr_t)server, (uintptr_t)holds);
}

/* The timer belongs to the host that is being replaced. */
void mcp__hold_leave_host(mcp_server *server)
{
    stop_timer(server);
}

void mcp__hold_free(mcp_server *server)
{
    assert(!server->holds.n_waiting);
    mcp__map_free(&server->holds.by_name);
}
