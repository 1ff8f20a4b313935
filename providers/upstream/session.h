/* session.h: the sessions with the other server, one for each principal, and what is asked in them.
 */
#ifndef UPSTREAM_SESSION_H
#define UPSTREAM_SESSION_H

#include <mcp/children.h>

#include "names.h"
#include "upstream.h"

typedef struct upstream_session upstream_session;
typedef struct upstream_ask upstream_ask;

/* What is mounted. */
typedef struct upstream {
    mcp_server *server;
    mcp_upstream_options options; /* its texts are ours */
    mcp_allocator alloc;
    char prefix[UPSTREAM_SOURCE_MAX + 8];      /* "mcp+NAME:" */
    char name_prefix[UPSTREAM_SOURCE_MAX + 2]; /* "NAME_" */
    upstream_names names;
    upstream_session *sessions;
    size_t n_sessions;
    bool listening;        /* somebody wants to know of changes of lists */
    mcp_host_timer *timer; /* looks for idle sessions */
} upstream;

struct upstream_session {
    upstream_session *next;
    upstream *up;
    char *principal; /* NULL: anonymous */
    mcp_client *client;
    void *link;           /* of options.connect */
    mcp_service *service; /* or of a program */
    mcp_http_client *http;
    upstream_ask *asks;
    int64_t last_use;
    bool failed; /* its connection is gone for good: a new session is opened */

    mcp_subscription *subscription;
    char **uris; /* that are watched, of the other server */
    size_t n_uris, cap_uris;
    mcp_service_use watching; /* while there are any */
    bool watches;
    bool was_active; /* the subscription was confirmed once */
};

/* A request that is passed on. */
struct upstream_ask {
    upstream_ask *next;
    upstream_session *session;
    mcp_request *req; /* NULL: nobody waits any more */
    const char *method;
    char *params;
    bool lists, goes_on; /* a page of a list; not its first one */
    bool learns;         /* the names are read first; then `name` is set */
    mcp_item item;
    char *name;
    mcp_call_id call; /* 0: not sent yet */
    mcp_service_use use;
};

/* ---- session.c ------------------------------------------------------------------------------- */

/* The session of a principal, opened if need be. */
int upstream_session_get(upstream *up, const char *principal, upstream_session **ret,
                         mcp_error *error);
/* The one that is open, or NULL. */
upstream_session *upstream_session_find(const upstream *up, const char *principal);
/* Ends all of them. */
void upstream_sessions_close(upstream *up);

/* ---- link.c ---------------------------------------------------------------------------------- */

/* Connects the client of a session, or prepares it: MCP_OK, or a negative code with the reason. */
int upstream_link_open(upstream_session *s, mcp_error *error);
void upstream_link_close(upstream_session *s);

/* ---- ask.c ----------------------------------------------------------------------------------- */

/* Passes the request on. `params` is taken over; name: a tool or prompt whose original name has to
 * be looked up first, or ptr NULL. MCP_PENDING, or what the handler has to return. */
int upstream_ask_begin(upstream *up, mcp_request *req, const upstream_ask *like);
/* The session ends: those who wait for its process are answered. */
void upstream_asks_fail(upstream_session *s, int rc, const mcp_error *error);

/* ---- params.c -------------------------------------------------------------------------------- */

/* What is changed in the params of a request on its way. */
typedef struct upstream_change {
    mcp_str cursor; /* ptr NULL: without one */
    mcp_str name, uri;
    bool ref; /* name or uri are those of `ref` */
} upstream_change;

/* The params as the other server gets them, NUL-terminated. MCP_OK, MCP_ENOMEM, … */
int upstream_params(mcp_request *req, const upstream_change *change, const mcp_allocator *alloc,
                    char **ret);

/* ---- watch.c --------------------------------------------------------------------------------- */

int upstream_watch(const char *canonical, const char *principal, void *user);
void upstream_unwatch(const char *canonical, const char *principal, void *user);
int upstream_watch_list(void *user);
void upstream_unwatch_list(void *user);
/* Subscribes as far as somebody wants to know. */
void upstream_watch_begin(upstream_session *s);
/* Its process is needed while URIs are watched. */
void upstream_watch_keep(upstream_session *s);
void upstream_watch_free(upstream_session *s);
/* Everything may have changed. */
void upstream_watch_announce(upstream_session *s);

#endif
