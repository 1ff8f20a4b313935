/* closing.h: closes a descriptor whose close() may block. */
#ifndef COMMON_CLOSING_H
#define COMMON_CLOSING_H

#include <mcp/provider.h>

/* Closes an inotify descriptor on a worker thread of the host, because close() blocks for up to 20
 * ms until no other CPU uses the watches. Closes the descriptor at once if host is NULL or has no
 * workers, or if a few descriptors of the process are waiting already: the number of inotify
 * descriptors is limited. Does nothing if fd is negative. Call this on the server's thread, but not
 * while the server is being freed. */
void common_close_inotify(int fd, const mcp_host *host);

#endif
