/* supervisor.h: several processes that serve the same addresses (mcpd --workers).
 *
 * The supervisor opens the sockets and keeps them, so that no connection in their queues is lost when a
 * worker ends. The workers accept from the same sockets. It starts workers, starts them again when
 * they end, passes on reloads and the end, and hands the sockets to its successor. It reads nothing
 * that clients send.
 */
#ifndef MCPD_SUPERVISOR_H
#define MCPD_SUPERVISOR_H

#include "options.h"
#include "start.h"

/* Runs until a signal ends it. Returns the exit status, after reporting errors. */
int supervise(start *s, const settings *now);

#endif
