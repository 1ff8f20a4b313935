/* want.c: what has subscribers here, and who watches it. See watch.h.
 *
 * While another instance watches, a new subscription is first watched here, so that it works at once.
 * The other instance is asked; after its answer both watch for a while (overlap_ms), so that a change
 * that only one of them could notice is noticed; then this one stops. If anything is lost on the way, this
 * instance goes on watching. One message is under way at a time.
 */
#include "server/core/hub.h"
#include "server/core/topic.h"
#include "server/share/bus_entry.h"
#include "server/share/watch.h"

enum {
    MESSAGE = 8192 + MCP__WATCH_KEY,
    PATIENCE_MS = 10000, /* for an answer */
    ASK_AGAIN_MS = 30000,
    NO_ROOM_MS = 100,
    LONGEST_STEP_MS = 1000,
};

/* overlap_ms is longer than the longest interval at which providers look for changes. */
static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_watch_options, overlap_ms, 12000),
};

typedef enum state { WAITING, REQUESTED, HAD, THERE, HERE } state;

typedef struct want {
    mcp__link link;
    state state;
    bool
        on; /* it has subscribers; else the instance that watches has to be told that it has none */
    bool told;     /* that instance was asked for it */
    int64_t since; /* when it was asked, or answered */
    size_t len;
    char key[];
} want;

static int64_t now_of(const struct mcp__watching *w)
{
    return w->server->host.now(w->server->host.user);
}

static mcp__link *list_of(struct mcp__watching *w, state s)
{
    return s == WAITING     ? &w->waiting
           : s == REQUESTED ? &w->requested
           : s == HAD       ? &w->had
                            : &w->rest;
}

static void lend(struct mcp__watching *w, const want *t, bool lent)
{
    mcp_str text = {t->key + 1, t->len - 1};
    if (t->key[0] == MCP__WATCH_TOPIC)
        mcp__topic_lend(w->server, text, lent);
    else
        mcp__list_lend(w->server, text, lent);
}

/* The only place where a state changes. */
static void enter(struct mcp__watching *w, want *t, state s)
{
    state before = t->state;
    mcp__list_remove(&t->link);
    mcp__list_append(list_of(w, s), &t->link);
    t->state = s;
    t->since = now_of(w);
    if ((before == THERE) != (s == THERE))
        lend(w, t, s == THERE);
}

static void forget(struct mcp__watching *w, want *t)
{
    if (t->state == THERE)
        lend(w, t, false);
    mcp__map_remove(&w->wants, (mcp_str){t->key, t->len});
    mcp__list_remove(&t->link);
    mcp__release(&w->server->allocator, t);
}

/* ---- telling --------------------------------------------------------------------------------- */

static void due(void *arg);

static void stop_timer(struct mcp__watching *w)
{
    const mcp_host *h = &w->server->host;
    if (w->timer)
        h->timer_stop(w->timer, h->user);
    w->timer = NULL;
    w->soon = false;
}

static void arm(struct mcp__watching *w, uint64_t ms)
{
    const mcp_host *h = &w->server->host;
    if (w->timer && (w->soon || ms))
        return;
    stop_timer(w);
    w->timer = h->timer_start(ms, due, w, h->user);
    w->soon = w->timer && !ms;
}

/* Writes what waits, up to a limit, and returns how many wants that are. */
static size_t write_message(struct mcp__watching *w, mcp__buf *to)
{
    size_t n = 0;
    if (w->reset)
        mcp__entry_put_item(to, MCP__WATCH_RESET, (mcp_str){"", 0});
    for (mcp__link *l = w->waiting.next; l != &w->waiting; l = l->next) {
        const want *t = mcp__container(l, want, link);
        if (n && to->len + MCP__ENTRY_ITEM + t->len > MESSAGE)
            break;
        mcp__entry_put_item(to, t->on ? MCP__WATCH_ASK : MCP__WATCH_DROP,
                            (mcp_str){t->key, t->len});
        n++;
    }
    return n;
}

static void sent(struct mcp__watching *w, size_t n)
{
    w->reset = false;
    w->under_way = now_of(w) + 1;
    while (n--) {
        want *t = mcp__container(w->waiting.next, want, link);
        t->told = true;
        if (t->on)
            enter(w, t, REQUESTED);
        else
            forget(w, t);
    }
}

/* Returns false if there was no room or no memory. */
static bool flush(struct mcp__watching *w)
{
    mcp__buf message;
    if (w->under_way || (!w->reset && mcp__list_empty(&w->waiting)))
        return true;
    mcp__buf_init(&message, &w->server->allocator, MCP_BUS_ENTRY_BYTES);
    size_t n = write_message(w, &message);
    bool ok = !message.failed && w->options.ask(mcp__buf_view(&message), w->options.user);
    mcp__buf_free(&message);
    if (ok)
        sent(w, n);
    return ok;
}

/* The oldest want of a list, if it is in it since `ms`. */
static want *older(struct mcp__watching *w, state s, uint64_t ms)
{
    mcp__link *list = list_of(w, s);
    if (mcp__list_empty(list))
        return NULL;
    want *t = mcp__container(list->next, want, link);
    return now_of(w) - t->since >= (int64_t)ms ? t : NULL;
}

static uint64_t step_ms(const struct mcp__watching *w)
{
    uint64_t ms = w->options.overlap_ms / 4;
    return ms < 1 ? 1 : MCP__MIN(ms, (uint64_t)LONGEST_STEP_MS);
}

static void due(void *arg)
{
    struct mcp__watching *w = arg;
    want *t;
    stop_timer(w);
    if (w->role != MCP__WATCH_ASKS)
        return;
    while ((t = older(w, HAD, w->options.overlap_ms)) != NULL)
        enter(w, t, THERE);
    while ((t = older(w, REQUESTED, ASK_AGAIN_MS)) != NULL)
        enter(w, t, WAITING);
    if (w->under_way && now_of(w) - w->under_way >= PATIENCE_MS)
        w->under_way = 0;
    if (!flush(w))
        arm(w, NO_ROOM_MS);
    else if (w->under_way || !mcp__list_empty(&w->requested) || !mcp__list_empty(&w->had))
        arm(w, step_ms(w));
}

/* ---- subscriptions --------------------------------------------------------------------------- */

/* Without memory it is watched here. */
static void add(struct mcp__watching *w, mcp_str key)
{
    want *t = mcp__zalloc(&w->server->allocator, sizeof(*t) + key.len);
    if (!t)
        return;
    memcpy(t->key, key.ptr, key.len);
    t->len = key.len;
    t->on = true;
    t->state = HERE;
    mcp__list_init(&t->link);
    if (mcp__map_add(&w->wants, (mcp_str){t->key, t->len}, t) != MCP_OK) {
        mcp__release(&w->server->allocator, t);
        return;
    }
    enter(w, t, w->role == MCP__WATCH_ASKS ? WAITING : HERE);
}

/* Writes the key of a watch, and returns false if it is too long. */
static bool put_key(char to[MCP__WATCH_KEY], char kind, mcp_str text, mcp_str *ret)
{
    if (1 + text.len > MCP__WATCH_KEY)
        return false;
    to[0] = kind;
    memcpy(to + 1, text.ptr, text.len);
    *ret = (mcp_str){to, 1 + text.len};
    return true;
}

void mcp__watch_wanted(mcp_server *server, char kind, mcp_str text)
{
    struct mcp__watching *w = server->watching;
    char room[MCP__WATCH_KEY];
    mcp_str key;
    if (!w || !put_key(room, kind, text, &key))
        return;
    want *t = mcp__map_get(&w->wants, key);
    if (t && t->on)
        return;
    if (t)
        t->on = true;
    else
        add(w, key);
    if (w->role == MCP__WATCH_ASKS)
        arm(w, 0);
}

void mcp__watch_unwanted(mcp_server *server, char kind, mcp_str text)
{
    struct mcp__watching *w = server->watching;
    char room[MCP__WATCH_KEY];
    mcp_str key;
    want *t = w && put_key(room, kind, text, &key) ? mcp__map_get(&w->wants, key) : NULL;
    if (!t || !t->on)
        return;
    t->on = false;
    if (w->role != MCP__WATCH_ASKS || !t->told) {
        forget(w, t);
        return;
    }
    enter(w, t, WAITING);
    arm(w, 0);
}

/* ---- what the others say --------------------------------------------------------------------- */

static void answered(struct mcp__watching *w, const mcp__entry_item *i)
{
    want *t = mcp__map_get(&w->wants, i->text);
    if (i->kind == MCP__WATCH_NEXT)
        w->under_way = 0;
    if (!t || !t->on || t->state == WAITING)
        return;
    if (i->kind == MCP__WATCH_HAVE && t->state == REQUESTED)
        enter(w, t, HAD);
    else if (i->kind == MCP__WATCH_REFUSE)
        enter(w, t, HERE);
}

void mcp_server_watch_received(mcp_server *server, size_t from, mcp_str message)
{
    struct mcp__watching *w = server ? server->watching : NULL;
    mcp__entry_item item;
    if (!w || from >= MCP_WATCH_INSTANCES)
        return;
    if (w->role == MCP__WATCH_WATCHES)
        mcp__watch_hold_received(w, from, message);
    if (w->role != MCP__WATCH_ASKS)
        return;
    while (mcp__entry_next(&message, &item))
        answered(w, &item);
    arm(w, 0);
}

/* Everything is watched here again before anything else happens. */
static void begin_again(struct mcp__watching *w, mcp__watch_role role)
{
    size_t at = 0;
    want *t;
    mcp__watch_hold_reset(w, MCP_WATCH_INSTANCES);
    stop_timer(w);
    w->role = role;
    w->under_way = 0;
    w->reset = role == MCP__WATCH_ASKS;
    while ((t = mcp__map_next(&w->wants, &at)) != NULL) {
        t->told = false;
        if (t->on)
            enter(w, t, role == MCP__WATCH_ASKS ? WAITING : HERE);
        else
            forget(w, t);
    }
    if (w->reset)
        arm(w, 0);
}

void mcp_server_watch_role(mcp_server *server, bool watches, bool missed)
{
    struct mcp__watching *w = server ? server->watching : NULL;
    if (!w)
        return;
    begin_again(w, watches ? MCP__WATCH_WATCHES : MCP__WATCH_ASKS);
    if (missed)
        mcp__hub_everything(server);
}

/* ---- begin and end --------------------------------------------------------------------------- */

void mcp__watch_free(mcp_server *server)
{
    struct mcp__watching *w = server->watching;
    size_t at = 0;
    want *t;
    if (!w)
        return;
    begin_again(w, MCP__WATCH_ALONE);
    server->watching = NULL;
    while ((t = mcp__map_next(&w->wants, &at)) != NULL)
        forget(w, t);
    mcp__map_free(&w->wants);
    mcp__map_free(&w->holds.by_key);
    mcp__release(&server->allocator, w);
}

static int check(const mcp_server *server, const mcp_watch_options *o, mcp_error *error)
{
    if (!o->ask || !o->answer)
        return mcp__fail(error, MCP_EINVAL, 0, "\"ask\" and \"answer\" are required");
    if (server->watching || !mcp__list_empty(&server->sessions))
        return mcp__fail(error, MCP_ESTATE, 0, "the server has sessions, or was told already");
    if (!server->has_host || !server->host.timer_start || !server->host.now)
        return mcp__fail(error, MCP_ESTATE, 0, "watching once needs a host with timers");
    return MCP_OK;
}

int mcp_server_watch_once(mcp_server *server, const mcp_watch_options *options, mcp_error *error)
{
    mcp__no_error(error);
    mcp_watch_options o = {.size = 0};
    int rc = MCP__TAKE(&o, options, mcp_watch_options, error);
    if (rc == MCP_OK)
        rc = mcp__need_server(server, error);
    if (rc == MCP_OK)
        rc = check(server, &o, error);
    if (rc != MCP_OK)
        return rc;
    struct mcp__watching *w = mcp__zalloc(&server->allocator, sizeof(*w));
    if (!w)
        return mcp__fail(error, MCP_ENOMEM, 0, "out of memory");
    MCP_SET_DEFAULTS(&o, defaults);
    w->server = server;
    w->options = o;
    uint64_t seed = (uintptr_t)w;
    mcp__map_init(&w->wants, &server->allocator, seed, ~seed);
    for (state s = WAITING; s <= HERE; s++)
        mcp__list_init(list_of(w, s));
    mcp__watch_hold_init(w);
    server->watching = w;
    return MCP_OK;
}
