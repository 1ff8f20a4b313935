/* hub.c: subscriptions: collects changes and sends coalesced notices to subscribers.
 *
 * A topic is a resource with at least one subscriber. A stream is a subscriber: a legacy session,
 * or one subscriptions/listen. A change only sets marks. A session sends notices for its marks when
 * its interval is over and its peer reads. A storm of changes therefore costs one notice per
 * interval, and a peer that does not read costs a bounded amount of memory.
 */
#include "server/core/access.h"
#include "server/core/hub.h"
#include "server/tasks/tasks.h"

typedef struct mcp__topic {
    mcp_str key; /* canonical URI, NUL-terminated, in the same block */
    mcp__link subscriptions;
    void *watch_user;
    void (*unwatch)(const char *canonical, void *user);
} mcp__topic;

typedef struct mcp__subscription {
    mcp__link in_topic, in_stream, in_dirty;
    mcp__topic *topic;
    mcp__stream *stream;
    mcp_str uri; /* as the subscriber spelled it, in the same block */
} mcp__subscription;

static const struct {
    mcp__kind kind;
    mcp_str method;
} list_notices[] = {
    {MCP__RESOURCES, {"notifications/resources/list_changed", 36}},
    {MCP__PROMPTS, {"notifications/prompts/list_changed", 34}},
    {MCP__TOOLS, {"notifications/tools/list_changed", 32}},
};

/* ---- topics ------------------------------------------------------------------------------------------ */

static mcp__topic *topic_new(mcp_server *server, mcp_str key)
{
    mcp__topic *t = mcp__zalloc(&server->allocator, sizeof(*t) + key.len + 1);
    if (!t)
        return NULL;
    char *text = (char *)(t + 1);
    memcpy(text, key.ptr, key.len);
    t->key = (mcp_str){text, key.len};
    mcp__list_init(&t->subscriptions);
    if (mcp__map_add(&server->topics, t->key, t) != MCP_OK) {
        mcp__release(&server->allocator, t);
        return NULL;
    }
    return t;
}

static void topic_free(mcp_server *server, mcp__topic *t)
{
    mcp__map_remove(&server->topics, t->key);
    if (t->unwatch)
        t->unwatch(t->key.ptr, t->watch_user);
    mcp__release(&server->allocator, t);
}

/* Finds what serves the URI: its canonical spelling, and the mount that watches it (NULL: none). */
static int resolve(mcp_server *server, mcp_str uri, char *canonical, size_t room,
                   const mcp__mount **mount)
{
    *mount = NULL;
    if (uri.len >= room)
        return MCP_ENOTFOUND;
    mcp_uri parsed;
    mcp__mount *m = mcp__mount_find(server, uri);
    bool registered = mcp__registry_find(server, MCP__RESOURCES, uri) != NULL;
    if (!registered && m && m->provider.resolve) {
        *mount = m;
        return m->provider.resolve(uri, canonical, room, m->user);
    }
    if (!registered) {
        mcp__entry *entry;
        mcp_uri_match *match = NULL;
        if (mcp_uri_parse(uri, &parsed, NULL) != MCP_OK)
            return MCP_ENOTFOUND;
        int rc = mcp__registry_match(server, uri, &entry, &match);
        mcp_uri_match_free(match);
        if (rc != MCP_OK)
            return rc;
    }
    memcpy(canonical, uri.ptr, uri.len);
    canonical[uri.len] = 0;
    return MCP_OK;
}

/* Returns the topic of a URI. A new topic is created and watched. */
static int topic_of(mcp_server *server, mcp_str uri, mcp__topic **ret)
{
    char canonical[MCP_URI_MAX_LENGTH + 1];
    const mcp__mount *mount;
    int rc = resolve(server, uri, canonical, sizeof(canonical), &mount);
    if (rc != MCP_OK)
        return rc;
    mcp_str key = mcp_str_from(canonical);
    *ret = mcp__map_get(&server->topics, key);
    if (*ret)
        return MCP_OK;
    mcp__topic *t = topic_new(server, key);
    if (!t)
        return MCP_ENOMEM;
    if (mount && mount->provider.watch) {
        rc = mount->provider.watch(t->key.ptr, mount->user);
        if (rc == MCP_OK) {
            t->unwatch = mount->provider.unwatch;
            t->watch_user = mount->user;
        }
    } else if (mount) {
        rc = MCP_EUNSUPPORTED;
    }
    if (rc != MCP_OK) {
        topic_free(server, t);
        return rc;
    }
    *ret = t;
    return MCP_OK;
}

/* Watches all topics again after the mounts have changed. A topic that cannot be watched any more
 * stays, without notices. */
void mcp__hub_watch_anew(mcp_server *server)
{
    size_t at = 0;
    mcp__topic *t;
    while ((t = mcp__map_next(&server->topics, &at)) != NULL) {
        const mcp__mount *m = mcp__mount_find(server, t->key);
        bool registered = mcp__registry_find(server, MCP__RESOURCES, t->key) != NULL;
        mcp__topic before = *t;
        t->unwatch = NULL;
        if (!registered && m && m->provider.watch &&
            m->provider.watch(t->key.ptr, m->user) == MCP_OK) {
            t->unwatch = m->provider.unwatch;
            t->watch_user = m->user;
        }
        if (before.unwatch)
            before.unwatch(t->key.ptr, before.watch_user);
    }
}

void mcp__hub_free(mcp_server *server)
{
    mcp__map_free(&server->topics);
}

/* ---- streams --------------------------------------------------------------------------------------------- */

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
        topic_free(server, topic);
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
    return mcp__may_read(session->server, session->channel->options.principal, uri);
}

int mcp__stream_subscribe(mcp__stream *stream, mcp_str uri)
{
    mcp__session *session = stream->session;
    mcp_server *server = session->server;
    if (mcp__map_get(&stream->by_uri, uri))
        return MCP_OK;
    if (!may_read(stream, uri))
        return MCP_ENOTFOUND;
    if (session->n_subscriptions >= session->channel->options.max_subscriptions)
        return MCP_ELIMIT;
    mcp__topic *topic;
    int rc = topic_of(server, uri, &topic);
    if (rc != MCP_OK)
        return rc;
    mcp__subscription *s = subscription_new(stream, topic, uri);
    if (!s) {
        if (mcp__list_empty(&topic->subscriptions))
            topic_free(server, topic);
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
    for (size_t i = 0; i < MCP__COUNT(list_notices) && !server->options.no_list_changed; i++) {
        if (mcp__server_offers(server, list_notices[i].kind))
            lists |= 1u << list_notices[i].kind;
    }
    return lists;
}

void mcp__mount_watch_list(mcp_server *server, const mcp__mount *mount)
{
    int rc = mount->provider.watch_list ? mount->provider.watch_list(mount->user) : MCP_OK;
    if (rc < 0)
        mcp__server_log(server, "warning", "%s cannot watch its list: %s", mount->provider.name,
                        mcp_error_text(rc));
}

static void watch_lists(mcp_server *server, bool watch)
{
    for (size_t i = 0; i < server->n_mounts; i++) {
        const mcp__mount *m = server->mounts[i];
        if (watch)
            mcp__mount_watch_list(server, m);
        else if (!watch && m->provider.unwatch_list)
            m->provider.unwatch_list(m->user);
    }
}

void mcp__stream_set_lists(mcp__stream *stream, unsigned lists)
{
    mcp_server *server = stream->session->server;
    const unsigned resources = 1u << MCP__RESOURCES;
    bool before = stream->lists & resources, after = lists & resources;
    stream->lists = lists;
    if (after && !before && server->n_list_streams++ == 0)
        watch_lists(server, true);
    if (before && !after && --server->n_list_streams == 0)
        watch_lists(server, false);
}

void mcp__stream_clear(mcp__stream *stream)
{
    mcp__stream_set_lists(stream, 0);
    stream->dirty_lists = 0;
    while (!mcp__list_empty(&stream->subscriptions))
        subscription_free(mcp__container(stream->subscriptions.next, mcp__subscription, in_stream));
    mcp__task_stream_clear(stream);
    mcp__map_free(&stream->by_uri);
}

/* ---- changes ------------------------------------------------------------------------------------------------ */

void mcp__hub_arm(mcp__session *session)
{
    if (session->due != INT64_MAX)
        return;
    session->due = INT64_MIN;
    mcp__channel_wake(session->channel);
}

void mcp_server_resource_updated(mcp_server *server, const char *uri)
{
    mcp__topic *topic = mcp__map_get(&server->topics, mcp_str_from(uri));
    if (!topic)
        return;
    for (mcp__link *l = topic->subscriptions.next; l != &topic->subscriptions; l = l->next) {
        mcp__subscription *s = mcp__container(l, mcp__subscription, in_topic);
        if (mcp__list_empty(&s->in_dirty))
            mcp__list_append(&s->stream->session->dirty, &s->in_dirty);
        mcp__hub_arm(s->stream->session);
    }
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
    /* Templates have no notice of their own: clients that list resources list them too. */
    unsigned list = 1u << (kind == MCP__TEMPLATES ? MCP__RESOURCES : kind);
    mark_list(&session->legacy, list);
    for (mcp__link *l = session->streams.next; l != &session->streams; l = l->next)
        mark_list(mcp__container(l, mcp__stream, link), list);
}

void mcp__hub_list_changed(mcp_server *server, mcp__kind kind, const mcp__entry *entry)
{
    if (server->building)
        return; /* the build may be discarded; if not, it reports the change at its end */
    for (mcp__link *l = server->sessions.next; l != &server->sessions; l = l->next) {
        mcp__session *session = mcp__container(l, mcp__session, link);
        if (!entry || mcp__may_see(server, session->channel->options.principal, entry))
            mark_lists(session, kind);
    }
}

void mcp_server_resources_changed(mcp_server *server)
{
    mcp__hub_list_changed(server, MCP__RESOURCES, NULL);
}

void mcp_server_resources_changed_by(mcp_server *server, const char *uri)
{
    for (mcp__link *l = server->sessions.next; !server->building && l != &server->sessions;
         l = l->next) {
        mcp__session *session = mcp__container(l, mcp__session, link);
        if (mcp__may_read(server, session->channel->options.principal, mcp_str_from(uri)))
            mark_lists(session, MCP__RESOURCES);
    }
}

/* ---- notices -------------------------------------------------------------------------------------------------- */

/* Returns false if out of memory. */
static bool send_notice(const mcp__stream *stream, mcp_str method, mcp_str uri)
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
    bool made = !b.failed;
    if (made)
        mcp__channel_send(channel, stream->listen ? stream->listen->in.exchange : 0,
                          mcp__buf_view(&b), (mcp_output_info){0});
    mcp__channel_give_buf(channel, &b);
    return made;
}

/* The peer may stop reading in the middle, and memory may run out: marks without a notice stay
 * set. */
static bool tell_lists(mcp__stream *stream)
{
    for (size_t i = 0; i < MCP__COUNT(list_notices); i++) {
        unsigned list = 1u << list_notices[i].kind;
        if (!(stream->dirty_lists & list))
            continue;
        if (!stream->session->channel->writable ||
            !send_notice(stream, list_notices[i].method, (mcp_str){0}))
            return false;
        stream->dirty_lists &= ~list;
    }
    return true;
}

static bool tell_all_lists(mcp__session *session)
{
    bool all = tell_lists(&session->legacy);
    for (mcp__link *l = session->streams.next; all && l != &session->streams; l = l->next)
        all = tell_lists(mcp__container(l, mcp__stream, link));
    return all;
}

/* Returns true if all marks have been reported. */
static bool tell(mcp__session *session)
{
    if (session->lists_dirty)
        session->lists_dirty = !tell_all_lists(session);
    while (!session->lists_dirty && !mcp__list_empty(&session->dirty)) {
        mcp__subscription *s = mcp__container(session->dirty.next, mcp__subscription, in_dirty);
        if (!session->channel->writable ||
            (may_read(s->stream, s->uri) &&
             !send_notice(s->stream, MCP_STR("notifications/resources/updated"), s->uri)))
            return false;
        mcp__list_remove(&s->in_dirty);
    }
    return !session->lists_dirty && mcp__task_tell(session);
}

void mcp__hub_tick(mcp__session *session, int64_t now)
{
    const int64_t interval = (int64_t)session->server->options.coalesce_ms;
    if (session->due == INT64_MIN)
        session->due = now + interval;
    if (session->due > now || !session->channel->writable)
        return;
    session->due = tell(session) ? INT64_MAX : now + interval;
}
