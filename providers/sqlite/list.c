/* list.c: resources/list: the database, then each table and view with its rows, then saved queries.
 *
 * Many hosts look at lists alone, so that the rows of a table are an entry beside the table. The position
 * is the name of a table: what is created or dropped meanwhile neither repeats nor hides another. Names
 * are collected first, because the page may come from a worker.
 */
#include "provider.h"

#include <stdio.h>

enum { AT_TABLE = 'T', AT_ROWS = 'R', AT_QUERY = 'Q' }; /* what came last */

typedef struct listing {
    sqlite *s;
    mcp_request *req;
    mcp_str after; /* the table that came last; of the request */
    char at;       /* 0: nothing did */
    size_t query;  /* the saved query to go on with */
    size_t max;    /* room that is left on the page */
    bool full;
    sqlite3_str *names; /* 't' or 'v', the name, NUL */
    atomic_bool stop;
    sqlite_conn *running;
    int rc, code;
    char text[256];
} listing;

/* ---- positions ------------------------------------------------------------------------------------------------ */

static int next_at(const listing *l, char at, mcp_str name)
{
    char *bytes = mcp_request_alloc(l->req, name.len + 1);
    if (!bytes)
        return MCP_ENOMEM;
    bytes[0] = at;
    if (name.len)
        memcpy(bytes + 1, name.ptr, name.len);
    return mcp_reply_next(l->req, (mcp_str){bytes, name.len + 1});
}

static int next_query(const listing *l, size_t i)
{
    char number[24];
    int n = snprintf(number, sizeof number, "%zu", i);
    return next_at(l, AT_QUERY, (mcp_str){number, (size_t)n});
}

static int read_position(listing *l, mcp_str cursor)
{
    uint64_t query = 0;
    if (!cursor.len)
        return MCP_OK;
    l->at = cursor.ptr[0];
    l->after = (mcp_str){cursor.ptr + 1, cursor.len - 1};
    if (l->at == AT_TABLE || l->at == AT_ROWS)
        return MCP_OK;
    if (l->at != AT_QUERY || !l->after.len || l->after.len > 9)
        return MCP_EINVAL;
    for (size_t i = 0; i < l->after.len; i++)
        query = query * 10 + (uint64_t)(l->after.ptr[i] - '0');
    l->query = (size_t)query;
    return query <= l->s->n_saved ? MCP_OK : MCP_EINVAL;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

static int put_names(listing *l, sqlite3_stmt *stmt)
{
    int rc;
    sqlite3_str_reset(l->names);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        mcp_str name = sqlite_text(stmt, 0);
        sqlite3_str_appendchar(l->names, 1, *sqlite_text(stmt, 1).ptr);
        sqlite3_str_append(l->names, name.ptr, (int)strlen(name.ptr));
        sqlite3_str_appendchar(l->names, 1, 0);
    }
    return rc == SQLITE_DONE ? sqlite3_str_errcode(l->names) : rc;
}

static int collect(sqlite_conn *c, void *user)
{
    listing *l = user;
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_prepare_list(c, &stmt);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text64(stmt, 1, l->after.len ? l->after.ptr : "", l->after.len,
                                 SQLITE_STATIC, SQLITE_UTF8);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(stmt, 2, (sqlite3_int64)(l->max / 2 + 2)); /* more than fit */
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int(stmt, 3, l->at == AT_TABLE);
    if (rc == SQLITE_OK)
        rc = put_names(l, stmt);
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- entries ------------------------------------------------------------------------------------------------------ */

static int reply_database(const listing *l)
{
    char title[160];
    snprintf(title, sizeof title, "Schema of %.100s", l->s->name);
    return mcp_reply_resource(
        l->req, MCP_OPTIONS(mcp_resource, .uri = l->s->prefix, .name = l->s->name, .title = title,
                            .mime_type = "application/json",
                            .annotations = MCP_OPTIONS(mcp_annotations, .has_priority = true,
                                                       .priority = 0.9)));
}

/* `uri` is a buffer that is used again for each entry. */
static int reply_entry(const listing *l, sqlite3_str *uri, const char *name, char kind, bool rows)
{
    static const size_t longest = 200;
    char title[240];
    sqlite3_str_reset(uri);
    sqlite3_str_appendall(uri, l->s->prefix);
    sqlite_uri_put_text(uri, mcp_str_from(name));
    if (rows)
        sqlite3_str_appendall(uri, "/rows");
    if (sqlite3_str_errcode(uri))
        return MCP_ENOMEM;
    snprintf(title, sizeof title, "%s", rows ? "Rows" : kind == 'v' ? "View" : "Table");
    if (strlen(name) < longest)
        snprintf(title, sizeof title, "%s%s",
                 rows          ? "Rows of "
                 : kind == 'v' ? "View "
                               : "Table ",
                 name);
    char *rows_name = rows ? sqlite3_mprintf("%s/rows", name) : NULL;
    int rc =
        mcp_reply_resource(l->req, MCP_OPTIONS(mcp_resource, .uri = sqlite3_str_value(uri),
                                               .name = rows_name ? rows_name : name, .title = title,
                                               .mime_type = "application/json"));
    sqlite3_free(rows_name);
    return rc;
}

/* The table's entry, or that of its rows, if there is room; else says how to go on and that it did. */
static int reply_one(listing *l, sqlite3_str *uri, const char *name, char kind, bool rows)
{
    if (l->max == 0) {
        l->full = true;
        return next_at(l, l->at, l->after);
    }
    int rc = reply_entry(l, uri, name, kind, rows);
    l->at = rows ? AT_ROWS : AT_TABLE;
    l->after = mcp_str_from(name);
    l->max--;
    return rc == MCP_EINVAL ? (l->max++, MCP_OK)
                            : rc; /* a name that is not UTF-8: JSON cannot have it */
}

static int reply_tables(listing *l)
{
    const char *p = sqlite3_str_value(l->names), *end = p + sqlite3_str_length(l->names);
    sqlite3_str *uri = sqlite3_str_new(NULL);
    int rc = MCP_OK;
    while (rc == MCP_OK && !l->full && p && p < end) {
        char kind = *p++;
        bool half = l->at == AT_TABLE && mcp_str_eq(l->after, mcp_str_from(p));
        if (!half)
            rc = reply_one(l, uri, p, kind, false);
        if (rc == MCP_OK && !l->full)
            rc = reply_one(l, uri, p, kind, true);
        p += strlen(p) + 1;
    }
    sqlite3_free(sqlite3_str_finish(uri));
    return rc;
}

static int reply_queries(listing *l)
{
    int rc = MCP_OK;
    for (; rc == MCP_OK && !l->full && l->query < l->s->n_saved; l->query++) {
        if (l->max == 0) {
            l->full = true;
            return next_query(l, l->query);
        }
        rc = sqlite_saved_reply(l->req, l->s, l->query);
        l->max--;
    }
    return rc;
}

static int reply(listing *l)
{
    int rc = l->rc;
    if (rc == MCP_OK && !l->at) {
        rc = reply_database(l);
        l->at = AT_ROWS; /* of nothing: before all tables */
        l->max--;
    }
    if (rc == MCP_OK)
        rc = reply_tables(l);
    if (rc == MCP_OK)
        rc = reply_queries(l);
    sqlite3_free(sqlite3_str_finish(l->names));
    if (rc == MCP_EREMOTE || rc == MCP_ETIMEOUT || rc == MCP_ENOTFOUND)
        return mcp_reply_fail(l->req, MCP_CODE_INTERNAL,
                              "The database %.100s cannot be read now: %.200s", l->s->name,
                              rc == MCP_EREMOTE ? l->text : mcp_error_text(rc));
    return rc;
}

/* ---- the list ------------------------------------------------------------------------------------------------------- */

static void work(void *user)
{
    listing *l = user;
    sqlite_bounds bounds = {.stop = &l->stop, .timeout_ms = l->s->timeout_ms};
    l->rc = sqlite_use_pooled(&l->s->file, &bounds, collect, l, &l->running, &l->code, l->text);
}

static void done(mcp_request *req, void *user)
{
    mcp_request_on_cancel(req, NULL, NULL);
    mcp_reply_finish(req, reply(user));
}

static void on_cancel(mcp_request *req, void *user)
{
    listing *l = user;
    (void)req;
    atomic_store_explicit(&l->stop, true, memory_order_relaxed);
    sqlite_interrupt(&l->s->file, &l->running);
}

static int list_far(listing *l)
{
    l->rc = MCP_ECANCELLED; /* should it never be begun */
    mcp_request_on_cancel(l->req, on_cancel, l);
    int rc = mcp_request_work(l->req, work, done, l);
    if (rc < 0) {
        mcp_request_on_cancel(l->req, NULL, NULL);
        sqlite3_free(sqlite3_str_finish(l->names));
    }
    return rc;
}

int sqlite_list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    static const sqlite_bounds near = {.near = true};
    sqlite *s = user;
    listing *l = mcp_request_alloc(req, sizeof *l);
    if (!l)
        return MCP_ENOMEM;
    memset(l, 0, sizeof *l);
    l->s = s;
    l->req = req;
    l->max = max;
    int rc = read_position(l, cursor);
    if (rc != MCP_OK)
        return rc;
    l->names = sqlite3_str_new(NULL);
    if (l->at == AT_QUERY)
        return reply(l);
    l->rc = sqlite_use(&s->file, &s->near, &near, collect, l, &l->code, l->text);
    return l->rc == MCP_PENDING ? list_far(l) : reply(l);
}
