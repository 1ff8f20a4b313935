/* rounds.h: how much generated tests try. */
#ifndef MCP_TESTS_ROUNDS_H
#define MCP_TESTS_ROUNDS_H

#include <stdlib.h>

/* Returns n times MCP_ROUNDS, which is 1 in CI and 10 in scripts/long. */
static inline unsigned rounds(unsigned n)
{
    const char *text = getenv("MCP_ROUNDS");
    unsigned long times = text ? strtoul(text, NULL, 10) : 1;
    return n * (unsigned)(times ? times : 1);
}

#endif
