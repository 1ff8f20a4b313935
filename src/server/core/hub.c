/* hub.c: subscriptions: collects changes and sends coalesced notifications to subscribers.
 *
 * A topic is a resource with at least one subscriber. A stream is a subscriber: a legacy session,
 * or one subscriptions/listen. A change only sets marks. A session sends a notification for each
 * mark when its interval has elapsed and its peer is reading. Any number of changes to a resource
 * therefore causes one notification per interval, and a peer that does not read costs a bounded
 * amount of memory.
 */
#include "server/core/access.h"
#include "server/core/hub.h"
#include "server/core/seal.h"
#include "server/core/topic.h"
#include "server/share/share.h"
#include "server/tasks/tasks.h"

#include <mcp/sys/forward.h>

typedef struct mcp__subscription {
    mcp__link in_topic, in_stream, in_dirty;
    mcp__topic *topic;
    mcp__stream *stream;
    mcp_str uri; /* as the subscriber sent it; allocated after the struct */
} mcp__subscription;

static const struct {
    mcp__kind kind;
    mcp_str method;
} list_notifications[] = {
    {MCP__RESOURCES, {"notifications/resources/list_changed", 36}},
    {MCP__PROMPTS, {"notifications/prompts/list_changed", 34}},
    {MCP__TOOLS, {"notifications/tools/list_changed", 32}},
};

void mcp__hub_free(mcp_server *server)
{
    mcp__map_free(&server->topics);
}

/* ---- streams --------------------------------------------------------------------------------- */

void mcp__stream_init(mcp__stream *stream, mcp__session *session, mcp_request *listen)
{
    *stream = (mcp__stream){.session = session, .listen = listen};
    mcp__list_init(&stream->link);
    mcp__list_init(&stream->subscriptions);
    mcp__list_init(&stream->tasks);
    uint64_t seed = (uintptr_t)session;
    mcp__map_init(&stream->by_uri, &session->server->allocator, seed, ~seed);
}

static void subscription_free(mcp__subscription *s)
{
    mcp_server *server = s->stream->session->server;
    mcp__topic *topic = s->topic;
    s->stream->session->n_subscriptions--;
    mcp__map_remove(&s->stream->by_uri, s->uri);
    mcp__list_remove(&s->in_topic);
    mcp__list_remove(&s->in_stream);
    mcp__list_remove(&s->in_dirty);
    mcp__release(&server->allocator, s);
    if (mcp__list_empty(&topic->subscriptions))
        mcp__topic_free(server, topic);
}

static mcp__subscription *subscription_new(mcp__stream *stream, mcp__topic *topic, mcp_str uri)
{
    const mcp_allocator *allocator = &stream->session->server->allocator;
    mcp__subscription *s = mcp__zalloc(allocator, sizeof(*s) + uri.len);
    if (!s)
        return NULL;
    char *text = (char *)(s + 1);
    memcpy(text, uri.ptr, uri.len);
    s->uri = (mcp_str){text, uri.len};
    s->topic = topic;
    s->stream = stream;
    if (mcp__map_add(&stream->by_uri, s->uri, s) != MCP_OK) {
        mcp__release(allocator, s);
        return NULL;
    }
    return s;
}

static bool may_read(const mcp__stream *stream, mcp_str uri)
{
    const mcp__session *session = stream->session;
    return mcp__may_read(session->server, session->channel->options.identity, uri);
}

int mcp__stream_subscribe(mcp__stream *stream, mcp_str uri)
{
    mcp__session *session = stream->session;
    mcp_server *server = session->server;
    char canonical[MCP__TOPIC_ROOM];
    if (mcp__map_get(&stream->by_uri, uri))
        return MCP_OK;
    int rc = mcp__topic_spell(server, uri, canonical);
    if (rc != MCP_OK)
        return rc;
    if (!may_read(stream, mcp_str_from(canonical)))
        return MCP_ENOTFOUND;
    if (session->n_subscriptions >= session->channel->options.max_subscriptions)
        return MCP_ELIMIT;
    mcp__topic *topic;
    rc = mcp__topic_of(server, uri, stream->identity, &topic);
    if (rc != MCP_OK)
        return rc;
    mcp__subscription *s = subscription_new(stream, topic, uri);
    if (!s) {
        if (mcp__list_empty(&topic->subscriptions))
            mcp__topic_free(server, topic);
        return MCP_ENOMEM;
    }
    mcp__list_append(&topic->subscriptions, &s->in_topic);
    mcp__list_append(&stream->subscriptions, &s->in_stream);
    mcp__list_init(&s->in_dirty);
    session->n_subscriptions++;
    return MCP_OK;
}

void mcp__stream_unsubscribe(mcp__stream *stream, mcp_str uri)
{
    mcp__subscription *s = mcp__map_get(&stream->by_uri, uri);
    if (s)
        subscription_free(s);
}

unsigned mcp__hub_lists(const mcp_server *server)
{
    unsigned lists = 0;
    for (size_t i = 0; i < MCP__COUNT(list_notifications) && !server->options.no_list_changed;
         i++) {
        if (mcp__server_offers(server, list_notifications[i].kind))
            lists |= 1u << list_notifications[i].kind;
    }
    return lists;
}

void mcp__stream_clear(mcp__stream *stream)
{
    mcp__stream_set_lists(stream, 0);
    stream->dirty_lists = 0;
    while (!mcp__list_empty(&stream->subscriptions))
        subscription_free(mcp__container(stream->subscriptions.next, mcp__subscription, in_stream));
    mcp__task_stream_clear(stream);
    mcp__map_free(&stream->by_uri);
    mcp_identity_unref(stream->identity);
    stream->identity = NULL;
}

void mcp__hub_arm(mcp__session *session)
{
    if (session->due != INT64_MAX)
        return;
    session->due = INT64_MIN;
    mcp__channel_wake(session->channel);
}

static void mark(mcp__subscription *s)
{
    if (mcp__list_empty(&s->in_dirty))
        mcp__list_append(&s->stream->session->dirty, &s->in_dirty);
    mcp__hub_arm(s->stream->session);
}

/* Replaces the topic of a subscription by that of the stream's identity. If this fails, for example
 * because the resource does not exist for this identity, the subscription ends. */
static void move(mcp__subscription *s)
{
    mcp_server *server = s->stream->session->server;
    mcp__topic *old = s->topic, *topic;
    int rc = mcp__topic_of(server, s->uri, s->stream->identity, &topic);
    if (rc != MCP_OK) {
        subscription_free(s);
        return;
    }
    mcp__list_remove(&s->in_topic);
    mcp__list_append(&topic->subscriptions, &s->in_topic);
    s->topic = topic;
    if (mcp__list_empty(&old->subscriptions))
        mcp__topic_free(server, old);
    mark(s);
}

void mcp__stream_adopt(mcp__stream *stream)
{
    mcp_identity *now = stream->session->channel->options.identity, *before = stream->identity;
    unsigned lists = stream->lists;
    if (now == before)
        return;
    mcp__stream_set_lists(stream, 0);
    stream->identity = mcp_identity_ref(now);
    mcp__stream_set_lists(stream, lists);
    for (mcp__link *l = stream->subscriptions.next; l != &stream->subscriptions;) {
        mcp__subscription *s = mcp__container(l, mcp__subscription, in_stream);
        l = l->next;
        if (mcp__topic_has_identity(s->topic))
            move(s);
    }
    mcp_identity_unref(before);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void mark_topic(const mcp__topic *topic)
{
    for (mcp__link *l = topic->subscriptions.next; l != &topic->subscriptions; l = l->next)
        mark(mcp__container(l, mcp__subscription, in_topic));
}

void mcp__hub_updated(mcp_server *server, mcp_str key)
{
    const mcp__topic *topic = mcp__map_get(&server->topics, key);
    if (topic)
        mark_topic(topic);
}

/* A provider announces canonical URIs. Other URIs get the spelling of the template that serves them. */
void mcp_server_resource_updated(mcp_server *server, const char *uri)
{
    char canonical[MCP__TOPIC_ROOM];
    mcp_str key = mcp_str_from(uri);
    const mcp__mount *mount = mcp__mount_find(server, key);
    bool anyone = server->topics.count || server->share;
    if (anyone && (!mount || !mount->provider.resolve) &&
        mcp__topic_spell(server, key, canonical) == MCP_OK)
        key = mcp_str_from(canonical);
    mcp__hub_updated(server, key);
    mcp__share_mark(server, MCP__MARK_TOPIC, key);
}

static bool has_expired(const mcp_server *server, const mcp_identity *identity)
{
    int64_t at = mcp_identity_expires_ms(identity);
    return at && mcp__server_clock(server) >= at;
}

void mcp_server_updated_as(mcp_server *server, const char *uri, const mcp_identity *identity)
{
    mcp__buf key;
    if (has_expired(server, identity))
        return;
    mcp__buf_init(&key, &server->allocator, SIZE_MAX);
    mcp__topic_put_key(&key, uri, identity);
    if (!key.failed)
        mcp__hub_updated(server, mcp__buf_view(&key));
    mcp__buf_free(&key);
}

static void mark_list(mcp__stream *stream, unsigned list)
{
    if (!(stream->lists & list))
        return;
    stream->dirty_lists |= list;
    stream->session->lists_dirty = true;
    mcp__hub_arm(stream->session);
}

static void mark_lists(mcp__session *session, mcp__kind kind)
{
    /* A change of templates is announced as a change of resources, because it has no notification
     * of its own. */
    unsigned list = 1u << (kind == MCP__TEMPLATES ? MCP__RESOURCES : kind);
    mark_list(&session->legacy, list);
    for (mcp__link *l = session->streams.next; l != &session->streams; l = l->next)
        mark_list(mcp__container(l, mcp__stream, link), list);
}

void mcp__hub_list_changed(mcp_server *server, mcp__kind kind, const mcp__entry *entry)
{
    if (server->building)
        return; /* the build may still be discarded; if it succeeds, it announces all changes */
    for (mcp__link *l = server->sessions.next; l != &server->sessions; l = l->next) {
        mcp__session *session = mcp__container(l, mcp__session, link);
        if (!entry || mcp__may_list(server, session->channel->options.identity, entry))
            mark_lists(session, kind);
    }
}

static mcp__kind kind_of(mcp_item item)
{
    return item == MCP_ITEM_TOOL     ? MCP__TOOLS
           : item == MCP_ITEM_PROMPT ? MCP__PROMPTS
                                     : MCP__RESOURCES;
}

void mcp__hub_item_changed(mcp_server *server, mcp_item item)
{
    mcp__hub_list_changed(server, kind_of(item), NULL);
}

void mcp_server_list_changed(mcp_server *server, mcp_item item)
{
    mcp__hub_item_changed(server, item);
    if (!server->building)
        mcp__share_list(server, item);
}

static bool is_same(const char *a, mcp_str b)
{
    return a && b.ptr ? mcp_str_eq(mcp_str_from(a), b) : !a && !b.ptr;
}

void mcp__hub_list_changed_for(mcp_server *server, mcp_item item, mcp_str principal)
{
    for (mcp__link *l = server->sessions.next; !server->building && l != &server->sessions;
         l = l->next) {
        mcp__session *session = mcp__container(l, mcp__session, link);
        if (is_same(session->channel->options.principal, principal))
            mark_lists(session, kind_of(item));
    }
}

void mcp_server_list_changed_for(mcp_server *server, mcp_item item, const char *principal)
{
    mcp__hub_list_changed_for(server, item, mcp_str_from(principal));
    if (!server->building)
        mcp__share_list_for(server, item, principal);
}

void mcp_server_list_changed_as(mcp_server *server, mcp_item item, const mcp_identity *identity)
{
    unsigned list = 1u << (item == MCP_ITEM_TEMPLATE ? MCP__RESOURCES : kind_of(item));
    if (server->building || has_expired(server, identity))
        return;
    for (mcp__link *l = server->sessions.next; l != &server->sessions; l = l->next) {
        mcp__session *session = mcp__container(l, mcp__session, link);
        if (session->legacy.identity == identity)
            mark_list(&session->legacy, list);
        for (mcp__link *k = session->streams.next; k != &session->streams; k = k->next) {
            mcp__stream *stream = mcp__container(k, mcp__stream, link);
            if (stream->identity == identity)
                mark_list(stream, list);
        }
    }
}

void mcp_server_resources_changed(mcp_server *server)
{
    mcp_server_list_changed(server, MCP_ITEM_RESOURCE);
}

void mcp__hub_resources_changed_by(mcp_server *server, mcp_str uri)
{
    for (mcp__link *l = server->sessions.next; !server->building && l != &server->sessions;
         l = l->next) {
        mcp__session *session = mcp__container(l, mcp__session, link);
        if (mcp__may_read(server, session->channel->options.identity, uri))
            mark_lists(session, MCP__RESOURCES);
    }
}

void mcp_server_resources_changed_by(mcp_server *server, const char *uri)
{
    mcp__hub_resources_changed_by(server, mcp_str_from(uri));
    if (!server->building)
        mcp__share_mark(server, MCP__MARK_URI, mcp_str_from(uri));
}

void mcp__hub_everything(mcp_server *server)
{
    size_t at = 0;
    mcp__topic *topic;
    while ((topic = mcp__map_next(&server->topics, &at)) != NULL)
        mark_topic(topic);
    for (size_t i = 0; i < MCP__COUNT(list_notifications); i++)
        mcp__hub_list_changed(server, list_notifications[i].kind, NULL);
}

void mcp__hub_all_lists(mcp__session *session)
{
    for (size_t i = 0; i < MCP__COUNT(list_notifications); i++)
        mark_list(&session->legacy, 1u << list_notifications[i].kind);
}

/* ---- notifications --------------------------------------------------------------------------- */

/* Returns false if out of memory. */
static bool send_notification(const mcp__stream *stream, mcp_str method, mcp_str uri)
{
    mcp_channel *channel = stream->session->channel;
    mcp__buf b = mcp__channel_take_buf(channel);
    mcp__buf_lit(&b, "{\"jsonrpc\":\"2.0\",\"method\":");
    mcp__json_put_str(&b, method);
    const char *before = ",\"params\":{";
    if (stream->listen) {
        mcp__buf_lit(&b, ",\"params\":{\"_meta\":{\"" MCP__META_SUBSCRIPTION "\":");
        mcp__buf_str(&b, mcp__request_id(stream->listen));
        mcp__buf_char(&b, '}');
        before = ",";
    }
    if (uri.ptr) {
        mcp__buf_str(&b, mcp_str_from(before));
        mcp__buf_lit(&b, "\"uri\":");
        mcp__json_put_str(&b, uri);
    }
    if (stream->listen || uri.ptr)
        mcp__buf_char(&b, '}');
    mcp__buf_char(&b, '}');
    bool written = !b.failed;
    if (written)
        mcp__channel_send(channel, stream->listen ? stream->listen->in.exchange : 0,
                          mcp__buf_view(&b), (mcp_output_info){0});
    mcp__channel_give_buf(channel, &b);
    return written;
}

/* Sends a notification for each marked list. Returns false if the peer stops reading or memory runs
 * out; the remaining marks stay set. */
static bool send_list_notifications(mcp__stream *stream)
{
    for (size_t i = 0; i < MCP__COUNT(list_notifications); i++) {
        unsigned list = 1u << list_notifications[i].kind;
        if (!(stream->dirty_lists & list))
            continue;
        if (!stream->session->channel->writable ||
            !send_notification(stream, list_notifications[i].method, (mcp_str){0}))
            return false;
        stream->dirty_lists &= ~list;
    }
    return true;
}

static bool send_all_list_notifications(mcp__session *session)
{
    bool all = send_list_notifications(&session->legacy);
    for (mcp__link *l = session->streams.next; all && l != &session->streams; l = l->next)
        all = send_list_notifications(mcp__container(l, mcp__stream, link));
    return all;
}

/* Returns true if all marks have been reported. */
static bool send_notifications(mcp__session *session)
{
    if (session->lists_dirty)
        session->lists_dirty = !send_all_list_notifications(session);
    while (!session->lists_dirty && !mcp__list_empty(&session->dirty)) {
        mcp__subscription *s = mcp__container(session->dirty.next, mcp__subscription, in_dirty);
        if (!session->channel->writable ||
            (may_read(s->stream, mcp__topic_uri(s->topic)) &&
             !send_notification(s->stream, MCP_STR("notifications/resources/updated"), s->uri)))
            return false;
        mcp__list_remove(&s->in_dirty);
    }
    return !session->lists_dirty && mcp__task_send_notifications(session);
}

void mcp__hub_tick(mcp__session *session, int64_t now)
{
    const int64_t interval = (int64_t)session->server->options.coalesce_ms;
    if (session->due == INT64_MIN)
        session->due = now + interval;
    if (session->due > now || !session->channel->writable)
        return;
    session->due = send_notifications(session) ? INT64_MAX : now + interval;
}

void mcp__hub_flush(mcp__session *session)
{
    if (session->due != INT64_MAX && session->channel->writable && send_notifications(session))
        session->due = INT64_MAX;
}

void mcp_request_send_changes(mcp_request *req)
{
    mcp_channel *channel = mcp__request_channel(req);
    if (channel)
        mcp__hub_flush(channel->state);
}
