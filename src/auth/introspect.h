/* introspect.h: requests to the introspection endpoint of an authorization server, which says
 * whether a token is active (RFC 7662). */
#ifndef MCP_SRC_AUTH_INTROSPECT_H
#define MCP_SRC_AUTH_INTROSPECT_H

#include "auth/claims.h"

/* The longest answer, in bytes. */
#define MCP__INTROSPECT_BYTES (64 << 10)

/* Appends text as a name or value of a form (application/x-www-form-urlencoded). */
void mcp__form_put(mcp__buf *to, mcp_str text);
/* Appends the body of the request, of the type application/x-www-form-urlencoded. */
void mcp__introspect_put(mcp__buf *to, mcp_str token);

/* The contents of an answer. */
typedef struct mcp__introspection {
    mcp_json_doc *doc; /* the claims */
    mcp__claims claims;
} mcp__introspection;

/* Reads and checks an answer with the status 200. Writes to *why whether the token is accepted.
 * Returns MCP_OK, MCP_EPARSE (the answer is not one of RFC 7662, so the token is neither accepted
 * nor refused), MCP_ELIMIT (longer than MCP__INTROSPECT_BYTES) or MCP_ENOMEM. Whatever the result
 * is, free *answer with mcp__introspection_clear(). */
int mcp__introspection_read(mcp__introspection *answer, mcp_str body, const mcp__token_rules *rules,
                            int64_t now, const mcp_allocator *allocator, mcp__refused *why);
void mcp__introspection_clear(mcp__introspection *answer);

#endif
