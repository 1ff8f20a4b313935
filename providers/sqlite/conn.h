/* conn.h: connections to one database file, and the limits of each use of one.
 *
 * Every connection is read-only in three ways (how the file is opened, query_only, defensive mode).
 * One is used by one thread at a time: the server's thread has its own, workers take theirs from a
 * pool.
 *
 * A database in WAL mode whose -wal file is missing or empty was closed cleanly. Opened as usual,
 * SQLite would create -wal and -shm files beside it, or fail if it is not allowed to. It is
 * therefore opened as immutable, and each use checks afterwards that no writer has started
 * meanwhile (no -wal, the file unchanged); otherwise the use is repeated with a new connection.
 */
#ifndef SQLITE_CONN_H
#define SQLITE_CONN_H

#include <mcp/base.h>
#include <sqlite3.h>

#include <pthread.h>
#include <stdatomic.h>

enum { SQLITE_POOL = 4, SQLITE_CACHED = 8 };

/* A file, and whether it is the same one, unchanged. */
typedef struct sqlite_stamp {
    uint64_t dev, ino;
    int64_t size, mtime_ns, ctime_ns;
} sqlite_stamp;

typedef struct sqlite_conn sqlite_conn;

typedef struct sqlite_file {
    char *path, *wal, *journal; /* absolute; the allocator's */
    const mcp_allocator *alloc;
    size_t max_value; /* bytes of one value that is read whole */
    pthread_mutex_t lock;
    sqlite_conn *idle[SQLITE_POOL];
    size_t n_idle;
    unsigned long long opened;
} sqlite_file;

/* A statement that is kept with the table that it is made of; see row.c. */
typedef struct sqlite_cached {
    struct sqlite_table *table;
    sqlite3_stmt *row;
    unsigned used;
} sqlite_cached;

struct sqlite_conn {
    sqlite3 *db;
    sqlite_file *file;
    bool immutable, young;     /* young: not to be used again, see conn.c */
    unsigned long long number; /* of all connections to this file, from 1 */
    sqlite_stamp stamp;
    sqlite_cached cached[SQLITE_CACHED];
    bool warm; /* its virtual tables were used, at warm_version of the schema; see guard.c */
    int64_t warm_version;
    bool virtual_known, has_virtual; /* tables, when this was opened */
    unsigned clock;

    /* The present use. */
    bool near;      /* on the server's thread: neither waits nor works long */
    bool guarded;   /* statements come from outside */
    unsigned calls; /* of functions that the statement has, views in it included; see guard.c */
    const atomic_bool *stop;
    int64_t deadline;
    int64_t near_from; /* of the thread's time, when it was looked at first */
    unsigned ticks;
    size_t spent; /* by functions, since they looked at the bounds last */
    int reason;   /* why it was interrupted: MCP_PENDING (too long for here), MCP_ECANCELLED, … */
};

int sqlite_file_init(sqlite_file *f, const char *path, const mcp_allocator *alloc,
                     mcp_error *error);
void sqlite_file_clear(sqlite_file *f);

/* How one use is bounded. */
typedef struct sqlite_bounds {
    bool near;
    const atomic_bool *stop; /* may be NULL */
    uint64_t timeout_ms;
} sqlite_bounds;

/* A use: SQLITE_OK or SQLite's code. It may run several times, and begins from nothing each
 * time. */
typedef int sqlite_use_fn(sqlite_conn *conn, void *user);

/* Uses *conn, which is opened when it is NULL, and replaced when it is out of date. MCP_OK;
 * MCP_PENDING: it would have to wait, or takes too long for here (`near` alone); MCP_ECANCELLED,
 * MCP_ETIMEOUT, MCP_ELIMIT (memory), MCP_ENOMEM, MCP_ENOTFOUND (the file is not there);
 * MCP_EREMOTE: SQLite's own error, *sql_code, and its text in `text`. */
int sqlite_use(sqlite_file *f, sqlite_conn **conn, const sqlite_bounds *bounds, sqlite_use_fn *use,
               void *user, int *sql_code, char text[256]);

/* The same with a connection of the pool, for workers. `running` gets the connection, under the
 * lock, so that it can be interrupted; NULL when it is over. */
int sqlite_use_pooled(sqlite_file *f, const sqlite_bounds *bounds, sqlite_use_fn *use, void *user,
                      sqlite_conn **running, int *sql_code, char text[256]);
void sqlite_interrupt(sqlite_file *f, sqlite_conn *const *running);
/* The same where the time of the use is over: what does not look at its bounds looks at this. */
void sqlite_interrupt_late(sqlite_file *f, sqlite_conn *const *running);

/* For a use: what comes may take long, and nothing interrupts it. SQLITE_OK, or, on the server's
 * thread, the code to return so that a worker does it. */
int sqlite_not_here(sqlite_conn *conn);

/* For a function of SQL, or another step that is long: it looked at so many bytes. False: the use
 * is over, and the function fails with SQLITE_INTERRUPT. */
bool sqlite_spend(sqlite_conn *conn, size_t bytes);

/* Until it is called again with 0 or the use ends: no value may be larger. Only makes less of what
 * the use allows. */
void sqlite_limit_values(sqlite_conn *conn, size_t bytes);

void sqlite_conn_free(sqlite_conn *conn);
void sqlite_cached_clear(sqlite_cached *cached);

/* A look at the file from outside: whether it or its -wal changed since. */
typedef struct sqlite_look {
    sqlite_stamp file, wal;
} sqlite_look;
void sqlite_look_at(const sqlite_file *f, sqlite_look *ret);

#endif
