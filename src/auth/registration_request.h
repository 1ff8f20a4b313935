/* registration_request.h: dynamic client registration (RFC 7591). */
#ifndef MCP_SRC_AUTH_REGISTRATION_REQUEST_H
#define MCP_SRC_AUTH_REGISTRATION_REQUEST_H

#include "auth/request_form.h"

/* What a client says about itself. Empty strings are left out. */
typedef struct mcp__registration {
    mcp_str name, uri;
    mcp_str redirect_uri; /* with it: authorization_code; without: the device flow */
    mcp_str scope;
    mcp__auth_method method;
    bool device; /* registers the device flow (in addition, if there is a redirect_uri) */
    mcp_str software_id, software_version;
} mcp__registration;

/* Appends the body of the request, which is JSON. The grants include refresh_token, and the
 * application_type is native. Returns MCP_OK, MCP_EINVAL (not UTF-8) or MCP_ENOMEM. */
int mcp__registration_put(mcp__buf *to, const mcp__registration *client);

/* Chooses the method to ask for: none if the authorization server lists it or lists nothing, else
 * client_secret_basic, else client_secret_post. */
mcp__auth_method mcp__registration_method(const mcp_json *list);

/* A registered client. */
typedef struct mcp__registered {
    mcp_json_doc *doc; /* owns the strings */
    mcp_str id;
    mcp_str secret;         /* empty if there is none */
    mcp_str method;         /* token_endpoint_auth_method; empty if there is none */
    int64_t secret_expires; /* in seconds since 1970; 0 if never */
} mcp__registered;

/* Reads the answer from `url`. The status may be any. A refusal is MCP__OAUTH_INVALID_REDIRECT,
 * MCP__OAUTH_INVALID_METADATA or MCP__OAUTH_REGISTER_REFUSED. Whatever the result is, free *ret
 * with mcp__registered_clear(). */
mcp__oauth_fault mcp__registered_read(mcp__registered *ret, int status, mcp_str body, mcp_str url,
                                      const mcp_allocator *allocator, mcp_error *error);
void mcp__registered_clear(mcp__registered *client);

#endif
