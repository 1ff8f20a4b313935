/* loopback.h: sends requests to the program's own server, on behalf of the caller of another request.
 *
 * Each request has its own channel to the server, with the caller's identity. So the answer is
 * exactly what a client with this identity would get, including registered resources, templates,
 * providers and access rules. A request costs one JSON message more than an internal call.
 *
 * All functions run on the server's thread.
 */
#ifndef COMMON_DOOR_H
#define COMMON_DOOR_H

#include <mcp/mcp.h>

#include "buffer.h"

/* Owns the requests in flight to one server. */
typedef struct common_loopback common_loopback;

/* Creates a loopback. Returns MCP_OK or MCP_ENOMEM. */
int common_loopback_new(mcp_server *server, const mcp_allocator *alloc, common_loopback **ret);
/* Frees the loopback. It must be freed before its server, which owns the channels' memory. Waiting
 * requests end with MCP_ECLOSED. NULL is allowed. */
void common_loopback_free(common_loopback *loopback);

typedef struct common_ask {
    /* Set by the caller; pointers are borrowed until the answer has arrived. */
    mcp_request *req; /* request whose caller is used; its cancellation cancels this request */
    const char *method;
    /* Writes the members of params except _meta. NULL if there are none. */
    void (*put)(mcp_json_writer *w, const void *user);
    /* Called once when the answer arrives, if common_loopback_ask() returned MCP_PENDING. */
    void (*later)(void *user);
    void *user;       /* for `put` and `later` */
    size_t max_reply; /* this and the next two: see mcp_channel_options */
    size_t page_size;
    bool (*list_mount)(const char *prefix, void *user);
    void *mounts_user;
    bool progress; /* forwards progress notifications to `req` */

    /* The answer. If rc is MCP_OK, either `result` or `error` is set; both point into `doc`.
     * Otherwise rc is MCP_ECANCELLED, MCP_ECLOSED (the server is being freed) or MCP_ENOMEM. */
    int rc;
    const mcp_json *result, *error;
    mcp_json_doc *doc;
    size_t len; /* bytes of the message */

    /* Private. */
    struct common_line *line;
} common_ask;

/* Sends the request. Returns MCP_OK if the answer has arrived, MCP_PENDING if `later` will be
 * called, or MCP_ENOMEM if nothing was sent. */
int common_loopback_ask(common_loopback *loopback, common_ask *ask);
/* Frees the answer. */
void common_ask_clear(common_ask *ask);

#endif
