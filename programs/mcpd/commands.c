/* commands.c: converts the configuration's "tools" for the command provider. */
#define _GNU_SOURCE
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <command.h>
#include <common/file.h>
#include <common/text.h>

#include "log.h"

/* One tool while it is converted. */
typedef struct tool {
    config *c;
    const mcp_json *json;
    char pointer[48];
    mcp_command o;
    char *schema; /* to be freed */
    const char **words, **dash, **environment;
    bool failed; /* out of memory */
} tool;

static const char *text(tool *t, const char *key)
{
    const mcp_json *value = mcp_json_get(t->json, key);
    const char *ret = config_text(t->c, value);
    t->failed = t->failed || (value && !ret);
    return ret;
}

/* Returns the strings of an array, with room for `more` others. */
static const char **list(tool *t, const mcp_json *array, size_t more, size_t *n)
{
    const char **ret = calloc(mcp_json_count(array) + more + 1, sizeof(*ret));
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

/* ---- the environment ------------------------------------------------------------------------- */

static void set_variable(tool *t, mcp_str name, mcp_str value)
{
    char *pair = NULL;
    if (asprintf(&pair, "%.*s=%.*s", (int)name.len, name.ptr, (int)value.len, value.ptr) < 0)
        pair = NULL;
    const char *owned = config_keep(t->c, pair);
    t->failed = t->failed || !owned;
    if (owned)
        t->environment[t->o.n_environment++] = owned;
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
    enum { USUAL = sizeof(usual) / sizeof(*usual) };
    const mcp_json *names = mcp_json_get(t->json, "environment");
    const mcp_json *set = mcp_json_get(t->json, "set-environment");
    mcp_json_iter it = {0};
    mcp_str key;
    t->environment =
        calloc(mcp_json_count(names) + mcp_json_count(set) + USUAL + 1, sizeof(*t->environment));
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

/* ---- other members --------------------------------------------------------------------------- */

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

/* Reads a size: a number of bytes, or "64K". Returns false if it is too large or invalid. */
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
    o->size = sizeof(*o);
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

/* ---- checking whether tools can run ---------------------------------------------------------- */

static bool can_be_run(const char *program, const char *folder)
{
    char path[4096];
    if (!strchr(program, '/'))
        return file_find_program(program, path, sizeof(path));
    int n = program[0] == '/' ? snprintf(path, sizeof(path), "%s", program)
                              : snprintf(path, sizeof(path), "%s/%s", folder, program);
    return n > 0 && (size_t)n < sizeof(path) && file_is_program(path);
}

const char *commands_lacks(config *c, const mcp_json *one, mcp_error *error)
{
    const char *program = config_text(c, mcp_json_at(mcp_json_get(one, "command"), 0));
    const mcp_json *in = mcp_json_get(one, "folder");
    const char *folder = config_place(c, in ? mcp_json_string(in) : MCP_STR("."));
    struct stat st;
    bool exists = folder && stat(folder, &st) == 0 &&
                  (S_ISDIR(st.st_mode) || (errno = ENOTDIR, false)) && access(folder, X_OK) == 0;
    if (folder && !exists) {
        snprintf(error->text, sizeof(error->text), "the folder %.200s: %s", folder,
                 strerror(errno));
        return in ? "/folder" : "";
    }
    if (program && folder && (strchr(program, '{') || can_be_run(program, folder)))
        return NULL; /* the tool is refused later if its program is an argument */
    snprintf(error->text, sizeof(error->text), "there is no executable program %.200s",
             program ? program : "");
    return "/command/0";
}

bool commands_look(config *c, bool wrong)
{
    const mcp_json *tools = c ? mcp_json_get(config_root(c), "tools") : NULL;
    mcp_json_iter it = {0};
    bool any = false;
    for (const mcp_json *v; (v = mcp_json_next(tools, &it, NULL)) != NULL;) {
        char pointer[64], line[400];
        mcp_error error = {0};
        const char *where = commands_lacks(c, v, &error);
        const char *name = where ? config_text(c, mcp_json_get(v, "name")) : NULL;
        if (!where)
            continue;
        any = true;
        snprintf(pointer, sizeof(pointer), "/tools/%zu%s", it.index - 1, where);
        snprintf(line, sizeof(line), "tool %.60s: %s", name ? name : "", error.text);
        if (wrong)
            config_wrong(c, MCP_ENOTFOUND, pointer, "%s", line);
        else
            log_line("warning", line, NULL);
    }
    return any;
}

int commands_add(config *c, mcp_server *server, mcp_error *error)
{
    const mcp_json *tools = c ? mcp_json_get(config_root(c), "tools") : NULL;
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(tools, &it, NULL)) != NULL;) {
        tool t = {.c = c, .json = v};
        snprintf(t.pointer, sizeof(t.pointer), "/tools/%zu", it.index - 1);
        rc = add(&t, server);
    }
    if (rc != MCP_OK)
        error->text[0] = 0; /* the error was reported already */
    return rc;
}
