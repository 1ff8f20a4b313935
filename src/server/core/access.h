/* access.h: access rules; see access.c. */
#ifndef MCP_SRC_ACCESS_H
#define MCP_SRC_ACCESS_H

#include "server/core/request.h"

bool mcp__may_see(const mcp_server *server, const mcp_identity *identity, const mcp__entry *entry);
/* Check a URI as the client wrote it. mcp__access_read() may be called only if there are rules. */
bool mcp__access_read(const mcp_server *server, const mcp_identity *identity, mcp_str uri);
static inline bool mcp__may_read(const mcp_server *server, const mcp_identity *identity,
                                 mcp_str uri)
{
    return !server->access.may || mcp__access_read(server, identity, uri);
}
/* Returns whether a value that is proposed for a variable of a template may be shown. If the
 * template does not yet expand to a resource, `uri` is checked instead. If tmpl is NULL, the value
 * is for something else and may be shown. */
bool mcp__may_complete(const mcp_request *req, const mcp_uri_template *tmpl, mcp_str value,
                       mcp_str uri);
/* Whether lists contain the item: the caller may see it, or lacks only scopes. mcp__access_list()
 * may be called only if there are rules. */
bool mcp__may_list(const mcp_server *server, const mcp_identity *identity, const mcp__entry *entry);
bool mcp__access_list(const mcp_request *req, mcp_item item, mcp_str name);
/* Refuses a request for an item that the caller may not see: returns MCP_ENOTFOUND if the item does
 * not exist for the caller; otherwise sets the error of a missing scope, and returns MCP_EREMOTE or
 * MCP_ENOMEM. */
int mcp__access_refuse(mcp_request *req, mcp_item item, mcp_str name);
void mcp__access_free(mcp_server *server);

enum { MCP__CANONICAL_ROOM = MCP_URI_MAX_LENGTH + 4 }; /* size of a buffer for a URI */
/* Writes the canonical spelling of the resource to which the URI refers, with the query that is part
 * of it. Returns false if there is none, or if it does not fit. */
bool mcp__access_spell(const mcp_server *server, mcp_str uri, char *to, size_t room);

#endif
