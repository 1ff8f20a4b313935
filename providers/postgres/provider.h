/* provider.h: what the parts of the provider share: a mounted database, and one request for it.
 *
 * A request becomes a job: a few statements one after the other, each of which is begun by a
 * function and whose end calls the next one. All of it runs on the server's thread; nothing in it
 * waits.
 */
#ifndef POSTGRES_PROVIDER_H
#define POSTGRES_PROVIDER_H

#include "pool.h"
#include "postgres.h"
#include "source.h"
#include "table.h"
#include "uri.h"
#include "value.h"

/* Of the saved queries; see check.c. */
typedef struct postgres_check {
    bool done, running;
    size_t at; /* the query that is checked */
    postgres_op op;
    postgres_sql sql;
} postgres_check;

/* While there are subscribers; see watch.c. */
typedef struct postgres_watch {
    postgres_pool *pool;
    postgres_op op;
    bool looking, known, missed;
    char last[300], now[300];
} postgres_watch;

typedef struct postgres {
    common_source base; /* of "postgres://NAME/" */
    mcp_host host;
    char *conninfo;
    size_t max_rows, max_bytes, max_read, connections;
    uint64_t timeout_ms, poll_ms;
    bool superuser;
    postgres_pool *pool;
    postgres_tables tables;
    postgres_check check;
    postgres_watch watch;
} postgres;

typedef struct postgres_job postgres_job;
struct postgres_job {
    postgres *s;
    mcp_request *req;
    mcp_str uri; /* as requested; points into the request */
    postgres_target target;
    postgres_op op;
    postgres_sql sql;
    postgres_sql text; /* of an answer that is text, and of URIs */
    postgres_sql left; /* what a description leaves out; see describe.h */
    mcp_json_writer *json;
    bool as_tool;
    bool as_text, is_row; /* rendered as a table (table_text.h), or as one row */

    /* Called at the end of the current statement. */
    void (*next)(postgres_job *j, int rc);
    void (*with_table)(postgres_job *j);
    void (*after_left_out)(postgres_job *j, int rc);
    postgres_table *table;
    size_t size, rows, limit; /* of the written output */
    uint64_t offset;
    bool more;
    unsigned retried;
    size_t max;          /* of a list */
    mcp_str name, value; /* of a completion */
    const void *own;

    bool in_handler, finished;
    int outcome;
    char room[]; /* for target's texts */
};

/* Creates the job for a URI of this database ("" for others). NULL, with *rc: there is no such URI,
 * or no memory. */
postgres_job *postgres_job_new(postgres *s, mcp_request *req, mcp_str uri, int *rc);
/* Starts the job; returns what a handler returns. */
int postgres_job_start(postgres_job *j, void (*begin)(postgres_job *j));
/* Ends the job with the result of a handler. */
void postgres_job_finish(postgres_job *j, int outcome);
/* Ends the job with an error for the caller. */
void postgres_job_fail(postgres_job *j, int code, const char *format, ...) MCP_PRINTF(3, 4);
/* Ends the job with "not found". */
void postgres_job_missing(postgres_job *j);
/* Ends the job because a statement of the provider failed. */
void postgres_job_broken(postgres_job *j, int rc);
/* The database's message for the caller. With access rules it may mention something hidden, so
 * `instead` is returned. */
const char *postgres_job_words(const postgres_job *j, const char *instead);
/* Replies with the JSON that was written. */
void postgres_job_reply_json(postgres_job *j);
void postgres_job_too_large(postgres_job *j, uint64_t size);

/* Runs j->sql, which must not change until the end, or `sql` if it is not NULL, with the op's
 * parameters; then calls next. */
void postgres_job_run(postgres_job *j, const char *sql,
                      int (*row)(postgres_op *op, const PGresult *r),
                      void (*next)(postgres_job *j, int rc));
/* The same for a statement that only reads the catalogue. */
void postgres_job_look(postgres_job *j, const char *sql,
                       int (*row)(postgres_op *op, const PGresult *r),
                       void (*next)(postgres_job *j, int rc));
/* Looks up the target's table and continues with it; if there is none, the job ends. */
void postgres_job_with_table(postgres_job *j, void (*go_on)(postgres_job *j));
/* Called when a statement for the table failed: returns whether the job was restarted, because the
 * table has changed. */
bool postgres_job_stale(postgres_job *j, int rc);
/* Returns whether the job was restarted because the described object was dropped meanwhile. */
bool postgres_job_torn(postgres_job *j, int rc);
/* Whether the statement failed because of a parameter that is invalid for its column. */
bool postgres_job_is_bad_value(const postgres_job *j, int rc);

/* Reads a number of the query; `fallback` if it is absent. If it is invalid, fails the job and
 * returns false. */
bool postgres_job_number(postgres_job *j, const char *name, uint64_t min, uint64_t max,
                         uint64_t fallback, uint64_t *ret);

/* Sets as_text from ?format=. If it is invalid, fails the job and returns false. */
bool postgres_job_format(postgres_job *j);

/* Checks that the query has no parameters but these (a list that ends with NULL). Otherwise fails
 * the job and returns false. */
bool postgres_job_only(postgres_job *j, const char *const *names);

/* The reads. */
void postgres_run_database(postgres_job *j);
void postgres_run_schema(postgres_job *j);
void postgres_run_table(postgres_job *j);
void postgres_run_function(postgres_job *j);
void postgres_run_rows(postgres_job *j);
void postgres_run_row(postgres_job *j);
void postgres_run_cell(postgres_job *j);
void postgres_run_saved(postgres_job *j);

/* Whether rows have URIs. */
bool postgres_has_key(const postgres_table *t);

/* mcp_provider's and mcp_resource_template's. */
int postgres_list(mcp_request *req, mcp_str cursor, size_t max, void *user);
int postgres_read(mcp_request *req, mcp_str uri, void *user);
int postgres_read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user);
int postgres_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                      void *user);

/* ---- statements from outside (query.c, saved.c, check.c, tool.c) ----------------------------- */

/* The kind of a statement from outside, by its beginning: whether and how it is run. */
typedef enum postgres_beginning {
    POSTGRES_REFUSED,
    POSTGRES_QUERY,     /* behind DECLARE CURSOR */
    POSTGRES_STATEMENT, /* as it is */
} postgres_beginning;
postgres_beginning postgres_beginning_of(const char *sql);
#define POSTGRES_WHAT_IS_RUN "only SELECT, WITH, VALUES, TABLE, EXPLAIN and SHOW are allowed"

/* Writes the query in the form in which it is run. */
void postgres_put_query(postgres_sql *to, const char *sql, size_t max_bytes);

/* Runs a statement and replies, or fails the job. The parameters must be set. */
void postgres_run_outside(postgres_job *j, mcp_str sql);

/* Checks the saved queries and logs those that are wrong: either on a connection that has no other
 * use, or gradually on the pool's connections (postgres_pool_options.connected). */
void postgres_check_now(postgres *s, PGconn *conn);
void postgres_check_later(void *user, bool again);

extern const common_query_tool postgres_tool;

/* ---- watching (watch.c) ---------------------------------------------------------------------- */

int postgres_watch_begin(common_source *base);
void postgres_watch_end(common_source *base);
uint64_t postgres_watch_look(common_source *base);

#endif
