/* tool.c: the tool that runs a query, one for all databases of a server.
 *
 * Sources are mounted one by one, so that the second database has to find the tool of the first: the list
 * of tools is this module's one global, with a lock, because servers may live on several threads.
 */
#include "provider.h"

#include <stdio.h>

enum { MAX_DATABASES = 64, DEFAULT_ROWS = 100 };

struct sqlite_tool {
    sqlite_tool *next;
    mcp_server *server;
    char name[129];
    sqlite *database[MAX_DATABASES];
    size_t n;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sqlite_tool *tools;

/* ---- a call ------------------------------------------------------------------------------------------------ */

static sqlite *database_of(const sqlite_tool *t, mcp_str name)
{
    for (size_t i = 0; i < t->n; i++)
        if (mcp_str_eq(mcp_str_from(t->database[i]->name), name))
            return t->database[i];
    return name.ptr || t->n != 1 ? NULL : t->database[0];
}

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    int rc;
    sqlite *s = database_of(user, mcp_json_string(mcp_json_get(arguments, "database")));
    if (!s)
        return mcp_reply_tool_error(req, "database must be one of those that the schema names");
    sqlite_job *j = sqlite_job_new(s, req, (mcp_str){"", 0}, &rc);
    mcp_str sql = mcp_json_string(mcp_json_get(arguments, "sql"));
    const char *text = j ? mcp_request_strdup(req, sql) : NULL; /* with a NUL at its end */
    if (!text)
        return MCP_ENOMEM;
    j->run = sqlite_run_sql;
    j->as_tool = true;
    j->sql = (mcp_str){text, sql.len};
    j->arguments = mcp_json_get(arguments, "parameters");
    int64_t limit = mcp_json_int(mcp_json_get(arguments, "limit"), DEFAULT_ROWS);
    j->limit = limit < (int64_t)s->max_rows ? (size_t)limit : s->max_rows;
    return sqlite_job_start(j, true);
}

/* ---- its declaration ------------------------------------------------------------------------------------------ */

static const char output_schema[] =
    "{\"type\":\"object\",\"required\":[\"columns\",\"rows\",\"truncated\"],\"properties\":{"
    "\"columns\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
    "\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"array\"}},"
    "\"truncated\":{\"type\":\"boolean\",\"description\":\"There are more rows\"}}}";

static int put_schema(const sqlite_tool *t, mcp_json_writer *w)
{
    mcp_json_begin_object(w);
    mcp_json_key(w, "type"), mcp_json_add_string(w, "object");
    mcp_json_key(w, "required");
    mcp_json_begin_array(w);
    mcp_json_add_string(w, "sql");
    if (t->n > 1)
        mcp_json_add_string(w, "database");
    mcp_json_end(w);
    mcp_json_key(w, "additionalProperties"), mcp_json_add_bool(w, false);
    mcp_json_key(w, "properties");
    mcp_json_begin_object(w);
    mcp_json_key(w, "sql");
    mcp_json_add_raw(
        w, MCP_STR("{\"type\":\"string\",\"maxLength\":65536,\"description\":\"One statement "
                   "in SQLite's SQL that reads: SELECT, WITH, EXPLAIN\"}"));
    mcp_json_key(w, "database");
    mcp_json_begin_object(w);
    mcp_json_key(w, "enum");
    mcp_json_begin_array(w);
    for (size_t i = 0; i < t->n; i++)
        mcp_json_add_string(w, t->database[i]->name);
    mcp_json_end(w);
    mcp_json_end(w);
    mcp_json_key(w, "parameters");
    mcp_json_add_raw(
        w, MCP_STR("{\"type\":[\"array\",\"object\"],\"description\":\"Values for ?1, ?2 in "
                   "an array, or for :name in an object\"}"));
    mcp_json_key(w, "limit");
    mcp_json_add_raw(
        w, MCP_STR("{\"type\":\"integer\",\"minimum\":1,\"description\":\"Rows at the most; "
                   "default 100\"}"));
    mcp_json_end(w);
    mcp_json_end(w);
    return MCP_OK;
}

/* Anew for each database: the schema names them. */
static int declare(sqlite_tool *t, const sqlite *s, mcp_error *error)
{
    mcp_str schema;
    mcp_json_writer *w = mcp_json_writer_new(&s->alloc, 0);
    put_schema(t, w);
    int rc = mcp_json_writer_finish(w, &schema);
    if (rc == MCP_OK && t->n > 1)
        mcp_server_remove_tool(t->server, t->name);
    char *text = rc == MCP_OK ? common_copy(&s->alloc, schema.ptr, schema.len) : NULL;
    if (text)
        rc = mcp_server_add_tool(
            t->server,
            MCP_OPTIONS(
                mcp_tool, .name = t->name, .title = "Query a SQLite database",
                .description =
                    "Runs one read-only SQL statement and returns columns and rows. Read the "
                    "resource sqlite://DATABASE/?format=text for the schema first.",
                .input_schema = text, .output_schema = output_schema, .read_only = MCP_HINT_YES,
                .destructive = MCP_HINT_NO, .idempotent = MCP_HINT_YES, .open_world = MCP_HINT_NO,
                .call = call),
            t, error);
    else if (rc == MCP_OK)
        rc = MCP_ENOMEM;
    common_release(&s->alloc, text);
    mcp_json_writer_free(w);
    return rc;
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

static sqlite_tool *find(const mcp_server *server, const char *name)
{
    sqlite_tool *t = tools;
    while (t && (t->server != server || strcmp(t->name, name) != 0))
        t = t->next;
    return t;
}

static sqlite_tool *make(sqlite *s, const char *name)
{
    sqlite_tool *t = common_alloc(&s->alloc, sizeof *t);
    if (!t)
        return NULL;
    *t = (sqlite_tool){.next = tools, .server = s->server};
    snprintf(t->name, sizeof t->name, "%s", name);
    return tools = t;
}

static void unlink_tool(const sqlite_tool *t)
{
    sqlite_tool **at = &tools;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
}

int sqlite_tool_join(sqlite *s, const char *name, mcp_error *error)
{
    pthread_mutex_lock(&lock);
    sqlite_tool *t = find(s->server, name);
    if (!t)
        t = make(s, name);
    int rc = t ? t->n < MAX_DATABASES ? MCP_OK : MCP_ELIMIT : MCP_ENOMEM;
    if (rc == MCP_OK) {
        s->tool = t;
        t->database[t->n++] = s;
    }
    pthread_mutex_unlock(&lock);
    return rc == MCP_OK ? declare(t, s, error) : rc;
}

/* The server is being freed, and the tool with it; whoever goes last frees what they shared. Its memory is
 * of the allocator of one of them, which outlives the server. */
void sqlite_tool_leave(sqlite *s)
{
    sqlite_tool *t = s->tool;
    if (!t)
        return;
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (t->database[i] != s)
        i++;
    t->database[i] = t->database[--t->n];
    bool last = t->n == 0;
    if (last)
        unlink_tool(t);
    pthread_mutex_unlock(&lock);
    if (last)
        common_release(&s->alloc, t);
}
