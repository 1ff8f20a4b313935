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
    size_t at; /* which one is looked at */
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
    mcp_str uri; /* as it was asked for; of the request */
    postgres_target target;
    postgres_op op;
    postgres_sql sql;
    postgres_sql text; /* of an answer that is text, and of URIs */
    postgres_sql left; /* what a description leaves out: see describe.h */
    mcp_json_writer *json;
    bool as_tool;
    bool as_text, is_row; /* shown as a table (table_text.h), of one row */

    /* What the present statement is for. */
    void (*next)(postgres_job *j, int rc);
    void (*with_table)(postgres_job *j);
    void (*after_left_out)(postgres_job *j, int rc);
    postgres_table *table;
    size_t size, rows, limit; /* of what was put */
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

/* For a URI of this database ("": for something else). NULL: *rc says that there is no such URI, or
 * no memory. */
postgres_job *postgres_job_new(postgres *s, mcp_request *req, mcp_str uri, int *rc);
/* Begins it; what a handler returns. */
int postgres_job_start(postgres_job *j, void (*begin)(postgres_job *j));
/* Ends it, with what a handler would return. */
void postgres_job_finish(postgres_job *j, int outcome);
/* Ends it with an error for the caller. */
void postgres_job_fail(postgres_job *j, int code, const char *format, ...) MCP_PRINTF(3, 4);
/* Ends it as what is not there. */
void postgres_job_missing(postgres_job *j);
/* Ends it for what a statement of this provider's own failed with. */
void postgres_job_broken(postgres_job *j, int rc);
/* The database's words about what failed, for the caller; where there are access rules they may
 * name what he may not see, and others are said instead. */
const char *postgres_job_words(const postgres_job *j, const char *instead);
/* Ends it with the JSON that was written. */
void postgres_job_reply_json(postgres_job *j);
void postgres_job_too_large(postgres_job *j, uint64_t size);

/* Runs j->sql (which stays as it is until the end), or `sql` when it is not NULL, with the op's
 * values; then next. */
void postgres_job_run(postgres_job *j, const char *sql,
                      int (*row)(postgres_op *op, const PGresult *r),
                      void (*next)(postgres_job *j, int rc));
/* The same with a statement that reads the catalogue alone. */
void postgres_job_look(postgres_job *j, const char *sql,
                       int (*row)(postgres_op *op, const PGresult *r),
                       void (*next)(postgres_job *j, int rc));
/* Looks the target's table up, then goes on with it; without one the job ends. */
void postgres_job_with_table(postgres_job *j, void (*go_on)(postgres_job *j));
/* A statement made of the table failed: returns whether the job was restarted, because the table is
 * another one now. */
bool postgres_job_stale(postgres_job *j, int rc);
/* The described object was dropped meanwhile: returns whether the job was restarted. */
bool postgres_job_torn(postgres_job *j, int rc);
/* Whether the statement failed because of what was given to it: a value that its column cannot
 * have. */
bool postgres_job_is_bad_value(const postgres_job *j, int rc);

/* A number of the query; `fallback` when it is absent. False after failing the job: it is none. */
bool postgres_job_number(postgres_job *j, const char *name, uint64_t min, uint64_t max,
                         uint64_t fallback, uint64_t *ret);

/* Sets as_text to what ?format= says. False after failing the job. */
bool postgres_job_format(postgres_job *j);

/* Whether nothing is asked for but these, which NULL ends. False after failing the job. */
bool postgres_job_only(postgres_job *j, const char *const *names);

/* What may be read. */
void postgres_run_database(postgres_job *j);
void postgres_run_schema(postgres_job *j);
void postgres_run_table(postgres_job *j);
void postgres_run_function(postgres_job *j);
void postgres_run_rows(postgres_job *j);
void postgres_run_row(postgres_job *j);
void postgres_run_cell(postgres_job *j);
void postgres_run_saved(postgres_job *j);

/* Whether rows can be named. */
bool postgres_has_key(const postgres_table *t);

/* mcp_provider's and mcp_resource_template's. */
int postgres_list(mcp_request *req, mcp_str cursor, size_t max, void *user);
int postgres_read(mcp_request *req, mcp_str uri, void *user);
int postgres_read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user);
int postgres_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                      void *user);

/* ---- statements from outside (query.c, saved.c, check.c, tool.c) ----------------------------- */

/* How it begins says whether and how a statement from outside is run. */
typedef enum postgres_beginning {
    POSTGRES_REFUSED,
    POSTGRES_QUERY,     /* behind DECLARE CURSOR */
    POSTGRES_STATEMENT, /* as it is */
} postgres_beginning;
postgres_beginning postgres_beginning_of(const char *sql);
#define POSTGRES_WHAT_IS_RUN "only SELECT, WITH, VALUES, TABLE, EXPLAIN and SHOW are allowed"

/* The query as it is run. */
void postgres_put_query(postgres_sql *to, const char *sql, size_t max_bytes);

/* Fails the job, or runs it and replies. Values are set. */
void postgres_run_outside(postgres_job *j, mcp_str sql);

/* Looks at the saved queries and says in the log which are wrong: with a connection that is used
 * for nothing else; or by and by on the pool's, as what is told of a connection
 * (postgres_pool_options.connected). */
void postgres_check_now(postgres *s, PGconn *conn);
void postgres_check_later(void *user, bool again);

extern const common_query_tool postgres_tool;

/* ---- watching (watch.c) ---------------------------------------------------------------------- */

int postgres_watch_begin(common_source *base);
void postgres_watch_end(common_source *base);
uint64_t postgres_watch_look(common_source *base);

#endif
