/* job.c: one request, from its URI to its reply. */
#include "provider.h"

#include <stdarg.h>
#include <stdio.h>

#include "text.h"

#include "pieces.h"
#include "replies.h"
#include "table_text.h"

enum {
    OVERHEAD = 8 << 20, /* for the rest of a message, and for what a socket holds of the next one */
    RETRIES = 3,
    QUIET_MS = 60000, /* between two lines of the log about refused callers, or about time-outs */
};

static void (*const runs[])(postgres_job *) = {
    [POSTGRES_KIND_DATABASE] = postgres_run_database, [POSTGRES_KIND_SCHEMA] = postgres_run_schema,
    [POSTGRES_KIND_TABLE] = postgres_run_table,       [POSTGRES_KIND_ROWS] = postgres_run_rows,
    [POSTGRES_KIND_ROW] = postgres_run_row,           [POSTGRES_KIND_CELL] = postgres_run_cell,
    [POSTGRES_KIND_FUNCTION] = postgres_run_function, [POSTGRES_KIND_QUERY] = postgres_run_saved,
};

static void log_seldom(postgres *s, int64_t *quiet_until, const char *text, const char *more)
{
    int64_t at = s->host.now(s->host.user);
    if (!s->host.log || at < *quiet_until)
        return;
    char line[500];
    *quiet_until = at + QUIET_MS;
    snprintf(line, sizeof(line), "PostgreSQL database %.80s: %s%.300s", s->base.name, text, more);
    s->host.log("warning", line, s->host.user);
}

static void *give_request(size_t size, void *user)
{
    return mcp_request_alloc(user, size);
}

/* Sets the role of the job's caller. Results differ between callers, so they must not be shared. */
static int set_caller(postgres_job *j)
{
    postgres *s = j->s;
    postgres_role *role;
    postgres_as *as = NULL;
    j->tables = &s->tables;
    j->pool = s->pool;
    if (!s->callers.on)
        return MCP_OK;
    mcp_reply_cache(j->req, 0, false);
    int rc = postgres_caller_of(&s->callers, &s->base.alloc, mcp_request_identity(j->req),
                                give_request, j->req, &as, &role);
    j->op.as = as;
    if (rc == MCP_ENOTFOUND)
        log_seldom(s, &s->refused_until, "a caller was refused, because run_as has no role for it",
                   "");
    if (rc != MCP_OK)
        return rc;
    j->tables = &role->tables;
    if (role->pool)
        j->pool = role->pool;
    return MCP_OK;
}

postgres_job *postgres_job_new(postgres *s, mcp_request *req, mcp_str uri, int *rc)
{
    mcp_str rest = {"", 0};
    *rc = uri.len && !common_pieces_behind(uri, s->base.prefix, &rest) ? MCP_ENOTFOUND : MCP_ENOMEM;
    if (*rc == MCP_ENOTFOUND)
        return NULL;
    postgres_job *j = mcp_request_alloc(req, sizeof(*j) + uri.len + POSTGRES_URI_ROOM);
    if (!j)
        return NULL;
    memset(j, 0, sizeof(*j));
    j->s = s;
    j->req = req;
    j->uri = uri;
    postgres_sql_init(&j->sql, &s->base.alloc);
    postgres_sql_init(&j->text, &s->base.alloc);
    postgres_sql_init(&j->left, &s->base.alloc);
    *rc = set_caller(j);
    if (*rc == MCP_OK && uri.len)
        *rc = postgres_uri_parse(rest, j->room, &j->target);
    return *rc == MCP_OK ? j : NULL;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void on_cancel(mcp_request *req, void *user)
{
    postgres_job *j = user;
    (void)req;
    postgres_pool_cancel(j->pool, &j->op);
    postgres_job_finish(j, MCP_ECANCELLED);
}

int postgres_job_start(postgres_job *j, void (*begin)(postgres_job *j))
{
    j->json = mcp_json_writer_new(&j->s->base.alloc, 4 * j->s->max_read + OVERHEAD);
    if (!j->json)
        return MCP_ENOMEM;
    j->in_handler = true;
    begin(j);
    j->in_handler = false;
    if (j->finished)
        return j->outcome;
    mcp_request_on_cancel(j->req, on_cancel, j);
    return MCP_PENDING;
}

void postgres_job_finish(postgres_job *j, int outcome)
{
    postgres_table_release(&j->s->base.alloc, j->table);
    mcp_json_writer_free(j->json);
    mcp_json_free(j->plan);
    postgres_sql_free(&j->sql);
    postgres_sql_free(&j->text);
    postgres_sql_free(&j->left);
    j->finished = true;
    j->outcome = outcome;
    if (j->in_handler)
        return;
    mcp_request_on_cancel(j->req, NULL, NULL);
    mcp_reply_finish(j->req, outcome);
}

static void end(postgres_op *op, int rc)
{
    postgres_job *j = op->user;
    j->next(j, rc);
}

static void run(postgres_job *j, const char *sql, int (*row)(postgres_op *op, const PGresult *r),
                void (*next)(postgres_job *j, int rc))
{
    j->op.sql = sql ? sql : postgres_sql_text(&j->sql);
    if (!j->op.sql) {
        postgres_job_finish(j, MCP_ENOMEM);
        return;
    }
    j->op.row = row;
    j->op.end = end;
    j->op.user = j;
    j->op.timeout_ms = j->s->timeout_ms;
    if (j->op.as) /* plans depend on the role */
        j->op.statement = 0;
    j->op.max_bytes = 2 * j->s->max_read + OVERHEAD; /* bytea in hexadecimal digits */
    j->next = next;
    postgres_pool_run(j->pool, &j->op);
}

void postgres_job_run(postgres_job *j, const char *sql,
                      int (*row)(postgres_op *op, const PGresult *r),
                      void (*next)(postgres_job *j, int rc))
{
    j->op.catalog = false;
    run(j, sql, row, next);
}

void postgres_job_look(postgres_job *j, const char *sql,
                       int (*row)(postgres_op *op, const PGresult *r),
                       void (*next)(postgres_job *j, int rc))
{
    j->op.catalog = true;
    j->op.inert = j->op.one = j->op.slow = false;
    j->op.statement = 0;
    run(j, sql, row, next);
}

/* ---- replies --------------------------------------------------------------------------------- */

void postgres_job_fail(postgres_job *j, int code, const char *format, ...)
{
    char text[2600]; /* a message, names that were perhaps meant, a hint */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    postgres_job_finish(
        j, common_reply_fail(j->req, &j->s->base.alloc, j->as_tool, j->uri, code, text));
}

void postgres_job_missing(postgres_job *j)
{
    postgres_job_finish(j, MCP_ENOTFOUND);
}

void postgres_job_reply_json(postgres_job *j)
{
    mcp_str text;
    int rc = mcp_json_writer_finish(j->json, &text);
    if (rc == MCP_ELIMIT)
        postgres_job_fail(j, MCP_CODE_INTERNAL, "The answer is too large: ask for less");
    else if (rc != MCP_OK)
        postgres_job_finish(j, rc);
    else
        postgres_job_finish(j, j->as_tool ? mcp_reply_structured(j->req, text)
                                          : common_reply_table(j->req, &j->s->base.alloc, text,
                                                               j->as_text, j->is_row));
}

void postgres_job_too_large(postgres_job *j, uint64_t size)
{
    postgres_job_finish(j, common_reply_too_large(
                               j->req, &j->s->base.alloc, j->as_tool,
                               &(common_too_large){.uri = j->uri,
                                                   .what = "A value",
                                                   .where = " of the cell",
                                                   .size = size,
                                                   .limit = j->s->max_read,
                                                   .prefix = j->s->base.prefix,
                                                   .rest = "{schema}/{table}/cell/{column}{/key*}"
                                                           "{?offset,length}"}));
}

static void log_failure(const postgres_job *j, const char *text)
{
    char line[500];
    if (!j->s->host.log)
        return;
    snprintf(line, sizeof(line), "PostgreSQL database %.80s: %.300s", j->s->base.name, text);
    j->s->host.log("warning", line, j->s->host.user);
}

const char *postgres_job_words(const postgres_job *j, const char *instead)
{
    return mcp_request_restricted(j->req) || j->op.refused ? instead : j->op.text;
}

static bool is(const postgres_job *j, const char *state)
{
    return strncmp(j->op.state, state, strlen(state)) == 0;
}

/* Returns whether the request is for one object, which was dropped while functions of the catalogue
 * read it. PostgreSQL does not translate these messages. */
static bool has_vanished(const postgres_job *j)
{
    static const char *const texts[] = {"could not open relation with OID ",
                                        "cache lookup failed for "};
    postgres_kind kind = j->target.kind;
    bool is_one = kind == POSTGRES_KIND_TABLE || kind == POSTGRES_KIND_ROWS ||
                  kind == POSTGRES_KIND_ROW || kind == POSTGRES_KIND_CELL ||
                  kind == POSTGRES_KIND_FUNCTION;
    bool ret = false;
    for (size_t i = 0; is_one && i < sizeof(texts) / sizeof(*texts); i++)
        ret = ret || strncmp(j->op.text, texts[i], strlen(texts[i])) == 0;
    return ret && is(j, "XX000");
}

void postgres_job_broken(postgres_job *j, int rc)
{
    switch (rc) {
    case MCP_EREMOTE:
        if (is(j, "57014") || is(j, "55P03"))
            break;
        if (is(j, "42501") || is(j, "42P01") || is(j, "3F000") || is(j, "22P05") ||
            has_vanished(j)) { /* access revoked, dropped, or an impossible name */
            postgres_job_missing(j);
            return;
        }
        log_failure(j, j->op.text);
        postgres_job_fail(j, MCP_CODE_INTERNAL, "The database %.100s cannot be read now: %.300s",
                          j->s->base.name,
                          postgres_job_words(j, "the log of this server has the reason"));
        return;
    case MCP_ECLOSED:
        postgres_job_fail(j, MCP_CODE_INTERNAL,
                          "The database %.100s cannot be reached now; try again later",
                          j->s->base.name);
        return;
    case MCP_ELIMIT: postgres_job_too_large(j, 0); return;
    case MCP_ETIMEOUT: break;
    default: postgres_job_finish(j, rc); return;
    }
    log_seldom(j->s, &j->s->late_until,
               "a request took too long: ", rc == MCP_EREMOTE ? j->op.text : mcp_error_text(rc));
    postgres_job_fail(j, MCP_CODE_INTERNAL, COMMON_DATABASE_TOO_LONG,
                      (unsigned long long)j->s->timeout_ms);
}

bool postgres_job_is_bad_value(const postgres_job *j, int rc)
{
    bool given = false, text = true;
    for (int i = 0; i < j->op.n_value; i++) {
        given = given || j->op.value[i];
        text = text && (!j->op.value[i] || common_text_utf8(mcp_str_from(j->op.value[i])));
    }
    /* 22021 is also reported for the contents of a database without an encoding */
    return rc == MCP_EREMOTE && is(j, "22") && given && !(text && is(j, "22021"));
}

bool postgres_job_number(postgres_job *j, const char *name, uint64_t min, uint64_t max,
                         uint64_t fallback, uint64_t *ret)
{
    const mcp_str *text = postgres_uri_param(&j->target, name);
    *ret = fallback;
    if (!text || common_pieces_number(*text, min, max, ret))
        return true;
    postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s must be a whole number from %llu to %llu",
                      name, (unsigned long long)min, (unsigned long long)max);
    return false;
}

bool postgres_job_format(postgres_job *j)
{
    char why[300];
    if (common_table_format(postgres_uri_param(&j->target, "format"), &j->as_text, why))
        return true;
    postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", why);
    return false;
}

bool postgres_job_only(postgres_job *j, const char *const *names)
{
    char why[300];
    if (common_pieces_only(j->target.param, j->target.n_param, names, why))
        return true;
    postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", why);
    return false;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int64_t now(const postgres_job *j)
{
    return j->s->host.now(j->s->host.user);
}

static int add_column(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    return PQntuples(r) ? postgres_table_add(&j->s->base.alloc, j->table, r) : MCP_OK;
}

static void looked_up(postgres_job *j, int rc)
{
    if (rc != MCP_OK) {
        postgres_job_broken(j, rc);
    } else if (!j->table->n_column) {
        postgres_job_missing(j);
    } else {
        postgres_tables_keep(j->tables, j->table, now(j));
        j->with_table(j);
    }
}

void postgres_job_with_table(postgres_job *j, void (*go_on)(postgres_job *j))
{
    mcp_str schema = j->target.schema, name = j->target.name;
    j->with_table = go_on;
    j->table = postgres_tables_find(j->tables, schema, name, now(j));
    if (j->table) {
        go_on(j);
        return;
    }
    j->table = postgres_table_new(&j->s->base.alloc, schema, name);
    if (!j->table) {
        postgres_job_finish(j, MCP_ENOMEM);
        return;
    }
    j->op.value[0] = j->table->schema;
    j->op.value[1] = j->table->name;
    j->op.n_value = 2;
    postgres_job_look(j, postgres_table_sql, add_column, looked_up);
}

/* The states mean an unknown column or table, a type that has changed, a prepared statement that
 * the session no longer has, or a missing privilege. */
bool postgres_job_stale(postgres_job *j, int rc)
{
    static const char *const states[] = {"42703", "42P01", "0A000", "3F000", "26000",
                                         "42501", "42883", "40P01", "XX000"};
    bool stale = false;
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
        stale = stale || (rc == MCP_EREMOTE && is(j, states[i]));
    if (!stale || j->retried == RETRIES)
        return false;
    j->retried++;
    postgres_tables_drop(j->tables, j->table);
    postgres_table_release(&j->s->base.alloc, j->table);
    j->table = NULL;
    mcp_json_writer_reset(j->json);
    j->size = j->rows = 0;
    postgres_job_with_table(j, j->with_table);
    return true;
}

/* Some functions of the catalogue read the current state, not the one that this
 * transaction sees. */
bool postgres_job_torn(postgres_job *j, int rc)
{
    if (rc != MCP_EREMOTE || j->retried == RETRIES || !(is(j, "XX000") || is(j, "40P01")))
        return false;
    j->retried++;
    j->rows = 0;
    mcp_json_writer_reset(j->json);
    postgres_sql_reset(&j->text);
    runs[j->target.kind](j);
    return true;
}

/* ---- callbacks for mcp_provider and mcp_resource_template ------------------------------------ */

int postgres_read(mcp_request *req, mcp_str uri, void *user)
{
    int rc;
    postgres_job *j = postgres_job_new(user, req, uri, &rc);
    return j ? postgres_job_start(j, runs[j->target.kind]) : rc;
}

int postgres_read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)match; /* the values are decoded, so "/" and "%2F" would be the same */
    return postgres_read(req, uri, user);
}
