/* describe.c: describes the database, its schemas, tables and functions, as JSON and as text.
 *
 * The text is DDL, because models read it best; the database builds it from its catalogue. The JSON
 * has the information that would have to be derived from the DDL, and the URIs for further reads.
 * The database writes those parts of the JSON that contain no URIs.
 */
#include "describe.h"

#include <stdio.h>

/* ---- the format ------------------------------------------------------------------------------ */

/* Reads ?format=, which is text or json (the default). If it is invalid, makes the job fail
 * and returns false. */
static bool wants_text(postgres_job *j, bool *ret)
{
    const mcp_str *format = postgres_uri_param(&j->target, "format");
    *ret = format && mcp_str_eq(*format, MCP_STR("text"));
    if (j->target.n_param == (format != NULL) &&
        (!format || *ret || mcp_str_eq(*format, MCP_STR("json"))))
        return true;
    postgres_job_fail(j, MCP_CODE_INVALID_PARAMS,
                      "format must be json or text; no other parameter is supported here");
    return false;
}

/* How a kind of object is described: its statements, and the function that writes a row as JSON. */
typedef struct described {
    const char *names, *text, *json;
    int (*put)(postgres_op *op, const PGresult *r);
    void (*end)(postgres_job *j, int rc);
} described;

static void set_values(postgres_job *j)
{
    j->op.value[0] = postgres_sql_text(&j->left);
    j->op.value[1] = j->target.schema.len ? j->target.schema.ptr : NULL;
    j->op.value[2] = j->target.name.ptr;
    j->op.n_value = 2 + (j->target.name.len > 0);
}

/* ---- text ------------------------------------------------------------------------------------ */

static int put_statement(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    if (!PQntuples(r))
        return MCP_OK;
    if (PQnfields(r) > 1) { /* one of many objects */
        postgres_target t = postgres_thing(r, 1);
        int rc = postgres_job_may(j, &t);
        if (rc != MCP_OK)
            return rc == MCP_ENOTFOUND ? MCP_OK : rc;
    }
    postgres_put(&j->text, j->rows++ ? "\n" : "");
    postgres_put(&j->text, PQgetvalue(r, 0, 0));
    return j->text.b.len > j->s->max_read ? MCP_ELIMIT : MCP_OK;
}

static void end_text(postgres_job *j, int rc)
{
    const char *text = postgres_sql_text(&j->text);
    if (postgres_job_torn(j, rc))
        return;
    if (rc == MCP_ELIMIT)
        postgres_job_fail(
            j, MCP_CODE_INTERNAL,
            "The text is larger than %zu bytes: read the schemas, or the tables one by one",
            j->s->max_read);
    else if (rc != MCP_OK)
        postgres_job_broken(j, rc);
    else if (!j->rows && j->target.kind != POSTGRES_KIND_DATABASE)
        postgres_job_missing(j);
    else
        postgres_job_finish(j, text ? mcp_reply_str(j->req, mcp_str_from(text), "text/plain")
                                    : MCP_ENOMEM);
}

/* ---- JSON: the database and schemas ---------------------------------------------------------- */

static mcp_str cell(const PGresult *r, int at)
{
    return (mcp_str){PQgetvalue(r, 0, at), (size_t)PQgetlength(r, 0, at)};
}

static void put_member(mcp_json_writer *w, const char *key, const PGresult *r, int at)
{
    if (!PQgetisnull(r, 0, at))
        mcp_json_put_str(w, key, cell(r, at));
}

static void put_raw(mcp_json_writer *w, const char *key, const PGresult *r, int at)
{
    if (!PQgetisnull(r, 0, at))
        mcp_json_put_raw(w, key, cell(r, at));
}

static void put_uri(postgres_job *j, const char *key, const postgres_target *t, const char *rest)
{
    postgres_sql_reset(&j->text);
    postgres_uri_put(&j->text, j->s->base.prefix, t);
    postgres_put(&j->text, rest);
    mcp_json_put_string(j->json, key, postgres_sql_text(&j->text));
}

static int put_thing(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    mcp_json_writer *w = j->json;
    if (!PQntuples(r))
        return MCP_OK;
    char kind = *PQgetvalue(r, 0, 0);
    postgres_target t = postgres_thing(r, 0);
    int rc = postgres_job_may(j, &t);
    if (rc != MCP_OK)
        return rc == MCP_ENOTFOUND ? MCP_OK : rc;
    j->rows++;
    mcp_json_begin_object(w);
    mcp_json_put_str(w, "schema", t.schema);
    if (kind != 'a')
        put_member(w, kind == 't' ? "name" : "signature", r, 2);
    put_member(w, "type", r, 3);
    put_uri(j, "uri", &t, "");
    put_member(w, "comment", r, 4);
    put_raw(w, "columns", r, 5);
    mcp_json_end(w);
    return MCP_OK;
}

static void end_things(postgres_job *j, int rc)
{
    if (postgres_job_torn(j, rc))
        return;
    mcp_json_end(j->json);
    mcp_json_end(j->json);
    if (rc != MCP_OK)
        postgres_job_broken(j, rc);
    else if (!j->rows && j->target.kind == POSTGRES_KIND_SCHEMA)
        postgres_job_missing(j);
    else
        postgres_job_reply_json(j);
}

/* ---- JSON: tables ---------------------------------------------------------------------------- */

static void put_resources(postgres_job *j, bool keyed)
{
    postgres_target t = {
        .kind = POSTGRES_KIND_TABLE, .schema = j->target.schema, .name = j->target.name};
    postgres_target rows = t;
    rows.kind = POSTGRES_KIND_ROWS;
    mcp_json_key(j->json, "resources");
    mcp_json_begin_object(j->json);
    put_uri(j, "text", &t, "?format=text");
    if (postgres_job_may(j, &rows) == MCP_OK) {
        put_uri(j, "rows", &t, "/rows{?contains,icontains,limit,offset,format}");
        put_uri(j, "rowsWhere", &t, "/rows?COLUMN=VALUE");
    }
    if (keyed) {
        put_uri(j, "row", &t, "/row{/key*}{?format}");
        put_uri(j, "cell", &t, "/cell/{column}{/key*}{?offset,length}");
    }
    mcp_json_end(j->json);
}

static int put_table(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    mcp_json_writer *w = j->json;
    if (!PQntuples(r))
        return MCP_OK;
    j->rows++;
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "database", j->s->base.name);
    mcp_json_put_str(w, "schema", j->target.schema);
    mcp_json_put_str(w, "name", j->target.name);
    put_member(w, "type", r, 0);
    put_member(w, "comment", r, 1);
    put_raw(w, "columns", r, 2);
    put_raw(w, "key", r, 3);
    put_raw(w, "indexes", r, 4);
    put_raw(w, "foreignKeys", r, 5);
    put_raw(w, "constraints", r, 6);
    put_member(w, "sql", r, 7);
    put_raw(w, "types", r, 8);
    put_member(w, "rowSecurity", r, 9);
    put_raw(w, "referencedBy", r, 10);
    put_raw(w, "moreReferences", r, 11);
    put_raw(w, "partitions", r, 12);
    put_raw(w, "estimate", r, 13);
    put_resources(j, !PQgetisnull(r, 0, 3));
    j->is_row = strstr(PQgetvalue(r, 0, 0), "table") && !strstr(PQgetvalue(r, 0, 0), "foreign");
    return MCP_OK;
}

static void end_one(postgres_job *j, int rc)
{
    if (postgres_job_torn(j, rc))
        return;
    if (rc != MCP_OK)
        postgres_job_broken(j, rc);
    else if (!j->rows)
        postgres_job_missing(j);
    else
        postgres_job_reply_json(j);
}

static void end_table(postgres_job *j, int rc)
{
    if (rc == MCP_OK && j->rows)
        postgres_end_page(j, j->is_row);
    else
        end_one(j, rc);
}

/* ---- JSON: functions ------------------------------------------------------------------------- */

static int put_function(postgres_op *op, const PGresult *r)
{
    static const char *const keys[] = {"signature", "returns",   "language", "volatility",
                                       "comment",   "arguments", "sql"};
    postgres_job *j = op->user;
    if (!PQntuples(r))
        return MCP_OK;
    j->rows++;
    mcp_json_begin_object(j->json);
    mcp_json_put_str(j->json, "schema", j->target.schema);
    for (int i = 0; i < 7; i++)
        put_member(j->json, keys[i], r, i);
    mcp_json_end(j->json);
    return MCP_OK;
}

/* ---- text and JSON --------------------------------------------------------------------------- */

static const described things = {postgres_things_names, postgres_things_text, postgres_things_json,
                                 put_thing, end_things};
static const described table = {postgres_table_names, postgres_table_text, postgres_table_json,
                                put_table, end_table};
static const described function = {postgres_function_names, postgres_function_text,
                                   postgres_function_json, put_function, end_one};

static void begin_things(postgres_job *j)
{
    mcp_json_begin_object(j->json);
    mcp_json_put_string(j->json, "database", j->s->base.name);
    mcp_json_key(j->json, "objects");
    mcp_json_begin_array(j->json);
}

static void describe(postgres_job *j, int rc)
{
    const described *what = j->own;
    if (rc != MCP_OK) {
        if (!postgres_job_torn(j, rc))
            postgres_job_broken(j, rc);
        return;
    }
    set_values(j);
    if (what == &things && !j->as_text)
        begin_things(j);
    if (j->as_text)
        postgres_job_look(j, what->text, put_statement, end_text);
    else
        postgres_job_look(j, what->json, what->put, what->end);
}

static void run(postgres_job *j, const described *what)
{
    if (!wants_text(j, &j->as_text))
        return;
    j->own = what;
    postgres_find_left_out(j, what->names, describe);
}

void postgres_run_database(postgres_job *j)
{
    if (postgres_uri_param(&j->target, "named"))
        postgres_run_named(j);
    else
        run(j, &things);
}

void postgres_run_schema(postgres_job *j)
{
    run(j, &things);
}

void postgres_run_table(postgres_job *j)
{
    run(j, &table);
}

void postgres_run_function(postgres_job *j)
{
    run(j, &function);
}
