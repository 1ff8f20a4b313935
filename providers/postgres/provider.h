/* provider.h: declarations shared by the parts of the provider: a mounted database, and one request
 * for it.
 *
 * A request becomes a job, which runs statements one after the other. A function begins each
 * statement, and the callback at its end starts the next one. Everything runs on the server's
 * thread without waiting.
 */
#ifndef POSTGRES_PROVIDER_H
#define POSTGRES_PROVIDER_H

#include "caller.h"
#include "confirm.h"
#include "contains.h"
#include "near.h"
#include "notice.h"
#include "pool.h"
#include "postgres.h"
#include "source.h"
#include "table.h"
#include "uri.h"
#include "value.h"

/* The check of the saved queries; see check.c. */
typedef struct postgres_check {
    bool done, running;
    size_t at; /* index of the query that is checked */
    postgres_op op;
    postgres_sql sql;
} postgres_check;

/* State of watching, used while there are subscribers; see watch.c. */
typedef struct postgres_watch {
    postgres_pool *pool;
    postgres_op op;
    bool looking, known, missed;
    char last[400], now[400];
} postgres_watch;

/* A saved statement that changes rows, as a tool; see write.c. */
typedef struct postgres_change {
    postgres *s;
    const common_query *q;
    const char *command; /* "UPDATE" */
    char name[128];      /* of the tool */
} postgres_change;

struct postgres {
    common_source base; /* with the prefix "postgres://NAME/" */
    mcp_host host;
    char *conninfo;
    size_t max_rows, max_bytes, max_read, answer_tokens, connections;
    uint64_t timeout_ms, poll_ms;
    bool superuser, sample_rows, health_wanted;
    char health[65]; /* the name of its tool; see health.c */
    postgres_pool *pool;
    postgres_tables tables; /* as the login role sees them; unused with callers */
    postgres_callers callers;
    int64_t refused_until;   /* time until which refused callers are not logged again */
    int64_t late_until;      /* the same for requests that took too long */
    common_queries writes;   /* the saved statements that change rows; not in base.queries */
    postgres_change *change; /* one for each of them */
    common_confirms *confirms;
    postgres_check check;
    postgres_watch watch;
    postgres_notices notices; /* with callers */
};

typedef struct postgres_job postgres_job;
struct postgres_job {
    postgres *s;
    mcp_request *req;
    mcp_str uri; /* as requested; points into the request */
    postgres_target target;
    postgres_tables *tables; /* as the caller sees them */
    postgres_pool *pool;     /* that of the caller's role with own_login */
    postgres_op op;
    postgres_sql sql;
    postgres_sql text; /* the answer as text, or a URI */
    postgres_sql left; /* what a description leaves out; see describe.h */
    mcp_json_writer *json;
    bool as_tool;
    bool as_text, is_row; /* as_text: shown as a table (table_text.h); is_row: it is one row */
    bool is_null;         /* the cell is NULL */

    /* Called at the end of the current statement. */
    void (*next)(postgres_job *j, int rc);
    void (*with_table)(postgres_job *j);
    void (*after_left_out)(postgres_job *j, int rc);
    postgres_table *table;
    size_t size, rows, limit; /* bytes and rows written, and the largest number of rows */
    size_t most;              /* bytes of rows in the answer of a statement */
    size_t longest;           /* bytes of the longest text in its rows that is written in full */
    uint64_t offset;
    common_contains contains; /* what a value of each row must contain */
    bool begun, more;         /* the names of the columns are written; there are more rows */
    unsigned retried;
    size_t max;          /* largest number of entries of a list */
    char number[24];     /* a value of a statement */
    mcp_str name, value; /* of a completion */
    const void *own;
    common_near *near;  /* for an error of a statement; see meant.c */
    mcp_json_doc *plan; /* see explain.c */
    const char *hint;

    bool in_handler, finished;
    int outcome;
    char room[]; /* for the strings of `target` */
};

/* Creates the job for a URI of this database ("" for other jobs), which runs as the caller if
 * callers have roles. Returns NULL with *rc MCP_ENOTFOUND (there is no such URI, or the caller has
 * no role) or MCP_ENOMEM. */
postgres_job *postgres_job_new(postgres *s, mcp_request *req, mcp_str uri, int *rc);
/* Starts the job. Returns what a handler returns. */
int postgres_job_start(postgres_job *j, void (*begin)(postgres_job *j));
/* Ends the job with the result of a handler. */
void postgres_job_finish(postgres_job *j, int outcome);
/* Ends the job with an error in the request. */
void postgres_job_fail(postgres_job *j, int code, const char *format, ...) MCP_PRINTF(3, 4);
/* Ends the job with the error that the resource does not exist. */
void postgres_job_missing(postgres_job *j);
/* Ends the job because a statement of the provider failed. */
void postgres_job_broken(postgres_job *j, int rc);
/* Returns the database's message for the caller. With access rules it returns `instead`, because
 * the message might mention something hidden. */
const char *postgres_job_words(const postgres_job *j, const char *instead);
/* Replies with the JSON that was written. */
void postgres_job_reply_json(postgres_job *j);
void postgres_job_too_large(postgres_job *j, uint64_t size);

/* Runs `sql`, or j->sql if it is NULL, with the parameters of the op, then calls `next`. The
 * statement must not change until its end. */
void postgres_job_run(postgres_job *j, const char *sql,
                      int (*row)(postgres_op *op, const PGresult *r),
                      void (*next)(postgres_job *j, int rc));
/* Does the same for a statement that only reads the catalogue. */
void postgres_job_look(postgres_job *j, const char *sql,
                       int (*row)(postgres_op *op, const PGresult *r),
                       void (*next)(postgres_job *j, int rc));
/* Looks up the target's table and calls `go_on`. If there is no such table, the job ends. */
void postgres_job_with_table(postgres_job *j, void (*go_on)(postgres_job *j));
/* Called when a statement for the table failed. Returns true if the job was restarted because the
 * table may have changed. */
bool postgres_job_stale(postgres_job *j, int rc);
/* Returns true if the job was restarted because the described object may have been
 * dropped meanwhile. */
bool postgres_job_torn(postgres_job *j, int rc);
/* Returns whether the statement failed because of a parameter that is invalid for its column. */
bool postgres_job_is_bad_value(const postgres_job *j, int rc);

/* Reads a number of the query; *ret is `fallback` if it is absent. If it is invalid, makes the job
 * fail and returns false. */
bool postgres_job_number(postgres_job *j, const char *name, uint64_t min, uint64_t max,
                         uint64_t fallback, uint64_t *ret);

/* Sets as_text from ?format=. If it is invalid, makes the job fail and returns false. */
bool postgres_job_format(postgres_job *j);

/* Checks that the query has no parameters except `names`, a list that ends with NULL. Otherwise
 * makes the job fail and returns false. */
bool postgres_job_only(postgres_job *j, const char *const *names);

/* The functions that run the jobs. */
void postgres_run_database(postgres_job *j);
void postgres_run_schema(postgres_job *j);
void postgres_run_named(postgres_job *j); /* the database with the parameter `named` */
void postgres_run_table(postgres_job *j);
void postgres_run_function(postgres_job *j);
void postgres_run_rows(postgres_job *j);
void postgres_run_row(postgres_job *j);
void postgres_run_cell(postgres_job *j);
void postgres_run_saved(postgres_job *j);

/* Returns whether rows have URIs. */
bool postgres_has_key(const postgres_table *t);
/* Append SELECT … FROM … for all columns or, if it is not NULL, for `only`; and the condition that
 * finds a row by its key, with the parameters $1, $2, … */
void postgres_put_columns(postgres_sql *sql, const postgres_table *t, const postgres_column *only);
void postgres_put_where_key(postgres_sql *sql, const postgres_table *t);
/* Writes a value of a row of j->table; one longer than `longest` is its size and URI. */
void postgres_put_cell(postgres_job *j, const PGresult *r, int at, size_t longest);
/* Ends the page of a table, an object that is still open, after its sample rows. `table`: it is one, and no
 * view or foreign table. See sample.c. */
void postgres_end_page(postgres_job *j, bool table);
/* Appends the condition j->contains to the statement of the job, after the conditions on columns. Returns
 * false if there is no memory; see contains.c. */
bool postgres_put_contains(postgres_job *j);
/* Returns a pattern of ILIKE for what contains the text, which lives as long as the request, or NULL if
 * there is no memory. With `loose` it also fits what the locale of the database takes for the same text:
 * only those letters have to be there that have no other case than in ASCII, in any locale. */
const char *postgres_pattern_of(mcp_request *req, mcp_str text, bool loose);

/* Callbacks for mcp_provider and mcp_resource_template. */
int postgres_list(mcp_request *req, mcp_str cursor, size_t max, void *user);
int postgres_read(mcp_request *req, mcp_str uri, void *user);
int postgres_read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user);
int postgres_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                      void *user);

/* ---- statements from outside (query.c, saved.c, check.c, tool.c) ----------------------------- */

/* How a statement from outside is run, according to its beginning. */
typedef enum postgres_beginning {
    POSTGRES_REFUSED,
    POSTGRES_QUERY,     /* with DECLARE CURSOR */
    POSTGRES_STATEMENT, /* unchanged */
} postgres_beginning;
postgres_beginning postgres_beginning_of(const char *sql);
#define POSTGRES_WHAT_IS_RUN "only SELECT, WITH, VALUES, TABLE, EXPLAIN and SHOW are allowed"

/* Returns the length of a query without the spaces and semicolons at its end. */
size_t postgres_query_length(const char *sql);
/* Appends the query in the form in which it is run. */
void postgres_put_query(postgres_sql *to, const char *sql, size_t max_bytes);

enum { POSTGRES_LONGEST_SQL = 64 << 10 };

/* Returns "INSERT", "UPDATE", "DELETE" or "MERGE" if the statement begins with this word, otherwise
 * NULL. One that begins with WITH or "(" is none of them. */
const char *postgres_change_of(const char *sql);

/* Write the names of the columns and the beginning of the rows, and one row. */
void postgres_put_names(postgres_job *j, const PGresult *r);
void postgres_put_row(postgres_job *j, const PGresult *r);

/* Runs a statement with the parameters of the op, and replies or makes the job fail. */
void postgres_run_outside(postgres_job *j, mcp_str sql);

/* The same, for the plan of a query instead of its rows; see explain.c. */
void postgres_run_explain(postgres_job *j, mcp_str sql);
/* Returns whether the query may be explained; otherwise makes the job fail. */
bool postgres_may_explain(postgres_job *j, mcp_str sql);
/* Sets the statement that explains the query, which lives until the end of the job. */
void postgres_put_explain(postgres_job *j, mcp_str sql);
/* Ends the job after a statement from outside: with its result, or with an error. */
void postgres_end_statement(postgres_job *j, int rc);

/* Ends the job with the error of the caller's own statement; see meant.c. */
void postgres_fail_statement(postgres_job *j);

/* Check the saved queries and log those that are invalid. The first does so at once, on a
 * connection without another use; the second one by one, on the connections of the pool (see
 * postgres_pool_options.connected). */
void postgres_check_now(postgres *s, PGconn *conn);
void postgres_check_later(void *user, bool again);

/* Checks the login role and the roles of callers, on a connection without another use. With
 * `strict` a role that owns tables with policies is an error, otherwise it is logged. Returns
 * MCP_OK, MCP_EACCESS (a role cannot be used, or policies do not apply to it), MCP_EREMOTE or
 * MCP_ENOMEM. See role_check.c. */
int postgres_check_roles(postgres *s, PGconn *conn, bool strict, mcp_error *error);
/* Logs in as each role of callers (with own_login), and plans the saved queries. Those that no role
 * can run are logged. Blocks up to `ms` for each role. Returns MCP_OK, MCP_EACCESS, MCP_EREMOTE or
 * MCP_ENOMEM. */
int postgres_check_logins(postgres *s, uint64_t ms, mcp_error *error);
/* Plans the saved queries whose entry of `valid` is false, with the role of the connection, and sets
 * the entries of those that it can run. */
void postgres_check_plans(postgres *s, PGconn *conn, bool *valid);

extern const common_query_tool postgres_tool;

/* ---- saved statements that change rows (write.c) --------------------------------------------- */

/* Checks the loaded statements (s->writes) as far as that is possible without the database, and
 * prepares their tools. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
int postgres_writes_load(postgres *s, mcp_error *error);
void postgres_writes_free(postgres *s);
/* Offers the tools; common_source_kind.offer. */
int postgres_writes_offer(common_source *base, common_offer offer, mcp_error *error);

/* The saved queries and after them the statements that change rows, for checks. */
size_t postgres_n_saved(const postgres *s);
const common_query *postgres_saved_at(const postgres *s, size_t i);

/* ---- watching (watch.c) ---------------------------------------------------------------------- */

int postgres_watch_begin(common_source *base);
void postgres_watch_end(common_source *base);
uint64_t postgres_watch_look(common_source *base);
/* Announces that any row may have changed. */
void postgres_rows_changed(postgres *s);

#endif
