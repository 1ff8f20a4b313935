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

/* hints.c: what to try after a URI that is not there, as far as the caller may know it. */

#endif
