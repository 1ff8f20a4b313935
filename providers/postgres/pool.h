/* pool.h: connections to one database, and statements that run on them.
 *
 * Connecting is done on a worker (names are looked up, files are read, certificates are checked); a
 * statement is sent and its rows are taken as they come on the server's thread, which never waits.
 * Each statement goes out as one pipeline with a transaction that reads around it, and that is
 * rolled back whatever happens in it, so that nothing which a statement does to its session stays
 * but what a rollback cannot undo: after a statement from outside the session is discarded too.
 *
 * Of a statement that takes too long or is not wanted any more the connection is given up: what
 * arrives on it late can be nobody's answer. Where nothing at all arrived the network is suspected:
 * idle connections are given up too, so that the next statement does not wait on one of them for
 * nothing.
 */
#ifndef POSTGRES_POOL_H
#define POSTGRES_POOL_H

#include <mcp/provider.h>

#include <stdatomic.h>

#include <libpq-fe.h>

#include "buffer.h"

enum { POSTGRES_MAX_VALUES = 64 };

typedef struct postgres_pool postgres_pool;
typedef struct postgres_conn postgres_conn;
typedef struct postgres_op postgres_op;

/* What a statement may turn out to be. */
typedef enum postgres_share { POSTGRES_QUICK, POSTGRES_SLOW, POSTGRES_OUTSIDE } postgres_share;

/* One statement. What is pointed to lives until its end. */
struct postgres_op {
    const char *sql;
    bool inert;         /* runs no function of anybody's: the session's own read-only mode does */
    bool catalog;       /* reads the catalogue alone: nobody's functions are found by their names */
    bool one;           /* with `inert`: brings a row at the most, all of it at once */
    uint64_t statement; /* with `inert`, not 0: one that comes again, with the same text */
    const char *value[POSTGRES_MAX_VALUES];
    int n_value;
    bool slow;         /* may have to look at much: never has all connections */
    bool outside;      /* somebody else's words: still less */
    const char *alone; /* with `outside`: those words, which have to be a statement by themselves */
    size_t fetch; /* with `outside`: how many rows of a query are wanted; 0: it can only be run */
    size_t max_bytes; /* of one row; more ends it with MCP_ELIMIT */
    uint64_t timeout_ms;

    /* Each row (and once at the end without one, when there was none: for the names of its
     * columns). MCP_OK; MCP_PENDING: enough of them, the end is MCP_OK; a negative code is the end.
     * May be NULL. */
    int (*row)(postgres_op *op, const PGresult *result);
    /* Called once, maybe before postgres_pool_run() returned; the op is the caller's again. MCP_OK;
     * MCP_EREMOTE: the database's error is in `state` and `text`; MCP_ECLOSED: it cannot be
     * reached, `text` says why (MCP_EFILES: for want of descriptors); MCP_EACCESS: from outside,
     * and the role is too mighty; MCP_ETIMEOUT, MCP_ELIMIT, MCP_ENOMEM, or what `row` said. */
    void (*end)(postgres_op *op, int rc);
    void *user;
    char state[6];
    char text[300];

    /* The pool's. */
    postgres_conn *conn;
    postgres_op *next;
    int64_t deadline;
    size_t rows;
    unsigned tries;
};

typedef struct postgres_pool_options {
    const mcp_allocator *alloc; /* lives as long as the pool */
    const mcp_host *host;
    const char *conninfo; /* copied */
    const char *name;     /* for the log */
    size_t max;
    uint64_t timeout_ms; /* of any statement, said to the server */
    bool mighty;         /* statements from outside run for a mighty role too: see session.c */
    const char *after;   /* a statement that is run on each new connection, or NULL */
    void (*notify)(void *user, const PGnotify *notice);
    void (*connected)(void *user,
                      bool again); /* `again`: not at once, so that something was missed */
    void *user;
} postgres_pool_options;

/* Needs timers, descriptors and workers of the host. MCP_EUNSUPPORTED, MCP_ENOMEM. */
int postgres_pool_new(const postgres_pool_options *options, postgres_pool **ret);
/* Closes everything; what still runs is not ended. NULL is allowed. */
void postgres_pool_free(postgres_pool *pool);

void postgres_pool_run(postgres_pool *pool, postgres_op *op);
/* Forgets it; its end is not called any more. */
void postgres_pool_cancel(postgres_pool *pool, postgres_op *op);

/* ---- sessions (session.c) -------------------------------------------------------------------- */

enum { POSTGRES_SESSION_SQL = 800 };

/* The reason when nothing else is known. */
#define POSTGRES_NO_ANSWER "it does not answer"

/* Connects and sets the session up, and waits for that: for some seconds, or until *given_up (from
 * any thread; NULL: never). NULL, and the reason without anything secret: never the text of a
 * connection string that cannot be read; "" when it was given up. */
PGconn *postgres_connect(const char *conninfo, uint64_t timeout_ms, const char *after,
                         const atomic_bool *given_up, bool *mighty, char text[300]);
/* Whether that reason is one that stays: the server answers, and does not let us in; or it is not
 * trusted. */
bool postgres_is_refusal(const char *conninfo, const char *text);
/* What sets a session up, again after it was discarded: one statement. */
void postgres_session_sql(char sql[POSTGRES_SESSION_SQL], uint64_t timeout_ms);
/* Reads all that has arrived, without waiting. False: the connection is broken. */
bool postgres_consume(PGconn *conn);
/* Outside of the pool, for the start: what was sent last is answered with. NULL: not within this
 * time, or the connection is broken. */
PGresult *postgres_answer(PGconn *conn, uint64_t ms);
/* libpq's own words about a connection, in one line. */
void postgres_why(const char *message, char text[300]);

#endif
