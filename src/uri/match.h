/* match.h: the state of a match; see match.c. */
#ifndef MCP_SRC_URI_MATCH_H
#define MCP_SRC_URI_MATCH_H

#include "uri/uri.h"

/* The value of a variable. */
typedef struct slot {
    mcp_str raw;
    mcp_str value;
    const mcp__uri_spec *spec;   /* NULL if the variable is undefined */
    const mcp__uri_operator *op; /* the operator of the expression */
    const mcp__uri_group *group; /* the group of the variable's latest occurrence */
} slot;

struct mcp_uri_match {
    const mcp_uri_template *t;
    mcp_allocator allocator;
    mcp_str text; /* normal form */
    char *decoded;
    slot slots[];
};

#endif
