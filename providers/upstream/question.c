/* question.c: questions of the other server: finds the request that a question belongs to, asks the
 * caller of that request, and returns the answer.
 *
 * A legacy server on a stream does not say to which call its question belongs. The callers of a
 * session are one principal, so a question never reaches another person, and each answer goes back
 * to the request that it answers. In a shared session, such a question is passed on only while there
 * is one call. See docs/upstream.md, "Questions".
 */
#include <stdio.h>
#include <string.h>

#include <mcp/schema.h>
#include <mcp/sys/client.h>

#include "session.h"

enum {
    MOST_STEPS = 500 * 1000, /* of the validation of one answer */
    MOST_QUESTIONS = 16,     /* open questions of one request */
    MOST_INVALID = 8,        /* answers to one question that do not fit it */
    REFUSED = -1,            /* the code of errors for questions that are not answered */
};

/* ---- capabilities ---------------------------------------------------------------------------- */

/* Returns whether the caller shows apps of the only type that there is (extension
 * io.modelcontextprotocol/ui, "Client<>Server Capability Negotiation"). */
static bool shows_apps(const mcp_request *req)
{
    const mcp_json *ui =
        mcp_json_get(mcp_json_get(mcp_request_client_capabilities(req), "extensions"),
                     "io.modelcontextprotocol/ui");
    mcp_json_iter it = {0};
    for (const mcp_json *v;
         (v = mcp_json_next(mcp_json_get(ui, "mimeTypes"), &it, NULL)) != NULL;) {
        if (mcp_str_eq(mcp_json_string(v), MCP_STR("text/html;profile=mcp-app")))
            return true;
    }
    return false;
}

static const struct {
    const char *capability;
    unsigned bit;
} questions[] = {{"elicitation.form", UPSTREAM_ASKS_FORM},
                 {"elicitation.url", UPSTREAM_ASKS_URL},
                 {"sampling", UPSTREAM_ASKS_SAMPLE},
                 {"sampling.tools", UPSTREAM_ASKS_TOOLS},
                 {"roots", UPSTREAM_ASKS_ROOTS}};
enum { QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

/* Returns those of the bits UPSTREAM_ASKS_* that a session of this principal may declare. */
static unsigned askable(const upstream *up, const char *principal)
{
    /* Callers without a name may be different people, but share a session. */
    if (!principal || up->options.no_questions)
        return 0;
    /* A server keeps roots for the whole session, so one caller's would be used for another. */
    return up->options.shared ? ~(unsigned)UPSTREAM_ASKS_ROOTS : ~0u;
}

unsigned upstream_declared_by(const upstream *up, const mcp_request *req)
{
    unsigned declared = 0;
    if (!mcp_json_count(mcp_request_client_capabilities(req)))
        return 0;
    for (size_t i = 0; i < QUESTIONS; i++)
        declared |= mcp_request_can(req, questions[i].capability) ? questions[i].bit : 0;
    declared &= askable(up, mcp_request_principal(req));
    return shows_apps(req) ? declared | UPSTREAM_SHOWS_APPS : declared;
}

unsigned upstream_declared_as(const upstream *up, const char *principal, const char *const *can)
{
    unsigned declared = 0;
    for (; *can; can++) {
        for (size_t i = 0; i < QUESTIONS; i++)
            declared |= strcmp(*can, questions[i].capability) == 0 ? questions[i].bit : 0;
    }
    return declared & askable(up, principal);
}

bool upstream_may_ask(const upstream_ask *a)
{
    static const char *const methods[] = {"tools/call", "prompts/get", "resources/read"};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (strcmp(a->f.method, methods[i]) == 0)
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

/* The other server no longer waits for the answer. A question must not be answered in this
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
    return a->f.call && !a->cancelled && !a->learns && upstream_may_ask(a);
}

static upstream_ask *ask_of_call(const upstream_session *s, mcp_call_id call)
{
    upstream_ask *a = s->asks;
    while (a && (a->f.call != call || !is_askable(a)))
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
    size_t n = 0;
    for (upstream_ask *a = s->asks; a && !s->cancelled; a = a->next) {
        if (!is_askable(a))
            continue;
        n++;
        oldest = a; /* new ones are at the front */
        free = a->park && a->park->questions ? free : a;
    }
    /* In a shared session, another caller's question must not be guessed to be this one's. */
    if (s->up->options.shared && n > 1)
        return NULL;
    return free ? free : oldest;
}

static int add(upstream_session *s, mcp_question *question)
{
    mcp_call_id call = mcp_question_call(question);
    s->unattributed = s->unattributed || !call;
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
    /* A key is never used twice for the same call, because a caller can repeat old answers. */
    snprintf(q->key, sizeof(q->key), "%u", ++a->park->n_keys);
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

void upstream_on_complete(mcp_client *client, mcp_str elicitation_id, void *user)
{
    const upstream_session *s = user;
    common_buffer b;
    (void)client;
    common_buffer_init(&b, &s->up->alloc);
    /* the identifier that mcp_request_ask_raw() makes */
    if (common_put(&b, s->up->options.name) && common_put(&b, ":") &&
        common_buffer_append(&b, elicitation_id.ptr, elicitation_id.len) == MCP_OK &&
        common_buffer_append(&b, "", 1) == MCP_OK)
        mcp_server_elicitation_complete(s->up->server, b.ptr);
    common_buffer_free(&b);
}

/* ---- the answers ----------------------------------------------------------------------------- */

/* The functions below return whether an answer has the form that the specification requires. If not,
 * the caller is asked again. */

static bool is_among(mcp_str text, const char *const *texts)
{
    while (*texts && !mcp_str_eq(text, mcp_str_from(*texts)))
        texts++;
    return *texts != NULL;
}

static bool fits_url(const mcp_question *q, const mcp_json *answer)
{
    static const char *const actions[] = {"accept", "decline", "cancel", NULL};
    (void)q;
    return is_among(mcp_json_string(mcp_json_get(answer, "action")), actions);
}

/* If the schema cannot be compiled, only the other server can check the answer. */
static bool conforms(const mcp_question *q, const mcp_json *content)
{
    mcp_schema *schema = NULL;
    int rc = mcp_schema_compile(
        NULL, mcp_question_schema(q),
        MCP_OPTIONS(mcp_schema_options, .max_steps = MOST_STEPS, .assert_formats = true), &schema,
        NULL);
    if (rc == MCP_OK)
        rc = mcp_schema_validate(schema, content, NULL);
    else
        rc = MCP_OK;
    mcp_schema_free(schema);
    return rc != MCP_EINVAL;
}

static bool fits_form(const mcp_question *q, const mcp_json *answer)
{
    static const char *const negative[] = {"decline", "cancel", NULL};
    const mcp_json *content = mcp_json_get(answer, "content");
    if (is_among(mcp_json_string(mcp_json_get(answer, "action")), negative))
        return true;
    return fits_url(q, answer) && mcp_json_is(content, MCP_JSON_OBJECT) && conforms(q, content);
}

static bool fits_sample(const mcp_question *q, const mcp_json *answer)
{
    const mcp_json *content = mcp_json_get(answer, "content");
    (void)q;
    return mcp_json_is(mcp_json_get(answer, "role"), MCP_JSON_STRING) &&
           mcp_json_is(mcp_json_get(answer, "model"), MCP_JSON_STRING) &&
           (mcp_json_is(content, MCP_JSON_OBJECT) || mcp_json_is(content, MCP_JSON_ARRAY));
}

static bool fits_roots(const mcp_question *q, const mcp_json *answer)
{
    const mcp_json *list = mcp_json_get(answer, "roots"), *root;
    mcp_json_iter it = {0};
    (void)q;
    if (!mcp_json_is(list, MCP_JSON_ARRAY))
        return false;
    while ((root = mcp_json_next(list, &it, NULL)) != NULL &&
           mcp_json_is(mcp_json_get(root, "uri"), MCP_JSON_STRING))
        continue;
    return root == NULL;
}

/* What the other server asks for, by kind. */
static const struct {
    const char *method;
    bool (*fits)(const mcp_question *q, const mcp_json *answer);
} kinds[] = {
    [MCP_QUESTION_FORM] = {"elicitation/create", fits_form},
    [MCP_QUESTION_URL] = {"elicitation/create", fits_url},
    [MCP_QUESTION_SAMPLE] = {"sampling/createMessage", fits_sample},
    [MCP_QUESTION_ROOTS] = {"roots/list", fits_roots},
};

/* The caller answered with an error. A modern server cannot get an error as an answer to a form or a
 * URL. */
static int answer_refused(mcp_question *q, const mcp_raw_answer *answer)
{
    mcp_question_kind kind = mcp_question_kind_of(q);
    if (kind == MCP_QUESTION_FORM || kind == MCP_QUESTION_URL)
        return mcp_question_cancel(q);
    return mcp_question_fail_text(q, answer->json, NULL);
}

/* Returns MCP_OK if the other server has the answer, MCP_ENOTFOUND if there is none in this round,
 * or MCP_ENOMEM. */
static int take_answer(mcp_request *req, upstream_question *q)
{
    mcp_raw_answer answer;
    int rc = q->sent ? mcp_request_raw_answer(req, q->key, &answer) : MCP_ENOTFOUND;
    if (rc != MCP_OK)
        return rc;
    if (answer.refused)
        rc = answer_refused(q->question, &answer);
    else if (kinds[mcp_question_kind_of(q->question)].fits(q->question, answer.value))
        rc = mcp_question_answer_text(q->question, answer.json, NULL);
    else
        rc = MCP_EINVAL;
    if (rc == MCP_OK || rc == MCP_ENOMEM)
        return rc;
    if (++q->n_invalid < MOST_INVALID)
        return MCP_ENOTFOUND;
    return mcp_question_fail(q->question, MCP_CODE_INTERNAL,
                             "the answers of the client are invalid");
}

/* ---- asking the caller ----------------------------------------------------------------------- */

/* Returns MCP_INPUT_REQUIRED, or a negative code if this caller cannot be asked. */
static int pose(mcp_request *req, upstream_question *q)
{
    const upstream *up = q->session->up;
    const mcp_raw raw = {.size = sizeof(raw),
                         .json = mcp_question_params_text(q->question),
                         .value = mcp_question_params(q->question),
                         .uri_prefix = up->prefix,
                         .ui_prefix = *up->ui_prefix ? up->ui_prefix : NULL,
                         .asker = up->options.name};
    const mcp_raw_question what = {.size = sizeof(what),
                                   .key = q->key,
                                   .method = kinds[mcp_question_kind_of(q->question)].method,
                                   .params = &raw};
    int rc = mcp_request_ask_raw(req, &what);
    q->sent = q->sent || rc == MCP_INPUT_REQUIRED;
    return rc;
}

/* Returns MCP_OK if the question is answered, MCP_INPUT_REQUIRED, or MCP_ENOMEM. */
static int ask_one(mcp_request *req, upstream_question *q)
{
    int rc = take_answer(req, q);
    if (rc == MCP_ENOTFOUND)
        rc = pose(req, q);
    if (rc >= 0 || rc == MCP_ENOMEM)
        return rc;
    return mcp_question_fail(q->question, MCP_CODE_INVALID_PARAMS,
                             rc == MCP_EREMOTE ? "the client cannot be asked this question"
                                               : "the question is malformed or too large");
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
