/* version.c: the version of the library that runs, which may be newer than the header's. */
#include "base/base.h"

const char *mcp_version(void)
{
    return MCP_VERSION_STRING;
}

const char MCP__PAIR = 0;
