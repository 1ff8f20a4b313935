/* saved.c: see saved.h. Each query is checked when the server starts, as far as the database lets itself be
 * asked then: that it is one statement that reads, and that it has the parameters that are declared. */
#include "saved.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "guard.h"

static int refuse(mcp_error *error, const char *query, const char *format, ...) MCP_PRINTF(3, 4);

static int refuse(mcp_error *error, const char *query, const char *format, ...)
{
    char why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (error) {
        error->code = MCP_EINVAL;
        error->offset = 0;
        snprintf(error->text, sizeof error->text, "the saved query %.30s: %.190s", query, why);
    }
    return MCP_EINVAL;
}

const sqlite_parameter *sqlite_saved_parameter(const sqlite_saved *q, mcp_str name)
{
    for (size_t i = 0; i < q->n_parameter; i++)
        if (mcp_str_eq(name, mcp_str_from(q->parameter[i].name)))
            return &q->parameter[i];
    return NULL;
}

const sqlite_saved *sqlite_saved_find(const sqlite *s, mcp_str name)
{
    for (size_t i = 0; i < s->n_saved; i++)
        if (mcp_str_eq(name, mcp_str_from(s->saved[i].name)))
            return &s->saved[i];
    return NULL;
}

void sqlite_saved_free(sqlite *s)
{
    for (size_t i = 0; i < s->n_saved; i++) {
        sqlite_saved *q = &s->saved[i];
        for (size_t k = 0; k < q->n_parameter; k++) {
            sqlite_parameter *p = &q->parameter[k];
            for (size_t c = 0; c < p->n_choice; c++)
                common_release(&s->alloc, p->choice[c]);
            common_release(&s->alloc, p->choice);
            common_release(&s->alloc, p->name);
            common_release(&s->alloc, p->description);
            common_release(&s->alloc, p->value);
        }
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

static char *copy(const sqlite *s, mcp_str text, bool *ok)
{
    if (!text.ptr)
        return NULL;
    char *ret = common_copy(&s->alloc, text.ptr, text.len);
    *ok = *ok && ret;
    return ret;
}

static char *copy_member(const sqlite *s, const mcp_json *object, const char *key, bool *ok)
{
    return copy(s, mcp_json_string(mcp_json_get(object, key)), ok);
}

static void *zeroed(const sqlite *s, size_t count, size_t size, bool *ok)
{
    void *ret = common_alloc(&s->alloc, count * size + 1);
    *ok = *ok && ret;
    return ret ? memset(ret, 0, count * size) : NULL;
}

/* A default may be a number, as JSON has it. */
static char *copy_default(const sqlite *s, const mcp_json *value, bool *ok)
{
    mcp_str text = mcp_json_string(value);
    if (!value || text.ptr)
        return copy(s, text, ok);
    mcp_json_writer *w = mcp_json_writer_new(&s->alloc, 0);
    mcp_json_add_value(w, value);
    *ok = *ok && mcp_json_writer_finish(w, &text) == MCP_OK;
    char *ret = *ok ? copy(s, text, ok) : NULL;
    mcp_json_writer_free(w);
    return ret;
}

static bool is_name(const char *name)
{
    if (!name || !*name || strlen(name) > 64)
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

static int load_parameter(sqlite *s, sqlite_parameter *p, const mcp_json *from, bool *ok)
{
    mcp_str type = mcp_json_string(mcp_json_get(from, "type"));
    p->name = copy_member(s, from, "name", ok);
    p->description = copy_member(s, from, "description", ok);
    p->value = copy_default(s, mcp_json_get(from, "default"), ok);
    p->required = mcp_json_bool(mcp_json_get(from, "required"), false);
    p->type = mcp_str_eq(type, MCP_STR("integer"))  ? SQLITE_PARAMETER_INTEGER
              : mcp_str_eq(type, MCP_STR("number")) ? SQLITE_PARAMETER_NUMBER
                                                    : SQLITE_PARAMETER_TEXT;
    const mcp_json *choices = mcp_json_get(from, "values");
    p->choice = zeroed(s, mcp_json_count(choices), sizeof *p->choice, ok);
    for (size_t i = 0; *ok && i < mcp_json_count(choices); i++)
        p->choice[p->n_choice++] = copy(s, mcp_json_string(mcp_json_at(choices, i)), ok);
    return is_name(p->name) || !*ok ? MCP_OK : MCP_EINVAL;
}

static int make_uri(sqlite_saved *q)
{
    sqlite_target target = {.kind = SQLITE_KIND_QUERY, .table = mcp_str_from(q->name)};
    sqlite3_str *uri = sqlite3_str_new(NULL);
    sqlite_uri_put(uri, q->s->prefix, &target);
    char *text = sqlite3_str_finish(uri);
    q->uri = text ? common_copy(&q->s->alloc, text, strlen(text)) : NULL;
    sqlite3_free(text);
    return q->uri ? MCP_OK : MCP_ENOMEM;
}

static int load_query(sqlite *s, sqlite_saved *q, const mcp_json *from, mcp_error *error)
{
    bool ok = true;
    const mcp_json *parameters = mcp_json_get(from, "parameters");
    size_t n = mcp_json_count(parameters);
    q->s = s;
    q->name = copy_member(s, from, "name", &ok);
    q->title = copy_member(s, from, "title", &ok);
    q->description = copy_member(s, from, "description", &ok);
    q->sql = copy_member(s, from, "sql", &ok);
    if (ok && (!q->name || !*q->name || !q->sql))
        return refuse(error, q->name ? q->name : "", "name and sql are required");
    if (n > SQLITE_URI_PARAMS)
        return refuse(error, q->name, "more than %d parameters", SQLITE_URI_PARAMS);
    q->parameter = zeroed(s, n, sizeof *q->parameter, &ok);
    for (size_t i = 0; ok && i < n; i++) {
        q->n_parameter = i + 1;
        if (load_parameter(s, &q->parameter[i], mcp_json_at(parameters, i), &ok) != MCP_OK)
            return refuse(error, q->name, "a parameter's name is made of letters, digits and _");
    }
    return ok ? make_uri(q) : MCP_ENOMEM;
}

/* ---- checking ------------------------------------------------------------------------------------------------ */

typedef struct check {
    sqlite_saved *q;
    char why[256];
} check;

static int check_parameters(check *c, sqlite3_stmt *stmt)
{
    for (int i = 1; i <= sqlite3_bind_parameter_count(stmt); i++) {
        const char *name = sqlite3_bind_parameter_name(stmt, i);
        if (!name || *name != ':' || !sqlite_saved_parameter(c->q, mcp_str_from(name + 1)))
            snprintf(c->why, sizeof c->why, "%.60s is not among its parameters, as :NAME",
                     name ? name : "?");
    }
    for (size_t i = 0; i < c->q->n_parameter; i++) {
        char name[80];
        snprintf(name, sizeof name, ":%s", c->q->parameter[i].name);
        if (!sqlite3_bind_parameter_index(stmt, name))
            snprintf(c->why, sizeof c->why, "the parameter %.60s is not used",
                     c->q->parameter[i].name);
    }
    return SQLITE_OK;
}

static int check_use(sqlite_conn *conn, void *user)
{
    check *c = user;
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite_guard_prepare(conn, mcp_str_from(c->q->sql), &stmt, c->why);
    if ((rc & 0xff) == SQLITE_ERROR) {
        snprintf(c->why, sizeof c->why, "%s", sqlite3_errmsg(conn->db));
        rc = SQLITE_OK;
    }
    if (rc == SQLITE_OK && stmt)
        rc = check_parameters(c, stmt);
    sqlite3_finalize(stmt);
    return (rc & 0xff) == SQLITE_AUTH ? SQLITE_OK : rc;
}

/* A database that is locked right now does not keep the server from starting. */
static int check_query(sqlite *s, sqlite_saved *q, mcp_error *error)
{
    check c = {.q = q};
    sqlite_bounds bounds = {.timeout_ms = 200};
    sqlite_conn *conn = NULL;
    int code;
    char text[256];
    int rc = sqlite_use(&s->file, &conn, &bounds, check_use, &c, &code, text);
    sqlite_conn_free(conn);
    if (rc == MCP_OK && c.why[0])
        return refuse(error, q->name, "%.190s", c.why);
    return rc == MCP_ENOMEM ? rc : MCP_OK;
}

/* ---- registering --------------------------------------------------------------------------------------------- */

int sqlite_saved_reply(mcp_request *req, const sqlite *s, size_t i)
{
    const sqlite_saved *q = &s->saved[i];
    for (size_t k = 0; k < q->n_parameter; k++)
        if (q->parameter[k].required && !q->parameter[k].value)
            return MCP_OK; /* a template alone */
    return mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = q->uri, .name = q->name,
                                               .title = q->title, .description = q->description,
                                               .mime_type = "application/json"));
}

static bool begins(const char *text, mcp_str with)
{
    return strlen(text) >= with.len && memcmp(text, with.ptr ? with.ptr : "", with.len) == 0;
}

static int complete_saved(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                          void *user)
{
    const sqlite_parameter *p = sqlite_saved_parameter(user, name);
    int rc = MCP_OK;
    (void)context;
    for (size_t i = 0; p && rc == MCP_OK && i < p->n_choice; i++)
        if (begins(p->choice[i], value))
            rc = mcp_reply_completion(req, mcp_str_from(p->choice[i]));
    return rc;
}

static int read_saved(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    sqlite_saved *q = user;
    return sqlite_read_template(req, uri, match, q->s);
}

static void describe_parameters(sqlite3_str *to, const sqlite_saved *q)
{
    for (size_t i = 0; i < q->n_parameter; i++) {
        const sqlite_parameter *p = &q->parameter[i];
        sqlite3_str_appendf(to, "%s%s", sqlite3_str_length(to) ? "\n" : "", p->name);
        if (p->description)
            sqlite3_str_appendf(to, ": %s", p->description);
        if (p->value)
            sqlite3_str_appendf(to, " (default %s)", p->value);
    }
}

static int add_template(sqlite_saved *q, mcp_error *error)
{
    sqlite3_str *uri = sqlite3_str_new(NULL), *about = sqlite3_str_new(NULL);
    sqlite3_str_appendall(uri, q->uri);
    for (size_t i = 0; i < q->n_parameter; i++)
        sqlite3_str_appendf(uri, "%s%s", i ? "," : "{?", q->parameter[i].name);
    sqlite3_str_appendall(uri, "}");
    if (q->description)
        sqlite3_str_appendall(about, q->description);
    describe_parameters(about, q);
    char *uri_text = sqlite3_str_finish(uri), *about_text = sqlite3_str_finish(about);
    int rc = uri_text && about_text ? MCP_OK : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = mcp_server_add_template(q->s->server,
                                     MCP_OPTIONS(mcp_resource_template, .uri_template = uri_text,
                                                 .name = q->name, .title = q->title,
                                                 .description = about_text,
                                                 .mime_type = "application/json",
                                                 .read = read_saved, .complete = complete_saved),
                                     q, error);
    sqlite3_free(uri_text);
    sqlite3_free(about_text);
    return rc;
}

int sqlite_saved_load(sqlite *s, const mcp_json *queries, mcp_error *error)
{
    bool ok = true;
    size_t n = mcp_json_count(queries);
    int rc = MCP_OK;
    s->saved = zeroed(s, n, sizeof *s->saved, &ok);
    for (size_t i = 0; ok && rc == MCP_OK && i < n; i++) {
        sqlite_saved *q = &s->saved[s->n_saved++];
        rc = load_query(s, q, mcp_json_at(queries, i), error);
        if (rc == MCP_OK && sqlite_saved_find(s, mcp_str_from(q->name)) != q)
            rc = refuse(error, q->name, "the name comes twice");
        if (rc == MCP_OK)
            rc = check_query(s, q, error);
    }
    return ok ? rc : MCP_ENOMEM;
}

int sqlite_saved_register(sqlite *s, mcp_error *error)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < s->n_saved; i++)
        if (s->saved[i].n_parameter)
            rc = add_template(&s->saved[i], error);
    return rc;
}
