/* transport.h: what a transport calls to have its requests authorized by an OAuth client.
 *
 * A transport joins the client. It adds the headers of mcp__oauth_put() to each request, and reports
 * the head of each answer with mcp__oauth_heard(). A 401 or 403 goes to mcp__oauth_refused(); if that
 * returns MCP_PENDING, the request waits until the transport is woken.
 */
#ifndef MCP_SRC_AUTH_CLIENT_TRANSPORT_H
#define MCP_SRC_AUTH_CLIENT_TRANSPORT_H

#include <mcp/oauth.h>

#include "base/base.h"

/* A transport. `wake` is never called from within a call of the transport. rc is MCP_OK if the
 * waiting requests are to be sent again, else the reason why they fail, with its text. */
typedef struct mcp__oauth_transport {
    mcp__link link;
    void (*wake)(void *arg, int rc, const char *text);
    void *arg;
} mcp__oauth_transport;

void mcp__oauth_join(mcp_oauth_client *client, mcp__oauth_transport *transport);
void mcp__oauth_part(mcp__oauth_transport *transport); /* may be called twice */

/* Returns the URL of the server. */
const char *mcp__oauth_server(const mcp_oauth_client *client);

/* A request of a transport. Zero it before the request is first sent. */
typedef struct mcp__oauth_sent {
    uint64_t generation;         /* of the token that it was sent with; 0 if there was none */
    uint64_t failures, step_ups; /* how many authorizations had failed when it was sent */
    unsigned nonces;             /* how many times it was sent again because of a nonce */
    bool refused;                /* for lack of authorization; never accepted since */
    bool background;             /* of the client itself, which repeats it as long as it fails */
} mcp__oauth_sent;

/* Calls add() for each header of one request. `url` must be of the origin of the server; otherwise
 * nothing is added. Returns MCP_OK, what add() returned, or another negative code with *error. */
int mcp__oauth_put(mcp_oauth_client *client, const char *method, const char *url,
                   int (*add)(mcp_str name, mcp_str value, void *arg), void *arg,
                   mcp__oauth_sent *sent, mcp_error *error);

/* Takes the status and the header DPoP-Nonce (may be empty) of the answer to a request. */
void mcp__oauth_heard(mcp_oauth_client *client, mcp__oauth_sent *sent, int status, mcp_str nonce);

/* Decides about a request that was refused with 401 or 403. Returns MCP_OK (send it again now),
 * MCP_PENDING, MCP_EUNSUPPORTED (this client can do nothing about it) or another negative code with
 * *error. */
int mcp__oauth_refused(mcp_oauth_client *client, int status, mcp_str www_authenticate,
                       mcp_str nonce, mcp__oauth_sent *sent, mcp_error *error);

/* Returns the identifiers of the extensions that are used, of which there are *n. */
const char *const *mcp__oauth_extensions(const mcp_oauth_client *client, size_t *n);

#endif
