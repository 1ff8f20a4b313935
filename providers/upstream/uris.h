/* uris.h: the URIs under which this server offers the resources of another server. */
#ifndef UPSTREAM_URIS_H
#define UPSTREAM_URIS_H

#include "session.h"

/* Returns whether a URI is one of the other server's. */
bool upstream_uri_is_below(const upstream *up, mcp_str uri);
/* Returns the URI that the other server knows, or a ptr of NULL if out of memory. */
mcp_str upstream_uri_there(const upstream *up, mcp_request *req, mcp_str uri);
/* mcp_provider.resolve */
int upstream_uri_resolve(mcp_str uri, char *canonical, size_t room, void *user);
/* Returns whether the other server can have a resource with this URI, or a template with this text:
 * whether it is in normal form (docs/upstream.md). False if memory runs out. */
bool upstream_uri_exists(mcp_item item, mcp_str original, const mcp_allocator *alloc);
/* Returns the part of the URI before its query, or of the template before that of its URIs. */
mcp_str upstream_uri_path(mcp_item item, mcp_str original);

#endif
