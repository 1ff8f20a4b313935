/* provider.h: declarations shared by the parts of the provider: a mounted database, and one request
 * for it.
 *
 * A read becomes a job, which far.h runs. The work of a job (rows.c, cell.c, describe.c, query.c)
 * is the same on the server's thread and on a worker.
 */
#ifndef SQLITE_PROVIDER_H
#define SQLITE_PROVIDER_H

#include "asking.h"
#include "buffer.h"
#include "catalog.h"
#include "conn.h"
#include "contains.h"
#include "far.h"
#include "key.h"
#include "near.h"
#include "source.h"
#include "sqlite.h"
#include "uri.h"
#include "value.h"

/* The cached page of the list; see list.c. */
enum { SQLITE_MOST_KEPT = 512 << 10 };
typedef struct sqlite_cached_list {
    common_buffer texts;
    size_t max; /* 0 if nothing is cached */
    char at, after[200];
    size_t after_len;
    unsigned long long conn;
    int64_t schema;
} sqlite_cached_list;

/* What is compared to detect changes; see watch.c. */
typedef struct sqlite_state {
    sqlite_look look;
    sqlite3_int64 data, schema;
    unsigned long long conn; /* number of the connection that `data` is from */
} sqlite_state;

typedef struct sqlite {
    common_source base; /* with the prefix "sqlite://NAME/" */
    sqlite_file file;
    sqlite_cached_list cached;
    sqlite_conn *near; /* connection of the server's thread */
    size_t max_rows, max_bytes, max_read, answer_tokens;
    uint64_t timeout_ms;
    bool sample_rows;
    sqlite_state last; /* while watched, the state at the last check */
} sqlite;

typedef struct sqlite_job sqlite_job;
struct sqlite_job {
    sqlite *s;
    mcp_request *req;
    int (*run)(sqlite_conn *conn, sqlite_job *job); /* returns SQLite's code */
    bool as_tool;
    mcp_str uri; /* as requested, NUL-terminated; points into the request */
    sqlite_target target;
    const common_query *saved;
    mcp_str sql;               /* statement of the tool */
    const mcp_json *arguments; /* arguments of the tool, or their values in `doc` */
    mcp_json_doc *doc;
    const mcp_json *given;    /* all arguments of the tool */
    size_t limit, skip, most; /* of the rows of a statement: number, those before, bytes */

    /* The result. */
    size_t rows; /* of a statement, and whether there are more */
    bool more;
    bool explained; /* they are a plan, about which `message` is a sentence */
    bool found;     /* false if the resource does not exist */
    int code;       /* error code if the request is invalid, otherwise 0 */
    char message[400 + COMMON_NEAR_WORDS];
    bool too_large; /* a value is too large; `size` is its size, or 0 if unknown */
    sqlite3_int64 size;
    mcp_json_writer *json; /* the answer, unless `bytes` is set */
    bool as_text, is_row;  /* as_text: shown as a table (table_text.h); is_row: it is one row */
    char *bytes;           /* freed with sqlite3_free() */
    size_t len;
    bool is_text;
    const char *mime;

    sqlite_far far;
    common_asking asking;
    char room[]; /* for the strings of `target` */
};

/* Creates the job for a URI of this database ("" for the tool). Returns NULL with *rc MCP_ENOTFOUND
 * (no such URI) or MCP_ENOMEM. */
sqlite_job *sqlite_job_new(sqlite *s, mcp_request *req, mcp_str uri, int *rc);
/* Runs the job and replies. With `far` it starts on a worker. Returns what a handler returns. */
int sqlite_job_start(sqlite_job *job, bool far);
/* Makes the request fail with an error that is not a failure of SQLite. Returns SQLITE_OK. */
int sqlite_job_fail(sqlite_job *job, int code, const char *format, ...) MCP_PRINTF(3, 4);

/* Returns SQLite's message for the caller. With access rules the message is only logged, because it
 * may mention tables that the caller may not see. */
static inline const char *sqlite_words(const mcp_request *req, const char *words)
{
    return mcp_request_restricted(req) ? "the log of this server has the reason" : words;
}

/* Returns whether the caller may also read the table, so that a description may mention it. */
bool sqlite_job_may(sqlite_job *job, mcp_str table);

/* The functions that run the jobs. */
int sqlite_run_database(sqlite_conn *conn, sqlite_job *job);
int sqlite_run_named(sqlite_conn *conn, sqlite_job *job); /* the database with `named` */
int sqlite_run_table(sqlite_conn *conn, sqlite_job *job);
int sqlite_run_rows(sqlite_conn *conn, sqlite_job *job);
int sqlite_run_row(sqlite_conn *conn, sqlite_job *job);
int sqlite_run_cell(sqlite_conn *conn, sqlite_job *job);
int sqlite_run_saved(sqlite_conn *conn, sqlite_job *job);
int sqlite_run_sql(sqlite_conn *conn, sqlite_job *job);
int sqlite_run_explain(sqlite_conn *conn, sqlite_job *job);

/* Callbacks for mcp_provider and mcp_resource_template. */
int sqlite_list(mcp_request *req, mcp_str cursor, size_t max, void *user);
int sqlite_read(mcp_request *req, mcp_str uri, void *user);
int sqlite_read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user);
int sqlite_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user);

/* Reads a numeric query parameter; *ret is `fallback` if it is absent. If it is invalid, makes the
 * job fail and returns false. */
bool sqlite_job_number(sqlite_job *job, const char *name, uint64_t min, uint64_t max,
                       uint64_t fallback, uint64_t *ret);

/* Sets as_text from ?format=. If it is invalid, makes the job fail and returns false. */
bool sqlite_job_format(sqlite_job *job);

/* Checks that the query has no parameters except `names`, a list that ends with NULL. Otherwise
 * makes the job fail and returns false. */
bool sqlite_job_only(sqlite_job *job, const char *const *names);

/* ---- rows and cells -------------------------------------------------------------------------- */

/* State of writing the values of a row. */
typedef struct sqlite_row {
    sqlite_conn *conn;
    sqlite_job *job;
    const sqlite_table *table;
    sqlite3_stmt *stmt;
    int key;        /* index of the key's first column in the result (key.h); -1 means that the key
                  * is the target's */
    bool probed;    /* each value is followed by its type, and texts and BLOBs are left out */
    size_t longest; /* bytes of the longest text that is written in full */
    size_t size;    /* approximate number of bytes written */
} sqlite_row;

/* Writes one value. A BLOB or a long text is replaced by its type, size and URI.
 * Returns SQLite's code. */
int sqlite_put_cell(sqlite_row *row, const sqlite_column *column, int at);
/* Appends the expressions to select for a column. */
void sqlite_put_column(sqlite3_str *sql, const sqlite_column *column, bool probed);
/* Loads the target's table. *ret is NULL if it does not exist or its keys have another
 * number of parts. */
int sqlite_load_keyed(sqlite_conn *conn, const sqlite_job *job, sqlite_table **ret);

/* Writes the first rows of the table as members of the open object, if the source has this option and the
 * caller may read its rows. Returns SQLite's code. */
int sqlite_put_sample(sqlite_conn *conn, sqlite_job *job, const sqlite_table *t);

/* What a value of each row of a page must contain; see contains.c. */
typedef struct sqlite_filter sqlite_filter;
/* Returns SQLite's code. *ret must be freed, also after an error. */
int sqlite_filter_new(const common_contains *what, const mcp_allocator *alloc, sqlite_filter **ret);
void sqlite_filter_free(sqlite_filter *filter);
/* Sets whether one of the first `n` values of the current row contains it. Returns SQLite's code. */
int sqlite_filter_row(const sqlite_filter *filter, sqlite_conn *conn, sqlite3_stmt *stmt, int n,
                      bool *found);

/* ---- saved queries and the tool (query.c, saved.c, tool.c) ----------------------------------- */

/* Checks each saved query if the database is available. */
int sqlite_saved_check(sqlite *s, mcp_error *error);

/* Prepares a statement from a client. If the job fails, *ret stays NULL. Returns SQLite's code. */
int sqlite_prepare_query(sqlite_conn *conn, sqlite_job *job, mcp_str sql, sqlite3_stmt **ret);

/* Makes the request fail with the error of the caller's own statement, which could not be prepared;
 * see meant.c. Returns SQLite's code. */
int sqlite_fail_statement(sqlite_conn *conn, sqlite_job *job, mcp_str sql);

extern const common_query_tool sqlite_tool;

/* ---- watching (watch.c) ---------------------------------------------------------------------- */

int sqlite_watch_begin(common_source *base);
uint64_t sqlite_watch_look(common_source *base);
/* Returns whether the event concerns the file, its -wal or its -journal. */
bool sqlite_watch_concerns(const common_source *base, const struct inotify_event *event);

#endif
