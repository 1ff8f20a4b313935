/* list_watch.c: which lists the streams are subscribed to, and the providers that watch them.
 *
 * Most providers are told only that any stream is subscribed to their list. A provider whose list
 * depends on the caller is told of each stream (mcp_provider.watch_list_as). */
#include "server/core/hub.h"
#include "server/core/server.h"
#include "server/core/session.h"
#include "server/share/watch.h"

static void log_unwatched(mcp_server *server, const mcp__mount *mount, int rc)
{
    if (rc < 0)
        mcp__server_log(server, "warning", "%s cannot watch its list: %s", mount->provider.name,
                        mcp_error_text(rc));
}

/* Returns the lists that are watched here, as bits: those to which any stream is subscribed, unless another
 * instance watches them, and those that are watched for other instances. */
static unsigned watched_lists(const mcp_server *server)
{
    unsigned lists = 0;
    for (unsigned k = 0; k < MCP__KINDS; k++)
        lists |= server->list_streams[k] ? 1u << k : 0;
    return (lists & ~server->lent_lists) | server->held_lists;
}

/* Returns the lists that contain items of a mount, as bits. */
static unsigned lists_of(const mcp__mount *mount)
{
    unsigned lists = 1u << MCP__RESOURCES;
    for (unsigned k = 0; k < MCP__KINDS; k++)
        lists |= mcp__mount_has(mount, (mcp__kind)k) ? 1u << k : 0;
    return lists;
}

/* A provider that is told of each stream is asked for each. */
bool mcp__mount_is_watched(const mcp_server *server, const mcp__mount *mount)
{
    return mount->provider.watch_list_as || lists_of(mount) & watched_lists(server);
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

/* For the other providers, after watched_lists() changed. */
static void watched_lists_changed(mcp_server *server, unsigned before)
{
    unsigned after = watched_lists(server);
    for (size_t i = 0; i < server->n_mounts && before != after; i++) {
        const mcp__mount *m = server->mounts[i];
        bool was_watched = lists_of(m) & before, is_watched = lists_of(m) & after;
        if (m->provider.watch_list_as || was_watched == is_watched)
            continue;
        if (is_watched)
            mcp__mount_watch_list(server, m);
        else
            mcp__mount_unwatch_list(server, m);
    }
}

/* Tells the instance that watches whether a list has subscribers here. */
static void tell(mcp_server *server, unsigned k, size_t before)
{
    char digit = (char)('0' + k);
    size_t after = server->list_streams[k];
    if (after && !before)
        mcp__watch_wanted(server, MCP__WATCH_LIST, (mcp_str){&digit, 1});
    else if (before && !after)
        mcp__watch_unwanted(server, MCP__WATCH_LIST, (mcp_str){&digit, 1});
}

void mcp__stream_set_lists(mcp__stream *stream, unsigned lists)
{
    mcp_server *server = stream->session->server;
    unsigned before = watched_lists(server), previous = stream->lists;
    stream->lists = lists;
    for (unsigned k = 0; k < MCP__KINDS; k++) {
        size_t streams = server->list_streams[k];
        server->list_streams[k] += lists >> k & 1;
        server->list_streams[k] -= previous >> k & 1;
        tell(server, k, streams);
    }
    for (size_t i = 0; i < server->n_mounts && previous != lists; i++)
        if (server->mounts[i]->provider.watch_list_as)
            set_lists_as(stream, server->mounts[i], previous);
    watched_lists_changed(server, before);
}

/* ---- lists that one instance watches for all (share/watch.h) ------------------------------------- */

static int kind_in(mcp_str digit)
{
    bool valid = digit.len == 1 && digit.ptr[0] >= '0' && digit.ptr[0] < '0' + MCP__KINDS;
    return valid ? digit.ptr[0] - '0' : -1;
}

static void set_bit(unsigned *lists, int kind, bool on)
{
    *lists = on ? *lists | 1u << kind : *lists & ~(1u << kind);
}

void mcp__list_lend(mcp_server *server, mcp_str digit, bool lent)
{
    unsigned before = watched_lists(server);
    int kind = kind_in(digit);
    if (kind >= 0)
        set_bit(&server->lent_lists, kind, lent);
    watched_lists_changed(server, before);
}

int mcp__list_hold(mcp_server *server, mcp_str digit, bool held)
{
    unsigned before = watched_lists(server);
    int kind = kind_in(digit);
    if (kind < 0)
        return MCP_EINVAL;
    set_bit(&server->held_lists, kind, held);
    watched_lists_changed(server, before);
    return MCP_OK;
}
