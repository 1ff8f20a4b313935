/* challenge.h: what a resource server tells clients that lack authorization: the header
 * WWW-Authenticate (RFC 6750, 9449 and 9728) and the protected resource metadata (RFC 9728).
 *
 * Everything comes from the configuration, nothing from the request.
 */
#ifndef MCP_SRC_AUTH_CHALLENGE_H
#define MCP_SRC_AUTH_CHALLENGE_H

#include "auth/dpop.h"

typedef struct mcp__challenge {
    mcp__auth_scheme scheme;
    mcp__refused why;     /* gives "error" and "error_description" */
    mcp_str scopes;       /* those that the operation needs, separated by spaces; may be empty */
    mcp_str metadata_url; /* may be empty */
} mcp__challenge;

/* Appends the value of a header WWW-Authenticate with one challenge. Characters that a quoted
 * string cannot contain are replaced, and scopes for refresh tokens are left out. */
void mcp__challenge_put(mcp__buf *to, const mcp__challenge *challenge);

/* ---- metadata.c ------------------------------------------------------------------------------ */

/* A protected resource. All strings are borrowed and in UTF-8. They may be empty unless noted. */
typedef struct mcp__resource {
    mcp_str url;            /* its identifier; required */
    const mcp_str *issuers; /* at least one */
    size_t n_issuers;
    mcp_str scopes; /* separated by spaces */
    mcp_str name, documentation;
    bool dpop;          /* tokens may be bound to a key */
    bool dpop_required; /* tokens must be */
} mcp__resource;

/* Appends the metadata document. Returns MCP_OK, MCP_EINVAL (no URL or no issuer) or MCP_ENOMEM. */
int mcp__resource_put(mcp__buf *to, const mcp__resource *resource);

/* Appends the URL of the metadata, which has the well-known path between the host and the path of
 * the resource (RFC 9728 section 3.1). Returns MCP_OK, MCP_EINVAL (not an http or https URL, or one
 * with user information or a fragment) or MCP_ENOMEM. */
int mcp__resource_metadata_url(mcp__buf *to, mcp_str resource_url);

#endif
