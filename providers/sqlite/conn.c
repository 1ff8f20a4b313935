/* conn.c: see conn.h. */
#define _GNU_SOURCE
#include "conn.h"

#include "beneath.h"
#include "buffer.h"
#include "catalog.h"
#include "file.h"
#include "functions.h"
#include "guard.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include <mcp/uri.h>

enum {
    TICK_OPS = 100,         /* virtual machine instructions between two checks of the limits */
    NEAR_TICKS = 300,       /* limit on the server's thread: some hundred microseconds of
                             * fast instructions */
    NEAR_NS = 5000000,      /* limit of CPU time there, for slow instructions */
    NEAR_VALUE = 256 << 10, /* bytes of the largest value read there */
    NEAR_SQL = 32 << 10,    /* bytes of the longest statement parsed there,
                             * including the schema's */
    LONGEST_SQL = 256 << 10,
    SPENT = 64 << 10, /* bytes that functions process between two checks of the limits */
    CACHE_KIB = 1024,
    ATTEMPTS = 5,
};

/* Soft limit of the memory of all queries in the process, for sorting and other work. A query that
 * notices more than this ends. */
#define SOFT_MEMORY ((sqlite3_int64)96 << 20)
#define HARD_MEMORY ((sqlite3_int64)256 << 20)

/* Returns the monotonic time. */
static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Returns whether the database is in WAL mode. Then bytes 18 and 19 of the header are 2. They are
 * read through SQLite: closing a descriptor of our own would release SQLite's locks on the file,
 * because POSIX locks belong to the process. */
static bool is_wal_mode(sqlite3 *db)
{
    sqlite3_file *file = NULL;
    unsigned char version[2] = {0, 0};
    return sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK &&
           file && file->pMethods && file->pMethods->xRead(file, version, 2, 18) == SQLITE_OK &&
           version[0] == 2 && version[1] == 2;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static int stopped(sqlite_conn *c)
{
    if (c->stop && atomic_load_explicit(c->stop, memory_order_relaxed))
        return c->reason = MCP_ECANCELLED;
    return now_ms() > c->deadline ? (c->reason = MCP_ETIMEOUT) : 0;
}

/* Checks the limits on the server's thread. They use the thread's CPU time, so that a busy machine
 * does not move more work to the workers. Time counts from the first check, which a read of a row
 * by its key does not reach. */
static int stopped_here(sqlite_conn *c)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    int64_t now = sqlite_nanoseconds(t);
    if (!c->near_from)
        c->near_from = now;
    bool long_enough = c->ticks > NEAR_TICKS || now - c->near_from > NEAR_NS;
    return long_enough ? (c->reason = MCP_PENDING) : 0;
}

static int on_progress(void *user)
{
    sqlite_conn *c = user;
    c->ticks++;
    if (c->near)
        return stopped_here(c);
    if (sqlite3_memory_used() > SOFT_MEMORY)
        return c->reason = MCP_ELIMIT;
    return stopped(c);
}

bool sqlite_spend(sqlite_conn *c, size_t bytes)
{
    c->spent += bytes;
    if (c->spent < SPENT)
        return true;
    c->spent = 0;
    return !(c->near ? stopped_here(c) : stopped(c));
}

/* Called when another process has locked the database. Waits and retries, except on the
 * server's thread. */
static int on_busy(void *user, int tries)
{
    sqlite_conn *c = user;
    struct timespec pause = {0, (tries < 5 ? 1 : 10) * 1000000};
    if (c->near) {
        c->reason = MCP_PENDING;
        return 0;
    }
    if (stopped(c))
        return 0;
    nanosleep(&pause, NULL);
    return 1;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Limits the statements of queries and of the schema, which comes from the file and is not
 * trusted either. */
static void set_limits(sqlite_conn *c)
{
    static const struct {
        int id, most;
    } limits[] = {
        {SQLITE_LIMIT_ATTACHED, 0},           {SQLITE_LIMIT_WORKER_THREADS, 0},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},      {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
        {SQLITE_LIMIT_EXPR_DEPTH, 500},       {SQLITE_LIMIT_COMPOUND_SELECT, 200},
        {SQLITE_LIMIT_FUNCTION_ARG, 100},     {SQLITE_LIMIT_VDBE_OP, 100000},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 1000},
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
        sqlite3_limit(c->db, limits[i].id, limits[i].most);
}

/* Returns whether a value, or a statement of the schema, was too large for the server's thread.
 * SQLite reports such a statement as a malformed schema. */
static bool is_large_here(const sqlite_conn *c, int rc)
{
    return c->near && ((rc & 0xff) == SQLITE_TOOBIG ||
                       ((rc & 0xff) == SQLITE_CORRUPT &&
                        strstr(sqlite3_errmsg(c->db), sqlite3_errstr(SQLITE_TOOBIG))));
}

/* Sets the cache size. If the schema is too large for this thread, a worker parses it, and this
 * connection keeps the default cache size. */
static int set_cache(sqlite_conn *c)
{
    char sql[60];
    snprintf(sql, sizeof(sql), "PRAGMA cache_size=-%d", CACHE_KIB);
    int rc = sqlite3_exec(c->db, sql, NULL, NULL, NULL);
    return (c->near && c->reason == MCP_PENDING) || is_large_here(c, rc) ? SQLITE_OK : rc;
}

static int configure(sqlite_conn *c)
{
    static const int on[] = {SQLITE_DBCONFIG_DEFENSIVE};
    static const int off[] = {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                              SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
                              SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER};
    int rc = SQLITE_OK;
    sqlite3_busy_handler(c->db, on_busy, c);
    sqlite3_progress_handler(c->db, TICK_OPS, on_progress, c);
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(on) / sizeof(*on); i++)
        rc = sqlite3_db_config(c->db, on[i], 1, NULL);
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(off) / sizeof(*off); i++)
        rc = sqlite3_db_config(c->db, off[i], 0, NULL);
    set_limits(c);
    sqlite3_hard_heap_limit64(HARD_MEMORY);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(c->db,
                          "PRAGMA query_only=1; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; "
                          "PRAGMA cell_size_check=1",
                          NULL, NULL, NULL);
    return rc == SQLITE_OK ? set_cache(c) : rc;
}

/* Opens "file:PATH?mode=ro" with PATH percent-encoded. This opens only the file itself. */
static int open_database(sqlite_conn *c)
{
    enum {
        FLAGS = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    };
    const char *path = c->file->path;
    char *encoded = sqlite3_malloc64(MCP_URI_ENCODED_SIZE(strlen(path)) + 1);
    if (!encoded)
        return SQLITE_NOMEM;
    encoded[mcp_uri_encode_path(mcp_str_from(path), encoded)] = 0;
    char *name = sqlite3_mprintf("file:%s?mode=ro%s", encoded, c->immutable ? "&immutable=1" : "");
    sqlite3_free(encoded);
    int rc = name ? sqlite3_open_v2(name, &c->db, FLAGS, NULL) : SQLITE_NOMEM;
    sqlite3_free(name);
    return rc;
}

void sqlite_limit_values(sqlite_conn *c, size_t bytes)
{
    size_t most = c->near ? NEAR_VALUE : c->file->max_value;
    if (!bytes || bytes > most)
        bytes = most;
    sqlite3_limit(c->db, SQLITE_LIMIT_LENGTH, bytes > INT32_MAX ? INT32_MAX : (int)bytes);
}

static void begin(sqlite_conn *c, const sqlite_bounds *b)
{
    c->near = b->near;
    c->stop = b->stop;
    c->deadline = now_ms() + (int64_t)b->timeout_ms;
    c->near_from = 0;
    c->ticks = 0;
    c->spent = 0;
    c->calls = 0;
    c->reason = 0;
    sqlite3_limit(c->db, SQLITE_LIMIT_SQL_LENGTH, b->near ? NEAR_SQL : LONGEST_SQL);
    sqlite_limit_values(c, 0);
}

static int outcome(sqlite_conn *c, int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK: return MCP_OK;
    case SQLITE_NOMEM: return MCP_ENOMEM;
    case SQLITE_NOTFOUND: return MCP_ENOTFOUND;
    case SQLITE_INTERRUPT: return c->reason || stopped(c) ? c->reason : MCP_ECANCELLED;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return c->reason ? c->reason : MCP_ETIMEOUT;
    case SQLITE_CANTOPEN:
        if (common_code_of_errno(sqlite3_system_errno(c->db)) == MCP_EFILES)
            return MCP_EFILES;
        return MCP_EREMOTE;
    default: return c->reason == MCP_PENDING ? MCP_PENDING : MCP_EREMOTE;
    }
}

/* Opens and configures a connection. After a failure, *why is the result of the use. */
static int open_conn(sqlite_file *f, const sqlite_bounds *bounds, sqlite_conn **ret, int *why,
                     char text[256])
{
    sqlite_stamp now;
    if (!sqlite_stamp_of(f->path, &now)) {
        snprintf(text, 256, "the database is gone: %s", strerror(errno));
        *why = errno == ENOENT ? MCP_ENOTFOUND : MCP_EREMOTE;
        return errno == ENOENT ? SQLITE_NOTFOUND : SQLITE_CANTOPEN;
    }
    sqlite_conn *c = common_alloc(f->alloc, sizeof(*c));
    *why = MCP_ENOMEM;
    if (!c)
        return SQLITE_NOMEM;
    *c = (sqlite_conn){.file = f, .stamp = now};
    pthread_mutex_lock(&f->lock);
    c->number = ++f->opened;
    pthread_mutex_unlock(&f->lock);
    int rc = open_database(c);
    if (rc == SQLITE_OK && is_wal_mode(c->db) && !sqlite_has_log(f)) {
        c->immutable = true;
        c->young = sqlite_is_young(&now);
        sqlite3_close(c->db);
        c->db = NULL;
        rc = open_database(c);
    }
    if (rc == SQLITE_OK) {
        begin(c, bounds);
        rc = configure(c);
    }
    if (rc == SQLITE_OK)
        rc = sqlite_functions_install(c->db, c);
    if (rc == SQLITE_OK)
        rc = sqlite_guard_install(c);
    if (rc == SQLITE_OK) {
        *ret = c;
        return SQLITE_OK;
    }
    snprintf(text, 256, "%s", c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc));
    *why = outcome(c, rc);
    sqlite_conn_free(c);
    return rc;
}

void sqlite_cached_clear(sqlite_cached *cached)
{
    sqlite3_finalize(cached->row);
    sqlite_table_free(cached->table);
    *cached = (sqlite_cached){0};
}

void sqlite_conn_free(sqlite_conn *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < SQLITE_CACHED; i++)
        sqlite_cached_clear(&c->cached[i]);
    sqlite3_close_v2(c->db);
    common_release(c->file->alloc, c);
}

/* ---- using ----------------------------------------------------------------------------------- */

/* Returns whether the open file is still the one at the path and, if immutable, unchanged. */
static bool is_current(const sqlite_conn *c)
{
    sqlite_stamp now;
    if (!sqlite_stamp_of(c->file->path, &now) || !sqlite_same_file(&now, &c->stamp))
        return false;
    return !c->immutable || (sqlite_same_stamp(&now, &c->stamp) && !sqlite_has_log(c->file));
}

/* Returns whether a connection must no longer be used, which is checked before each use. An
 * immutable connection is also checked after each use, so its file needs no check here. */
static bool is_spent(const sqlite_conn *c)
{
    return c->young || (!c->immutable && !is_current(c));
}

static void drop(sqlite_conn **conn)
{
    sqlite_conn_free(*conn);
    *conn = NULL;
}

/* Ends a use. Returns false if even this fails for lack of memory; the connection must
 * then be closed. */
static bool end_use(sqlite_conn *c)
{
    if (!sqlite3_get_autocommit(c->db))
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
    c->guarded = false;
    return sqlite3_get_autocommit(c->db);
}

/* Copies the message, unless a later call replaced it. */
static void tell_error(const sqlite_conn *c, int rc, char text[256])
{
    bool last = (sqlite3_errcode(c->db) & 0xff) == (rc & 0xff);
    snprintf(text, 256, "%s", last ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc));
}

int sqlite_not_here(sqlite_conn *c)
{
    if (!c->near)
        return SQLITE_OK;
    c->reason = MCP_PENDING;
    return SQLITE_INTERRUPT;
}

/* Returns whether the files beside the database may have changed in a way that a new connection can
 * follow and this one cannot: it would have to create a -wal file, for example, but the process may
 * not create files. */
static bool is_outdated(const sqlite_conn *c, int rc)
{
    return (rc & 0xff) == SQLITE_READONLY && !c->immutable && !sqlite_has_log(c->file) &&
           !sqlite_is_trapped(c->file);
}

/* Returns whether SQLite may have taken the journal of a commit for that of a crashed writer, because
 * the writer removed it while SQLite looked at it. SQLite would then repair the file, which is not
 * allowed here. There may be the journal of the next commit already. */
static bool may_have_raced(const sqlite_file *f, int rc)
{
    bool repairs = (rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY;
    return repairs && !sqlite_is_trapped(f);
}

int sqlite_use(sqlite_file *f, sqlite_conn **conn, const sqlite_bounds *bounds, sqlite_use_fn *use,
               void *user, int *sql_code, char text[256])
{
    text[0] = 0;
    if (bounds->near && sqlite_has_long_log(f))
        return MCP_PENDING;
    for (int i = 0; i < ATTEMPTS; i++) {
        int ret;
        bool last = i + 1 == ATTEMPTS;
        if (*conn && is_spent(*conn))
            drop(conn);
        bool old = *conn != NULL;
        text[0] = 0;
        if (!*conn && (*sql_code = open_conn(f, bounds, conn, &ret, text)) != SQLITE_OK) {
            if (!last && may_have_raced(f, *sql_code))
                continue;
            return ret;
        }
        sqlite_conn *c = *conn;
        begin(c, bounds);
        int rc = sqlite_is_trapped(f) ? SQLITE_CANTOPEN : use(c, user);
        if (rc != SQLITE_OK && !text[0])
            tell_error(c, rc, text);
        bool large_here = is_large_here(c, rc);
        bool usable = end_use(c);
        bool told = large_here || !c->immutable || c->reason || is_current(c);
        bool repeats = (old && is_outdated(c, rc)) || may_have_raced(f, rc);
        told = told && !(repeats && !last);
        ret = large_here ? MCP_PENDING : outcome(c, rc);
        *sql_code = rc;
        if (!usable || !told)
            drop(conn);
        if (told)
            return ret;
    }
    return MCP_ETIMEOUT; /* the file changed during each attempt */
}

static sqlite_conn *take(sqlite_file *f)
{
    pthread_mutex_lock(&f->lock);
    sqlite_conn *c = f->n_idle ? f->idle[--f->n_idle] : NULL;
    pthread_mutex_unlock(&f->lock);
    return c;
}

static void give(sqlite_file *f, sqlite_conn *c)
{
    pthread_mutex_lock(&f->lock);
    bool kept = c && f->n_idle < SQLITE_POOL;
    if (kept)
        f->idle[f->n_idle++] = c;
    pthread_mutex_unlock(&f->lock);
    if (!kept)
        sqlite_conn_free(c);
}

/* Sets and clears `running` around a use. */
typedef struct pooled {
    sqlite_file *file;
    sqlite_conn **running;
    sqlite_use_fn *use;
    void *user;
} pooled;

static void set_running(const pooled *p, sqlite_conn *c)
{
    pthread_mutex_lock(&p->file->lock);
    *p->running = c;
    pthread_mutex_unlock(&p->file->lock);
}

static int use_running(sqlite_conn *c, void *user)
{
    pooled *p = user;
    set_running(p, c);
    int rc = stopped(c) ? SQLITE_INTERRUPT : p->use(c, p->user);
    set_running(p, NULL);
    return rc;
}

int sqlite_use_pooled(sqlite_file *f, const sqlite_bounds *bounds, sqlite_use_fn *use, void *user,
                      sqlite_conn **running, int *sql_code, char text[256])
{
    pooled p = {f, running, use, user};
    sqlite_conn *c = take(f);
    int rc = sqlite_use(f, &c, bounds, use_running, &p, sql_code, text);
    give(f, c);
    return rc;
}

static void interrupt(sqlite_file *f, sqlite_conn *const *running, int64_t before)
{
    pthread_mutex_lock(&f->lock);
    if (*running && (*running)->deadline < before)
        sqlite3_interrupt((*running)->db);
    pthread_mutex_unlock(&f->lock);
}

void sqlite_interrupt(sqlite_file *f, sqlite_conn *const *running)
{
    interrupt(f, running, INT64_MAX);
}

void sqlite_interrupt_late(sqlite_file *f, sqlite_conn *const *running)
{
    interrupt(f, running, now_ms());
}
