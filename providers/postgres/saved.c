/* saved.c: reads a saved query. Its parameters are $1, $2, ... in their order; the database
 * determines their types. */
#include "provider.h"

_Static_assert((int)COMMON_QUERY_PARAMETERS <= (int)POSTGRES_URI_PARAMS &&
                   (int)COMMON_QUERY_PARAMETERS <= (int)POSTGRES_MAX_VALUES,
               "a URI and a statement have room for all parameters");

void postgres_run_saved(postgres_job *j)
{
    char why[300];
    const common_query *q = common_queries_find(&j->s->base.queries, j->target.name);
    if (!q) {
        postgres_job_missing(j);
        return;
    }
    if (!common_query_takes(q, j->target.param, j->target.n_param, &j->as_text, why)) {
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", why);
        return;
    }
    for (size_t i = 0; i < q->n_parameter; i++) {
        const mcp_str *given = postgres_uri_param(&j->target, q->parameter[i].name);
        j->op.value[i] = given ? given->ptr : q->parameter[i].value;
    }
    j->op.n_value = (int)q->n_parameter;
    j->limit = j->s->max_rows;
    j->most = j->s->max_bytes;
    postgres_run_outside(j, mcp_str_from(q->sql));
}
