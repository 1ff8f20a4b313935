/* login.h: who sent a request, and what ends with the token that said so (login.c). */
#ifndef MCP_SRC_HTTP_SERVER_LOGIN_H
#define MCP_SRC_HTTP_SERVER_LOGIN_H

#include <mcp/http.h>

#include "http/server/answer.h"

/* What `authenticate` said about the answer to a request. All texts are in `text`. */
typedef struct mcp__http_denial {
    bool denied;              /* the request was refused; otherwise only `nonce` is set */
    bool challenges, retries; /* `lines` contains WWW-Authenticate, Retry-After */
    const char *nonce;        /* DPoP-Nonce, or NULL */
    mcp_str lines;            /* whole headers */
    mcp_str message;
    char text[];
} mcp__http_denial;

/* A question to `authenticate`, part of the connection. */
struct mcp_http_login {
    void (*cancel)(mcp_http_login *login, void *user);
    void *cancel_user;
};

void mcp__http_login_init(mcp_http_connection *c);
/* Asks who sent the request. Returns true if the answer comes later; otherwise *why is the result,
 * MCP__HTTP_FINE or a refusal. */
bool mcp__http_ask(mcp_http_connection *c, mcp__http_refusal *why);
/* Calls the cancel function of a login that is still open. */
void mcp__http_login_cancel(mcp_http_connection *c);
/* Return when to act on a request whose sender is not known yet, and do so. */
int64_t mcp__http_login_deadline(const mcp_http_connection *c);
void mcp__http_login_due(mcp_http_connection *c);
/* Forgets what is known about the sender of the last request. */
void mcp__http_login_reset(mcp_http_connection *c);
/* Releases everything that the login of a connection holds. */
void mcp__http_login_free(mcp_http_connection *c);
/* Returns how the program described this refusal of the request, or NULL. */
const mcp__http_denial *mcp__http_denial_of(const mcp_http_connection *c, mcp__http_refusal why);
/* Writes the header of a challenge for these scopes. */
void mcp__http_put_scope_challenge(const mcp_http_connection *c, const char *scopes,
                                   mcp__buf *lines);

/* Returns when the stream on this connection ends with its token; INT64_MAX if it does not. */
int64_t mcp__http_stream_expiry(const mcp_http_connection *c);
/* Ends an open listen stream, GET stream or HTTP+SSE, after the changes that were not reported yet. */
void mcp__http_end_stream(mcp_http_connection *c);

/* Sets http->urls. Returns MCP_OK or MCP_ENOMEM. */
int mcp__http_urls_set(mcp_http *http);
void mcp__http_urls_free(mcp_http *http);
/* Returns whether a text can stand in a header, between quotation marks too. */
bool mcp__http_is_quotable(const char *text);

#endif
