/* door.h: requests of a program to its own server, on behalf of one of its callers.
 *
 * Each request has a channel of its own to the server, with the caller's principal. So the answer
 * is exactly what a client with this principal would get: registered resources, templates,
 * providers and access rules. It costs one message more than an internal call.
 *
 * Everything here belongs to the server's thread.
 */
#ifndef COMMON_DOOR_H
#define COMMON_DOOR_H

#include <mcp/mcp.h>

#include "buffer.h"

/* The requests in flight at one server. */
typedef struct common_door common_door;

/* MCP_ENOMEM. */
int common_door_new(mcp_server *server, const mcp_allocator *alloc, common_door **ret);
/* Must be freed before its server, because its channels belong to the server. Waiting requests end
 * with MCP_ECLOSED. NULL is allowed. */
void common_door_free(common_door *door);

typedef struct common_ask {
    /* Set by the caller; borrowed until the answer has arrived. */
    mcp_request *req; /* the request whose caller is used; its cancellation ends this request */
    const char *method;
    /* Writes the members of params except _meta. NULL: none. */
    void (*put)(mcp_json_writer *w, const void *user);
    /* Called once when the answer arrives, if common_door_ask() returned MCP_PENDING. */
    void (*later)(void *user);
    void *user;       /* for these two */
    size_t max_reply; /* as in mcp_channel_options, like: */
    size_t page_size;
    bool (*list_mount)(const char *prefix, void *user);
    void *mounts_user;
    bool progress; /* passes progress of the answer on to `req` */

    /* The answer. MCP_OK: either `result` or `error`, which point into `doc`. MCP_ECANCELLED,
     * MCP_ECLOSED (the server is being freed), MCP_ENOMEM. */
    int rc;
    const mcp_json *result, *error;
    mcp_json_doc *doc;
    size_t len; /* length of the message */

    /* The door's own. */
    struct common_line *line;
} common_ask;

/* Sends the request. MCP_OK: the answer has arrived. MCP_PENDING: `later` will be called.
 * MCP_ENOMEM: nothing was sent. */
int common_door_ask(common_door *door, common_ask *ask);
/* Frees the answer. */
void common_ask_clear(common_ask *ask);

#endif
