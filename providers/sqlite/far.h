/* far.h: one use of the database for a request: on the server's thread if that is quick, else on a
 * worker.
 *
 * A use accesses only its own object and its connection, and may be restarted: its output is reset
 * first. On a worker it is interrupted by a cancellation, and by its time limit where it does not
 * check that itself, as while SQLite counts the rows of a table.
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
    int (*end)(void *user);   /* replies and frees, on the server's thread; returns what a handler
                             * returns */
    void (*drop)(void *user); /* frees only, if it could not be run */
    void *user;               /* of all three */
    size_t bytes;             /* memory that it may need */

    /* The outcome; see sqlite_use(). */
    int rc, code;
    char text[256];

    /* Running. */
    atomic_bool stop;
    sqlite_conn *running;
    mcp_host_timer *timer;
} sqlite_far;

/* Returns what a handler returns. `far`: starts on a worker. The object must live as long as the
 * request. */
int sqlite_far_run(sqlite_far *f, bool far);

#endif
