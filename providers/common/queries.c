/* queries.c: see queries.h. */
#include "queries.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pieces.h"
#include "replies.h"
#include "table_text.h"

int common_query_refuse(mcp_error *error, const char *name, const char *format, ...)
{
    char what[100], why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    snprintf(what, sizeof(what), "the saved query %.70s", name);
    return common_refuse(error, MCP_EINVAL, what, why);
}

const common_parameter *common_query_parameter(const common_query *q, mcp_str name)
{
    for (size_t i = 0; i < q->n_parameter; i++)
        if (mcp_str_eq(name, mcp_str_from(q->parameter[i].name)))
            return &q->parameter[i];
    return NULL;
}

const common_query *common_queries_find(const common_queries *all, mcp_str name)
{
    for (size_t i = 0; i < all->n; i++)
        if (mcp_str_eq(name, mcp_str_from(all->query[i].name)))
            return &all->query[i];
    return NULL;
}

static void free_parameter(const mcp_allocator *alloc, const common_parameter *p)
{
    for (size_t i = 0; i < p->n_choice; i++)
        common_release(alloc, p->choice[i]);
    common_release(alloc, p->choice);
    common_release(alloc, p->name);
    common_release(alloc, p->description);
    common_release(alloc, p->value);
}

void common_queries_free(common_queries *all, const mcp_allocator *alloc)
{
    for (size_t i = 0; i < all->n; i++) {
        common_query *q = &all->query[i];
        for (size_t k = 0; k < q->n_parameter; k++)
            free_parameter(alloc, &q->parameter[k]);
        common_release(alloc, q->parameter);
        common_release(alloc, q->name);
        common_release(alloc, q->title);
        common_release(alloc, q->description);
        common_release(alloc, q->sql);
        common_release(alloc, q->uri);
    }
    common_release(alloc, all->query);
    *all = (common_queries){.n = 0};
}

/* ---- loading --------------------------------------------------------------------------------- */

/* The functions below set *ok to false if memory is exhausted. */
static char *copy(const mcp_allocator *alloc, mcp_str text, bool *ok)
{
    if (!text.ptr)
        return NULL;
    char *ret = common_copy(alloc, text.ptr, text.len);
    *ok = *ok && ret;
    return ret;
}

static char *copy_member(const mcp_allocator *alloc, const mcp_json *object, const char *key,
                         bool *ok)
{
    return copy(alloc, mcp_json_string(mcp_json_get(object, key)), ok);
}

/* A default may also be a JSON number. */
static char *copy_default(const mcp_allocator *alloc, const mcp_json *value, bool *ok)
{
    mcp_str text = mcp_json_string(value);
    if (!value || text.ptr)
        return copy(alloc, text, ok);
    mcp_json_writer *w = mcp_json_writer_new(alloc, 0);
    mcp_json_add_value(w, value);
    *ok = *ok && mcp_json_writer_finish(w, &text) == MCP_OK;
    char *ret = *ok ? copy(alloc, text, ok) : NULL;
    mcp_json_writer_free(w);
    return ret;
}

static void *zeroed(const mcp_allocator *alloc, size_t count, size_t size, bool *ok)
{
    void *ret = common_alloc(alloc, count * size + 1);
    *ok = *ok && ret;
    return ret ? memset(ret, 0, count * size) : NULL;
}

static common_parameter_type type_of(mcp_str name)
{
    return mcp_str_eq(name, MCP_STR("integer"))  ? COMMON_PARAMETER_INTEGER
           : mcp_str_eq(name, MCP_STR("number")) ? COMMON_PARAMETER_NUMBER
                                                 : COMMON_PARAMETER_TEXT;
}

static void load_parameter(const mcp_allocator *alloc, common_parameter *p, const mcp_json *from,
                           bool *ok)
{
    const mcp_json *choices = mcp_json_get(from, "values");
    p->name = copy_member(alloc, from, "name", ok);
    p->description = copy_member(alloc, from, "description", ok);
    p->value = copy_default(alloc, mcp_json_get(from, "default"), ok);
    p->required = mcp_json_bool(mcp_json_get(from, "required"), false);
    p->type = type_of(mcp_json_string(mcp_json_get(from, "type")));
    p->choice = zeroed(alloc, mcp_json_count(choices), sizeof(*p->choice), ok);
    for (size_t i = 0; *ok && i < mcp_json_count(choices); i++)
        p->choice[p->n_choice++] = copy(alloc, mcp_json_string(mcp_json_at(choices, i)), ok);
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

static char *make_uri(const mcp_allocator *alloc, const char *prefix, const char *name)
{
    common_buffer uri;
    common_buffer_init(&uri, alloc);
    bool ok = common_put(&uri, prefix) && common_put(&uri, "$query/") &&
              common_pieces_put(&uri, mcp_str_from(name));
    char *ret = ok ? common_copy(alloc, uri.ptr, uri.len) : NULL;
    common_buffer_free(&uri);
    return ret;
}

/* The rest of a text behind a NUL would be ignored, such as the condition of a DELETE. */
static bool has_nul(mcp_str text)
{
    return text.len && memchr(text.ptr, 0, text.len);
}

static int load_kind(common_query *q, const mcp_json *from, mcp_error *error)
{
    const mcp_json *rows = mcp_json_get(from, "rows");
    int64_t n = mcp_json_int(rows, rows ? 0 : 1);
    q->write = mcp_json_bool(mcp_json_get(from, "write"), false);
    q->rows = (size_t)n;
    if (rows && !q->write)
        return common_query_refuse(error, q->name, "\"rows\" needs \"write\"");
    if (n < 1 || n > COMMON_QUERY_CHANGES)
        return common_query_refuse(error, q->name, "\"rows\" is a number from 1 to %d",
                                   COMMON_QUERY_CHANGES);
    return MCP_OK;
}

static int load_query(const mcp_allocator *alloc, const char *prefix, common_query *q,
                      const mcp_json *from, mcp_error *error)
{
    bool ok = true;
    const mcp_json *parameters = mcp_json_get(from, "parameters");
    size_t n = mcp_json_count(parameters);
    q->name = copy_member(alloc, from, "name", &ok);
    q->title = copy_member(alloc, from, "title", &ok);
    q->description = copy_member(alloc, from, "description", &ok);
    q->sql = copy_member(alloc, from, "sql", &ok);
    if (ok && (!q->name || !*q->name || !q->sql))
        return common_query_refuse(error, q->name ? q->name : "", "name and sql are required");
    if (ok && has_nul(mcp_json_string(mcp_json_get(from, "sql"))))
        return common_query_refuse(error, q->name, "sql contains NUL");
    int rc = ok ? load_kind(q, from, error) : MCP_OK;
    if (rc != MCP_OK)
        return rc;
    if (ok && n > COMMON_QUERY_PARAMETERS)
        return common_query_refuse(error, q->name, "more than %d parameters",
                                   COMMON_QUERY_PARAMETERS);
    q->uri = ok ? make_uri(alloc, prefix, q->name) : NULL;
    ok = ok && q->uri;
    q->parameter = zeroed(alloc, n, sizeof(*q->parameter), &ok);
    for (size_t i = 0; ok && i < n; i++) {
        q->n_parameter = i + 1;
        load_parameter(alloc, &q->parameter[i], mcp_json_at(parameters, i), &ok);
        if (ok && !is_name(q->parameter[i].name))
            return common_query_refuse(error, q->name,
                                       "a parameter's name is made of letters, digits and _");
    }
    return ok ? MCP_OK : MCP_ENOMEM;
}

/* Each name is used once in both. */
static bool is_first(const common_queries *all, const common_queries *writes, const common_query *q)
{
    mcp_str name = mcp_str_from(q->name);
    const common_query *found = common_queries_find(all, name);
    const common_query *other = writes ? common_queries_find(writes, name) : NULL;
    return (!found || found == q) && (!other || other == q);
}

static int load_next(common_queries *all, common_queries *writes, const mcp_allocator *alloc,
                     const char *prefix, const mcp_json *from, mcp_error *error)
{
    bool write = mcp_json_bool(mcp_json_get(from, "write"), false);
    common_queries *to = write && writes ? writes : all;
    common_query *q = &to->query[to->n++];
    q->all = to;
    int rc = load_query(alloc, prefix, q, from, error);
    if (rc == MCP_OK && !is_first(all, writes, q))
        rc = common_query_refuse(error, q->name, "the name is used twice");
    if (rc == MCP_OK && q->write && !writes)
        rc = common_query_refuse(error, q->name, "this database has no statements that write");
    return rc;
}

int common_queries_load(common_queries *all, common_queries *writes, const mcp_allocator *alloc,
                        const char *prefix, const mcp_json *from, mcp_error *error)
{
    bool ok = true;
    size_t n = mcp_json_count(from);
    int rc = MCP_OK;
    all->query = zeroed(alloc, n, sizeof(*all->query), &ok);
    if (writes)
        writes->query = zeroed(alloc, n, sizeof(*writes->query), &ok);
    for (size_t i = 0; ok && rc == MCP_OK && i < n; i++)
        rc = load_next(all, writes, alloc, prefix, mcp_json_at(from, i), error);
    return ok ? rc : MCP_ENOMEM;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool has_format(const common_query *q)
{
    return common_query_parameter(q, MCP_STR("format")) != NULL;
}

bool common_query_takes(const common_query *q, const mcp_uri_pair *given, size_t n, bool *text,
                        char why[300])
{
    const mcp_str *format = has_format(q) ? NULL : common_pieces_value(given, n, "format");
    if (!common_table_format(format, text, why))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!common_query_parameter(q, given[i].name) &&
            !(format && mcp_str_eq(given[i].name, MCP_STR("format")))) {
            snprintf(why, 300, "The query %.100s has no parameter %.100s", q->name,
                     given[i].name.ptr);
            return false;
        }
    for (size_t i = 0; i < q->n_parameter; i++) {
        const common_parameter *p = &q->parameter[i];
        if (p->required && !p->value && !common_pieces_value(given, n, p->name)) {
            snprintf(why, 300, "%.100s is missing: ?%.100s=", p->name, p->name);
            return false;
        }
    }
    return true;
}

/* ---- registering ----------------------------------------------------------------------------- */

int common_query_reply(mcp_request *req, const common_query *q)
{
    for (size_t k = 0; k < q->n_parameter; k++)
        if (q->parameter[k].required && !q->parameter[k].value)
            return MCP_OK; /* it has only a template */
    return mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = q->uri, .name = q->name,
                                               .title = q->title, .description = q->description,
                                               .mime_type = "application/json"));
}

static int complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user)
{
    const common_parameter *p = common_query_parameter(user, name);
    int rc = MCP_OK;
    (void)context;
    if (!p && mcp_str_eq(name, MCP_STR("format")))
        return common_reply_formats(req, value);
    for (size_t i = 0; p && rc == MCP_OK && i < p->n_choice; i++)
        if (strncmp(p->choice[i], value.ptr ? value.ptr : "", value.len) == 0)
            rc = mcp_reply_completion(req, mcp_str_from(p->choice[i]));
    return rc;
}

static int read_query(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    const common_query *q = user;
    return q->all->read(req, uri, match, q->all->user);
}

/* Writes the query's description, then one line for each parameter. */
static bool describe(common_buffer *to, const common_query *q)
{
    bool ok = common_put(to, q->description ? q->description : "");
    for (size_t i = 0; i < q->n_parameter; i++) {
        const common_parameter *p = &q->parameter[i];
        ok = ok && common_put(to, to->len ? "\n" : "") && common_put(to, p->name);
        if (p->description)
            ok = ok && common_put(to, ": ") && common_put(to, p->description);
        if (p->value)
            ok = ok && common_put(to, " (default ") && common_put(to, p->value) &&
                 common_put(to, ")");
    }
    return ok && common_buffer_append(to, "", 1) == MCP_OK;
}

static bool put_template(common_buffer *to, const common_query *q)
{
    const char *end = has_format(q) ? "}" : ",format}";
    bool ok = common_put(to, q->uri);
    for (size_t i = 0; i < q->n_parameter; i++)
        ok = ok && common_put(to, i ? "," : "{?") && common_put(to, q->parameter[i].name);
    return ok && common_put(to, end) && common_buffer_append(to, "", 1) == MCP_OK;
}

static bool put_name(common_buffer *to, const common_query *q, const char *name, const char *prefix)
{
    common_buffer what;
    common_buffer_init(&what, &to->alloc);
    bool ok = common_put(&what, "query.") && common_put(&what, q->name) &&
              common_buffer_append(&what, "", 1) == MCP_OK &&
              common_template_name(to, prefix, name, what.ptr);
    common_buffer_free(&what);
    return ok;
}

static int add_template(common_query *q, common_offer offer, const mcp_allocator *alloc,
                        const char *name, const char *prefix, mcp_error *error)
{
    common_buffer uri, about, full;
    int rc = MCP_ENOMEM;
    common_buffer_init(&uri, alloc);
    common_buffer_init(&about, alloc);
    common_buffer_init(&full, alloc);
    if (put_template(&uri, q) && describe(&about, q) && put_name(&full, q, name, prefix))
        rc = common_offer_template(
            offer,
            MCP_OPTIONS(mcp_resource_template, .uri_template = uri.ptr, .name = full.ptr,
                        .title = q->title ? q->title : q->name, .description = about.ptr,
                        .mime_type = "application/json", .read = read_query, .complete = complete),
            q, error);
    common_buffer_free(&uri);
    common_buffer_free(&about);
    common_buffer_free(&full);
    return rc;
}

int common_queries_register(common_queries *all, common_offer offer, const mcp_allocator *alloc,
                            const char *name, const char *prefix, mcp_read_fn *read, void *user,
                            mcp_error *error)
{
    int rc = MCP_OK;
    all->read = read;
    all->user = user;
    for (size_t i = 0; rc == MCP_OK && i < all->n; i++)
        if (all->query[i].n_parameter)
            rc = add_template(&all->query[i], offer, alloc, name, prefix, error);
    return rc;
}
