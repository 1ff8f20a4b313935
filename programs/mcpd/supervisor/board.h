/* board.h: memory that the workers of one supervisor share, for /metrics. A request for /metrics comes
 * to one worker, but is about all of them.
 *
 * Each worker has a row, with one cell for each address, in which it writes its own metrics when
 * another worker rings its doorbell. The supervisor has a row for the counts of workers that ended, so
 * that counters never decrease.
 */
#ifndef MCPD_BOARD_H
#define MCPD_BOARD_H

#include "http.h"
#include "merge.h"

typedef struct board board;

/* Makes the memory. Returns its descriptor in *fd, which is inherited by the workers. Returns NULL
 * after storing errno. */
board *board_new(size_t workers, size_t addresses, int *fd);
/* Opens the memory in a worker. doorbell is the first of the descriptors that ring one worker each. */
board *board_open(int fd, size_t number, size_t workers, size_t addresses, int doorbell);
void board_free(board *b); /* NULL is allowed */

/* The descriptor that becomes readable when this worker has to publish. */
int board_doorbell(const board *b);
/* A worker: writes the metrics of each listener in its row. */
void board_publish(board *b, const listeners *at);
/* A worker: adds the metrics of all other workers, for the listener at `index`, to its own. Waits up to
 * 100 ms for workers that are busy; of one that does not answer, what it wrote last is used. Returns
 * false if out of memory. */
bool board_sum(board *b, const listeners *at, size_t index, merge *to, const merge_filter *filter);

/* The supervisor: a worker serves, or has ended; its counts are kept. */
void board_begins(board *b, size_t number);
void board_ended(board *b, size_t number);

#endif
