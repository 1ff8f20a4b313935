/* tool.c: the query tool. */
#include "provider.h"

_Static_assert((int)COMMON_QUERY_VALUES <= (int)POSTGRES_MAX_VALUES,
               "a statement has room for all parameters");

/* Converts a value to PostgreSQL's text; *ret is NULL for NULL. Returns false if there is no memory
 * or the value contains NUL. */
static bool text_of(postgres_job *j, const mcp_json *value, const char **ret)
{
    mcp_str text = mcp_json_string(value);
    mcp_json_writer *w = NULL;
    *ret = NULL;
    if (mcp_json_is(value, MCP_JSON_NULL))
        return true;
    if (!text.ptr) {
        w = mcp_json_writer_new(&j->s->base.alloc, 0);
        mcp_json_add_value(w, value);
        if (mcp_json_writer_finish(w, &text) != MCP_OK)
            text = (mcp_str){"", 0};
    }
    if (!text.len || !memchr(text.ptr, 0, text.len))
        *ret = mcp_request_strdup(j->req, text);
    mcp_json_writer_free(w);
    return *ret != NULL;
}

/* Sets the parameters. If they are invalid, makes the job fail and returns false. */
static bool set_values(postgres_job *j, const mcp_json *values)
{
    size_t n = mcp_json_count(values);
    for (size_t i = 0; i < n; i++)
        if (!text_of(j, mcp_json_at(values, i), &j->op.value[i])) {
            postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "Parameter %zu contains NUL", i + 1);
            return false;
        }
    j->op.n_value = (int)n;
    return true;
}

static void run(postgres_job *j)
{
    char why[200];
    mcp_json_doc *doc;
    const mcp_json *values;
    mcp_str sql = mcp_json_string(mcp_json_get(j->own, "sql"));
    const char *text = sql.ptr ? mcp_request_strdup(j->req, sql) : NULL;
    int rc = text ? common_query_tool_values(j->own, &j->s->base.alloc, false, &doc, &values, why)
                  : MCP_ENOMEM;
    if (rc == MCP_EINVAL)
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", why);
    else if (rc != MCP_OK)
        postgres_job_finish(j, rc);
    if (rc != MCP_OK)
        return;
    bool ok = set_values(j, values);
    mcp_json_free(doc);
    if (ok && common_query_tool_explains(j->own))
        postgres_run_explain(j, (mcp_str){text, sql.len});
    else if (ok)
        postgres_run_outside(j, (mcp_str){text, sql.len});
}

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    int rc;
    postgres_job *j = postgres_job_new(user, req, (mcp_str){"", 0}, &rc);
    if (!j)
        return rc;
    j->limit = common_query_tool_limit(arguments, j->s->max_rows);
    j->most = common_query_tool_bytes(req, arguments, j->s->answer_tokens);
    j->op.skip = common_query_tool_offset(arguments);
    j->as_tool = true;
    j->own = arguments;
    return postgres_job_start(j, run);
}

const common_query_tool postgres_tool = {
    .product = "PostgreSQL",
    .reads = "SELECT, WITH, VALUES, TABLE, EXPLAIN, SHOW",
    .places = "$1, $2",
    .json = "values of any type, as the text of a JSON array, [1, null]",
    .tables = "information_schema.columns",
    .call = call,
};
