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

/* What is under way at one server. */
typedef struct common_door common_door;

/* MCP_ENOMEM. */
int common_door_new(mcp_server *server, const mcp_allocator *alloc, common_door **ret);
/* To be freed before its server, because its channels are that server's. Requests that wait are
 * answered with MCP_ECLOSED. NULL is allowed. */
void common_door_free(common_door *door);

typedef struct common_ask {
    /* To be set; borrowed until the answer is there. */
    mcp_request *req; /* whose caller asks; its cancellation ends the request */
    const char *method;
    /* Writes the members of params but for _meta. NULL: there are none. */
    void (*put)(mcp_json_writer *w, const void *user);
    /* Called once, where common_door_ask() returned MCP_PENDING, when the answer is there. */
    void (*later)(void *user);
    void *user;       /* for these two */
    size_t max_reply; /* as mcp_channel_options has it; so are: */
    size_t page_size;
    bool (*list_mount)(const char *prefix, void *user);
    void *mounts_user;
    bool progress; /* hand the progress of the answer on to `req` */

    /* The answer. MCP_OK: `result`, or else `error`, which belong to `doc`. MCP_ECANCELLED,
     * MCP_ECLOSED (the server ends), MCP_ENOMEM. */
    int rc;
    const mcp_json *result, *error;
    mcp_json_doc *doc;
    size_t len; /* bytes of the message */

    /* The door's own. */
    struct common_line *line;
} common_ask;

/* MCP_OK: the answer is there already. MCP_PENDING: `later` will be called. Else nothing was asked:
 * MCP_ENOMEM. */
int common_door_ask(common_door *door, common_ask *ask);
/* Gives the answer back. */
void common_ask_clear(common_ask *ask);

#endif
