/* rows.c: reads a row by its key, and pages of rows.
 *
 * The server's thread reads a row with a statement that was cached by the last read of its table;
 * SQLite reports if the schema has changed. If a value is too large to be read, SQLite fails the
 * whole row. The row is then read again without texts and BLOBs, whose sizes are shown instead.
 */
#include "provider.h"

#include <stdio.h>

enum {
    DEFAULT_LIMIT = 100,
    NEAR_ROW = 1 << 20,         /* bytes of all values of a row read on the server's thread */
    LONGEST_IN_ROW = 256 << 10, /* bytes of the longest text */
    LONGEST_IN_ROWS = 16 << 10,
};

#define MAX_OFFSET ((uint64_t)1 << 53)

/* Returns whether the rowid is shown as a column. Without a primary key it is, because reading the
 * row requires it. */
static bool shows_rowid(const sqlite_table *t)
{
    return !t->n_key && t->rowid;
}

/* Appends "SELECT" and the columns that precede the key's. Returns their number. */
static int put_select(sqlite3_str *sql, const sqlite_table *t, bool probed)
{
    int n = 0;
    sqlite3_str_appendall(sql, "SELECT ");
    if (shows_rowid(t))
        sqlite3_str_appendall(sql, t->rowid), n++;
    for (size_t i = 0; i < t->n_column; i++) {
        if (!sqlite_column_shown(&t->column[i]))
            continue;
        if (n)
            sqlite3_str_appendall(sql, ", ");
        sqlite_put_column(sql, &t->column[i], probed);
        n += probed ? 2 : 1;
    }
    if (!n) /* a broken view: SQLite reports the error */
        sqlite3_str_appendall(sql, "*");
    return n;
}

static bool can_probe(const sqlite_table *t)
{
    return t->kind == SQLITE_IS_TABLE && t->rowid;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int put_row(sqlite_row *r)
{
    int at = 0, rc = SQLITE_OK;
    mcp_json_writer *w = r->job->json;
    mcp_json_begin_object(w);
    if (shows_rowid(r->table)) {
        mcp_json_key(w, r->table->rowid);
        mcp_json_add_int(w, sqlite3_column_int64(r->stmt, at++));
    }
    for (size_t i = 0; rc == SQLITE_OK && i < r->table->n_column; i++) {
        if (!sqlite_column_shown(&r->table->column[i]))
            continue;
        sqlite_put_word_key(w, r->table->column[i].name);
        rc = sqlite_put_cell(r, &r->table->column[i], at);
        at += r->probed ? 2 : 1;
    }
    mcp_json_end(w);
    return rc;
}

static int prepare_row(sqlite_conn *c, const sqlite_job *j, const sqlite_table *t, bool probed,
                       sqlite3_stmt **ret)
{
    sqlite3_str *sql = sqlite3_str_new(c->db);
    put_select(sql, t, probed);
    sqlite_put_key_columns(sql, t);
    sqlite3_str_appendf(sql, " FROM main.\"%w\"", t->name);
    sqlite_put_where_key(sql, t, &j->target);
    return sqlite_prepare_str(c, sql, ret);
}

/* Finds the row and writes it. Afterwards the statement is reset and has no bindings. */
static int fetch_row(sqlite_row *r)
{
    sqlite_job *j = r->job;
    if (r->conn->near) /* all columns are read in one step */
        sqlite_limit_values(r->conn, NEAR_ROW / (r->table->n_column + 1));
    int rc = sqlite_bind_key(r->stmt, r->table, &j->target);
    if (rc == SQLITE_OK && (rc = sqlite_step_to_key(r->stmt, r->table, &j->target)) == SQLITE_ROW) {
        j->found = true;
        rc = put_row(r);
    }
    sqlite3_reset(r->stmt);
    sqlite3_clear_bindings(r->stmt);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int row_of(sqlite_conn *c, sqlite_job *j, const sqlite_table *t, bool probed)
{
    sqlite_row r = {
        .conn = c, .job = j, .table = t, .key = -1, .probed = probed, .longest = LONGEST_IN_ROW};
    int rc = prepare_row(c, j, t, probed, &r.stmt);
    if (rc == SQLITE_OK)
        rc = fetch_row(&r);
    sqlite3_finalize(r.stmt);
    return rc;
}

static int row_prepared(sqlite_conn *c, sqlite_job *j)
{
    sqlite_table *t = NULL;
    int rc = sqlite3_exec(c->db, "BEGIN", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite_load_keyed(c, j, &t);
    if (rc == SQLITE_OK && t)
        rc = row_of(c, j, t, false);
    if ((rc & 0xff) == SQLITE_TOOBIG && !c->near && t && can_probe(t)) {
        mcp_json_writer_reset(j->json);
        rc = row_of(c, j, t, true);
    }
    sqlite_table_free(t);
    return rc;
}

/* Returns the cached statement for the table, or the least recently used slot. */
static sqlite_cached *cached_for(sqlite_conn *c, mcp_str table, bool *hit)
{
    sqlite_cached *oldest = &c->cached[0];
    for (size_t i = 0; i < SQLITE_CACHED; i++) {
        sqlite_cached *k = &c->cached[i];
        if ((*hit = k->table && mcp_str_eq(mcp_str_from(k->table->name), table)))
            return k;
        if (k->used < oldest->used)
            oldest = k;
    }
    return oldest;
}

static int fill_cached(sqlite_conn *c, const sqlite_job *j, sqlite_cached *k)
{
    sqlite_cached_clear(k);
    int rc = sqlite_load_keyed(c, j, &k->table);
    if (rc == SQLITE_OK && k->table)
        rc = prepare_row(c, j, k->table, false, &k->row);
    if (rc != SQLITE_OK || !k->table)
        sqlite_cached_clear(k);
    return rc;
}

/* Returns whether the statement for the key is that of all plain keys of the table. */
static bool is_plain_key(const sqlite_target *t)
{
    for (size_t i = 0; i < t->n_key; i++)
        if (t->key_type[i] != SQLITE_KEY_PLAIN)
            return false;
    return true;
}

static int row_cached(sqlite_conn *c, sqlite_job *j)
{
    bool hit;
    int rc = SQLITE_OK;
    sqlite_cached *k = cached_for(c, j->target.table, &hit);
    if (hit && sqlite_table_key_count(k->table) != j->target.n_key)
        return row_prepared(c, j);
    if (!hit)
        rc = fill_cached(c, j, k);
    if (rc != SQLITE_OK || !k->row)
        return rc;
    k->used = ++c->clock;
    sqlite_row r = {.conn = c,
                    .job = j,
                    .table = k->table,
                    .stmt = k->row,
                    .key = -1,
                    .longest = LONGEST_IN_ROW};
    rc = fetch_row(&r);
    if (rc == SQLITE_OK && sqlite3_stmt_status(k->row, SQLITE_STMTSTATUS_REPREPARE, 1) == 0)
        return rc;
    sqlite_cached_clear(k); /* the schema has changed */
    mcp_json_writer_reset(j->json);
    j->found = false;
    return rc == SQLITE_OK || (rc & 0xff) == SQLITE_ERROR ? row_prepared(c, j) : rc;
}

int sqlite_run_row(sqlite_conn *c, sqlite_job *j)
{
    static const char *const names[] = {"format", NULL};
    j->is_row = true;
    if (!sqlite_job_only(j, names) || !sqlite_job_format(j))
        return SQLITE_OK;
    return c->near && is_plain_key(&j->target) ? row_cached(c, j) : row_prepared(c, j);
}

/* ---- pages of rows --------------------------------------------------------------------------- */

/* Returns the column of a parameter. Columns named like a parameter ("limit") are written in quotes:
 * ?%22limit%22=1. */
static const sqlite_column *column_of(const sqlite_table *t, mcp_str name)
{
    if (name.len > 2 && name.ptr[0] == '"' && name.ptr[name.len - 1] == '"')
        name = (mcp_str){name.ptr + 1, name.len - 2};
    return sqlite_table_column(t, name);
}

static bool is_number_param(mcp_str name)
{
    return mcp_str_eq(name, MCP_STR("limit")) || mcp_str_eq(name, MCP_STR("offset"));
}

static bool is_own_param(mcp_str name)
{
    return is_number_param(name) || mcp_str_eq(name, MCP_STR("format")) || common_contains_is(name);
}

typedef struct page {
    uint64_t limit, offset;
    common_contains contains;
    sqlite_filter *filter;                          /* for it; NULL if it is empty */
    const sqlite_column *column[SQLITE_URI_PARAMS]; /* the column of each parameter, or NULL */
    bool rowid[SQLITE_URI_PARAMS];
} page;

/* Finds the columns of the parameters. If there is none, makes the request fail and returns false. */
static bool read_columns(sqlite_job *j, const sqlite_table *t, page *ret)
{
    for (size_t i = 0; i < j->target.n_param; i++) {
        mcp_str name = j->target.param[i].name;
        if (is_own_param(name))
            continue;
        ret->column[i] = column_of(t, name);
        ret->rowid[i] =
            !ret->column[i] && shows_rowid(t) && mcp_str_eq(name, mcp_str_from(t->rowid));
        if (!ret->column[i] && !ret->rowid[i]) {
            sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS,
                            "%.100s has no column %.100s; read %.150s for its columns", t->name,
                            name.ptr, t->name);
            return false;
        }
    }
    return true;
}

static bool read_contains(sqlite_job *j, page *ret)
{
    char why[300];
    if (common_contains_read(j->target.param, j->target.n_param, &ret->contains, why))
        return true;
    sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", why);
    return false;
}

static bool read_page(sqlite_job *j, const sqlite_table *t, page *ret)
{
    memset(ret, 0, sizeof(*ret));
    return read_columns(j, t, ret) && read_contains(j, ret) && sqlite_job_format(j) &&
           sqlite_job_number(j, "limit", 1, j->s->max_rows,
                             j->s->max_rows < DEFAULT_LIMIT ? j->s->max_rows : DEFAULT_LIMIT,
                             &ret->limit) &&
           sqlite_job_number(j, "offset", 0, MAX_OFFSET, 0, &ret->offset);
}

/* Appends a stable order, so that each page continues where the previous one ended. */
static void put_order(sqlite3_str *sql, const sqlite_table *t)
{
    if (t->kind != SQLITE_IS_TABLE || !sqlite_table_has_key(t))
        return;
    sqlite3_str_appendall(sql, " ORDER BY ");
    if (t->rowid) {
        sqlite3_str_appendall(sql, t->rowid);
        return;
    }
    for (size_t i = 0; i < t->n_key; i++)
        sqlite3_str_appendf(sql, "%s\"%w\"", i ? ", " : "", t->column[t->key[i]].name);
}

/* Prepares the statement. Parameters 1 and 2 are limit and offset. */
static int prepare_page(sqlite_row *r, const page *p)
{
    const sqlite_target *target = &r->job->target;
    sqlite3_str *sql = sqlite3_str_new(r->conn->db);
    const char *before = " WHERE ";
    r->key = put_select(sql, r->table, r->probed);
    sqlite_put_key_columns(sql, r->table);
    sqlite3_str_appendf(sql, " FROM main.\"%w\"", r->table->name);
    for (size_t i = 0; i < target->n_param; i++) {
        if (!p->column[i] && !p->rowid[i])
            continue;
        sqlite3_str_appendall(sql, before);
        sqlite_put_equal(sql, r->table, p->column[i], 3 + (int)i * SQLITE_EQUAL_PARAMS,
                         target->param[i].value);
        before = " AND ";
    }
    put_order(sql, r->table);
    sqlite3_str_appendall(sql, " LIMIT ?1 OFFSET ?2");
    return sqlite_prepare_str(r->conn, sql, &r->stmt);
}

static int bind_page(const sqlite_row *r, const page *p)
{
    const sqlite_target *target = &r->job->target;
    int rc = sqlite3_bind_int64(r->stmt, 1, p->filter ? -1 : (sqlite3_int64)p->limit + 1);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(r->stmt, 2, p->filter ? 0 : (sqlite3_int64)p->offset);
    for (size_t i = 0; rc == SQLITE_OK && i < target->n_param; i++)
        if (p->column[i] || p->rowid[i])
            rc = sqlite_bind_equal(r->stmt, p->column[i], 3 + (int)i * SQLITE_EQUAL_PARAMS,
                                   target->param[i].value);
    return rc;
}

static void put_columns(const sqlite_row *r)
{
    mcp_json_writer *w = r->job->json;
    mcp_json_key(w, "columns");
    mcp_json_begin_array(w);
    if (shows_rowid(r->table))
        mcp_json_add_string(w, r->table->rowid);
    for (size_t i = 0; i < r->table->n_column; i++)
        if (sqlite_column_shown(&r->table->column[i]))
            sqlite_put_words(w, mcp_str_from(r->table->column[i].name));
    mcp_json_end(w);
}

static int put_values(sqlite_row *r)
{
    int at = 0, rc = SQLITE_OK;
    mcp_json_writer *w = r->job->json;
    mcp_json_begin_array(w);
    if (shows_rowid(r->table))
        mcp_json_add_int(w, sqlite3_column_int64(r->stmt, at++));
    for (size_t i = 0; rc == SQLITE_OK && i < r->table->n_column; i++) {
        if (!sqlite_column_shown(&r->table->column[i]))
            continue;
        rc = sqlite_put_cell(r, &r->table->column[i], at);
        at += r->probed ? 2 : 1;
    }
    mcp_json_end(w);
    return rc;
}

/* Adds the URI of the next page: the same URI with another offset. */
static int put_next(const sqlite_row *r, const page *p, uint64_t rows)
{
    char number[2][24];
    sqlite_target next = r->job->target;
    uint64_t offset = p->offset + rows;
    size_t n = 0;
    for (size_t i = 0; i < next.n_param; i++)
        if (!is_number_param(next.param[i].name))
            next.param[n++] = next.param[i];
    if (n + 2 > SQLITE_URI_PARAMS)
        return SQLITE_OK;
    snprintf(number[0], sizeof(number[0]), "%llu", (unsigned long long)p->limit);
    snprintf(number[1], sizeof(number[1]), "%llu", (unsigned long long)offset);
    next.param[n++] = (mcp_uri_pair){MCP_STR("limit"), mcp_str_from(number[0])};
    next.param[n++] = (mcp_uri_pair){MCP_STR("offset"), mcp_str_from(number[1])};
    next.n_param = n;
    sqlite3_str *uri = sqlite3_str_new(r->conn->db);
    sqlite_uri_put(uri, r->job->s->base.prefix, &next);
    char *text = sqlite3_str_finish(uri);
    if (!text)
        return SQLITE_NOMEM;
    mcp_json_put_string(r->job->json, "next", text);
    sqlite3_free(text);
    return SQLITE_OK;
}

/* Steps to the next row that contains what it must contain. Returns SQLite's code. */
static int next_row(const sqlite_row *r, const page *p)
{
    int rc;
    bool found = !p->filter;
    while ((rc = sqlite3_step(r->stmt)) == SQLITE_ROW && p->filter) {
        int read = sqlite_filter_row(p->filter, r->conn, r->stmt, r->key, &found);
        if (read != SQLITE_OK || found)
            return read == SQLITE_OK ? rc : read;
    }
    return rc;
}

/* Of a filtered page, the statement returns all rows. */
static int skip_matches(const sqlite_row *r, const page *p)
{
    int rc = SQLITE_ROW;
    for (uint64_t i = 0; rc == SQLITE_ROW && p->filter && i < p->offset; i++)
        rc = next_row(r, p);
    return rc;
}

static int put_page(sqlite_row *r, const page *p)
{
    mcp_json_writer *w = r->job->json;
    uint64_t rows = 0;
    int rc = skip_matches(r, p);
    mcp_json_begin_object(w);
    put_columns(r);
    mcp_json_key(w, "rows");
    mcp_json_begin_array(w);
    for (bool on = rc == SQLITE_ROW; on && (rc = next_row(r, p)) == SQLITE_ROW;) {
        if (rows == p->limit || (rows && r->size > r->job->s->max_bytes))
            break;
        if ((rc = put_values(r)) != SQLITE_OK)
            return rc;
        rows++;
    }
    mcp_json_end(w);
    if (rc == SQLITE_ROW)
        rc = put_next(r, p, rows);
    mcp_json_end(w);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- sample rows ----------------------------------------------------------------------------- */

static bool may_read_rows(sqlite_job *j, const sqlite_table *t)
{
    sqlite3_str *made = sqlite3_str_new(NULL);
    sqlite_target rows = {.kind = SQLITE_KIND_ROWS, .table = mcp_str_from(t->name)};
    sqlite_uri_put(made, j->s->base.prefix, &rows);
    char *uri = sqlite3_str_finish(made);
    bool may = uri && (!j->asking.needed || common_asking_may(&j->asking, mcp_str_from(uri)));
    sqlite3_free(uri);
    return may;
}

static int put_sample(sqlite_row *r)
{
    int rc;
    mcp_json_put_object(r->job->json, "sample");
    put_columns(r);
    mcp_json_put_array(r->job->json, "rows");
    while ((rc = sqlite3_step(r->stmt)) == SQLITE_ROW)
        if ((rc = put_values(r)) != SQLITE_OK)
            break;
    mcp_json_end(r->job->json);
    mcp_json_end(r->job->json);
    return rc == SQLITE_DONE || (rc & 0xff) == SQLITE_TOOBIG ? SQLITE_OK : rc;
}

/* Only of ordinary tables: a view may take long. Rows may have generated columns, which are read on
 * workers alone. */
int sqlite_put_sample(sqlite_conn *c, sqlite_job *j, const sqlite_table *t)
{
    enum { ROWS = 3, LONGEST = 200 };
    page p = {.limit = ROWS - 1}; /* the statement returns one more */
    sqlite_row r = {.conn = c, .job = j, .table = t, .longest = LONGEST};
    if (!j->s->sample_rows || t->kind != SQLITE_IS_TABLE || !may_read_rows(j, t))
        return SQLITE_OK;
    int rc = sqlite_not_here(c);
    if (rc == SQLITE_OK)
        rc = prepare_page(&r, &p);
    if (rc == SQLITE_OK)
        rc = bind_page(&r, &p);
    if (rc == SQLITE_OK)
        rc = put_sample(&r);
    sqlite3_finalize(r.stmt);
    return rc;
}

static int page_of(sqlite_conn *c, sqlite_job *j, const sqlite_table *t, const page *p, bool probed)
{
    sqlite_row r = {.conn = c, .job = j, .table = t, .probed = probed, .longest = LONGEST_IN_ROWS};
    int rc = prepare_page(&r, p);
    if (rc == SQLITE_OK)
        rc = bind_page(&r, p);
    if (rc == SQLITE_OK)
        rc = put_page(&r, p);
    sqlite3_finalize(r.stmt);
    return rc;
}

static int make_filter(const sqlite_job *j, page *p)
{
    return p->contains.text.len ? sqlite_filter_new(&p->contains, &j->s->base.alloc, &p->filter)
                                : SQLITE_OK;
}

int sqlite_run_rows(sqlite_conn *c, sqlite_job *j)
{
    sqlite_table *t = NULL;
    page p;
    int rc = sqlite3_exec(c->db, "BEGIN", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite_table_load(c, j->target.table, &j->s->base.alloc, &t);
    if (rc == SQLITE_OK && t) {
        j->found = true;
        if (read_page(j, t, &p) && (rc = make_filter(j, &p)) == SQLITE_OK)
            rc = page_of(c, j, t, &p, false);
        if ((rc & 0xff) == SQLITE_TOOBIG && can_probe(t) && !p.filter) {
            mcp_json_writer_reset(j->json);
            rc = page_of(c, j, t, &p, true);
        }
        sqlite_filter_free(p.filter);
    }
    sqlite_table_free(t);
    return rc;
}
