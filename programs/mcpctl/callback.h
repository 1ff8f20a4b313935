/* callback.h: the address on this machine to which the browser is sent after a login (RFC 8252,
 * section 7.3).
 */
#ifndef MCPCTL_CALLBACK_H
#define MCPCTL_CALLBACK_H

#include <mcp/io.h>

typedef struct callback callback;

/* Gets the URL of a request. Returns whether it is the answer that was awaited. */
typedef bool callback_fn(mcp_str url, void *user);

/* Reserves a port. `url` is the redirect URI; NULL chooses http://127.0.0.1:PORT/callback with any
 * free port. Requests wait until callback_start(). If `url` is not an http URL of this machine, nothing
 * is reserved, and the redirect must come in another way. Returns MCP_OK, MCP_EINVAL, MCP_EEXIST (the
 * port is in use), MCP_ENOTFOUND (this machine has no such address), MCP_EIO or MCP_ENOMEM. */
int callback_new(mcp_loop *loop, const char *url, callback **ret, mcp_error *error);
const char *callback_url(const callback *cb);
/* Accepts requests until callback_stop(), if something was reserved. Returns MCP_OK or MCP_EIO. */
int callback_start(callback *cb, callback_fn *fn, void *user);
void callback_stop(callback *cb);
void callback_free(callback *cb);

#endif
