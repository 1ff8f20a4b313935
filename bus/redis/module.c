/* module.c: the bus on Redis as a module that mcpd loads (mcp_bus_module). */
#include "redis.h"

MCP_API extern const mcp_bus_module mcp_bus_module_v1;
const mcp_bus_module mcp_bus_module_v1 = {.size = sizeof(mcp_bus_module),
                                          .version = MCP_VERSION_STRING,
                                          .name = "redis",
                                          .make = redis_make,
                                          .abi = MCP_BUS_ABI};
