/* bridge.h: offers the resources of a server as four read-only tools, for hosts that show only
 * tools to a model: list_resources, find_resources (by name), search_resources (by content) and
 * read_resource.
 *
 * The tools cover all sources and templates of the server, because they send requests to the server
 * itself with the caller's identity (loopback.h). So a tool shows exactly what its caller could list
 * and read. A provider that can search its own resources faster than by lists and reads registers a
 * search_source (search.h).
 */
#ifndef MCP_BRIDGE_H
#define MCP_BRIDGE_H

#include <mcp/mcp.h>
#include <search.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_bridge mcp_bridge;

typedef struct mcp_bridge_options {
    size_t size;
    /* See mcp_tool.offered. Gets `user`. If it is NULL, the tools are offered to all clients. */
    bool (*offered)(const mcp_request *req, void *user);
    /* The number of sources, and the URI of one of them, or NULL if the caller may not see it. Paths
     * are relative to these. May be NULL. Get `user`. */
    size_t (*roots)(void *user);
    const char *(*root)(const mcp_request *req, size_t index, void *user);
    /* The file: URI of the folder or file that a source reads, or NULL. May be NULL. */
    const char *(*folder)(size_t index, void *user);
    void *user;
    const mcp_allocator *allocator; /* also called from the host's worker threads */
} mcp_bridge_options;

/* Creates a bridge. Returns MCP_OK or MCP_ENOMEM. */
int mcp_bridge_new(mcp_server *server, const mcp_bridge_options *options, mcp_bridge **ret,
                   mcp_error *error);
/* Must be called before the server is freed. Ends running calls. NULL is allowed. */
void mcp_bridge_free(mcp_bridge *bridge);

/* Limits the answers of calls that do not set max_tokens. A token counts as four bytes. 0 is the
 * default, 10000. */
void mcp_bridge_limit(mcp_bridge *bridge, size_t max_tokens);

/* Adds the tools to the server, once or within an mcp_server_rebuild(). The sources are copied;
 * what they point to must live as long as the build. Returns the errors of
 * mcp_server_add_tool(). */
int mcp_bridge_add_tools(mcp_bridge *bridge, const search_source *sources, size_t n,
                         mcp_error *error);

/* A callback for mcp_bridge_options.offered: returns true if the client, by its name, is known to
 * show only tools to its model. */
bool mcp_bridge_tools_only(const mcp_request *req, void *user);

#ifdef __cplusplus
}
#endif
#endif
