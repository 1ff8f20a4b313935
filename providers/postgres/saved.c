/* saved.c: see saved.h. A query's parameters are its $1, $2, ... in their order; the database tells their types. */
#include "saved.h"

#include <stdio.h>

static int refuse(mcp_error *error, const char *query, const char *why)
{
    if (error) {
        error->code = MCP_EINVAL;
        error->offset = 0;
        snprintf(error->text, sizeof error->text, "the saved query %.60s: %.150s", query, why);
    }
    return MCP_EINVAL;
}

static const postgres_parameter *parameter_of(const postgres_saved *q, mcp_str name)
{
    for (size_t i = 0; i < q->n_parameter; i++)
        if (mcp_str_eq(name, mcp_str_from(q->parameter[i].name)))
            return &q->parameter[i];
    return NULL;
}

const postgres_saved *postgres_saved_find(const postgres *s, mcp_str name)
{
    for (size_t i = 0; i < s->n_saved; i++)
        if (mcp_str_eq(name, mcp_str_from(s->saved[i].name)))
            return &s->saved[i];
    return NULL;
}

static void free_parameter(const postgres *s, postgres_parameter *p)
{
    for (size_t i = 0; i < p->n_choice; i++)
        common_release(&s->alloc, p->choice[i]);
    common_release(&s->alloc, p->choice);
    common_release(&s->alloc, p->name);
    common_release(&s->alloc, p->description);
    common_release(&s->alloc, p->value);
}

void postgres_saved_free(postgres *s)
{
    for (size_t i = 0; i < s->n_saved; i++) {
        postgres_saved *q = &s->saved[i];
        for (size_t k = 0; k < q->n_parameter; k++)
            free_parameter(s, &q->parameter[k]);
        common_release(&s->alloc, q->parameter);
        common_release(&s->alloc, q->name);
        common_release(&s->alloc, q->title);
        common_release(&s->alloc, q->description);
        common_release(&s->alloc, q->sql);
        common_release(&s->alloc, q->uri);
    }
    common_release(&s->alloc, s->saved);
    s->saved = NULL;
    s->n_saved = 0;
}

/* ---- from JSON --------------------------------------------------------------------------------------------- */

static char *copy(const postgres *s, const mcp_json *object, const char *key, bool *ok)
{
    const mcp_json *value = mcp_json_get(object, key);
    mcp_str text = mcp_json_string(value);
    mcp_json_writer *w = NULL;
    if (!value)
        return NULL;
    if (!text.ptr) { /* a default may be a number */
        w = mcp_json_writer_new(&s->alloc, 0);
        mcp_json_add_value(w, value);
        if (mcp_json_writer_finish(w, &text) != MCP_OK)
            text = (mcp_str){"", 0};
    }
    char *ret = common_copy(&s->alloc, text.ptr, text.len);
    *ok = *ok && ret;
    mcp_json_writer_free(w);
    return ret;
}

static void *zeroed(const postgres *s, size_t count, size_t size, bool *ok)
{
    void *ret = common_alloc(&s->alloc, count * size + 1);
    *ok = *ok && ret;
    return ret ? memset(ret, 0, count * size) : NULL;
}

static void load_parameter(postgres *s, postgres_parameter *p, const mcp_json *from, bool *ok)
{
    const mcp_json *choices = mcp_json_get(from, "values");
    p->name = copy(s, from, "name", ok);
    p->description = copy(s, from, "description", ok);
    p->value = copy(s, from, "default", ok);
    p->required = mcp_json_bool(mcp_json_get(from, "required"), false);
    p->choice = zeroed(s, mcp_json_count(choices), sizeof *p->choice, ok);
    for (size_t i = 0; *ok && i < mcp_json_count(choices); i++) {
        mcp_str choice = mcp_json_string(mcp_json_at(choices, i));
        char *text = common_copy(&s->alloc, choice.ptr, choice.len);
        *ok = text != NULL;
        p->choice[p->n_choice++] = text;
    }
}

static int make_uri(postgres_saved *q)
{
    postgres_target target = {.kind = POSTGRES_KIND_QUERY, .name = mcp_str_from(q->name)};
    postgres_sql uri;
    postgres_sql_init(&uri, &q->s->alloc);
    postgres_uri_put(&uri, q->s->prefix, &target);
    const char *text = postgres_sql_text(&uri);
    q->uri = text ? common_copy(&q->s->alloc, text, strlen(text)) : NULL;
    postgres_sql_free(&uri);
    return q->uri ? MCP_OK : MCP_ENOMEM;
}

static int load_query(postgres *s, postgres_saved *q, const mcp_json *from, mcp_error *error)
{
    bool ok = true;
    const mcp_json *parameters = mcp_json_get(from, "parameters");
    size_t n = mcp_json_count(parameters);
    q->s = s;
    q->name = copy(s, from, "name", &ok);
    q->title = copy(s, from, "title", &ok);
    q->description = copy(s, from, "description", &ok);
    q->sql = copy(s, from, "sql", &ok);
    if (ok && (!q->name || !*q->name || !q->sql))
        return refuse(error, q->name ? q->name : "", "name and sql are required");
    if (n > POSTGRES_URI_PARAMS)
        return refuse(error, q->name, "it has too many parameters");
    q->parameter = zeroed(s, n, sizeof *q->parameter, &ok);
    for (size_t i = 0; ok && i < n; i++) {
        q->n_parameter = i + 1;
        load_parameter(s, &q->parameter[i], mcp_json_at(parameters, i), &ok);
        if (ok && !q->parameter[i].name)
            return refuse(error, q->name, "a parameter has no name");
    }
    return ok ? make_uri(q) : MCP_ENOMEM;
}

int postgres_saved_load(postgres *s, const mcp_json *queries, mcp_error *error)
{
    bool ok = true;
    size_t n = mcp_json_count(queries);
    int rc = MCP_OK;
    s->saved = zeroed(s, n, sizeof *s->saved, &ok);
    for (size_t i = 0; ok && rc == MCP_OK && i < n; i++) {
        postgres_saved *q = &s->saved[s->n_saved++];
        rc = load_query(s, q, mcp_json_at(queries, i), error);
        if (rc == MCP_OK && postgres_saved_find(s, mcp_str_from(q->name)) != q)
            rc = refuse(error, q->name, "the name comes twice");
    }
    return ok ? rc : MCP_ENOMEM;
}

/* ---- registering --------------------------------------------------------------------------------------------- */

int postgres_saved_reply(mcp_request *req, const postgres *s, size_t i)
{
    const postgres_saved *q = &s->saved[i];
    for (size_t k = 0; k < q->n_parameter; k++)
        if (q->parameter[k].required && !q->parameter[k].value)
            return MCP_OK; /* a template alone */
    return mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = q->uri, .name = q->name,
                                               .title = q->title, .description = q->description,
                                               .mime_type = "application/json"));
}

static int complete_saved(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                          void *user)
{
    const postgres_parameter *p = parameter_of(user, name);
    int rc = MCP_OK;
    (void)context;
    for (size_t i = 0; p && rc == MCP_OK && i < p->n_choice; i++)
        if (strncmp(p->choice[i], value.ptr ? value.ptr : "", value.len) == 0)
            rc = mcp_reply_completion(req, mcp_str_from(p->choice[i]));
    return rc;
}

static int read_saved(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    postgres_saved *q = user;
    return postgres_read_template(req, uri, match, q->s);
}

static void describe(postgres_sql *to, const postgres_saved *q)
{
    postgres_put(to, q->description ? q->description : "");
    for (size_t i = 0; i < q->n_parameter; i++) {
        const postgres_parameter *p = &q->parameter[i];
        postgres_put(to, to->b.len ? "\n" : "");
        postgres_put(to, p->name);
        postgres_put(to, p->description ? ": " : "");
        postgres_put(to, p->description ? p->description : "");
        postgres_put(to, p->value ? " (default " : "");
        postgres_put(to, p->value ? p->value : "");
        postgres_put(to, p->value ? ")" : "");
    }
}

static int add_template(postgres_saved *q, mcp_error *error)
{
    postgres_sql uri, about;
    postgres_sql_init(&uri, &q->s->alloc);
    postgres_sql_init(&about, &q->s->alloc);
    postgres_put(&uri, q->uri);
    for (size_t i = 0; i < q->n_parameter; i++) {
        postgres_put(&uri, i ? "," : "{?");
        postgres_put(&uri, q->parameter[i].name);
    }
    postgres_put(&uri, "}");
    describe(&about, q);
    const char *uri_text = postgres_sql_text(&uri), *about_text = postgres_sql_text(&about);
    int rc = uri_text && about_text ? MCP_OK : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = mcp_server_add_template(q->s->server,
                                     MCP_OPTIONS(mcp_resource_template, .uri_template = uri_text,
                                                 .name = q->name, .title = q->title,
                                                 .description = about_text,
                                                 .mime_type = "application/json",
                                                 .read = read_saved, .complete = complete_saved),
                                     q, error);
    postgres_sql_free(&uri);
    postgres_sql_free(&about);
    return rc;
}

int postgres_saved_register(postgres *s, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < s->n_saved; i++)
        if (s->saved[i].n_parameter)
            rc = add_template(&s->saved[i], error);
    return rc;
}

/* ---- reading one ------------------------------------------------------------------------------------------------ */

/* False after failing the job. */
static bool set_values(postgres_job *j, const postgres_saved *q)
{
    for (size_t i = 0; i < j->target.n_param; i++) {
        if (parameter_of(q, j->target.param[i].name))
            continue;
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "The query %.100s has no parameter %.100s",
                          q->name, j->target.param[i].name.ptr);
        return false;
    }
    for (size_t i = 0; i < q->n_parameter; i++) {
        const postgres_parameter *p = &q->parameter[i];
        const mcp_str *given = postgres_uri_param(&j->target, p->name);
        if (!given && !p->value && p->required) {
            postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "%.100s is missing: ?%.100s=", p->name,
                              p->name);
            return false;
        }
        j->op.value[i] = given ? given->ptr : p->value;
    }
    j->op.n_value = (int)q->n_parameter;
    return true;
}

void postgres_run_saved(postgres_job *j)
{
    const postgres_saved *q = postgres_saved_find(j->s, j->target.name);
    if (!q) {
        postgres_job_missing(j);
        return;
    }
    j->limit = j->s->max_rows;
    if (set_values(j, q))
        postgres_run_outside(j, mcp_str_from(q->sql));
}
