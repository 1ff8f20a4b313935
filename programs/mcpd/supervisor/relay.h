/* relay.h: the supervisor's side of what its workers tell each other (line.h).
 *
 * Each worker has one end of a pair of sockets that keep the borders of packets (SOCK_SEQPACKET). The
 * supervisor has the others, and passes on what arrives. Nothing here blocks.
 */
#ifndef MCPD_RELAY_H
#define MCPD_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct relay relay;

/* Returns NULL if out of memory. Workers have numbers from 0. `sessions` is how many one may have. */
relay *relay_new(size_t workers, size_t sessions);
void relay_free(relay *r); /* NULL is allowed */

/* Makes the pair of a worker that is going to be started. Returns its end, which is closed on exec and
 * which the caller closes, or -1 with errno. */
int relay_add(relay *r, size_t worker);
/* Passes on what a worker that has ended said before. */
void relay_end(relay *r, size_t worker);

/* Writes what poll() has to wait for: one entry for each worker. */
void relay_poll(const relay *r, struct pollfd *fds);
/* Handles the result. */
void relay_turn(relay *r, const struct pollfd *fds);

#endif
