/* question.c: questions of the other server: finds the request that a question belongs to, asks the
 * caller of that request, and returns the answer.
 *
 * A legacy server on a stream does not say to which call its question belongs. The callers of a
 * session are one principal, so a question never reaches another person, and each answer goes back
 * to the request that it answers. See docs/upstream.md, "Questions".
 */
#include <stdio.h>
#include <string.h>

#include "session.h"

enum {
    MOST_QUESTIONS = 16, /* open questions of one request */
    REFUSED = -1,        /* the code of errors for questions that are not answered */
};

/* ---- capabilities ---------------------------------------------------------------------------- */

unsigned upstream_asking_of(const upstream *up, const mcp_request *req)
{
    static const struct {
        const char *capability;
        unsigned bit;
    } table[] = {{"elicitation.form", UPSTREAM_ASKS_FORM},
                 {"elicitation.url", UPSTREAM_ASKS_URL},
                 {"roots", UPSTREAM_ASKS_ROOTS}};
    unsigned asking = 0;
    /* Callers without a name may be different people, but share a session. */
    if (!mcp_request_principal(req) || up->options.no_questions)
        return 0;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        asking |= mcp_request_can(req, table[i].capability) ? table[i].bit : 0;
    return asking;
}

bool upstream_may_ask(const upstream_ask *a)
{
    static const char *const methods[] = {"tools/call", "prompts/get", "resources/read"};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (strcmp(a->method, methods[i]) == 0)
            return true;
    }
    return false;
}

/* ---- answering without the caller ------------------------------------------------------------ */

/* Answers that the user did not decide. Returns MCP_OK, or MCP_ENOMEM if the question is still
 * open. */
static int dismiss(mcp_question *q)
{
    mcp_question_kind kind = mcp_question_kind_of(q);
    if (kind == MCP_QUESTION_FORM || kind == MCP_QUESTION_URL)
        return mcp_question_cancel(q);
    return mcp_question_fail(q, REFUSED, "the question was not answered");
}

static void unlink_question(upstream_question **list, upstream_question *q)
{
    while (*list != q)
        list = &(*list)->next;
    *list = q->next;
}

static void question_free(upstream_question *q)
{
    common_release(&q->session->up->alloc, q);
}

void upstream_questions_settle(upstream_session *s)
{
    for (upstream_question **at = &s->left; *at;) {
        upstream_question *q = *at;
        if (dismiss(q->question) == MCP_OK) {
            *at = q->next;
            question_free(q);
        } else {
            at = &q->next;
        }
    }
}

/* Takes a question away from its request. It is answered later, in
 * upstream_questions_settle(). */
static void leave(upstream_parked *park, upstream_question *q)
{
    unlink_question(&park->questions, q);
    q->ask = NULL;
    q->next = q->session->left;
    q->session->left = q;
}

void upstream_questions_drop(upstream_ask *a)
{
    upstream_parked *park = a->park;
    while (park && park->questions) {
        mcp_question_on_cancel(park->questions->question, NULL, NULL);
        leave(park, park->questions);
    }
    if (!a->session->closing)
        upstream_questions_settle(a->session);
}

void upstream_questions_forget(upstream_session *s)
{
    for (upstream_ask *a = s->asks; a; a = a->next)
        upstream_questions_drop(a);
    while (s->left) {
        upstream_question *q = s->left;
        s->left = q->next;
        question_free(q);
    }
}

/* The other server does not wait for the answer any more. A question must not be answered in this
 * callback. */
static void on_withdrawn(mcp_question *question, void *user)
{
    upstream_question *q = user;
    upstream *up = q->session->up;
    (void)question;
    leave(q->ask->park, q);
    upstream_soon(up);
}

/* ---- whose question is it? ------------------------------------------------------------------- */

/* Returns whether the caller of a request can be asked now. */
static bool is_askable(const upstream_ask *a)
{
    return a->call && !a->cancelled && !a->learns && upstream_may_ask(a);
}

static upstream_ask *ask_of_call(const upstream_session *s, mcp_call_id call)
{
    upstream_ask *a = s->asks;
    while (a && (a->call != call || !is_askable(a)))
        a = a->next;
    return a;
}

/* Returns the request that has probably caused a question: the oldest one in flight that does not
 * wait for an answer, or else the oldest one. If a call was cancelled in this session, the question
 * may belong to that call. Then nobody is asked, because a person must not answer the question of a
 * call that he or she has cancelled. */
static upstream_ask *likely_ask(const upstream_session *s)
{
    upstream_ask *oldest = NULL, *free = NULL;
    for (upstream_ask *a = s->asks; a && !s->cancelled; a = a->next) {
        if (!is_askable(a))
            continue;
        oldest = a; /* new ones are at the front */
        free = a->park && a->park->questions ? free : a;
    }
    return free ? free : oldest;
}

static int add(upstream_session *s, mcp_question *question)
{
    mcp_call_id call = mcp_question_call(question);
    upstream_ask *a = call ? ask_of_call(s, call) : likely_ask(s);
    if (!a)
        return MCP_ENOTFOUND;
    int rc = upstream_park(a);
    if (rc != MCP_OK)
        return rc;
    size_t n = 0;
    upstream_question **at = &a->park->questions;
    for (; *at; at = &(*at)->next)
        n++;
    upstream_question *q = n < MOST_QUESTIONS ? common_alloc(&s->up->alloc, sizeof(*q)) : NULL;
    if (!q)
        return n < MOST_QUESTIONS ? MCP_ENOMEM : MCP_ELIMIT;
    *q = (upstream_question){.ask = a, .session = s, .question = question};
    /* A key is never used twice in the same series, because answers are repeated in later rounds.
     * Its second part keeps a caller from answering before it was asked. */
    snprintf(q->key, sizeof(q->key), "%u-%.8s", ++a->park->n_keys, a->park->id);
    *at = q;
    mcp_question_on_cancel(question, on_withdrawn, q);
    return MCP_OK;
}

void upstream_on_question(mcp_client *client, mcp_question *question, void *user)
{
    upstream_session *s = user;
    int rc = s->closing ? MCP_ECLOSED : add(s, question);
    (void)client;
    if (rc == MCP_OK) {
        upstream_soon(s->up);
        return;
    }
    const char *why = rc == MCP_ENOTFOUND ? "it is not known which request the question belongs to"
                      : rc == MCP_ELIMIT  ? "too many questions are waiting for answers"
                                          : mcp_error_text(rc);
    /* If even this fails, the memory is exhausted, and the question stays open. */
    (void)mcp_question_fail(question, MCP_CODE_INTERNAL, why);
}

/* ---- asking the caller ----------------------------------------------------------------------- */

/* Writes a value as NUL-terminated text in the memory of the request. Returns NULL if out of
 * memory. */
static const char *text_of(mcp_request *req, const upstream *up, const mcp_json *value)
{
    mcp_str text = {NULL, 0};
    mcp_json_writer *w = mcp_json_writer_new(&up->alloc, 0);
    mcp_json_add_value(w, value);
    const char *copy =
        mcp_json_writer_finish(w, &text) == MCP_OK ? mcp_request_strdup(req, text) : NULL;
    mcp_json_writer_free(w);
    return copy;
}

/* Returns the message for the user, which begins with the name of the server that asks. */
static const char *message_of(mcp_request *req, const upstream *up, mcp_str message)
{
    size_t room = strlen(up->options.name) + message.len + 3;
    char *text = mcp_request_alloc(req, room);
    if (text)
        snprintf(text, room, "%s: %.*s", up->options.name, (int)message.len,
                 message.ptr ? message.ptr : "");
    return text;
}

/* Answers a form or a URL as the user did. */
static int answer_elicited(mcp_request *req, const upstream_question *q, const mcp_elicited *got)
{
    bool form = mcp_question_kind_of(q->question) == MCP_QUESTION_FORM;
    const char *content = NULL;
    mcp_error why = {0};
    if (got->action != MCP_ACTION_ACCEPT)
        return got->action == MCP_ACTION_DECLINE ? mcp_question_decline(q->question)
                                                 : mcp_question_cancel(q->question);
    if (form && got->content && !(content = text_of(req, q->session->up, got->content)))
        return MCP_ENOMEM;
    int rc = mcp_question_accept(q->question, content, &why);
    return rc == MCP_OK || rc == MCP_ENOMEM
               ? rc
               : mcp_question_fail(q->question, MCP_CODE_INVALID_PARAMS, why.text);
}

static int elicit(mcp_request *req, const upstream_question *q)
{
    const upstream *up = q->session->up;
    const mcp_json *schema = mcp_question_schema(q->question);
    mcp_elicited got;
    mcp_elicit what = {.size = sizeof(what)};
    what.message = message_of(req, up, mcp_question_message(q->question));
    if (schema)
        what.schema = text_of(req, up, schema);
    else
        what.url = mcp_question_url(q->question).ptr;
    if (!what.message || (!what.schema && !what.url))
        return MCP_ENOMEM;
    int rc = mcp_request_elicit(req, q->key, &what, &got);
    return rc == MCP_OK ? answer_elicited(req, q, &got) : rc;
}

static int ask_roots(mcp_request *req, const upstream_question *q)
{
    const mcp_json *list = NULL, *v;
    mcp_json_iter it = {0};
    size_t n = 0;
    int rc = mcp_request_roots(req, q->key, &list);
    if (rc != MCP_OK)
        return rc;
    mcp_root *roots = mcp_request_alloc(req, (mcp_json_count(list) + 1) * sizeof(*roots));
    if (!roots)
        return MCP_ENOMEM;
    while ((v = mcp_json_next(list, &it, NULL)) != NULL)
        roots[n++] = (mcp_root){.size = sizeof(*roots),
                                .uri = mcp_json_string(mcp_json_get(v, "uri")).ptr,
                                .name = mcp_json_string(mcp_json_get(v, "name")).ptr};
    return mcp_question_roots(q->question, roots, n, NULL);
}

/* Returns MCP_OK if the question is answered, MCP_INPUT_REQUIRED, or a negative code, in which case
 * the request must end. */
static int ask_one(mcp_request *req, upstream_question *q)
{
    int rc = mcp_question_kind_of(q->question) == MCP_QUESTION_ROOTS ? ask_roots(req, q)
                                                                     : elicit(req, q);
    /* A caller that was asked before has answered with an error. */
    if (rc == MCP_EREMOTE && q->sent)
        rc = dismiss(q->question);
    q->sent = q->sent || rc == MCP_INPUT_REQUIRED;
    return rc;
}

int upstream_questions_ask(upstream_ask *a, mcp_request *req)
{
    int outcome = MCP_OK;
    for (upstream_question *q = a->park->questions, *next; q; q = next) {
        next = q->next;
        int rc = ask_one(req, q);
        if (rc < 0)
            return rc;
        if (rc == MCP_INPUT_REQUIRED) {
            outcome = rc;
            continue;
        }
        unlink_question(&a->park->questions, q);
        question_free(q);
    }
    return outcome;
}
