/* hub.h: who is told of what; see hub.c. */
#ifndef MCP_SRC_SERVER_HUB_H
#define MCP_SRC_SERVER_HUB_H

#include "server/core/registry.h"

typedef struct mcp__session mcp__session;

/* A stream of notices: a legacy session (listen is NULL), or one subscriptions/listen. */
typedef struct mcp__stream {
    mcp__link link; /* in session->streams */
    mcp__session *session;
    mcp_request *listen;
    unsigned lists;       /* 1 << mcp__kind: which lists' changes it is told */
    unsigned dirty_lists; /* which of them changed */
    mcp__link subscriptions;
    mcp__map by_uri; /* the same, by their spelling */
    mcp__link tasks; /* mcp__task_watch */
} mcp__stream;

void mcp__stream_init(mcp__stream *stream, mcp__session *session, mcp_request *listen);
void mcp__stream_clear(mcp__stream *stream);
/* Which lists' changes this server announces at all. */
unsigned mcp__hub_lists(const mcp_server *server);
void mcp__stream_set_lists(mcp__stream *stream, unsigned lists);
/* MCP_OK (also when it is subscribed already), MCP_ENOTFOUND: never to be served; MCP_ELIMIT, …. */
int mcp__stream_subscribe(mcp__stream *stream, mcp_str uri);
void mcp__stream_unsubscribe(mcp__stream *stream, mcp_str uri);

/* entry: what came or went, which only who may see it is told of; NULL: nobody knows. */
void mcp__hub_list_changed(mcp_server *server, mcp__kind kind, const mcp__entry *entry);
/* Has the present mounts watch what is subscribed to. */
void mcp__hub_watch_anew(mcp_server *server);
/* There is something to tell. */
void mcp__hub_arm(mcp__session *session);
void mcp__hub_tick(mcp__session *session, int64_t now);
void mcp__hub_free(mcp_server *server);

#endif
