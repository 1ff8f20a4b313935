/* tools.h: what the four tools share. */
#ifndef BRIDGE_TOOLS_H
#define BRIDGE_TOOLS_H

#include "bridge.h"
#include "door.h"

struct mcp_bridge {
    mcp_server *server;
    mcp_allocator alloc;
    common_door *door;
    mcp_bridge_options options;
};

/* What one mcp_bridge_add_tools() added: the `user` of its tools. */
typedef struct bridge_tools {
    mcp_bridge *bridge;
    mcp_allocator alloc;
    size_t n;
    search_source sources[];
} bridge_tools;

/* read.c */
int bridge_call_read(mcp_request *req, const mcp_json *arguments, void *user);

/* way.c */
int bridge_call_list(mcp_request *req, const mcp_json *arguments, void *user);
int bridge_call_find(mcp_request *req, const mcp_json *arguments, void *user);
int bridge_call_search(mcp_request *req, const mcp_json *arguments, void *user);

/* near.c: among URIs that the caller may know those that are most like one that is not there. */
enum { BRIDGE_NEAR = 3 };

typedef struct bridge_near {
    mcp_str name; /* the last piece of what is wanted */
    size_t n;
    size_t distance[BRIDGE_NEAR]; /* the nearest first */
    char *uris[BRIDGE_NEAR];      /* of the request */
} bridge_near;

/* The last piece of a URI's path, without a query. */
mcp_str bridge_last_piece(mcp_str uri);
/* Tries one. MCP_ENOMEM. */
int bridge_near_try(bridge_near *near, mcp_request *req, mcp_str uri);

#endif
