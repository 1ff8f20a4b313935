/* mcp/sys/io.h: loops and listeners for providers that make connections, and for processes that
 * share sockets. Part of libmcp-io.
 *
 * Like all headers of mcp/sys it may change in any minor version until 1.0
 * (docs/api-stability.md).
 */
#ifndef MCP_SYS_IO_H
#define MCP_SYS_IO_H

#include <mcp/base.h>
#include <mcp/http.h>
#include <mcp/io.h>
#include <mcp/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the loop of a host that mcp_loop_host() returned, or of a copy of that host. Returns NULL
 * for any other host. */
MCP_API mcp_loop *mcp_host_loop(const mcp_host *host);

/* ---- sockets that several processes share --------------------------------------------------- */

/* Opens a socket at an address as mcp_loop_listen() does, and listens, but accepts nothing. `mode` is
 * the file mode of a Unix socket; 0 means 0600. The socket is closed on exec. Returns MCP_OK or the
 * codes of mcp_loop_listen(). */
MCP_API int mcp_socket_listen(const char *address, unsigned mode, int *ret, mcp_error *error);
/* Returns whether a descriptor is a stream socket that listens at an address. Port 0 stands for any
 * port. */
MCP_API bool mcp_socket_listens(int fd, const char *address);

/* Returns the socket on which the listener accepts connections, or -1 after draining began. The
 * listener owns it. */
MCP_API int mcp_listener_socket(const mcp_listener *listener);
/* Tells the listener that another process accepts connections from the same socket from now on. The
 * file of a Unix socket stays when this listener is closed, and draining leaves idle connections open
 * for linger_ms (mcp_http_set_linger()). */
MCP_API void mcp_listener_hand_over(mcp_listener *listener, uint64_t linger_ms);

/* Returns the endpoint of the listener, for the calls of mcp/sys/http.h. The listener owns it. */
MCP_API mcp_http *mcp_listener_http(mcp_listener *listener);

#ifdef __cplusplus
}
#endif
#endif
