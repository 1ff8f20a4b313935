/* http.h: the structures of the HTTP layer.
 *
 *   mcp_http              an endpoint: options, sessions, counters, timers
 *   mcp_http_connection   a connection: the parser, the current request, and its answer
 *   mcp__http_peer        a channel and its timer
 *   mcp__http_session     a legacy session: a peer and its event streams
 *   mcp_http_budget       a memory limit, which several endpoints can share
 *
 *   endpoint.c                                             creates, drains and frees an endpoint;
 *                                                          runs its timers
 *   connection.c, requests.c                               a connection; splits its bytes into
 *                                                          requests
 *   headers.c, forwarded.c                                 the head of a request; the client behind proxies
 *   callers.c                                              connections of each address and principal
 *   login.c                                                authentication of requests
 *   route.c                                                checks before the body is read
 *   exchange.c, peer.c                                     a POSTed message and its answer; the channels
 *   legacy_requests.c, http_session.c, stream.c, duplex.c  sessions of legacy revisions
 *   respond.c, sse_write.c, event_store.c                  complete answers, event streams, stored
 *                                                          events
 *   budget.c, metrics.c, timer.c                           memory limits, counters, timers
 */
#ifndef MCP_SRC_HTTP_SERVER_HTTP_H
#define MCP_SRC_HTTP_SERVER_HTTP_H

#include <llhttp.h>

#include <mcp/http.h>

#include "base/shares.h"
#include "http/server/answer.h"
#include "http/server/budget.h"
#include "http/server/forwarded.h"
#include "http/server/metrics.h"
#include "http/server/timer.h"

typedef struct mcp__http_store mcp__http_store;
struct mcp__fleet; /* fleet.h */

typedef enum mcp__http_target {
    MCP__HTTP_ENDPOINT = 0,
    MCP__HTTP_HEALTHZ,
    MCP__HTTP_METRICS,
    MCP__HTTP_PREFLIGHT,
    MCP__HTTP_DUPLEX,   /* HTTP+SSE */
    MCP__HTTP_RESOURCE, /* protected resource metadata */
    MCP__HTTP_PAGE,     /* a page of the program */
    MCP__HTTP_TARGETS,
} mcp__http_target;

/* An address from which connections come, or a principal that uses them, and the number of these
 * connections. */
typedef struct mcp__http_address {
    size_t count;
    size_t connections; /* number of connections whose `account` it is */
    bool is_proxy;      /* it is a trusted proxy, whose connections are not limited */
    size_t len;
    char text[]; /* NUL-terminated */
} mcp__http_address;

struct mcp_http {
    mcp_server *server;
    const mcp_allocator *allocator;
    mcp_allocator own_allocator;
    mcp_http_options options; /* owns copies of the strings */
    /* max_per_address and max_per_principal are defaults, which are not for callers on this machine */
    bool spares_local_addresses, spares_local_principals;
    char *urls[MCP__HTTP_TARGETS]; /* for mcp_http_login_url(); NULL if there is none */
    llhttp_settings_t parser_settings;
    mcp__link connections;
    size_t n_connections;
    mcp__map addresses, principals;
    mcp__http_network *proxies; /* options.n_trusted_proxies elements */
    mcp__map sessions;
    mcp__shares session_shares; /* of callers; a session that a connection uses is in use */
    size_t session_bytes;       /* the part of the budget that holds sessions */
    mcp_identity *nobody;       /* the anonymous caller, for those in views; NULL without views */
    struct mcp__fleet *fleet;   /* NULL if sessions belong to this endpoint alone */
    mcp_http_relays relays;
    mcp__link orphans;
    mcp__http_timer *timers;
    uint64_t exchanges;
    mcp__buf out;   /* output buffer */
    mcp__buf spare; /* of all channels; without an allocator before the first one */
    mcp__http_store *store;
    mcp_event_store event_store;
    mcp__http_metrics metrics;
    mcp__http_complaint complaint; /* for refused connections */
    mcp__http_complaint evictions; /* of sessions */
    mcp_http_budget *budget;
    bool own_budget;
    mcp__link in_budget; /* in budget->endpoints */
    int64_t now;
    unsigned depth; /* nesting of calls into the endpoint */
    bool retired;   /* mcp_http_retire() */
    bool draining, woken;
    bool succeeded;     /* another process takes over: mcp_http_set_linger() */
    uint64_t linger_ms; /* how long draining leaves idle connections open */
    int64_t linger_end; /* while draining: when idle connections are closed */
    void (*wake)(mcp_http *http, void *user);
    void *wake_user;
    void (*warn)(const char *line, void *user);
    void *warn_user;
    /* the `user` of the options of these names */
    void *date_user, *clock_user, *wall_user;
};

/* Returns how many sessions one caller may have (http_session.c). */
size_t mcp__http_sessions_each(const mcp_http *http);
static inline void mcp__http_enter(mcp_http *http, int64_t now)
{
    http->now = now;
    http->depth++;
}
static inline void mcp__http_leave(mcp_http *http)
{
    http->depth--;
}
/* Updates http->now if the program calls from outside the endpoint, for example from a handler that
 * answers later. */
static inline void mcp__http_touch(mcp_http *http)
{
    if (http->depth == 0 && http->options.clock)
        http->now = http->options.clock(http->clock_user);
}
/* Returns the current time. http->now, in contrast, is the time at which the current call began. */
static inline int64_t mcp__http_now(const mcp_http *http)
{
    return http->options.clock ? http->options.clock(http->clock_user) : http->now;
}
/* Returns the time in microseconds, for durations. */
static inline int64_t mcp__http_now_us(const mcp_http *http)
{
    const mcp_http_options *o = &http->options;
    return o->clock_us ? o->clock_us(o->user) : mcp__http_now(http) * 1000;
}
/* Returns whether requests need a login. */
static inline bool mcp__http_asks(const mcp_http *http)
{
    return http->options.authenticate || http->options.resource_server;
}
/* Makes the timer due at the next tick, and requests that tick. */
void mcp__http_wake(mcp_http *http, mcp__http_timer *timer);
/* Notifies the program that mcp_http_deadline() now returns an earlier time. */
void mcp__http_call_wake(mcp_http *http);

#endif
