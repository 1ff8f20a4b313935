/* list_watch.c: which lists the streams are subscribed to, and the providers that watch them.
 *
 * Most providers are told only that any stream is subscribed to their list. A provider whose list
 * depends on the caller is told of each stream (mcp_provider.watch_list_as). */
#include "server/core/hub.h"
#include "server/core/server.h"
#include "server/core/session.h"

static void log_unwatched(mcp_server *server, const mcp__mount *mount, int rc)
{
    if (rc < 0)
        mcp__server_log(server, "warning", "%s cannot watch its list: %s", mount->provider.name,
                        mcp_error_text(rc));
}

/* Returns the lists to which any stream is subscribed, as bits. */
static unsigned subscribed_lists(const mcp_server *server)
{
    unsigned lists = 0;
    for (unsigned k = 0; k < MCP__KINDS; k++)
        lists |= server->list_streams[k] ? 1u << k : 0;
    return lists;
}

/* Returns the lists that contain items of a mount, as bits. */
static unsigned lists_of(const mcp__mount *mount)
{
    unsigned lists = 1u << MCP__RESOURCES;
    for (unsigned k = 0; k < MCP__KINDS; k++)
        lists |= mcp__mount_has(mount, (mcp__kind)k) ? 1u << k : 0;
    return lists;
}

bool mcp__mount_is_subscribed(const mcp_server *server, const mcp__mount *mount)
{
    return lists_of(mount) & subscribed_lists(server);
}

static void watch_list_as(const mcp__mount *m, const mcp__stream *stream)
{
    log_unwatched(stream->session->server, m, m->provider.watch_list_as(stream->identity, m->user));
}

static void unwatch_list_as(const mcp__mount *m, const mcp__stream *stream)
{
    if (m->provider.unwatch_list_as)
        m->provider.unwatch_list_as(stream->identity, m->user);
}

/* Calls `fn` for each stream that is subscribed to a list with items of the mount. */
static void for_streams(mcp_server *server, const mcp__mount *m,
                        void (*fn)(const mcp__mount *m, const mcp__stream *stream))
{
    unsigned lists = lists_of(m);
    for (mcp__link *l = server->sessions.next; l != &server->sessions; l = l->next) {
        mcp__session *session = mcp__container(l, mcp__session, link);
        if (session->legacy.lists & lists)
            fn(m, &session->legacy);
        for (mcp__link *k = session->streams.next; k != &session->streams; k = k->next) {
            mcp__stream *stream = mcp__container(k, mcp__stream, link);
            if (stream->lists & lists)
                fn(m, stream);
        }
    }
}

void mcp__mount_watch_list(mcp_server *server, const mcp__mount *mount)
{
    if (mount->provider.watch_list_as)
        for_streams(server, mount, watch_list_as);
    else if (mount->provider.watch_list)
        log_unwatched(server, mount, mount->provider.watch_list(mount->user));
}

void mcp__mount_unwatch_list(mcp_server *server, const mcp__mount *mount)
{
    if (mount->provider.watch_list_as)
        for_streams(server, mount, unwatch_list_as);
    else if (mount->provider.unwatch_list)
        mount->provider.unwatch_list(mount->user);
}

/* For providers whose lists are watched for each stream. */
static void set_lists_as(const mcp__stream *stream, const mcp__mount *m, unsigned previous)
{
    bool was_watched = lists_of(m) & previous, is_watched = lists_of(m) & stream->lists;
    if (is_watched && !was_watched)
        watch_list_as(m, stream);
    else if (was_watched && !is_watched)
        unwatch_list_as(m, stream);
}

void mcp__stream_set_lists(mcp__stream *stream, unsigned lists)
{
    mcp_server *server = stream->session->server;
    unsigned before = subscribed_lists(server), previous = stream->lists;
    stream->lists = lists;
    for (unsigned k = 0; k < MCP__KINDS; k++) {
        server->list_streams[k] += lists >> k & 1;
        server->list_streams[k] -= previous >> k & 1;
    }
    unsigned after = subscribed_lists(server);
    for (size_t i = 0; i < server->n_mounts && previous != lists; i++) {
        const mcp__mount *m = server->mounts[i];
        if (m->provider.watch_list_as) {
            set_lists_as(stream, m, previous);
            continue;
        }
        bool was_watched = lists_of(m) & before, is_watched = lists_of(m) & after;
        if (is_watched && !was_watched)
            mcp__mount_watch_list(server, m);
        else if (was_watched && !is_watched && m->provider.unwatch_list)
            m->provider.unwatch_list(m->user);
    }
}
