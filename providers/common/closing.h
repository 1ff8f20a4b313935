/* closing.h: closes a descriptor whose close() may block. */
#ifndef COMMON_CLOSING_H
#define COMMON_CLOSING_H

#include <mcp/provider.h>

/* Closes an inotify descriptor. The kernel waits there until no other CPU uses its watches any
 * more, which takes up to 20 ms. So a worker thread of the host does it. Closes it at once if host
 * is NULL or has no workers, or if some descriptors wait already. At most a few descriptors of the
 * process wait, because the number of inotify descriptors is limited. Does nothing if fd is
 * negative. Called on the server's thread, not while the server is being freed. */
void common_close_inotify(int fd, const mcp_host *host);

#endif
