/* provider.h: what the parts of the provider share: a mounted database, and one request for it.
 *
 * A read becomes a job, which far.h runs. What a job does (rows.c, cell.c, describe.c, query.c) is
 * the same on the server's thread and on a worker.
 */
#ifndef SQLITE_PROVIDER_H
#define SQLITE_PROVIDER_H

#include "asking.h"
#include "buffer.h"
#include "catalog.h"
#include "conn.h"
#include "far.h"
#include "source.h"
#include "sqlite.h"
#include "uri.h"
#include "value.h"

/* The page of a list that was collected last; see list.c. */
enum { SQLITE_MOST_KEPT = 512 << 10 };
typedef struct sqlite_kept {
    common_buffer texts;
    size_t max; /* 0: nothing is kept */
    char at, after[200];
    size_t after_len;
    unsigned long long conn;
    int64_t schema;
} sqlite_kept;

/* What is compared to find changes; see watch.c. */
typedef struct sqlite_state {
    sqlite_look look;
    sqlite3_int64 data, schema;
    unsigned long long conn; /* which connection `data` is of */
} sqlite_state;

typedef struct sqlite {
    common_source base; /* of "sqlite://NAME/" */
    sqlite_file file;
    sqlite_kept kept;
    sqlite_conn *near; /* of the server's thread */
    size_t max_rows, max_bytes, max_read;
    uint64_t timeout_ms;
    sqlite_state last; /* watched: as it was when it was looked at last */
} sqlite;

typedef struct sqlite_job sqlite_job;
struct sqlite_job {
    sqlite *s;
    mcp_request *req;
    int (*run)(sqlite_conn *conn, sqlite_job *job); /* SQLite's code */
    bool as_tool;
    mcp_str uri; /* as it was asked for, NUL-terminated; of the request */
    sqlite_target target;
    const common_query *saved;
    mcp_str sql;               /* of the tool */
    const mcp_json *arguments; /* of the tool: parameters, of its arguments or of `doc` */
    mcp_json_doc *doc;
    size_t limit;

    /* What came of it. */
    bool found; /* false: there is no such thing */
    int code;   /* of an error that is the asker's, or the size's; 0: none */
    char message[400];
    bool too_large; /* `size` bytes of a value, or 0 where it is not known */
    sqlite3_int64 size;
    mcp_json_writer *json; /* the answer, or else: */
    bool as_text, is_row;  /* shown as a table (table_text.h), of one row */
    char *bytes;           /* sqlite3_free() */
    size_t len;
    bool is_text;
    const char *mime;

    sqlite_far far;
    common_asking asking;
    char room[]; /* for target's texts */
};

/* The request for a URI of this database ("": for the tool). NULL: *rc says that there is no such
 * URI, or no memory. */
sqlite_job *sqlite_job_new(sqlite *s, mcp_request *req, mcp_str uri, int *rc);
/* Runs it and replies: what a handler returns. `far`: at once on a worker. */
int sqlite_job_start(sqlite_job *job, bool far);
/* Fails it: an answer, not a failure of SQLite's. Returns SQLITE_OK. */
int sqlite_job_fail(sqlite_job *job, int code, const char *format, ...) MCP_PRINTF(3, 4);

/* SQLite's words about the database, for the caller; where there are access rules they may name
 * what he may not see, and the log has them alone. */
static inline const char *sqlite_words(const mcp_request *req, const char *words)
{
    return mcp_request_restricted(req) ? "the log of this server has the reason" : words;
}

/* Whether the caller may read the table too, so that a description may tell of it. */
bool sqlite_job_may(sqlite_job *job, mcp_str table);

/* What a job may do. */
int sqlite_run_database(sqlite_conn *conn, sqlite_job *job);
int sqlite_run_table(sqlite_conn *conn, sqlite_job *job);
int sqlite_run_rows(sqlite_conn *conn, sqlite_job *job);
int sqlite_run_row(sqlite_conn *conn, sqlite_job *job);
int sqlite_run_cell(sqlite_conn *conn, sqlite_job *job);
int sqlite_run_saved(sqlite_conn *conn, sqlite_job *job);
int sqlite_run_sql(sqlite_conn *conn, sqlite_job *job);

/* mcp_provider's and mcp_resource_template's. */
int sqlite_list(mcp_request *req, mcp_str cursor, size_t max, void *user);
int sqlite_read(mcp_request *req, mcp_str uri, void *user);
int sqlite_read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user);
int sqlite_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user);

/* A number of the query; `fallback` when it is absent. False after failing the job: it is none. */
bool sqlite_job_number(sqlite_job *job, const char *name, uint64_t min, uint64_t max,
                       uint64_t fallback, uint64_t *ret);

/* Sets as_text to what ?format= says. False after failing the job. */
bool sqlite_job_format(sqlite_job *job);

/* Whether nothing is asked for but these, which NULL ends. False after failing the job. */
bool sqlite_job_only(sqlite_job *job, const char *const *names);

/* ---- rows and cells -------------------------------------------------------------------------- */

/* What one cell's value in a result needs. */
typedef struct sqlite_row {
    sqlite_conn *conn;
    sqlite_job *job;
    const sqlite_table *table;
    sqlite3_stmt *stmt;
    int key;     /* where the parts of the key stand in the result; -1: the key is the target's */
    bool probed; /* texts and BLOBs are not in the result, but their types, each behind its value */
    int rowid;   /* probed: where the rowid stands */
    size_t longest; /* bytes of a text that is put itself */
    size_t size;    /* about how many bytes were put */
} sqlite_row;

/* One value; a BLOB or a long text is described by type, size and URI. SQLite's code. */
int sqlite_put_cell(sqlite_row *row, const sqlite_column *column, int at);
/* Appends what has to be selected for a column. */
void sqlite_put_column(sqlite3_str *sql, const sqlite_column *column, bool probed);
/* Appends ", key, key". */
void sqlite_put_key_columns(sqlite3_str *sql, const sqlite_table *t);

/* Appends " WHERE" and the key, and binds it from 1 on. */
void sqlite_put_where_key(sqlite3_str *sql, const sqlite_table *t, const sqlite_target *target);
int sqlite_bind_key(sqlite3_stmt *stmt, const sqlite_table *t, const sqlite_target *target);
/* Whether the row that was found, the last columns of which are its key's, is the one that is
 * spelled so: "02" and, where case does not matter, "ADA" find rows too, but a row has one URI,
 * which rules and changes speak of. */
bool sqlite_is_spelled_so(sqlite3_stmt *stmt, const sqlite_target *target);

/* Loads the target's table. *ret is NULL when there is none, or when its rows cannot be named
 * so. */
int sqlite_load_keyed(sqlite_conn *conn, const sqlite_job *job, sqlite_table **ret);

/* ---- saved queries and the tool (query.c, saved.c, tool.c) ----------------------------------- */

/* Loads them, and checks each as far as the database lets itself be asked now. */
int sqlite_saved_load(sqlite *s, const mcp_json *queries, mcp_error *error);

extern const common_query_tool sqlite_tool;

/* ---- watching (watch.c) ---------------------------------------------------------------------- */

int sqlite_watch_begin(common_source *base);
uint64_t sqlite_watch_look(common_source *base);
/* The file itself, its -wal or its -journal. */
bool sqlite_watch_concerns(const common_source *base, const struct inotify_event *event);

#endif
