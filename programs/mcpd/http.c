/* http.c: mcpd's listeners: options to mcp_listen_options, and what a person is told.
 *
 * Each --http is an endpoint of its own: sessions, limits and metrics are counted per address.
 */
#define _GNU_SOURCE
#include "http.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "tokens.h"

static int authenticate(void *user, mcp_str authorization, char *principal, size_t room)
{
    return tokens_check(user, authorization, principal, room);
}

static void tell(const settings *s, const mcp_listener *listener)
{
    const char *address = mcp_listener_address(listener);
    char line[512], where[300];
    if (strncmp(address, "unix:", 5) == 0)
        snprintf(where, sizeof where, "%s, path /mcp", address);
    else
        snprintf(where, sizeof where, "%s://%s/mcp", s->tls_cert ? "https" : "http", address);
    snprintf(line, sizeof line, "serving %.150s%s at %s", s->sources.items[0],
             s->sources.count > 1 ? " and more" : "", where);
    log_notice(line);
}

static int listen_at(const settings *s, const char *address, tokens *known, mcp_loop *loop,
                     mcp_server *server, mcp_listener **ret, mcp_error *error)
{
    mcp_http_options http = {
        .size = sizeof http,
        .allow_hosts = s->allow_host.items,
        .n_allow_hosts = s->allow_host.count,
        .allow_origins = s->allow_origin.items,
        .n_allow_origins = s->allow_origin.count,
        .cors = s->allow_origin.count > 0,
        .authenticate = known ? authenticate : NULL,
        .log = log_wants_requests() ? log_request : NULL,
        .user = known,
        .max_connections = (size_t)s->max_connections,
        .max_body = (size_t)s->max_body,
        .heartbeat_ms = s->heartbeat * 1000,
    };
    int rc =
        mcp_loop_listen(loop, server,
                        MCP_OPTIONS(mcp_listen_options, .address = address, .tls_cert = s->tls_cert,
                                    .tls_key = s->tls_key, .http = &http),
                        ret, error);
    if (rc == MCP_OK)
        tell(s, *ret);
    return rc;
}

static int serve(const settings *s, mcp_loop *loop, mcp_server *server, mcp_error *error)
{
    if (!s->stdio)
        return mcp_loop_serve_http(loop, NULL, error);
    int rc = mcp_loop_serve_stdio(loop, server, NULL, error);
    mcp_loop_serve_http(loop, MCP_OPTIONS(mcp_serve_options, .drain_now = true), NULL);
    return rc;
}

int http_serve(const settings *s, mcp_loop *loop, mcp_server *server, mcp_error *error)
{
    tokens *known = NULL;
    mcp_listener **listeners = calloc(s->http.count, sizeof *listeners);
    int rc = listeners ? MCP_OK : MCP_ENOMEM;
    if (rc == MCP_OK && s->token_file)
        rc = tokens_read(s->token_file, &known, error);
    for (size_t i = 0; rc == MCP_OK && i < s->http.count; i++)
        rc = listen_at(s, s->http.items[i], known, loop, server, &listeners[i], error);
    if (rc == MCP_OK)
        rc = serve(s, loop, server, error);
    for (size_t i = 0; listeners && i < s->http.count; i++)
        mcp_listener_close(listeners[i]);
    free(listeners);
    tokens_free(known);
    return rc;
}
