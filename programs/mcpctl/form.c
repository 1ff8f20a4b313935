/* form.c: fills in a form of the server.
 *
 * Everything is shown before it is sent, including defaults (2025-11-25 and later,
 * client/elicitation: the user reviews the answer). Without a terminal, --answer gives the values,
 * and only these and the server's own defaults are sent.
 */
#define _GNU_SOURCE
#include "form.h"

#include <stdlib.h>

#include <common/file.h>

#include "arguments.h"
#include "fields.h"
#include "servers.h"
#include "terminal.h"

/* ---- --answer -------------------------------------------------------------------------------- */

struct answers {
    words words; /* name=text, name:=JSON */
    bool *used;
};

static bool add_member_word(words *to, mcp_str name, const mcp_json *value)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_add_value(w, value);
    char *json = take_written("--answer", w), *word = NULL;
    if (json && asprintf(&word, "%.*s:=%s", (int)name.len, name.ptr, json) < 0)
        word = NULL;
    free(json);
    return words_add(to, word);
}

static int add_file(words *to, const char *path)
{
    enum { MOST = 1 << 20 };
    char *text = NULL;
    size_t len = 0;
    mcp_error error = {0};
    mcp_json_doc *doc = NULL;
    mcp_json_iter it = {0};
    mcp_str name;
    int code = EXIT_OK;
    if (file_load(path, FILE_NAMED, MOST, &text, &len, &error) == MCP_OK)
        mcp_json_parse((mcp_str){text, len}, NULL, NULL, &doc, &error);
    free(text);
    const mcp_json *object = mcp_json_root(doc);
    if (!mcp_json_is(object, MCP_JSON_OBJECT)) {
        say("--answer @%s: %s", path, doc ? "it is no JSON object" : error.text);
        code = EXIT_USAGE;
    }
    for (const mcp_json *v; code == EXIT_OK && (v = mcp_json_next(object, &it, &name)) != NULL;)
        code = add_member_word(to, name, v) ? EXIT_OK : EXIT_LOCAL;
    mcp_json_free(doc);
    return code;
}

int answers_load(const ctl *c, answers **ret)
{
    const texts *given = &c->set.answers;
    *ret = NULL;
    if (!given->count)
        return EXIT_OK;
    answers *a = calloc(1, sizeof(*a));
    int code = a ? EXIT_OK : EXIT_LOCAL;
    for (size_t i = 0; code == EXIT_OK && i < given->count; i++) {
        const char *word = given->items[i];
        argument unused;
        if (*word == '@')
            code = add_file(&a->words, word + 1);
        else if (!argument_parse(word, &unused))
            code = EXIT_USAGE;
        else
            code = words_add(&a->words, strdup(word)) ? EXIT_OK : EXIT_LOCAL;
    }
    if (code == EXIT_OK && !(a->used = calloc(a->words.count + 1, sizeof(*a->used))))
        code = EXIT_LOCAL;
    if (code == EXIT_OK)
        *ret = a;
    else
        answers_free(a, true);
    return code;
}

void answers_free(answers *a, bool quiet)
{
    if (!a)
        return;
    for (size_t i = 0; !quiet && a->used && i < a->words.count; i++)
        if (!a->used[i])
            say("warning: no form had a field for --answer %s", a->words.items[i]);
    words_clear(&a->words);
    free(a->used);
    free(a);
}

/* Gets the last answer for a field. */
static bool find_answer(answers *a, mcp_str name, argument *ret)
{
    bool found = false;
    for (size_t i = 0; a && i < a->words.count; i++) {
        argument one;
        if (!argument_parse(a->words.items[i], &one) || !mcp_str_eq(one.name, name))
            continue;
        *ret = one;
        a->used[i] = found = true;
    }
    return found;
}

/* ---- filling in ------------------------------------------------------------------------------ */

typedef enum filled { FILLED, NOT_FILLED, NO_MORE_INPUT } filled;

/* Returns the value of --answer as JSON text. Returns NULL if there is none or if it is invalid,
 * which is reported and sets *bad. */
static char *given_value(ctl *c, const field *f, bool *bad)
{
    argument a;
    field_reason why = {""};
    if (!find_answer(c->session->answers, f->name, &a))
        return NULL;
    char *json = a.is_json ? strdup(a.value) : field_value(f, a.value, &why);
    if (json && a.is_json && !field_fits(f, mcp_str_from(json), &why)) {
        free(json);
        json = NULL;
    }
    *bad = !json;
    if (!json)
        say("the answer for the field '%.*s' is invalid: %s", (int)f->name.len, f->name.ptr,
            why.text);
    return json;
}

static char *default_value(const field *f)
{
    mcp_json_writer *w = field_default(f) ? mcp_json_writer_new(NULL, 0) : NULL;
    if (!w)
        return NULL;
    mcp_json_add_value(w, field_default(f));
    return take_written("a default", w);
}

static filled fill_field(ctl *c, const field *f, mcp_json_writer *w)
{
    bool bad = false;
    char *json = given_value(c, f, &bad);
    if (!json && terminal_can_ask()) {
        if (field_ask(f, &json) == FIELD_END)
            return NO_MORE_INPUT;
    } else if (!json && !bad) {
        json = default_value(f);
        bad = !json && f->required;
        if (bad)
            say("the field '%.*s' of the form is required: --answer '%.*s=VALUE' gives it",
                (int)f->name.len, f->name.ptr, (int)f->name.len, f->name.ptr);
    }
    if (json)
        mcp_json_key_str(w, f->name), mcp_json_add_raw(w, mcp_str_from(json));
    free(json);
    return bad && !json ? NOT_FILLED : FILLED;
}

/* Fills in the form. *ret is the result as JSON, which the caller frees. */
static filled fill(ctl *c, const mcp_json *schema, char **ret)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_iter it = {0};
    field f;
    filled state = FILLED;
    mcp_json_begin_object(w);
    while (state != NO_MORE_INPUT && field_next(schema, &it, &f)) {
        filled one = fill_field(c, &f, w);
        state = one == FILLED ? state : one; /* continues, to report all errors */
    }
    mcp_json_end(w);
    *ret = state == FILLED ? take_written("the answer", w) : NULL;
    if (state != FILLED)
        mcp_json_writer_free(w);
    return state == FILLED && !*ret ? NOT_FILLED : state;
}

/* ---- the review ------------------------------------------------------------------------------ */

/* Prints all values to be sent, one per line. */
static void show_content(const char *content)
{
    mcp_json_doc *doc = NULL;
    mcp_json_iter it = {0};
    mcp_str name, text;
    mcp_json_parse(mcp_str_from(content), NULL, NULL, &doc, NULL);
    bool empty = !mcp_json_count(mcp_json_root(doc));
    fputs(empty ? "  the answer is empty\n" : "  this is the answer:\n", stderr);
    for (const mcp_json *v; (v = mcp_json_next(mcp_json_root(doc), &it, &name)) != NULL;) {
        mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
        mcp_json_add_value(w, v);
        fputs("    ", stderr);
        text_put(stderr, name, TEXT_LINE);
        fputs(" = ", stderr);
        if (w && mcp_json_writer_finish(w, &text) == MCP_OK)
            text_put_json(stderr, text);
        fputc('\n', stderr);
        mcp_json_writer_free(w);
    }
    mcp_json_free(doc);
}

/* Returns false if the answer was rejected, after printing the reason. */
static bool send_answer(mcp_question *q, const char *content)
{
    mcp_error error = {0};
    if (mcp_question_accept(q, content, &error) == MCP_OK)
        return true;
    say("that does not fit: %s", error.text);
    return false;
}

/* Returns whether the request has been answered. If not, the caller tries again. */
static bool ask_once(ctl *c, mcp_question *q)
{
    char *content = NULL;
    bool done = true;
    if (fill(c, mcp_question_schema(q), &content) != FILLED) {
        mcp_question_cancel(q);
        return true;
    }
    show_content(content);
    switch (terminal_choose("Send this? [y]es, [n]o (decline), [e]dit: ", "yne")) {
    case 'y': done = send_answer(q, content); break;
    case 'n': mcp_question_decline(q); break;
    case 'e': done = false; break;
    default: mcp_question_cancel(q);
    }
    free(content);
    return done;
}

static void answer_alone(ctl *c, mcp_question *q)
{
    char *content = NULL;
    bool ok = fill(c, mcp_question_schema(q), &content) == FILLED;
    if (ok && !c->set.quiet)
        show_content(content);
    if (!ok || !send_answer(q, content))
        mcp_question_fail(q, 0, "--answer does not fill in the form");
    free(content);
}

void form_answer(ctl *c, mcp_question *q)
{
    if (!terminal_can_ask()) {
        answer_alone(c, q);
        return;
    }
    while (!ask_once(c, q)) {
    }
}
