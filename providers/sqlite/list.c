/* list.c: resources/list: the database, then each table and view with its rows, then saved queries.
 *
 * Many hosts use only lists, so the rows of a table are a separate entry. A position is the name of
 * a table, so creating or dropping tables between two pages does not repeat or hide others. Strings
 * are collected first, because a worker may make the page. The last page that was made on the
 * server's thread is cached until the schema changes.
 */
#include "provider.h"

#include <stdio.h>

enum { AT_TABLE = 'T', AT_ROWS = 'R', AT_QUERY = 'Q' }; /* kind of the last entry */

typedef struct listing {
    sqlite *s;
    mcp_request *req;
    mcp_str after; /* the last table; points into the request */
    char at;       /* kind of the last entry; 0 at the beginning */
    size_t query;  /* index of the next saved query */
    size_t max;    /* remaining room on the page */
    bool full;
    common_buffer
        texts; /* for each table its URI, name, URI of its rows, and name of its rows, each
                * followed by NUL */
    const common_buffer *from; /* `texts`, or the cached page */
    sqlite_far far;
} listing;

/* ---- positions ------------------------------------------------------------------------------- */

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
    int n = snprintf(number, sizeof(number), "%zu", i);
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
    return query <= l->s->base.queries.n ? MCP_OK : MCP_EINVAL;
}

/* ---- strings --------------------------------------------------------------------------------- */

static int put(common_buffer *to, const char *a, const char *b, const char *c)
{
    const char *const parts[] = {a, b, c};
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < 3; i++)
        rc = common_buffer_append(to, parts[i], strlen(parts[i]) + (i == 2));
    return rc;
}

static int put_table(listing *l, const char *name, sqlite3_str *encoded)
{
    sqlite3_str_reset(encoded);
    sqlite_uri_put_text(encoded, (mcp_str){name, strlen(name)});
    const char *segment = sqlite3_str_value(encoded), *prefix = l->s->base.prefix;
    if (!segment)
        return SQLITE_NOMEM;
    if (put(&l->texts, prefix, segment, "") != MCP_OK || put(&l->texts, name, "", "") != MCP_OK ||
        put(&l->texts, prefix, segment, "/rows") != MCP_OK ||
        put(&l->texts, name, "", "/rows") != MCP_OK)
        return SQLITE_NOMEM;
    return SQLITE_OK;
}

static int put_tables(listing *l, sqlite3_stmt *stmt)
{
    int rc = SQLITE_OK;
    sqlite3_str *encoded = sqlite3_str_new(NULL);
    l->texts.len = 0;
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        rc = put_table(l, sqlite_text(stmt, 0).ptr, encoded);
    sqlite3_free(sqlite3_str_finish(encoded));
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Returns whether the cached page is the requested one and its schema is current. */
static bool is_cached(const sqlite_cached_list *k, const listing *l, const sqlite_conn *c,
                      int64_t schema)
{
    return k->max == l->max && k->at == l->at && k->conn == c->number && k->schema == schema &&
           mcp_str_eq((mcp_str){k->after, k->after_len}, l->after);
}

static void keep(const listing *l, const sqlite_conn *c, int64_t schema)
{
    sqlite_cached_list *k = &l->s->cached;
    k->max = 0;
    k->texts.len = 0;
    if (l->after.len > sizeof(k->after) || l->texts.len > SQLITE_MOST_KEPT ||
        common_buffer_append(&k->texts, l->texts.ptr, l->texts.len) != MCP_OK)
        return;
    k->max = l->max;
    k->at = l->at;
    k->conn = c->number;
    k->schema = schema;
    k->after_len = l->after.len;
    if (l->after.len)
        memcpy(k->after, l->after.ptr, l->after.len);
}

static int schema_version(sqlite_conn *c, int64_t *ret)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_prepare(c, "PRAGMA schema_version", &stmt);
    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        *ret = sqlite3_column_int64(stmt, 0);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int collect(sqlite_conn *c, void *user)
{
    listing *l = user;
    sqlite3_stmt *stmt = NULL;
    int64_t schema = 0;
    size_t most = l->max / 2 + 2; /* at least as many as fit */
    int rc = schema_version(c, &schema);
    l->from = &l->s->cached.texts;
    if (rc == SQLITE_OK && c->near && is_cached(&l->s->cached, l, c, schema))
        return SQLITE_OK;
    l->from = &l->texts;
    if (rc == SQLITE_OK)
        rc = sqlite_prepare_list(c, l->at == AT_TABLE, &stmt);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text64(stmt, 1, l->after.len ? l->after.ptr : "", l->after.len,
                                 SQLITE_STATIC, SQLITE_UTF8);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(stmt, 2, (sqlite3_int64)most);
    if (rc == SQLITE_OK)
        rc = put_tables(l, stmt);
    sqlite3_finalize(stmt);
    if (rc == SQLITE_OK && c->near)
        keep(l, c, schema);
    return rc;
}

/* ---- entries --------------------------------------------------------------------------------- */

static int reply_database(const listing *l)
{
    char title[160];
    snprintf(title, sizeof(title), "Schema of %.100s", l->s->base.name);
    return mcp_reply_resource(
        l->req, MCP_OPTIONS(mcp_resource, .uri = l->s->base.prefix, .name = l->s->base.name,
                            .title = title, .mime_type = "application/json",
                            .annotations = MCP_OPTIONS(mcp_annotations, .has_priority = true,
                                                       .priority = 0.9)));
}

/* Adds the entry of a table or of its rows if there is room, otherwise the next cursor. `table` is
 * the name of the table. */
static int reply_one(listing *l, const char *uri, const char *name, const char *table, bool rows)
{
    if (l->max == 0) {
        l->full = true;
        return next_at(l, l->at, l->after);
    }
    int rc = mcp_reply_resource(l->req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = name,
                                                    .mime_type = "application/json"));
    l->at = rows ? AT_ROWS : AT_TABLE;
    l->after = mcp_str_from(table);
    l->max -= rc == MCP_OK;
    return rc == MCP_EINVAL ? MCP_OK : rc; /* a name that is not UTF-8, which JSON does not allow */
}

static const char *next_text(const char **p)
{
    const char *text = *p;
    *p += strlen(text) + 1;
    return text;
}

static int reply_tables(listing *l)
{
    const char *p = l->from ? l->from->ptr : NULL, *end = p ? p + l->from->len : NULL;
    int rc = MCP_OK;
    while (rc == MCP_OK && !l->full && p < end) {
        const char *uri = next_text(&p), *name = next_text(&p);
        const char *rows_uri = next_text(&p), *rows_name = next_text(&p);
        if (l->at != AT_TABLE || !mcp_str_eq(l->after, mcp_str_from(name)))
            rc = reply_one(l, uri, name, name, false);
        if (rc == MCP_OK && !l->full)
            rc = reply_one(l, rows_uri, rows_name, name, true);
    }
    return rc;
}

static int reply_queries(listing *l)
{
    int rc = MCP_OK;
    for (; rc == MCP_OK && !l->full && l->query < l->s->base.queries.n; l->query++) {
        if (l->max == 0) {
            l->full = true;
            return next_query(l, l->query);
        }
        rc = common_query_reply(l->req, &l->s->base.queries.query[l->query]);
        l->max--;
    }
    return rc;
}

static int reply(listing *l)
{
    int rc = l->far.rc;
    if (rc == MCP_OK && !l->at) {
        rc = reply_database(l);
        l->at = AT_ROWS; /* with an empty name, before all tables */
        l->max--;
    }
    if (rc == MCP_OK)
        rc = reply_tables(l);
    if (rc == MCP_OK)
        rc = reply_queries(l);
    if (rc == MCP_EREMOTE || rc == MCP_ETIMEOUT || rc == MCP_ENOTFOUND)
        return mcp_reply_fail(l->req, MCP_CODE_INTERNAL,
                              "The database %.100s cannot be read now: %.200s", l->s->base.name,
                              rc == MCP_EREMOTE ? sqlite_words(l->req, l->far.text)
                                                : mcp_error_text(rc));
    return rc;
}

/* ---- list ------------------------------------------------------------------------------------ */

static void drop(void *user)
{
    listing *l = user;
    common_buffer_free(&l->texts);
}

static int end(void *user)
{
    int rc = reply(user);
    drop(user);
    return rc;
}

int sqlite_list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    sqlite *s = user;
    listing *l = mcp_request_alloc(req, sizeof(*l));
    if (!l)
        return MCP_ENOMEM;
    memset(l, 0, sizeof(*l));
    l->s = s;
    l->req = req;
    l->max = max;
    int rc = read_position(l, cursor);
    if (rc != MCP_OK)
        return rc;
    common_buffer_init(&l->texts, &s->base.alloc);
    if (l->at == AT_QUERY)
        return end(l);
    l->far = (sqlite_far){.s = s, .req = req, .use = collect, .end = end, .drop = drop, .user = l};
    return sqlite_far_run(&l->far, false);
}
