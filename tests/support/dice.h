/* dice.h: numbers for generated tests, the same in each run. */
#ifndef MCP_TESTS_DICE_H
#define MCP_TESTS_DICE_H

#include <stdint.h>

/* The state of the generator (xorshift64). A test may set it to any number but 0. */
static uint64_t chance = 88172645463325252;

/* Returns a number below `n`, which is at least 1. */
static inline unsigned dice(unsigned n)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (unsigned)(chance >> 33) % n;
}

#endif
