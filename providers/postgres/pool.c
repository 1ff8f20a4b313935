/* pool.c: see pool.h. Assigns statements to connections (by the rules of share.c), connects, and
 * backs off after failures. conn.c handles a single connection. */
#include "pool_state.h"

#include <errno.h>
#include <stdio.h>

enum {
    TICK_MS = 100,
    GRACE_MS = 1000, /* so that the server's own time-out comes first and its message is used */
    FIRST_DELAY_MS = 100,
    MOST_DELAY_MS = 30000,
    TRIES = 2,
};

/* An attempt to connect. It may outlive the pool. */
struct postgres_attempt {
    postgres_pool *pool; /* NULL after the pool was freed */
    mcp_allocator alloc;
    char *conninfo, *after;
    uint64_t timeout_ms;
    atomic_bool given_up;
    PGconn *conn;
    bool tried, mighty;
    char text[300];
};

static void log_state(const postgres_pool *p, const char *level, const char *text)
{
    char line[450];
    if (!p->host.log)
        return;
    snprintf(line, sizeof(line), "PostgreSQL database %.80s: %.300s", p->o.name, text);
    p->host.log(level, line, p->host.user);
}

const mcp_host *postgres_pool_host(const postgres_pool *p)
{
    return &p->host;
}

const postgres_pool_options *postgres_pool_settings(const postgres_pool *p)
{
    return &p->o;
}

/* ---- connecting ------------------------------------------------------------------------------ */

static void serve(postgres_pool *p);

static void free_attempt(postgres_attempt *a)
{
    mcp_allocator alloc = a->alloc;
    PQfinish(a->conn);
    common_release(&alloc, a->conninfo);
    common_release(&alloc, a->after);
    common_release(&alloc, a);
}

static void connect_far(void *arg)
{
    postgres_attempt *a = arg;
    a->tried = true;
    if (a->conninfo)
        a->conn = postgres_connect(a->conninfo, a->timeout_ms, a->after, &a->given_up, &a->mighty,
                                   a->text);
}

static void fail_waiting(postgres_pool *p, int rc)
{
    while (p->first) {
        postgres_op *op = p->first;
        p->first = op->next;
        if (!p->first)
            p->last = &p->first;
        snprintf(op->text, sizeof(op->text), "%s", p->text);
        op->end(op, rc);
    }
}

/* libpq reports this only in its message, which has the C library's text. */
static bool is_short_of_files(const char *why)
{
    return strstr(why, strerror(EMFILE)) || strstr(why, strerror(ENFILE));
}

static void back_off(postgres_pool *p, const char *why)
{
    int64_t delay = p->failures < 9 ? (int64_t)FIRST_DELAY_MS << p->failures : MOST_DELAY_MS;
    if (!p->failures || strcmp(p->text, why) != 0)
        log_state(p, "warning", why);
    snprintf(p->text, sizeof(p->text), "%s", why);
    p->failures++;
    p->away = is_short_of_files(why) ? MCP_EFILES : MCP_ECLOSED;
    p->not_before = postgres_pool_now(p) + (delay < MOST_DELAY_MS ? delay : MOST_DELAY_MS);
    if (!p->n_conns)
        fail_waiting(p, p->away);
}

static int take_over(postgres_pool *p, postgres_attempt *a)
{
    postgres_conn *c = postgres_conn_new(p, a->conn);
    if (!c)
        return MCP_ENOMEM;
    a->conn = NULL;
    c->next = p->conns;
    p->conns = c;
    p->n_conns++;
    p->mighty = a->mighty;
    if (p->failures)
        log_state(p, "info", "it is reachable again");
    p->failures = 0;
    return MCP_OK;
}

static void connected(void *arg)
{
    postgres_attempt *a = arg;
    postgres_pool *p = a->pool;
    if (p) {
        bool again = p->ever || p->failures; /* if so, changes may have been missed */
        p->attempt = NULL;
        p->budget->open -= !a->conn;
        if (!a->conn && a->tried && !a->text[0])
            serve(p); /* no operation was waiting; one may be waiting now */
        else if (!a->conn)
            back_off(p, a->tried ? a->text : "it was not tried");
        else if (take_over(p, a) != MCP_OK) {
            p->budget->open--;
            back_off(p, "out of memory");
        } else {
            p->ever = true;
            if (p->o.connected)
                p->o.connected(p->o.user, again);
            serve(p);
        }
    }
    free_attempt(a);
}

static void begin_attempt(postgres_pool *p)
{
    postgres_attempt *a = common_alloc(p->o.alloc, sizeof(*a));
    if (!a) {
        p->budget->open--;
        back_off(p, "out of memory");
        return;
    }
    *a = (postgres_attempt){.pool = p, .alloc = *p->o.alloc, .timeout_ms = p->o.timeout_ms};
    a->conninfo = common_copy(&a->alloc, p->conninfo, strlen(p->conninfo));
    a->after = p->after ? common_copy(&a->alloc, p->after, strlen(p->after)) : NULL;
    p->attempt = a;
    int (*work)(void (*)(void *), void (*)(void *), void *, void *) =
        p->host.work_long ? p->host.work_long : p->host.work;
    if (a->conninfo && (a->after || !p->after) &&
        work(connect_far, connected, a, p->host.user) == MCP_OK)
        return;
    p->attempt = NULL;
    p->budget->open--;
    free_attempt(a);
    back_off(p, "no worker thread is available to connect");
}

/* ---- choosing a connection ------------------------------------------------------------------- */

/* A statement with a role needs no check here, unless its caller wrote it: its transaction checks
 * the role and the login role (postgres_settings_sql()). What is known of the login role is as old
 * as the last connection. */
static bool may_run(const postgres_pool *p, const postgres_op *op)
{
    if (op->write && op->as && !p->o.own) /* a trigger could leave the role of the caller */
        return false;
    if (!op->outside || (op->as && !p->o.own))
        return true;
    return (op->as || !p->o.mapped) && (!p->mighty || p->o.mighty);
}

static void start(postgres_pool *p, postgres_conn *c, postgres_op *op)
{
    op->next = NULL;
    op->tries++;
    op->state[0] = op->text[0] = op->hint[0] = 0;
    op->position = 0;
    op->refused = false;
    if (!may_run(p, op)) {
        op->end(op, MCP_EACCESS);
        return;
    }
    if (op->write && !op->write->may(op->write->user, false)) {
        op->write->denied = true;
        op->end(op, MCP_ECANCELLED);
        return;
    }
    c->share = postgres_share_of(op);
    p->served = ++p->budget->started;
    p->budget->running[c->share] += c->share != POSTGRES_QUICK;
    postgres_conn_start(c, op);
}

static bool unlink_waiting(postgres_pool *p, const postgres_op *op)
{
    for (postgres_op **at = &p->first; *at; at = &(*at)->next)
        if (*at == op) {
            *at = op->next;
            if (!*at)
                p->last = at;
            return true;
        }
    return false;
}

/* Starts waiting operations, and connects if another connection would be useful. */
static void serve(postgres_pool *p)
{
    bool more = false;
    for (postgres_op *op = p->first; op;) {
        bool may = postgres_may_start(p, op);
        postgres_conn *c = may ? postgres_idle_conn(p) : NULL;
        more = more || may;
        if (!c) {
            op = op->next;
            continue;
        }
        unlink_waiting(p, op);
        start(p, c, op);
        op = p->first; /* callbacks may have changed the list */
        more = false;
    }
    if (!more || p->attempt || p->freed)
        return;
    if (postgres_pool_now(p) >= p->not_before) {
        if (postgres_take_place(p))
            begin_attempt(p);
    } else if (!p->n_conns)
        fail_waiting(p, p->away);
}

/* Ends one operation that waited too long. Returns false if there is none. */
static bool end_waiting(postgres_pool *p, int64_t at, int rc)
{
    for (postgres_op *op = p->first; op; op = op->next)
        if (at >= op->deadline) {
            unlink_waiting(p, op);
            op->end(op, rc);
            return true;
        }
    return false;
}

/* Closes the idle connections too, because the network may have failed for all of them. */
static void give_up_idle(postgres_pool *p)
{
    for (postgres_conn *c = postgres_idle_conn(p); c; c = postgres_idle_conn(p))
        postgres_conn_give_up(c);
}

/* Closes one connection whose statement runs too long. Returns false if there is none. */
static bool end_running(postgres_pool *p, int64_t at, int rc)
{
    for (postgres_conn *c = p->conns; c; c = c->next) {
        if (!c->busy || at < c->deadline)
            continue;
        postgres_op *op = c->op;
        bool silent = !c->heard;
        postgres_conn_give_up(c);
        if (silent)
            give_up_idle(p);
        if (op)
            op->end(op, rc);
        return true;
    }
    return false;
}

/* Losing a connection can lead to the loss of others, because its statement is retried on them. So
 * the loop starts again after each loss. */
static void flush_unsent(postgres_pool *p)
{
    postgres_conn *c = p->conns;
    while (c)
        c = !c->unsent || postgres_conn_flush(c) ? c->next : p->conns;
}

static void end_late(postgres_pool *p, int64_t at, int rc)
{
    while (end_waiting(p, at, rc) || end_running(p, at, rc))
        ;
}

static void tick(void *arg);

/* Starts the timer, which runs while operations wait or run; each tick checks every connection.
 * Returns false if there is no memory. */
static bool set_timer(postgres_pool *p)
{
    if (!p->timer)
        p->timer = p->host.timer_start(TICK_MS, tick, p, p->host.user);
    return p->timer != NULL;
}

static bool has_work(const postgres_pool *p)
{
    const postgres_conn *c = p->conns;
    while (c && !c->busy)
        c = c->next;
    return p->first || c;
}

static void tick(void *arg)
{
    postgres_pool *p = arg;
    p->host.timer_stop(p->timer, p->host.user);
    p->timer = NULL;
    end_late(p, postgres_pool_now(p), MCP_ETIMEOUT);
    flush_unsent(p);
    serve(p);
    if (has_work(p) && !set_timer(p)) /* otherwise operations would never end */
        end_late(p, INT64_MAX, MCP_ENOMEM);
}

void postgres_pool_run(postgres_pool *p, postgres_op *op)
{
    op->deadline = postgres_pool_now(p) + (int64_t)op->timeout_ms + GRACE_MS;
    op->next = NULL;
    op->conn = NULL;
    op->rows = 0;
    op->tries = 0;
    op->state[0] = op->text[0] = op->hint[0] = 0;
    op->position = 0;
    if (!p->n_conns && !p->attempt && postgres_pool_now(p) < p->not_before) {
        snprintf(op->text, sizeof(op->text), "%s", p->text);
        op->end(op, p->away);
    } else if (!set_timer(p)) {
        op->end(op, MCP_ENOMEM);
    } else {
        *p->last = op;
        p->last = &op->next;
        if (p->attempt)
            atomic_store(&p->attempt->given_up, false);
        serve(p);
    }
}

void postgres_pool_cancel(postgres_pool *p, postgres_op *op)
{
    if (!unlink_waiting(p, op) && op->conn)
        postgres_conn_give_up(op->conn);
    if (!p->first && p->attempt)
        atomic_store(&p->attempt->given_up, true);
}

/* ---- events of connections ------------------------------------------------------------------- */

void postgres_pool_gone(postgres_pool *p, postgres_conn *c)
{
    postgres_conn **at = &p->conns;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    p->n_conns--;
    p->budget->open--;
    p->budget->running[c->share] -= c->share != POSTGRES_QUICK;
}

/* It may be the turn of another pool, which gets the place of this connection. */
void postgres_pool_idle(postgres_pool *p, postgres_conn *c)
{
    postgres_budget *b = p->budget;
    b->running[c->share] -= c->share != POSTGRES_QUICK;
    c->share = POSTGRES_QUICK;
    postgres_pool *next = postgres_next_served(p);
    if (next != p) {
        if (!postgres_idle_conn(next) && b->open >= b->max)
            postgres_conn_give_up(c);
        serve(next);
    }
    serve(p);
}

/* The connection broke before the result was complete. Retries the statement on another connection
 * if it has returned no rows and changes nothing. */
void postgres_pool_retry(postgres_pool *p, postgres_op *op)
{
    op->conn = NULL;
    if (op->write || op->rows || op->tries >= TRIES || p->freed) {
        op->end(op, MCP_ECLOSED);
        return;
    }
    op->next = p->first;
    if (!p->first)
        p->last = &op->next;
    p->first = op;
    serve(p);
}

/* ---- creating and freeing -------------------------------------------------------------------- */

int postgres_pool_new(const postgres_pool_options *o, postgres_pool **ret)
{
    const mcp_host *h = o->host;
    if (!h || !h->timer_start || !h->poll_start || !h->now || !h->work)
        return MCP_EUNSUPPORTED;
    postgres_pool *p = common_alloc(o->alloc, sizeof(*p));
    if (!p)
        return MCP_ENOMEM;
    *p = (postgres_pool){.o = *o};
    memcpy(&p->host, h, h->size < sizeof(p->host) ? h->size : sizeof(p->host));
    p->last = &p->first;
    p->alone.max = o->max;
    p->budget = o->budget ? o->budget : &p->alone;
    p->next = p->budget->pools;
    p->budget->pools = p;
    p->conninfo = common_copy(o->alloc, o->conninfo, strlen(o->conninfo));
    p->after = o->after ? common_copy(o->alloc, o->after, strlen(o->after)) : NULL;
    if (!p->conninfo || (o->after && !p->after)) {
        postgres_pool_free(p);
        return MCP_ENOMEM;
    }
    *ret = p;
    return MCP_OK;
}

void postgres_pool_free(postgres_pool *p)
{
    if (!p)
        return;
    p->freed = true;
    if (p->attempt) {
        p->attempt->pool = NULL;
        p->budget->open--;
        atomic_store(&p->attempt->given_up, true);
    }
    if (p->timer)
        p->host.timer_stop(p->timer, p->host.user);
    while (p->conns)
        postgres_conn_give_up(p->conns);
    postgres_pool **at = &p->budget->pools;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    common_release(p->o.alloc, p->conninfo);
    common_release(p->o.alloc, p->after);
    common_release(p->o.alloc, p);
}
