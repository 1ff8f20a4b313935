/* learnt.h: facts that the client keeps from earlier answers: fresh results (cache.c) and tool
 * parameters for headers (tools.c). */
#ifndef MCP_SRC_CLIENT_LEARNT_H
#define MCP_SRC_CLIENT_LEARNT_H

#include <mcp/client.h>

#include "client/call.h"
#include "protocol/mirror.h"

/* Cached results. */
typedef struct mcp__cache {
    mcp__map entries;
    mcp__link recent;    /* least recently used first */
    size_t bytes, limit; /* memory in use, and its limit */
} mcp__cache;

/* ---- cache.c --------------------------------------------------------------------------------- */

void mcp__cache_init(mcp_client *client, size_t limit);
void mcp__cache_free(mcp_client *client);
/* Returns whether mcp__cache_get() would return a result. */
bool mcp__cache_has(const mcp__call *call);
/* Returns a copy of the cached result for this call, which the caller owns, or NULL. */
mcp_json_doc *mcp__cache_get(mcp__call *call);
/* Caches a result if its caching hints allow that. If memory runs out, the result is not cached. */
void mcp__cache_put(mcp__call *call, const mcp_json *result);
/* Remove the results that a change makes stale, or all results of a method. */
void mcp__cache_changed(mcp_client *client, mcp_change change, mcp_str uri);
void mcp__cache_drop(mcp_client *client, mcp_str method);

/* ---- tools.c --------------------------------------------------------------------------------- */

/* What the client stores about a listed tool. */
typedef struct mcp__tool {
    mcp__mirror mirror;
    char *refused; /* why the definition was refused; NULL if it was accepted */
    char *name;
    bool takes_task; /* execution.taskSupport is "optional" or "required" */
    bool needs_task; /* it is "required" */
    bool repeatable; /* its annotations say that repeating a call has no further effect */
} mcp__tool;

/* Returns whether the transport has headers and the revision defines their contents. */
bool mcp__client_mirrors(const mcp_client *client);
/* Stores the properties of the tools that a page defines. *ret is a copy of the page without the
 * refused tools, which the caller owns, or NULL if none is refused. */
int mcp__tools_learn(mcp_client *client, const mcp_json *result, mcp_json_doc **ret);
/* Returns what is stored about a tool, or NULL. */
const mcp__tool *mcp__tools_find(const mcp_client *client, mcp_str name);
/* Checks a tools/call before it is sent. */
int mcp__tools_check(mcp__call *call, mcp_error *error);
/* Reads the list of tools for a parked call that needs the definition of its tool. */
int mcp__tools_relist(mcp__call *call);
void mcp__tools_free(mcp_client *client);

#endif
