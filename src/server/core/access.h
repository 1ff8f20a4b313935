/* access.h: access rules; see access.c. */
#ifndef MCP_SRC_ACCESS_H
#define MCP_SRC_ACCESS_H

#include "server/core/server.h"

bool mcp__may_see(const mcp_server *server, const char *principal, const mcp__entry *entry);
/* Check a URI as the client wrote it. mcp__access_read() may be called only if there are rules. */
bool mcp__access_read(const mcp_server *server, const char *principal, mcp_str uri);
static inline bool mcp__may_read(const mcp_server *server, const char *principal, mcp_str uri)
{
    return !server->access.may || mcp__access_read(server, principal, uri);
}
/* Returns whether a value that is proposed for a variable of a template may be shown. If the
 * template does not yet expand to a resource, `uri` is checked instead. If tmpl is NULL, the value
 * is for something else and may be shown. */
bool mcp__may_complete(const mcp_request *req, const mcp_uri_template *tmpl, mcp_str value,
                       mcp_str uri);
void mcp__access_free(mcp_server *server);

#endif
