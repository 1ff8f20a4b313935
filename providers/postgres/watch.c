/* watch.c: announces changes to the database.
 *
 * A trigger in the database reports changes to data: it notifies the channel mcp_changes (see
 * docs/postgres.md) with {"schema": …, "table": …} and, if known, "key": [one row's key]. Changes
 * of the schema are found by polling the row versions of the catalogue. Both use a connection of
 * their own, which is open while there are subscribers. If it was lost, changes may have been
 * missed, so everything is announced as changed.
 */
#include "provider.h"

#include <stdio.h>

#include <mcp/uri.h>

enum { LONGEST_LOOK_MS = 10000 };

/* Sums of row versions. A changed row gets a new version, and the version of a dropped row is
 * missing from the sum. For pg_class only the columns that matter are compared, because TRUNCATE
 * and VACUUM FULL also make new row versions. Temporary tables are ignored. The search path is
 * that of statements for the catalogue. */
static const char look_sql[] =
    "WITH t AS (SELECT oid FROM pg_catalog.pg_class WHERE relpersistence = 't'), v(part, x) AS ("
    "SELECT 1, hashtext(concat_ws(' ', oid, relname, relnamespace, relkind, relispartition, "
    "relrowsecurity, relacl))::int8 FROM pg_catalog.pg_class WHERE oid >= 16384 AND "
    "relpersistence <> 't' "
    "UNION ALL SELECT 2, xmin::text::int8 FROM pg_catalog.pg_attribute WHERE attrelid >= 16384 "
    "AND attrelid NOT IN (SELECT oid FROM t) "
    "UNION ALL SELECT 3, xmin::text::int8 FROM pg_catalog.pg_constraint WHERE conrelid >= 16384 "
    "AND conrelid NOT IN (SELECT oid FROM t) "
    "UNION ALL SELECT 4, xmin::text::int8 FROM pg_catalog.pg_rewrite WHERE ev_class >= 16384 "
    "AND ev_class NOT IN (SELECT oid FROM t) "
    "UNION ALL SELECT 5, xmin::text::int8 FROM pg_catalog.pg_proc WHERE oid >= 16384 "
    "UNION ALL SELECT 6, xmin::text::int8 FROM pg_catalog.pg_description WHERE objoid >= 16384 "
    "OR classoid = 'pg_catalog.pg_namespace'::regclass "
    "UNION ALL SELECT 7, xmin::text::int8 FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_' "
    "UNION ALL SELECT 8, xmin::text::int8 FROM pg_catalog.pg_policy "
    "UNION ALL SELECT 9, xmin::text::int8 FROM pg_catalog.pg_auth_members) "
    "SELECT string_agg(s, ' ' ORDER BY part) FROM (SELECT part, concat(part, ':', count(*), ' ', "
    "sum(x)) AS s FROM v GROUP BY part) AS parts";

/* ---- announcing ------------------------------------------------------------------------------ */

typedef struct change {
    bool schema; /* the schema has changed, which affects everything */
    mcp_str in, table;
    const mcp_json *key; /* NULL means any row */
} change;

static bool is_key(const mcp_json *key, const postgres_target *t)
{
    if (!mcp_json_is(key, MCP_JSON_ARRAY))
        return true;
    if (mcp_json_count(key) != t->n_key)
        return false;
    for (size_t i = 0; i < t->n_key; i++)
        if (!mcp_str_eq(mcp_json_string(mcp_json_at(key, i)), t->key[i]))
            return false;
    return true;
}

/* It is not known which tables a saved query reads, so any change affects it. For a view, the
 * notification must name the view itself. */
static bool concerns(const postgres_target *t, const void *arg)
{
    const change *c = arg;
    if (c->schema || t->kind == POSTGRES_KIND_QUERY)
        return true;
    if (t->kind != POSTGRES_KIND_ROWS && t->kind != POSTGRES_KIND_ROW &&
        t->kind != POSTGRES_KIND_CELL)
        return false;
    if (!c->in.ptr)
        return true;
    return mcp_str_eq(c->in, t->schema) && mcp_str_eq(c->table, t->name) &&
           (t->kind == POSTGRES_KIND_ROWS || is_key(c->key, t));
}

static void tell_all(postgres *s, const change *c)
{
    const common_watched *w = &s->base.watched;
    postgres_target t;
    char room[MCP_URI_MAX_LENGTH + POSTGRES_URI_ROOM];
    size_t prefix = strlen(s->base.prefix);
    for (size_t i = 0; i < w->n; i++) {
        mcp_str rest = mcp_str_from(w->item[i].uri + prefix);
        if (rest.len < MCP_URI_MAX_LENGTH && postgres_uri_parse(rest, room, &t) == MCP_OK &&
            concerns(&t, c))
            mcp_server_resource_updated(s->base.server, w->item[i].uri);
    }
    if (c->schema)
        common_source_list_changed(&s->base);
}

static void tell(postgres *s, const change *c)
{
    if (c->schema) {
        postgres_tables_clear(&s->tables);
        postgres_callers_clear_tables(&s->callers);
    }
    if (s->callers.on)
        postgres_notices_changed(s, concerns, c);
    else
        tell_all(s, c);
}

void postgres_rows_changed(postgres *s)
{
    tell(s, &(change){.schema = false});
}

static void on_notify(void *user, const PGnotify *notice)
{
    mcp_json_doc *doc = NULL;
    change c = {.schema = false};
    if (strcmp(notice->relname, "mcp_changes") != 0)
        return;
    mcp_json_parse(mcp_str_from(notice->extra), NULL, NULL, &doc, NULL);
    const mcp_json *root = mcp_json_root(doc);
    c.in = mcp_json_string(mcp_json_get(root, "schema"));
    c.table = mcp_json_string(mcp_json_get(root, "table"));
    c.key = mcp_json_get(root, "key");
    if (!c.in.ptr || !c.table.ptr) /* not understood: any row may have changed */
        c = (change){.schema = false};
    tell(user, &c);
    mcp_json_free(doc);
}

/* Called for each new connection. `again` means that there was an earlier one or a failed attempt,
 * so changes may have been missed in the meantime. */
static void on_connected(void *user, bool again)
{
    postgres *s = user;
    if (again)
        s->watch.missed = true;
}

/* ---- checking the schema --------------------------------------------------------------------- */

static int put_look(postgres_op *op, const PGresult *r)
{
    postgres_watch *w = &((postgres *)op->user)->watch;
    if (PQntuples(r))
        snprintf(w->now, sizeof(w->now), "%s", PQgetvalue(r, 0, 0));
    return MCP_OK;
}

static void end_look(postgres_op *op, int rc)
{
    postgres *s = op->user;
    postgres_watch *w = &s->watch;
    w->looking = false;
    if (rc == MCP_OK) {
        bool changed = w->known && strcmp(w->now, w->last) != 0;
        memcpy(w->last, w->now, sizeof(w->last));
        w->known = true;
        if (changed || w->missed)
            tell(s, &(change){.schema = true});
        w->missed = false;
    }
    (void)common_source_look_in(&s->base, s->poll_ms);
}

uint64_t postgres_watch_look(common_source *base)
{
    postgres *s = (postgres *)base;
    postgres_watch *w = &s->watch;
    if (w->looking)
        return 0;
    w->looking = true;
    w->op = (postgres_op){.sql = look_sql,
                          .catalog = true,
                          .timeout_ms = LONGEST_LOOK_MS,
                          .max_bytes = 1 << 20,
                          .row = put_look,
                          .end = end_look,
                          .user = s};
    postgres_pool_run(w->pool, &w->op);
    return 0;
}

/* A standby cannot listen, and would refuse the connection with which the schema is checked, too. */
static const char listen_sql[] =
    "DO $$BEGIN IF NOT pg_catalog.pg_is_in_recovery() THEN LISTEN mcp_changes; END IF; END$$";

/* ---- subscribers ----------------------------------------------------------------------------- */

void postgres_watch_end(common_source *base)
{
    postgres_watch *w = &((postgres *)base)->watch;
    postgres_notices_stop((postgres *)base);
    if (w->looking)
        postgres_pool_cancel(w->pool, &w->op);
    postgres_pool_free(w->pool);
    *w = (postgres_watch){.pool = NULL};
}

int postgres_watch_begin(common_source *base)
{
    postgres *s = (postgres *)base;
    int rc = postgres_pool_new(&(postgres_pool_options){.alloc = &base->alloc,
                                                        .host = &s->host,
                                                        .conninfo = s->conninfo,
                                                        .name = base->name,
                                                        .max = 1,
                                                        .timeout_ms = LONGEST_LOOK_MS,
                                                        .after = listen_sql,
                                                        .notify = on_notify,
                                                        .connected = on_connected,
                                                        .user = s},
                               &s->watch.pool);
    if (rc == MCP_OK)
        (void)postgres_watch_look(base);
    return rc;
}
