/* watch.c: announces changes of the database.
 *
 * The database itself reports changes of data: a trigger notifies the channel mcp_changes
 * (docs/postgres.md has it), with {"schema": …, "table": …} and, if known, "key": [one row's key].
 * Schema changes are detected by polling the row versions of the catalogue. Both use a connection
 * of their own, which is open while there are subscribers. After it was lost, everything may have
 * changed and is announced as changed.
 */
#include "provider.h"

#include <stdio.h>

#include <mcp/uri.h>

#include "pieces.h"
#include "watched.h"

enum { LONGEST_LOOK_MS = 10000 };

/* Numbers of row versions: a changed row has a new one, a dropped one takes its own along. Of
 * pg_class only what is told: TRUNCATE and VACUUM FULL make a new version too, and change nothing.
 * Tables of one session are nobody's news. */
#define VERSIONS "pg_catalog.concat(count(*), ' ', sum(xmin::pg_catalog.text::pg_catalog.int8))"
#define OF_ALL(relation)                                                                       \
    relation " >= 16384 AND " relation " <> ALL (ARRAY(SELECT t.oid FROM pg_catalog.pg_class " \
             "t WHERE t.relpersistence = 't'))"

static const char look_sql[] =
    "SELECT pg_catalog.concat_ws(' ', (SELECT pg_catalog.concat(count(*), ' ', "
    "sum(pg_catalog.hashtext(pg_catalog.concat_ws(' ', oid, relname, relnamespace, relkind, "
    "relispartition, relrowsecurity, relacl))::pg_catalog.int8)) FROM pg_catalog.pg_class WHERE "
    "oid >= 16384 AND relpersistence <> 't'),"
    " (SELECT " VERSIONS " FROM pg_catalog.pg_attribute WHERE " OF_ALL(
        "attrelid") "),"
                    " (SELECT " VERSIONS " FROM pg_catalog.pg_constraint WHERE " OF_ALL(
                        "conrelid") "),"
                                    " (SELECT " VERSIONS
                                    " FROM pg_catalog.pg_rewrite WHERE " OF_ALL(
                                        "ev_class") "),"
                                                    " (SELECT " VERSIONS
                                                    " FROM pg_catalog.pg_proc WHERE oid >= 16384),"
                                                    " (SELECT " VERSIONS
                                                    " FROM pg_catalog.pg_description WHERE objoid "
                                                    ">= 16384 OR classoid = "
                                                    "'pg_catalog.pg_namespace'::pg_catalog."
                                                    "regclass),"
                                                    " (SELECT " VERSIONS
                                                    " FROM pg_catalog.pg_namespace WHERE nspname "
                                                    "!~ '^pg_'))";

struct postgres_watch {
    common_watched watched;
    postgres_pool *pool;
    mcp_host_timer *timer;
    postgres_op op;
    bool looking, known, missed;
    char last[300], now[300];
};

/* ---- telling --------------------------------------------------------------------------------- */

typedef struct change {
    bool schema; /* of the catalogue: everything */
    mcp_str in, table;
    const mcp_json *key; /* NULL: any row */
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

/* What a saved query looks at is not known: any change may concern it. Of a view's rows who
 * notifies has to speak. */
static bool concerns(const change *c, const postgres_target *t)
{
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

static void tell(postgres *s, const change *c)
{
    postgres_watch *w = s->watch;
    postgres_target t;
    char room[MCP_URI_MAX_LENGTH + POSTGRES_URI_ROOM];
    size_t prefix = strlen(s->prefix);
    for (size_t i = 0; i < w->watched.n; i++) {
        mcp_str rest = mcp_str_from(w->watched.item[i].uri + prefix);
        if (rest.len < MCP_URI_MAX_LENGTH && postgres_uri_parse(rest, room, &t) == MCP_OK &&
            concerns(c, &t))
            mcp_server_resource_updated(s->server, w->watched.item[i].uri);
    }
    if (!c->schema)
        return;
    postgres_tables_clear(&s->tables);
    if (w->watched.list)
        mcp_server_resources_changed(s->server);
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
    if (!c.in.ptr || !c.table.ptr) /* who knows what it means */
        c = (change){.schema = false};
    tell(user, &c);
    mcp_json_free(doc);
}

/* What happened while nobody listened is not known. */
static void on_connected(void *user, bool again)
{
    postgres *s = user;
    if (again)
        s->watch->missed = true;
}

/* ---- looking --------------------------------------------------------------------------------- */

static void on_timer(void *user);

static void set_timer(postgres *s)
{
    postgres_watch *w = s->watch;
    if (w->timer)
        s->host.timer_stop(w->timer, s->host.user);
    w->timer = s->host.timer_start(s->poll_ms, on_timer, s, s->host.user);
}

static int put_look(postgres_op *op, const PGresult *r)
{
    postgres_watch *w = ((postgres *)op->user)->watch;
    if (PQntuples(r))
        snprintf(w->now, sizeof(w->now), "%s", PQgetvalue(r, 0, 0));
    return MCP_OK;
}

static void end_look(postgres_op *op, int rc)
{
    postgres *s = op->user;
    postgres_watch *w = s->watch;
    w->looking = false;
    if (rc == MCP_OK) {
        bool changed = w->known && strcmp(w->now, w->last) != 0;
        memcpy(w->last, w->now, sizeof(w->last));
        w->known = true;
        if (changed || w->missed)
            tell(s, &(change){.schema = true});
        w->missed = false;
    }
    set_timer(s);
}

static void look(postgres *s)
{
    postgres_watch *w = s->watch;
    if (w->looking)
        return;
    w->looking = true;
    w->op = (postgres_op){.sql = look_sql,
                          .catalog = true,
                          .timeout_ms = LONGEST_LOOK_MS,
                          .max_bytes = 1 << 20,
                          .row = put_look,
                          .end = end_look,
                          .user = s};
    postgres_pool_run(w->pool, &w->op);
}

static void on_timer(void *user)
{
    look(user);
}

/* ---- coming and going ------------------------------------------------------------------------ */

static void stop(postgres *s)
{
    postgres_watch *w = s->watch;
    if (w->timer)
        s->host.timer_stop(w->timer, s->host.user);
    if (w->looking)
        postgres_pool_cancel(w->pool, &w->op);
    postgres_pool_free(w->pool);
    common_watched_clear(&w->watched, &s->alloc);
    common_release(&s->alloc, w);
    s->watch = NULL;
}

static int start(postgres *s)
{
    if (s->watch)
        return MCP_OK;
    s->watch = common_alloc(&s->alloc, sizeof(*s->watch));
    if (!s->watch)
        return MCP_ENOMEM;
    *s->watch = (postgres_watch){.pool = NULL};
    int rc = postgres_pool_new(&(postgres_pool_options){.alloc = &s->alloc,
                                                        .host = &s->host,
                                                        .conninfo = s->conninfo,
                                                        .name = s->name,
                                                        .max = 1,
                                                        .timeout_ms = LONGEST_LOOK_MS,
                                                        .after = "LISTEN mcp_changes",
                                                        .notify = on_notify,
                                                        .connected = on_connected,
                                                        .user = s},
                               &s->watch->pool);
    if (rc == MCP_OK)
        look(s);
    else
        stop(s);
    return rc;
}

static void stop_unused(postgres *s)
{
    if (s->watch && !common_watched_any(&s->watch->watched))
        stop(s);
}

int postgres_watch_add(const char *canonical, void *user)
{
    postgres *s = user;
    int rc = start(s);
    if (rc == MCP_OK)
        rc = common_watched_add(&s->watch->watched, &s->alloc, canonical, NULL);
    stop_unused(s);
    return rc;
}

void postgres_watch_remove(const char *canonical, void *user)
{
    postgres *s = user;
    if (s->watch)
        common_watched_remove(&s->watch->watched, &s->alloc, canonical);
    stop_unused(s);
}

int postgres_watch_list(void *user)
{
    postgres *s = user;
    int rc = start(s);
    if (rc == MCP_OK)
        s->watch->watched.list = true;
    return rc;
}

void postgres_unwatch_list(void *user)
{
    postgres *s = user;
    if (s->watch)
        s->watch->watched.list = false;
    stop_unused(s);
}

void postgres_watch_free(postgres *s)
{
    if (s->watch)
        stop(s);
}

/* ---- canonical URIs -------------------------------------------------------------------------- */

int postgres_resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    postgres *s = user;
    postgres_target t;
    mcp_str rest;
    if (!common_pieces_behind(uri, s->prefix, &rest))
        return MCP_ENOTFOUND;
    char *texts = common_alloc(&s->alloc, uri.len + POSTGRES_URI_ROOM);
    if (!texts)
        return MCP_ENOMEM;
    int rc = postgres_uri_parse(rest, texts, &t);
    if (rc == MCP_OK && t.kind == POSTGRES_KIND_QUERY && !common_queries_find(&s->queries, t.name))
        rc = MCP_ENOTFOUND;
    t.n_param = 0; /* how it is shown, and which part: changes and rules are about the whole */
    postgres_sql made;
    postgres_sql_init(&made, &s->alloc);
    if (rc == MCP_OK)
        postgres_uri_put(&made, s->prefix, &t);
    const char *text = rc == MCP_OK ? postgres_sql_text(&made) : "";
    if (!text)
        rc = MCP_ENOMEM;
    else if (strlen(text) >= room)
        rc = MCP_ELIMIT;
    else if (rc == MCP_OK)
        memcpy(canonical, text, strlen(text) + 1);
    postgres_sql_free(&made);
    common_release(&s->alloc, texts);
    return rc;
}
