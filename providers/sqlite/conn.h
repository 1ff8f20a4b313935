/* conn.h: connections to one database file, and the limits of each use of a connection.
 *
 * Every connection is read-only in three ways: how the file is opened, query_only, and defensive
 * mode. A connection is used by one thread at a time. The server's thread has its own; workers take
 * theirs from a pool.
 *
 * A database in WAL mode whose -wal file is missing or empty was closed cleanly. If it were opened
 * as usual, SQLite would create -wal and -shm files beside it, or fail without permission to create
 * them. Therefore it is opened as immutable, and each use checks afterwards that no writer has
 * started meanwhile (no -wal, the file unchanged). If one has, the use is repeated with a new
 * connection.
 */
#ifndef SQLITE_CONN_H
#define SQLITE_CONN_H

#include <mcp/base.h>
#include <sqlite3.h>

#include <pthread.h>
#include <stdatomic.h>

enum { SQLITE_POOL = 4, SQLITE_CACHED = 8 };

/* Identifies a file and its state. */
typedef struct sqlite_stamp {
    uint64_t dev, ino;
    int64_t size, mtime_ns, ctime_ns;
} sqlite_stamp;

typedef struct sqlite_conn sqlite_conn;

typedef struct sqlite_file {
    char *path, *wal, *journal; /* absolute; owned */
    const mcp_allocator *alloc;
    size_t max_value; /* bytes of the largest value that is read as a whole */
    pthread_mutex_t lock;
    sqlite_conn *idle[SQLITE_POOL];
    size_t n_idle;
    unsigned long long opened;
} sqlite_file;

/* A cached statement and the table that it belongs to; see rows.c. */
typedef struct sqlite_cached {
    struct sqlite_table *table;
    sqlite3_stmt *row;
    unsigned used;
} sqlite_cached;

struct sqlite_conn {
    sqlite3 *db;
    sqlite_file *file;
    bool immutable, young;     /* young: must not be used again; see sqlite_is_young() */
    unsigned long long number; /* serial number among all connections to this file, from 1 */
    sqlite_stamp stamp;
    sqlite_cached cached[SQLITE_CACHED];
    bool warm; /* virtual tables have been used at schema version warm_version; see guard.c */
    int64_t warm_version;
    bool virtual_known, has_virtual; /* whether there were virtual tables when the
                                      * connection was opened */
    unsigned clock;

    /* The current use. */
    bool near;      /* on the server's thread: must not block or work for long */
    bool guarded;   /* the statement is from a client */
    unsigned calls; /* number of function calls in the statement and the views that it
                     * uses; see guard.c */
    const atomic_bool *stop;
    int64_t deadline;
    int64_t near_from; /* the thread's CPU time at the first check */
    unsigned ticks;
    size_t spent; /* bytes processed by functions since the last check of the limits */
    int reason;   /* why the use was interrupted: MCP_PENDING (takes too long on this thread),
                   * MCP_ECANCELLED, … */
};

void sqlite_file_init(sqlite_file *f, const mcp_allocator *alloc);
/* Finds the file, and checks that it is a regular file that can be read. Returns MCP_OK,
 * MCP_ENOTFOUND, MCP_EACCESS or MCP_ENOMEM. */
int sqlite_file_find(sqlite_file *f, const char *path, mcp_error *error);
void sqlite_file_clear(sqlite_file *f);
/* Finds the file, and checks without SQLite that it is empty or begins like a database. Returns the
 * codes of sqlite_file_find(). */
int sqlite_file_check(const char *path, const mcp_allocator *alloc, mcp_error *error);

/* The limits of one use. */
typedef struct sqlite_bounds {
    bool near;
    const atomic_bool *stop; /* may be NULL */
    uint64_t timeout_ms;
} sqlite_bounds;

/* One use of a connection. Returns SQLite's code. It may be restarted and must then start
 * from the beginning. */
typedef int sqlite_use_fn(sqlite_conn *conn, void *user);

/* Runs `use` on *conn, which is opened if it is NULL and replaced if it is out of date.
 * Returns MCP_OK; MCP_PENDING if it would block or takes too long on this thread (only with
 * `near`); MCP_ECANCELLED, MCP_ETIMEOUT, MCP_ELIMIT (memory), MCP_ENOMEM, MCP_ENOTFOUND (the
 * file does not exist); or MCP_EREMOTE for an error of SQLite, with its code in *sql_code and
 * its message in `text`. */
int sqlite_use(sqlite_file *f, sqlite_conn **conn, const sqlite_bounds *bounds, sqlite_use_fn *use,
               void *user, int *sql_code, char text[256]);

/* Runs `use` with a connection from the pool, for workers. During the use *running is the
 * connection, so that it can be interrupted; afterwards it is NULL. *running is protected
 * by the lock. */
int sqlite_use_pooled(sqlite_file *f, const sqlite_bounds *bounds, sqlite_use_fn *use, void *user,
                      sqlite_conn **running, int *sql_code, char text[256]);
void sqlite_interrupt(sqlite_file *f, sqlite_conn *const *running);
/* Interrupts a use only after its time limit, for operations that do not check it themselves. */
void sqlite_interrupt_late(sqlite_file *f, sqlite_conn *const *running);

/* Must be called by a use before work that may take long and cannot be interrupted. Returns
 * SQLITE_OK or, on the server's thread, the code that the use must return so that it is restarted
 * on a worker. */
int sqlite_not_here(sqlite_conn *conn);

/* Must be called by SQL functions and other long steps after processing `bytes` of input. Returns
 * false if the use has to end; the function then fails with SQLITE_INTERRUPT. */
bool sqlite_spend(sqlite_conn *conn, size_t bytes);

/* Lowers the limit on the size of values until it is called with 0 or the use ends. It cannot
 * exceed the limit of the use. */
void sqlite_limit_values(sqlite_conn *conn, size_t bytes);

void sqlite_conn_free(sqlite_conn *conn);
void sqlite_cached_clear(sqlite_cached *cached);

/* The status of the file and its -wal, which shows whether one of them changed. */
typedef struct sqlite_look {
    sqlite_stamp file, wal;
} sqlite_look;
void sqlite_look_at(const sqlite_file *f, sqlite_look *ret);

#endif
