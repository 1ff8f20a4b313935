/* far.h: one use of the database for a request: here and now if that is quick, else on a worker.
 *
 * What a use does touches nothing but its own object and its connection, and may begin anew:
 * whatever it writes is reset before. On a worker a cancellation interrupts it, and the end of its
 * time does where it does not look at its bounds itself, as while SQLite counts the rows of a
 * table.
 */
#ifndef SQLITE_FAR_H
#define SQLITE_FAR_H

#include "conn.h"

#include <mcp/provider.h>

struct sqlite;

typedef struct sqlite_far {
    struct sqlite *s;
    mcp_request *req;
    sqlite_use_fn *use;
    int (*end)(void *user); /* replies and frees, on the server's thread; what a handler returns */
    void (*drop)(void *user); /* frees alone, where it could not be run */
    void *user;               /* of all three */
    size_t bytes;             /* that it may come to hold */

    /* What came of it; see sqlite_use(). */
    int rc, code;
    char text[256];

    /* Running. */
    atomic_bool stop;
    sqlite_conn *running;
    mcp_host_timer *timer;
} sqlite_far;

/* Returns what a handler returns. `far`: at once on a worker. The object lives as long as the
 * request. */
int sqlite_far_run(sqlite_far *f, bool far);

#endif
