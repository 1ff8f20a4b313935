/* access.h: see access.c. All of these return true as long as the program has set no rules. */
#ifndef MCP_SRC_ACCESS_H
#define MCP_SRC_ACCESS_H

#include "server/core/server.h"

bool mcp__may_see(const mcp_server *server, const char *principal, const mcp__entry *entry);
/* For a URI as the client wrote it. */
bool mcp__access_read(const mcp_server *server, const char *principal, mcp_str uri);
static inline bool mcp__may_read(const mcp_server *server, const char *principal, mcp_str uri)
{
    return !server->access.may || mcp__access_read(server, principal, uri);
}
/* For a value proposed for a variable of a template. `uri` is checked if the template does not yet
 * expand to a resource. tmpl NULL: it is for something else, and may be shown. */
bool mcp__may_complete(const mcp_request *req, const mcp_uri_template *tmpl, mcp_str value,
                       mcp_str uri);
void mcp__access_free(mcp_server *server);

#endif
