/* session.h: the sessions with the other server, one for each principal, and their requests. */
#ifndef UPSTREAM_SESSION_H
#define UPSTREAM_SESSION_H

#include <mcp/children.h>

#include "names.h"
#include "passing.h"
#include "upstream.h"

enum { UPSTREAM_PREFIX_ROOM = UPSTREAM_SOURCE_MAX + 8 };

typedef struct upstream_session upstream_session;
typedef struct upstream_ask upstream_ask;

/* A principal whose session was ended while lists were watched. */
typedef struct upstream_past {
    struct upstream_past *next;
    bool named; /* whether it has a name */
    char principal[];
} upstream_past;

/* One mounted server. */
typedef struct upstream {
    struct upstream *next, **at; /* in options.group */
    mcp_server *server;
    mcp_upstream_options options; /* strings are owned */
    mcp_allocator alloc;
    char prefix[UPSTREAM_PREFIX_ROOM];      /* "mcp+NAME:" */
    char name_prefix[UPSTREAM_PREFIX_ROOM]; /* "NAME_" */
    upstream_names names;
    upstream_session *sessions;
    size_t n_sessions;
    bool listening;      /* lists are being watched */
    upstream_past *past; /* those whom `forgot` does not cover */
    size_t n_past;
    bool forgot;               /* there were more than can be remembered */
    mcp_host_timer *timer;     /* ends idle sessions, and reopens those that watch resources */
    mcp_upstream_state totals; /* the counters, without those of open sessions' processes */
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
    bool failed; /* the next request opens a new session */
    bool lost;   /* and that is because the connection has ended */

    mcp_subscription *subscription;
    char **uris; /* watched URIs, as the other server names them */
    size_t n_uris, cap_uris;
    mcp_service_use watching; /* keeps the process running while URIs are watched */
    bool watches;
    unsigned n_refused; /* tools that were left out because of their headers */
    bool missed;        /* the subscription was interrupted, so changes may have been missed */
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

/* The lists that the provider serves itself. */
enum { UPSTREAM_ITEMS = 1 << MCP_ITEM_TEMPLATE | 1 << MCP_ITEM_PROMPT | 1 << MCP_ITEM_TOOL };

/* Writes the prefixes of URIs and of names. */
void upstream_put_prefixes(const char *name, char prefix[UPSTREAM_PREFIX_ROOM],
                           char names[UPSTREAM_PREFIX_ROOM]);
/* Checks options, but for allocations. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
int upstream_check(const mcp_upstream_options *o, mcp_error *error);

/* ---- session.c ------------------------------------------------------------------------------- */

/* Finds the session of a principal, or opens one. Returns MCP_OK, MCP_ELIMIT (max_sessions),
 * MCP_ENOMEM or the errors of upstream_link_open(). */
int upstream_session_get(upstream *up, const char *principal, upstream_session **ret,
                         mcp_error *error);
/* Returns the open session of a principal, or NULL. */
upstream_session *upstream_session_find(const upstream *up, const char *principal);
/* Writes a line to the log of the server. */
void upstream_say(const upstream *up, const char *level, const char *text);
bool upstream_session_is_of(const upstream_session *s, const char *principal);
/* Marks a session whose connection has ended. The timer frees it. */
void upstream_session_lost(upstream_session *s);
/* Ends all sessions. */
void upstream_sessions_close(upstream *up);

/* ---- try.c ----------------------------------------------------------------------------------- */

/* See mcp_upstream_try_json(). */
int upstream_try(const mcp_upstream_options *options, char *said, size_t room, mcp_error *error);

/* ---- state.c --------------------------------------------------------------------------------- */

void upstream_group_add(upstream *up);
void upstream_group_remove(upstream *up);
/* Adds the figures of a process to the totals, before its service is freed. */
void upstream_count_process(upstream *up, const mcp_service *service);

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
/* Takes over the watched URIs of a session of the same principal that has failed. */
void upstream_watch_adopt(upstream_session *s);
/* Remembers that the session's principal may miss changes of lists from now on. */
void upstream_past_add(const upstream_session *s);
/* Whether the principal may have missed changes; forgets it. */
bool upstream_past_take(upstream *up, const char *principal);
void upstream_past_clear(upstream *up);
/* Announces that all lists and all watched URIs may have changed. */
void upstream_watch_announce(upstream_session *s);

#endif
