/* park.c: calls that wait here while the caller answers a question of the other server.
 *
 * A caller of a modern revision gets the question as the result of its request, and repeats the
 * request with the answer. Meanwhile the call to the other server continues, and is kept here,
 * "parked". A caller of a legacy revision waits for the end of its request, but the engine runs the
 * handler again, so both eras come back through upstream_resume(). The state that the caller sends
 * back is sealed by the engine to its principal and its request. A request with such a state never
 * starts a call, so no tool runs twice.
 */
#include <mcp/sys/client.h>
#include <stdio.h>
#include <string.h>

#include "session.h"

enum {
    GATHER_MS = 10,             /* questions within this time are asked together */
    MOST_STORED = 4 << 20,      /* bytes of one answer without a caller */
    MOST_STORED_ALL = 32 << 20, /* bytes of all such answers */
};

static const char state[] = "parked";

/* ---- parking --------------------------------------------------------------------------------- */

static bool has_room(const upstream *up, const char *principal)
{
    size_t own = 0, all = 0;
    for (const upstream_session *s = up->sessions; s; s = s->next) {
        for (const upstream_ask *a = s->asks; a; a = a->next) {
            all += a->park != NULL;
            own += a->park && upstream_is_of(a, principal);
        }
    }
    return own < up->options.max_parked && all < up->options.max_parked_in_all;
}

int upstream_park(upstream_ask *a)
{
    upstream *up = a->session->up;
    if (a->park)
        return MCP_OK;
    const char *id = a->f.req ? mcp_request_series(a->f.req) : NULL;
    if (!id)
        return MCP_ENOMEM;
    if (!has_room(up, upstream_caller(a)))
        return MCP_ELIMIT;
    a->park = common_alloc(&up->alloc, sizeof(*a->park));
    if (!a->park)
        return MCP_ENOMEM;
    *a->park = (upstream_parked){.due = INT64_MAX};
    snprintf(a->park->id, sizeof(a->park->id), "%s", id);
    return MCP_OK;
}

void upstream_park_free(upstream_ask *a)
{
    upstream *up = a->session->up;
    upstream_waiting_end(a);
    upstream_questions_drop(a);
    if (a->park) {
        up->stored -= a->park->text.len;
        a->session->bytes -= a->park->text.len;
        common_release(&up->alloc, (void *)(uintptr_t)a->park->text.ptr);
        common_release(&up->alloc, a->park);
    }
    a->park = NULL;
}

/* ---- requests of legacy callers that wait for answers ------------------------------------------ */

/* The engine owns this with the request, and tells its end. */
typedef struct upstream_waiting {
    upstream_ask *ask; /* NULL when it is over */
    mcp_allocator alloc;
} upstream_waiting;

static void on_request_ended(void *data)
{
    upstream_waiting *w = data;
    mcp_allocator alloc = w->alloc;
    upstream_ask *a = w->ask;
    if (a) {
        a->park->waiting = NULL;
        upstream_ask_cancel(a, "the client cancelled the request");
    }
    common_release(&alloc, w);
}

void upstream_waiting_end(upstream_ask *a)
{
    if (a->park && a->park->waiting)
        a->park->waiting->ask = NULL;
    if (a->park)
        a->park->waiting = NULL;
}

/* A request of a modern caller ends with each round, so its end means nothing. A task does not. */
static bool ends_with_round(const mcp_request *req)
{
    const mcp_json *meta = mcp_request_meta(req);
    return !mcp_request_task_id(req) &&
           mcp_json_get(meta, "io.modelcontextprotocol/protocolVersion") != NULL;
}

/* Notices if the caller cancels its request, or is disconnected, while it is being asked. */
static int begin_waiting(upstream_ask *a, mcp_request *req)
{
    const upstream *up = a->session->up;
    if (a->park->waiting || ends_with_round(req))
        return MCP_OK;
    upstream_waiting *w = common_alloc(&up->alloc, sizeof(*w));
    if (!w)
        return MCP_ENOMEM;
    *w = (upstream_waiting){.ask = a, .alloc = up->alloc};
    a->park->waiting = w;
    mcp_request_set_data(req, w, on_request_ended);
    return MCP_OK;
}

/* ---- asking the caller ----------------------------------------------------------------------- */

/* Asks the questions of a request. Returns MCP_INPUT_REQUIRED if the request has to end now, and
 * MCP_OK if it waits for the other server. After a negative code the call is given up. */
static int ask(upstream_ask *a, mcp_request *req)
{
    const upstream *up = a->session->up;
    int rc = upstream_questions_ask(a, req);
    if (rc == MCP_INPUT_REQUIRED) {
        mcp_request_stay(req);
        int set = mcp_request_set_state(req, mcp_str_from(state));
        set = set == MCP_OK ? begin_waiting(a, req) : set;
        rc = set == MCP_OK ? rc : set;
    }
    if (rc == MCP_INPUT_REQUIRED)
        a->park->due = upstream_now(up) + (int64_t)up->options.question_ms;
    if (rc < 0)
        upstream_ask_cancel(a, "the caller cannot be asked");
    return rc;
}

static bool has_news(const upstream_ask *a)
{
    const upstream_question *q = a->f.req && a->park ? a->park->questions : NULL;
    while (q && q->sent)
        q = q->next;
    return q != NULL;
}

/* Returns a request whose caller has to be asked, and the number of such requests. */
static upstream_ask *find_news(const upstream *up, size_t *n)
{
    upstream_ask *found = NULL;
    *n = 0;
    for (const upstream_session *s = up->sessions; s; s = s->next) {
        for (upstream_ask *a = s->asks; a; a = a->next) {
            if (!has_news(a))
                continue;
            found = a;
            (*n)++;
        }
    }
    return found;
}

static void start(upstream *up, uint64_t ms);

static void on_soon(void *arg)
{
    upstream *up = arg;
    size_t n;
    upstream_soon_stop(up);
    for (upstream_session *s = up->sessions; s; s = s->next)
        upstream_questions_settle(s);
    upstream_ask *a = find_news(up, &n);
    if (n > 1)
        start(up, 1);
    if (!a)
        return;
    mcp_request *req = common_forward_detach(&a->f);
    int rc = ask(a, req);
    if (rc == MCP_OK) { /* no question is left */
        common_forward_attach(&a->f, req);
        return;
    }
    mcp_reply_finish(req, rc); /* may free the upstream */
}

static void start(upstream *up, uint64_t ms)
{
    const mcp_host *host = mcp_server_host(up->server);
    if (!up->soon && host && host->timer_start)
        up->soon = host->timer_start(ms, on_soon, up, host->user);
}

void upstream_soon(upstream *up)
{
    start(up, GATHER_MS);
}

void upstream_soon_stop(upstream *up)
{
    const mcp_host *host = mcp_server_host(up->server);
    if (up->soon && host)
        host->timer_stop(up->soon, host->user);
    up->soon = NULL;
}

/* ---- the answer of the other server, while no caller waits ------------------------------------ */

static bool store(upstream_ask *a, mcp_str text)
{
    upstream *up = a->session->up;
    bool fits = text.len <= MOST_STORED && up->stored + text.len <= MOST_STORED_ALL &&
                upstream_limit_bytes(a, text.len);
    char *copy = fits ? common_copy(&up->alloc, text.ptr, text.len) : NULL;
    if (!copy)
        return false;
    a->park->text = (mcp_str){copy, text.len};
    up->stored += text.len;
    a->session->bytes += text.len;
    return true;
}

void upstream_park_outcome(upstream_ask *a, int rc, const mcp_json *result, const mcp_error *error)
{
    upstream *up = a->session->up;
    upstream_parked *park = a->park;
    mcp_str text = mcp_client_result_text(a->session->client);
    mcp_json_writer *w = NULL;
    bool stored = true;
    upstream_questions_drop(a);
    mcp_service_done(a->session->service, &a->f.use);
    park->ended = true;
    park->rc = rc;
    if (error)
        park->error = *error;
    if (rc != MCP_OK && rc != MCP_EREMOTE)
        return;
    if (!text.ptr) {
        w = mcp_json_writer_new(&up->alloc, 0);
        mcp_json_add_value(w, result);
        stored = mcp_json_writer_finish(w, &text) == MCP_OK;
    }
    if (!stored || !store(a, text)) {
        park->rc = MCP_ELIMIT;
        snprintf(park->error.text, sizeof(park->error.text),
                 "its answer arrived before that of the user, and is too large to be kept");
    }
    mcp_json_writer_free(w);
}

/* ---- the next round -------------------------------------------------------------------------- */

upstream_ask *upstream_parked_find(const upstream *up, const char *principal, const char *id)
{
    for (const upstream_session *s = up->sessions; s; s = s->next) {
        for (upstream_ask *a = s->asks; a; a = a->next) {
            if (a->park && !a->cancelled && upstream_is_of(a, principal) &&
                strcmp(a->park->id, id) == 0)
                return a;
        }
    }
    return NULL;
}

bool upstream_is_resumed(const mcp_request *req)
{
    return mcp_request_state(req).len > 0;
}

/* Two requests with the same state: the later one continues the call. */
static void replace(upstream_ask *a)
{
    mcp_request *older = common_forward_detach(&a->f);
    if (!older)
        return;
    mcp_reply_finish(older, mcp_reply_fail(older, MCP_CODE_INTERNAL,
                                           "Another request with the same \"requestState\" "
                                           "continues this call"));
}

int upstream_resume(upstream *up, mcp_request *req)
{
    const char *id = mcp_request_series(req), *principal = mcp_request_principal(req);
    upstream_ask *a = id ? upstream_parked_find(up, principal, id) : NULL;
    if (id && !a)
        a = upstream_take_parked(up, principal, id);
    if (!a)
        return mcp_reply_fail(
            req, MCP_CODE_INVALID_PARAMS,
            "Invalid params: \"requestState\": the call to the server %s that waited for this "
            "answer has ended; send the request without it to start again",
            up->options.name);
    replace(a);
    if (a->park->ended)
        return upstream_ask_answer_stored(a, req);
    int rc = ask(a, req);
    if (rc != MCP_OK)
        return rc;
    common_forward_attach(&a->f, req);
    return MCP_PENDING;
}

/* ---- expiry ---------------------------------------------------------------------------------- */

void upstream_parked_expire(upstream *up, int64_t now)
{
    for (upstream_session *s = up->sessions; s; s = s->next) {
        upstream_questions_settle(s);
        for (upstream_ask *a = s->asks, *next; a; a = next) {
            next = a->next;
            if (a->park && !a->f.req && !a->cancelled && a->park->due <= now)
                upstream_ask_cancel(a, "the user did not answer in time");
        }
    }
}
