/* watch.c: announces changes of the database.
 *
 * inotify on its folder reports them at once (a commit writes the file or its -wal). Without
 * inotify, and as a fallback, the database is polled every second. SQLite reports what changed:
 * data_version changes when another connection commits, schema_version when the schema changes. A
 * change of data is announced for every subscribed row, because finding the changed rows would mean
 * reading all of them.
 */
#define _GNU_SOURCE
#include "provider.h"

#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <mcp/provider.h>

#include "pieces.h"
#include "watched.h"

enum {
    LOOK_MS = 1000,
    SOON_MS = 20, /* after an event: a commit is several writes */
    BUSY_MS = 100,
};

typedef struct state {
    sqlite_look look;
    sqlite3_int64 data, schema;
    unsigned long long conn; /* which connection `data` is of */
} state;

struct sqlite_watch {
    common_watched watched;
    const mcp_host *host;
    mcp_host_timer *timer;
    bool soon; /* the timer is for an event */
    int fd;
    mcp_host_poll *poll;
    const char *file; /* its name in the folder */
    state last;
};

/* ---- looking --------------------------------------------------------------------------------- */

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
    state *now = user;
    int rc = number_of(c, "PRAGMA data_version", &now->data);
    now->conn = c->immutable ? 0 : c->number;
    return rc == SQLITE_OK ? number_of(c, "PRAGMA schema_version", &now->schema) : rc;
}

/* What is so now. MCP_PENDING: somebody has locked it. */
static int look(sqlite *s, state *now)
{
    static const sqlite_bounds near = {.near = true};
    int code;
    char text[256];
    memset(now, 0, sizeof(*now));
    sqlite_look_at(&s->file, &now->look);
    return sqlite_use(&s->file, &s->near, &near, look_use, now, &code, text);
}

/* data_version tells exactly, between two looks of one connection that locks; else the files have
 * to. */
static bool data_changed(const state *a, const state *b)
{
    if (a->conn && a->conn == b->conn)
        return a->data != b->data;
    return memcmp(&a->look, &b->look, sizeof(a->look)) != 0;
}

/* ---- telling --------------------------------------------------------------------------------- */

static bool is_schema(const sqlite *s, const char *uri)
{
    sqlite_target target;
    char room[MCP_URI_MAX_LENGTH + SQLITE_URI_ROOM];
    mcp_str rest = mcp_str_from(uri + strlen(s->prefix));
    return rest.len < MCP_URI_MAX_LENGTH && sqlite_uri_parse(rest, room, &target) == MCP_OK &&
           (target.kind == SQLITE_KIND_DATABASE || target.kind == SQLITE_KIND_TABLE);
}

static void tell(sqlite *s, bool schema)
{
    sqlite_watch *w = s->watch;
    for (size_t i = 0; i < w->watched.n; i++)
        if (schema || !is_schema(s, w->watched.item[i].uri))
            mcp_server_resource_updated(s->server, w->watched.item[i].uri);
    if (schema && w->watched.list)
        mcp_server_resources_changed(s->server);
}

static void on_timer(void *user);

static void set_timer(sqlite *s, uint64_t ms)
{
    sqlite_watch *w = s->watch;
    if (w->timer)
        w->host->timer_stop(w->timer, w->host->user);
    w->timer = w->host->timer_start(ms, on_timer, s, w->host->user);
}

static void on_timer(void *user)
{
    sqlite *s = user;
    sqlite_watch *w = s->watch;
    state now;
    w->soon = false;
    int rc = look(s, &now);
    if (rc == MCP_OK) {
        bool schema = now.schema != w->last.schema;
        bool data = schema || data_changed(&w->last, &now);
        w->last = now;
        if (data)
            tell(s, schema);
    }
    set_timer(s, rc == MCP_PENDING ? BUSY_MS : LOOK_MS);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The file itself, its -wal or its -journal. */
static bool is_of_database(const sqlite_watch *w, const struct inotify_event *e)
{
    size_t len = strlen(w->file);
    return (e->mask & IN_Q_OVERFLOW) || (e->len && strncmp(e->name, w->file, len) == 0 &&
                                         (!e->name[len] || !strcmp(e->name + len, "-wal") ||
                                          !strcmp(e->name + len, "-journal")));
}

static void on_event(void *user)
{
    sqlite *s = user;
    sqlite_watch *w = s->watch;
    union {
        struct inotify_event event;
        char bytes[4096];
    } buffer;
    bool ours = false;
    ssize_t len = read(w->fd, &buffer, sizeof(buffer));
    for (ssize_t at = 0; at < len;) {
        const struct inotify_event *e = (const void *)(buffer.bytes + at);
        ours = ours || is_of_database(w, e);
        at += (ssize_t)(sizeof(*e) + e->len);
    }
    if (ours && !w->soon) {
        w->soon = true;
        set_timer(s, SOON_MS);
    }
}

/* Without it, the timer alone looks. */
static void watch_folder(sqlite *s)
{
    sqlite_watch *w = s->watch;
    const char *slash = strrchr(s->file.path, '/');
    w->file = slash + 1;
    char *folder = common_copy(&s->alloc, s->file.path, (size_t)(slash - s->file.path) + 1);
    w->fd = w->host->poll_start ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
    if (folder && w->fd >= 0 &&
        inotify_add_watch(w->fd, folder,
                          IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_TO |
                              IN_ONLYDIR) >= 0)
        w->poll = w->host->poll_start(w->fd, on_event, s, w->host->user);
    common_release(&s->alloc, folder);
}

/* ---- coming and going ------------------------------------------------------------------------ */

static void stop(sqlite *s)
{
    sqlite_watch *w = s->watch;
    if (w->timer)
        w->host->timer_stop(w->timer, w->host->user);
    if (w->poll)
        w->host->poll_stop(w->poll, w->host->user);
    if (w->fd >= 0)
        close(w->fd);
    common_watched_clear(&w->watched, &s->alloc);
    common_release(&s->alloc, w);
    s->watch = NULL;
}

static int start(sqlite *s)
{
    const mcp_host *host = mcp_server_host(s->server);
    if (s->watch)
        return MCP_OK;
    if (!host || !host->timer_start)
        return MCP_EUNSUPPORTED;
    s->watch = common_alloc(&s->alloc, sizeof(*s->watch));
    if (!s->watch)
        return MCP_ENOMEM;
    *s->watch = (sqlite_watch){.host = host, .fd = -1};
    if (look(s, &s->watch->last) != MCP_OK)
        memset(&s->watch->last, 0, sizeof(s->watch->last)); /* the next look tells too much, once */
    watch_folder(s);
    set_timer(s, LOOK_MS);
    if (s->watch->timer)
        return MCP_OK;
    stop(s);
    return MCP_ENOMEM;
}

static void stop_unused(sqlite *s)
{
    if (s->watch && !common_watched_any(&s->watch->watched))
        stop(s);
}

int sqlite_watch_add(const char *canonical, void *user)
{
    sqlite *s = user;
    int rc = start(s);
    if (rc == MCP_OK)
        rc = common_watched_add(&s->watch->watched, &s->alloc, canonical, NULL);
    stop_unused(s);
    return rc;
}

void sqlite_watch_remove(const char *canonical, void *user)
{
    sqlite *s = user;
    if (s->watch)
        common_watched_remove(&s->watch->watched, &s->alloc, canonical);
    stop_unused(s);
}

int sqlite_watch_list(void *user)
{
    sqlite *s = user;
    int rc = start(s);
    if (rc == MCP_OK)
        s->watch->watched.list = true;
    return rc;
}

void sqlite_unwatch_list(void *user)
{
    sqlite *s = user;
    if (s->watch)
        s->watch->watched.list = false;
    stop_unused(s);
}

void sqlite_watch_free(sqlite *s)
{
    if (s->watch)
        stop(s);
}

/* ---- canonical URIs -------------------------------------------------------------------------- */

int sqlite_resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    sqlite *s = user;
    sqlite_target target;
    mcp_str rest;
    if (!common_pieces_behind(uri, s->prefix, &rest))
        return MCP_ENOTFOUND;
    char *texts = common_alloc(&s->alloc, uri.len + SQLITE_URI_ROOM);
    if (!texts)
        return MCP_ENOMEM;
    int rc = sqlite_uri_parse(rest, texts, &target);
    if (rc == MCP_OK && target.kind == SQLITE_KIND_QUERY &&
        !common_queries_find(&s->queries, target.table))
        rc = MCP_ENOTFOUND;
    target.n_param = 0; /* how it is shown, and which part: changes and rules are about the whole */
    sqlite3_str *made = sqlite3_str_new(NULL);
    if (rc == MCP_OK)
        sqlite_uri_put(made, s->prefix, &target);
    char *text = sqlite3_str_finish(made);
    if (rc == MCP_OK && !text)
        rc = MCP_ENOMEM;
    if (rc == MCP_OK && strlen(text) >= room)
        rc = MCP_ELIMIT;
    if (rc == MCP_OK)
        memcpy(canonical, text, strlen(text) + 1);
    sqlite3_free(text);
    common_release(&s->alloc, texts);
    return rc;
}
