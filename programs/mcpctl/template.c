/* template.c: mcpctl template: lists the URI templates, or expands one. */
#define _GNU_SOURCE
#include <stdlib.h>

#include <mcp/uri.h>

#include "arguments.h"
#include "completion.h"
#include "read.h"
#include "servers.h"
#include "terminal.h"

/* ---- the list -------------------------------------------------------------------------------- */

static void put_template(const ctl *c, const mcp_json *t)
{
    mcp_str name = mcp_json_string(mcp_json_get(t, "name"));
    mcp_str text = mcp_json_string(mcp_json_get(t, "uriTemplate"));
    mcp_str about = mcp_json_string(mcp_json_get(t, "description"));
    if (c->out_is_terminal) {
        put_styled(c, STYLE_NAME, name);
        fputs("  ", stdout);
        put_field(c, text);
        put_about(c, about);
    } else {
        put_field(c, text);
        putchar('\t');
        put_field(c, name);
        putchar('\t');
        put_field(c, about);
    }
    putchar('\n');
}

typedef struct listed {
    json_list json;
    size_t count;
} listed;

static int on_listed(ctl *c, const mcp_json *result, void *user)
{
    listed *l = user;
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(result, "resourceTemplates");
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        l->count++;
        if (c->set.json && json_list_add(c, &l->json, v) != EXIT_OK)
            return EXIT_LOCAL;
        if (!c->set.json)
            put_template(c, v);
    }
    return flush_stdout(c) ? EXIT_OK : EXIT_LOCAL;
}

static int list_templates(ctl *c)
{
    listed l = {0};
    if (c->set.json)
        json_list_begin(&l.json, "resourceTemplates");
    int code = EXIT_OK;
    if (session_offers(c, "resources"))
        code = session_list(c, "template", "resources/templates/list", on_listed, &l);
    if (code == EXIT_OK && !l.count && !c->set.quiet)
        say("this server has no templates; 'mcpctl ls' lists its resources");
    if (c->set.json)
        code = json_list_end(c, &l.json, code);
    return code;
}

/* ---- one template ---------------------------------------------------------------------------- */

typedef struct naming {
    const char *name;
    char *text;
} naming;

static int on_named(ctl *c, const mcp_json *result, void *user)
{
    naming *n = user;
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(result, "resourceTemplates");
    (void)c;
    for (const mcp_json *v; !n->text && (v = mcp_json_next(list, &it, NULL)) != NULL;)
        if (mcp_str_eq(mcp_json_string(mcp_json_get(v, "name")), mcp_str_from(n->name)))
            n->text = text_dup(mcp_json_string(mcp_json_get(v, "uriTemplate")));
    return EXIT_OK;
}

int template_named(ctl *c, const char *name, char **ret)
{
    naming n = {.name = name};
    int code = session_list(c, c->command->name, "resources/templates/list", on_named, &n);
    *ret = n.text;
    return code;
}

/* Returns the text of a template that is given by its name or by its text. The caller frees it. */
static char *template_text(ctl *c, const char *given, int *code)
{
    char *text = NULL;
    *code = EXIT_OK;
    if (strpbrk(given, "{:"))
        return strdup(given);
    *code = template_named(c, given, &text);
    if (!text && *code == EXIT_OK) {
        say("the server has no template '%s'", given);
        hint("'mcpctl template' lists them");
        *code = EXIT_USAGE;
    }
    return text;
}

static bool is_variable(const mcp_uri_template *t, mcp_str name)
{
    for (size_t i = 0; i < mcp_uri_template_variable_count(t); i++)
        if (mcp_str_eq(mcp_uri_template_variable(t, i), name))
            return true;
    return false;
}

/* Prompts for variables that the words do not set. An empty answer leaves a variable undefined.
 * Returns false at the end of input. */
static bool ask_missing(ctl *c, const mcp_uri_template *t, const char *text, words *w)
{
    for (size_t i = 0; i < mcp_uri_template_variable_count(t); i++) {
        mcp_str name = mcp_uri_template_variable(t, i);
        completion_query q = {.uri_template = text,
                              .argument = name,
                              .words = (const char *const *)(void *)w->items,
                              .n_words = w->count};
        if (argument_value(q.words, q.n_words, name))
            continue;
        char *line = completion_prompt(c, &q, (mcp_str){0}, false), *word = NULL;
        if (!line)
            return false;
        bool ok = !*line || (asprintf(&word, "%.*s=%s", (int)name.len, name.ptr, line) >= 0 &&
                             words_add(w, word));
        free(line);
        if (!ok)
            return false;
    }
    return true;
}

static int check_words(const mcp_uri_template *t, const words *w)
{
    for (size_t i = 0; i < w->count; i++) {
        argument a;
        if (!argument_parse(w->items[i], &a))
            return EXIT_USAGE;
        if (!is_variable(t, a.name)) {
            say("the template has no variable '%.*s'", (int)a.name.len, a.name.ptr);
            return EXIT_USAGE;
        }
    }
    return EXIT_OK;
}

/* Expands the template. Several words with the same name form a list, for {/path*}. */
static char *expand(const mcp_uri_template *t, const words *w)
{
    mcp_uri_value *values = calloc(w->count + 1, sizeof(*values));
    mcp_uri_pair *pairs = calloc(w->count + 1, sizeof(*pairs));
    mcp_error error = {0};
    char *uri = NULL;
    size_t n = 0, used = 0;
    for (size_t i = 0; values && pairs && i < w->count; i++) {
        argument a, b;
        argument_parse(w->items[i], &a);
        size_t first = used;
        for (size_t k = i; k < w->count; k++)
            if (argument_parse(w->items[k], &b) && mcp_str_eq(a.name, b.name) && used < w->count)
                pairs[used++].value = mcp_str_from(b.value);
        bool again = false;
        for (size_t k = 0; k < n; k++)
            again = again || mcp_str_eq(values[k].name, a.name);
        if (again) {
            used = first;
            continue;
        }
        values[n] = (mcp_uri_value){.name = a.name, .string = mcp_str_from(a.value)};
        if (used - first > 1) {
            values[n].type = MCP_URI_LIST;
            values[n].items = pairs + first;
            values[n].count = used - first;
        }
        n++;
    }
    int rc =
        values && pairs ? mcp_uri_template_expand(t, values, n, NULL, &uri, &error) : MCP_ENOMEM;
    if (rc != MCP_OK)
        say("template: %s", error.text[0] ? error.text : mcp_error_text(rc));
    free(values);
    free(pairs);
    return uri;
}

static int put_uri(ctl *c, const char *uri)
{
    if (c->set.read && !c->set.json)
        return read_resource(c, uri, NULL);
    if (c->set.read) {
        json_list json;
        json_list_begin(&json, "contents");
        int code = read_resource(c, uri, &json);
        return json_list_end(c, &json, code);
    }
    if (c->set.json) {
        mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
        mcp_json_begin_object(w);
        mcp_json_put_string(w, "uri", uri);
        mcp_json_end(w);
        return put_written(c, "template", w);
    }
    put_field(c, mcp_str_from(uri));
    putchar('\n');
    return EXIT_OK;
}

static int use_template(ctl *c, const char *text, words *w)
{
    mcp_uri_template *t = NULL;
    mcp_error error = {0};
    if (mcp_uri_template_parse(mcp_str_from(text), NULL, &t, &error) != MCP_OK) {
        say("the template %s: %s", text, error.text);
        return EXIT_USAGE;
    }
    int code = check_words(t, w);
    if (code == EXIT_OK && terminal_can_ask() && !ask_missing(c, t, text, w))
        code = EXIT_REFUSED;
    char *uri = code == EXIT_OK ? expand(t, w) : NULL;
    if (code == EXIT_OK)
        code = uri ? put_uri(c, uri) : EXIT_USAGE;
    free(uri);
    mcp_uri_template_free(t);
    return code;
}

int run_template(ctl *c)
{
    int code;
    if (c->n_args == 0)
        return list_templates(c);
    words w = {0};
    char *text = template_text(c, c->args[0], &code);
    for (size_t i = 1; text && i < c->n_args; i++)
        if (!words_add(&w, strdup(c->args[i])))
            code = EXIT_LOCAL;
    if (text && code == EXIT_OK)
        code = use_template(c, text, &w);
    words_clear(&w);
    free(text);
    return code;
}
