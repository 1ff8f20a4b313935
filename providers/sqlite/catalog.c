/* catalog.c: see catalog.h. */
#include "catalog.h"

#include "buffer.h"

#include <ctype.h>

int sqlite_prepare(sqlite_conn *c, const char *sql, sqlite3_stmt **ret)
{
    return sqlite3_prepare_v3(c->db, sql, -1, 0, ret, NULL);
}

/* Prepares a statement and frees its text. For a table with very many columns the text may exceed
 * the limit on statements of the schema, so a worker gets a higher limit. */
int sqlite_prepare_str(sqlite_conn *c, sqlite3_str *sql, sqlite3_stmt **ret)
{
    enum { LONGEST = 1000000 };
    char *text = sqlite3_str_finish(sql);
    int most = c->near ? -1 : LONGEST;
    int before = sqlite3_limit(c->db, SQLITE_LIMIT_SQL_LENGTH, most);
    int rc = text ? sqlite_prepare(c, text, ret) : SQLITE_NOMEM;
    sqlite3_limit(c->db, SQLITE_LIMIT_SQL_LENGTH, before);
    sqlite3_free(text);
    return rc;
}

/* "sqlite`" sorts directly after all names that begin with "sqlite_". */
#define LIST(after)                                                                          \
    "SELECT name, type, substr(sql, 1, 20) FROM main.sqlite_schema WHERE type IN ('table', " \
    "'view') AND name " after " ?1 AND (name < 'sqlite_' OR name >= 'sqlite`') "
#define NO_SHADOWS                                                                        \
    "AND name NOT IN (SELECT name FROM pragma_table_list WHERE schema = 'main' AND type " \
    "= 'shadow') "
#define IN_ORDER "ORDER BY name LIMIT ?2"

/* Excluding shadow tables costs as much as the rest of the query, because SQLite examines
 * every view and virtual table for it in one step. So the connection remembers whether shadow
 * tables may exist. */
int sqlite_prepare_list(sqlite_conn *c, bool from, sqlite3_stmt **ret)
{
    static const char *const sql[2][2] = {
        {LIST(">") IN_ORDER, LIST(">=") IN_ORDER},
        {LIST(">") NO_SHADOWS IN_ORDER, LIST(">=") NO_SHADOWS IN_ORDER}};
    if (!c->virtual_known) {
        sqlite3_stmt *stmt = NULL;
        int rc = sqlite_prepare(c,
                                "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND "
                                "rootpage = 0 LIMIT 1",
                                &stmt);
        if (rc == SQLITE_OK)
            rc = sqlite3_step(stmt);
        sqlite3_finalize(stmt);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            return rc;
        c->virtual_known = true;
        c->has_virtual = rc == SQLITE_ROW;
    }
    if (c->has_virtual && c->near)
        return sqlite_not_here(c);
    return sqlite_prepare(c, sql[c->has_virtual][from], ret);
}

mcp_str sqlite_text(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return (mcp_str){text ? text : "", (size_t)sqlite3_column_bytes(stmt, column)};
}

const char *sqlite_table_kind_name(const sqlite_table *t)
{
    static const char *const names[] = {"table", "view", "virtual table"};
    return names[t->kind];
}

void sqlite_table_free(sqlite_table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_column; i++) {
        common_release(t->alloc, t->column[i].name);
        common_release(t->alloc, t->column[i].type);
        common_release(t->alloc, t->column[i].value);
    }
    common_release(t->alloc, t->column);
    common_release(t->alloc, t->name);
    common_release(t->alloc, t->sql);
    common_release(t->alloc, t);
}

/* ---- columns --------------------------------------------------------------------------------- */

static bool contains(const char *type, const char *word)
{
    size_t len = strlen(word);
    for (; *type; type++)
        if (sqlite3_strnicmp(type, word, (int)len) == 0)
            return true;
    return false;
}

/* Determines a column's affinity as in "Determination Of Column Affinity" of SQLite's
 * datatype3.html, as far as comparisons depend on it. */
static sqlite_affinity affinity_of(const char *type)
{
    if (contains(type, "INT"))
        return SQLITE_AFFINITY_NUMBER;
    if (contains(type, "CHAR") || contains(type, "CLOB") || contains(type, "TEXT"))
        return SQLITE_AFFINITY_TEXT;
    return !*type || contains(type, "BLOB") ? SQLITE_AFFINITY_NONE : SQLITE_AFFINITY_NUMBER;
}

static char *copy_column(const sqlite_table *t, sqlite3_stmt *stmt, int i, bool *ok)
{
    if (sqlite3_column_type(stmt, i) == SQLITE_NULL)
        return NULL;
    mcp_str text = sqlite_text(stmt, i);
    char *copy = common_copy(t->alloc, text.ptr, text.len);
    *ok = *ok && copy;
    return copy;
}

static int add_column(sqlite_table *t, sqlite3_stmt *stmt)
{
    size_t n = t->n_column;
    bool ok = true;
    if ((n & (n - 1)) == 0) {
        size_t cap = n ? n * 2 : 1;
        void *grown = t->column
                          ? t->alloc->resize(t->column, cap * sizeof(*t->column), t->alloc->user)
                          : common_alloc(t->alloc, cap * sizeof(*t->column));
        if (!grown)
            return SQLITE_NOMEM;
        t->column = grown;
    }
    sqlite_column *c = &t->column[t->n_column++];
    *c = (sqlite_column){.not_null = sqlite3_column_int(stmt, 2) != 0,
                         .key = sqlite3_column_int(stmt, 4),
                         .hidden = sqlite3_column_int(stmt, 5)};
    c->name = copy_column(t, stmt, 0, &ok);
    c->type = copy_column(t, stmt, 1, &ok);
    c->value = copy_column(t, stmt, 3, &ok);
    if (!ok || !c->name)
        return SQLITE_NOMEM;
    c->affinity = affinity_of(c->type ? c->type : "");
    if (c->key > 0 && c->key <= SQLITE_MAX_KEY)
        t->key[c->key - 1] = n;
    if (c->key > 0)
        t->n_key = t->n_key > (size_t)c->key ? t->n_key : (size_t)c->key;
    return SQLITE_OK;
}

static int load_columns(sqlite_conn *c, sqlite_table *t)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_prepare(c,
                            "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM "
                            "pragma_table_xinfo(?1, 'main')",
                            &stmt);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, t->name, -1, SQLITE_STATIC);
    while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
        rc = add_column(t, stmt);
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- rowid ----------------------------------------------------------------------------------- */

static bool is_column(const sqlite_table *t, const char *name)
{
    for (size_t i = 0; i < t->n_column; i++)
        if (sqlite3_stricmp(t->column[i].name, name) == 0)
            return true;
    return false;
}

/* Finds the name of the rowid. In a WITHOUT ROWID table the statement is invalid. */
static int find_rowid(sqlite_conn *c, sqlite_table *t)
{
    static const char *const names[] = {"rowid", "_rowid_", "oid"};
    sqlite3_stmt *stmt = NULL;
    size_t i = 0;
    while (i < 3 && is_column(t, names[i]))
        i++;
    if (i == 3 || t->kind == SQLITE_IS_VIEW)
        return SQLITE_OK;
    sqlite3_str *sql = sqlite3_str_new(c->db);
    sqlite3_str_appendf(sql, "SELECT %s FROM main.\"%w\"", names[i], t->name);
    int rc = sqlite_prepare_str(c, sql, &stmt);
    sqlite3_finalize(stmt);
    if (rc == SQLITE_OK)
        t->rowid = names[i];
    return (rc & 0xff) == SQLITE_ERROR ? SQLITE_OK : rc;
}

bool sqlite_is_plain(const char *sql)
{
    static const char beginning[] = "CREATE TABLE";
    int len = (int)sizeof(beginning) - 1;
    return sql && sqlite3_strnicmp(sql, beginning, len) == 0 && isspace((unsigned char)sql[len]);
}

enum {
    COMPUTED = 1 << 20
}; /* bytes of the largest value that is computed or used
                              * in a computation */

/* Returns whether a read computes nothing. A generated column that is computed when it is read may
 * take any time. */
static bool is_stored(const sqlite_table *t)
{
    for (size_t i = 0; i < t->n_column; i++)
        if (t->column[i].hidden == 2)
            return false;
    return true;
}

const char *sqlite_table_trouble(sqlite_conn *c, const char *name)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3_str *sql = sqlite3_str_new(c->db);
    sqlite3_str_appendf(sql, "SELECT 1 FROM main.\"%w\"", name);
    int rc = sqlite_prepare_str(c, sql, &stmt);
    sqlite3_finalize(stmt);
    return rc == SQLITE_OK ? NULL : sqlite3_errmsg(c->db);
}

static int fill(sqlite_conn *c, sqlite_table *t, sqlite3_stmt *stmt)
{
    bool ok = true;
    bool view = sqlite3_stricmp((const char *)sqlite3_column_text(stmt, 1), "view") == 0;
    t->name = copy_column(t, stmt, 0, &ok);
    t->sql = copy_column(t, stmt, 2, &ok);
    t->kind = view                               ? SQLITE_IS_VIEW
              : sqlite3_column_int(stmt, 3) == 0 ? SQLITE_IS_VIRTUAL
                                                 : SQLITE_IS_TABLE;
    if (!ok || !t->name)
        return SQLITE_NOMEM;
    int rc = sqlite_is_plain(t->sql) ? SQLITE_OK : sqlite_not_here(c);
    if (rc == SQLITE_OK)
        rc = load_columns(c, t);
    if (rc == SQLITE_OK && !is_stored(t)) {
        sqlite_limit_values(c, COMPUTED); /* all columns of a row are computed in one step */
        rc = sqlite_not_here(c);
    }
    if (view && (rc & 0xff) == SQLITE_ERROR)
        rc = SQLITE_OK;
    if (t->n_key > SQLITE_MAX_KEY) /* a prefix of the key would identify other rows too */
        t->n_key = 0;
    return rc == SQLITE_OK ? find_rowid(c, t) : rc;
}

int sqlite_table_load(sqlite_conn *c, mcp_str name, const mcp_allocator *alloc, sqlite_table **ret)
{
    sqlite3_stmt *stmt = NULL;
    sqlite_table *t = NULL;
    *ret = NULL;
    int rc = sqlite_prepare(
        c,
        "SELECT name, type, sql, rootpage FROM main.sqlite_schema WHERE name = ?1 AND "
        "type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'",
        &stmt);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text64(stmt, 1, name.ptr, name.len, SQLITE_STATIC, SQLITE_UTF8);
    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        t = common_alloc(alloc, sizeof(*t));
        if (t)
            *t = (sqlite_table){.alloc = alloc};
        rc = t ? fill(c, t, stmt) : SQLITE_NOMEM;
    }
    sqlite3_finalize(stmt);
    if (t && t->name && (rc & 0xff) == SQLITE_ERROR) /* the pragma did not say what is wrong */
        (void)sqlite_table_trouble(c, t->name);
    if (rc == SQLITE_OK)
        *ret = t;
    else
        sqlite_table_free(t);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- keys ------------------------------------------------------------------------------------ */

bool sqlite_table_has_key(const sqlite_table *t)
{
    return sqlite_table_key_count(t) > 0;
}

size_t sqlite_table_key_count(const sqlite_table *t)
{
    return t->n_key ? t->n_key : t->rowid != NULL;
}

const sqlite_column *sqlite_table_key(const sqlite_table *t, size_t i)
{
    return t->n_key ? &t->column[t->key[i]] : NULL;
}

const sqlite_column *sqlite_table_column(const sqlite_table *t, mcp_str name)
{
    for (size_t i = 0; i < t->n_column; i++)
        if (mcp_str_eq(mcp_str_from(t->column[i].name), name))
            return &t->column[i];
    return NULL;
}
