/* http.h: serves over HTTP (mcpd --http). */
#ifndef MCPD_HTTP_H
#define MCPD_HTTP_H

#include <mcp/auth.h>
#include <mcp/io.h>

#include "offer.h"
#include "options.h"
#include "audit.h"
#include "tokens.h"

/* The listeners. Initialize it with zeros; http_serve() fills it in while it runs. */
typedef struct listeners {
    mcp_listener **items;
    size_t count;
    mcp_listener *instance; /* for other instances, or other workers; NULL if there is none */
    size_t failed;          /* index of the --http option that could not be opened, if any */
} listeners;

/* How clients are authenticated. If there are neither tokens nor a resource server, everybody is
 * served. */
typedef struct http_logins {
    tokens *const *known;              /* static tokens; *known is NULL if there are none */
    mcp_resource_server *oauth;        /* NULL without the section oauth */
    const char *public_url;            /* mcp_http_options.public_url */
    audit *audit;                      /* NULL, or not on, without --audit */
    const struct traces *traces;       /* NULL without --traces */
    const struct decisions *decisions; /* NULL without --decisions */
    const config *config; /* where the page can log in; NULL without a configuration file */
} http_logins;

/* Processes what another instance said about sessions, or the loss of such messages if `lost`. */
void http_shared(const listeners *at, mcp_str message, bool lost, int64_t now);

/* The topic of messages about sessions, on the bus. Workers have a line for them. */
#define HTTP_TOPIC "session"

/* What others have to do with serving (supervisor/life.h). */
typedef struct http_life {
    struct start *start;      /* the sockets that were inherited */
    struct board *board;      /* of a worker; else NULL */
    struct worker_line *line; /* of a worker; else NULL */
    void (*ready)(void *user);
    void (*draining)(void *user);
    void *user;
} http_life;

/* A function for tokens_gone(), with the listeners as `user`. Ends the streams that were opened
 * with a removed token. If it was the last token of its principal, ends everything that the
 * principal has opened. */
void http_revoke(void *listeners, const mcp_identity *identity, bool last);

/* Reloads certificates and keys and logs the result. On failure, the old ones stay in use. */
void http_reload_tls(const listeners *at, const settings *s);

/* Listens at every --http, and serves until a signal (with --stdio also until the end of input).
 * Returns the results of mcp_loop_listen() and mcp_loop_serve_http(). /metrics includes the metrics
 * of what is offered. The static tokens, *logins->known, can be replaced while it runs, but not added
 * or removed altogether. */
int http_serve(const settings *s, mcp_loop *loop, mcp_server *server, const http_logins *logins,
               const offer *o, const http_life *life, listeners *at, mcp_error *error);
/* Serves standard input and output for the principal stdio, in the view of --view. Returns the results
 * of mcp_loop_serve_stdio(). */
int http_serve_stdio(const settings *s, mcp_loop *loop, mcp_server *server, mcp_error *error);
/* Opens the address at `index` as http_serve() would, and closes it again. *expires is set to the expiry
 * of its certificate, or 0; `expires` may be NULL. Returns the errors of mcp_loop_listen(). */
int http_try(const settings *s, size_t index, mcp_loop *loop, mcp_server *server,
             const http_logins *logins, int64_t *expires, mcp_error *error);

#endif
