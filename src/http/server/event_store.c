/* event_store.c: the built-in event store. It keeps events in memory, up to a limit for each
 * session, and discards the oldest ones of a session first, but none of another session. */
#include "http/server/http_session.h"

typedef struct stored_event {
    struct stored_event *next;
    uint64_t stream, event;
    size_t len;
    char message[];
} stored_event;

typedef struct session_log {
    char id[64];
    size_t id_len;
    mcp__http_charge charge;
    stored_event *first, *last;
} session_log;

struct mcp__http_store {
    mcp_http_budget *budget;
    const mcp_allocator *allocator;
    size_t limit;
    mcp__map logs;
};

static void charge(mcp__http_store *store, session_log *log, size_t bytes)
{
    store->budget->stored += bytes - log->charge.bytes;
    if (log->charge.share)
        log->charge.share->stored += bytes - log->charge.bytes;
    mcp__http_charge_set(store->budget, &log->charge, bytes);
}

static void drop_first(mcp__http_store *store, session_log *log)
{
    stored_event *k = log->first;
    log->first = k->next;
    if (!log->first)
        log->last = NULL;
    charge(store, log, log->charge.bytes - sizeof(*k) - k->len);
    mcp__release(store->allocator, k);
}

static session_log *log_of(mcp__http_store *store, mcp_str session)
{
    session_log *log = mcp__map_get(&store->logs, session);
    if (log || session.len > sizeof(log->id))
        return log;
    log = mcp__zalloc(store->allocator, sizeof(*log));
    if (!log)
        return NULL;
    memcpy(log->id, session.ptr, session.len);
    log->id_len = session.len;
    if (mcp__map_add(&store->logs, (mcp_str){log->id, log->id_len}, log) != MCP_OK) {
        mcp__release(store->allocator, log);
        return NULL;
    }
    return log;
}

/* Returns whether the session may store `size` more bytes. All sessions together may use a quarter
 * of the budget, and those of one caller a quarter of its share. */
static bool has_room(const mcp__http_store *store, const session_log *log, size_t size)
{
    const mcp_http_budget *b = store->budget;
    size_t own = log->charge.share ? log->charge.share->stored : 0;
    return log->charge.bytes + size <= store->limit && own + size <= b->max_share / 4 &&
           b->stored + size <= b->max_memory / 4 && b->used + size <= b->max_memory;
}

static int append(mcp_str session, uint64_t stream, uint64_t event, mcp_str message, void *user)
{
    mcp__http_store *store = user;
    if (message.len > store->limit || message.len + sizeof(stored_event) > store->limit)
        return MCP_ELIMIT;
    session_log *log = log_of(store, session);
    while (log && log->first && !has_room(store, log, sizeof(stored_event) + message.len))
        drop_first(store, log);
    if (log && !has_room(store, log, sizeof(stored_event) + message.len))
        return MCP_ELIMIT;
    stored_event *k = log ? mcp__alloc(store->allocator, sizeof(*k) + message.len) : NULL;
    if (!k)
        return MCP_ENOMEM;
    *k = (stored_event){.stream = stream, .event = event, .len = message.len};
    if (message.len)
        memcpy(k->message, message.ptr, message.len);
    charge(store, log, log->charge.bytes + sizeof(*k) + k->len);
    if (log->last)
        log->last->next = k;
    else
        log->first = k;
    log->last = k;
    return MCP_OK;
}

static int replay(mcp_str session, uint64_t stream, uint64_t event,
                  int (*fn)(uint64_t event, mcp_str message, void *arg), void *arg, void *user)
{
    mcp__http_store *store = user;
    const session_log *log = mcp__map_get(&store->logs, session);
    uint64_t next = event + 1;
    int rc = MCP_ENOTFOUND;
    for (const stored_event *k = log ? log->first : NULL; k; k = k->next) {
        if (k->stream != stream)
            continue;
        if (k->event == event)
            rc = MCP_OK;
        if (k->event < next)
            continue;
        if (k->event > next) /* an event before this one was discarded */
            return MCP_ENOTFOUND;
        rc = fn(k->event, (mcp_str){k->message, k->len}, arg);
        if (rc != MCP_OK)
            return rc;
        next++;
    }
    return rc;
}

void mcp__http_store_begin(mcp__http_store *store, mcp_str session, const mcp__http_charge *owner)
{
    session_log *log = log_of(store, session);
    if (log)
        mcp__http_charge_like(store->budget, &log->charge, owner, 0);
}

static void free_log(mcp__http_store *store, session_log *log)
{
    while (log->first)
        drop_first(store, log);
    mcp__http_charge_end(store->budget, &log->charge);
    mcp__release(store->allocator, log);
}

static void forget(mcp_str session, void *user)
{
    mcp__http_store *store = user;
    session_log *log = mcp__map_remove(&store->logs, session);
    if (log)
        free_log(store, log);
}

mcp__http_store *mcp__http_store_new(const mcp_allocator *allocator, mcp_http_budget *budget,
                                     size_t bytes_per_session, mcp_event_store *ret)
{
    mcp__http_store *store = mcp__zalloc(allocator, sizeof(*store));
    if (!store)
        return NULL;
    store->budget = budget;
    store->allocator = allocator;
    store->limit = bytes_per_session;
    /* A random seed is not needed: session ids are random, so peers cannot choose colliding
     * ones. */
    mcp__map_init(&store->logs, allocator, 0, 0);
    *ret = (mcp_event_store){sizeof(*ret), store, append, replay, forget};
    return store;
}

void mcp__http_store_free(mcp__http_store *store)
{
    if (!store)
        return;
    size_t at = 0;
    for (session_log *log; (log = mcp__map_next(&store->logs, &at)) != NULL;)
        free_log(store, log);
    mcp__map_free(&store->logs);
    mcp__release(store->allocator, store);
}
