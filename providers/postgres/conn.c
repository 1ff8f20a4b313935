/* conn.c: see conn.h.
 *
 * A statement and the statements around it are sent at once, and the results are distinguished by
 * their position. Each letter of `step` is one step: a statement around it (q, p), one that changes
 * to the caller's role (a), one that may fail (d), the statement itself (R), or the end of a part
 * (S). After an error the server skips the rest up to the next S, so a statement never runs with
 * the login role because the caller's role could not be set.
 *
 *     own         R S, if it cannot run user-defined functions
 *                 B search-path R S  rollback S, if it reads the catalogue
 *                 B R S  rollback S  DISCARD ALL S  set-up S, if it reads tables or views
 *     as a caller B role settings, then as above (always in a transaction)
 *                 with own_login: B check of the login, then as above
 *     outside     B first-query parse DECLARE [MOVE] R(fetch) S  rollback S  DISCARD ALL S  set-up S
 *     trial       B first-query parse R(explain) R(create)... R(explain) S  rollback S  reset S
 *                 DISCARD ALL S  set-up S
 *     write       B notify R S, and when their results are here:
 *                 C S  DISCARD ALL S  set-up S, or with rollback instead of COMMIT (C)
 *
 * The first query is needed because a transaction can be made writable until its first query. The
 * search path is needed because a user-defined function or operator whose argument types match
 * better would be called instead of PostgreSQL's own. DISCARD ALL is needed because a function may
 * leave locks and prepared statements. Neither it nor a rollback ends a hypothetical index, so the
 * reset is in a part of its own, which the server runs also after an error.
 */
#define _GNU_SOURCE
#include "caller.h"
#include "conn.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void on_readable(void *arg);

postgres_conn *postgres_conn_new(postgres_pool *pool, PGconn *pg)
{
    const mcp_host *h = postgres_pool_host(pool);
    const mcp_allocator *alloc = postgres_pool_settings(pool)->alloc;
    postgres_conn *c = common_alloc(alloc, sizeof(*c));
    if (!c)
        return NULL;
    *c = (postgres_conn){.pool = pool, .pg = pg};
    c->fd = fcntl(PQsocket(pg), F_DUPFD_CLOEXEC, 3);
    for (size_t i = 0; i < POSTGRES_PREPARED; i++)
        snprintf(c->prepared[i].name, sizeof(c->prepared[i].name), "mcp%u", (unsigned)i);
    c->poll = c->fd >= 0 ? h->poll_start(c->fd, on_readable, c, h->user) : NULL;
    if (c->poll)
        return c;
    if (c->fd >= 0)
        close(c->fd);
    common_release(alloc, c);
    return NULL;
}

/* ---- closing --------------------------------------------------------------------------------- */

/* Closing the connection also ends its statement, because the server detects the closed connection
 * (session.c). No cancel request is sent: it would need another connection to a server that may be
 * unreachable, and libpq waits for it without a time limit. */
void postgres_conn_give_up(postgres_conn *c)
{
    const mcp_host *h = postgres_pool_host(c->pool);
    if (c->op)
        c->op->conn = NULL;
    if (c->dead)
        *c->dead = true;
    h->poll_stop(c->poll, h->user);
    PQfinish(c->pg);
    close(c->fd);
    postgres_pool_gone(c->pool, c);
    common_release(postgres_pool_settings(c->pool)->alloc, c);
}

/* Handles a lost connection, on which there is no statement to cancel. */
static void lost(postgres_conn *c)
{
    postgres_op *op = c->op;
    postgres_pool *pool = c->pool;
    if (op)
        postgres_why(PQerrorMessage(c->pg), op->text);
    c->op = NULL;
    c->busy = false;
    postgres_conn_give_up(c);
    if (op)
        postgres_pool_retry(pool, op);
}

/* ---- sending --------------------------------------------------------------------------------- */

static bool put_step(postgres_conn *c, char what, int sent)
{
    if (!sent || c->n_steps == POSTGRES_STEPS)
        return false;
    c->step[c->n_steps++] = what;
    c->step[c->n_steps] = 0;
    return true;
}

static bool put_sql(postgres_conn *c, char what, const char *sql)
{
    return put_step(c, what, PQsendQueryParams(c->pg, sql, 0, NULL, NULL, NULL, NULL, 0));
}

static bool put_sync(postgres_conn *c)
{
    return put_step(c, 'S', PQpipelineSync(c->pg));
}

/* Prepares a repeated statement once per connection. A new one replaces the statement that was
 * in its slot. */
static bool put_prepared(postgres_conn *c, const postgres_op *op)
{
    char sql[40];
    postgres_place *at = &c->prepared[op->statement % POSTGRES_PREPARED];
    if (at->statement == op->statement)
        return true;
    if (at->statement || at->stale) {
        snprintf(sql, sizeof(sql), "DEALLOCATE %s", at->name);
        if (!put_sql(c, 'd', sql) || !put_sync(c))
            return false;
    }
    at->statement = op->statement;
    return put_step(c, 'p', PQsendPrepare(c->pg, at->name, op->sql, 0, NULL));
}

/* Sends the statement, prepared or in one step. */
static bool put_itself(postgres_conn *c, const postgres_op *op)
{
    const char *name = c->prepared[op->statement % POSTGRES_PREPARED].name;
    return put_step(
        c, 'R',
        op->statement
            ? PQsendQueryPrepared(c->pg, name, op->n_value, op->value, NULL, NULL, 0)
            : PQsendQueryParams(c->pg, op->sql, op->n_value, NULL, op->value, NULL, NULL, 0));
}

/* Resets the state of the session. */
static bool put_discard(postgres_conn *c)
{
    char again[POSTGRES_SESSION_SQL];
    postgres_session_sql(again, postgres_pool_settings(c->pool)->timeout_ms);
    for (size_t i = 0; i < POSTGRES_PREPARED; i++)
        c->prepared[i].statement = 0, c->prepared[i].stale = false;
    return put_sql(c, 'q', "DISCARD ALL") && put_sync(c) && put_sql(c, 'q', again) && put_sync(c);
}

/* Checks that the session is that of the caller's role. */
static bool put_own_login(postgres_conn *c, const postgres_as *as)
{
    const char *const values[] = {as->role};
    return put_step(c, 'a',
                    PQsendQueryParams(c->pg, postgres_own_sql, 1, NULL, values, NULL, NULL, 0));
}

/* Changes to the caller's role until the end of the transaction, which is always rolled back. */
static bool put_role(postgres_conn *c, const postgres_as *as)
{
    char sql[POSTGRES_ROLE_MAX * 2 + 40], settings[POSTGRES_SETTINGS_SQL];
    char *role = PQescapeIdentifier(c->pg, as->role, strlen(as->role));
    if (!role)
        return false;
    snprintf(sql, sizeof(sql), "SET LOCAL ROLE %s", role);
    PQfreemem(role);
    postgres_settings_sql(settings, as->n / 2);
    return put_sql(c, 'a', sql) &&
           put_step(c, 'a',
                    PQsendQueryParams(c->pg, settings, as->n, NULL, as->value, NULL, NULL, 0));
}

static bool put_begin(postgres_conn *c, const postgres_op *op)
{
    return put_sql(c, 'q', op->write ? "BEGIN READ WRITE" : "BEGIN READ ONLY") &&
           (!op->as || (op->as->own ? put_own_login : put_role)(c, op->as));
}

static bool put_own(postgres_conn *c, const postgres_op *op)
{
    /* The statements for the catalogue have many parts and return few rows. For them just-in-time
     * compilation takes a hundred times longer than running. */
    static const char catalog[] = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, "
                                  "pg_temp', true), pg_catalog.set_config('jit', 'off', true)";
    if (op->inert && !op->as)
        return (!op->statement || put_prepared(c, op)) && put_itself(c, op) && put_sync(c);
    return put_begin(c, op) && (!op->catalog || put_sql(c, 'q', catalog)) && put_itself(c, op) &&
           put_sync(c) && put_sql(c, 'q', "ROLLBACK") && put_sync(c) &&
           (op->catalog || put_discard(c));
}

static bool put_fetch(postgres_conn *c, const postgres_op *op)
{
    char fetch[60], move[60];
    snprintf(fetch, sizeof(fetch), "FETCH FORWARD %zu FROM mcp_cursor", op->fetch);
    snprintf(move, sizeof(move), "MOVE FORWARD %zu FROM mcp_cursor", op->skip);
    return put_step(
               c, 'q',
               PQsendQueryParams(c->pg, op->sql, op->n_value, NULL, op->value, NULL, NULL, 0)) &&
           (!op->skip || put_sql(c, 'q', move)) && put_sql(c, 'R', fetch);
}

/* The statement without the indexes of the trial, and with them. Their texts are only parameters. */
static bool put_trial(postgres_conn *c, const postgres_op *op)
{
    const postgres_trial *t = op->trial;
    bool ok = put_itself(c, op);
    for (size_t i = 0; ok && i < t->n; i++)
        ok = put_step(c, 'R',
                      PQsendQueryParams(c->pg, t->create, 1, NULL, &t->index[i], NULL, NULL, 0));
    return ok && put_itself(c, op);
}

static bool put_outside(postgres_conn *c, const postgres_op *op)
{
    const postgres_trial *t = op->trial;
    if (!put_begin(c, op) || !put_sql(c, 'q', t ? t->begin : "SELECT 1") ||
        !put_step(c, 'p', PQsendPrepare(c->pg, "", op->alone, 0, NULL)))
        return false;
    if (!(t ? put_trial : op->fetch ? put_fetch : put_itself)(c, op))
        return false;
    return put_sync(c) && put_sql(c, 'q', "ROLLBACK") && put_sync(c) &&
           (!t || (put_sql(c, 'q', t->reset) && put_sync(c))) && put_discard(c);
}

/* The notice is for other processes, and other connections of this one. It is sent by the database
 * if the transaction is committed, and says that any row may have changed, since triggers may change
 * more than the statement names. */
static bool put_write(postgres_conn *c, const postgres_op *op)
{
    return put_begin(c, op) && put_sql(c, 'q', "SELECT pg_catalog.pg_notify('mcp_changes', '')") &&
           put_itself(c, op) && put_sync(c);
}

bool postgres_conn_flush(postgres_conn *c)
{
    int rc = PQflush(c->pg);
    c->unsent = rc == 1;
    if (rc < 0)
        lost(c);
    return rc >= 0;
}

static void next_is(postgres_conn *c)
{
    if (c->at < c->n_steps && c->step[c->at] == 'R' && !(c->op && c->op->one))
        PQsetSingleRowMode(c->pg);
}

void postgres_conn_start(postgres_conn *c, postgres_op *op)
{
    c->op = op;
    op->conn = c;
    c->busy = true;
    c->deadline = op->deadline;
    c->at = c->n_steps = c->received = 0;
    c->dirty = c->heard = c->partial = false;
    op->nth = 0;
    if (!(op->write ? put_write : op->outside ? put_outside : put_own)(c, op)) {
        lost(c);
        return;
    }
    next_is(c);
    postgres_conn_flush(c);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void end_op(postgres_conn *c, int rc)
{
    postgres_op *op = c->op;
    c->op = NULL;
    op->conn = NULL;
    op->end(op, rc);
}

/* Closes the connection because no further rows are needed, although it is still receiving them. */
static void cut_off(postgres_conn *c, int rc)
{
    postgres_op *op = c->op;
    postgres_conn_give_up(c);
    op->end(op, rc);
}

static void take_error(postgres_conn *c, const PGresult *r)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    postgres_op *op = c->op;
    for (size_t i = 0; op->statement && i < POSTGRES_PREPARED; i++)
        if (c->prepared[i].statement == op->statement)
            c->prepared[i].statement = 0, c->prepared[i].stale = true;
    snprintf(op->state, sizeof(op->state), "%s", state ? state : "");
    postgres_why(text ? text : PQresultErrorMessage(r), op->text);
    const char *hint = PQresultErrorField(r, PG_DIAG_MESSAGE_HINT);
    const char *at = PQresultErrorField(r, PG_DIAG_STATEMENT_POSITION);
    postgres_why(hint ? hint : "", op->hint);
    /* only the first parse is of the text alone */
    op->position = at && op->outside && c->step[c->at] == 'p' ? (unsigned)strtoul(at, NULL, 10) : 0;
    if (!op->text[0]) /* RAISE with an empty message; a non-empty `text` marks the failure */
        snprintf(op->text, sizeof(op->text), "an error without a message (%s)", op->state);
}

/* Returns whether the server ends the session (57P01 and similar), which is handled like a
 * broken connection. 08P01 is also reported for a wrong number of parameters, which does
 * not end the session. */
static bool is_end_of_session(const postgres_op *op)
{
    return strncmp(op->state, "57P", 3) == 0 ||
           (strncmp(op->state, "08", 2) == 0 && strcmp(op->state, "08P01") != 0);
}

/* Returns false if the connection is closed or the statement no longer belongs to it. */
static bool take_row(postgres_conn *c, const PGresult *r)
{
    postgres_op *op = c->op;
    c->received = 0;
    c->partial = false;
    if (PQntuples(r) == 0 && op->rows > 0)
        return true;
    op->rows += (size_t)PQntuples(r);
    int rc = op->row ? op->row(op, r) : MCP_OK;
    if (rc == MCP_OK)
        return true;
    cut_off(c, rc == MCP_PENDING ? MCP_OK : rc);
    return false;
}

static bool take_failure(postgres_conn *c, const PGresult *r)
{
    if (!c->op && c->step[c->at] != 'd')
        c->dirty = true;
    if (!c->op || c->op->text[0] || c->step[c->at] == 'd' ||
        PQresultStatus(r) == PGRES_PIPELINE_ABORTED)
        return true;
    take_error(c, r);
    if (is_end_of_session(c->op)) {
        lost(c);
        return false;
    }
    c->op->refused = c->step[c->at] == 'a';
    if (c->op->refused)
        c->op->state[0] = 0; /* says nothing about the statement itself */
    return true;
}

/* The command and its number of rows, "INSERT 0 3" or "UPDATE 3". PQcmdTuples() does not know MERGE
 * in each version. */
static void take_command(postgres_conn *c, PGresult *r)
{
    const char *tag = PQcmdStatus(r), *number = strrchr(tag, ' ');
    postgres_op *op = c->op;
    if (!op || !op->write)
        return;
    postgres_write *w = op->write;
    if (c->step[c->at] == 'R') {
        size_t len = strlen(w->command);
        w->expected = number && strncmp(tag, w->command, len) == 0 && tag[len] == ' ';
        w->rows = number ? strtoull(number + 1, NULL, 10) : 0;
    } else if (c->step[c->at] == 'C' && strcmp(tag, "COMMIT") != 0) {
        snprintf(op->text, sizeof(op->text), "the transaction was rolled back");
    }
}

static bool take_result(postgres_conn *c, PGresult *r)
{
    char what = c->step[c->at];
    switch (PQresultStatus(r)) {
    case PGRES_PIPELINE_SYNC:
        c->at++;
        next_is(c);
        return true;
    case PGRES_TUPLES_OK: take_command(c, r); /* fall through */
    case PGRES_SINGLE_TUPLE: return what != 'R' || !c->op || take_row(c, r);
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY: take_command(c, r); return true;
    case PGRES_PIPELINE_ABORTED:
    case PGRES_FATAL_ERROR: return take_failure(c, r);
    default: /* COPY, which is not possible in a pipeline */ lost(c); return false;
    }
}

/* Called at the end of the results of a step. */
static void end_step(postgres_conn *c)
{
    char last = c->op && c->op->write ? 'C' : 'R';
    bool answered = c->op && c->step[c->at] == last && !strchr(c->step + c->at + 1, last);
    if (c->op && c->step[c->at] == 'R' && !c->op->text[0])
        c->op->nth++;
    c->at++;
    next_is(c);
    if (answered)
        end_op(c, c->op->text[0] ? MCP_EREMOTE : MCP_OK);
}

static bool may_commit(postgres_op *op)
{
    postgres_write *w = op->write;
    w->many = !op->text[0] && w->expected && w->rows > w->most;
    if (op->text[0] || !w->expected || w->many)
        return false;
    w->denied = !w->may(w->user, true);
    return !w->denied;
}

/* Ends the transaction of a statement that changes rows, after its results. From the moment when COMMIT
 * may have been sent, only the answer to it tells the outcome. */
static void settle(postgres_conn *c)
{
    postgres_op *op = c->op;
    bool commit = may_commit(op);
    op->write->sent = commit;
    c->received = 0;
    c->deadline += (int64_t)op->timeout_ms; /* so that the outcome is less often unknown */
    if (!commit)
        c->op = NULL, op->conn = NULL;
    if (put_sql(c, commit ? 'C' : 'q', commit ? "COMMIT" : "ROLLBACK") && put_sync(c) &&
        put_discard(c))
        postgres_conn_flush(c);
    else
        lost(c);
    if (!commit)
        op->end(op, op->text[0] ? MCP_EREMOTE : MCP_ECANCELLED);
}

/* Called at the end of the pipeline. If a transaction is still open or the cleanup failed, the
 * connection is not used again. */
static void end_all(postgres_conn *c)
{
    c->busy = false;
    if (PQtransactionStatus(c->pg) == PQTRANS_IDLE && !c->dirty)
        postgres_pool_idle(c->pool, c);
    else
        postgres_conn_give_up(c);
}

static void take_notices(postgres_conn *c)
{
    const postgres_pool_options *o = postgres_pool_settings(c->pool);
    for (PGnotify *n; o->notify && (n = PQnotifies(c->pg)); PQfreemem(n))
        o->notify(o->user, n);
}

static void take_results(postgres_conn *c, bool *dead)
{
    while (!*dead && c->busy && !PQisBusy(c->pg)) {
        PGresult *r = PQgetResult(c->pg);
        if (r)
            take_result(c, r);
        else
            end_step(c);
        PQclear(r);
        if (*dead || !c->busy || c->at < c->n_steps)
            continue;
        if (!c->op) {
            end_all(c);
            return;
        }
        settle(c);
    }
}

/* Counts the received bytes of an incomplete row, so that a row that is too large fails before
 * memory is exhausted. The first read of a row fits in libpq's buffer and is not counted. */
static void count_received(postgres_conn *c)
{
    int waiting = 0;
    if (c->partial && ioctl(c->fd, FIONREAD, &waiting) == 0 && waiting > 0)
        c->received += (size_t)waiting;
    c->partial = true;
}

static void on_readable(void *arg)
{
    postgres_conn *c = arg;
    bool dead = false;
    c->heard = true;
    count_received(c);
    if (!postgres_consume(c->pg)) {
        lost(c);
        return;
    }
    c->dead = &dead;
    take_notices(c);
    take_results(c, &dead);
    if (!dead && c->op && c->received > c->op->max_bytes) {
        cut_off(c, MCP_ELIMIT);
        dead = true;
    }
    if (!dead) {
        c->dead = NULL;
        if (c->unsent)
            postgres_conn_flush(c);
    }
}
