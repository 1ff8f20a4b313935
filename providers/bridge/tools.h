/* tools.h: declarations shared by the four tools. */
#ifndef BRIDGE_TOOLS_H
#define BRIDGE_TOOLS_H

#include "bridge.h"
#include "loopback.h"

struct mcp_bridge {
    mcp_server *server;
    mcp_allocator alloc;
    common_loopback *loopback;
    mcp_bridge_options options;
    size_t max_tokens; /* see mcp_bridge_limit() */
};

/* The state of one mcp_bridge_add_tools(); it is the `user` of its tools. */
typedef struct bridge_tools {
    mcp_bridge *bridge;
    mcp_allocator alloc;
    size_t n;
    search_source sources[];
} bridge_tools;

/* tools.c: the limit of an answer in bytes, of which a token has four. */
size_t bridge_most_bytes(const bridge_tools *all, const mcp_json *arguments);

/* read.c */
int bridge_call_read(mcp_request *req, const mcp_json *arguments, void *user);

/* way.c */
int bridge_call_list(mcp_request *req, const mcp_json *arguments, void *user);
int bridge_call_find(mcp_request *req, const mcp_json *arguments, void *user);
int bridge_call_search(mcp_request *req, const mcp_json *arguments, void *user);

/* names.c: returns the last segment of a URI's path, without the query. */
mcp_str bridge_last_piece(mcp_str uri);

#endif
