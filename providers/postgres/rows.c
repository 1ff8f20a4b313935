/* rows.c: reads a row by its key, pages of rows, and single values.
 *
 * A value that is too long for a row, or is not text, is replaced by its size and a URI from which
 * it can be read in parts. The statement that reads a row by its key is prepared once, so each
 * later read needs one round trip.
 */
#include "provider.h"

#include "describe.h"

#include <inttypes.h>
#include <stdio.h>

#include "text.h"

enum {
    DEFAULT_LIMIT = 100,
    LONGEST_IN_ROW = 256 << 10, /* bytes of the longest text in a row */
    LONGEST_IN_ROWS = 16 << 10,
    DEFAULT_LENGTH = 1 << 20,
};

#define MAX_OFFSET ((uint64_t)1 << 53)

bool postgres_has_key(const postgres_table *t)
{
    for (size_t i = 0; i < t->n_key; i++)
        if (!postgres_table_key(t, i))
            return false;
    return t->n_key > 0;
}

static void put_table(postgres_sql *sql, const postgres_table *t)
{
    postgres_put(sql, " FROM ");
    postgres_put_name(sql, t->schema);
    postgres_put(sql, ".");
    postgres_put_name(sql, t->name);
}

void postgres_put_columns(postgres_sql *sql, const postgres_table *t, const postgres_column *only)
{
    postgres_put(sql, "SELECT ");
    for (size_t i = 0; i < t->n_column && !only; i++) {
        postgres_put(sql, i ? ", " : "");
        postgres_put_name(sql, t->column[i].name);
    }
    if (only)
        postgres_put_name(sql, only->name);
    put_table(sql, t);
}

static void put_equal(postgres_sql *sql, const postgres_column *c, size_t value)
{
    postgres_put_name(sql, c->name);
    postgres_put(sql, " OPERATOR(");
    postgres_put(sql, c->equal);
    postgres_putf(sql, ".=) $%zu", value);
    postgres_put(sql, c->cast);
}

void postgres_put_where_key(postgres_sql *sql, const postgres_table *t)
{
    for (size_t i = 0; i < t->n_key; i++) {
        postgres_put(sql, i ? " AND " : " WHERE ");
        put_equal(sql, postgres_table_key(t, i), i + 1);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Writes the size and the URI of a value that is not in the row. Without a key there is no URI. */
static void put_elsewhere(postgres_job *j, const PGresult *r, int at)
{
    mcp_json_writer *w = j->json;
    const postgres_table *t = j->table;
    mcp_str text = {PQgetvalue(r, 0, at), (size_t)PQgetlength(r, 0, at)};
    bool blob = PQftype(r, at) == POSTGRES_BYTEA;
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "type", blob ? "blob" : "text");
    mcp_json_key(w, "size");
    mcp_json_add_uint(w, blob ? postgres_bytes(text, NULL, 0) : text.len);
    if (postgres_has_key(t)) {
        postgres_target cell = {.kind = POSTGRES_KIND_CELL,
                                .schema = j->target.schema,
                                .name = j->target.name,
                                .column = mcp_str_from(t->column[at].name),
                                .n_key = t->n_key};
        for (size_t i = 0; i < t->n_key && i < POSTGRES_URI_KEYS; i++) {
            int k = (int)(postgres_table_key(t, i) - t->column);
            cell.key[i] = (mcp_str){PQgetvalue(r, 0, k), (size_t)PQgetlength(r, 0, k)};
        }
        postgres_sql_reset(&j->text);
        postgres_uri_put(&j->text, j->s->base.prefix, &cell);
        mcp_json_put_string(w, "uri", postgres_sql_text(&j->text));
    }
    mcp_json_end(w);
    j->size += 200;
}

void postgres_put_cell(postgres_job *j, const PGresult *r, int at, size_t longest)
{
    if (!postgres_put_value(j->json, r, at, longest, &j->size))
        put_elsewhere(j, r, at);
}

static mcp_str value_at(const PGresult *r, int at)
{
    return (mcp_str){PQgetvalue(r, 0, at), (size_t)PQgetlength(r, 0, at)};
}

static mcp_str without_zeros(mcp_str number)
{
    if (memchr(number.ptr, '.', number.len)) {
        while (number.ptr[number.len - 1] == '0')
            number.len--;
        number.len -= number.ptr[number.len - 1] == '.';
    }
    return number;
}

/* Returns whether a key is spelled as JSON shows the value, or as a parser of JSON reads that: true
 * for t, 1.5 for 1.50. */
static bool is_as_shown(unsigned type, mcp_str value, mcp_str key)
{
    if (type == POSTGRES_BOOL)
        return mcp_str_eq(key, *value.ptr == 't' ? MCP_STR("true") : MCP_STR("false"));
    return type == POSTGRES_NUMERIC && mcp_str_eq(without_zeros(value), without_zeros(key));
}

/* Returns whether the key in the URI is that of the row, whose key begins at the columns `at`. "02"
 * and, for some types, another case would find a row too. But a row has only one URI, because access
 * rules and notifications use it. The spellings that a row shows are found too, if the caller may
 * also read that URI. */
static bool is_spelled_so(const postgres_job *j, const PGresult *r, const int *at)
{
    bool same = true;
    postgres_target row = j->target;
    for (size_t i = 0; i < j->target.n_key; i++) {
        row.key[i] = value_at(r, at[i]);
        if (mcp_str_eq(row.key[i], j->target.key[i]))
            continue;
        if (!is_as_shown(PQftype(r, at[i]), row.key[i], j->target.key[i]))
            return false;
        same = false;
    }
    return same || postgres_job_may(j, &row) == MCP_OK;
}

/* ---- one row --------------------------------------------------------------------------------- */

/* Returns false if the number of values differs from the number of the key's columns. */
static bool set_key(postgres_job *j)
{
    if (!postgres_has_key(j->table) || j->table->n_key != j->target.n_key)
        return false;
    for (size_t i = 0; i < j->target.n_key; i++)
        j->op.value[i] = j->target.key[i].ptr;
    j->op.n_value = (int)j->target.n_key;
    return true;
}

static int put_row(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    if (!PQntuples(r) || j->rows) /* with inheritance, several rows may have the same key */
        return MCP_OK;
    if (PQnfields(r) != (int)j->table->n_column)
        return MCP_EPROTOCOL;
    int at[POSTGRES_URI_KEYS];
    for (size_t i = 0; i < j->target.n_key; i++)
        at[i] = (int)(postgres_table_key(j->table, i) - j->table->column);
    if (!is_spelled_so(j, r, at))
        return MCP_OK;
    mcp_json_begin_object(j->json);
    for (size_t i = 0; i < j->table->n_column; i++) {
        mcp_json_key(j->json, j->table->column[i].name);
        postgres_put_cell(j, r, (int)i, LONGEST_IN_ROW);
    }
    mcp_json_end(j->json);
    j->rows++;
    return MCP_OK;
}

/* A value that is invalid for the type of the key's column means that there is no such row. */
static void end_row(postgres_job *j, int rc)
{
    if (postgres_job_stale(j, rc))
        return;
    if (postgres_job_is_bad_value(j, rc) || (rc == MCP_OK && !j->rows))
        postgres_job_missing(j);
    else if (rc != MCP_OK)
        postgres_job_broken(j, rc);
    else
        postgres_job_reply_json(j);
}

static const char *row_sql(postgres_job *j)
{
    postgres_table *t = j->table;
    if (t->row_sql)
        return t->row_sql;
    postgres_sql_reset(&j->sql);
    postgres_put_columns(&j->sql, t, NULL);
    postgres_put_where_key(&j->sql, t);
    const char *text = postgres_sql_text(&j->sql);
    return t->row_sql = text ? common_copy(&j->s->base.alloc, text, strlen(text)) : NULL;
}

static void read_row(postgres_job *j)
{
    static const char *const names[] = {"format", NULL};
    j->is_row = true;
    if (!postgres_job_only(j, names) || !postgres_job_format(j))
        return;
    const char *sql = set_key(j) ? row_sql(j) : "";
    if (!sql) {
        postgres_job_finish(j, MCP_ENOMEM);
    } else if (!*sql) {
        postgres_job_missing(j);
    } else {
        j->op.statement = j->table->inert ? j->table->number : 0;
        j->op.inert = j->op.one = j->table->inert;
        postgres_job_run(j, sql, put_row, end_row);
    }
}

void postgres_run_row(postgres_job *j)
{
    postgres_job_with_table(j, read_row);
}

/* ---- pages of rows --------------------------------------------------------------------------- */

/* Returns the column of a parameter. Columns named like a parameter ("limit") are written in quotes:
 * ?%22limit%22=1. */
static const postgres_column *column_of(const postgres_table *t, mcp_str name)
{
    if (name.len > 2 && name.ptr[0] == '"' && name.ptr[name.len - 1] == '"')
        name = (mcp_str){name.ptr + 1, name.len - 2};
    return postgres_table_column(t, name);
}

static bool is_number_param(mcp_str name)
{
    return mcp_str_eq(name, MCP_STR("limit")) || mcp_str_eq(name, MCP_STR("offset"));
}

/* Appends a stable order, so that each page continues where the previous one ended. */
static void put_order(postgres_sql *sql, const postgres_table *t)
{
    for (size_t i = 0; postgres_has_key(t) && i < t->n_key; i++) {
        postgres_put(sql, i ? ", " : " ORDER BY ");
        postgres_put_name(sql, postgres_table_key(t, i)->name);
    }
}

static bool is_own_param(mcp_str name)
{
    return is_number_param(name) || mcp_str_eq(name, MCP_STR("format")) || common_contains_is(name);
}

/* Appends the conditions on columns. If one is invalid, makes the job fail and returns false. */
static bool put_conditions(postgres_job *j)
{
    const char *before = " WHERE ";
    j->op.n_value = 0;
    for (size_t i = 0; i < j->target.n_param; i++) {
        const mcp_uri_pair *p = &j->target.param[i];
        if (is_own_param(p->name))
            continue;
        const postgres_column *c = column_of(j->table, p->name);
        if (!c) {
            postgres_job_fail(j, MCP_CODE_INVALID_PARAMS,
                              "%.100s has no column %.100s; read %.150s for its columns",
                              j->table->name, p->name.ptr, j->table->name);
            return false;
        }
        j->op.inert = j->op.inert && postgres_column_is_plain(c);
        j->op.value[j->op.n_value++] = p->value.ptr;
        postgres_put(&j->sql, before);
        put_equal(&j->sql, c, (size_t)j->op.n_value);
        before = " AND ";
    }
    return true;
}

/* Reads the parameters of the page. If one is invalid, makes the job fail and returns false. */
static bool read_params(postgres_job *j)
{
    char why[300];
    uint64_t limit, usual = j->s->max_rows < DEFAULT_LIMIT ? j->s->max_rows : DEFAULT_LIMIT;
    if (!postgres_job_format(j) ||
        !postgres_job_number(j, "limit", 1, j->s->max_rows, usual, &limit) ||
        !postgres_job_number(j, "offset", 0, MAX_OFFSET, 0, &j->offset))
        return false;
    j->limit = (size_t)limit;
    if (common_contains_read(j->target.param, j->target.n_param, &j->contains, why))
        return true;
    postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", why);
    return false;
}

static void begin_page(postgres_job *j)
{
    mcp_json_begin_object(j->json);
    mcp_json_key(j->json, "columns");
    mcp_json_begin_array(j->json);
    for (size_t i = 0; i < j->table->n_column; i++)
        mcp_json_add_string(j->json, j->table->column[i].name);
    mcp_json_end(j->json);
    mcp_json_key(j->json, "rows");
    mcp_json_begin_array(j->json);
}

static int put_page_row(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    if (!PQntuples(r))
        return MCP_OK;
    if (PQnfields(r) != (int)j->table->n_column)
        return MCP_EPROTOCOL;
    if (j->rows == j->limit || (j->rows && j->size > j->s->max_bytes)) {
        bool last = j->rows == j->limit; /* the additional row that shows whether there are more */
        j->more = true;
        return last ? MCP_OK : MCP_PENDING;
    }
    mcp_json_begin_array(j->json);
    for (size_t i = 0; i < j->table->n_column; i++)
        postgres_put_cell(j, r, (int)i, LONGEST_IN_ROWS);
    mcp_json_end(j->json);
    j->rows++;
    return MCP_OK;
}

/* Adds the URI of the next page: the same URI with another offset. */
static void put_next(postgres_job *j)
{
    char number[2][24];
    postgres_target next = j->target;
    next.n_param = 0;
    for (size_t i = 0; i < j->target.n_param; i++)
        if (!is_number_param(j->target.param[i].name))
            next.param[next.n_param++] = j->target.param[i];
    if (next.n_param + 2 > POSTGRES_URI_PARAMS)
        return;
    snprintf(number[0], sizeof(number[0]), "%zu", j->limit);
    snprintf(number[1], sizeof(number[1]), "%" PRIu64, j->offset + (uint64_t)j->rows);
    next.param[next.n_param++] = (mcp_uri_pair){MCP_STR("limit"), mcp_str_from(number[0])};
    next.param[next.n_param++] = (mcp_uri_pair){MCP_STR("offset"), mcp_str_from(number[1])};
    postgres_sql_reset(&j->text);
    postgres_uri_put(&j->text, j->s->base.prefix, &next);
    mcp_json_put_string(j->json, "next", postgres_sql_text(&j->text));
}

/* The state 42883 means that the column's type has no operator "=". */
static void end_page(postgres_job *j, int rc)
{
    if (postgres_job_stale(j, rc))
        return;
    if (postgres_job_is_bad_value(j, rc) ||
        (rc == MCP_EREMOTE && strcmp(j->op.state, "42883") == 0)) {
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS,
                          "A column cannot be compared with the given value: %.200s; read "
                          "%.100s for its columns",
                          postgres_job_words(j, "its type does not have this value"),
                          j->target.name.ptr);
    } else if (rc != MCP_OK) {
        postgres_job_broken(j, rc);
    } else {
        mcp_json_end(j->json);
        if (j->more)
            put_next(j);
        mcp_json_end(j->json);
        postgres_job_reply_json(j);
    }
}

static void read_page(postgres_job *j)
{
    if (!read_params(j))
        return;
    postgres_sql_reset(&j->sql);
    postgres_put_columns(&j->sql, j->table, NULL);
    j->op.inert = j->table->inert;
    if (!put_conditions(j))
        return;
    if (j->contains.text.len && !postgres_put_contains(j)) {
        postgres_job_finish(j, MCP_ENOMEM);
        return;
    }
    put_order(&j->sql, j->table);
    postgres_putf(&j->sql, " LIMIT %zu OFFSET %llu", j->limit + 1, (unsigned long long)j->offset);
    begin_page(j);
    j->op.statement = 0;
    j->op.slow = true;
    postgres_job_run(j, NULL, put_page_row, end_page);
}

void postgres_run_rows(postgres_job *j)
{
    postgres_job_with_table(j, read_page);
}

/* ---- one value ------------------------------------------------------------------------------- */

/* The columns are the value's size in bytes, the requested part as bytea, and the key. */
static int put_cell(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    uint64_t size = 0;
    if (!PQntuples(r))
        return MCP_OK;
    int at[POSTGRES_URI_KEYS];
    for (size_t i = 0; i < j->target.n_key; i++)
        at[i] = 2 + (int)i;
    if (!is_spelled_so(j, r, at))
        return MCP_OK;
    j->rows++;
    j->is_null = PQgetisnull(r, 0, 0);
    if (j->is_null)
        return MCP_OK;
    for (const char *p = PQgetvalue(r, 0, 0); *p; p++)
        size = size * 10 + (uint64_t)(*p - '0');
    j->size = (size_t)size;
    mcp_str hex = {PQgetvalue(r, 0, 1), (size_t)PQgetlength(r, 0, 1)};
    size_t n = postgres_bytes(hex, NULL, 0);
    postgres_sql_reset(&j->text);
    if (common_buffer_reserve(&j->text.b, n + 1) != MCP_OK)
        return MCP_ENOMEM;
    postgres_bytes(hex, (unsigned char *)j->text.b.ptr, n);
    j->text.b.len = n;
    return MCP_OK;
}

static const char *mime_of(mcp_str bytes, bool text)
{
    if (text)
        return "text/plain";
    if (bytes.len >= 8 && memcmp(bytes.ptr, "\x89PNG\r\n\x1a\n", 8) == 0)
        return "image/png";
    if (bytes.len >= 3 && memcmp(bytes.ptr, "\xff\xd8\xff", 3) == 0)
        return "image/jpeg";
    if (bytes.len >= 5 && memcmp(bytes.ptr, "%PDF-", 5) == 0)
        return "application/pdf";
    return "application/octet-stream";
}

static void end_cell(postgres_job *j, int rc)
{
    bool whole =
        !postgres_uri_param(&j->target, "length") && !postgres_uri_param(&j->target, "offset");
    mcp_str bytes = {j->text.b.ptr ? j->text.b.ptr : "", j->text.b.len};
    if (postgres_job_stale(j, rc))
        return;
    if (postgres_job_is_bad_value(j, rc) || (rc == MCP_OK && !j->rows)) {
        postgres_job_missing(j);
    } else if (rc != MCP_OK) {
        postgres_job_broken(j, rc);
    } else if (j->is_null) {
        postgres_job_finish(j, mcp_reply_str(j->req, MCP_STR("null"), "application/json"));
    } else if (whole && j->size > j->s->max_read) {
        postgres_job_too_large(j, j->size);
    } else {
        bool text = postgres_table_column(j->table, j->target.column)->oid != POSTGRES_BYTEA &&
                    common_text_check(bytes);
        const char *mime = mime_of(bytes, text);
        postgres_job_finish(j, text ? mcp_reply_str(j->req, bytes, mime)
                                    : mcp_reply_bytes(j->req, bytes.ptr, bytes.len, mime));
    }
}

static bool only_range(postgres_job *j)
{
    static const char *const names[] = {"offset", "length", NULL};
    return postgres_job_only(j, names);
}

/* The database extracts the requested part, so large values are never transferred as a whole. */
static void read_cell(postgres_job *j)
{
    uint64_t offset, length;
    const postgres_column *c = postgres_table_column(j->table, j->target.column);
    if (!c || !set_key(j)) {
        postgres_job_missing(j);
        return;
    }
    bool range = postgres_uri_param(&j->target, "offset") != NULL;
    if (!only_range(j) || !postgres_job_number(j, "offset", 0, INT32_MAX - 1, 0, &offset) ||
        !postgres_job_number(j, "length", 1, j->s->max_read,
                             range ? DEFAULT_LENGTH : j->s->max_read, &length))
        return;
    postgres_sql_reset(&j->sql);
    postgres_put(&j->sql, "SELECT pg_catalog.octet_length(v), substring(v from ");
    postgres_putf(&j->sql, "%llu for %llu)", (unsigned long long)offset + 1,
                  (unsigned long long)length);
    for (size_t i = 0; i < j->target.n_key; i++)
        postgres_putf(&j->sql, ", k%zu", i);
    postgres_put(&j->sql, " FROM (SELECT ");
    if (c->oid != POSTGRES_BYTEA)
        postgres_put(&j->sql, "pg_catalog.convert_to(");
    postgres_put_name(&j->sql, c->name);
    if (c->oid != POSTGRES_BYTEA)
        postgres_put(&j->sql, "::pg_catalog.text, 'UTF8')");
    postgres_put(&j->sql, " AS v");
    for (size_t i = 0; i < j->target.n_key; i++) {
        postgres_put(&j->sql, ", ");
        postgres_put_name(&j->sql, postgres_table_key(j->table, i)->name);
        postgres_putf(&j->sql, " AS k%zu", i);
    }
    put_table(&j->sql, j->table);
    postgres_put_where_key(&j->sql, j->table);
    postgres_put(&j->sql, ") AS cell");
    j->op.statement = 0;
    j->op.inert = j->table->inert && postgres_column_is_plain(c);
    postgres_job_run(j, NULL, put_cell, end_cell);
}

void postgres_run_cell(postgres_job *j)
{
    postgres_job_with_table(j, read_cell);
}
