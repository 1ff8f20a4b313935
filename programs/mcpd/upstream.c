/* upstream.c: other MCP servers as sources, "mcp:COMMAND": a module that is part of the program,
 * because it runs on the program's loop. */
#define MCP_MODULE_STATIC
#include <mcp/module.h>

#include "upstream.h"

static int mount(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error)
{
    return mcp_upstream_mount_json(server, source, options, name, NULL, error);
}

MCP_MODULE(mcp, .about = "other MCP servers, over stdio or HTTP",
           .options_schema = mcp_upstream_schema, .mount = mount);
