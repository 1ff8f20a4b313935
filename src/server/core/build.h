/* build.h: replaces everything that the server offers; see build.c. */
#ifndef MCP_SRC_SERVER_BUILD_H
#define MCP_SRC_SERVER_BUILD_H

#include <mcp/server.h>

#include "server/core/request.h"

/* A function to call when a build, or the server, is released. */
typedef struct mcp__release_hook {
    struct mcp__release_hook *next;
    void (*release)(void *user);
    void *user;
} mcp__release_hook;

/* The result of one mcp_server_rebuild(). The server has a reference while this is the current
 * build, and so has each request that uses it. */
typedef struct mcp__build {
    mcp_server *server;
    unsigned refs;
    bool retired;
    mcp__link link;      /* in server->retired, once it has been replaced */
    mcp__mount **mounts; /* its own mounts, once it has been replaced */
    size_t n_mounts;
    mcp__release_hook *release_hooks;
    mcp_host_timer *timer;
} mcp__build;

/* Called when the last reference is released. A retired build is then freed soon, by a timer. */
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
/* Makes the request use the current build. */
static inline void mcp__build_take(mcp_request *req)
{
    if (req->server->build)
        req->server->build->refs++;
    mcp__build_give(req);
    req->build = req->server->build;
}
/* Stop and start the timers of retired builds when the host changes. */
void mcp__build_leave_host(mcp_server *server);
void mcp__build_enter_host(mcp_server *server);
/* Frees the current build and the retired ones. */
void mcp__build_free_all(mcp_server *server);

#endif
