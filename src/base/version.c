/* version.c: the version of the library that is running, which may be newer than that of the
 * headers. */
#include "base/base.h"

const char *mcp_version(void)
{
    return MCP_VERSION_STRING;
}

const char MCP__PAIR = 0;
