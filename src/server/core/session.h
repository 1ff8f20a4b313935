/* session.h: the server's side of one channel, and the state of a legacy session. */
#ifndef MCP_SRC_SERVER_SESSION_H
#define MCP_SRC_SERVER_SESSION_H

#include "channel/channel.h"
#include "server/core/hub.h"

struct mcp__session {
    mcp__link link; /* in server->sessions */
    mcp_server *server;
    mcp_channel *channel;

    /* legacy only */
    const mcp__revision *revision; /* NULL before initialize */
    bool initialized;              /* notifications/initialized was received */
    bool has_log_level;            /* the client has set log_level */
    bool lists_dirty;              /* a subscribed list changed */
    int log_level;                 /* logging/setLevel */
    uint64_t logged;          /* number of the last forwarded log message it was considered for */
    mcp_json_doc *initialize; /* the params of initialize: capabilities, clientInfo */
    mcp__link elicitations;   /* elicitations in URL mode that are not complete */
    size_t n_elicitations;
    mcp__stream legacy;

    mcp__link streams;
    mcp__link dirty;       /* mcp__subscription whose resource changed */
    mcp__link dirty_tasks; /* mcp__task_watch whose task changed */
    /* When to send notifications. INT64_MAX means never, and INT64_MIN means one interval after the
     * next tick. */
    int64_t due;
    size_t n_subscriptions;
    size_t n_listens; /* open subscriptions/listen */
    mcp_request *deadlines;
};

extern const mcp__role mcp__server_role;

/* Ends everything that the previous initialize began. */
void mcp__session_forget(mcp_request *initialize);

#endif
