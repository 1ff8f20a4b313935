/* trace.c: the parts of a request and their times (mcp/trace.h).
 *
 * Everything is in the request's arena, so nothing remains of a request that ended. Ids are made from a random seed and a
 * counter. Whether a trace is recorded follows from its id under a second seed: the caller, who may choose the id, cannot
 * choose one that is.
 */
#include "server/core/trace.h"

#include "server/core/audit.h"
#include "server/core/seal.h"

typedef struct span {
    mcp_span
        shown; /* must be first; .begin_us is a time of the host until the end of the request */
    struct span *next;
    bool ended;
} span;

/* In the arena; of a request that is traced. */
struct mcp__trace {
    unsigned char id[16];
    span *first, *last; /* the first one is that of the request */
    span *source;       /* that of the source which has the request; NULL if none */
    size_t n;
};

/* ---- ids ------------------------------------------------------------------------------------- */

int mcp_server_set_trace(mcp_server *server, double share,
                         void (*ended)(const mcp_trace *trace, void *user), void *user)
{
    if (!server || !(share >= 0 && share <= 1))
        return MCP_EINVAL;
    server->trace.ended = ended;
    server->trace.user = user;
    server->trace.limit = share < 1 ? (uint64_t)(share * 0x1p64) : UINT64_MAX;
    if (!ended)
        return MCP_OK;
    int rc = mcp__server_random(server, server->trace.seed, sizeof(server->trace.seed));
    if (rc != MCP_OK)
        server->trace.ended = NULL;
    return rc;
}

/* Ids are not zero. */
static void make_id(mcp_server *server, void *to)
{
    uint64_t id = 0;
    while (!id) {
        uint64_t n = server->trace.made++;
        id = mcp__siphash(&n, sizeof(n), server->trace.seed[0]);
    }
    memcpy(to, &id, sizeof(id));
}

static bool is_wanted(const mcp_server *server, const unsigned char id[16])
{
    return mcp__siphash(id, 16, server->trace.seed[1]) <= server->trace.limit &&
           server->trace.limit;
}

/* Reads an id of n bytes, at most 16. Returns whether it is valid: zeros alone are none. */
static bool read_id(const char *text, unsigned char *to, size_t n)
{
    static const unsigned char none[16];
    mcp__hex_decode(to, text, n);
    return memcmp(to, none, n) != 0;
}

/* `text` has the form that mcp__audit_traceparent() checks. Version ff is invalid, as are zeros. */
static bool read_traceparent(mcp_str text, unsigned char id[16], unsigned char parent[8])
{
    return text.len && memcmp(text.ptr, "ff", 2) != 0 && read_id(text.ptr + 3, id, 16) &&
           read_id(text.ptr + 36, parent, 8);
}

/* ---- spans ----------------------------------------------------------------------------------- */

static span *add(mcp_request *req, mcp_span_kind kind, const char *name, const void *parent)
{
    mcp__trace *t = req->trace;
    span *s = t->n < MCP_SPANS ? mcp_request_alloc(req, sizeof(*s)) : NULL;
    char *copy = s && name ? mcp_request_strdup(req, mcp_str_from(name)) : NULL;
    if (!s || (name && !copy))
        return NULL;
    *s = (span){.shown = {.size = sizeof(mcp_span), .kind = kind, .name = copy}};
    s->shown.begin_us = (uint64_t)mcp__usage_now(req);
    make_id(req->server, s->shown.id);
    memcpy(s->shown.parent, parent, sizeof(s->shown.parent));
    *(t->last ? &t->last->next : &t->first) = s;
    t->last = s;
    t->n++;
    return s;
}

void mcp__trace_begin(mcp_request *req)
{
    mcp__trace t = {.n = 0};
    unsigned char parent[8] = {0};
    if (!read_traceparent(mcp_str_from(req->used.traceparent), t.id, parent)) {
        make_id(req->server, t.id);
        make_id(req->server, t.id + 8);
        memset(parent, 0, sizeof(parent));
    }
    mcp__trace *copy = is_wanted(req->server, t.id) ? mcp_request_alloc(req, sizeof(*copy)) : NULL;
    if (!copy)
        return;
    *copy = t;
    req->trace = copy;
    if (!add(req, MCP_SPAN_REQUEST, NULL, parent))
        req->trace = NULL;
}

static const span *parent_of(const mcp__trace *t)
{
    return t->source ? t->source : t->first;
}

mcp_span *mcp_request_span_begin(mcp_request *req, mcp_span_kind kind, const char *name)
{
    if (!req || !req->trace)
        return NULL;
    span *s = add(req, kind, name, parent_of(req->trace)->shown.id);
    return s ? &s->shown : NULL;
}

void mcp__trace_timed(mcp_request *req, mcp_span *shown, int64_t begin, int64_t end)
{
    span *s = (span *)shown;
    if (!req->trace || !s || s->ended)
        return;
    s->ended = true;
    s->shown.begin_us = (uint64_t)begin;
    s->shown.duration_us = end > begin ? (uint64_t)(end - begin) : 0;
}

void mcp_request_span_end(mcp_request *req, mcp_span *shown, bool failed)
{
    if (!req || !req->trace || !shown || ((span *)shown)->ended)
        return;
    shown->failed = failed;
    mcp__trace_timed(req, shown, (int64_t)shown->begin_us, mcp__usage_now(req));
}

void mcp__trace_source(mcp_request *req, const mcp__mount *mount)
{
    mcp__trace *t = req->trace;
    if (!t)
        return;
    if (t->source)
        mcp_request_span_end(req, &t->source->shown, false);
    t->source = add(req, MCP_SPAN_SOURCE, mcp__mount_label(mount), t->first->shown.id);
}

/* ---- what other servers get ------------------------------------------------------------------ */

bool mcp_request_traceparent(mcp_request *req, const mcp_span *shown, char to[MCP_TRACEPARENT_ROOM])
{
    unsigned char id[16], parent[8];
    *to = '\0';
    if (!req)
        return false;
    if (!req->trace) {
        mcp_exchange_about about;
        mcp_str text = mcp__audit_traceparent(req, &about);
        if (!read_traceparent(text, id, parent))
            return false;
        memcpy(to, text.ptr, text.len);
        to[text.len] = '\0';
        return true;
    }
    char *at = to;
    memcpy(at, "00-", 3);
    at = mcp__hex_encode(at + 3, req->trace->id, sizeof(req->trace->id));
    *at++ = '-';
    at = mcp__hex_encode(at, shown ? shown->id : parent_of(req->trace)->shown.id, 8);
    memcpy(at, "-01", 4);
    return true;
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool is_failure(mcp_audit_outcome outcome)
{
    return outcome != MCP_AUDIT_OK && outcome != MCP_AUDIT_INPUT;
}

/* `end` is a time of the host. */
static void settle(mcp_request *req, span *s, int64_t end, bool failed)
{
    int64_t begin = (int64_t)s->shown.begin_us, since = req->used.since;
    if (!s->ended) {
        s->shown.failed = failed;
        mcp__trace_timed(req, &s->shown, begin, end);
    }
    begin = (int64_t)s->shown.begin_us;
    s->shown.begin_us = begin > since ? (uint64_t)(begin - since) : 0;
    s->shown.next = s->next ? &s->next->shown : NULL;
}

void mcp__trace_end(mcp_request *req, const mcp_audit_record *record)
{
    mcp__trace *t = req->trace;
    bool failed = is_failure(record->outcome);
    int64_t end = req->used.since + (int64_t)record->duration_us;
    for (span *s = t->first->next; s; s = s->next)
        settle(req, s, end, failed);
    mcp_span *whole = &t->first->shown;
    whole->failed = failed;
    whole->begin_us = 0;
    whole->duration_us = record->duration_us;
    whole->next = t->first->next ? &t->first->next->shown : NULL;
    mcp_trace trace = {.size = sizeof(trace), .request = record, .spans = whole};
    memcpy(trace.id, t->id, sizeof(trace.id));
    req->trace = NULL;
    req->server->trace.ended(&trace, req->server->trace.user);
}
