/* questions.c: what the server asks while a call runs: a form, an address to open, a language
 * model's answer.
 *
 * A stranger asks, so it is said who does and for what; an address is shown as a whole and never
 * opened; a form is shown as it will be sent before it is sent. A question that is withdrawn
 * meanwhile may still be answered: the library then forgets the answer.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "session.h"
#include "terminal.h"

void question_take(mcp_client *client, mcp_question *question, void *user)
{
    session *s = user;
    (void)client;
    if (s->n_questions < sizeof(s->questions) / sizeof(*s->questions))
        s->questions[s->n_questions++] = question;
    else
        mcp_question_fail(question, 0, "too many questions at one time");
}

/* ---- forms ------------------------------------------------------------------------------------------ */

static void show_choices(const mcp_json *schema)
{
    const mcp_json *items = mcp_json_get(schema, "items");
    const mcp_json *from = items ? items : schema;
    const mcp_json *titled = mcp_json_get(from, "oneOf");
    if (!titled)
        titled = mcp_json_get(from, "anyOf");
    const mcp_json *plain = mcp_json_get(from, "enum"), *names = mcp_json_get(from, "enumNames");
    const mcp_json *list = titled ? titled : plain;
    mcp_json_iter it = {0};
    size_t i = 0;
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL; i++) {
        mcp_str value = mcp_json_string(titled ? mcp_json_get(v, "const") : v);
        mcp_str title = mcp_json_string(titled ? mcp_json_get(v, "title") : mcp_json_at(names, i));
        fputs("      ", stderr);
        text_put(stderr, value, TEXT_LINE);
        if (title.len)
            fputs("  ", stderr), text_put(stderr, title, TEXT_LINE);
        fputc('\n', stderr);
    }
    if (list && items)
        fputs("      (several: separated by commas)\n", stderr);
}

static void put_default(FILE *to, const mcp_json *value)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str text = mcp_json_string(value);
    mcp_json_add_value(w, value);
    if (!mcp_json_is(value, MCP_JSON_STRING))
        mcp_json_writer_finish(w, &text);
    if (text.len)
        fwrite(text.ptr, 1, text.len, to);
    mcp_json_writer_free(w);
}

/* "name (may be empty) [default]: " */
static char *make_label(mcp_str name, const mcp_json *schema, bool required)
{
    char *label = NULL;
    size_t size;
    const mcp_json *fallback = mcp_json_get(schema, "default");
    mcp_str title = mcp_json_string(mcp_json_get(schema, "title"));
    FILE *f = open_memstream(&label, &size);
    if (!f)
        return NULL;
    fprintf(f, "  %.*s", (int)(title.len ? title.len : name.len), title.len ? title.ptr : name.ptr);
    if (mcp_json_is(mcp_json_get(schema, "type"), MCP_JSON_STRING)) {
        mcp_str type = mcp_json_string(mcp_json_get(schema, "type"));
        if (!mcp_str_eq(type, MCP_STR("string")))
            fprintf(f, " (%.*s)", (int)type.len, type.ptr);
    }
    if (fallback)
        fputs(" [", f), put_default(f, fallback), fputc(']', f);
    else if (!required)
        fputs(" (may be empty)", f);
    fputs(": ", f);
    fclose(f);
    return label;
}

/* Asks for one field and adds it. False: no more input. An empty line leaves it out: then its
 * default counts. */
static bool ask_field(mcp_json_writer *w, const mcp_json *root, mcp_str name,
                      const mcp_json *schema, bool required)
{
    mcp_str about = mcp_json_string(mcp_json_get(schema, "description"));
    if (about.len)
        terminal_show(about, 4);
    show_choices(schema);
    char *label = make_label(name, schema, required), *line = NULL;
    bool optional = !required || mcp_json_get(schema, "default");
    do {
        free(line);
        line = label ? terminal_ask(label, false) : NULL;
    } while (line && !*line && !optional);
    if (line && *line) {
        bool yes = strcmp(line, "y") == 0 || strcmp(line, "yes") == 0;
        bool no = strcmp(line, "n") == 0 || strcmp(line, "no") == 0;
        mcp_json_key_str(w, name);
        if ((yes || no) && schema_types(root, schema) == 1u << MCP_JSON_BOOL)
            mcp_json_add_bool(w, yes);
        else
            add_typed(w, root, schema, line);
    }
    free(label);
    bool ok = line != NULL;
    free(line);
    return ok;
}

static bool is_required(const mcp_json *schema, mcp_str name)
{
    mcp_json_iter it = {0};
    const mcp_json *list = mcp_json_get(schema, "required");
    for (const mcp_json *v; (v = mcp_json_next(list, &it, NULL)) != NULL;)
        if (mcp_str_eq(mcp_json_string(v), name))
            return true;
    return false;
}

/* The filled form as JSON, to be freed; NULL: no more input. */
static char *fill_form(const mcp_json *schema)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    const mcp_json *fields = mcp_json_get(schema, "properties");
    mcp_json_iter it = {0};
    mcp_str name;
    bool ok = true;
    mcp_json_begin_object(w);
    for (const mcp_json *v; ok && (v = mcp_json_next(fields, &it, &name)) != NULL;)
        ok = ask_field(w, schema, name, v, is_required(schema, name));
    mcp_json_end(w);
    if (ok)
        return take_written("the answer", w);
    mcp_json_writer_free(w);
    return NULL;
}

typedef enum verdict { YES, NO, AGAIN, NEITHER } verdict;

static verdict ask_verdict(const char *question)
{
    char *line = terminal_ask(question, false);
    char answer = line ? line[0] : 0;
    free(line);
    switch (answer) {
    case 'y':
    case 'Y': return YES;
    case 'n':
    case 'N': return NO;
    case 'e':
    case 'E': return AGAIN;
    default: return NEITHER;
    }
}

static void announce(const ctl *c, mcp_question *q, const char *wants)
{
    const mcp_json *info = mcp_client_server_info(c->session->client);
    mcp_str name = mcp_json_string(mcp_json_get(info, "name"));
    bar_clear();
    say("the server %.*s%s", (int)name.len, name.len ? name.ptr : "", wants);
    terminal_show(mcp_question_message(q), 4);
}

/* Whether the question is answered; false: once more. */
static bool answer_form(mcp_question *q)
{
    mcp_error error = {0};
    char *content = fill_form(mcp_question_schema(q));
    if (!content) {
        mcp_question_cancel(q);
        return true;
    }
    fputs("  ", stderr);
    text_put_json(stderr, mcp_str_from(content));
    fputc('\n', stderr);
    verdict v = ask_verdict("Send this? [y]es, [n]o and say so, [e]dit: ");
    bool done = true;
    if (v == YES && mcp_question_accept(q, content, &error) != MCP_OK) {
        say("that does not fit: %s", error.text);
        done = false;
    } else if (v == NO) {
        mcp_question_decline(q);
    } else if (v == NEITHER) {
        mcp_question_cancel(q);
    } else if (v == AGAIN) {
        done = false;
    }
    free(content);
    return done;
}

/* ---- addresses -------------------------------------------------------------------------------------- */

static void answer_url(mcp_question *q)
{
    hint("it wants you to open this address, which mcpctl does not do:");
    terminal_show(mcp_question_url(q), 4);
    hint("look at it first: what is entered there goes to whoever it belongs to");
    switch (ask_verdict("Have you opened it? [y]es, [n]o and say so: ")) {
    case YES: mcp_question_accept(q, NULL, NULL); break;
    case NO: mcp_question_decline(q); break;
    default: mcp_question_cancel(q);
    }
}

/* ---- sampling --------------------------------------------------------------------------------------- */

/* What the command writes when it reads `input`; to be freed. NULL: it failed. */
static char *run_filter(const char *line, const char *input)
{
    FILE *in = tmpfile(), *out = tmpfile();
    char *text = NULL;
    int status = -1;
    pid_t pid = -1;
    if (in && out && fputs(input, in) >= 0 && fflush(in) == 0) {
        rewind(in);
        fflush(NULL);
        pid = fork();
    }
    if (pid == 0) {
        dup2(fileno(in), 0), dup2(fileno(out), 1);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0) {
        long len = fseek(out, 0, SEEK_END) == 0 ? ftell(out) : -1;
        rewind(out);
        text = len >= 0 ? calloc(1, (size_t)len + 1) : NULL;
        if (text && fread(text, 1, (size_t)len, out) != (size_t)len)
            text[0] = 0;
    }
    if (in)
        fclose(in);
    if (out)
        fclose(out);
    return text;
}

/* A CreateMessageResult as it is; a text becomes one. */
static char *as_result(const char *text)
{
    mcp_json_doc *doc = NULL;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL);
    if (mcp_json_get(mcp_json_root(doc), "content")) {
        mcp_json_add_value(w, mcp_json_root(doc));
    } else {
        mcp_json_begin_object(w);
        mcp_json_key(w, "role"), mcp_json_add_string(w, "assistant");
        mcp_json_key(w, "model"), mcp_json_add_string(w, "command");
        mcp_json_key(w, "stopReason"), mcp_json_add_string(w, "endTurn");
        mcp_json_key(w, "content"), mcp_json_begin_object(w);
        mcp_json_key(w, "type"), mcp_json_add_string(w, "text");
        mcp_json_key(w, "text"), mcp_json_add_string(w, text);
        mcp_json_end(w), mcp_json_end(w);
    }
    mcp_json_free(doc);
    return take_written("the sampler's answer", w);
}

static char *params_text(const mcp_question *q)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_add_value(w, mcp_question_params(q));
    return take_written("the server's request", w);
}

/* The person sees what is asked and may say no; without one the command line has said yes. */
static void answer_sample(const ctl *c, mcp_question *q)
{
    mcp_error error = {0};
    char *request = params_text(q), *text = NULL, *result = NULL;
    bool yes = request != NULL;
    if (yes && terminal_can_ask() && !c->set.yes) {
        hint("it wants a language model's answer to this, from: %s", c->set.sampler);
        fputs("    ", stderr);
        text_put_json(stderr, mcp_str_from(request));
        fputc('\n', stderr);
        yes = terminal_ask_yes("Run it? [y/N] ");
    }
    if (yes)
        text = run_filter(c->set.sampler, request);
    if (yes && !text)
        say("the sampler failed: %s", c->set.sampler);
    if (text)
        result = as_result(text);
    if (!result)
        mcp_question_fail(q, 0, yes ? "the sampler failed" : "rejected by the user");
    else if (mcp_question_sampled(q, result, &error) != MCP_OK) {
        say("the sampler's answer does not fit: %s", error.text);
        mcp_question_fail(q, 0, "the sampler failed");
    }
    free(result);
    free(text);
    free(request);
}

/* ---- all of them ------------------------------------------------------------------------------------ */

static void answer(ctl *c, mcp_question *q)
{
    switch (mcp_question_kind_of(q)) {
    case MCP_QUESTION_FORM:
        announce(c, q, " asks:");
        while (!answer_form(q)) {
        }
        break;
    case MCP_QUESTION_URL:
        announce(c, q, " asks:");
        answer_url(q);
        break;
    case MCP_QUESTION_SAMPLE:
        if (terminal_can_ask())
            announce(c, q, " asks:");
        answer_sample(c, q);
        break;
    case MCP_QUESTION_ROOTS: mcp_question_roots(q, NULL, 0, NULL); break;
    }
}

void questions_answer(ctl *c)
{
    session *s = c->session;
    while (s->n_questions) {
        mcp_question *q = s->questions[0];
        memmove(s->questions, s->questions + 1, --s->n_questions * sizeof(*s->questions));
        answer(c, q);
    }
}
