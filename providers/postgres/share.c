/* share.c: which operation of which pool gets a connection. See postgres_share and postgres_budget
 * in pool.h. */
#include "pool_state.h"

postgres_share postgres_share_of(const postgres_op *op)
{
    return op->outside ? POSTGRES_OUTSIDE : op->slow ? POSTGRES_SLOW : POSTGRES_QUICK;
}

/* Returns the largest number of connections for a share. Statements from outside leave one
 * connection to slow statements, and both leave one to quick statements. With only two connections,
 * just statements from outside leave one. */
static size_t most_of(const postgres_pool *p, postgres_share share)
{
    size_t max = p->budget->max, kept = max > 2 ? share : share == POSTGRES_OUTSIDE;
    return max > kept ? max - kept : 1;
}

bool postgres_may_start(const postgres_pool *p, const postgres_op *op)
{
    size_t running = 0;
    for (postgres_share s = POSTGRES_OUTSIDE; s > POSTGRES_QUICK; s--) {
        running += p->budget->running[s];
        if (s <= postgres_share_of(op) && running >= most_of(p, s))
            return false;
    }
    return true;
}

postgres_conn *postgres_idle_conn(const postgres_pool *p)
{
    postgres_conn *c = p->conns;
    while (c && c->busy)
        c = c->next;
    return c;
}

/* Closes the idle connection that was used least recently. */
static void close_idle_of_another(const postgres_pool *p)
{
    const postgres_pool *found = NULL;
    for (const postgres_pool *q = p->budget->pools; q; q = q->next)
        if (q != p && postgres_idle_conn(q) && (!found || q->served < found->served))
            found = q;
    if (found)
        postgres_conn_give_up(postgres_idle_conn(found));
}

bool postgres_take_place(postgres_pool *p)
{
    postgres_budget *b = p->budget;
    if (b->open >= b->max)
        close_idle_of_another(p);
    if (b->open >= b->max)
        return false;
    b->open++;
    return true;
}

static bool has_turn(const postgres_pool *p)
{
    const postgres_op *op = p->first;
    if (!op || (!postgres_idle_conn(p) && (p->attempt || postgres_pool_now(p) < p->not_before)))
        return false;
    while (op && !postgres_may_start(p, op))
        op = op->next;
    return op;
}

postgres_pool *postgres_next_served(postgres_pool *p)
{
    postgres_pool *found = NULL;
    for (postgres_pool *q = p->budget->pools; q; q = q->next)
        if (has_turn(q) && (!found || q->served < found->served))
            found = q;
    return found ? found : p;
}
