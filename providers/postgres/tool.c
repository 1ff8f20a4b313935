/* tool.c: the tool that runs a query. Each database has its own, so that it can be named, allowed and left out. */
#include "provider.h"

#include <ctype.h>
#include <stdio.h>

enum { DEFAULT_ROWS = 100 };

static const char input_schema[] =
    "{\"type\":\"object\",\"required\":[\"sql\"],\"additionalProperties\":false,\"properties\":{"
    "\"sql\":{\"type\":\"string\",\"maxLength\":65536,\"description\":\"One statement in "
    "PostgreSQL's SQL that reads: SELECT, WITH, VALUES, TABLE, EXPLAIN, SHOW\"},"
    "\"parameters\":{\"type\":\"array\",\"maxItems\":64,\"items\":{\"type\":[\"string\",\"number\","
    "\"boolean\",\"null\"]},\"description\":\"Values for $1, $2, ...\"},"
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Rows at the most; default "
    "100\"}}}";

static const char output_schema[] =
    "{\"type\":\"object\",\"required\":[\"columns\",\"rows\",\"truncated\"],\"properties\":{"
    "\"columns\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
    "\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"array\"}},"
    "\"truncated\":{\"type\":\"boolean\",\"description\":\"There are more rows\"}}}";

/* A value as PostgreSQL reads it; NULL: SQL's. False: no memory, or a NUL in it. */
static bool text_of(postgres_job *j, const mcp_json *value, const char **ret)
{
    mcp_str text = mcp_json_string(value);
    mcp_json_writer *w = NULL;
    *ret = NULL;
    if (mcp_json_is(value, MCP_JSON_NULL))
        return true;
    if (!text.ptr) {
        w = mcp_json_writer_new(&j->s->alloc, 0);
        mcp_json_add_value(w, value);
        if (mcp_json_writer_finish(w, &text) != MCP_OK)
            text = (mcp_str){"", 0};
    }
    if (!text.len || !memchr(text.ptr, 0, text.len))
        *ret = mcp_request_strdup(j->req, text);
    mcp_json_writer_free(w);
    return *ret != NULL;
}

static void run(postgres_job *j)
{
    const mcp_json *values = mcp_json_get(j->own, "parameters");
    mcp_str sql = mcp_json_string(mcp_json_get(j->own, "sql"));
    const char *text = sql.ptr ? mcp_request_strdup(j->req, sql) : NULL;
    size_t n = mcp_json_count(values);
    if (!text) {
        postgres_job_finish(j, MCP_ENOMEM);
        return;
    }
    for (size_t i = 0; i < n && i < POSTGRES_MAX_VALUES; i++)
        if (!text_of(j, mcp_json_at(values, i), &j->op.value[i])) {
            postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "Parameter %zu contains NUL", i + 1);
            return;
        }
    j->op.n_value = (int)(n < POSTGRES_MAX_VALUES ? n : POSTGRES_MAX_VALUES);
    postgres_run_outside(j, (mcp_str){text, sql.len});
}

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    int rc;
    postgres_job *j = postgres_job_new(user, req, (mcp_str){"", 0}, &rc);
    if (!j)
        return rc;
    int64_t limit = mcp_json_int(mcp_json_get(arguments, "limit"), DEFAULT_ROWS);
    j->limit = limit < (int64_t)j->s->max_rows ? (size_t)limit : j->s->max_rows;
    j->as_tool = true;
    j->own = arguments;
    return postgres_job_start(j, run);
}

/* "query_shop": of the name what a tool's name may have. */
static void default_name(const postgres *s, char name[129])
{
    snprintf(name, 129, "query_%.100s", s->name);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-' && *p != '.')
            *p = '_';
}

int postgres_tool_add(postgres *s, const char *given, mcp_error *error)
{
    char name[129], title[200], about[400];
    default_name(s, name);
    snprintf(title, sizeof title, "Query the PostgreSQL database %.80s", s->name);
    snprintf(about, sizeof about,
             "Runs one read-only SQL statement in the database %.80s and returns columns and rows. "
             "Read the resource %.150s?format=text for the schema first.",
             s->name, s->prefix);
    return mcp_server_add_tool(
        s->server,
        MCP_OPTIONS(mcp_tool, .name = given ? given : name, .title = title, .description = about,
                    .input_schema = input_schema, .output_schema = output_schema,
                    .read_only = MCP_HINT_YES, .destructive = MCP_HINT_NO,
                    .idempotent = MCP_HINT_YES, .open_world = MCP_HINT_NO, .call = call),
        s, error);
}
