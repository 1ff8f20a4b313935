/* rounds.h: how much generated tests try. */
#ifndef MCP_TESTS_ROUNDS_H
#define MCP_TESTS_ROUNDS_H

#include <stdlib.h>

/* Returns n times MCP_ROUNDS, which is 1 in CI and 10 in scripts/long. */
static inline unsigned rounds(unsigned n)
{
    const char *mcp_rounds = getenv("MCP_ROUNDS");
    unsigned long factor = mcp_rounds ? strtoul(mcp_rounds, NULL, 10) : 1;
    return n * (unsigned)(factor ? factor : 1);
}

#endif
