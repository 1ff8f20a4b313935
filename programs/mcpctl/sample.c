/* sample.c: answers requests of the server for the answer of a language model, with the command of
 * --sampler.
 *
 * A person on a terminal sees the request before it goes to the model, and the answer before it goes to
 * the server, and may edit or refuse each of them (2025-11-25 and 2026-07-28, client/sampling, "User
 * Interaction Model"). Without a terminal, or with --yes, the option on the command line counts as
 * consent to both.
 */
#define _GNU_SOURCE
#include "sample.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <common/revise.h>
#include <common/sampling.h>

#include "terminal.h"

static const char refused[] = "rejected by the user";

/* ---- commands -------------------------------------------------------------------------------- */

static char *contents_of(FILE *f)
{
    long len = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    rewind(f);
    char *text = len >= 0 ? calloc(1, (size_t)len + 1) : NULL;
    if (text && fread(text, 1, (size_t)len, f) != (size_t)len)
        text[0] = 0;
    return text;
}

/* Runs a command with `input` on stdin and returns its output, which the caller frees, or NULL if
 * the command failed. */
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
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
        text = contents_of(out);
    if (in)
        fclose(in);
    if (out)
        fclose(out);
    return text;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static bool is_object(const char *text)
{
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    int rc = mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, &error);
    bool is = rc == MCP_OK && mcp_json_is(mcp_json_root(doc), MCP_JSON_OBJECT);
    mcp_json_free(doc);
    if (rc != MCP_OK)
        say("that is not JSON: %s", error.text);
    else if (!is)
        say("that is not a JSON object");
    return is;
}

static char *params_text(const mcp_question *q)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_add_value(w, mcp_question_params(q));
    return take_written("the server's request", w);
}

/* ---- the user -------------------------------------------------------------------------------- */

/* What the user may edit or refuse. */
typedef struct review {
    const char *question, *suffix;
    bool (*fits)(const char *text); /* reports what is wrong; NULL if any text fits */
} review;

/* Returns the new text, which the caller frees, or NULL after reporting the error. */
static char *edit(const char *text, const char *suffix)
{
    char *now = NULL;
    mcp_error error = {0};
    if (revise_text(text, suffix, &now, &error) != MCP_OK)
        say("%s", error.text);
    return now;
}

/* Lets the user edit *text until it fits. */
static void revise(char **text, const review *r)
{
    char *now = edit(*text, r->suffix);
    while (now && r->fits && !r->fits(now)) {
        bool again = terminal_ask_yes("Edit it again? [y/N] ");
        char *next = again ? edit(now, r->suffix) : NULL;
        free(now);
        now = next;
    }
    if (!now)
        return;
    free(*text);
    *text = now;
}

/* Shows *text, which the user may edit. Returns whether the user accepts it. */
static bool accepts(char **text, const review *r)
{
    for (;;) {
        terminal_show_exactly(mcp_str_from(*text), 4);
        switch (terminal_choose(r->question, "yen")) {
        case 'y': return true;
        case 'e': revise(text, r); break;
        default: return false;
        }
    }
}

static bool accepts_request(const ctl *c, char **request)
{
    static const review r = {
        .question = "Run it? [y]es, [e]dit it first, [n]o: ", .suffix = ".json", .fits = is_object};
    char *shown = sampling_indented(*request);
    if (!shown)
        return false;
    free(*request);
    *request = shown;
    hint("it requests a language model's answer to this, from: %s", c->set.sampler);
    return accepts(request, &r);
}

static bool accepts_answer(char **text)
{
    static const review r = {.question = "Send this answer? [y]es, [e]dit it first, [n]o: ",
                             .suffix = ".txt"};
    hint("the answer:");
    return accepts(text, &r);
}

/* ---- answering ------------------------------------------------------------------------------- */

static void send_answer(mcp_question *q, const char *text)
{
    mcp_error error = {0};
    char *result = sampling_result(mcp_str_from(text), "command");
    if (!result) {
        mcp_question_fail(q, 0, "the sampler failed");
    } else if (mcp_question_sampled(q, result, &error) != MCP_OK) {
        say("the sampler's answer is invalid: %s", error.text);
        mcp_question_fail(q, 0, "the sampler failed");
    }
    free(result);
}

void sample_answer(const ctl *c, mcp_question *q)
{
    bool asks = terminal_can_ask() && !c->set.yes;
    char *request = params_text(q), *text = NULL;
    if (!request || (asks && !accepts_request(c, &request))) {
        mcp_question_fail(q, 0, refused);
    } else if (!(text = run_filter(c->set.sampler, request))) {
        say("the sampler failed: %s", c->set.sampler);
        mcp_question_fail(q, 0, "the sampler failed");
    } else if (asks && !accepts_answer(&text)) {
        mcp_question_fail(q, 0, refused);
    } else {
        send_answer(q, text);
    }
    free(text);
    free(request);
}
