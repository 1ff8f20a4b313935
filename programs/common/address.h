/* address.h: what a user should know about an address that a server wants to have opened. */
#ifndef PROGRAM_ADDRESS_H
#define PROGRAM_ADDRESS_H

#include <mcp/base.h>

enum { ADDRESS_WARNINGS = 3 };

/* Finds the host of an address; empty if it has none. Returns how many warnings there are, each a
 * sentence without its end. */
size_t address_check(mcp_str url, mcp_str *host, const char *warnings[ADDRESS_WARNINGS]);

#endif
