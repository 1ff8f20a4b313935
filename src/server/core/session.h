/* session.h: the server's side of one channel: what a legacy peer's session remembers. */
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
    bool initialized;              /* the notification came */
    int log_level;                 /* logging/setLevel */
    mcp_json_doc *initialize;      /* the params of initialize: capabilities, clientInfo */
    mcp__link elicitations;        /* in URL mode, not complete */
    size_t n_elicitations;
    mcp__stream legacy;

    mcp__link streams;
    mcp__link dirty;       /* mcp__subscription whose resource changed */
    mcp__link dirty_tasks; /* mcp__task_watch whose task changed */
    bool lists_dirty;
    int64_t
        due; /* when to tell: INT64_MAX nothing to tell, INT64_MIN as soon as the time is known */
    size_t n_subscriptions;
    size_t n_listens; /* open subscriptions/listen */
    mcp_request *deadlines;
};

extern const mcp__role mcp__server_role;

/* ---- era.c ------------------------------------------------------------------------------------------ */

/* The revision that a request is to be understood by; NULL after the error was set. req->revision is set either
 * way: it says what form the error has. */
const mcp__revision *mcp__era_find(mcp_request *req);
/* Whether a client describes itself as the schema demands (Implementation); `where` names the member in the error. */
int mcp__era_check_info(mcp_request *req, const mcp_json *info, const char *where);

#endif
