/* register.c: registration of resources, templates, prompts and tools.
 *
 * The list entry of an item is rendered at registration, once per revision. A page is then a copy
 * of rendered entries, and a string that is not UTF-8 is rejected at once. Besides the rendered
 * entries, only the members of the descriptor that are needed to answer requests are kept.
 */
#include "server/methods/methods.h"
#include "server/tasks/task.h"

/* ---- rendering ------------------------------------------------------------------------------- */

/* `b` has the entry until it is copied. */
static int render_one(mcp__entry *e, size_t i, const void *descriptor, mcp__json_texts *texts,
                      mcp__buf *b)
{
    mcp__buf_reset(b, SIZE_MAX);
    mcp__object o = mcp__object_begin(b, &mcp__revisions[i]);
    o.texts = texts;
    mcp__object_entry(&o, (mcp_item)e->kind, descriptor);
    mcp__object_end(&o);
    mcp_str text = mcp__buf_view(b);
    if (b->failed)
        return b->failed;
    if (i > 0 && mcp_str_eq(e->rendered[i - 1], text))
        e->rendered[i] = e->rendered[i - 1];
    else
        e->rendered[i] = (mcp_str){mcp__strdup(e->allocator, text), text.len};
    return e->rendered[i].ptr ? MCP_OK : MCP_ENOMEM;
}

static int render_all(mcp__entry *e, const void *descriptor)
{
    mcp__json_texts texts = {.allocator = e->allocator};
    mcp__buf b;
    int rc = MCP_OK;
    mcp__buf_init(&b, e->allocator, 0);
    for (size_t i = 0; i < MCP__REVISIONS && rc == MCP_OK; i++)
        rc = render_one(e, i, descriptor, &texts, &b);
    mcp__buf_free(&b);
    mcp__json_texts_free(&texts);
    return rc;
}

/* ---- entries --------------------------------------------------------------------------------- */

static mcp__entry *entry_new(mcp_server *server, mcp__kind kind, const char *key, void *user)
{
    mcp__entry *e = mcp__zalloc(&server->allocator, sizeof(*e));
    if (!e)
        return NULL;
    e->kind = kind;
    e->refs = 1;
    e->built = server->building;
    e->allocator = &server->allocator;
    e->user = user;
    e->key.len = strlen(key);
    e->key.ptr = mcp__strdup(&server->allocator, mcp_str_from(key));
    if (!e->key.ptr) {
        mcp__entry_unref(e);
        return NULL;
    }
    return e;
}

static int set_string(mcp__entry *e, char **to, const char *from)
{
    if (!from)
        return MCP_OK;
    *to = mcp__strdup(e->allocator, mcp_str_from(from));
    return *to ? MCP_OK : MCP_ENOMEM;
}

/* Takes ownership of the entry, even on failure. */
static int add(mcp_server *server, mcp__entry *e, int rc, mcp_error *error)
{
    if (rc == MCP_OK)
        rc = mcp__registry_place(server, e);
    if (rc != MCP_OK) {
        mcp__fail(error, rc, 0, "cannot register %s: %s", e->key.ptr,
                  rc == MCP_EINVAL ? "a string is not UTF-8, or JSON text has the wrong type"
                                   : mcp_error_text(rc));
        mcp__entry_unref(e);
        return rc;
    }
    e->sequence = ++server->next_sequence;
    mcp__hub_list_changed(server, e->kind, e);
    return MCP_OK;
}

static int no_memory(mcp_error *error)
{
    return mcp__fail(error, MCP_ENOMEM, 0, "out of memory");
}

/* Does the checks with which every registration begins. */
static int begin(const mcp_server *server, void *to, size_t size, const void *descriptor,
                 const char *type, mcp_error *error)
{
    int rc = mcp__need_server(server, error);
    return rc == MCP_OK ? mcp__take(to, size, descriptor, type, error) : rc;
}

static int check_icons(const mcp_icon *icons, size_t n, mcp_error *error)
{
    return mcp__check_array(icons, n, "mcp_icon", error);
}

/* ---- resources ------------------------------------------------------------------------------- */

int mcp_server_add_resource(mcp_server *server, const mcp_resource *resource, void *user,
                            mcp_error *error)
{
    mcp__no_error(error);
    mcp_resource d;
    mcp_uri parsed;
    int rc = begin(server, &d, sizeof(d), resource, "mcp_resource", error);
    if (rc != MCP_OK)
        return rc;
    if (!d.uri || !d.name || (!d.read && !d.text))
        return mcp__fail(error, MCP_EINVAL, 0,
                         "a resource needs \"uri\", \"name\", and \"read\" or \"text\"");
    rc = check_icons(d.icons, d.n_icons, error);
    if (rc != MCP_OK)
        return rc;
    if (server->resource_hook)
        server->resource_hook(&d, server->resource_hook_user);
    mcp_error why = {0};
    rc = mcp_uri_parse(mcp_str_from(d.uri), &parsed, &why);
    if (rc != MCP_OK)
        return mcp__fail(error, rc == MCP_ENOMEM ? rc : MCP_EINVAL, why.offset, "resource %s: %s",
                         d.uri, why.text);
    mcp__entry *e = entry_new(server, MCP__RESOURCES, d.uri, user);
    if (!e)
        return no_memory(error);
    e->read = d.read;
    if (!d.has_size && !d.read) {
        d.has_size = true;
        d.resource_size = strlen(d.text);
    }
    mcp_str text = mcp_str_from(d.text);
    rc = mcp__utf8_valid(text.ptr, text.len) == text.len ? MCP_OK : MCP_EINVAL;
    if (rc == MCP_OK)
        rc = set_string(e, &e->mime_type, d.mime_type);
    if (rc == MCP_OK)
        rc = set_string(e, &e->text, d.text);
    if (rc == MCP_OK)
        rc = render_all(e, &d);
    return add(server, e, rc, error);
}

int mcp_server_remove_resource(mcp_server *server, const char *uri)
{
    return mcp__registry_remove(server, MCP__RESOURCES, uri);
}

/* ---- templates ------------------------------------------------------------------------------- */

int mcp_server_add_template(mcp_server *server, const mcp_resource_template *tmpl, void *user,
                            mcp_error *error)
{
    mcp__no_error(error);
    mcp_resource_template d;
    int rc = begin(server, &d, sizeof(d), tmpl, "mcp_resource_template", error);
    if (rc != MCP_OK)
        return rc;
    if (!d.uri_template || !d.name || !d.read)
        return mcp__fail(error, MCP_EINVAL, 0,
                         "a template needs \"uri_template\", \"name\" and \"read\"");
    rc = check_icons(d.icons, d.n_icons, error);
    if (rc != MCP_OK)
        return rc;
    mcp__entry *e = entry_new(server, MCP__TEMPLATES, d.uri_template, user);
    if (!e)
        return no_memory(error);
    e->read = d.read;
    e->complete = d.complete;
    mcp_error why = {0};
    rc = mcp_uri_template_parse(e->key, e->allocator, &e->tmpl, &why);
    if (rc == MCP_OK)
        rc = mcp_uri_template_matchable(e->tmpl, &why);
    if (rc != MCP_OK) {
        mcp__entry_unref(e);
        return mcp__fail(error, rc == MCP_EPARSE || rc == MCP_ELIMIT ? MCP_EINVAL : rc, why.offset,
                         "template %s: %s", d.uri_template, why.text);
    }
    rc = set_string(e, &e->mime_type, d.mime_type);
    if (rc == MCP_OK)
        rc = render_all(e, &d);
    return add(server, e, rc, error);
}

int mcp_server_remove_template(mcp_server *server, const char *uri_template)
{
    return mcp__registry_remove(server, MCP__TEMPLATES, uri_template);
}

/* ---- prompts --------------------------------------------------------------------------------- */

static int keep_arguments(mcp__entry *e, const mcp_prompt *d)
{
    if (d->n_arguments == 0)
        return MCP_OK;
    e->arguments = mcp__zalloc(e->allocator, d->n_arguments * sizeof(*e->arguments));
    e->required = mcp__zalloc(e->allocator, d->n_arguments * sizeof(*e->required));
    if (!e->arguments || !e->required)
        return MCP_ENOMEM;
    e->n_arguments = d->n_arguments;
    for (size_t i = 0; i < d->n_arguments; i++) {
        mcp_prompt_argument a;
        mcp__take_element(&a, sizeof(a), d->arguments, i);
        e->required[i] = a.required;
        int rc = set_string(e, &e->arguments[i], a.name);
        if (rc != MCP_OK)
            return rc;
    }
    return MCP_OK;
}

static int check_arguments(const mcp_prompt *d, mcp_error *error)
{
    int rc = mcp__check_array(d->arguments, d->n_arguments, "mcp_prompt_argument", error);
    for (size_t i = 0; i < d->n_arguments && rc == MCP_OK; i++) {
        mcp_prompt_argument a;
        mcp__take_element(&a, sizeof(a), d->arguments, i);
        if (!a.name)
            rc = mcp__fail(error, MCP_EINVAL, 0, "argument %zu of prompt %s has no name", i,
                           d->name);
    }
    return rc;
}

int mcp_server_add_prompt(mcp_server *server, const mcp_prompt *prompt, void *user,
                          mcp_error *error)
{
    mcp__no_error(error);
    mcp_prompt d;
    int rc = begin(server, &d, sizeof(d), prompt, "mcp_prompt", error);
    if (rc != MCP_OK)
        return rc;
    if (!d.name || !d.get)
        return mcp__fail(error, MCP_EINVAL, 0, "a prompt needs \"name\" and \"get\"");
    rc = check_icons(d.icons, d.n_icons, error);
    if (rc != MCP_OK)
        return rc;
    rc = check_arguments(&d, error);
    if (rc != MCP_OK)
        return rc;
    mcp__entry *e = entry_new(server, MCP__PROMPTS, d.name, user);
    if (!e)
        return no_memory(error);
    e->get = d.get;
    e->complete = d.complete;
    rc = keep_arguments(e, &d);
    if (rc == MCP_OK)
        rc = render_all(e, &d);
    return add(server, e, rc, error);
}

int mcp_server_remove_prompt(mcp_server *server, const char *name)
{
    return mcp__registry_remove(server, MCP__PROMPTS, name);
}

/* ---- tools ----------------------------------------------------------------------------------- */

/* Returns MCP_OK, MCP_EINVAL if it is not a schema of an object, or MCP_ENOMEM. */
static int check_object_schema(const mcp_allocator *allocator, const mcp_tool *tool,
                               mcp_error *error)
{
    mcp_json_doc *doc = NULL;
    mcp_error why = {0};
    int rc = mcp_json_parse(mcp_str_from(tool->input_schema), NULL, allocator, &doc, &why);
    if (rc == MCP_ENOMEM)
        return no_memory(error);
    if (rc != MCP_OK)
        return mcp__fail(error, MCP_EINVAL, why.offset, "tool %s: inputSchema: %s", tool->name,
                         why.text);
    mcp_str type = mcp_json_string(mcp_json_get(mcp_json_root(doc), "type"));
    bool object = mcp_str_eq(type, MCP_STR("object"));
    mcp_json_free(doc);
    return object ? MCP_OK
                  : mcp__fail(error, MCP_EINVAL, 0,
                              "tool %s: the input schema must be a JSON object with "
                              "\"type\":\"object\"",
                              tool->name);
}

static bool is_tool_name(const char *name)
{
    size_t len = strlen(name);
    return len >= 1 && len <= 128 &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.") == len;
}

/* Generates the schema of a table of fields, if there is one. The caller releases *generated. */
static int make_schema(const mcp_server *server, const mcp_field *fields, size_t n,
                       const char **schema, char **generated, mcp_error *error)
{
    if (fields && !n)
        return mcp__fail(error, MCP_EINVAL, 0,
                         "a tool has a table of fields, but the number of its elements is 0");
    if (!n)
        return MCP_OK;
    if (*schema)
        return mcp__fail(error, MCP_EINVAL, 0,
                         "a tool has a schema or a table of fields, not both");
    mcp_error why = {0};
    int rc = mcp__fields_check(fields, n, false, &why);
    if (rc != MCP_OK)
        return mcp__fail(error, rc, 0, "a tool's table of fields: %s", why.text);
    mcp_str text;
    mcp_json_writer *w = mcp_json_writer_new(&server->allocator, 0);
    mcp_fields_schema(fields, n, w);
    rc = mcp_json_writer_finish(w, &text);
    if (rc == MCP_OK && !(*generated = mcp__strdup(&server->allocator, text)))
        rc = MCP_ENOMEM;
    mcp_json_writer_free(w);
    *schema = *generated;
    return rc == MCP_OK ? rc : mcp__fail(error, rc, 0, "a table of fields: %s", mcp_error_text(rc));
}

static int add_tool(mcp_server *server, mcp_tool d, void *user, mcp_error *error)
{
    int rc;
    if (!d.name || !d.call)
        return mcp__fail(error, MCP_EINVAL, 0, "a tool needs \"name\" and \"call\"");
    rc = check_icons(d.icons, d.n_icons, error);
    if (rc != MCP_OK)
        return rc;
    if (!is_tool_name(d.name))
        return mcp__fail(error, MCP_EINVAL, 0,
                         "a tool's name must be 1 to 128 of A-Z a-z 0-9 _ - . but is \"%s\"",
                         d.name);
    if (!d.input_schema)
        d.input_schema = "{\"type\":\"object\"}";
    rc = check_object_schema(&server->allocator, &d, error);
    if (rc != MCP_OK)
        return rc;
    mcp__entry *e = entry_new(server, MCP__TOOLS, d.name, user);
    if (!e)
        return no_memory(error);
    e->call = d.call;
    e->offered = d.offered;
    e->timeout_ms = d.timeout_ms;
    e->task_support = d.task_support;
    e->meter = mcp__meter_take(server, MCP_USAGE_TOOL, e->key);
    mcp_error why = {0};
    rc = e->meter ? mcp__tool_compile(e, &d, &why) : MCP_ENOMEM;
    if (rc != MCP_OK && rc != MCP_ENOMEM) {
        mcp__entry_unref(e);
        return mcp__fail(error, MCP_EINVAL, why.offset, "tool %s: %s", d.name, why.text);
    }
    if (rc == MCP_OK)
        rc = render_all(e, &d);
    if (rc == MCP_OK && d.task_support != MCP_TASK_FORBIDDEN)
        rc = mcp__tasks_need(server);
    return add(server, e, rc, error);
}

int mcp_server_add_tool(mcp_server *server, const mcp_tool *tool, void *user, mcp_error *error)
{
    mcp__no_error(error);
    mcp_tool d;
    char *input = NULL, *output = NULL;
    int rc = begin(server, &d, sizeof(d), tool, "mcp_tool", error);
    if (rc != MCP_OK)
        return rc;
    rc = make_schema(server, d.fields, d.n_fields, &d.input_schema, &input, error);
    if (rc == MCP_OK)
        rc = make_schema(server, d.result_fields, d.n_result_fields, &d.output_schema, &output,
                         error);
    if (rc == MCP_OK)
        rc = add_tool(server, d, user, error);
    mcp__release(&server->allocator, input);
    mcp__release(&server->allocator, output);
    return rc;
}

int mcp_server_remove_tool(mcp_server *server, const char *name)
{
    return mcp__registry_remove(server, MCP__TOOLS, name);
}
