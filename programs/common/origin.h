/* origin.h: origins ("https://id.example:8443") that a header can name. */
#ifndef PROGRAM_ORIGIN_H
#define PROGRAM_ORIGIN_H

#include <mcp/base.h>

enum { ORIGIN_ROOM = 300 };

/* Returns whether a text is an origin of http or https whose host has letters, digits, dots and hyphens,
 * or is an address. So a header with it cannot end, nor a policy get another directive. */
bool origin_is(const char *text);
/* Stores the origin of a URL. Returns false if it has none for origin_is(). */
bool origin_of(mcp_str url, char to[ORIGIN_ROOM]);

#endif
