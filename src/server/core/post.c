/* post.c: the way in for other threads. Both calls leave a note with the host, which runs it on the server's
 * thread; nothing of a server or a request is touched here but what never changes while they are there.
 */
#include "server/core/request.h"

typedef struct note {
    mcp_allocator allocator; /* the note may outlive what it is for */
    mcp_server *server;
    mcp_request *req;
    union {
        void (*server)(mcp_server *server, void *user);
        void (*request)(mcp_request *req, void *user);
    } fn;
    void *user;
} note;

static void deliver(void *arg)
{
    note n = *(note *)arg;
    mcp__release(&n.allocator, arg);
    if (n.req)
        n.fn.request(n.req, n.user);
    else
        n.fn.server(n.server, n.user);
}

static int post(mcp_server *server, const note *what)
{
    if (!server->has_host || !server->host.post)
        return MCP_EUNSUPPORTED;
    note *n = mcp__alloc(&server->allocator, sizeof(*n));
    if (!n)
        return MCP_ENOMEM;
    *n = *what;
    int rc = server->host.post(deliver, n, server->host.user);
    if (rc < 0)
        mcp__release(&server->allocator, n);
    return rc < 0 ? rc : MCP_OK;
}

int mcp_server_post(mcp_server *server, void (*fn)(mcp_server *server, void *user), void *user)
{
    if (!server || !fn)
        return MCP_EINVAL;
    return post(
        server,
        &(note){.allocator = server->allocator, .server = server, .fn.server = fn, .user = user});
}

int mcp_request_post(mcp_request *req, void (*fn)(mcp_request *req, void *user), void *user)
{
    if (!req || !fn)
        return MCP_EINVAL;
    return post(
        req->server,
        &(note){.allocator = req->server->allocator, .req = req, .fn.request = fn, .user = user});
}
