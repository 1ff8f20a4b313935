/* session.h: the sessions with the other server, one for each principal, and their requests. */
#ifndef UPSTREAM_SESSION_H
#define UPSTREAM_SESSION_H

#include <mcp/children.h>

#include "names.h"
#include "passing.h"
#include "upstream.h"

typedef struct upstream_session upstream_session;
typedef struct upstream_ask upstream_ask;

/* One mounted server. */
typedef struct upstream {
    mcp_server *server;
    mcp_upstream_options options; /* strings are owned */
    mcp_allocator alloc;
    char prefix[UPSTREAM_SOURCE_MAX + 8];      /* "mcp+NAME:" */
    char name_prefix[UPSTREAM_SOURCE_MAX + 2]; /* "NAME_" */
    upstream_names names;
    upstream_session *sessions;
    size_t n_sessions;
    bool listening;        /* lists are being watched */
    mcp_host_timer *timer; /* ends idle sessions */
} upstream;

struct upstream_session {
    upstream_session *next;
    upstream *up;
    char *principal; /* NULL if anonymous */
    mcp_client *client;
    void *link;           /* set by options.connect */
    mcp_service *service; /* if the other server is a program */
    mcp_http_client *http;
    upstream_ask *asks;
    int64_t last_use;
    bool failed; /* the connection has ended; the next request opens a new session */

    mcp_subscription *subscription;
    char **uris; /* watched URIs, as the other server names them */
    size_t n_uris, cap_uris;
    mcp_service_use watching; /* keeps the process running while URIs are watched */
    bool watches;
    bool was_active; /* the subscription has been confirmed before */
};

/* A forwarded request. */
struct upstream_ask {
    upstream_ask *next;
    upstream_session *session;
    mcp_request *req; /* NULL after a cancellation */
    const char *method;
    char *params;
    bool lists, goes_on; /* lists: a page of a list; goes_on: not its first page */
    bool learns;         /* the list of names is read first; then `name` is set */
    mcp_item item;
    char *name;
    mcp_call_id call; /* 0 if not sent yet */
    mcp_service_use use;
};

/* ---- session.c ------------------------------------------------------------------------------- */

/* Finds the session of a principal, or opens one. Returns MCP_OK, MCP_ELIMIT (max_sessions),
 * MCP_ENOMEM or the errors of upstream_link_open(). */
int upstream_session_get(upstream *up, const char *principal, upstream_session **ret,
                         mcp_error *error);
/* Returns the open session of a principal, or NULL. */
upstream_session *upstream_session_find(const upstream *up, const char *principal);
/* Ends all sessions. */
void upstream_sessions_close(upstream *up);

/* ---- link.c ---------------------------------------------------------------------------------- */

/* Connects the client of a session, or prepares the connection. Returns MCP_OK, or a negative code
 * with the reason in *error. */
int upstream_link_open(upstream_session *s, mcp_error *error);
void upstream_link_close(upstream_session *s);

/* ---- ask.c ----------------------------------------------------------------------------------- */

/* Forwards a request; `like` is a template for it. Takes ownership of like->params and like->name.
 * If `like->learns`, `like->name` is a tool or prompt whose original name has to be looked up
 * first. Returns MCP_PENDING, or what the handler has to return. */
int upstream_ask_begin(upstream *up, mcp_request *req, const upstream_ask *like);
/* Answers the requests that still wait for the process of a session that ends. */
void upstream_asks_fail(upstream_session *s, int rc, const mcp_error *error);

/* ---- watch.c --------------------------------------------------------------------------------- */

int upstream_watch(const char *canonical, const char *principal, void *user);
void upstream_unwatch(const char *canonical, const char *principal, void *user);
int upstream_watch_list(void *user);
void upstream_unwatch_list(void *user);
/* Subscribes if lists or URIs are watched and no subscription exists. */
void upstream_watch_begin(upstream_session *s);
/* Keeps the session's process running while URIs are watched. */
void upstream_watch_keep(upstream_session *s);
void upstream_watch_free(upstream_session *s);
/* Announces that all lists and all watched URIs may have changed. */
void upstream_watch_announce(upstream_session *s);

#endif
