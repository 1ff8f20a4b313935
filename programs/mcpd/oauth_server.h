/* oauth_server.h: the resource server (mcp/auth.h) of the section "oauth". */
#ifndef MCPD_OAUTH_SERVER_H
#define MCPD_OAUTH_SERVER_H

#include <mcp/auth.h>
#include <mcp/io.h>

#include "config.h"

/* Checks the section and makes its resource server; *ret is NULL if there is no section. `name` is
 * that of the server, for people; may be NULL. nonce_key has 32 secret bytes; NULL means random ones. Returns MCP_OK, or a negative code after reporting the
 * error or storing it in *error. */
int oauth_server_new(config *c, const char *name, const unsigned char *nonce_key, mcp_loop *loop,
                     mcp_resource_server **ret, mcp_error *error);

/* Sets the views of a configuration, each of which is a resource with its own metadata, and those that
 * name theirs have an audience of their own. Returns MCP_OK, or a negative code after storing *error. */
int oauth_set_views(config *c, mcp_resource_server *server, mcp_error *error);

/* Returns the secret of a section "introspection". Returns NULL after storing the error, whose text is
 * empty if out of memory. */
const char *oauth_secret(config *c, const mcp_json *introspection, mcp_error *error);

/* Returns mcp_http_options.public_url: the resource without the path of the endpoint. Returns NULL if
 * the resource does not end with that path. */
const char *oauth_public_url(config *c);

#endif
