/* login.h: authenticates requests, and ends streams whose token expires (login.c). */
#ifndef MCP_SRC_HTTP_SERVER_LOGIN_H
#define MCP_SRC_HTTP_SERVER_LOGIN_H

#include <mcp/http.h>

#include "http/server/answer.h"

/* What `authenticate` determined for the answer to a request. All strings are in `text`. */
typedef struct mcp__http_denial {
    bool denied;              /* the request is refused; if false, only `nonce` is set */
    bool challenges, retries; /* `lines` contains WWW-Authenticate; it contains Retry-After */
    const char *nonce;        /* the value of DPoP-Nonce, or NULL */
    mcp_str lines;            /* complete header lines */
    mcp_str message;
    mcp_str reason, issuer, key, principal; /* for the log */
    char text[];
} mcp__http_denial;

/* A call of `authenticate`, as a part of the connection. */
struct mcp_http_login {
    void (*cancel)(mcp_http_login *login, void *user);
    void *cancel_user;
};

void mcp__http_login_init(mcp_http_connection *c);
/* Calls `authenticate`. Returns true if the login will be answered later. Otherwise writes the
 * result to *why: MCP__HTTP_FINE or a refusal. */
bool mcp__http_ask(mcp_http_connection *c, mcp__http_refusal *why);
/* Sets the sender of the current request, NULL if it is anonymous, in the view that the request
 * names. Returns MCP__HTTP_FINE or MCP__HTTP_NO_MEMORY. */
mcp__http_refusal mcp__http_identify(mcp_http_connection *c, mcp_identity *identity);
/* Calls the cancel function of a login that is still open. */
void mcp__http_login_cancel(mcp_http_connection *c);
/* mcp__http_login_deadline() returns when mcp__http_login_due() must be called for a request whose
 * sender is not known yet. */
int64_t mcp__http_login_deadline(const mcp_http_connection *c);
void mcp__http_login_due(mcp_http_connection *c);
/* Resets everything about the sender of the last request. */
void mcp__http_login_reset(mcp_http_connection *c);
/* Releases everything that the login of a connection holds. */
void mcp__http_login_free(mcp_http_connection *c);
/* Returns the denial with which the program refused the request, or NULL if `why` is not such a
 * refusal. */
const mcp__http_denial *mcp__http_denial_of(const mcp_http_connection *c, mcp__http_refusal why);
/* Appends the header line of a challenge for these scopes. */
void mcp__http_put_scope_challenge(const mcp_http_connection *c, const char *scopes,
                                   mcp__buf *lines);

/* Returns when the stream on this connection ends because its token expires, or INT64_MAX if it
 * does not. */
int64_t mcp__http_stream_expiry(const mcp_http_connection *c);
/* Ends an open listen stream, GET stream or stream of HTTP+SSE, after sending the pending change
 * notifications. */
void mcp__http_end_stream(mcp_http_connection *c);

/* ---- oauth.c --------------------------------------------------------------------------------- */

/* Returns whether the path of the request is a path of the metadata of the resource server, which the
 * endpoint must have. */
bool mcp__http_is_metadata(const mcp_http_connection *c);
/* Answers with the metadata. */
void mcp__http_answer_resource(mcp_http_connection *c);
/* Returns the URL of the metadata that a challenge names, that of the view of the request if it has one; or
 * NULL. */
const char *mcp__http_metadata_url(const mcp_http_connection *c);

/* ---- login.c --------------------------------------------------------------------------------- */

/* Sets http->urls. Returns MCP_OK or MCP_ENOMEM. */
int mcp__http_urls_set(mcp_http *http);
void mcp__http_urls_free(mcp_http *http);
/* Returns whether a string can be part of a header value, also as a quoted string. */
bool mcp__http_is_quotable(const char *text);

#endif
