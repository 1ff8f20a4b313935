/* questions.c: answers input requests of the server while a call runs: for a form, a URL to open,
 * or the answer of a language model.
 *
 * The server is untrusted, so the user is shown which server sent the request and for which call. A
 * URL is shown in full and never opened. A form is shown before it is sent. If the server withdraws
 * a request in the meantime, the library ignores the answer.
 */
#define _GNU_SOURCE
#include <common/address.h>

#include "form.h"
#include "roots.h"
#include "sample.h"
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

/* Several lines may be a text that is to be judged, such as the difference of a file. They are not wrapped, so that no
 * part of one line looks like another line. */
static void show_message(mcp_str text)
{
    if (text.len && memchr(text.ptr, '\n', text.len))
        terminal_show_lines(text, 4);
    else
        terminal_show(text, 4);
}

static void announce(const ctl *c, mcp_question *q, const char *wants)
{
    const mcp_json *info = mcp_client_server_info(c->session->client);
    mcp_str name = mcp_json_string(mcp_json_get(info, "name"));
    bar_clear();
    say("the server %.*s%s", (int)name.len, name.len ? name.ptr : "", wants);
    show_message(mcp_question_message(q));
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
        sample_answer(c, q);
        break;
    case MCP_QUESTION_ROOTS: roots_answer(c->session, q); break;
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
