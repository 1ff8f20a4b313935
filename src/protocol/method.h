/* method.h: the methods and notifications of the specification, each once, with what several layers need to know of them.
 * What a server does with a method is a row in server/methods/methods.c; a method without such a row is not found.
 */
#ifndef MCP_SRC_PROTOCOL_METHOD_H
#define MCP_SRC_PROTOCOL_METHOD_H

#include "base/base.h"

#include <mcp/server.h>

/* In the order in which names are compared. */
typedef enum mcp__method_id {
    MCP__METHOD_READ,
    MCP__METHOD_CALL,
    MCP__METHOD_LIST_RESOURCES,
    MCP__METHOD_LIST_TEMPLATES,
    MCP__METHOD_LIST_TOOLS,
    MCP__METHOD_LIST_PROMPTS,
    MCP__METHOD_GET_PROMPT,
    MCP__METHOD_COMPLETE,
    MCP__METHOD_TASK_GET,
    MCP__METHOD_TASK_UPDATE,
    MCP__METHOD_TASK_CANCEL,
    MCP__METHOD_TASK_RESULT,
    MCP__METHOD_TASK_LIST,
    MCP__METHOD_DISCOVER,
    MCP__METHOD_LISTEN,
    MCP__METHOD_INITIALIZE,
    MCP__METHOD_PING,
    MCP__METHOD_SET_LEVEL,
    MCP__METHOD_SUBSCRIBE,
    MCP__METHOD_UNSUBSCRIBE,
    MCP__METHOD_INITIALIZED,
    MCP__METHOD_CANCELLED,
    MCP__METHOD_NONE,  /* the empty name: a response */
    MCP__METHOD_OTHER, /* every other name */
    MCP__METHODS
} mcp__method_id;

typedef enum mcp__method_traits {
    MCP__IS_NOTICE = 1 << 0,
    MCP__REPEATABLE = 1 << 1,     /* a second request has no further effect */
    MCP__MAY_ASK = 1 << 2,        /* may be answered with input requests (basic/patterns/mrtr) */
    MCP__CACHEABLE = 1 << 3,      /* its result has caching hints (server/utilities/caching) */
    MCP__OF_SESSION = 1 << 4,     /* needs a session of a legacy revision */
    MCP__OF_STATE = 1 << 5,       /* changes a session in a way that its initialize does not tell */
    MCP__IS_STREAM = 1 << 6,      /* its answer is always an event stream */
    MCP__ABOUT_TASK = 1 << 7,     /* params.taskId names the task */
    MCP__NAME_IN_HEADER = 1 << 8, /* the header Mcp-Name repeats what it is about */
} mcp__method_traits;

typedef struct mcp__method_row {
    mcp_str name;
    unsigned traits;
    const char *target; /* the member of params with what the request is about, or NULL */
    mcp_item item;      /* what that is, if it is "uri" or "name" */
} mcp__method_row;

/* Returns MCP__METHOD_NONE for an empty name and MCP__METHOD_OTHER for one that is not in the table. */
MCP__SHARED mcp__method_id mcp__method_find(mcp_str name);
MCP__SHARED const mcp__method_row *mcp__method_of(mcp__method_id id);
/* Returns whether the method has one of the traits. */
MCP__SHARED bool mcp__method_is(mcp_str name, unsigned traits);

#endif
