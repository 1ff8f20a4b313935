/* provider.c: mounts a database with its templates, its saved queries and the tool. */
#define _GNU_SOURCE
#include "provider.h"

#include <limits.h>
#include <stdlib.h>

/* ---- templates ------------------------------------------------------------------------------- */

static const common_template templates[] = {
    {"{?named,format}", "schema", "Schema of the database",
     "All tables and views with their columns; format=text: as SQL; named=TEXT: only the columns "
     "whose name contains a text",
     "application/json"},
    {"{table}{?format}", "table", "Table or view",
     "Columns, indexes, foreign keys; format=text: as SQL", "application/json"},
    {"{table}/rows{?contains,icontains,limit,offset,format}", "rows", "Rows of a table",
     "Up to limit rows (default 100) from offset on. Add COLUMN=VALUE to the query for rows in "
     "which a column has a value; contains=TEXT: in which any column contains a text, icontains: "
     "ignoring case; format=text: as a Markdown table",
     "application/json"},
    {"{table}/row{/key*}{?format}", "row", "Row by its key",
     "One row by its primary key (several parts: in their order), or by its rowid if it has none",
     "application/json"},
    {"{table}/cell/{column}{/key*}{?offset,length}", "cell", "Value of one column",
     "The text or the bytes of one cell; of a large one: length bytes from offset on", NULL},
};

/* ---- mounting -------------------------------------------------------------------------------- */

static void clear(common_source *base)
{
    sqlite *s = (sqlite *)base;
    sqlite_conn_free(s->near);
    common_buffer_free(&s->cached.texts);
    sqlite_file_clear(&s->file);
}

/* Writes the canonical form of a URI. */
static int canonical(common_source *base, mcp_str rest, char *texts, common_buffer *to)
{
    sqlite_target target;
    int rc = sqlite_uri_parse(rest, texts, &target);
    if (rc == MCP_OK && target.kind == SQLITE_KIND_QUERY && base->server &&
        !common_queries_find(&base->queries, target.table))
        rc = MCP_ENOTFOUND;
    if (rc != MCP_OK)
        return rc;
    target.n_param = 0;
    sqlite3_str *made = sqlite3_str_new(NULL);
    sqlite_uri_put(made, "", &target);
    char *text = sqlite3_str_finish(made);
    rc = text && common_put(to, text) ? MCP_OK : MCP_ENOMEM;
    sqlite3_free(text);
    return rc;
}

static int spell(const char *prefix, mcp_str uri, char *canonical, size_t room);

static const common_source_kind kind = {
    .provider = {.size = sizeof(mcp_provider),
                 .name = "sqlite",
                 .list = sqlite_list,
                 .read = sqlite_read,
                 .resolve = common_source_resolve,
                 .watch = common_source_watch,
                 .unwatch = common_source_unwatch,
                 .watch_list = common_source_watch_list,
                 .unwatch_list = common_source_unwatch_list,
                 .release = common_source_free},
    .noun = "database",
    .templates = {templates, sizeof(templates) / sizeof(*templates), sqlite_read_template,
                  sqlite_complete},
    .tool = &sqlite_tool,
    .canonical = canonical,
    .spell = spell,
    .texts_room = SQLITE_URI_ROOM,
    .begin = sqlite_watch_begin,
    .look = sqlite_watch_look,
    .concerns = sqlite_watch_concerns,
    .clear = clear,
};

static int spell(const char *prefix, mcp_str uri, char *canonical, size_t room)
{
    return common_source_spell(&kind, prefix, uri, canonical, room);
}

/* Returns the file's name without a common suffix. */
static mcp_str default_name(const char *path)
{
    static const char *const endings[] = {".db", ".db3", ".sqlite", ".sqlite3"};
    const char *slash = strrchr(path, '/');
    mcp_str name = mcp_str_from(slash ? slash + 1 : path);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        size_t len = strlen(endings[i]);
        if (name.len > len && memcmp(name.ptr + name.len - len, endings[i], len) == 0)
            return (mcp_str){name.ptr, name.len - len};
    }
    return name;
}

static int check_use(sqlite_conn *c, void *user)
{
    (void)user;
    return sqlite3_exec(c->db, "SELECT 1 FROM main.sqlite_schema LIMIT 1", NULL, NULL, NULL);
}

/* Checks whether the file is a database. A file that is locked is accepted. */
static int check_database(sqlite *s, const char *path, mcp_error *error)
{
    static const sqlite_bounds near = {.near = true};
    int code;
    char text[256];
    int rc = sqlite_use(&s->file, &s->near, &near, check_use, NULL, &code, text);
    if (rc == MCP_EREMOTE)
        return common_refuse(error, MCP_EACCESS, path, text);
    return rc == MCP_PENDING ? MCP_OK : rc;
}

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_sqlite_options, max_rows, COMMON_MAX_ROWS),
    MCP_DEFAULT(mcp_sqlite_options, max_bytes, COMMON_MAX_BYTES),
    MCP_DEFAULT(mcp_sqlite_options, max_read, COMMON_MAX_READ),
    MCP_DEFAULT(mcp_sqlite_options, answer_tokens, COMMON_QUERY_TOKENS),
    MCP_DEFAULT(mcp_sqlite_options, timeout_ms, COMMON_TIMEOUT_MS),
};

/* Makes the source without looking at its file. *ret must be freed, also after a failure. */
static int make(mcp_server *server, const mcp_sqlite_options *given, sqlite **ret, mcp_error *error)
{
    mcp_sqlite_options filled = *given, *o = &filled;
    MCP_SET_DEFAULTS(o, defaults);
    *ret = NULL;
    if (!o->path || !*o->path)
        return common_refuse(error, MCP_EINVAL, "sqlite",
                             "the database is missing: write sqlite:FILE");
    sqlite *s = *ret = (sqlite *)common_source_new(&kind, sizeof(*s), server, o->allocator);
    if (!s)
        return MCP_ENOMEM;
    s->max_rows = (size_t)o->max_rows;
    s->max_bytes = (size_t)o->max_bytes;
    s->max_read = (size_t)o->max_read;
    s->answer_tokens = (size_t)o->answer_tokens;
    s->timeout_ms = o->timeout_ms;
    s->base.explain = o->explain;
    s->sample_rows = o->sample_rows;
    common_buffer_init(&s->cached.texts, &s->base.alloc);
    sqlite_file_init(&s->file, &s->base.alloc);
    s->file.max_value = s->max_read < INT_MAX / 2 ? s->max_read : INT_MAX / 2;
    int rc = common_set_name(&s->base.alloc, "sqlite",
                             o->name ? mcp_str_from(o->name) : default_name(o->path), o->path,
                             &s->base.name, &s->base.prefix, error);
    return rc == MCP_OK ? common_queries_load(&s->base.queries, NULL, &s->base.alloc,
                                              s->base.prefix, o->queries, error)
                        : rc;
}

static int make_open(mcp_server *server, const mcp_sqlite_options *o, sqlite **ret,
                     mcp_error *error)
{
    int rc = make(server, o, ret, error);
    if (rc == MCP_OK)
        rc = sqlite_file_find(&(*ret)->file, o->path, error);
    if (rc == MCP_OK)
        rc = check_database(*ret, o->path, error);
    return rc == MCP_OK ? sqlite_saved_check(*ret, error) : rc;
}

int mcp_sqlite_mount(mcp_server *server, const mcp_sqlite_options *options, mcp_error *error)
{
    sqlite *s;
    mcp_sqlite_options o = {0};
    memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
    int rc = make_open(server, &o, &s, error);
    if (rc == MCP_OK)
        return common_source_mount(&s->base, o.tool, o.path, error);
    common_source_free(s);
    return rc;
}

/* ---- options as JSON ------------------------------------------------------------------------- */

const char mcp_sqlite_schema[] = COMMON_DATABASE_SCHEMA(
    "",
    COMMON_QUERIES_SCHEMA(
        ":NAME", "",
        "\"type\":{\"enum\":[\"text\",\"integer\",\"number\"],\"description\":\"Default text\"},"));

/* Reads the options. `tool` is a buffer for the tool's name. */
static int read_options(const char *path, const mcp_json *json, const char *name,
                        const mcp_allocator *allocator, char tool[COMMON_TOOL_NAME + 1],
                        mcp_sqlite_options *ret, mcp_error *error)
{
    *ret =
        (mcp_sqlite_options){.size = sizeof(*ret),
                             .path = path,
                             .name = name,
                             .max_rows = common_number(json, "max_rows"),
                             .max_bytes = common_number(json, "max_bytes"),
                             .max_read = common_number(json, "max_read"),
                             .answer_tokens = common_number(json, "answer_tokens"),
                             .timeout_ms = common_number(json, "timeout_ms"),
                             .queries = mcp_json_get(json, "queries"),
                             .sample_rows = mcp_json_bool(mcp_json_get(json, "sample_rows"), false),
                             .explain = mcp_json_bool(mcp_json_get(json, "explain"), false),
                             .allocator = allocator};
    return common_text(json, "tool", tool, COMMON_TOOL_NAME + 1, &ret->tool, error);
}

int mcp_sqlite_mount_json(mcp_server *server, const char *path, const mcp_json *options,
                          const char *name, const mcp_allocator *allocator, mcp_error *error)
{
    char tool[COMMON_TOOL_NAME + 1];
    mcp_sqlite_options o;
    int rc = read_options(path, options, name, allocator, tool, &o, error);
    return rc == MCP_OK ? mcp_sqlite_mount(server, &o, error) : rc;
}

/* Describes the source and frees it. The paths are the database and the files that SQLite keeps
 * beside it, with symbolic links resolved. SQLite writes to the -shm file for readers as well. */
static int describe(sqlite *s, const mcp_sqlite_options *o, const mcp_description *to,
                    mcp_error *error)
{
    enum { BESIDE = 3 };
    static const char *const endings[BESIDE] = {"-wal", "-shm", "-journal"};
    mcp_source_path paths[1 + BESIDE];
    common_buffer names[BESIDE];
    char *real = realpath(o->path, NULL);
    bool ok = true;
    paths[0] = (mcp_source_path){.size = sizeof(*paths), .replaced = true, .path = o->path};
    for (size_t i = 0; i < BESIDE; i++) {
        common_buffer_init(&names[i], &s->base.alloc);
        ok = ok && common_put(&names[i], real ? real : o->path) &&
             common_put(&names[i], endings[i]) && common_buffer_append(&names[i], "", 1) == MCP_OK;
        paths[i + 1] = (mcp_source_path){
            .size = sizeof(*paths), .write = i == 1, .replaced = true, .path = names[i].ptr};
    }
    free(real);
    int rc = MCP_ENOMEM;
    if (ok)
        rc = common_source_describe(&s->base, o->tool, o->path, paths, 1 + BESIDE, to, error);
    else
        common_source_free(s);
    for (size_t i = 0; i < BESIDE; i++)
        common_buffer_free(&names[i]);
    return rc;
}

int mcp_sqlite_describe_json(const char *path, const mcp_json *options, const char *name,
                             const mcp_allocator *allocator, const mcp_description *to,
                             mcp_error *error)
{
    char tool[COMMON_TOOL_NAME + 1];
    mcp_sqlite_options o;
    sqlite *s = NULL;
    int rc = read_options(path, options, name, allocator, tool, &o, error);
    if (rc == MCP_OK)
        rc = make(NULL, &o, &s, error);
    if (rc == MCP_OK)
        return describe(s, &o, to, error);
    common_source_free(s);
    return rc;
}

int mcp_sqlite_look_json(const char *path, const mcp_json *options, const char *name,
                         const mcp_allocator *allocator, mcp_error *error)
{
    mcp_allocator alloc = common_allocator(allocator);
    (void)options, (void)name;
    return sqlite_file_check(path, &alloc, error);
}

int mcp_sqlite_check_json(const char *path, const mcp_json *options, const char *name,
                          const mcp_allocator *allocator, mcp_error *error)
{
    enum { LONGEST_MS = 2000 };
    char tool[COMMON_TOOL_NAME + 1], text[256];
    mcp_sqlite_options o;
    sqlite_conn *conn = NULL;
    sqlite *s = NULL;
    int code;
    int rc = read_options(path, options, name, allocator, tool, &o, error);
    if (rc == MCP_OK)
        rc = make_open(NULL, &o, &s, error);
    if (rc != MCP_OK) {
        common_source_free(s);
        return rc;
    }
    sqlite_bounds bounds = {.timeout_ms = s->timeout_ms < LONGEST_MS ? s->timeout_ms : LONGEST_MS};
    rc = sqlite_use(&s->file, &conn, &bounds, check_use, NULL, &code, text);
    if (rc != MCP_OK)
        common_explain(error, rc, path,
                       rc == MCP_ETIMEOUT ? "another program keeps it locked"
                       : text[0]          ? text
                                          : mcp_error_text(rc));
    sqlite_conn_free(conn);
    common_source_free(s);
    return rc;
}
