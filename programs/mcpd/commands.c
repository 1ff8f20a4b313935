/* commands.c: the configuration's "tools" to what the command provider wants. */
#define _GNU_SOURCE
#include "commands.h"

#include <stdlib.h>

#include <command.h>
#include <common/text.h>

/* One tool on its way. */
typedef struct tool {
    config *c;
    const mcp_json *json;
    char pointer[48];
    mcp_command o;
    char *schema; /* to be freed */
    const char **words, **dash, **environment;
    bool failed; /* no memory */
} tool;

static const char *text(tool *t, const char *key)
{
    const mcp_json *value = mcp_json_get(t->json, key);
    const char *ret = config_text(t->c, value);
    t->failed = t->failed || (value && !ret);
    return ret;
}

/* The texts of an array, with room for some more. */
static const char **list(tool *t, const mcp_json *array, size_t more, size_t *n)
{
    const char **ret = calloc(mcp_json_count(array) + more + 1, sizeof *ret);
    mcp_json_iter it = {0};
    t->failed = t->failed || !ret;
    for (const mcp_json *v; ret && (v = mcp_json_next(array, &it, NULL)) != NULL;) {
        ret[*n] = config_text(t->c, v);
        t->failed = t->failed || !ret[(*n)++];
    }
    return ret;
}

static mcp_hint told_hint(const tool *t, const char *key)
{
    const mcp_json *value = mcp_json_get(t->json, key);
    return !value ? MCP_HINT_UNSET : mcp_json_bool(value, false) ? MCP_HINT_YES : MCP_HINT_NO;
}

/* ---- the environment ----------------------------------------------------------------------------- */

static void set_variable(tool *t, mcp_str name, mcp_str value)
{
    char *made = NULL;
    if (asprintf(&made, "%.*s=%.*s", (int)name.len, name.ptr, (int)value.len, value.ptr) < 0)
        made = NULL;
    const char *kept = config_keep(t->c, made);
    t->failed = t->failed || !kept;
    if (kept)
        t->environment[t->o.n_environment++] = kept;
}

static void pass_variable(tool *t, const char *name)
{
    const char *value = getenv(name);
    const mcp_json *set = mcp_json_get(t->json, "set-environment");
    if (value && !mcp_json_get(set, name))
        set_variable(t, mcp_str_from(name), mcp_str_from(value));
}

static void environment(tool *t)
{
    static const char *const usual[] = {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"};
    enum { USUAL = sizeof usual / sizeof *usual };
    const mcp_json *names = mcp_json_get(t->json, "environment");
    const mcp_json *set = mcp_json_get(t->json, "set-environment");
    mcp_json_iter it = {0};
    mcp_str key;
    t->environment =
        calloc(mcp_json_count(names) + mcp_json_count(set) + USUAL + 1, sizeof *t->environment);
    t->failed = t->failed || !t->environment;
    if (t->failed)
        return;
    for (size_t i = 0; !names && i < USUAL; i++)
        pass_variable(t, usual[i]);
    for (const mcp_json *v; (v = mcp_json_next(names, &it, NULL)) != NULL;) {
        const char *name = config_text(t->c, v);
        t->failed = t->failed || !name;
        if (name)
            pass_variable(t, name);
    }
    it = (mcp_json_iter){0};
    for (const mcp_json *v; (v = mcp_json_next(set, &it, &key)) != NULL;)
        set_variable(t, key, mcp_json_string(v));
}

/* ---- the rest ------------------------------------------------------------------------------------ */

static void schema(tool *t)
{
    const mcp_json *value = mcp_json_get(t->json, "input-schema");
    mcp_json_writer *w = value ? mcp_json_writer_new(NULL, 0) : NULL;
    mcp_str json;
    if (!value)
        return;
    mcp_json_add_value(w, value);
    if (w && mcp_json_writer_finish(w, &json) == MCP_OK)
        t->schema = text_dup(json);
    mcp_json_writer_free(w);
    t->failed = t->failed || !t->schema;
    t->o.input_schema = t->schema;
}

/* A number of bytes, or 64K. False: too much, or nothing. */
static bool size(tool *t)
{
    static const option o = {
        .name = "max-output", .kind = OPTION_SIZE, .min = 1, .max = (uint64_t)1 << 30};
    const mcp_json *value = mcp_json_get(t->json, "max-output");
    uint64_t number = (uint64_t)mcp_json_int(value, 0);
    const char *word = config_text(t->c, value);
    if (word && !option_take(&o, &number, word))
        return false;
    t->o.max_output = (size_t)number;
    return true;
}

static void read_tool(tool *t)
{
    mcp_command *o = &t->o;
    o->size = sizeof *o;
    o->name = text(t, "name");
    o->title = text(t, "title");
    o->description = text(t, "description");
    o->input = text(t, "stdin");
    o->mime_type = text(t, "mime-type");
    schema(t);
    t->words = list(t, mcp_json_get(t->json, "command"), 0, &o->n_words);
    t->dash = list(t, mcp_json_get(t->json, "allow-dash"), 0, &o->n_allow_dash);
    environment(t);
    o->words = t->words;
    o->allow_dash = t->dash;
    o->environment = t->environment;
    const mcp_json *folder = mcp_json_get(t->json, "folder");
    o->folder = config_place(t->c, folder ? mcp_json_string(folder) : MCP_STR("."));
    t->failed = t->failed || !o->folder;
    o->timeout_ms = (uint64_t)(mcp_json_number(mcp_json_get(t->json, "timeout"), 0) * 1000);
    o->concurrency = (size_t)mcp_json_int(mcp_json_get(t->json, "concurrency"), 0);
    o->read_only = told_hint(t, "read-only");
    o->destructive = told_hint(t, "destructive");
    o->idempotent = told_hint(t, "idempotent");
    o->open_world = told_hint(t, "open-world");
}

static int add(tool *t, mcp_server *server)
{
    mcp_error error = {0};
    read_tool(t);
    int rc = !size(t)    ? config_wrong(t->c, MCP_EINVAL, t->pointer, "max-output: from 1 to 1G")
             : t->failed ? MCP_ENOMEM
                         : mcp_command_add(server, &t->o, &error);
    if (rc != MCP_OK && error.text[0])
        config_wrong(t->c, rc, t->pointer, "%s", error.text);
    free(t->schema);
    free(t->words);
    free(t->dash);
    free(t->environment);
    return rc;
}

int commands_add(config *c, mcp_server *server, mcp_error *error)
{
    const mcp_json *tools = c ? mcp_json_get(config_root(c), "tools") : NULL;
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(tools, &it, NULL)) != NULL;) {
        tool t = {.c = c, .json = v};
        snprintf(t.pointer, sizeof t.pointer, "/tools/%zu", it.index - 1);
        rc = add(&t, server);
    }
    if (rc != MCP_OK)
        error->text[0] = 0; /* it was told */
    return rc;
}
