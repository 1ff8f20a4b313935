/* watch.c: announces changes to the database.
 *
 * inotify on its folder reports changes immediately (a commit writes the file or its -wal). Without
 * inotify, and as a fallback, the database is polled every second. SQLite reports what changed:
 * data_version changes when another connection commits, schema_version when the schema changes. A
 * change of data is announced for every subscribed row, because finding the changed rows would
 * require reading all of them.
 */
#define _GNU_SOURCE
#include "provider.h"

#include <sys/inotify.h>

enum {
    LOOK_MS = 1000,
    SOON_MS = 20, /* delay after an event, because a commit is several writes */
    BUSY_MS = 100,
};

/* ---- checking -------------------------------------------------------------------------------- */

static int number_of(sqlite_conn *c, const char *sql, sqlite3_int64 *ret)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_prepare(c, sql, &stmt);
    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        *ret = sqlite3_column_int64(stmt, 0);
        rc = SQLITE_DONE;
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int look_use(sqlite_conn *c, void *user)
{
    sqlite_state *now = user;
    int rc = number_of(c, "PRAGMA data_version", &now->data);
    now->conn = c->immutable ? 0 : c->number;
    return rc == SQLITE_OK ? number_of(c, "PRAGMA schema_version", &now->schema) : rc;
}

/* Gets the current state. Returns MCP_PENDING if another process has locked the database. */
static int look(sqlite *s, sqlite_state *now)
{
    static const sqlite_bounds near = {.near = true};
    int code;
    char text[256];
    memset(now, 0, sizeof(*now));
    sqlite_look_at(&s->file, &now->look);
    return sqlite_use(&s->file, &s->near, &near, look_use, now, &code, text);
}

/* Returns whether data has changed. data_version is exact between two checks of the same
 * connection, unless it is immutable; otherwise the files are compared. */
static bool data_changed(const sqlite_state *a, const sqlite_state *b)
{
    if (a->conn && a->conn == b->conn)
        return a->data != b->data;
    return memcmp(&a->look, &b->look, sizeof(a->look)) != 0;
}

/* ---- announcing ------------------------------------------------------------------------------ */

typedef struct telling {
    sqlite *s;
    sqlite3_stmt *twin; /* NULL: announces every name */
    bool schema;
    int rc; /* of SQLite, if a name could not be looked up */
} telling;

/* Returns whether a table has this name in other letters only, or that cannot be known now. Tables are
 * found by the exact spelling of their names, so this one is another, which nobody can read; what
 * happens to its twin must not be announced under its name. */
static bool has_twin(telling *t, mcp_str table)
{
    if (!t->twin)
        return false;
    int rc = sqlite3_bind_text(t->twin, 1, table.ptr, (int)table.len, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(t->twin);
    sqlite3_reset(t->twin);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        t->rc = rc;
    return rc != SQLITE_DONE;
}

static void tell(telling *t, const char *uri)
{
    sqlite_target target;
    char room[MCP_URI_MAX_LENGTH + SQLITE_URI_ROOM];
    mcp_str rest = mcp_str_from(uri + strlen(t->s->base.prefix));
    if (rest.len >= MCP_URI_MAX_LENGTH || sqlite_uri_parse(rest, room, &target) != MCP_OK)
        return;
    bool named = target.kind != SQLITE_KIND_DATABASE && target.kind != SQLITE_KIND_QUERY;
    bool schema = target.kind == SQLITE_KIND_DATABASE || target.kind == SQLITE_KIND_TABLE;
    if ((t->schema || !schema) && !(named && has_twin(t, target.table)))
        mcp_server_resource_updated(t->s->base.server, uri);
}

static void tell_all(telling *t)
{
    const common_watched *w = &t->s->base.watched;
    for (size_t i = 0; i < w->n; i++)
        tell(t, w->item[i].uri);
    if (t->schema)
        common_source_list_changed(&t->s->base);
}

static int tell_use(sqlite_conn *c, void *user)
{
    telling *t = user;
    t->rc = sqlite_prepare(c,
                           "SELECT 1 FROM main.sqlite_schema WHERE type IN ('table', 'view') AND "
                           "name = ?1 COLLATE NOCASE AND name <> ?1",
                           &t->twin);
    if (t->rc == SQLITE_OK)
        tell_all(t);
    sqlite3_finalize(t->twin);
    t->twin = NULL;
    return t->rc;
}

/* While another process has locked the database, returns MCP_PENDING: the next check announces the
 * change, and some may hear of it twice. If the schema takes too long to parse here, every name is
 * announced. */
static int announce(sqlite *s, bool schema)
{
    static const sqlite_bounds near = {.near = true};
    telling t = {.s = s, .schema = schema};
    int code = SQLITE_BUSY;
    char text[256];
    int rc = sqlite_use(&s->file, &s->near, &near, tell_use, &t, &code, text);
    if (rc == MCP_PENDING && ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED))
        return rc;
    if (rc != MCP_OK)
        tell_all(&t);
    return MCP_OK;
}

uint64_t sqlite_watch_look(common_source *base)
{
    sqlite *s = (sqlite *)base;
    sqlite_state now;
    int rc = look(s, &now);
    if (rc == MCP_OK) {
        bool schema = now.schema != s->last.schema;
        if (schema || data_changed(&s->last, &now))
            rc = announce(s, schema);
        if (rc == MCP_OK)
            s->last = now;
    }
    return rc == MCP_PENDING ? BUSY_MS : LOOK_MS;
}

/* ---- events ---------------------------------------------------------------------------------- */

bool sqlite_watch_concerns(const common_source *base, const struct inotify_event *e)
{
    const char *path = ((const sqlite *)base)->file.path, *file = strrchr(path, '/') + 1;
    size_t len = strlen(file);
    return (e->mask & IN_Q_OVERFLOW) || (e->len && strncmp(e->name, file, len) == 0 &&
                                         (!e->name[len] || !strcmp(e->name + len, "-wal") ||
                                          !strcmp(e->name + len, "-journal")));
}

/* Watches the folder with inotify. If that fails, only the timer causes checks. */
static void watch_folder(sqlite *s)
{
    const char *slash = strrchr(s->file.path, '/');
    char *folder = common_copy(&s->base.alloc, s->file.path, (size_t)(slash - s->file.path) + 1);
    if (folder && common_source_events(&s->base) &&
        inotify_add_watch(s->base.fd, folder,
                          IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_TO |
                              IN_ONLYDIR) >= 0)
        common_source_poll(&s->base);
    common_release(&s->base.alloc, folder);
}

int sqlite_watch_begin(common_source *base)
{
    sqlite *s = (sqlite *)base;
    base->soon_ms = SOON_MS;
    if (look(s, &s->last) != MCP_OK)
        memset(&s->last, 0, sizeof(s->last)); /* the next check announces everything once */
    watch_folder(s);
    return common_source_look_in(base, LOOK_MS);
}
