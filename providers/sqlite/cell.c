/* cell.c: one cell as a resource, and as a value in a row.
 *
 * In a table with rowids, a BLOB or text is read through SQLite's incremental BLOB I/O. Its size is
 * known without reading it, and reading a part costs only that part and the way to it, because
 * SQLite follows a list of pages. Elsewhere the whole value is read, up to the limit.
 */
#include "provider.h"

#include <stdio.h>

#include "text.h"

/* ---- values in a row ------------------------------------------------------------------------- */

static bool can_probe(const sqlite_table *t, const sqlite_column *c)
{
    return t->kind == SQLITE_IS_TABLE && t->rowid && c->hidden == 0;
}

/* Finds out whether the encoding is UTF-8. Incremental I/O returns text in the database's
 * encoding, so it cannot be used with UTF-16. This is checked for each read, because an empty
 * database has no encoding yet. */
static int ask_encoding(sqlite_conn *conn, bool *utf8)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_prepare(conn, "PRAGMA encoding", &stmt);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    *utf8 = rc == SQLITE_ROW && mcp_str_eq(sqlite_text(stmt, 0), MCP_STR("UTF-8"));
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

void sqlite_put_column(sqlite3_str *sql, const sqlite_column *c, bool probed)
{
    if (probed)
        sqlite3_str_appendf(
            sql,
            "CASE WHEN typeof(\"%w\") IN ('text', 'blob') THEN NULL ELSE \"%w\" END, "
            "typeof(\"%w\")",
            c->name, c->name, c->name);
    else
        sqlite3_str_appendf(sql, "\"%w\"", c->name);
}

static void put_cell_uri(sqlite3_str *to, const sqlite_row *r, const sqlite_column *c)
{
    const sqlite_target *target = &r->job->target;
    sqlite3_str_appendall(to, r->job->s->base.prefix);
    sqlite_uri_put_text(to, mcp_str_from(r->table->name));
    sqlite3_str_appendall(to, "/cell/");
    sqlite_uri_put_text(to, mcp_str_from(c->name));
    if (r->key >= 0) {
        sqlite_put_key(to, r->table, r->stmt, r->key);
        return;
    }
    for (size_t i = 0; i < target->n_key; i++)
        sqlite_uri_put_key(to, target->key_type[i], target->key[i]);
}

/* Returns whether the row has a URI: without a rowid, one with a NULL in its key has none. */
static bool has_uri(const sqlite_row *r)
{
    return sqlite_table_has_key(r->table) &&
           (r->key < 0 || r->table->rowid || !sqlite_key_has_null(r->table, r->stmt, r->key));
}

/* Writes the description that replaces a large or binary value. */
static int put_reference(sqlite_row *r, const sqlite_column *c, const char *type,
                         sqlite3_int64 size)
{
    mcp_json_writer *w = r->job->json;
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "type", type);
    mcp_json_put_int(w, "size", size);
    r->size += 60;
    if (has_uri(r)) {
        sqlite3_str *uri = sqlite3_str_new(r->conn->db);
        put_cell_uri(uri, r, c);
        char *text = sqlite3_str_finish(uri);
        if (!text)
            return SQLITE_NOMEM;
        mcp_json_put_string(w, "uri", text);
        r->size += strlen(text);
        sqlite3_free(text);
    }
    mcp_json_end(w);
    return SQLITE_OK;
}

/* Writes a text or BLOB that is not in the result; it is read by the rowid. */
static int put_probed(sqlite_row *r, const sqlite_column *c, const char *type)
{
    sqlite3_blob *blob = NULL;
    bool utf8 = false;
    int rc = *type == 't' ? ask_encoding(r->conn, &utf8) : SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = sqlite3_blob_open(r->conn->db, "main", r->table->name, c->name,
                               sqlite3_column_int64(r->stmt, sqlite3_column_count(r->stmt) - 1), 0,
                               &blob);
    if (rc != SQLITE_OK)
        return rc;
    size_t size = (size_t)sqlite3_blob_bytes(blob);
    char *text = utf8 && size <= r->longest ? sqlite3_malloc64(size + 1) : NULL;
    if (text)
        rc = sqlite3_blob_read(blob, text, (int)size, 0);
    sqlite3_blob_close(blob);
    if (rc == SQLITE_OK && text && common_text_utf8((mcp_str){text, size})) {
        mcp_json_add_str(r->job->json, (mcp_str){text, size});
        r->size += size;
    } else if (rc == SQLITE_OK) {
        rc = put_reference(r, c, type, (sqlite3_int64)size);
    }
    sqlite3_free(text);
    return rc;
}

int sqlite_put_cell(sqlite_row *r, const sqlite_column *c, int at)
{
    const char *type = r->probed ? (const char *)sqlite3_column_text(r->stmt, at + 1) : NULL;
    if (type && (*type == 't' || *type == 'b'))
        return put_probed(r, c, *type == 't' ? "text" : "blob");
    if (sqlite_put_plain(r->job->json, r->stmt, at, r->longest, &r->size))
        return SQLITE_OK;
    bool blob = sqlite3_column_type(r->stmt, at) == SQLITE_BLOB;
    return put_reference(r, c, blob ? "blob" : "text", sqlite3_column_bytes(r->stmt, at));
}

/* ---- cells as resources ---------------------------------------------------------------------- */

enum { NEAR_PART = 256 << 10 }; /* limit of the end offset of reads on the server's thread */

typedef struct part {
    uint64_t offset, length; /* length 0 means up to the end */
} part;

static bool read_part(sqlite_job *j, part *ret)
{
    return sqlite_job_number(j, "offset", 0, INT32_MAX, 0, &ret->offset) &&
           sqlite_job_number(j, "length", 1, j->s->max_read, 0, &ret->length);
}

/* Computes the requested part of a value of `size` bytes. Returns false if it is too large. */
static bool clip(sqlite_job *j, const part *p, size_t size, size_t *from, size_t *len)
{
    *from = p->offset < size ? (size_t)p->offset : size;
    *len = size - *from;
    if (p->length && p->length < *len)
        *len = (size_t)p->length;
    if (*len <= j->s->max_read)
        return true;
    j->too_large = true;
    j->size = (sqlite3_int64)size;
    return false;
}

/* Recognizes, by their first bytes, formats that hosts can show. */
static const char *mime_of_blob(const char *bytes, size_t len)
{
    static const struct {
        size_t at;
        mcp_str magic;
        const char *mime;
    } known[] = {
        {0, {"\x89PNG\r\n\x1a\n", 8}, "image/png"},
        {0, {"\xff\xd8\xff", 3}, "image/jpeg"},
        {0, {"GIF8", 4}, "image/gif"},
        {8, {"WEBP", 4}, "image/webp"},
        {0, {"%PDF-", 5}, "application/pdf"},
        {0, {"PK\3\4", 4}, "application/zip"},
        {0, {"\x1f\x8b", 2}, "application/gzip"},
        {0, {"SQLite format 3", 16}, "application/vnd.sqlite3"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (len >= known[i].at + known[i].magic.len &&
            memcmp(bytes + known[i].at, known[i].magic.ptr, known[i].magic.len) == 0)
            return known[i].mime;
    return "application/octet-stream";
}

/* Sets the bytes of the answer and takes ownership of them. */
static void set_bytes(sqlite_job *j, char *bytes, size_t len, bool text, const part *p)
{
    j->bytes = bytes;
    j->len = len;
    j->is_text = text && common_text_utf8((mcp_str){bytes, len});
    j->mime = j->is_text          ? "text/plain"
              : p->offset || text ? "application/octet-stream"
                                  : mime_of_blob(bytes, len);
}

/* Reads a part of a BLOB. SQLite reaches an offset through a list of pages, which it follows
 * without interruption and then caches, so the offset is approached in pieces. */
static int read_bytes(sqlite_conn *c, sqlite3_blob *blob, char *to, size_t from, size_t len)
{
    enum { PIECE = 1 << 20 };
    char byte;
    int rc = SQLITE_OK;
    for (size_t at = PIECE; rc == SQLITE_OK && at < from; at += PIECE) {
        rc = sqlite3_blob_read(blob, &byte, 1, (int)at);
        if (rc == SQLITE_OK && !sqlite_spend(c, PIECE))
            rc = SQLITE_INTERRUPT;
    }
    return rc == SQLITE_OK ? sqlite3_blob_read(blob, to, (int)len, (int)from) : rc;
}

static int read_blob(sqlite_conn *c, sqlite_job *j, const sqlite_table *t, sqlite3_int64 rowid,
                     bool text, const part *p)
{
    sqlite3_blob *blob = NULL;
    size_t from, len;
    char *bytes = NULL;
    int rc = sqlite3_blob_open(c->db, "main", t->name, j->target.column.ptr, rowid, 0, &blob);
    if (rc == SQLITE_OK && clip(j, p, (size_t)sqlite3_blob_bytes(blob), &from, &len)) {
        rc = from + len > NEAR_PART ? sqlite_not_here(c) : SQLITE_OK;
        bytes = rc == SQLITE_OK ? sqlite3_malloc64(len + 1) : NULL;
        if (rc == SQLITE_OK)
            rc = bytes ? read_bytes(c, blob, bytes, from, len) : SQLITE_NOMEM;
    }
    sqlite3_blob_close(blob);
    if (rc == SQLITE_OK && bytes)
        set_bytes(j, bytes, len, text, p);
    else
        sqlite3_free(bytes);
    return rc;
}

/* Reads a value in the result. NULL is returned as JSON, numbers as text. */
static int read_value(sqlite_job *j, sqlite3_stmt *stmt, const part *p)
{
    size_t from, len;
    int type = sqlite3_column_type(stmt, 0);
    if (type == SQLITE_NULL) {
        mcp_json_add_null(j->json);
        return SQLITE_OK;
    }
    const char *value = type == SQLITE_BLOB ? sqlite3_column_blob(stmt, 0)
                                            : (const char *)sqlite3_column_text(stmt, 0);
    if (!clip(j, p, (size_t)sqlite3_column_bytes(stmt, 0), &from, &len))
        return SQLITE_OK;
    char *bytes = sqlite3_malloc64(len + 1);
    if (!bytes)
        return SQLITE_NOMEM;
    if (len)
        memcpy(bytes, value + from, len);
    set_bytes(j, bytes, len, type != SQLITE_BLOB, p);
    return SQLITE_OK;
}

/* Prepares the statement. Its columns are the value, unless it is a text or BLOB that is read
 * separately; its type; the key, and in a table with rowids, last, the rowid. */
static int prepare(sqlite_conn *c, sqlite_job *j, const sqlite_table *t,
                   const sqlite_column *column, bool probed, sqlite3_stmt **ret)
{
    sqlite3_str *sql = sqlite3_str_new(c->db);
    sqlite3_str_appendall(sql, "SELECT ");
    sqlite_put_column(sql, column, probed);
    sqlite_put_key_columns(sql, t);
    sqlite3_str_appendf(sql, " FROM main.\"%w\"", t->name);
    sqlite_put_where_key(sql, t, &j->target);
    int rc = sqlite_prepare_str(c, sql, ret);
    return rc == SQLITE_OK ? sqlite_bind_key(*ret, t, &j->target) : rc;
}

static int read_cell(sqlite_conn *c, sqlite_job *j, const sqlite_table *t,
                     const sqlite_column *column, const part *p)
{
    sqlite3_stmt *stmt = NULL;
    bool utf8, probed;
    int rc = ask_encoding(c, &utf8);
    probed = utf8 && can_probe(t, column);
    if (rc == SQLITE_OK)
        rc = prepare(c, j, t, column, probed, &stmt);
    if (rc == SQLITE_OK && (rc = sqlite_step_to_key(stmt, t, &j->target)) == SQLITE_ROW) {
        const char *type = probed ? (const char *)sqlite3_column_text(stmt, 1) : "";
        j->found = true;
        rc = type && (*type == 't' || *type == 'b')
                 ? read_blob(c, j, t, sqlite3_column_int64(stmt, sqlite3_column_count(stmt) - 1),
                             *type == 't', p)
                 : read_value(j, stmt, p);
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

int sqlite_run_cell(sqlite_conn *c, sqlite_job *j)
{
    sqlite_table *t = NULL;
    part p;
    static const char *const names[] = {"offset", "length", NULL};
    if (!sqlite_job_only(j, names) || !read_part(j, &p))
        return SQLITE_OK;
    int rc = sqlite3_exec(c->db, "BEGIN", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite_load_keyed(c, j, &t);
    const sqlite_column *column = t ? sqlite_table_column(t, j->target.column) : NULL;
    if (rc == SQLITE_OK && column)
        rc = read_cell(c, j, t, column, &p);
    sqlite_table_free(t);
    return rc;
}
