/* sample.c: the first rows of a table on its page, with the option sample_rows, for callers that may read
 * its rows. A page without them is better than none, so what fails here is only left out.
 */
#include "describe.h"

enum { ROWS = 3, LONGEST = 200 /* bytes of a text */ };

static int put_sample_row(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    if (!PQntuples(r) || PQnfields(r) != (int)j->table->n_column)
        return MCP_OK;
    if (!j->begun) {
        mcp_json_put_object(j->json, "sample");
        mcp_json_put_array(j->json, "columns");
        for (size_t i = 0; i < j->table->n_column; i++)
            mcp_json_add_string(j->json, j->table->column[i].name);
        mcp_json_end(j->json);
        mcp_json_put_array(j->json, "rows");
        j->begun = true;
    }
    mcp_json_begin_array(j->json);
    for (size_t i = 0; i < j->table->n_column; i++)
        postgres_put_cell(j, r, (int)i, LONGEST);
    mcp_json_end(j->json);
    return MCP_OK;
}

static void end_sample(postgres_job *j, int rc)
{
    (void)rc;
    if (j->begun) {
        mcp_json_end(j->json);
        mcp_json_end(j->json);
    }
    mcp_json_end(j->json);
    postgres_job_reply_json(j);
}

static void read_sample(postgres_job *j)
{
    postgres_sql_reset(&j->sql);
    postgres_put_columns(&j->sql, j->table, NULL);
    postgres_putf(&j->sql, " LIMIT %d", ROWS);
    j->op.inert = j->table->inert;
    j->op.statement = 0;
    j->op.n_value = 0;
    j->op.slow = true;
    postgres_job_run(j, NULL, put_sample_row, end_sample);
}

/* Views may take long or run functions, and foreign tables contact other servers. */
void postgres_end_page(postgres_job *j, bool table)
{
    postgres_target rows = {
        .kind = POSTGRES_KIND_ROWS, .schema = j->target.schema, .name = j->target.name};
    if (j->s->sample_rows && table && postgres_job_may(j, &rows) == MCP_OK)
        postgres_job_with_table(j, read_sample);
    else
        end_sample(j, MCP_OK);
}
