/* watch_for_others.c: what the instance that watches does for the others. See watch.h. */
#include "server/core/hub.h"
#include "server/core/topic.h"
#include "server/share/bus_entry.h"
#include "server/share/watch.h"

enum {
    MOST_HOLDS = 65536,
    MOST_BYTES = 16 << 20, /* of keys */
};

typedef struct hold {
    size_t len, instances;
    unsigned char by[MCP_WATCH_INSTANCES / 8]; /* a bit for each instance that asked */
    char key[];
} hold;

void mcp__watch_hold_init(struct mcp__watching *w)
{
    uint64_t seed = (uintptr_t)w;
    mcp__map_init(&w->holds.by_key, &w->server->allocator, ~seed, seed);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int begin(mcp_server *server, mcp_str key)
{
    mcp_str text = mcp__str_sub(key, 1);
    switch (key.ptr[0]) {
    case MCP__WATCH_TOPIC: return mcp__topic_hold(server, text);
    case MCP__WATCH_LIST: return mcp__list_hold(server, text, true);
    default: return MCP_EUNSUPPORTED;
    }
}

static void end(struct mcp__watching *w, hold *h)
{
    mcp_str key = {h->key, h->len}, text = mcp__str_sub(key, 1);
    if (key.ptr[0] == MCP__WATCH_TOPIC)
        mcp__topic_release(w->server, text);
    else
        (void)mcp__list_hold(w->server, text, false);
    mcp__map_remove(&w->holds.by_key, key);
    w->holds.bytes -= h->len;
    mcp__release(&w->server->allocator, h);
}

/* Returns NULL if it cannot be watched. */
static hold *add(struct mcp__watching *w, mcp_str key)
{
    mcp__watch_holds *all = &w->holds;
    if (all->by_key.count >= MOST_HOLDS || key.len > MOST_BYTES - all->bytes)
        return NULL;
    hold *h = mcp__zalloc(&w->server->allocator, sizeof(*h) + key.len);
    if (!h)
        return NULL;
    memcpy(h->key, key.ptr, key.len);
    h->len = key.len;
    if (mcp__map_add(&all->by_key, (mcp_str){h->key, h->len}, h) != MCP_OK) {
        mcp__release(&w->server->allocator, h);
        return NULL;
    }
    all->bytes += h->len;
    if (begin(w->server, key) == MCP_OK)
        return h;
    mcp__map_remove(&all->by_key, key);
    all->bytes -= h->len;
    mcp__release(&w->server->allocator, h);
    return NULL;
}

static bool has(const hold *h, size_t instance)
{
    return h->by[instance / 8] >> instance % 8 & 1;
}

static bool take(struct mcp__watching *w, size_t instance, mcp_str key)
{
    hold *h = mcp__map_get(&w->holds.by_key, key);
    if (!h)
        h = add(w, key);
    if (!h)
        return false;
    if (!has(h, instance)) {
        h->by[instance / 8] |= (unsigned char)(1u << instance % 8);
        h->instances++;
    }
    return true;
}

static void drop(struct mcp__watching *w, size_t instance, hold *h)
{
    if (!h || !has(h, instance))
        return;
    h->by[instance / 8] &= (unsigned char)~(1u << instance % 8);
    if (--h->instances == 0)
        end(w, h);
}

void mcp__watch_hold_reset(struct mcp__watching *w, size_t instance)
{
    size_t at = 0;
    hold *h;
    while ((h = mcp__map_next(&w->holds.by_key, &at)) != NULL) {
        if (instance == MCP_WATCH_INSTANCES)
            end(w, h);
        else
            drop(w, instance, h);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool is_key(mcp_str text)
{
    return text.len > 1 && text.len <= MCP__WATCH_KEY && !memchr(text.ptr, 0, text.len);
}

static void handle(struct mcp__watching *w, size_t from, const mcp__entry_item *i, mcp__buf *answer)
{
    switch (i->kind) {
    case MCP__WATCH_RESET: mcp__watch_hold_reset(w, from); break;
    case MCP__WATCH_DROP: drop(w, from, mcp__map_get(&w->holds.by_key, i->text)); break;
    case MCP__WATCH_ASK:
        mcp__entry_put_item(
            answer, is_key(i->text) && take(w, from, i->text) ? MCP__WATCH_HAVE : MCP__WATCH_REFUSE,
            i->text);
        break;
    default: break; /* of a newer version */
    }
}

/* An answer that is lost leaves the watches of the other instance in place. */
void mcp__watch_hold_received(struct mcp__watching *w, size_t from, mcp_str message)
{
    mcp__entry_item item;
    mcp__buf answer;
    mcp__buf_init(&answer, &w->server->allocator, MCP_BUS_ENTRY_BYTES);
    while (mcp__entry_next(&message, &item))
        handle(w, from, &item, &answer);
    mcp__entry_put_item(&answer, MCP__WATCH_NEXT, (mcp_str){"", 0});
    if (!answer.failed)
        (void)w->options.answer(from, mcp__buf_view(&answer), w->options.user);
    mcp__buf_free(&answer);
}
