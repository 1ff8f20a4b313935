/* explain.c: the plan of a query instead of its rows, and a sentence that says what of it is expensive.
 *
 * The query is not run: it is explained as the cursor that the tool would declare for it, with the same
 * refusals, in the same transaction. Planning may run functions that are marked immutable, so there is
 * no such thing with roles of callers. A plan names the tables behind views, so there is none under
 * access rules.
 */
#include "provider.h"

#include <stdio.h>

enum { DEEPEST = 100 };

typedef struct plan {
    const mcp_json *worst;
    double cost, whole; /* its own, and that of the query */
    bool cut;           /* what is above the worst part may stop it before its end */
} plan;

static mcp_str text_of(const mcp_json *node, const char *key)
{
    mcp_str text = mcp_json_string(mcp_json_get(node, key));
    return text.ptr ? text : (mcp_str){"", 0};
}

static double number_of(const mcp_json *node, const char *key)
{
    return mcp_json_number(mcp_json_get(node, key), 0);
}

static bool is_type(const mcp_json *node, const char *type)
{
    return mcp_str_eq(text_of(node, "Node Type"), mcp_str_from(type));
}

/* ---- the most expensive part ----------------------------------------------------------------- */

/* Returns whether a part reads all of its input before it returns the first row. */
static bool is_blocking(const mcp_json *node)
{
    return is_type(node, "Sort") || is_type(node, "Hash") ||
           (is_type(node, "Aggregate") &&
            !mcp_str_eq(text_of(node, "Strategy"), MCP_STR("Sorted")));
}

static void weigh(plan *p, const mcp_json *node, bool cut, unsigned depth)
{
    mcp_json_iter at = {0};
    double cost = number_of(node, "Total Cost");
    const mcp_json *plans = mcp_json_get(node, "Plans");
    bool below = is_type(node, "Limit") || (cut && !is_blocking(node));
    if (depth == DEEPEST)
        return;
    for (const mcp_json *one; (one = mcp_json_next(plans, &at, NULL)) != NULL;) {
        cost -= number_of(one, "Total Cost");
        weigh(p, one, below, depth + 1);
    }
    if (p->worst && cost <= p->cost)
        return;
    p->worst = node;
    p->cost = cost;
    p->cut = cut;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void put_relation(postgres_sql *to, const mcp_json *node)
{
    mcp_str alias = text_of(node, "Alias"), name = text_of(node, "Relation Name");
    if (text_of(node, "Schema").len) {
        postgres_put_str(to, text_of(node, "Schema"));
        postgres_put(to, ".");
    }
    postgres_put_str(to, name);
    if (alias.len && !mcp_str_eq(alias, name)) {
        postgres_put(to, " ");
        postgres_put_str(to, alias);
    }
}

static void put_node(postgres_sql *to, const mcp_json *node, unsigned depth)
{
    for (unsigned i = 1; i < depth; i++)
        postgres_put(to, "      ");
    postgres_put(to, depth ? "  ->  " : "");
    postgres_put_str(to, text_of(node, "Node Type"));
    if (text_of(node, "Index Name").len) {
        postgres_put(to, " using ");
        postgres_put_str(to, text_of(node, "Index Name"));
    }
    if (text_of(node, "Relation Name").len) {
        postgres_put(to, " on ");
        put_relation(to, node);
    }
    postgres_putf(to, "  (cost=%.2f..%.2f rows=%.0f)", number_of(node, "Startup Cost"),
                  number_of(node, "Total Cost"), number_of(node, "Plan Rows"));
}

/* Adds a line to the rows of the answer, as far as they fit. */
static void end_line(postgres_job *j)
{
    size_t size = common_query_tool_size((mcp_str){j->text.b.ptr, j->text.b.len}, SIZE_MAX) + 2;
    const char *line = postgres_sql_text(&j->text);
    j->more = j->more || (j->rows && j->size + size > j->most);
    if (!line || j->more)
        return;
    mcp_json_begin_array(j->json);
    mcp_json_add_string(j->json, line);
    mcp_json_end(j->json);
    j->size += size;
    j->rows++;
}

static const char *const conditions[] = {"Index Cond", "Recheck Cond", "Hash Cond",
                                         "Merge Cond", "Join Filter",  "Filter"};

static void put_lines(postgres_job *j, const mcp_json *node, unsigned depth)
{
    mcp_json_iter at = {0};
    const mcp_json *plans = mcp_json_get(node, "Plans");
    postgres_sql_reset(&j->text);
    put_node(&j->text, node, depth);
    end_line(j);
    for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++) {
        if (!text_of(node, conditions[i]).len)
            continue;
        postgres_sql_reset(&j->text);
        for (unsigned k = 0; k < depth; k++)
            postgres_put(&j->text, "      ");
        postgres_put(&j->text, "  ");
        postgres_put(&j->text, conditions[i]);
        postgres_put(&j->text, ": ");
        postgres_put_str(&j->text, text_of(node, conditions[i]));
        end_line(j);
    }
    for (const mcp_json *one; depth < DEEPEST && (one = mcp_json_next(plans, &at, NULL)) != NULL;)
        put_lines(j, one, depth + 1);
}

/* ---- the sentence ---------------------------------------------------------------------------- */

/* Says what the part does. */
static void put_deed(postgres_job *j, const plan *p)
{
    postgres_sql *to = &j->text;
    const mcp_json *node = p->worst;
    mcp_str filter = text_of(node, "Filter"), index = text_of(node, "Index Name");
    bool scan = is_type(node, "Seq Scan");
    double rows = number_of(node, "Plan Rows");
    if (!scan)
        postgres_put_str(to, text_of(node, "Node Type"));
    else
        postgres_put(to,
                     p->cut ? "it reads rows until there are enough, of" : "it reads all rows of");
    postgres_put(to, index.len ? " using " : "");
    postgres_put_str(to, index);
    if (text_of(node, "Relation Name").len) {
        postgres_put(to, scan ? " " : " on ");
        put_relation(to, node);
    }
    if (!scan)
        postgres_putf(to, ", about %.0f rows", rows);
    else if (j->number[0])
        postgres_putf(to, " (about %s)", j->number);
    postgres_put(to, scan && filter.len ? "; no index is used for " : "");
    if (scan)
        postgres_put_str(to, filter);
}

static const char *sentence(postgres_job *j, const plan *p)
{
    double share = p->whole > 0 ? 100 * p->cost / p->whole : 100;
    postgres_sql_reset(&j->text);
    postgres_put(&j->text, "The most expensive part");
    if (share >= 0 && share <= 100)
        postgres_putf(&j->text, ", with %.0f %% of the cost", share);
    postgres_put(&j->text, ": ");
    put_deed(j, p);
    postgres_put(&j->text, ".");
    postgres_put(&j->text, j->more ? " The plan has more lines than fit." : "");
    return postgres_sql_text(&j->text);
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* How many rows a table has, as its page says: not if policies hide some. */
static const char rows_sql[] =
    "SELECT c.reltuples::pg_catalog.int8 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
    "ON n.oid = c.relnamespace WHERE n.nspname = $1::pg_catalog.name AND c.relname = "
    "$2::pg_catalog.name AND c.reltuples > 0 AND pg_catalog.has_any_column_privilege(c.oid, "
    "'SELECT') AND NOT pg_catalog.row_security_active(c.oid)";

static int take_rows(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    if (PQntuples(r))
        snprintf(j->number, sizeof(j->number), "%s", PQgetvalue(r, 0, 0));
    return MCP_OK;
}

/* Without the number of rows the plan is still shown. */
static void end_rows(postgres_job *j, int rc)
{
    (void)rc;
    const char *text = sentence(j, j->own);
    mcp_json_end(j->json);
    rc = text ? common_query_tool_explained(j->req, j->json, text) : MCP_ENOMEM;
    if (rc == MCP_ELIMIT)
        postgres_job_fail(j, MCP_CODE_INTERNAL, "The answer is too large: ask for less");
    else
        postgres_job_finish(j, rc);
}

static void look_for_rows(postgres_job *j, const plan *p)
{
    j->own = p;
    j->op.value[0] = mcp_request_strdup(j->req, text_of(p->worst, "Schema"));
    j->op.value[1] = mcp_request_strdup(j->req, text_of(p->worst, "Relation Name"));
    j->op.n_value = 2;
    j->op.outside = false;
    j->op.fetch = j->op.skip = 0;
    if (!j->op.value[0] || !j->op.value[1])
        postgres_job_finish(j, MCP_ENOMEM);
    else
        postgres_job_look(j, rows_sql, take_rows, end_rows);
}

static int take_plan(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    if (!PQntuples(r) || PQnfields(r) != 1)
        return MCP_OK;
    mcp_str text = {PQgetvalue(r, 0, 0), (size_t)PQgetlength(r, 0, 0)};
    int rc = mcp_json_parse(text, NULL, &j->s->base.alloc, &j->plan, NULL);
    return rc == MCP_ENOMEM || rc == MCP_ELIMIT ? rc : MCP_OK;
}

static void show(postgres_job *j)
{
    const mcp_json *root = mcp_json_get(mcp_json_at(mcp_json_root(j->plan), 0), "Plan");
    plan *p = mcp_request_alloc(j->req, sizeof(*p));
    if (!p) {
        postgres_job_finish(j, MCP_ENOMEM);
        return;
    }
    *p = (plan){.whole = number_of(root, "Total Cost")};
    mcp_json_begin_object(j->json);
    mcp_json_put_array(j->json, "columns");
    mcp_json_add_string(j->json, "plan");
    mcp_json_end(j->json);
    mcp_json_put_array(j->json, "rows");
    put_lines(j, root, 0);
    weigh(p, root, false, 0);
    look_for_rows(j, p);
}

static void end_plan(postgres_job *j, int rc)
{
    if (rc != MCP_OK)
        postgres_end_statement(j, rc);
    else if (!j->plan)
        postgres_job_fail(j, MCP_CODE_INTERNAL, "The database gave no plan that can be read");
    else
        show(j);
}

bool postgres_may_explain(postgres_job *j, mcp_str sql)
{
    if (mcp_request_restricted(j->req)) {
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS,
                          "Plans are not shown under access rules: run the query itself");
        return false;
    }
    if (sql.len > POSTGRES_LONGEST_SQL || memchr(sql.ptr, 0, sql.len) ||
        postgres_beginning_of(sql.ptr) != POSTGRES_QUERY) {
        postgres_job_fail(
            j, MCP_CODE_INVALID_PARAMS,
            "This is not explained: only a SELECT, WITH, VALUES or TABLE of at most %d "
            "bytes",
            POSTGRES_LONGEST_SQL);
        return false;
    }
    return true;
}

void postgres_put_explain(postgres_job *j, mcp_str sql)
{
    postgres_sql_reset(&j->sql);
    postgres_put(&j->sql,
                 "EXPLAIN (FORMAT JSON, VERBOSE) DECLARE mcp_cursor NO SCROLL CURSOR FOR ");
    postgres_put_str(&j->sql, (mcp_str){sql.ptr, postgres_query_length(sql.ptr)});
    j->op.outside = true;
    j->op.alone = sql.ptr;
    j->op.statement = 0;
    j->op.fetch = j->op.skip = 0;
}

void postgres_run_explain(postgres_job *j, mcp_str sql)
{
    if (!postgres_may_explain(j, sql))
        return;
    postgres_put_explain(j, sql);
    postgres_job_run(j, NULL, take_plan, end_plan);
}
