/* mcp/decide.h: a decision of the program about each request, such as that of a policy server.
 *
 * It comes last: after the access rules (mcp/access.h) and after the arguments were validated, just
 * before the handler runs. So it can only take away. It may wait for an answer without blocking the
 * server.
 */
#ifndef MCP_DECIDE_H
#define MCP_DECIDE_H

#include <mcp/access.h>
#include <mcp/base.h>
#include <mcp/request.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thing that a request is about. */
typedef struct mcp_thing {
    mcp_item item;
    /* The name, or the canonical spelling of a URI as mcp_access.may gets it, with the query that is
     * part of it. */
    mcp_str name;
} mcp_thing;

/* What a request is about to do. Who asks, with which method and which params, the functions of
 * mcp/request.h say. Valid during the call only. */
typedef struct mcp_intent {
    size_t size; /* set by the library */
    /* MCP_OPERATION_CALL for tools/call and for methods that only a provider has, otherwise
     * MCP_OPERATION_READ. */
    mcp_operation operation;
    /* None for requests about tasks and for methods that only a provider has; for subscriptions/listen
     * each resource that has a canonical spelling; otherwise one. */
    const mcp_thing *things;
    size_t n_things;
} mcp_intent;

/* Sets a function that decides whether a request goes on: resources/read, tools/call, prompts/get,
 * completion/complete, resources/subscribe, subscriptions/listen, all requests about tasks, and
 * methods that only a provider has. It is called again in each round of input (mcp/input.h), and
 * again after each wait of its own, since rules and things may have changed meanwhile. It is not
 * called for lists, for what a list or a subscription shows later, and for requests that are refused
 * without it. A list of what is served, a handshake and the end of a subscription are not decided
 * about.
 *
 * It returns MCP_OK, after which the handler runs; MCP_PENDING, after which it calls
 * mcp_request_decide_again() later, and not before it has returned; or what a handler returns that
 * ends the request, after a function that replies: MCP_INPUT_REQUIRED after a question, MCP_EREMOTE
 * after mcp_reply_tool_error(), or another negative code. While a request waits, the function may set
 * mcp_request_on_cancel(), whose function must call mcp_reply_finish(). For a tool that is called as
 * a task (2025-11-25), the task is made after the decision.
 *
 * Set it before the first channel is made. NULL removes it. */
MCP_API void mcp_server_set_decide(mcp_server *server,
                                   int (*decide)(mcp_request *req, const mcp_intent *intent,
                                                 void *user),
                                   void *user);

/* Runs a request again that waits for the decision: access rules and arguments are checked again,
 * and then the function is called. Does nothing if the request does not wait for it. */
MCP_API void mcp_request_decide_again(mcp_request *req);

#ifdef __cplusplus
}
#endif
#endif
