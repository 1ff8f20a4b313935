/* notice_check.c: selects what a group of callers sees of a resource, as a digest. See notice.h.
 *
 * The database computes the digest: the number of rows and the sum of their hashes, so that one
 * short row is received whatever the size of the resource is. It is selected as the group's role in
 * the same way as a request of a caller (conn.c).
 */
#include "provider.h"

#include <stdio.h>

enum { LOGGED_MS = 60000 }; /* between two lines of the log about failures */

/* The number of rows and the sum of their hashes. */
#define ROWS_DIGEST                                       \
    "SELECT pg_catalog.concat(pg_catalog.count(*), ' ', " \
    "pg_catalog.sum(pg_catalog.hashtextextended((mcp_row.*)::pg_catalog.text, 0))) FROM "

/* Everything that a list or a description shows to this role. */
static const char catalog_sql[] =
    "WITH s AS (SELECT oid, nspname FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_' AND "
    "nspname <> 'information_schema' AND pg_catalog.has_schema_privilege(oid, 'USAGE')), "
    "r AS (SELECT c.oid, c.relname, c.relnamespace, c.relkind, c.relrowsecurity FROM "
    "pg_catalog.pg_class c JOIN s ON s.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'm', "
    "'f', 'p') AND NOT c.relispartition AND pg_catalog.has_any_column_privilege(c.oid, "
    "'SELECT')), "
    "f AS (SELECT p.oid, p.xmin FROM pg_catalog.pg_proc p JOIN s ON s.oid = p.pronamespace) "
    "SELECT concat(count(*), ' ', sum(hashtextextended(x, 0))) FROM ("
    "SELECT concat_ws(' ', 's', oid, nspname) FROM s UNION ALL "
    "SELECT concat_ws(' ', 'r', oid, relname, relnamespace, relkind, relrowsecurity) FROM r "
    "UNION ALL SELECT concat_ws(' ', 'f', oid, xmin) FROM f UNION ALL "
    "SELECT concat_ws(' ', 'a', a.attrelid, a.attnum, a.xmin) FROM pg_catalog.pg_attribute a JOIN "
    "r ON r.oid = a.attrelid WHERE NOT a.attisdropped AND "
    "pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') UNION ALL "
    "SELECT concat_ws(' ', 'k', k.oid, k.xmin) FROM pg_catalog.pg_constraint k JOIN r ON r.oid = "
    "k.conrelid UNION ALL "
    "SELECT concat_ws(' ', 'i', i.indexrelid, i.xmin) FROM pg_catalog.pg_index i JOIN r ON r.oid = "
    "i.indrelid UNION ALL "
    "SELECT concat_ws(' ', 'w', w.oid, w.xmin) FROM pg_catalog.pg_rewrite w JOIN r ON r.oid = "
    "w.ev_class UNION ALL "
    "SELECT concat_ws(' ', 'd', d.objoid, d.objsubid, d.xmin) FROM pg_catalog.pg_description d "
    "WHERE d.objoid IN (SELECT oid FROM s UNION ALL SELECT oid FROM r UNION ALL SELECT oid FROM "
    "f)) AS every(x)";

/* ---- the end --------------------------------------------------------------------------------- */

static void log_failure(postgres *s)
{
    char line[500];
    postgres_notices *n = &s->notices;
    int64_t now = s->host.now(s->host.user);
    if (!s->host.log || now < n->logged)
        return;
    n->logged = now + LOGGED_MS;
    snprintf(line, sizeof(line),
             "PostgreSQL database %.80s: changes to a resource cannot be announced now: %.300s",
             s->base.name, n->check.op.text[0] ? n->check.op.text : "it takes too long");
    s->host.log("warning", line, s->host.user);
}

static void clear(postgres *s)
{
    postgres_checking *c = &s->notices.check;
    postgres_group *group = c->group;
    postgres_table_release(&s->base.alloc, c->table);
    postgres_sql_free(&c->sql);
    common_release(&s->base.alloc, c->room);
    *c = (postgres_checking){.running = false};
    postgres_group_release(s, group);
}

/* `digest` is NULL if it could not be selected. */
static void finish(postgres *s, const char *digest)
{
    postgres_view *v = s->notices.check.view;
    char kept[POSTGRES_DIGEST];
    snprintf(kept, sizeof(kept), "%s", digest ? digest : "");
    if (!digest)
        log_failure(s);
    clear(s);
    postgres_view_checked(s, v, digest ? kept : NULL);
}

static postgres_pool *pool_of(const postgres *s, const postgres_group *g)
{
    return g->role->pool ? g->role->pool : s->pool;
}

void postgres_check_stop(postgres *s)
{
    postgres_checking *c = &s->notices.check;
    if (!c->running)
        return;
    postgres_pool_cancel(pool_of(s, c->group), &c->op);
    clear(s);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void look_up(postgres *s);

static int put_digest(postgres_op *op, const PGresult *r)
{
    postgres_checking *c = &((postgres *)op->user)->notices.check;
    if (PQntuples(r))
        snprintf(c->digest, sizeof(c->digest), "%s", PQgetvalue(r, 0, 0));
    return MCP_OK;
}

static bool is(const postgres_op *op, const char *const *states)
{
    for (; *states; states++)
        if (strncmp(op->state, *states, strlen(*states)) == 0)
            return true;
    return false;
}

static void end_digest(postgres_op *op, int rc)
{
    /* the role may not read it, or it does not exist; a key is invalid for the type */
    static const char *const nothing[] = {"42501", "42P01", "3F000", "22", NULL};
    static const char *const stale[] = {"42501", "42P01", "3F000", "42703", "42883", NULL};
    postgres *s = op->user;
    postgres_checking *c = &s->notices.check;
    if (rc == MCP_OK) {
        finish(s, c->digest);
    } else if (rc == MCP_EREMOTE && c->table && !c->again && is(op, stale)) {
        c->again = true;
        postgres_tables_drop(&c->group->role->tables, c->table);
        postgres_table_release(&s->base.alloc, c->table);
        c->table = NULL;
        look_up(s);
    } else {
        bool hidden = rc == MCP_EREMOTE && (op->refused || is(op, nothing));
        finish(s, hidden ? POSTGRES_NOTHING : NULL);
    }
}

/* Runs `sql`, or check.sql if it is NULL, whose options and parameters are set in the op. */
static void run(postgres *s, const char *sql, int (*row)(postgres_op *op, const PGresult *r),
                void (*end)(postgres_op *op, int rc))
{
    postgres_checking *c = &s->notices.check;
    c->op.sql = sql ? sql : postgres_sql_text(&c->sql);
    c->op.as = c->group->as;
    c->op.slow = !c->op.outside;
    c->op.max_bytes = 1 << 20;
    c->op.timeout_ms = s->timeout_ms;
    c->op.row = row;
    c->op.end = end;
    c->op.user = s;
    if (c->op.sql)
        postgres_pool_run(pool_of(s, c->group), &c->op);
    else
        finish(s, NULL);
}

/* Appends conditions that find the row only by its own URI: by another spelling of the key ("01") one
 * could hear of a row whose URI a rule denies. */
static void put_spelled_so(postgres_checking *c)
{
    for (size_t i = 0; i < c->table->n_key; i++) {
        postgres_put(&c->sql, " AND pg_catalog.format('%s', ");
        postgres_put_name(&c->sql, postgres_table_key(c->table, i)->name);
        postgres_putf(&c->sql, ") OPERATOR(pg_catalog.=) $%zu::pg_catalog.text COLLATE \"C\"",
                      c->table->n_key + i + 1);
    }
}

/* Returns false if the resource cannot exist for this role. */
static bool put_statement(postgres_checking *c)
{
    const postgres_target *t = &c->target;
    const postgres_column *column =
        t->kind == POSTGRES_KIND_CELL ? postgres_table_column(c->table, t->column) : NULL;
    if (!c->table->n_column || (t->kind == POSTGRES_KIND_CELL && !column))
        return false;
    bool whole = t->kind == POSTGRES_KIND_ROWS;
    if (!whole && (!postgres_has_key(c->table) || c->table->n_key != t->n_key))
        return false;
    postgres_sql_reset(&c->sql);
    postgres_put(&c->sql, ROWS_DIGEST "(");
    postgres_put_columns(&c->sql, c->table, column);
    if (!whole) {
        postgres_put_where_key(&c->sql, c->table);
        put_spelled_so(c);
    }
    postgres_put(&c->sql, ") AS mcp_row");
    c->op = (postgres_op){.n_value = whole ? 0 : 2 * (int)t->n_key};
    for (int i = 0; i < c->op.n_value; i++)
        c->op.value[i] = t->key[(size_t)i % t->n_key].ptr;
    return true;
}

static void select_rows(postgres *s)
{
    if (put_statement(&s->notices.check))
        run(s, NULL, put_digest, end_digest);
    else
        finish(s, POSTGRES_NOTHING);
}

static int add_column(postgres_op *op, const PGresult *r)
{
    postgres *s = op->user;
    return PQntuples(r) ? postgres_table_add(&s->base.alloc, s->notices.check.table, r) : MCP_OK;
}

static void looked_up(postgres_op *op, int rc)
{
    postgres *s = op->user;
    postgres_checking *c = &s->notices.check;
    if (rc != MCP_OK) {
        finish(s, rc == MCP_EREMOTE && op->refused ? POSTGRES_NOTHING : NULL);
        return;
    }
    if (c->table->n_column)
        postgres_tables_keep(&c->group->role->tables, c->table, s->host.now(s->host.user));
    select_rows(s);
}

static void look_up(postgres *s)
{
    postgres_checking *c = &s->notices.check;
    postgres_tables *known = &c->group->role->tables;
    mcp_str schema = c->target.schema, name = c->target.name;
    c->table = postgres_tables_find(known, schema, name, s->host.now(s->host.user));
    if (c->table) {
        select_rows(s);
        return;
    }
    c->table = postgres_table_new(&s->base.alloc, schema, name);
    c->op = (postgres_op){.catalog = true, .n_value = 2};
    if (!c->table) {
        finish(s, NULL);
        return;
    }
    c->op.value[0] = c->table->schema;
    c->op.value[1] = c->table->name;
    run(s, postgres_table_sql, add_column, looked_up);
}

static void select_query(postgres *s)
{
    postgres_checking *c = &s->notices.check;
    const common_query *q = common_queries_find(&s->base.queries, c->target.name);
    if (!q) {
        finish(s, NULL);
        return;
    }
    postgres_sql_reset(&c->sql);
    postgres_put(&c->sql, ROWS_DIGEST "(");
    postgres_put_str(&c->sql, (mcp_str){q->sql, postgres_query_length(q->sql)});
    postgres_put(&c->sql, "\n) AS mcp_row");
    c->op = (postgres_op){.outside = true, .alone = q->sql};
    run(s, NULL, put_digest, end_digest);
}

void postgres_check_view(postgres *s, postgres_view *v)
{
    postgres_checking *c = &s->notices.check;
    *c = (postgres_checking){.running = true, .view = v, .group = v->group};
    postgres_sql_init(&c->sql, &s->base.alloc);
    c->room = common_alloc(&s->base.alloc, strlen(v->uri) + POSTGRES_URI_ROOM);
    if (!c->room || postgres_view_target(s, v->uri, c->room, &c->target) != MCP_OK) {
        finish(s, NULL);
    } else if (v->of_catalog) {
        c->op = (postgres_op){.catalog = true};
        run(s, catalog_sql, put_digest, end_digest);
    } else if (c->target.kind == POSTGRES_KIND_QUERY) {
        select_query(s);
    } else {
        look_up(s);
    }
}
