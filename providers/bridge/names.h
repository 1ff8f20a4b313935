/* names.h: what people and models write instead of a URI: a path, absolute or relative to a source,
 * with a line after it, and URIs with characters that a URI cannot have. */
#ifndef BRIDGE_NAMES_H
#define BRIDGE_NAMES_H

#include "tools.h"

enum { BRIDGE_NAMES = 32 };

/* The URIs that a name may mean, the most literal ones first. */
typedef struct bridge_names {
    size_t n;
    struct {
        mcp_str uri;   /* allocated from the request */
        uint64_t line; /* after the path, or 0 */
        bool file;
    } items[BRIDGE_NAMES];
} bridge_names;

/* Finds the URIs that the name may mean. Nothing is looked up, and `ret` may be empty. Returns MCP_OK
 * or MCP_ENOMEM. */
int bridge_names_of(bridge_tools *all, mcp_request *req, mcp_str name, bridge_names *ret);

/* Makes what the names of `under` begin with. If it is a path in more than one source, *ret is empty
 * and `names` has what it may be. Returns MCP_OK or MCP_ENOMEM. */
int bridge_under_of(bridge_tools *all, mcp_request *req, mcp_str name, bridge_names *names,
                    mcp_str *ret);

#endif
