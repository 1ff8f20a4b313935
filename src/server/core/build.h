/* build.h: what is offered, made anew as a whole; see build.c. */
#ifndef MCP_SRC_SERVER_BUILD_H
#define MCP_SRC_SERVER_BUILD_H

#include <mcp/server.h>

#include "server/core/request.h"

/* What is released with a build, or with the server. */
typedef struct mcp__closer {
    struct mcp__closer *next;
    void (*release)(void *user);
    void *user;
} mcp__closer;

/* What one mcp_server_rebuild() made, and who still needs it: the server while it is the present one, and
 * requests. */
typedef struct mcp__build {
    mcp_server *server;
    unsigned refs;
    bool retired;
    mcp__link link;      /* in server->retired, when nobody but itself is left */
    mcp__mount **mounts; /* its own, when it is the present one no more */
    size_t n_mounts;
    mcp__closer *closers;
    mcp_host_timer *timer;
} mcp__build;

/* Nobody needs it any more: it is released soon, if it is retired. */
void mcp__build_unused(mcp__build *build);
static inline void mcp__build_unref(mcp__build *build)
{
    if (--build->refs == 0)
        mcp__build_unused(build);
}
static inline void mcp__build_give(mcp_request *req)
{
    if (req->build)
        mcp__build_unref(req->build);
    req->build = NULL;
}
/* The request needs the present one from now on. */
static inline void mcp__build_take(mcp_request *req)
{
    if (req->server->build)
        req->server->build->refs++;
    mcp__build_give(req);
    req->build = req->server->build;
}
/* The timers are the host's. */
void mcp__build_leave_host(mcp_server *server);
void mcp__build_enter_host(mcp_server *server);
/* The present one, and those that are about to be released. */
void mcp__build_free_all(mcp_server *server);

#endif
