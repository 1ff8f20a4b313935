/* dice.h: numbers for generated tests, the same in each run. */
#ifndef MCP_TESTS_DICE_H
#define MCP_TESTS_DICE_H

#include <stdint.h>
#include <stdlib.h>

/* The state of the generator (xorshift64). A test may set it to any number but 0. */
static uint64_t chance = 88172645463325252;

/* Takes the state from $MCP_SEED, if it is set: for several runs at the same time that try different things. */
static inline void dice_seed(void)
{
    const char *seed = getenv("MCP_SEED");
    if (seed && *seed)
        chance ^= strtoull(seed, NULL, 10) << 20;
}

/* Returns a number below `n`, which is at least 1. */
static inline unsigned dice(unsigned n)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (unsigned)(chance >> 33) % n;
}

#endif
