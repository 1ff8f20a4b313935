/* http.h: mcpd --http. */
#ifndef MCPD_HTTP_H
#define MCPD_HTTP_H

#include <mcp/io.h>

#include "files.h"
#include "options.h"
#include "tokens.h"

/* Where mcpd listens; zero-initialized, filled while http_serve() runs. */
typedef struct listeners {
    mcp_listener **items;
    size_t count;
    size_t failed; /* which one of --http could not be opened, if one could not */
} listeners;

/* Ends what a principal was let in for: for tokens_gone(), with the listeners. */
void http_revoke(void *listeners, const char *principal);

/* Reads certificates and keys again, and says so in the log, or why what was in force stays. */
void http_reload_tls(const listeners *at, const settings *s);

/* Listens at every --http, and serves until a signal (with --stdio also until the end of input). As
 * mcp_loop_listen() and mcp_loop_serve_http(). What *watching watches stands in /metrics; who may
 * come is asked of *known at every request (NULL from the start: everybody may). */
int http_serve(const settings *s, mcp_loop *loop, mcp_server *server, tokens *const *known,
               mcp_files *const *watching, listeners *at, mcp_error *error);
/* Opens the address at `index` as http_serve() would, and closes it again. As mcp_loop_listen(). */
int http_try(const settings *s, size_t index, mcp_loop *loop, mcp_server *server,
             tokens *const *known, mcp_error *error);

#endif
