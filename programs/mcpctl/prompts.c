/* prompts.c: mcpctl prompts, and mcpctl prompt NAME. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "arguments.h"
#include "completion.h"
#include "content.h"
#include "definitions.h"
#include "servers.h"
#include "terminal.h"

/* ---- the list -------------------------------------------------------------------------------- */

/* Writes the prompt's arguments: "path" or, if optional, "[path]". */
static void put_arguments(FILE *to, const mcp_json *prompt)
{
    const char *before = "";
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(prompt, "arguments");
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL; before = " ") {
        bool required = mcp_json_bool(mcp_json_get(v, "required"), false);
        fprintf(to, "%s%s", before, required ? "" : "[");
        text_put_raw(to, mcp_json_string(mcp_json_get(v, "name")));
        fputs(required ? "=" : "=]", to);
    }
}

static void put_prompt(const ctl *c, const mcp_json *prompt)
{
    mcp_str about = mcp_json_string(mcp_json_get(prompt, "description"));
    definition_put_head(c, &prompt_definitions.fields[0], prompt);
    if (!about.len)
        about = mcp_json_string(mcp_json_get(prompt, "title"));
    put_about(c, about);
    putchar('\n');
}

const definitions prompt_definitions = {
    .capability = "prompts",
    .method = "prompts/list",
    .kind = "prompt",
    .put = put_prompt,
    .fields = {{"ARGUMENTS", put_arguments}, {"DESCRIPTION", definition_put_description}},
    .n_fields = 2,
};

int run_prompts(ctl *c)
{
    return definitions_list(c, &prompt_definitions);
}

/* ---- one prompt ------------------------------------------------------------------------------ */

static int put_messages(ctl *c, const mcp_json *result, void *user)
{
    const mcp_json *messages = mcp_json_get(result, "messages");
    mcp_json_iter it = {0};
    size_t count = 0;
    (void)user;
    if (!mcp_json_is(messages, MCP_JSON_ARRAY)) {
        say("prompt: an answer without \"messages\": the server breaks the protocol");
        return EXIT_PROTOCOL;
    }
    if (c->set.json)
        return put_json_line(c, result);
    /* A single message is printed without labels, so that it can be piped. */
    bool labelled = mcp_json_count(messages) > 1;
    for (const mcp_json *v; (v = mcp_json_next(messages, &it, NULL)) != NULL;) {
        if (count++)
            putchar('\n');
        if (labelled) {
            put_styled(c, STYLE_BOLD, mcp_json_string(mcp_json_get(v, "role")));
            fputs(":\n", stdout);
        }
        put_content_block(c, stdout, mcp_json_get(v, "content"));
    }
    return EXIT_OK;
}

static bool is_given(const words *w, mcp_str name)
{
    return argument_value((const char *const *)(void *)w->items, w->count, name) != NULL;
}

static int ask(ctl *c, const char *prompt, const mcp_json *definition, bool required, words *w)
{
    mcp_str name = mcp_json_string(mcp_json_get(definition, "name"));
    completion_query q = {.prompt = prompt,
                          .argument = name,
                          .words = (const char *const *)(void *)w->items,
                          .n_words = w->count};
    char *word = NULL,
         *line = completion_prompt(c, &q, mcp_json_string(mcp_json_get(definition, "description")),
                                   required);
    if (!line)
        return EXIT_REFUSED;
    bool ok = !*line || (asprintf(&word, "%.*s=%s", (int)name.len, name.ptr, line) >= 0 &&
                         words_add(w, word));
    free(line);
    return ok ? EXIT_OK : EXIT_LOCAL;
}

/* If a required argument is missing, prompts for all arguments that were not given. Without a
 * terminal, this is an error. */
static int complete_words(ctl *c, const char *prompt, const mcp_json *definition, words *w)
{
    const mcp_json *list = mcp_json_get(definition, "arguments");
    mcp_json_iter it = {0}, again = {0};
    size_t missing = 0;
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        mcp_str name = mcp_json_string(mcp_json_get(v, "name"));
        if (!mcp_json_bool(mcp_json_get(v, "required"), false) || is_given(w, name))
            continue;
        missing++;
        if (!terminal_can_ask())
            say("prompt %s: the argument '%.*s' is missing", prompt, (int)name.len, name.ptr);
    }
    if (missing && !terminal_can_ask()) {
        hint("give it as a word name=value");
        return EXIT_USAGE;
    }
    int code = EXIT_OK;
    for (const mcp_json *v;
         missing && code == EXIT_OK && (v = mcp_json_next(list, &again, NULL));) {
        bool required = mcp_json_bool(mcp_json_get(v, "required"), false);
        if (!is_given(w, mcp_json_string(mcp_json_get(v, "name"))))
            code = ask(c, prompt, v, required, w);
    }
    return code;
}

static char *make_params(const char *name, const char *arguments)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "name", name);
    mcp_json_put_raw(w, "arguments", mcp_str_from(arguments));
    mcp_json_end(w);
    return take_written("prompt", w);
}

static int get_prompt(ctl *c, const char *name, const words *w)
{
    char what[256];
    char *arguments = arguments_make(c, (const char *const *)(void *)w->items, w->count, NULL);
    char *params = arguments ? make_params(name, arguments) : NULL;
    snprintf(what, sizeof(what), "prompt %s", name);
    int code =
        params ? session_call(c, what, "prompts/get", params, put_messages, NULL) : EXIT_USAGE;
    free(params);
    free(arguments);
    return code;
}

int run_prompt(ctl *c)
{
    words w = {0};
    mcp_json_doc *definition = NULL;
    int code = definitions_find(c, &prompt_definitions, c->args[0], &definition);
    for (size_t i = 1; code == EXIT_OK && i < c->n_args; i++) {
        argument a;
        if (!argument_parse(c->args[i], &a))
            code = EXIT_USAGE;
        else if (!words_add(&w, strdup(c->args[i])))
            code = EXIT_LOCAL;
    }
    if (code == EXIT_OK)
        code = complete_words(c, c->args[0], mcp_json_root(definition), &w);
    if (code == EXIT_OK)
        code = get_prompt(c, c->args[0], &w);
    mcp_json_free(definition);
    words_clear(&w);
    return code;
}
