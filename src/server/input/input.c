/* input.c: handles the input requests of a handler and the client's answers, independent of how
 * they are sent (2026-07-28, basic/patterns/mrtr).
 *
 * Input requests are not stored between rounds. In each round, the handler runs from its start and
 * makes its requests again. If a request has an answer already, the handler gets the answer. The
 * other requests are sent to the client, and its answers begin the next round.
 */
#include "server/input/input.h"
#include "server/methods/methods.h"
#include "server/tasks/tasks.h"

#include <mcp/sys/forward.h>

enum {
    MAX_INVALID = 8, /* number of invalid answers that are tolerated */
};

struct mcp__input *mcp__input_need(mcp_request *req)
{
    struct mcp__input *input = req->input;
    if (input)
        return input;
    input = mcp_request_alloc(req, sizeof(*input));
    if (!input)
        return NULL;
    *input = (struct mcp__input){.n_questions = 0};
    mcp__list_init(&input->questions);
    mcp__list_init(&input->answers);
    mcp__list_init(&input->raw_answers);
    req->input = input;
    return input;
}

static void drop_answer(mcp__answer *answer)
{
    mcp__list_remove(&answer->link);
    mcp_json_free(answer->doc);
}

static void drop_answers(mcp__link *answers)
{
    while (!mcp__list_empty(answers))
        drop_answer(mcp__container(answers->next, mcp__answer, link));
}

void mcp__input_clear(mcp_request *req)
{
    struct mcp__input *input = req->input;
    drop_answers(&input->answers);
    drop_answers(&input->raw_answers);
    mcp_json_free(input->opened);
    req->input = NULL;
}

/* ---- input requests ------------------------------------------------------------------------- */

mcp__question *mcp__input_find(const struct mcp__input *input, mcp_str key)
{
    for (mcp__link *l = input->questions.next; l != &input->questions; l = l->next) {
        mcp__question *q = mcp__container(l, mcp__question, link);
        if (mcp_str_eq(q->key, key))
            return q;
    }
    return NULL;
}

void mcp__put_question(mcp__json_list *members, mcp_str key, const mcp__question *q)
{
    mcp__json_key(members, key);
    mcp__buf_lit(members->buf, "{\"method\":");
    mcp__json_put_str(members->buf, q->method);
    mcp__buf_lit(members->buf, ",\"params\":");
    mcp__buf_str(members->buf, q->params);
    mcp__buf_char(members->buf, '}');
}

void mcp__put_questions(mcp__buf *b, const struct mcp__input *input)
{
    mcp__json_list members = mcp__json_begin_object(b);
    for (mcp__link *l = input->questions.next; l != &input->questions; l = l->next) {
        const mcp__question *q = mcp__container(l, mcp__question, link);
        mcp__put_question(&members, q->key, q);
    }
    mcp__json_end(&members);
}

static int put_params(mcp_request *req, const mcp__ask *ask, mcp_str *ret)
{
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, MCP__MAX_PARAMS);
    int rc = ask->put(req, ask->what, &b);
    if (rc == MCP_OK)
        rc = b.failed;
    if (rc == MCP_OK) {
        *ret = mcp__request_copy(req, mcp__buf_view(&b));
        rc = ret->ptr ? MCP_OK : MCP_ENOMEM;
    }
    mcp__buf_free(&b);
    mcp_str why = req->error.why_code == rc ? req->error.why : (mcp_str){0};
    if (rc == MCP_EINVAL || rc == MCP_EPARSE)
        mcp_reply_fail(req, MCP__INTERNAL_ERROR,
                       "Internal error: the input request with the key \"%s\" is malformed%s%.*s",
                       ask->key, why.ptr ? ": " : "", (int)why.len, why.ptr ? why.ptr : "");
    return rc;
}

int mcp__input_put(mcp_request *req, mcp_str key, const char *method, mcp_str params,
                   mcp__question **ret)
{
    struct mcp__input *input = req->input;
    if (input->n_questions == MCP__MAX_QUESTIONS)
        return MCP_ELIMIT;
    mcp__question *q = mcp_request_alloc(req, sizeof(*q));
    char *copy = q ? mcp_request_strdup(req, key) : NULL;
    if (!copy)
        return MCP_ENOMEM;
    *q = (mcp__question){
        .req = req, .key = {copy, key.len}, .method = mcp_str_from(method), .params = params};
    mcp__list_append(&input->questions, &q->link);
    input->n_questions++;
    *ret = q;
    return MCP_INPUT_REQUIRED;
}

int mcp__input_add(mcp_request *req, const mcp__ask *ask)
{
    struct mcp__input *input = mcp__input_need(req);
    if (!input)
        return MCP_ENOMEM;
    mcp_str key = mcp_str_from(ask->key), params = {0};
    mcp__question *q;
    if (mcp__input_find(input, key))
        return MCP_INPUT_REQUIRED;
    int rc = mcp_request_require(req, ask->capability);
    if (rc == MCP_OK)
        rc = put_params(req, ask, &params);
    return rc == MCP_OK ? mcp__input_put(req, key, ask->method, params, &q) : rc;
}

/* ---- answers --------------------------------------------------------------------------------- */

static mcp__answer *add_answer(mcp_request *req, mcp__link *list, mcp_str key,
                               const mcp_json *value)
{
    mcp__answer *answer = mcp_request_alloc(req, sizeof(*answer));
    mcp_str copy = answer ? mcp__request_copy(req, key) : (mcp_str){0};
    if (!copy.ptr)
        return NULL;
    *answer = (mcp__answer){.key = copy, .value = value};
    mcp__list_append(list, &answer->link);
    return answer;
}

mcp__answer *mcp__answer_to(mcp__link *answers, mcp_str key)
{
    for (mcp__link *l = answers->next; l != answers; l = l->next) {
        mcp__answer *answer = mcp__container(l, mcp__answer, link);
        if (mcp_str_eq(answer->key, key))
            return answer;
    }
    return NULL;
}

/* Writes a value to *text, and parses it. */
static int copy_value(const mcp_json *value, mcp_str given, mcp__buf *text, mcp_json_doc **ret)
{
    if (given.ptr)
        mcp__json_put_text(text, given);
    else
        mcp__json_put_value(text, value);
    /* The value was checked against the limits of a message when it was received. */
    const mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JSON_DEEPEST};
    return text->failed ? text->failed
                        : mcp_json_parse(mcp__buf_view(text), &limits, text->allocator, ret, NULL);
}

/* Adds an answer, which owns the document from then on. Replaces an earlier answer. */
static int add_copy(mcp_request *req, mcp__question *q, mcp_str key, mcp_json_doc *doc,
                    mcp_str text, mcp__answer **ret)
{
    struct mcp__input *input = req->input;
    bool raw = q && q->raw;
    mcp__link *list = raw ? &input->raw_answers : &input->answers;
    char *copy = raw ? mcp_request_strdup(req, text) : NULL;
    mcp__answer *before = mcp__answer_to(list, key);
    if (before)
        drop_answer(before);
    mcp__answer *answer = raw && !copy ? NULL : add_answer(req, list, key, mcp_json_root(doc));
    if (!answer)
        return MCP_ENOMEM;
    answer->doc = doc;
    answer->text = (mcp_str){copy, copy ? text.len : 0};
    *ret = answer;
    return MCP_OK;
}

int mcp__input_give(mcp_request *req, mcp_str key, const mcp_json *value, mcp_str text,
                    bool refused)
{
    struct mcp__input *input = mcp__input_need(req);
    mcp__question *q = input ? mcp__input_find(input, key) : NULL;
    mcp__answer *answer = NULL;
    mcp_json_doc *doc = NULL;
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, 0);
    int rc = input ? copy_value(value, text, &b, &doc) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = add_copy(req, q, key, doc, mcp__buf_view(&b), &answer);
    mcp__buf_free(&b);
    if (rc != MCP_OK) {
        mcp_json_free(doc);
        return rc;
    }
    answer->refused = refused;
    if (q) {
        mcp__list_remove(&q->link);
        input->n_questions--;
    }
    return MCP_OK;
}

/* Prepares the error for a handler that returns MCP_EREMOTE without setting an error of its own. */
static int set_refusal(mcp_request *req, const mcp__ask *ask, const mcp_json *error)
{
    mcp_str why = mcp_json_string(mcp_json_get(error, "message"));
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, 0);
    mcp__buf_printf(&b, "The client refused %s: %.*s", ask->method, mcp__shown(why), why.ptr);
    req->error.refusal = b.failed ? (mcp_str){0} : mcp__request_copy(req, mcp__buf_view(&b));
    mcp__buf_free(&b);
    return MCP_EREMOTE;
}

/* Finds the answer; *ret is NULL if there is none, or if it is invalid. Returns MCP_OK or a
 * negative code. */
static int find_answer(mcp_request *req, const mcp__ask *ask, mcp__answer **ret)
{
    struct mcp__input *input = req->input;
    mcp_str key = mcp_str_from(ask->key);
    mcp__answer *answer = mcp__answer_to(&input->answers, key);
    const mcp_json *response = mcp_json_get_str(input->responses, key);
    if (response && (!answer || answer->value != response)) {
        if (answer)
            drop_answer(answer); /* an answer from an earlier round */
        answer = add_answer(req, &input->answers, key, response);
        if (!answer)
            return MCP_ENOMEM;
    }
    *ret = answer;
    if (!answer || answer->refused || ask->fits(req, ask->what, answer->value))
        return MCP_OK;
    drop_answer(answer);
    *ret = NULL;
    if (++input->n_invalid > MAX_INVALID)
        return mcp_reply_fail(req, MCP__INTERNAL_ERROR,
                              "The client's answers to %s (\"%s\") are invalid", ask->method,
                              ask->key);
    return MCP_OK;
}

int mcp__input_ask(mcp_request *req, const mcp__ask *ask, const mcp_json **ret)
{
    *ret = NULL;
    size_t len = ask->key ? strlen(ask->key) : 0;
    if (!req->method || !req->method->again)
        return MCP_ESTATE;
    if (len == 0 || len > MCP__MAX_KEY)
        return MCP_EINVAL;
    if (!mcp__input_need(req))
        return MCP_ENOMEM;
    mcp__answer *answer = NULL;
    int rc = find_answer(req, ask, &answer);
    if (rc != MCP_OK)
        return rc;
    if (!answer)
        return mcp__input_add(req, ask);
    if (answer->refused)
        return set_refusal(req, ask, answer->value);
    *ret = answer->value;
    return MCP_OK;
}

/* ---- between rounds ------------------------------------------------------------------------- */

mcp_str mcp_request_state(const mcp_request *req)
{
    return req->input ? req->input->state : (mcp_str){0};
}

static int set_state(mcp_request *req, mcp_str state, size_t most)
{
    struct mcp__input *input = mcp__input_need(req);
    if (!input)
        return MCP_ENOMEM;
    if (state.len > most)
        return MCP_ELIMIT;
    char *copy = mcp_request_strdup(req, state);
    if (!copy)
        return MCP_ENOMEM;
    input->state = (mcp_str){copy, state.len};
    return MCP_OK;
}

int mcp_request_set_state(mcp_request *req, mcp_str state)
{
    return set_state(req, state, MCP__MAX_STATE);
}

int mcp_request_set_long_state(mcp_request *req, mcp_str state)
{
    int rc = set_state(req, state, MCP__MAX_LONG_STATE);
    if (rc == MCP_OK)
        req->input->long_state = true;
    return rc;
}

bool mcp_request_did(const mcp_request *req, const char *name)
{
    for (size_t i = 0; req->input && i < req->input->n_once; i++) {
        if (mcp_str_eq(req->input->once[i], mcp_str_from(name)))
            return true;
    }
    return false;
}

bool mcp_request_once(mcp_request *req, const char *name)
{
    struct mcp__input *input = mcp__input_need(req);
    mcp_str s = mcp_str_from(name);
    if (!input || s.len > MCP__MAX_KEY) {
        req->reply.failed = input ? MCP_ELIMIT : MCP_ENOMEM;
        return false;
    }
    if (mcp_request_did(req, name))
        return false;
    char *copy = input->n_once < MCP__MAX_ONCE ? mcp_request_strdup(req, s) : NULL;
    if (!copy) {
        /* The handler reads false as "already done". That would be wrong, so the request fails. */
        req->reply.failed = input->n_once < MCP__MAX_ONCE ? MCP_ENOMEM : MCP_ELIMIT;
        return false;
    }
    input->once[input->n_once++] = (mcp_str){copy, s.len};
    return true;
}

static void reset_reply(mcp_request *req)
{
    if (req->in.channel && req->reply.begun)
        mcp__channel_give_buf(req->in.channel, &req->reply.out);
    else
        mcp__buf_free(&req->reply.out);
    mcp__buf_free(&req->reply.meta.text);
    mcp__buf_free(&req->reply.extra.text);
    req->reply = (mcp__reply){.begun = false};
    mcp__buf_init(&req->reply.out, req->in.allocator, 0);
    req->error = (mcp__reply_error){.code = 0};
    req->tool = (mcp__tool_result){.is_error = false};
    req->on_cancel.fn = NULL;
}

void mcp__input_rerun(mcp_request *req)
{
    struct mcp__input *input = req->input;
    reset_reply(req);
    mcp__list_init(&input->questions);
    input->n_questions = 0;
    input->again = true;
    input->round++;
    req->state = MCP__REQUEST_RUNNING;
    mcp__request_finish(req, req->method->again(req));
}

/* Returns whether the client can be told to repeat its request without a question. */
static bool can_repeat(const mcp_request *req)
{
    return req->input->long_state && req->revision->input_results && !req->task;
}

void mcp__input_deliver(mcp_request *req)
{
    struct mcp__input *input = req->input;
    if (input)
        drop_answers(&input->raw_answers); /* the handler has seen them */
    if (!input || (input->n_questions == 0 && !can_repeat(req))) {
        mcp_reply_fail(req, MCP__INTERNAL_ERROR,
                       "Internal error: the handler requires input, but made no input request");
        mcp__request_finish(req, MCP_ESTATE);
    } else if (req->task) {
        mcp__task_park(req);
    } else if (req->revision->input_results) {
        mcp__input_send_modern(req);
    } else {
        mcp__input_send_legacy(req);
    }
}
