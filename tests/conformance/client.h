/* client.h: authorization for the client that the official conformance suite starts. It uses only
 * the public API. */
#ifndef CONFORMANCE_CLIENT_H
#define CONFORMANCE_CLIENT_H

#include <mcp/io.h>
#include <mcp/oauth.h>

/* The suite starts a client for each scenario, all at once, so each may take long. What hangs is
 * ended by the suite. */
enum { PATIENT_MS = 110000 };

typedef struct login login;

/* Makes the authorization of a client for the server at `url`. `context` is what the suite says
 * about it (client id, secrets, tokens of identity providers), and must live as long as the
 * login. */
int login_new(mcp_loop *loop, const char *url, const char *scenario, const mcp_json *context,
              login **ret, mcp_error *error);
void login_free(login *l);
mcp_oauth_client *login_oauth(login *l);

/* Opens `url` like a browser, and writes the address to which it is redirected into `to`. There is
 * no page to look at. `url` must begin with http://. Returns false after a failure. */
bool browser_follow(const char *url, char *to, size_t size);

#endif
