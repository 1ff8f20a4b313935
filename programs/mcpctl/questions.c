/* questions.c: answers input requests of the server while a call runs: for a form, a URL to open,
 * or the answer of a language model.
 *
 * The server is untrusted, so the user is shown which server sent the request and for which call. A
 * URL is shown in full and never opened. A form is shown before it is sent. If the server withdraws
 * a request in the meantime, the library ignores the answer.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include <common/address.h>
#include <common/sampling.h>

#include "form.h"
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

static void announce(const ctl *c, mcp_question *q, const char *wants)
{
    const mcp_json *info = mcp_client_server_info(c->session->client);
    mcp_str name = mcp_json_string(mcp_json_get(info, "name"));
    bar_clear();
    say("the server %.*s%s", (int)name.len, name.len ? name.ptr : "", wants);
    terminal_show(mcp_question_message(q), 4);
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Shows the host on a separate line, because it determines who controls the address (2025-11-25,
 * client/elicitation, "Safe URL Handling"). */
static void show_host(mcp_str url)
{
    mcp_str host;
    const char *warnings[ADDRESS_WARNINGS];
    size_t n = address_check(url, &host, warnings);
    if (host.len) {
        hint("it belongs to:");
        terminal_show_exactly(host, 4);
    }
    for (size_t i = 0; i < n; i++)
        say("warning: %s", warnings[i]);
}

static void answer_url(mcp_question *q)
{
    hint("it asks you to open this address, which mcpctl does not do:");
    terminal_show_exactly(mcp_question_url(q), 4);
    show_host(mcp_question_url(q));
    hint("check it first: its owner gets everything that is entered there");
    switch (terminal_choose("Have you opened it? [y]es, [n]o (decline): ", "yn")) {
    case 'y': mcp_question_accept(q, NULL, NULL); break;
    case 'n': mcp_question_decline(q); break;
    default: mcp_question_cancel(q);
    }
}

/* ---- sampling -------------------------------------------------------------------------------- */

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

static char *params_text(const mcp_question *q)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_add_value(w, mcp_question_params(q));
    return take_written("the server's request", w);
}

/* Shows the user the request, which the user may decline. Without a terminal, the option on the
 * command line counts as consent. */
static void answer_sample(const ctl *c, mcp_question *q)
{
    mcp_error error = {0};
    char *request = params_text(q), *text = NULL, *result = NULL;
    bool yes = request != NULL;
    if (yes && terminal_can_ask() && !c->set.yes) {
        hint("it requests a language model's answer to this, from: %s", c->set.sampler);
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
        result = sampling_result(mcp_str_from(text), "command");
    if (!result)
        mcp_question_fail(q, 0, yes ? "the sampler failed" : "rejected by the user");
    else if (mcp_question_sampled(q, result, &error) != MCP_OK) {
        say("the sampler's answer is invalid: %s", error.text);
        mcp_question_fail(q, 0, "the sampler failed");
    }
    free(result);
    free(text);
    free(request);
}

/* ---- all requests ---------------------------------------------------------------------------- */

static void answer(ctl *c, mcp_question *q)
{
    switch (mcp_question_kind_of(q)) {
    case MCP_QUESTION_FORM:
        if (terminal_can_ask() || !c->set.quiet)
            announce(c, q, " asks:");
        form_answer(c, q);
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
