/* usage.h: see usage.c. */
#ifndef MCP_SRC_USAGE_H
#define MCP_SRC_USAGE_H

#include <mcp/server.h>

#include "base/base.h"

/* What a tool or a mount counts with. */
typedef struct mcp__meter {
    mcp_usage usage;
    mcp_server *server;
    mcp__link link; /* in server->meters[].all */
    size_t refs;    /* tools or mounts of its name, and requests that it counts */
} mcp__meter;

typedef struct mcp__meters {
    mcp__map by_name;
    mcp__link all;    /* in order of registration */
    mcp__meter other; /* what has no meter */
} mcp__meters;

typedef enum mcp__used_outcome {
    MCP__USED_GONE = 0, /* until something else is known */
    MCP__USED_OK,
    MCP__USED_TOOL_ERROR,
    MCP__USED_NOT_FOUND,
    MCP__USED_ERROR,
    MCP__USED_INPUT,
} mcp__used_outcome;

/* Of one request. */
typedef struct mcp__used {
    mcp__meter *meter; /* NULL: it is not counted */
    int64_t since;
    uint64_t bytes;
    mcp__used_outcome outcome;
} mcp__used;

void mcp__usage_init(mcp_server *server);
/* When its tools and mounts are gone. */
void mcp__usage_free(mcp_server *server);
/* The meter with that name, to be given back with mcp__meter_give(); NULL: no memory. */
mcp__meter *mcp__meter_take(mcp_server *server, mcp_usage_kind kind, mcp_str name);
/* May be NULL. */
void mcp__meter_give(mcp__meter *meter);
/* The request is one for this meter, and not for the one before. */
void mcp__usage_begin(mcp_request *req, mcp__meter *meter);
/* It is one for nothing that has a meter, as far as is known. */
void mcp__usage_begin_other(mcp_request *req, mcp_usage_kind kind);
/* Counts a request that has a meter, with req->used.outcome. */
void mcp__usage_end(mcp_request *req);

#endif
