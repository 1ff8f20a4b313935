/* receive.c: entries of other instances.
 *
 * The entries of an instance have numbers without gaps. A number that was received already is a
 * replay; a number that is too large means that entries were lost, whatever the bus says. An entry
 * of an unknown instance counts only if it is not old. So a copy of an old entry has no effect but,
 * at most, that everything is announced as changed.
 */
#include "server/core/hub.h"
#include "server/core/seal.h"
#include "server/share/share.h"

enum { MOST_INSTANCES = 1024, LOG_PAUSE_MS = 60000 };

typedef struct instance {
    mcp__link link;
    char name[MCP__INSTANCE];
    uint64_t number; /* of its last entry */
} instance;

void mcp__instances_init(mcp__instances *instances, const mcp_allocator *allocator)
{
    uint64_t seed = (uintptr_t)instances;
    mcp__map_init(&instances->by_name, allocator, seed, ~seed);
    mcp__list_init(&instances->order);
}

static void forget(mcp__instances *instances, instance *old)
{
    mcp__map_remove(&instances->by_name, (mcp_str){old->name, MCP__INSTANCE});
    mcp__list_remove(&old->link);
    mcp__release(instances->by_name.allocator, old);
}

void mcp__instances_clear(mcp__instances *instances)
{
    while (!mcp__list_empty(&instances->order))
        forget(instances, mcp__container(instances->order.next, instance, link));
    mcp__map_free(&instances->by_name);
}

/* Returns NULL if out of memory. */
static instance *add(mcp__instances *instances, const mcp__entry_head *head)
{
    if (instances->by_name.count >= MOST_INSTANCES)
        forget(instances, mcp__container(instances->order.next, instance, link));
    instance *i = mcp__zalloc(instances->by_name.allocator, sizeof(*i));
    if (!i)
        return NULL;
    memcpy(i->name, head->instance, MCP__INSTANCE);
    if (mcp__map_add(&instances->by_name, (mcp_str){i->name, MCP__INSTANCE}, i) != MCP_OK) {
        mcp__release(instances->by_name.allocator, i);
        return NULL;
    }
    mcp__list_append(&instances->order, &i->link);
    return i;
}

void mcp__share_gap(struct mcp__share *share)
{
    share->usage.gaps++;
    mcp__hub_everything(share->server);
    if (share->options.gap)
        share->options.gap(share->options.user);
}

/* ---- items ----------------------------------------------------------------------------------- */

static bool item_of(mcp_str text, mcp_item *ret)
{
    if (!text.len || text.ptr[0] < '0' || text.ptr[0] > '0' + MCP_ITEM_TOOL)
        return false;
    *ret = (mcp_item)(text.ptr[0] - '0');
    return true;
}

static void take_message(const struct mcp__share *share, mcp_str text)
{
    size_t len = text.len ? (unsigned char)text.ptr[0] : 0;
    if (share->options.message && len && len < text.len)
        share->options.message((mcp_str){text.ptr + 1, len}, mcp__str_sub(text, 1 + len),
                               share->options.user);
}

static void take_list_for(mcp_server *server, mcp_str text)
{
    mcp_item item;
    if (!item_of(text, &item) || text.len < 2)
        return;
    if (text.ptr[1] == 'a')
        mcp__hub_list_changed_for(server, item, (mcp_str){NULL, 0});
    else if (text.ptr[1] == 'n')
        mcp__hub_list_changed_for(server, item, mcp__str_sub(text, 2));
}

static void take(struct mcp__share *share, const mcp__entry_item *i)
{
    mcp_item item;
    switch (i->kind) {
    case MCP__MARK_TOPIC: mcp__hub_updated(share->server, i->text); break;
    case MCP__MARK_URI: mcp__hub_resources_changed_by(share->server, i->text); break;
    case MCP__MARK_LIST:
        if (item_of(i->text, &item))
            mcp__hub_item_changed(share->server, item);
        break;
    case MCP__MARK_LIST_FOR: take_list_for(share->server, i->text); break;
    case MCP__MARK_MESSAGE: take_message(share, i->text); break;
    case MCP__MARK_EVERYTHING: mcp__share_gap(share); break;
    case MCP__MARK_TAKEN: mcp__rate_told(share->server, i->text); break;
    default: break; /* of a newer version */
    }
}

/* ---- entries --------------------------------------------------------------------------------- */

static void ignore(struct mcp__share *share, const char *why)
{
    int64_t now = share->server->host.now(share->server->host.user);
    share->usage.ignored++;
    if (share->ignored_logged && now - share->ignored_logged < LOG_PAUSE_MS)
        return;
    share->ignored_logged = now ? now : 1;
    mcp__server_log(share->server, "warning", "an entry on the bus was ignored: %s", why);
}

static bool is_old(const struct mcp__share *share, int64_t time)
{
    int64_t now = mcp__server_clock(share->server);
    return time < now - MCP__SHARE_AGE_MS || time > now + MCP__SHARE_AGE_MS;
}

/* Returns whether the entry is new, and announces everything if entries before it were lost. */
static bool note(struct mcp__share *share, const mcp__entry_head *head)
{
    mcp__instances *instances = &share->instances;
    instance *i = mcp__map_get(&instances->by_name, (mcp_str){head->instance, MCP__INSTANCE});
    if (i && head->number <= i->number) {
        share->usage.replayed++;
        return false;
    }
    bool lost = (i && head->number != i->number + 1) || is_old(share, head->time);
    if (!i)
        i = add(instances, head);
    if (i) { /* without memory, a replay is accepted once more */
        i->number = head->number;
        mcp__list_remove(&i->link);
        mcp__list_append(&instances->order, &i->link);
    }
    share->usage.received++;
    if (lost)
        mcp__share_gap(share);
    return !is_old(share, head->time);
}

static void take_entry(struct mcp__share *share, mcp_str plain)
{
    mcp__entry_head head;
    mcp__entry_item item;
    mcp_str items;
    if (mcp__entry_open(plain, &head, &items) != MCP_OK) {
        ignore(share, "its contents are malformed");
        return;
    }
    if (memcmp(head.instance, share->server->instance, MCP__INSTANCE) == 0 || !note(share, &head))
        return;
    while (mcp__entry_next(&items, &item))
        take(share, &item);
}

void mcp__share_received(struct mcp__share *share, mcp_str entry)
{
    mcp__buf plain;
    mcp__buf_init(&plain, &share->server->allocator, MCP_BUS_ENTRY_BYTES);
    int rc = entry.len > MCP_BUS_ENTRY_BYTES
                 ? MCP_EINVAL
                 : mcp__seal_open(share->server, mcp_str_from(share->bound), entry, &plain, NULL);
    if (rc == MCP_OK)
        take_entry(share, mcp__buf_view(&plain));
    else if (rc == MCP_EINVAL)
        ignore(share, "it was sealed with another key or for another name, or is damaged");
    else
        mcp__share_gap(share); /* no memory to read it */
    mcp__buf_free(&plain);
}
