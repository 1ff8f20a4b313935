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

/* The expected cost of a statement. */
typedef enum postgres_share { POSTGRES_QUICK, POSTGRES_SLOW, POSTGRES_OUTSIDE } postgres_share;

/* A statement. What it points to must live until its end. */
struct postgres_op {
    const char *sql;
    bool inert;         /* runs no user-defined functions, so the session's read-only mode is
                         * enough */
    bool catalog;       /* reads only the catalogue; user-defined functions are not in the search
                         * path */
    bool one;           /* with `inert`: returns at most one row, received completely */
    uint64_t statement; /* with `inert`: identifies a repeated statement with the same text; 0:
                         * none */
    const char *value[POSTGRES_MAX_VALUES];
    int n_value;
    bool slow;         /* may read much: never gets all connections */
    bool outside;      /* statement from outside: gets even fewer connections */
    const char *alone; /* with `outside`: the text, which must be a single statement */
    size_t fetch;      /* with `outside`: number of rows to fetch; 0: the statement is only run */
    size_t max_bytes;  /* of one row; a larger one ends it with MCP_ELIMIT */
    uint64_t timeout_ms;

    /* Called for each row, or once at the end if there are none, for the names of columns. MCP_OK;
     * MCP_PENDING: no further rows are needed, and the result is MCP_OK; an error ends the
     * statement. May be NULL. */
    int (*row)(postgres_op *op, const PGresult *result);
    /* Called once, possibly before postgres_pool_run() returns; afterwards the op belongs to the
     * caller again. MCP_OK; MCP_EREMOTE: an error of the database, in `state` and `text`;
     * MCP_ECLOSED: it is not reachable, with the reason in `text` (MCP_EFILES: no descriptors
     * left); MCP_EACCESS: a statement from outside, and the role has dangerous privileges;
     * MCP_ETIMEOUT, MCP_ELIMIT, MCP_ENOMEM, or the result of `row`. */
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
    const mcp_allocator *alloc; /* must live as long as the pool */
    const mcp_host *host;
    const char *conninfo; /* copied */
    const char *name;     /* for the log */
    size_t max;
    uint64_t timeout_ms; /* of each statement; also set on the server */
    bool mighty;         /* also run statements from outside for a role with dangerous privileges;
                          * see session.c */
    const char *after;   /* a statement to run on each new connection, or NULL */
    void (*notify)(void *user, const PGnotify *notice);
    void (*connected)(void *user,
                      bool again); /* `again`: not the first connection, so that changes may have
                                    * been missed */
    void *user;
} postgres_pool_options;

/* Needs the host's timers, descriptors and workers. MCP_EUNSUPPORTED, MCP_ENOMEM. */
int postgres_pool_new(const postgres_pool_options *options, postgres_pool **ret);
/* Closes all connections; running operations do not get an end. NULL is allowed. */
void postgres_pool_free(postgres_pool *pool);

void postgres_pool_run(postgres_pool *pool, postgres_op *op);
/* Abandons an operation; its end is not called any more. */
void postgres_pool_cancel(postgres_pool *pool, postgres_op *op);

/* ---- sessions (session.c) -------------------------------------------------------------------- */

enum { POSTGRES_SESSION_SQL = 800 };

/* The reason if no other is known. */
#define POSTGRES_NO_ANSWER "it does not answer"

/* Connects and sets up the session; blocks for some seconds at most, or until *given_up (set by any
 * thread; NULL: never). NULL, with a reason that contains no secrets (never the text of an invalid
 * connection string), or "" if it was given up. */
PGconn *postgres_connect(const char *conninfo, uint64_t timeout_ms, const char *after,
                         const atomic_bool *given_up, bool *mighty, char text[300]);
/* Whether this is a permanent error: the server refuses the connection or is not trusted. */
bool postgres_is_refusal(const char *conninfo, const char *text);
/* The statement that sets up a session, also after DISCARD. */
void postgres_session_sql(char sql[POSTGRES_SESSION_SQL], uint64_t timeout_ms);
/* Reads everything that has arrived, without blocking. False: the connection is broken. */
bool postgres_consume(PGconn *conn);
/* Only at the start, outside of the pool: waits for the answer to what was sent last. NULL: a
 * time-out, or the connection is broken. */
PGresult *postgres_answer(PGconn *conn, uint64_t ms);
/* libpq's message about a connection, in one line. */
void postgres_why(const char *message, char text[300]);

#endif
