/* client.h: the inside of a client, shared by its files.
 *
 * client.c is its life and the channel's role, start.c finds out era and revision, call.c sends and
 * judges the answers, list.c follows pages.
 */
#ifndef MCP_SRC_CLIENT_H
#define MCP_SRC_CLIENT_H

#include <mcp/client.h>

#include "channel/channel.h"
#include "protocol/revision.h"

typedef enum mcp__client_state {
    MCP__CLIENT_IDLE = 0, /* not started; what is asked waits */
    MCP__CLIENT_STARTING,
    MCP__CLIENT_READY,
    MCP__CLIENT_FAILED, /* the start failed; the connection is there */
    MCP__CLIENT_LOST,   /* the connection was there and is gone */
} mcp__client_state;

/* One call, in the queue or sent. One block: the texts follow it. */
typedef struct mcp__call {
    mcp__link link; /* in the queue */
    mcp_client *client;
    int64_t id;
    mcp_result_fn *fn;
    void *user;
    mcp_str method;
    mcp_str members; /* of params, without the braces and without _meta */
    mcp_str meta;    /* the members of its _meta that are the caller's */
} mcp__call;

struct mcp_client {
    const mcp_allocator *allocator;
    mcp_allocator own_allocator;
    const mcp__revision *only; /* the one to speak; NULL: find out */
    uint64_t probe_ms, timeout_ms;
    size_t max_pages, max_message;
    mcp__buf info; /* clientInfo, JSON text */

    mcp_channel *channel; /* NULL: not connected */
    const char *why;      /* of what is failing right now; borrowed */
    mcp__client_state state;
    mcp__link queue; /* mcp__call */

    bool wanted; /* mcp_client_start() was called */
    mcp_result_fn *start_fn;
    void *start_user;
    const mcp__revision *trying; /* of the request that is out */
    unsigned probes;

    const mcp__revision *revision; /* what was found out; NULL: nothing yet */
    mcp_json_doc *about;           /* the DiscoverResult or InitializeResult */
};

/* ---- call.c ------------------------------------------------------------------------------------- */

/* What an answer of the channel means, by the rules of revision r: returns the code for the callback and
 * fills error when it is not MCP_OK. ms: the time that it had. */
int mcp__client_judge(const mcp_client *client, const mcp__revision *r, uint64_t ms, int rc,
                      const mcp_json *result, mcp_error *error);
/* Appends the members of _meta that revision r wants in every request, without braces. */
void mcp__client_put_meta(const mcp_client *client, const mcp__revision *r, mcp__buf *b);
/* Sends what waits. Only while the channel is being called: the time is right then. */
void mcp__client_flush(mcp_client *client);
/* Ends all that waits with this. */
void mcp__client_fail_queue(mcp_client *client, int rc, const mcp_json *result,
                            const mcp_error *error);
/* The transport should let us have our turn. */
void mcp__client_wake(mcp_client *client);

/* ---- start.c ------------------------------------------------------------------------------------ */

/* Starts when that is wanted and possible. Only while the channel is being called. */
void mcp__client_begin(mcp_client *client);
/* Ends a start that is not through. */
void mcp__client_start_failed(mcp_client *client, int rc, const mcp_json *result,
                              const mcp_error *error);

#endif
