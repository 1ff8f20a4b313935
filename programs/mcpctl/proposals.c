/* proposals.c: completions for TAB in the shell: commands and options from their tables, the rest
 * from the server. */
#define _GNU_SOURCE
#include <stdlib.h>

#include <mcp/uri.h>

#include "arguments.h"
#include "completion.h"
#include "definitions.h"
#include "roots.h"
#include "session.h"
#include "shell.h"

/* Only the first entries of a list are proposed, because the list may be endless. */
enum { MOST_LISTED = 5000, ENOUGH = -1 };

typedef struct proposing {
    ctl c; /* a separate command line for completion requests */
    words *out;
    const char *typed;  /* the typed part of the word */
    const char *before; /* prefix of all proposals: "name=" */
    words line;         /* the words before it */
    const char *key;    /* the member of the entries that is proposed */
    const char *list;   /* the member of the result that contains the entries */
    size_t seen;
} proposing;

static void propose(proposing *p, mcp_str text, const char *after)
{
    char *whole = NULL;
    if (asprintf(&whole, "%s%.*s%s", p->before, (int)text.len, text.len ? text.ptr : "", after) < 0)
        return;
    if (strncmp(whole, p->typed, strlen(p->typed)) == 0)
        words_add(p->out, whole);
    else
        free(whole);
}

/* ---- from the tables ------------------------------------------------------------------------- */

static void propose_commands(proposing *p)
{
    static const char *const more[] = {"help", "exit", "root", "roots"};
    for (size_t i = 0; i < n_commands; i++)
        if (!(commands[i].flags & COMMAND_NOT_IN_SHELL))
            propose(p, mcp_str_from(commands[i].name), "");
    for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++)
        propose(p, mcp_str_from(more[i]), "");
}

static void propose_options(proposing *p, const char *name)
{
    p->before = "--";
    for (size_t i = 0; i < n_options; i++)
        if (option_is_for(&options[i], name) &&
            (options[i].only || strcmp(options[i].name, "json") == 0))
            propose(p, mcp_str_from(options[i].name), "");
}

static void propose_choices(proposing *p, const option *o)
{
    for (const char *c = o->choices; c && *c; c += strcspn(c, "|"), c += *c == '|')
        propose(p, (mcp_str){c, strcspn(c, "|")}, "");
}

static const option *option_named(const char *word)
{
    for (size_t i = 0; i < n_options; i++)
        if ((word[1] == '-' && strcmp(word + 2, options[i].name) == 0) ||
            (word[1] && !word[2] && word[1] == options[i].letter))
            return &options[i];
    return NULL;
}

/* ---- from the server ------------------------------------------------------------------------- */

static int on_page(ctl *c, const mcp_json *result, void *user)
{
    proposing *p = user;
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(result, p->list);
    (void)c;
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        propose(p, mcp_json_string(mcp_json_get(v, p->key)), "");
        if (++p->seen >= MOST_LISTED)
            return ENOUGH;
    }
    return EXIT_OK;
}

static void propose_list(proposing *p, const char *method, const char *list, const char *key)
{
    p->list = list;
    p->key = key;
    p->seen = 0;
    session_quietly(&p->c, method, on_page, p);
}

static int on_values(ctl *c, const mcp_json *result, void *user)
{
    proposing *p = user;
    mcp_json_iter it = {0};
    const mcp_json *values = mcp_json_get(mcp_json_get(result, "completion"), "values");
    (void)c;
    for (const mcp_json *v; (v = mcp_json_next(values, &it, NULL)) != NULL;)
        propose(p, mcp_json_string(v), "");
    return EXIT_OK;
}

/* Proposes values for name=…, which the server returns for completion/complete. */
static void propose_values(proposing *p, const char *prompt, const char *uri_template, mcp_str name,
                           const char *value)
{
    completion_query q = {.prompt = prompt,
                          .uri_template = uri_template,
                          .argument = name,
                          .value = value,
                          .words = (const char *const *)(void *)(p->line.items + 2),
                          .n_words = p->line.count - 2,
                          .quietly = true};
    for (size_t i = 0; i < q.n_words; i++)
        if (!strchr(q.words[i], '='))
            return;
    if (session_offers(&p->c, "completions"))
        completion_ask(&p->c, &q, on_values, p);
}

typedef struct named {
    const char *list, *name;
    mcp_json_doc *found;
} named;

static int on_named(ctl *c, const mcp_json *result, void *user)
{
    named *n = user;
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(result, n->list);
    (void)c;
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        mcp_str text;
        if (!mcp_str_eq(mcp_json_string(mcp_json_get(v, "name")), mcp_str_from(n->name)))
            continue;
        mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
        mcp_json_add_value(w, v);
        if (w && mcp_json_writer_finish(w, &text) == MCP_OK)
            mcp_json_parse(text, NULL, NULL, &n->found, NULL);
        mcp_json_writer_free(w);
        return ENOUGH;
    }
    return EXIT_OK;
}

static mcp_json_doc *find_named(proposing *p, const char *method, const char *list,
                                const char *name)
{
    named n = {.list = list, .name = name};
    session_quietly(&p->c, method, on_named, &n);
    return n.found;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Returns whether the cursor is in the value of "name=value", and gets both. */
static bool in_value(const proposing *p, mcp_str *name, const char **value)
{
    const char *equals = strchr(p->typed, '=');
    if (!equals)
        return false;
    *name = (mcp_str){p->typed, (size_t)(equals - p->typed)};
    *value = equals + 1;
    return true;
}

static void propose_prompt(proposing *p)
{
    mcp_str name;
    const char *value;
    if (p->line.count < 2) {
        propose_list(p, "prompts/list", "prompts", "name");
        return;
    }
    char *before = NULL;
    if (in_value(p, &name, &value)) {
        if (asprintf(&before, "%.*s=", (int)name.len, name.ptr) < 0)
            return;
        p->before = before;
        propose_values(p, p->line.items[1], NULL, name, value);
        free(before);
        return;
    }
    mcp_json_doc *doc = find_named(p, "prompts/list", "prompts", p->line.items[1]);
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(mcp_json_root(doc), "arguments");
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;)
        propose(p, mcp_json_string(mcp_json_get(v, "name")), "=");
    mcp_json_free(doc);
}

static void propose_template(proposing *p)
{
    mcp_str name;
    const char *value;
    if (p->line.count < 2) {
        propose_list(p, "resources/templates/list", "resourceTemplates", "name");
        return;
    }
    mcp_json_doc *doc =
        find_named(p, "resources/templates/list", "resourceTemplates", p->line.items[1]);
    char *text = text_dup(mcp_json_string(mcp_json_get(mcp_json_root(doc), "uriTemplate")));
    mcp_uri_template *t = NULL;
    char *before = NULL;
    if (!text || mcp_uri_template_parse(mcp_str_from(text), NULL, &t, NULL) != MCP_OK) {
        /* the server has no valid template with this name */
    } else if (!in_value(p, &name, &value)) {
        for (size_t i = 0; i < mcp_uri_template_variable_count(t); i++)
            propose(p, mcp_uri_template_variable(t, i), "=");
    } else if (asprintf(&before, "%.*s=", (int)name.len, name.ptr) >= 0) {
        p->before = before;
        propose_values(p, NULL, text, name, value);
        free(before);
    }
    mcp_uri_template_free(t);
    free(text);
    mcp_json_free(doc);
}

static void propose_schema_values(proposing *p, const mcp_json *schema)
{
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(schema, "enum");
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;)
        propose(p, mcp_json_string(v), "");
    if (mcp_str_eq(mcp_json_string(mcp_json_get(schema, "type")), MCP_STR("boolean"))) {
        propose(p, MCP_STR("true"), "");
        propose(p, MCP_STR("false"), "");
    }
}

static void propose_call(proposing *p)
{
    mcp_str name;
    const char *value;
    if (p->line.count < 2) {
        propose_list(p, "tools/list", "tools", "name");
        return;
    }
    mcp_json_doc *doc = find_named(p, "tools/list", "tools", p->line.items[1]);
    const mcp_json *schema = mcp_json_get(mcp_json_root(doc), "inputSchema");
    const mcp_json *properties = mcp_json_get(schema, "properties");
    mcp_json_iter it = {0};
    char *before = NULL;
    if (!in_value(p, &name, &value)) {
        while (mcp_json_next(properties, &it, &name))
            propose(p, name, "=");
    } else if (asprintf(&before, "%.*s=", (int)name.len, name.ptr) >= 0) {
        p->before = before;
        propose_schema_values(p, mcp_json_get_str(properties, name));
        free(before);
    }
    mcp_json_free(doc);
}

static void propose_uris(proposing *p)
{
    propose_list(p, "resources/list", "resources", "uri");
}

static void propose_reference(proposing *p)
{
    if (p->line.count > 1)
        return;
    propose_list(p, "prompts/list", "prompts", "name");
    propose_list(p, "resources/templates/list", "resourceTemplates", "uriTemplate");
}

static void propose_roots(proposing *p)
{
    if (p->line.count == 1) {
        propose(p, MCP_STR("add"), "");
        propose(p, MCP_STR("remove"), "");
    } else if (strcmp(p->line.items[1], "remove") == 0) {
        for (size_t i = 0; roots_path(p->c.session, i); i++)
            propose(p, mcp_str_from(roots_path(p->c.session, i)), "");
    }
}

static const struct {
    const char *command;
    void (*propose)(proposing *p);
} table[] = {
    {"call", propose_call},  {"complete", propose_reference}, {"prompt", propose_prompt},
    {"read", propose_uris},  {"root", propose_roots},         {"template", propose_template},
    {"watch", propose_uris},
};

/* Removes the options from the words before the last. */
static void drop_options(words *w)
{
    size_t left = 0;
    for (size_t i = 0; i < w->count; i++) {
        if (w->items[i][0] == '-' && w->items[i][1])
            free(w->items[i]);
        else
            w->items[left++] = w->items[i];
    }
    w->count = left;
}

static void propose_arguments(proposing *p)
{
    const char *last = p->line.items[p->line.count - 1];
    const option *o = last[0] == '-' ? option_named(last) : NULL;
    if (o && o->kind != OPTION_FLAG) {
        propose_choices(p, o);
        return;
    }
    if (p->typed[0] == '-') {
        propose_options(p, p->line.items[0]);
        return;
    }
    drop_options(&p->line);
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (p->line.count && strcmp(table[i].command, p->line.items[0]) == 0)
            table[i].propose(p);
}

void shell_propose(void *user, const char *line, size_t cursor, words *ret, size_t *from)
{
    const ctl *shell = user;
    proposing p = {.c = {.session = shell->session}, .out = ret, .before = "", .typed = ""};
    p.c.set.quiet = true;
    p.c.command = shell->command;
    char *typed = NULL;
    bool ok = shell_split(line, cursor, &p.line, from) && shell->session->client;
    if (ok && *from < cursor && p.line.count) {
        p.typed = typed = p.line.items[--p.line.count];
    }
    if (ok && p.line.count == 0 && p.typed[0] == '/') {
        p.before = "/";
        propose_list(&p, "prompts/list", "prompts", "name");
    } else if (ok && p.line.count == 0) {
        propose_commands(&p);
    } else if (ok && shell_translate(&p.line, 0)) {
        propose_arguments(&p);
    }
    free(typed);
    words_clear(&p.line);
}
