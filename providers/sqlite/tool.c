/* tool.c: the query tool. */
#include "provider.h"

#include "query_tool.h"

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    int rc;
    char why[200];
    sqlite *s = user;
    sqlite_job *j = sqlite_job_new(s, req, (mcp_str){"", 0}, &rc);
    mcp_str sql = mcp_json_string(mcp_json_get(arguments, "sql"));
    const char *text = j ? mcp_request_strdup(req, sql) : NULL; /* NUL-terminated */
    if (!text)
        return MCP_ENOMEM;
    rc = common_query_tool_values(arguments, &s->base.alloc, true, &j->doc, &j->arguments, why);
    if (rc == MCP_EINVAL)
        return mcp_reply_tool_error(req, "%s", why);
    if (rc != MCP_OK)
        return rc;
    j->run = common_query_tool_explains(arguments) ? sqlite_run_explain : sqlite_run_sql;
    j->as_tool = true;
    j->sql = (mcp_str){text, sql.len};
    j->given = arguments;
    j->limit = common_query_tool_limit(arguments, s->max_rows);
    j->skip = common_query_tool_offset(arguments);
    j->most = common_query_tool_bytes(req, arguments, s->answer_tokens);
    return sqlite_job_start(j, true);
}

const common_query_tool sqlite_tool = {
    .product = "SQLite",
    .reads = "SELECT, WITH, EXPLAIN",
    .places = "?1, ?2 (to get a number without a numeric column: CAST(?1 AS REAL))",
    .json = "values of any type, as the text of a JSON array, [1, null], or for :name of an "
            "object",
    .tables = "sqlite_schema",
    .call = call,
};
