/* provider.c: mounts a database with its templates, its saved queries and the tool. */
#include "health.h"

#include <stdio.h>

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_postgres_options, max_rows, COMMON_MAX_ROWS),
    MCP_DEFAULT(mcp_postgres_options, answer_tokens, COMMON_QUERY_TOKENS),
    MCP_DEFAULT(mcp_postgres_options, max_bytes, COMMON_MAX_BYTES),
    MCP_DEFAULT(mcp_postgres_options, max_read, COMMON_MAX_READ),
    MCP_DEFAULT(mcp_postgres_options, timeout_ms, COMMON_TIMEOUT_MS),
    MCP_DEFAULT(mcp_postgres_options, connections, 4),
    MCP_DEFAULT(mcp_postgres_options, poll_ms, 2000),
};

/* ---- templates ------------------------------------------------------------------------------- */

static const common_template templates[] = {
    {"{?named,format}", "database", "Schemas of the database",
     "All schemas with their tables, views and functions; format=text: as SQL; named=TEXT: only "
     "the columns whose name or type contains a text",
     "application/json"},
    {"{schema}{?format}", "schema", "Schema",
     "Tables, views and functions of a schema; format=text: as SQL", "application/json"},
    {"{schema}/{table}{?format}", "table", "Table or view",
     "Columns, keys, indexes, comments; format=text: as SQL", "application/json"},
    {"{schema}/{table}/rows{?contains,icontains,limit,offset,format}", "rows", "Rows of a table",
     "Up to limit rows (default 100) from offset on. Add COLUMN=VALUE to the query for rows in "
     "which a column has a value; contains=TEXT: in which any column contains a text, icontains: "
     "ignoring case; format=text: as a Markdown table",
     "application/json"},
    {"{schema}/{table}/row{/key*}{?format}", "row", "Row by its key",
     "One row by its primary key (several parts: in their order)", "application/json"},
    {"{schema}/{table}/cell/{column}{/key*}{?offset,length}", "cell", "Value of one column",
     "The text or the bytes of one value; of a large one: length bytes from offset on", NULL},
    {"{schema}/$function/{function}{?format}", "function", "Function or procedure",
     "By its name and arguments: total(integer, text); format=text: as SQL", "application/json"},
};

/* ---- mounting -------------------------------------------------------------------------------- */

static void clear(common_source *base)
{
    postgres *s = (postgres *)base;
    postgres_notices_free(s);
    postgres_logins_close(&s->callers);
    postgres_pool_free(s->pool);
    postgres_sql_free(&s->check.sql);
    postgres_tables_clear(&s->tables);
    postgres_callers_free(&s->callers, &base->alloc);
    postgres_writes_free(s);
    common_release(&base->alloc, s->conninfo);
}

static int canonical(common_source *base, mcp_str rest, char *texts, common_buffer *to)
{
    postgres_target t;
    int rc = postgres_uri_parse(rest, texts, &t);
    if (rc == MCP_OK && t.kind == POSTGRES_KIND_QUERY &&
        !common_queries_find(&base->queries, t.name))
        rc = MCP_ENOTFOUND;
    if (rc != MCP_OK)
        return rc;
    t.n_param = 0;
    postgres_sql made = {.b = *to};
    postgres_uri_put(&made, "", &t);
    *to = made.b;
    return made.failed ? MCP_ENOMEM : MCP_OK;
}

static int offer(common_source *base, common_offer to, mcp_error *error)
{
    int rc = postgres_writes_offer(base, to, error);
    return rc == MCP_OK ? postgres_health_offer((postgres *)base, to, error) : rc;
}

#define PROVIDER                                                             \
    .size = sizeof(mcp_provider), .name = "postgres", .list = postgres_list, \
    .read = postgres_read, .resolve = common_source_resolve, .release = common_source_free
#define KIND                                                                                    \
    .noun = "database",                                                                         \
    .templates = {templates, sizeof(templates) / sizeof(*templates), postgres_read_template,    \
                  postgres_complete},                                                           \
    .offer = offer,                                                                             \
    .in_process = true, /* libpq needs the network, the environment and the user's files */     \
        .canonical = canonical, .texts_room = POSTGRES_URI_ROOM, .begin = postgres_watch_begin, \
    .end = postgres_watch_end, .look = postgres_watch_look, .clear = clear

static const common_source_kind kind = {
    KIND,
    .tool = &postgres_tool,
    .provider = {PROVIDER, .watch = common_source_watch, .unwatch = common_source_unwatch,
                 .watch_list = common_source_watch_list,
                 .unwatch_list = common_source_unwatch_list},
};

#define PROVIDER_FOR_CALLERS                                                    \
    PROVIDER, .watch_as = postgres_watch_as, .unwatch_as = postgres_unwatch_as, \
              .watch_list_as = postgres_watch_list_as, .unwatch_list_as = postgres_unwatch_list_as

/* With roles of callers there is no tool, unless they log in by themselves; see set_callers(). */
static const common_source_kind kind_for_callers = {KIND, .provider = {PROVIDER_FOR_CALLERS}};
static const common_source_kind kind_for_logins = {KIND, .tool = &postgres_tool,
                                                   .provider = {PROVIDER_FOR_CALLERS}};

/* "//host/db" is the rest of a URI, "shop" is a name. */
static int set_conninfo(postgres *s, const char *given)
{
    postgres_sql text;
    postgres_sql_init(&text, &s->base.alloc);
    if (strncmp(given, "//", 2) == 0)
        postgres_put(&text, "postgresql:");
    else if (*given && !strchr(given, '=') && strncmp(given, "postgres", 8) != 0) {
        postgres_put(&text, "dbname='");
        for (; *given; given++) {
            postgres_put(&text, *given == '\'' || *given == '\\' ? "\\" : "");
            postgres_put_str(&text, (mcp_str){given, 1});
        }
        given = "'";
    }
    postgres_put(&text, given);
    const char *made = postgres_sql_text(&text);
    s->conninfo = made ? common_copy(&s->base.alloc, made, strlen(made)) : NULL;
    postgres_sql_free(&text);
    return s->conninfo ? MCP_OK : MCP_ENOMEM;
}

/* Returns whether a URI has another "@" than the one after the role: then "@" or "/" in the
 * password is not encoded. libpq would take a part of that password for a host, port or database,
 * and repeat it in its message. */
static bool is_torn(const char *conninfo)
{
    const char *p = strstr(conninfo, "://");
    bool at = false, path = false;
    if (!p || strncmp(conninfo, "postgres", 8) != 0)
        return false;
    for (p += 3; *p && *p != '?'; p++) {
        if (*p == '@' && (at || path))
            return true;
        at = at || *p == '@';
        path = path || *p == '/';
    }
    return false;
}

/* Checks the connection string, and reads the database's name and whether it has a password. Error
 * messages do not repeat it. */
static int check_conninfo(postgres *s, char dbname[COMMON_NAME_MAX + 1], mcp_error *error)
{
    bool secret = false;
    if (is_torn(s->conninfo))
        return common_refuse(error, MCP_EINVAL, "postgres",
                             "the connection string is invalid: write \"@\" and \"/\" within a "
                             "part as %40 and %2F; keep passwords in ~/.pgpass");
    PQconninfoOption *all = PQconninfoParse(s->conninfo, NULL);
    if (!all)
        return common_refuse(error, MCP_EINVAL, "postgres",
                             "the connection string is invalid: write postgres:'host=HOST "
                             "dbname=NAME user=ROLE' or postgres://ROLE@HOST/NAME");
    for (const PQconninfoOption *o = all; o->keyword; o++) {
        if (o->val && *o->val && strstr(o->keyword, "password"))
            secret = true;
        if (o->val && (strcmp(o->keyword, "dbname") == 0))
            snprintf(dbname, COMMON_NAME_MAX + 1, "%s", o->val);
    }
    PQconninfoFree(all);
    if (secret && s->host.log)
        s->host.log("warning",
                    "postgres: the source contains a password, which others can see; use "
                    "~/.pgpass, a service file or PGPASSFILE instead",
                    s->host.user);
    return MCP_OK;
}

/* Writes the default name as libpq would choose it. */
static void default_name(char name[COMMON_NAME_MAX + 1])
{
    PQconninfoOption *all = PQconndefaults();
    for (const PQconninfoOption *o = all; o && o->keyword && !*name; o++)
        if (o->val && strcmp(o->keyword, "dbname") == 0)
            snprintf(name, COMMON_NAME_MAX + 1, "%s", o->val);
    for (const PQconninfoOption *o = all; o && o->keyword && !*name; o++)
        if (o->val && strcmp(o->keyword, "user") == 0)
            snprintf(name, COMMON_NAME_MAX + 1, "%s", o->val);
    PQconninfoFree(all);
    if (!*name)
        snprintf(name, COMMON_NAME_MAX + 1, "postgres");
}

static int set_name(postgres *s, const char *given, mcp_error *error)
{
    char found[COMMON_NAME_MAX + 1] = "";
    int rc = check_conninfo(s, found, error);
    if (rc != MCP_OK)
        return rc;
    if (!given && !*found)
        default_name(found);
    return common_set_name(&s->base.alloc, "postgres", mcp_str_from(given ? given : found),
                           "postgres", &s->base.name, &s->base.prefix, error);
}

/* Tries to connect. Fails if the server answers and refuses, because it would refuse later too. */
static int try_once(postgres *s, mcp_error *error)
{
    char text[300] = "";
    bool mighty = false;
    PGconn *conn = postgres_connect(s->conninfo, s->timeout_ms, NULL, NULL, &mighty, text);
    if (conn) {
        int rc = postgres_check_roles(s, conn, false, error);
        if (s->callers.own_login) { /* this role reads nothing for callers */
            PQfinish(conn);
            return rc;
        }
        if (rc == MCP_OK && (!mighty || s->superuser))
            postgres_check_now(s, conn);
        PQfinish(conn);
        if (rc != MCP_OK)
            return rc;
        if (mighty && !s->superuser && s->host.log)
            s->host.log("warning",
                        "postgres: queries are disabled because the role may read the server's "
                        "files; use a role with fewer privileges",
                        s->host.user);
        return MCP_OK;
    }
    if (postgres_is_refusal(s->conninfo, text))
        return common_refuse(error, MCP_EACCESS, s->base.name, text);
    if (s->host.log) {
        char line[450];
        snprintf(line, sizeof(line), "postgres: %.80s cannot be reached now: %.300s", s->base.name,
                 text);
        s->host.log("warning", line, s->host.user);
    }
    return MCP_OK;
}

static int make_pool(postgres *s, mcp_error *error)
{
    postgres_pool_options o = {.alloc = &s->base.alloc,
                               .host = &s->host,
                               .conninfo = s->conninfo,
                               .name = s->base.name,
                               .max = s->connections,
                               .timeout_ms = s->timeout_ms,
                               .mighty = s->superuser,
                               .mapped = s->callers.on,
                               .connected = postgres_check_later,
                               .user = s};
    int rc = postgres_pool_new(&o, &s->pool);
    if (rc == MCP_OK && s->callers.own_login)
        rc = postgres_logins_open(&s->callers, &o);
    return rc == MCP_EUNSUPPORTED
               ? common_refuse(error, rc, "postgres",
                               "needs a host with timers, descriptors and workers")
               : rc;
}

/* A statement that a caller writes could set another role within itself: SELECT set_config('role',
 * …), query_to_xml(…). So with roles of callers there is no tool, and no saved query that does
 * this. If the connection logs in as the role of the caller, the database does not allow it. */
static int set_callers(postgres *s, const mcp_postgres_options *o, mcp_error *error)
{
    const char *word = NULL;
    if (s->superuser)
        return common_refuse(error, MCP_EINVAL, "run_as",
                             "the login role must not be a superuser; remove \"superuser\"");
    if (o->explain)
        return common_refuse(error, MCP_EINVAL, "run_as",
                             "there are no plans with roles of callers, because planning runs "
                             "functions that are marked immutable; remove \"explain\"");
    if (s->writes.n && !s->callers.own_login)
        return common_query_refuse(error, s->writes.query[0].name,
                                   "with run_as, \"write\" needs \"own_login\", because a trigger "
                                   "could leave the role of the caller");
    s->base.kind = s->callers.own_login ? &kind_for_logins : &kind_for_callers;
    if (s->callers.own_login)
        return postgres_logins_load(&s->callers, &s->base.alloc, s->conninfo, o->run_as, error);
    if (o->tool && *o->tool)
        return common_refuse(error, MCP_EINVAL, "run_as",
                             "there is no tool for queries with roles of callers, because a query "
                             "could change the role; remove \"tool\", or use \"own_login\"");
    for (size_t i = 0; i < s->base.queries.n; i++)
        if ((word = postgres_changes_role(s->base.queries.query[i].sql)) != NULL)
            return common_query_refuse(error, s->base.queries.query[i].name,
                                       "with run_as, %s must not be used, because it could change "
                                       "the role",
                                       word);
    return MCP_OK;
}

/* Makes the source without its pool. *ret must be freed, also after an error. */
static int make_source(mcp_server *server, const mcp_host *host, const mcp_postgres_options *given,
                       postgres **ret, mcp_error *error)
{
    mcp_postgres_options filled = *given, *o = &filled;
    MCP_SET_DEFAULTS(o, defaults);
    postgres *s = *ret = (postgres *)common_source_new(&kind, sizeof(*s), server, o->allocator);
    if (!s)
        return MCP_ENOMEM;
    s->max_rows = (size_t)o->max_rows;
    s->answer_tokens = (size_t)o->answer_tokens;
    s->max_bytes = (size_t)o->max_bytes;
    s->max_read = (size_t)o->max_read;
    s->timeout_ms = o->timeout_ms;
    s->connections = (size_t)o->connections;
    s->poll_ms = o->poll_ms;
    s->superuser = o->superuser;
    s->base.explain = o->explain;
    s->sample_rows = o->sample_rows;
    s->health_wanted = o->database_health;
    s->tables.alloc = s->base.alloc;
    postgres_sql_init(&s->check.sql, &s->base.alloc);
    if (host)
        memcpy(&s->host, host, host->size < sizeof(s->host) ? host->size : sizeof(s->host));
    int rc = set_conninfo(s, o->conninfo ? o->conninfo : "");
    if (rc == MCP_OK)
        rc = set_name(s, o->name, error);
    if (rc == MCP_OK)
        rc = common_queries_load(&s->base.queries, &s->writes, &s->base.alloc, s->base.prefix,
                                 o->queries, error);
    if (rc == MCP_OK)
        rc = postgres_writes_load(s, error);
    if (rc == MCP_OK)
        rc = postgres_callers_load(&s->callers, &s->base.alloc, o->run_as, error);
    return rc == MCP_OK && s->callers.on ? set_callers(s, o, error) : rc;
}

int mcp_postgres_mount(mcp_server *server, const mcp_postgres_options *options, mcp_error *error)
{
    char name[COMMON_NAME_MAX + 1];
    postgres *s;
    mcp_postgres_options o = {0};
    memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
    int rc = make_source(server, mcp_server_host(server), &o, &s, error);
    if (rc == MCP_OK)
        rc = make_pool(s, error);
    if (rc == MCP_OK)
        rc = try_once(s, error);
    if (rc != MCP_OK) {
        common_source_free(s);
        return rc;
    }
    snprintf(name, sizeof(name), "%s", s->base.name);
    return common_source_mount(&s->base, o.tool, name, error);
}

/* ---- options as JSON ------------------------------------------------------------------------- */

const char mcp_postgres_schema[] = COMMON_DATABASE_SCHEMA(
    "\"connections\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100,"
    "\"description\":\"Maximum number of connections, in addition to one that watches; default "
    "4\"},"
    "\"poll_ms\":{\"type\":\"integer\",\"minimum\":50,\"maximum\":3600000,"
    "\"description\":\"How often it is looked whether the schema changed; default 2000\"},"
    "\"superuser\":{\"type\":\"boolean\",\"description\":\"Run queries also for a role that may "
    "read the server's files\"},"
    "\"database_health\":{\"type\":\"boolean\",\"description\":\"There is a tool "
    "database_health_NAME, which says what the statistics show, and with `explain` whether an "
    "index "
    "would help; default false\"}," POSTGRES_RUN_AS_SCHEMA,
    COMMON_QUERIES_SCHEMA("$1, $2 in the order of `parameters`", COMMON_QUERY_WRITES, ""));

/* `tool` has room for the tool's name and its NUL. */
static int read_options(const char *conninfo, const mcp_json *json, const char *name,
                        const mcp_allocator *allocator, char tool[COMMON_TOOL_NAME + 1],
                        mcp_postgres_options *ret, mcp_error *error)
{
    *ret = (mcp_postgres_options){
        .size = sizeof(*ret),
        .conninfo = conninfo,
        .name = name,
        .max_rows = common_number(json, "max_rows"),
        .answer_tokens = common_number(json, "answer_tokens"),
        .max_bytes = common_number(json, "max_bytes"),
        .max_read = common_number(json, "max_read"),
        .timeout_ms = common_number(json, "timeout_ms"),
        .connections = common_number(json, "connections"),
        .poll_ms = common_number(json, "poll_ms"),
        .superuser = mcp_json_bool(mcp_json_get(json, "superuser"), false),
        .queries = mcp_json_get(json, "queries"),
        .sample_rows = mcp_json_bool(mcp_json_get(json, "sample_rows"), false),
        .explain = mcp_json_bool(mcp_json_get(json, "explain"), false),
        .database_health = mcp_json_bool(mcp_json_get(json, "database_health"), false),
        .run_as = mcp_json_get(json, "run_as"),
        .allocator = allocator};
    return common_text(json, "tool", tool, COMMON_TOOL_NAME + 1, &ret->tool, error);
}

int mcp_postgres_mount_json(mcp_server *server, const char *conninfo, const mcp_json *options,
                            const char *name, const mcp_allocator *allocator, mcp_error *error)
{
    char tool[COMMON_TOOL_NAME + 1];
    mcp_postgres_options o;
    int rc = read_options(conninfo, options, name, allocator, tool, &o, error);
    return rc == MCP_OK ? mcp_postgres_mount(server, &o, error) : rc;
}

int mcp_postgres_describe_json(const char *conninfo, const mcp_json *options, const char *name,
                               const mcp_allocator *allocator, const mcp_description *to,
                               mcp_error *error)
{
    char tool[COMMON_TOOL_NAME + 1], given[COMMON_NAME_MAX + 1];
    mcp_postgres_options o;
    postgres *s = NULL;
    int rc = read_options(conninfo, options, name, allocator, tool, &o, error);
    if (rc == MCP_OK)
        rc = make_source(NULL, NULL, &o, &s, error);
    if (rc == MCP_OK) {
        snprintf(given, sizeof(given), "%s", s->base.name);
        return common_source_describe(&s->base, o.tool, given, NULL, 0, to, error);
    }
    common_source_free(s);
    return rc;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* The log function of a host that keeps the last message about saved queries. */
static void keep_line(const char *level, const char *line, void *user)
{
    mcp_error *error = user;
    if (strcmp(level, "error") == 0)
        snprintf(error->text, sizeof(error->text), "%s", line);
}

static int connect_now(postgres *s, mcp_error *error)
{
    enum { LONGEST_MS = 2000 };
    char text[300] = "";
    bool mighty = false;
    uint64_t ms = s->timeout_ms < LONGEST_MS ? s->timeout_ms : LONGEST_MS;
    mcp_error said = {0};
    PGconn *conn = postgres_connect(s->conninfo, ms, NULL, NULL, &mighty, text);
    if (!conn)
        return common_refuse(error,
                             postgres_is_refusal(s->conninfo, text) ? MCP_EACCESS : MCP_EREMOTE,
                             s->base.name, text);
    s->host = (mcp_host){.size = sizeof(s->host), .log = keep_line, .user = &said};
    int rc = postgres_check_roles(s, conn, true, error);
    if (rc == MCP_OK && !s->callers.own_login && (!mighty || s->superuser))
        postgres_check_now(s, conn);
    PQfinish(conn);
    if (rc == MCP_OK && s->callers.own_login)
        rc = postgres_check_logins(s, ms, error);
    if (rc != MCP_OK)
        return rc;
    return said.text[0] ? common_refuse(error, MCP_EINVAL, s->base.name, said.text) : MCP_OK;
}

int mcp_postgres_check_json(const char *conninfo, const mcp_json *options, const char *name,
                            const mcp_allocator *allocator, mcp_error *error)
{
    char tool[COMMON_TOOL_NAME + 1];
    mcp_postgres_options o;
    postgres *s = NULL;
    int rc = read_options(conninfo, options, name, allocator, tool, &o, error);
    if (rc == MCP_OK)
        rc = make_source(NULL, NULL, &o, &s, error);
    if (rc == MCP_OK)
        rc = connect_now(s, error);
    common_source_free(s);
    return rc;
}
