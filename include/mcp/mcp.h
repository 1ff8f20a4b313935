/* mcp/mcp.h: all headers of libmcp for servers and clients. Not those of mcp/sys, and not mcp/io.h, whose
 * transports are a separate library. */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <mcp/access.h>
#include <mcp/audit.h>
#include <mcp/base.h>
#include <mcp/bus.h>
#include <mcp/client.h>
#include <mcp/decide.h>
#include <mcp/fields.h>
#include <mcp/identity.h>
#include <mcp/input.h>
#include <mcp/json.h>
#include <mcp/provider.h>
#include <mcp/request.h>
#include <mcp/schema.h>
#include <mcp/server.h>
#include <mcp/task.h>
#include <mcp/trace.h>
#include <mcp/uri.h>

#endif
