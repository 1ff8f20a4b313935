/* hub.h: subscriptions and notifications of changes; see hub.c. */
#ifndef MCP_SRC_SERVER_HUB_H
#define MCP_SRC_SERVER_HUB_H

#include <mcp/provider.h>

#include "server/core/registry.h"

typedef struct mcp__session mcp__session;

/* A destination of notifications of changes: a legacy session (listen is NULL), or one
 * subscriptions/listen. */
typedef struct mcp__stream {
    mcp__link link; /* in session->streams */
    mcp__session *session;
    mcp_request *listen;    /* NULL for a legacy session */
    mcp_identity *identity; /* the providers watch for this identity; see mcp__stream_adopt() */
    unsigned lists;         /* the subscribed lists, as bits 1 << mcp__kind */
    unsigned dirty_lists;   /* those of the subscribed lists that changed */
    mcp__link subscriptions;
    mcp__map by_uri; /* subscriptions, by the URI exactly as the client sent it */
    mcp__link tasks; /* mcp__task_watch */
} mcp__stream;

void mcp__stream_init(mcp__stream *stream, mcp__session *session, mcp_request *listen);
/* Ends all subscriptions of a stream and frees its memory, but not the stream itself. */
void mcp__stream_clear(mcp__stream *stream);
/* Makes the identity of the session's last message that of the stream. What a provider watches for
 * an identity (mcp_provider.watch_as) is then watched for this one, and announced as changed. */
void mcp__stream_adopt(mcp__stream *stream);
/* Returns the lists for which this server announces changes, as bits 1 << mcp__kind. */
unsigned mcp__hub_lists(const mcp_server *server);
/* Replaces the subscribed lists. Providers start or stop watching as necessary. */
void mcp__stream_set_lists(mcp__stream *stream, unsigned lists);
/* Stops watching a list, whose mcp__kind is a digit, because another instance watches it, or watches it here
 * again. */
void mcp__list_lend(mcp_server *server, mcp_str digit, bool lent);
/* Watches a list for other instances, or stops. Returns MCP_OK or MCP_EINVAL. */
int mcp__list_hold(mcp_server *server, mcp_str digit, bool held);
/* Returns MCP_OK (also if the stream is subscribed already), MCP_ENOTFOUND if no such resource can
 * exist or the caller may not read it, MCP_ELIMIT if there are too many subscriptions, or another
 * negative code. */
int mcp__stream_subscribe(mcp__stream *stream, mcp_str uri);
void mcp__stream_unsubscribe(mcp__stream *stream, mcp_str uri);

/* Announces a change of a list. `entry` is the entry that was added or removed; only callers that
 * may see it are notified. If `entry` is NULL, all callers are notified. */
void mcp__hub_list_changed(mcp_server *server, mcp__kind kind, const mcp__entry *entry);
/* What mcp/server.h and mcp/provider.h announce, for the clients of this instance only
 * (share/share.h tells the others). A NULL principal means anonymous. mcp__hub_updated() takes the key
 * of a topic (topic.h). */
void mcp__hub_updated(mcp_server *server, mcp_str key);
void mcp__hub_item_changed(mcp_server *server, mcp_item item);
void mcp__hub_list_changed_for(mcp_server *server, mcp_item item, mcp_str principal);
void mcp__hub_resources_changed_by(mcp_server *server, mcp_str uri);
/* Announces each subscribed resource and list as changed. */
void mcp__hub_everything(mcp_server *server);
/* Announces each list that a legacy session is told of as changed, to this session. */
void mcp__hub_all_lists(mcp__session *session);
/* Makes the current mounts watch all topics. */
void mcp__hub_rewatch(mcp_server *server);
/* Schedules the notifications of the changes that are marked in a session. */
void mcp__hub_arm(mcp__session *session);
/* Sends the notifications of a session that are due. */
/* Sends the notifications for all marked subscriptions now, if the peer is reading. */
void mcp__hub_flush(mcp__session *session);
void mcp__hub_tick(mcp__session *session, int64_t now);
void mcp__hub_free(mcp_server *server);

#endif
