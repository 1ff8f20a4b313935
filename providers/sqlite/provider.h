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
    size_t max; /* 0: nothing is cached */
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
    mcp_str uri; /* as requested, NUL-terminated; points into the request */
    sqlite_target target;
    const common_query *saved;
    mcp_str sql;               /* of the tool */
    const mcp_json *arguments; /* the tool's arguments; parameters are in them or in `doc` */
    mcp_json_doc *doc;
    size_t limit;

    /* The outcome. */
    bool found; /* false: does not exist */
    int code;   /* error code if the request is at fault or a value is too large; 0: none */
    char message[400];
    bool too_large; /* a value has `size` bytes, or 0 if unknown */
    sqlite3_int64 size;
    mcp_json_writer *json; /* the answer, or else: */
    bool as_text, is_row;  /* rendered as a table (table_text.h), or as one row */
    char *bytes;           /* sqlite3_free() */
    size_t len;
    bool is_text;
    const char *mime;

    sqlite_far far;
    common_asking asking;
    char room[]; /* for target's texts */
};

/* Creates the job for a URI of this database ("" for the tool). NULL, with *rc: there is no such
 * URI, or no memory. */
sqlite_job *sqlite_job_new(sqlite *s, mcp_request *req, mcp_str uri, int *rc);
/* Runs it and replies; returns what a handler returns. `far`: starts on a worker. */
int sqlite_job_start(sqlite_job *job, bool far);
/* Answers the request with an error that is not a failure of SQLite. Returns SQLITE_OK. */
int sqlite_job_fail(sqlite_job *job, int code, const char *format, ...) MCP_PRINTF(3, 4);

/* SQLite's message, for the caller. With access rules it is only logged, because it may mention
 * something that the caller may not see. */
static inline const char *sqlite_words(const mcp_request *req, const char *words)
{
    return mcp_request_restricted(req) ? "the log of this server has the reason" : words;
}

/* Whether the caller may also read the table, so that a description may mention it. */
bool sqlite_job_may(sqlite_job *job, mcp_str table);

/* The jobs. */
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

/* Reads a number of the query; `fallback` if it is absent. If it is invalid, fails the job and
 * returns false. */
bool sqlite_job_number(sqlite_job *job, const char *name, uint64_t min, uint64_t max,
                       uint64_t fallback, uint64_t *ret);

/* Sets as_text from ?format=. If it is invalid, fails the job and returns false. */
bool sqlite_job_format(sqlite_job *job);

/* Checks that the query has no parameters but these (a list that ends with NULL). Otherwise fails
 * the job and returns false. */
bool sqlite_job_only(sqlite_job *job, const char *const *names);

/* ---- rows and cells -------------------------------------------------------------------------- */

/* What is needed to write the values of a row. */
typedef struct sqlite_row {
    sqlite_conn *conn;
    sqlite_job *job;
    const sqlite_table *table;
    sqlite3_stmt *stmt;
    int key;     /* index of the key's first column in the result; -1: the key is the target's */
    bool probed; /* texts and BLOBs are not in the result; their types are, each after its value */
    int rowid;   /* if probed: index of the rowid */
    size_t longest; /* longest text that is written in full, in bytes */
    size_t size;    /* approximate number of bytes written */
} sqlite_row;

/* Writes one value; a BLOB or a long text is described by type, size and URI. Returns SQLite's
 * code. */
int sqlite_put_cell(sqlite_row *row, const sqlite_column *column, int at);
/* Appends what to select for a column. */
void sqlite_put_column(sqlite3_str *sql, const sqlite_column *column, bool probed);
/* Appends ", key, key". */
void sqlite_put_key_columns(sqlite3_str *sql, const sqlite_table *t);

/* Appends " WHERE" and the key, whose parameters are numbered from 1. */
void sqlite_put_where_key(sqlite3_str *sql, const sqlite_table *t, const sqlite_target *target);
int sqlite_bind_key(sqlite3_stmt *stmt, const sqlite_table *t, const sqlite_target *target);
/* Whether the key in the URI is the canonical spelling of the row's key, which is in the last
 * columns. "02" or, where case is ignored, "ADA" find rows too, but a row has only one URI, because
 * access rules and notices use it. */
bool sqlite_is_spelled_so(sqlite3_stmt *stmt, const sqlite_target *target);

/* Loads the target's table. *ret is NULL if it does not exist or its rows have no such keys. */
int sqlite_load_keyed(sqlite_conn *conn, const sqlite_job *job, sqlite_table **ret);

/* ---- saved queries and the tool (query.c, saved.c, tool.c) ----------------------------------- */

/* Loads the saved queries and checks each as far as the database is available now. */
int sqlite_saved_load(sqlite *s, const mcp_json *queries, mcp_error *error);

extern const common_query_tool sqlite_tool;

/* ---- watching (watch.c) ---------------------------------------------------------------------- */

int sqlite_watch_begin(common_source *base);
uint64_t sqlite_watch_look(common_source *base);
/* The file itself, its -wal or its -journal. */
bool sqlite_watch_concerns(const common_source *base, const struct inotify_event *event);

#endif
