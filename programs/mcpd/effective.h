/* effective.h: the effective settings, as a configuration file (mcpd --print-config mcpd). */
#ifndef MCPD_EFFECTIVE_H
#define MCPD_EFFECTIVE_H

#include "offer.h"

/* Prints JSON to stdout. Tokens are not shown, and paths are absolute. Returns 0, or 1 after
 * reporting the error. */
int effective_print(const offer *o);

#endif
