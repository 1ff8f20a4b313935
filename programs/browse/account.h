/* account.h: the login at a server that requires one (OAuth). The tokens are those of mcpctl: the records
 * are in its file, and `mcpctl login` is run for what a person has to do.
 */
#ifndef BROWSE_ACCOUNT_H
#define BROWSE_ACCOUNT_H

#include <mcp/io.h>
#include <mcp/oauth.h>

typedef struct account account;

/* *ret is NULL if there is none for this server: a Unix socket, http to another machine, a header
 * Authorization, no OpenSSL. Returns MCP_OK or a negative code. */
int account_open(mcp_loop *loop, const char *url, const char *const *headers, account **ret,
                 mcp_error *error);
void account_close(account *a);
mcp_oauth_client *account_client(const account *a); /* NULL for NULL */

/* Runs `mcpctl login` for a server, on the terminal, which has to be in its usual mode. Returns whether it
 * has succeeded. */
bool account_login(const char *url);

#endif
