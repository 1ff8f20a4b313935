/* provider.c: registers a command as a tool, after checking that its words match its schema. */
#include <stdarg.h>
#include <stdio.h>

#include "tool.h"
#include "words.h"

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_command, timeout_ms, 60000),
    MCP_DEFAULT(mcp_command, max_output, 1 << 20),
    MCP_DEFAULT(mcp_command, concurrency, 4),
    MCP_DEFAULT(mcp_command, kill_ms, 2000),
};

static int fail(mcp_error *error, int code, const char *format, ...) MCP_PRINTF(3, 4);

static int fail(mcp_error *error, int code, const char *format, ...)
{
    va_list args;
    if (!error)
        return code;
    va_start(args, format);
    error->code = code;
    error->offset = 0;
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return code;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void free_texts(command_tool *t, const char *const *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        common_release(&t->alloc, (void *)(uintptr_t)list[i]);
    common_release(&t->alloc, (void *)(uintptr_t)list);
}

static void tool_free(command_tool *t)
{
    const mcp_allocator alloc = t->alloc;
    const char *texts[] = {t->o.name, t->o.folder, t->o.input, t->o.mime_type};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        common_release(&alloc, (void *)(uintptr_t)texts[i]);
    free_texts(t, t->o.words, t->o.n_words);
    free_texts(t, t->o.allow_dash, t->o.n_allow_dash);
    free_texts(t, t->o.environment, t->o.n_environment);
    common_release(&alloc, t);
}

static void release(void *user)
{
    command_tool *t = user;
    command_end_all(t);
    tool_free(t);
}

static bool copy_texts(command_tool *t, const char *const **list, size_t n)
{
    const char *const *from = *list;
    bool ok = true;
    *list = NULL;
    if (!n)
        return true;
    const char **to = common_alloc(&t->alloc, n * sizeof(*to));
    if (!to)
        return false;
    for (size_t i = 0; i < n; i++) {
        to[i] = common_copy(&t->alloc, from[i], strlen(from[i]));
        ok = ok && to[i];
    }
    *list = to;
    return ok;
}

static bool copy_all(command_tool *t)
{
    mcp_command *o = &t->o;
    bool ok = common_own_text(&t->alloc, &o->name);
    ok = common_own_text(&t->alloc, &o->folder) && ok;
    ok = common_own_text(&t->alloc, &o->input) && ok;
    ok = common_own_text(&t->alloc, &o->mime_type) && ok;
    ok = copy_texts(t, &o->words, o->n_words) && ok;
    ok = copy_texts(t, &o->allow_dash, o->n_allow_dash) && ok;
    return copy_texts(t, &o->environment, o->n_environment) && ok;
}

static int tool_new(mcp_server *server, const mcp_command *o, command_tool **ret)
{
    mcp_allocator alloc = common_allocator(o->allocator);
    command_tool *t = common_alloc(&alloc, sizeof(*t));
    if (!t)
        return MCP_ENOMEM;
    *t = (command_tool){.o = *o, .server = server, .alloc = alloc};
    MCP_SET_DEFAULTS(&t->o, defaults);
    if (!copy_all(t)) {
        tool_free(t);
        return MCP_ENOMEM;
    }
    *ret = t;
    return MCP_OK;
}

/* ---- words and schema ------------------------------------------------------------------------ */

/* Calls `fn` for each argument in the words and then in the input. `program` is true for
 * the first word. */
typedef int name_fn(mcp_str name, bool program, void *user);

static int each_name(const mcp_command *o, name_fn *fn, void *user)
{
    int rc = MCP_OK;
    mcp_str literal, name;
    for (size_t i = 0; rc == MCP_OK && i <= o->n_words; i++) {
        const char *at = i < o->n_words ? o->words[i] : o->input;
        while (at && rc == MCP_OK && command_piece(&at, &literal, &name))
            if (name.len)
                rc = fn(name, i == 0, user);
    }
    return rc;
}

/* Returns whether the property's type allows an array or an object. */
static bool has_members(const mcp_json *property)
{
    const mcp_json *type = mcp_json_get(property, "type");
    mcp_json_iter it = {0};
    mcp_str one = mcp_json_string(type);
    const mcp_json *v;
    do {
        if (mcp_str_eq(one, MCP_STR("array")) || mcp_str_eq(one, MCP_STR("object")))
            return true;
        v = mcp_json_next(type, &it, NULL);
        one = mcp_json_string(v);
    } while (v);
    return false;
}

typedef struct checking {
    const mcp_command *o;
    const mcp_json *properties; /* NULL if there are no restrictions */
    bool known;
    mcp_error *error;
} checking;

static int check_name(mcp_str name, bool program, void *user)
{
    const checking *c = user;
    const mcp_json *property = mcp_json_get_str(c->properties, name);
    if (program)
        return fail(c->error, MCP_EINVAL, "tool %s: the program cannot be an argument: {%.*s}",
                    c->o->name, (int)name.len, name.ptr);
    if (c->known && !property)
        return fail(c->error, MCP_EINVAL,
                    "tool %s: {%.*s} is not an argument of the input schema (\"{{\" is a brace)",
                    c->o->name, (int)name.len, name.ptr);
    if (has_members(property))
        return fail(c->error, MCP_EINVAL,
                    "tool %s: {%.*s} cannot be inserted into a word: it is an array or an object",
                    c->o->name, (int)name.len, name.ptr);
    return MCP_OK;
}

static int check_names(const mcp_command *o, mcp_error *error)
{
    mcp_json_doc *doc = NULL;
    checking c = {.o = o, .error = error};
    if (o->input_schema) {
        mcp_error why = {0};
        int rc = mcp_json_parse(mcp_str_from(o->input_schema), NULL, o->allocator, &doc, &why);
        if (rc != MCP_OK)
            return fail(error, rc == MCP_ENOMEM ? rc : MCP_EINVAL, "tool %s: the input schema: %s",
                        o->name, why.text);
        c.properties = mcp_json_get(mcp_json_root(doc), "properties");
        c.known = true;
    }
    int rc = each_name(o, check_name, &c);
    mcp_json_free(doc);
    return rc;
}

/* ---- default schema -------------------------------------------------------------------------- */

typedef struct naming {
    const mcp_command *o;
    mcp_json_writer *w;
    bool properties;
    mcp_str seen[64];
    size_t n;
} naming;

static int put_name(mcp_str name, bool program, void *user)
{
    naming *n = user;
    (void)program;
    for (size_t i = 0; i < n->n; i++)
        if (mcp_str_eq(n->seen[i], name))
            return MCP_OK;
    if (n->n == sizeof(n->seen) / sizeof(*n->seen))
        return MCP_ELIMIT;
    n->seen[n->n++] = name;
    if (n->properties)
        mcp_json_key_str(n->w, name), mcp_json_add_raw(n->w, MCP_STR("{\"type\":\"string\"}"));
    else
        mcp_json_add_str(n->w, name);
    return MCP_OK;
}

/* Writes a schema in which all arguments are required strings. The caller releases *ret. */
static int make_schema(const mcp_command *o, const mcp_allocator *alloc, char **ret)
{
    mcp_json_writer *w = mcp_json_writer_new(alloc, 0);
    naming n = {.o = o, .w = w, .properties = true};
    mcp_str text;
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "type", "object");
    mcp_json_put_bool(w, "additionalProperties", false);
    mcp_json_put_object(w, "properties");
    int rc = each_name(o, put_name, &n);
    mcp_json_end(w);
    n.properties = false;
    n.n = 0;
    mcp_json_put_array(w, "required");
    if (rc == MCP_OK)
        rc = each_name(o, put_name, &n);
    mcp_json_end(w);
    mcp_json_end(w);
    if (rc == MCP_OK)
        rc = w ? mcp_json_writer_finish(w, &text) : MCP_ENOMEM;
    if (rc == MCP_OK) {
        *ret = common_copy(alloc, text.ptr, text.len);
        rc = *ret ? MCP_OK : MCP_ENOMEM;
    }
    mcp_json_writer_free(w);
    return rc;
}

/* ---- registering ----------------------------------------------------------------------------- */

static int add_tool(command_tool *t, const mcp_command *o, const char *schema, mcp_error *error)
{
    uint64_t most = t->o.timeout_ms + 2 * t->o.kill_ms + 1000; /* the tool's own
                                                                * limits expire first */
    return mcp_server_add_tool(t->server,
                               MCP_OPTIONS(mcp_tool, .name = o->name, .title = o->title,
                                           .description = o->description, .input_schema = schema,
                                           .read_only = o->read_only, .destructive = o->destructive,
                                           .idempotent = o->idempotent, .open_world = o->open_world,
                                           .call = command_call, .timeout_ms = most),
                               t, error);
}

static int add(mcp_server *server, const mcp_command *o, mcp_error *error)
{
    command_tool *t;
    const mcp_allocator alloc = common_allocator(o->allocator);
    char *made = NULL;
    int rc = o->input_schema ? MCP_OK : make_schema(o, &alloc, &made);
    if (rc != MCP_OK)
        fail(error, rc, "tool %s: %s", o->name, mcp_error_text(rc));
    if (rc == MCP_OK && (rc = tool_new(server, o, &t)) != MCP_OK)
        fail(error, rc, "tool %s: %s", o->name, mcp_error_text(rc));
    if (rc == MCP_OK && (rc = mcp_server_on_release(server, release, t)) != MCP_OK) {
        tool_free(t);
        fail(error, rc, "tool %s: %s", o->name, mcp_error_text(rc));
    } else if (rc == MCP_OK) {
        rc = add_tool(t, o, made ? made : o->input_schema, error);
    }
    common_release(&alloc, made);
    return rc;
}

int mcp_command_add(mcp_server *server, const mcp_command *command, mcp_error *error)
{
    mcp_command o = {0};
    memcpy(&o, command, command->size < sizeof(o) ? command->size : sizeof(o));
    o.size = sizeof(o);
    if (!o.name || !o.n_words || !o.words[0][0])
        return fail(error, MCP_EINVAL, "a command must have a name and a program");
    int rc = check_names(&o, error);
    return rc == MCP_OK ? add(server, &o, error) : rc;
}
