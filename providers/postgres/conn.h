/* conn.h: one connection of a pool and the statement that runs on it. Used by the pool only. */
#ifndef POSTGRES_CONN_H
#define POSTGRES_CONN_H

#include "pool.h"

enum { POSTGRES_PREPARED = 32, POSTGRES_STEPS = 20 };

/* A slot for a prepared statement. */
typedef struct postgres_place {
    char name[8];
    uint64_t statement; /* 0 if the slot is free */
    bool stale;         /* the server may still have a statement with this name, which must
                         * be freed first */
} postgres_place;

struct postgres_conn {
    postgres_pool *pool;
    postgres_conn *next;
    PGconn *pg;
    int fd; /* a duplicate of libpq's descriptor, which libpq closes when it finds the
             * connection lost: a poll must end before its descriptor does */
    mcp_host_poll *poll;
    postgres_op *op; /* NULL while `busy` is set means that the operation has ended and
                      * the cleanup runs */
    bool busy, unsent;
    bool heard;           /* something was received since the current statement was sent */
    postgres_share share; /* expected cost of the current statement */
    bool dirty;           /* the cleanup failed */
    bool *dead;           /* if not NULL, *dead is set to true when the connection is freed */
    int64_t deadline;
    size_t received;               /* bytes of the incomplete row */
    bool partial;                  /* something was received since the last row */
    char step[POSTGRES_STEPS + 1]; /* the letters of the steps sent; see conn.c */
    size_t at, n_steps;
    postgres_place prepared[POSTGRES_PREPARED];
};

/* Takes ownership of the connection. Returns NULL if there is no memory or no descriptor; the
 * caller then keeps it. */
postgres_conn *postgres_conn_new(postgres_pool *pool, PGconn *pg);
void postgres_conn_start(postgres_conn *c, postgres_op *op);
/* Sends pending output. Returns false if the connection is lost; its operation has then ended
 * with an error. */
bool postgres_conn_flush(postgres_conn *c);
/* Closes and frees the connection; the server ends its statement. */
void postgres_conn_give_up(postgres_conn *c);

/* ---- functions of the pool ------------------------------------------------------------------- */

const mcp_host *postgres_pool_host(const postgres_pool *pool);
const postgres_pool_options *postgres_pool_settings(const postgres_pool *pool);
void postgres_pool_gone(postgres_pool *pool, postgres_conn *c);
void postgres_pool_idle(postgres_pool *pool, postgres_conn *c);
void postgres_pool_retry(postgres_pool *pool, postgres_op *op);

#endif
