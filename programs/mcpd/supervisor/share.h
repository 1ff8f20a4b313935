/* share.h: the number of workers, and the part of each limit that one worker has. */
#ifndef MCPD_SHARE_H
#define MCPD_SHARE_H

#include "options.h"

/* Returns the number of workers: --workers, or with "auto" that of the processors that this process
 * may use. At least 1. */
size_t share_workers(const settings *s);
/* Divides the limits of a worker that is one of `count`. Limits of all clients together are divided also
 * if they are not set; limits of one client only if they are set, because a client that has few
 * connections uses few workers. Does nothing if count is at most 1. */
void share_limits(settings *s, size_t count);

#endif
