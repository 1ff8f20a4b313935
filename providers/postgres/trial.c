/* trial.c: whether hypothetical indexes would help a query, as a part of the tool database_health.
 *
 * The extension hypopg makes them: they exist in one session, and only for the planner. The query is explained
 * without and with them in one pipeline, with the refusals of explain.c. The text of an index comes from
 * outside: only hypopg parses it, which gets it as a parameter, and never runs it.
 *
 * The plans are those for all rows, unlike the plan that the query tool shows, because the cost of a cursor
 * that prefers the first rows may rise with an index.
 */
#include "health.h"

#include <stdio.h>

enum {
    DEEPEST = 100,
    LONGEST_INDEX = 1000,
    LONGEST_NAME = 256, /* of a hypothetical index; the database has at most 63 bytes by default */
};

typedef struct trial {
    postgres_trial of;
    const char *sql;      /* the query */
    double without, with; /* the costs */
    size_t plans;
    struct {
        char name[LONGEST_NAME]; /* "" if the text made none */
        size_t made;
        bool used;
    } index[POSTGRES_TRIAL_INDEXES];
} trial;

static trial *of(const postgres_job *j)
{
    return (trial *)(uintptr_t)j->own;
}

/* ---- results --------------------------------------------------------------------------------- */

static void look_for_indexes(trial *t, const mcp_json *node, unsigned depth)
{
    mcp_json_iter at = {0};
    const mcp_json *plans = mcp_json_get(node, "Plans");
    mcp_str name = mcp_json_string(mcp_json_get(node, "Index Name"));
    for (size_t i = 0; name.len && i < t->of.n; i++)
        t->index[i].used = t->index[i].used || mcp_str_eq(name, mcp_str_from(t->index[i].name));
    for (const mcp_json *one; depth < DEEPEST && (one = mcp_json_next(plans, &at, NULL)) != NULL;)
        look_for_indexes(t, one, depth + 1);
}

static int take_plan(postgres_job *j, const PGresult *r, double *cost)
{
    mcp_json_doc *doc = NULL;
    mcp_str text = {PQgetvalue(r, 0, 0), (size_t)PQgetlength(r, 0, 0)};
    int rc = mcp_json_parse(text, NULL, &j->s->base.alloc, &doc, NULL);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM || rc == MCP_ELIMIT ? rc : MCP_OK;
    of(j)->plans++;
    const mcp_json *root = mcp_json_get(mcp_json_at(mcp_json_root(doc), 0), "Plan");
    *cost = mcp_json_number(mcp_json_get(root, "Total Cost"), 0);
    look_for_indexes(of(j), root, 0);
    mcp_json_free(doc);
    return MCP_OK;
}

static int take_result(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    trial *t = of(j);
    if (!PQntuples(r))
        return MCP_OK;
    if (op->nth == 0 || op->nth > t->of.n)
        return take_plan(j, r, op->nth ? &t->with : &t->without);
    size_t i = op->nth - 1;
    t->index[i].made++;
    snprintf(t->index[i].name, LONGEST_NAME, "%s", PQgetvalue(r, 0, 0));
    return MCP_OK;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const char *change_of(const char *without, const char *with, double difference)
{
    return strcmp(without, with) == 0 ? "stays at" : difference > 0 ? "falls from" : "rises from";
}

static void put_sentence(postgres_job *j)
{
    const trial *t = of(j);
    char without[40], with[40];
    snprintf(without, sizeof(without), "%.2f", t->without);
    snprintf(with, sizeof(with), "%.2f", t->with);
    const char *change = change_of(without, with, t->without - t->with);
    postgres_putf(&j->text, "With the %s, the estimated cost %s %s",
                  t->of.n > 1 ? "indexes" : "index", change, without);
    if (strcmp(without, with) != 0)
        postgres_putf(&j->text, " to %s", with);
    for (size_t i = 0; i < t->of.n; i++) {
        postgres_put(&j->text, "; ");
        postgres_put_line(&j->text, t->of.index[i]);
        postgres_put(&j->text, t->index[i].used ? " is used" : " is not used");
    }
    postgres_put(&j->text, ".\n");
}

static void put_json(postgres_job *j)
{
    const trial *t = of(j);
    mcp_json_begin_object(j->json);
    mcp_json_put_object(j->json, "hypothetical_indexes");
    mcp_json_put_real(j->json, "cost_without", t->without);
    mcp_json_put_real(j->json, "cost_with", t->with);
    mcp_json_put_array(j->json, "indexes");
    for (size_t i = 0; i < t->of.n; i++) {
        mcp_json_begin_object(j->json);
        mcp_json_put_string(j->json, "index", t->of.index[i]);
        mcp_json_put_bool(j->json, "used", t->index[i].used);
        mcp_json_end(j->json);
    }
    mcp_json_end(j->json);
    mcp_json_end(j->json);
    mcp_json_put_bool(j->json, "truncated", false);
    mcp_json_end(j->json);
}

static void reply(postgres_job *j)
{
    mcp_str json;
    put_sentence(j);
    put_json(j);
    const char *text = postgres_sql_text(&j->text);
    int rc = text ? mcp_json_writer_finish(j->json, &json) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = mcp_reply_text(j->req, text);
    postgres_job_finish(j, rc == MCP_OK ? mcp_reply_structured(j->req, json) : rc);
}

/* The message of the database about an index, unless it took too long. */
static void fail_index(postgres_job *j)
{
    size_t nth = j->op.nth;
    if (strcmp(j->op.state, "57014") == 0 || strcmp(j->op.state, "55P03") == 0)
        postgres_job_broken(j, MCP_EREMOTE);
    else
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "The index %zu, %.200s: %.300s", nth,
                          of(j)->of.index[nth - 1], j->op.text);
}

static void end_plans(postgres_job *j)
{
    const trial *t = of(j);
    size_t wrong = 0;
    while (wrong < t->of.n && t->index[wrong].made == 1)
        wrong++;
    if (wrong < t->of.n)
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS,
                          "The index %zu, %.200s: this is not one CREATE INDEX", wrong + 1,
                          t->of.index[wrong]);
    else if (t->plans != 2)
        postgres_job_fail(j, MCP_CODE_INTERNAL, "The database gave no plan that can be read");
    else
        reply(j);
}

static void end(postgres_job *j, int rc)
{
    bool of_index = j->op.nth > 0 && j->op.nth <= of(j)->of.n;
    if (rc == MCP_OK)
        end_plans(j);
    else if (rc == MCP_EREMOTE && of_index)
        fail_index(j);
    else
        postgres_end_statement(j, rc);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static const char schema_sql[] =
    "SELECT n.nspname FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = "
    "e.extnamespace WHERE e.extname = 'hypopg'";

static const char *statement_in(postgres_job *j, const char *begin, const char *schema,
                                const char *call)
{
    postgres_sql_reset(&j->sql);
    postgres_put(&j->sql, begin);
    postgres_put_name(&j->sql, schema);
    postgres_put(&j->sql, call);
    const char *text = postgres_sql_text(&j->sql);
    return text ? mcp_request_strdup(j->req, mcp_str_from(text)) : NULL;
}

/* A query of a caller may have left hypothetical indexes in the session, so they are reset first too. */
static int take_schema(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    trial *t = of(j);
    if (!PQntuples(r))
        return MCP_OK;
    const char *schema = PQgetvalue(r, 0, 0);
    t->of.begin =
        statement_in(j, "SELECT pg_catalog.set_config('cursor_tuple_fraction', '1', true), ",
                     schema, ".hypopg_reset()");
    t->of.reset = statement_in(j, "SELECT ", schema, ".hypopg_reset()");
    t->of.create = statement_in(j, "SELECT indexname FROM ", schema,
                                ".hypopg_create_index($1::pg_catalog.text)");
    return t->of.begin && t->of.reset && t->of.create ? MCP_OK : MCP_ENOMEM;
}

static void try_indexes(postgres_job *j, int rc)
{
    trial *t = of(j);
    if (rc != MCP_OK) {
        postgres_job_broken(j, rc);
    } else if (!t->of.create) {
        postgres_job_fail(
            j, MCP_CODE_INVALID_PARAMS,
            "Hypothetical indexes need the extension hypopg, which this database does "
            "not have. Its owner can install it (Debian: postgresql-VERSION-hypopg) "
            "and run CREATE EXTENSION hypopg");
    } else {
        postgres_put_explain(j, mcp_str_from(t->sql));
        j->op.trial = &t->of;
        postgres_job_run(j, NULL, take_result, end);
    }
}

static void run(postgres_job *j)
{
    const trial *t = of(j);
    if (postgres_may_explain(j, mcp_str_from(t->sql)))
        postgres_job_look(j, schema_sql, take_schema, try_indexes);
}

/* Copies a text that has no NUL. */
static int take_text(mcp_request *req, const mcp_json *value, size_t most, const char **ret)
{
    mcp_str text = mcp_json_string(value);
    if (!text.len || text.len > most || memchr(text.ptr, 0, text.len))
        return MCP_EINVAL;
    *ret = mcp_request_strdup(req, text);
    return *ret ? MCP_OK : MCP_ENOMEM;
}

static int take_arguments(mcp_request *req, const mcp_json *arguments, trial *t)
{
    const mcp_json *indexes = mcp_json_get(arguments, "indexes");
    size_t n = mcp_json_count(indexes);
    if (!n || n > POSTGRES_TRIAL_INDEXES || mcp_json_get(arguments, "schema") ||
        mcp_json_get(arguments, "table"))
        return MCP_EINVAL;
    int rc = take_text(req, mcp_json_get(arguments, "query"), POSTGRES_LONGEST_SQL, &t->sql);
    for (; rc == MCP_OK && t->of.n < n; t->of.n += rc == MCP_OK)
        rc = take_text(req, mcp_json_at(indexes, t->of.n), LONGEST_INDEX, &t->of.index[t->of.n]);
    return rc;
}

bool postgres_is_trial(const mcp_json *arguments)
{
    return mcp_json_get(arguments, "query") || mcp_json_get(arguments, "indexes");
}

int postgres_trial_start(postgres_job *j, const mcp_json *arguments)
{
    trial *t = mcp_request_alloc(j->req, sizeof(*t));
    if (!t)
        return MCP_ENOMEM;
    memset(t, 0, sizeof(*t));
    int rc = take_arguments(j->req, arguments, t);
    if (rc == MCP_EINVAL)
        return mcp_reply_tool_error(
            j->req,
            "Give a query of at most %d bytes and 1 to %d indexes of at most %d, without NUL, and "
            "neither schema nor table",
            POSTGRES_LONGEST_SQL, POSTGRES_TRIAL_INDEXES, LONGEST_INDEX);
    j->own = t;
    return rc == MCP_OK ? postgres_job_start(j, run) : rc;
}
