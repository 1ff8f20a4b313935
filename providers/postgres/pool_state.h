/* pool_state.h: the state of a pool, for pool.c and share.c. */
#ifndef POSTGRES_POOL_STATE_H
#define POSTGRES_POOL_STATE_H

#include "conn.h"

typedef struct postgres_attempt postgres_attempt;

struct postgres_pool {
    postgres_pool_options o;
    mcp_host host;
    char *conninfo, *after;
    postgres_budget *budget, alone; /* `alone` is used if no budget is shared */
    postgres_pool *next;            /* with the same budget */
    uint64_t served;                /* budget->started when it last started an operation */
    postgres_conn *conns;           /* all open connections */
    size_t n_conns;
    postgres_attempt *attempt;  /* the current attempt, or NULL */
    postgres_op *first, **last; /* operations waiting for a connection */
    mcp_host_timer *timer;      /* runs while operations wait or run */
    int64_t not_before;         /* time before which no attempt is made */
    unsigned failures;
    int away;       /* result of operations while connecting fails */
    char text[300]; /* message of the last failure */
    bool ever, mighty, freed;
};

static inline int64_t postgres_pool_now(const postgres_pool *p)
{
    return p->host.now(p->host.user);
}

/* ---- share.c --------------------------------------------------------------------------------- */

postgres_share postgres_share_of(const postgres_op *op);
/* Returns whether the shares allow the operation to start. */
bool postgres_may_start(const postgres_pool *p, const postgres_op *op);
/* Returns a connection that runs nothing, or NULL. */
postgres_conn *postgres_idle_conn(const postgres_pool *p);
/* Takes a place for one more connection, perhaps that of an idle one of another pool. Returns false
 * if there is none now. */
bool postgres_take_place(postgres_pool *p);
/* Returns the pool whose turn it is: of those with the same budget that have an operation that could
 * run now, the one that was not served for the longest time. Returns `p` if there is none. */
postgres_pool *postgres_next_served(postgres_pool *p);

#endif
