/* missing.c: adds required arguments of a tool that were not given. If all of them have a default
 * in the schema, the defaults are used. Otherwise mcpctl prompts for every argument that was not
 * given; without a terminal it reports an error. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "arguments.h"
#include "fields.h"
#include "terminal.h"

typedef struct completing {
    ctl *c;
    const char *tool;
    const mcp_json *schema, *given;
    mcp_json_writer *w; /* receives the added members */
    size_t n_missing, n_defaults;
} completing;

static bool is_open(const completing *m, const field *f)
{
    return !mcp_json_get_str(m->given, f->name);
}

static void count(completing *m)
{
    mcp_json_iter it = {0};
    field f;
    while (field_next(m->schema, &it, &f)) {
        m->n_missing += is_open(m, &f) && f.required && !mcp_json_get(f.schema, "default");
        m->n_defaults += is_open(m, &f) && f.required && mcp_json_get(f.schema, "default");
    }
}

static int name_missing(const completing *m)
{
    mcp_json_iter it = {0};
    field f;
    say("call %s: %s missing:", m->tool, m->n_missing == 1 ? "an argument is" : "arguments are");
    while (field_next(m->schema, &it, &f)) {
        mcp_str about = mcp_json_string(mcp_json_get(f.schema, "description"));
        mcp_str type = mcp_json_string(mcp_json_get(f.schema, "type"));
        if (is_open(m, &f) && f.required && !mcp_json_get(f.schema, "default"))
            hint("%.*s=%.*s%s%.*s", (int)f.name.len, f.name.ptr, type.len ? (int)type.len : 5,
                 type.len ? type.ptr : "VALUE", about.len ? "  " : "",
                 (int)(about.len < 200 ? about.len : 200), about.len ? about.ptr : "");
    }
    hint("give each as a word NAME=VALUE, or all with --args JSON; on a terminal they are asked "
         "for");
    return EXIT_USAGE;
}

static void add_text(completing *m, const field *f, const char *json)
{
    mcp_json_key_str(m->w, f->name);
    mcp_json_add_raw(m->w, mcp_str_from(json));
}

static int ask_all(completing *m)
{
    mcp_json_iter it = {0};
    field f;
    hint("%s wants to know:", m->tool);
    while (field_next(m->schema, &it, &f)) {
        char *json = NULL;
        field_answer answer = is_open(m, &f) ? field_ask(&f, &json) : FIELD_LEFT_OUT;
        bool wanted = answer == FIELD_TYPED || (answer == FIELD_DEFAULT && f.required);
        if (wanted && json)
            add_text(m, &f, json);
        free(json);
        if (answer == FIELD_END)
            return EXIT_REFUSED;
    }
    return EXIT_OK;
}

/* Adds the defaults of required arguments and prints them. */
static int take_defaults(completing *m)
{
    mcp_json_iter it = {0};
    field f;
    while (field_next(m->schema, &it, &f)) {
        const mcp_json *value = mcp_json_get(f.schema, "default");
        if (!is_open(m, &f) || !f.required || !value)
            continue;
        mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
        mcp_json_add_value(w, value);
        char *json = take_written("a default", w);
        if (!json)
            return EXIT_LOCAL;
        add_text(m, &f, json);
        if (!m->c->set.quiet)
            say("call %s: using the default %.*s=%s", m->tool, (int)f.name.len, f.name.ptr, json);
        free(json);
    }
    return EXIT_OK;
}

int arguments_complete(ctl *c, const char *tool, const mcp_json *schema, char **arguments)
{
    mcp_json_doc *doc = NULL;
    mcp_json_iter it = {0};
    mcp_str key;
    if (mcp_json_parse(mcp_str_from(*arguments), NULL, NULL, &doc, NULL) != MCP_OK)
        return EXIT_LOCAL;
    completing m = {.c = c, .tool = tool, .schema = schema, .given = mcp_json_root(doc)};
    count(&m);
    int code = EXIT_OK;
    if (m.n_missing || m.n_defaults) {
        m.w = mcp_json_writer_new(NULL, 0);
        mcp_json_begin_object(m.w);
        for (const mcp_json *v; (v = mcp_json_next(m.given, &it, &key)) != NULL;)
            mcp_json_key_str(m.w, key), mcp_json_add_value(m.w, v);
        code = !m.n_missing         ? take_defaults(&m)
               : terminal_can_ask() ? ask_all(&m)
                                    : name_missing(&m);
        mcp_json_end(m.w);
    }
    char *all = m.w && code == EXIT_OK ? take_written("the arguments", m.w) : NULL;
    if (m.w && code == EXIT_OK)
        code = all ? EXIT_OK : EXIT_LOCAL;
    else
        mcp_json_writer_free(m.w);
    if (all) {
        free(*arguments);
        *arguments = all;
    }
    mcp_json_free(doc);
    return code;
}
