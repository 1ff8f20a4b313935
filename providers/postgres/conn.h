/* conn.h: one connection of a pool and the statement that runs on it. The pool's alone. */
#ifndef POSTGRES_CONN_H
#define POSTGRES_CONN_H

#include "pool.h"

enum { POSTGRES_PREPARED = 32, POSTGRES_STEPS = 16 };

/* Where a statement is prepared. */
typedef struct postgres_place {
    char name[8];
    uint64_t statement; /* 0: none */
    bool stale;         /* there may be something under this name */
} postgres_place;

struct postgres_conn {
    postgres_pool *pool;
    postgres_conn *next;
    PGconn *pg;
    mcp_host_poll *poll;
    postgres_op *op; /* NULL while busy: its answer came, what cleans up behind it has not */
    bool busy, unsent;
    bool heard;           /* anything, since the present statement was sent */
    postgres_share share; /* of the present statement */
    bool dirty;           /* what was to clean up failed */
    bool *dead;           /* set when it is given up, for callers further up the stack */
    int64_t deadline;
    size_t received;               /* of a row that is not there yet */
    bool partial;                  /* something came, and no row since */
    char step[POSTGRES_STEPS + 1]; /* what was sent: see conn.c */
    size_t at, n_steps;
    postgres_place prepared[POSTGRES_PREPARED];
};

/* Takes the connection over. NULL: no memory; it is still the caller's. */
postgres_conn *postgres_conn_new(postgres_pool *pool, PGconn *pg);
void postgres_conn_start(postgres_conn *c, postgres_op *op);
/* Sends what could not be sent yet. False: it is lost, and what ran on it was seen to. */
bool postgres_conn_flush(postgres_conn *c);
/* Closes and frees it; the server ends what runs on it. */
void postgres_conn_give_up(postgres_conn *c);

/* ---- of the pool ----------------------------------------------------------------------------- */

const mcp_host *postgres_pool_host(const postgres_pool *pool);
const postgres_pool_options *postgres_pool_settings(const postgres_pool *pool);
void postgres_pool_gone(postgres_pool *pool, postgres_conn *c);
void postgres_pool_idle(postgres_pool *pool, postgres_conn *c);
void postgres_pool_retry(postgres_pool *pool, postgres_op *op);

#endif
