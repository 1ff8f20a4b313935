/* complete.c: mcpctl complete, and prompts for values with the server's proposals. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "arguments.h"
#include "completion.h"
#include "completions.h"
#include "editor.h"
#include "terminal.h"

/* ---- asking the server ----------------------------------------------------------------------- */

static char *make_params(const completion_query *q)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_put_object(w, "ref");
    mcp_json_put_string(w, "type", q->prompt ? "ref/prompt" : "ref/resource");
    mcp_json_key(w, q->prompt ? "name" : "uri");
    mcp_json_add_string(w, q->prompt ? q->prompt : q->uri_template);
    mcp_json_end(w);
    mcp_json_put_object(w, "argument");
    mcp_json_put_str(w, "name", q->argument);
    mcp_json_put_string(w, "value", q->value ? q->value : "");
    mcp_json_end(w);
    if (q->n_words) {
        mcp_json_put_object(w, "context");
        mcp_json_put_object(w, "arguments");
        for (size_t i = 0; i < q->n_words; i++) {
            argument a;
            if (argument_parse(q->words[i], &a))
                mcp_json_key_str(w, a.name), mcp_json_add_string(w, a.value);
        }
        mcp_json_end(w), mcp_json_end(w);
    }
    mcp_json_end(w);
    return take_written("complete", w);
}

/* The state of a request whose result is passed to `fn` and cached. */
typedef struct keeping {
    const char *params;
    unsigned changes;
    result_fn *fn;
    void *user;
} keeping;

static int keep_and_pass(ctl *c, const mcp_json *result, void *user)
{
    const keeping *k = user;
    completions_put(c->session->completions, k->params, result, k->changes,
                    mcp_loop_now(c->session->loop));
    return k->fn(c, result, k->user);
}

/* Requests completions for TAB. A repeated request is answered from the cache. */
static int ask_quietly(ctl *c, const char *params, result_fn *fn, void *user)
{
    const completions *kept = c->session->completions;
    const mcp_json *known = completions_get(kept, params, mcp_loop_now(c->session->loop));
    keeping k = {params, completions_changes(kept), fn, user};
    return known ? fn(c, known, user)
                 : session_call_quietly(c, "completion/complete", params, keep_and_pass, &k);
}

int completion_ask(ctl *c, const completion_query *q, result_fn *fn, void *user)
{
    char *params = make_params(q);
    if (!params)
        return EXIT_LOCAL;
    int code = q->quietly ? ask_quietly(c, params, fn, user)
                          : session_call(c, "complete", "completion/complete", params, fn, user);
    free(params);
    return code;
}

/* The arguments of propose(). */
typedef struct asking {
    ctl *c;
    const completion_query *q;
    words *out;
} asking;

static int take_proposals(ctl *c, const mcp_json *result, void *user)
{
    asking *a = user;
    mcp_json_iter it = {0};
    const mcp_json *values = mcp_json_get(mcp_json_get(result, "completion"), "values");
    (void)c;
    for (const mcp_json *v; (v = mcp_json_next(values, &it, NULL)) != NULL;)
        words_add(a->out, text_dup(mcp_json_string(v)));
    return EXIT_OK;
}

static void ask_for(const asking *a, const char *value, words *ret)
{
    asking to = *a;
    completion_query ask = *a->q;
    ask.value = value;
    ask.quietly = true;
    to.out = ret;
    completion_ask(a->c, &ask, take_proposals, &to);
}

/* Proposes only values that begin with the typed text, since the server may send others too. */
static void propose(void *user, const char *line, size_t cursor, words *ret, size_t *from)
{
    words all = {0};
    char *typed = text_dup((mcp_str){line, cursor});
    *from = 0;
    if (typed && !line[cursor])
        ask_for(user, typed, &all);
    for (size_t i = 0; typed && i < all.count; i++)
        if (strncmp(all.items[i], typed, cursor) == 0)
            words_add(ret, strdup(all.items[i]));
    words_clear(&all);
    free(typed);
}

static void show_proposals(const asking *a, const char *value)
{
    words all = {0};
    ask_for(a, value, &all);
    for (size_t i = 0; i < all.count; i++)
        terminal_show_exactly(mcp_str_from(all.items[i]), 4);
    words_clear(&all);
}

char *completion_prompt(ctl *c, const completion_query *q, mcp_str about, bool required)
{
    bool helps = session_offers(c, "completions");
    char label[512];
    asking a = {.c = c, .q = q};
    snprintf(label, sizeof(label), "%.*s%s%s: ", (int)q->argument.len, q->argument.ptr,
             required ? "" : " (may be empty)", helps ? " [? shows proposals]" : "");
    terminal_show(about, 0);
    for (;;) {
        char *line = editor_ask(&(editor_options){
            .prompt = label, .propose = helps ? propose : NULL, .user = &a, .whole = true});
        size_t len = line ? strlen(line) : 0;
        if (!line || (len && (line[len - 1] != '?' || !helps)) || (!len && !required))
            return line;
        if (len) {
            line[len - 1] = 0;
            show_proposals(&a, line);
        }
        free(line);
    }
}

/* ---- complete -------------------------------------------------------------------------------- */

static int put_values(ctl *c, const mcp_json *result, void *user)
{
    const mcp_json *completion = mcp_json_get(result, "completion");
    const mcp_json *values = mcp_json_get(completion, "values");
    mcp_json_iter it = {0};
    size_t count = 0;
    (void)user;
    if (!mcp_json_is(values, MCP_JSON_ARRAY)) {
        say("complete: an answer without \"values\": the server breaks the protocol");
        return EXIT_PROTOCOL;
    }
    if (c->set.json)
        return put_json_line(c, completion);
    for (const mcp_json *v; (v = mcp_json_next(values, &it, NULL)) != NULL;) {
        if (c->set.limit && count++ == c->set.limit)
            break;
        put_field(c, mcp_json_string(v));
        putchar('\n');
    }
    if (mcp_json_bool(mcp_json_get(completion, "hasMore"), false) && !c->set.quiet)
        hint("there are more");
    return EXIT_OK;
}

static int on_prompts(ctl *c, const mcp_json *result, void *user)
{
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(result, "prompts");
    bool *is_prompt = user;
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;)
        if (mcp_str_eq(mcp_json_string(mcp_json_get(v, "name")), mcp_str_from(c->args[0])))
            *is_prompt = true;
    return EXIT_OK;
}

/* Finds out whether the name is that of a template. If a prompt has the name too, the prompt takes
 * precedence, and *ret is NULL. Otherwise *ret is the template's text, which the caller frees, or
 * NULL. */
static int find_template(ctl *c, char **ret)
{
    bool is_prompt = false;
    int code = EXIT_OK;
    *ret = NULL;
    if (session_offers(c, "resources"))
        code = template_named(c, c->args[0], ret);
    if (code == EXIT_OK && *ret && session_offers(c, "prompts"))
        code = session_list(c, "complete", "prompts/list", on_prompts, &is_prompt);
    if (is_prompt) {
        free(*ret);
        *ret = NULL;
    }
    return code;
}

int run_complete(ctl *c)
{
    const char *reference = c->args[0];
    char *text = NULL;
    bool has_value = c->n_args > 2 && !strchr(c->args[2], '=');
    completion_query q = {
        .argument = mcp_str_from(c->args[1]),
        .value = has_value ? c->args[2] : "",
        .words = (const char *const *)c->args + 2 + has_value,
        .n_words = c->n_args > 2 ? c->n_args - 2 - has_value : 0,
    };
    for (size_t i = 0; i < q.n_words; i++) {
        argument a;
        if (!argument_parse(q.words[i], &a))
            return EXIT_USAGE;
    }
    bool is_template = strpbrk(reference, "{:") != NULL;
    int code = is_template ? EXIT_OK : find_template(c, &text);
    q.uri_template = is_template ? reference : text;
    q.prompt = q.uri_template ? NULL : reference;
    if (code == EXIT_OK)
        code = completion_ask(c, &q, put_values, NULL);
    free(text);
    return code;
}
