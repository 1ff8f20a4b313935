/* pool.h: connections to one database, and statements that run on them.
 *
 * A worker connects, because names are looked up, files read and certificates checked. Statements
 * are sent, and their rows received, on the server's thread, which never waits. Each statement is
 * sent as one pipeline, inside a read-only transaction that is always rolled back, which
 * undoes whatever a rollback can undo in the session. The exception is a statement with `write`. A "statement from outside" is one that this
 * provider did not write: it comes from a caller of the tool, or is a saved query. After such a
 * statement, the rest of the session's state is discarded too.
 *
 * If a statement takes too long or is cancelled, its connection is closed, so that a late result
 * cannot be taken for another statement's. If nothing at all was received for it, the network may
 * have failed. Then idle connections are closed too, so that the next statement does not wait on
 * one of them.
 */
#ifndef POSTGRES_POOL_H
#define POSTGRES_POOL_H

#include <mcp/provider.h>

#include <stdatomic.h>

#include <libpq-fe.h>

#include "buffer.h"

enum { POSTGRES_MAX_VALUES = 64, POSTGRES_TRIAL_INDEXES = 4 };

typedef struct postgres_pool postgres_pool;
typedef struct postgres_conn postgres_conn;
typedef struct postgres_op postgres_op;
typedef struct postgres_as postgres_as; /* see caller.h */

/* The expected cost of a statement. */
typedef enum postgres_share { POSTGRES_QUICK, POSTGRES_SLOW, POSTGRES_OUTSIDE } postgres_share;

/* A limit of connections that several pools share. A pool that needs a connection when there are
 * `max` closes an idle one of another pool. If there is none, pools whose statements wait take turns
 * with each connection that becomes idle, so that many statements of one do not keep out the others.
 * Must live as long as its pools. */
typedef struct postgres_budget {
    size_t max;
    size_t open;                          /* connections, and attempts to connect */
    size_t running[POSTGRES_OUTSIDE + 1]; /* connections whose statements have this share */
    uint64_t started;                     /* number of statements */
    postgres_pool *pools;
} postgres_budget;

/* A statement of the operator that changes rows, in a transaction of its own. COMMIT is sent after its
 * results were received, and only if it is the expected command, the number of rows is within its
 * bound and `may` agrees. It is never repeated. */
typedef struct postgres_write {
    const char *command; /* "UPDATE" */
    uint64_t most;       /* rows */
    /* Asked just before the transaction begins, and, with `end`, before COMMIT is sent. */
    bool (*may)(void *user, bool end);
    void *user;

    /* The result, and how far it got. */
    uint64_t rows; /* that the statement changed */
    bool expected; /* the database ran the expected command */
    bool many, denied;
    bool
        sent; /* COMMIT was sent: after an error without the database's answer, nobody knows whether
                * something was changed */
} postgres_write;

/* Hypothetical indexes for a statement, which is explained without and with them. They are in the
 * session, not in the transaction, and are reset whatever happens, or the connection is closed. */
typedef struct postgres_trial {
    const char *begin;  /* the first query of the transaction */
    const char *create; /* makes the index of its parameter */
    const char *reset;
    const char *index[POSTGRES_TRIAL_INDEXES];
    size_t n;
} postgres_trial;

/* A statement. Everything that it points to must stay valid until `end` is called. */
struct postgres_op {
    const char *sql;
    bool inert;         /* runs no user-defined functions, so the session's read-only
                         * mode is enough */
    bool catalog;       /* reads only the catalogue; user-defined functions are not in
                         * the search path */
    bool one;           /* with `inert`: returns at most one row, which is received as a whole */
    uint64_t statement; /* with `inert`: identifies a repeated statement with the same text;
                         * 0 means none */
    const char *value[POSTGRES_MAX_VALUES];
    int n_value;
    bool slow;             /* may read much; never gets all connections */
    bool outside;          /* a statement from outside; gets even fewer connections */
    postgres_write *write; /* with `outside`: it changes rows; otherwise NULL */
    /* With `outside`: the statement has results without the indexes, of each index, and with them. */
    const postgres_trial *trial;
    const char *alone;     /* with `outside`: the text, which must be a single statement */
    const postgres_as *as; /* the role and the settings of the caller; NULL means the login role */
    size_t fetch;          /* with `outside`: number of rows to fetch; 0 means that the statement
                        * is only run */
    size_t skip;           /* with `fetch`: number of rows before them */
    size_t max_bytes; /* largest size of a row; a larger one ends the statement with MCP_ELIMIT */
    uint64_t timeout_ms;

    /* Called for each row; if there are none, called once at the end for the names of the columns.
     * Returns MCP_OK, MCP_PENDING (no further rows are needed; the result is MCP_OK), or an error
     * that ends the statement. May be NULL. */
    int (*row)(postgres_op *op, const PGresult *result);
    /* Called once, possibly before postgres_pool_run() returns; afterwards the op belongs to the
     * caller again. `rc` is MCP_OK; MCP_EREMOTE if the database reported an error, in `state` and
     * `text`; MCP_ECLOSED if the database cannot be reached, with the reason in `text`;
     * MCP_EFILES if it cannot because no descriptors are left; MCP_EACCESS if the statement is
     * from outside and the role has dangerous privileges; MCP_ECANCELLED if a statement with
     * `write` was rolled back for a reason that is in it; MCP_ETIMEOUT, MCP_ELIMIT, MCP_ENOMEM,
     * or the result of `row`. */
    void (*end)(postgres_op *op, int rc);
    void *user;
    char state[6];
    char text[300];
    char hint[300]; /* the database's hint about an error, or "" */
    unsigned
        position; /* with `outside`: the character of `alone` that the error is about, from 1; 0
                        * if it is about none */
    size_t nth;   /* with `trial`: which of the results comes, or has failed, from 0 */
    bool refused; /* the error is that the role of the caller cannot be used; `state` is empty */

    /* Used by the pool. */
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
    postgres_budget *budget; /* shared with other pools, instead of `max`; may be NULL */
    uint64_t timeout_ms;     /* time limit of each statement; also set on the server */
    bool mighty;             /* run statements from outside even if the role has dangerous
                          * privileges; see session.c */
    bool mapped;             /* statements from outside without `as` are refused */
    bool own;          /* the login role is that of the callers, so that statements with `as` are
                          * refused too if it has dangerous privileges */
    const char *after; /* a statement to run on each new connection, or NULL */
    void (*notify)(void *user, const PGnotify *notice);
    void (*connected)(void *user,
                      bool again); /* `again` is false for the first connection, otherwise changes
                                    * may have been missed */
    void *user;
} postgres_pool_options;

/* Needs the host's timers, descriptors and workers. Returns MCP_OK,
 * MCP_EUNSUPPORTED or MCP_ENOMEM. */
int postgres_pool_new(const postgres_pool_options *options, postgres_pool **ret);
/* Closes all connections. The `end` of running operations is not called. NULL is allowed. */
void postgres_pool_free(postgres_pool *pool);

void postgres_pool_run(postgres_pool *pool, postgres_op *op);
/* Cancels an operation. Its `end` is not called. */
void postgres_pool_cancel(postgres_pool *pool, postgres_op *op);

/* ---- sessions (session.c) -------------------------------------------------------------------- */

enum { POSTGRES_SESSION_SQL = 1600 };

/* An expression after which a session looks up anew of which roles its login role is a member. It
 * remembers that for one role at a time, until somebody changes a membership. If it learned it just
 * when a REVOKE was committed, it remembers what was before, and the role could still be used. Asking
 * about another role, which every server has, replaces it. SET ROLE asks for "SET", before PostgreSQL
 * 16 for "MEMBER". */
#define POSTGRES_FORGET_ROLES                                            \
    "pg_catalog.pg_has_role('pg_monitor'::pg_catalog.name, "             \
    "'pg_signal_backend'::pg_catalog.name, CASE WHEN "                   \
    "pg_catalog.current_setting('server_version_num')::pg_catalog.int4 " \
    "OPERATOR(pg_catalog.>=) 160000 THEN 'SET' ELSE 'MEMBER' END)"

/* The reason if there is no better one. */
#define POSTGRES_NO_ANSWER "it does not answer"

/* Connects and sets up the session. Blocks for some seconds at most, or until *given_up is set by
 * any thread; given_up may be NULL. Returns NULL with a reason in `text`, or with "" if it was
 * given up. The reason contains no secrets and never the text of an invalid connection string. */
PGconn *postgres_connect(const char *conninfo, uint64_t timeout_ms, const char *after,
                         const atomic_bool *given_up, bool *mighty, char text[300]);
/* Returns whether the error is permanent: the server refuses the connection or is not trusted. */
bool postgres_is_refusal(const char *conninfo, const char *text);
/* Writes the statement that sets up a session, also after DISCARD. */
void postgres_session_sql(char sql[POSTGRES_SESSION_SQL], uint64_t timeout_ms);
/* Reads everything that has arrived, without blocking. Returns false if the
 * connection is broken. */
bool postgres_consume(PGconn *conn);
/* Waits for the result of the last statement sent. Only used at the start, outside of the pool.
 * Returns NULL after a time-out or if the connection is broken. */
PGresult *postgres_answer(PGconn *conn, uint64_t ms);
/* Writes libpq's message about a connection as one line. */
void postgres_why(const char *message, char text[300]);

#endif
