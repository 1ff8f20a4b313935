/* far.h: one use of the database for a request. It runs on the server's thread if that is quick,
 * otherwise on a worker.
 *
 * A use accesses only its own object and its connection. It may be restarted, so it first resets
 * its output. On a worker it is interrupted by a cancellation, and by its time limit if it does not
 * check the limit itself, for example while SQLite counts the rows of a table.
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
    int (*end)(void *user);   /* replies and frees, on the server's thread; returns what a
                               * handler returns */
    void (*drop)(void *user); /* only frees, after the work could not be started */
    void *user;               /* argument of these three callbacks */
    size_t bytes;             /* memory that it may need */

    /* The result; see sqlite_use(). */
    int rc, code;
    char text[256];

    /* State of the run. */
    atomic_bool stop;
    sqlite_conn *running;
    mcp_host_timer *timer;
} sqlite_far;

/* Runs the use. With `far` it starts on a worker. The object must live as long as the request.
 * Returns what a handler returns. */
int sqlite_far_run(sqlite_far *f, bool far);

#endif
