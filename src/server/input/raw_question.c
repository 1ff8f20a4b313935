/* raw_question.c: questions of another server and the client's answers, as JSON text
 * (mcp/sys/forward.h). No function of this file makes the reply an error.
 */
#include <mcp/sys/json.h>
#include <stdio.h>

#include "server/input/input.h"
#include "server/methods/raw.h"
#include "server/tasks/tasks.h"

/* ---- the kinds of questions ------------------------------------------------------------------ */

typedef struct kind {
    const char *method;
    mcp__pass_shape shape;
    /* Returns the capability that the question needs, or NULL if that is not known. */
    const char *(*needs)(const mcp_json *params);
} kind;

static const char *elicit_needs(const mcp_json *params)
{
    const mcp_json *mode = mcp_json_get(params, "mode");
    mcp_str name = mcp_json_string(mode);
    if (!mode || mcp_str_eq(name, MCP_STR("form")))
        return "elicitation.form";
    return mcp_str_eq(name, MCP_STR("url")) ? "elicitation.url" : NULL;
}

static bool is_tool_block(const mcp_json *block)
{
    mcp_str type = mcp_json_string(mcp_json_get(block, "type"));
    return mcp_str_eq(type, MCP_STR("tool_use")) || mcp_str_eq(type, MCP_STR("tool_result"));
}

static bool has_tool_blocks(const mcp_json *message)
{
    const mcp_json *content = mcp_json_get(message, "content"), *block;
    mcp_json_iter it = {0};
    if (!mcp_json_is(content, MCP_JSON_ARRAY))
        return is_tool_block(content);
    while ((block = mcp_json_next(content, &it, NULL)) != NULL && !is_tool_block(block))
        continue;
    return block != NULL;
}

static const char *sample_needs(const mcp_json *params)
{
    const mcp_json *messages = mcp_json_get(params, "messages"), *m;
    mcp_json_iter it = {0};
    if (mcp_json_get(params, "tools") || mcp_json_get(params, "toolChoice"))
        return "sampling.tools";
    while ((m = mcp_json_next(messages, &it, NULL)) != NULL && !has_tool_blocks(m))
        continue;
    return m ? "sampling.tools" : "sampling";
}

static const char *roots_need(const mcp_json *params)
{
    (void)params;
    return "roots";
}

static const kind kinds[] = {
    {"elicitation/create", MCP__PASS_ELICIT, elicit_needs},
    {"sampling/createMessage", MCP__PASS_SAMPLE, sample_needs},
    {"roots/list", MCP__PASS_ROOTS, roots_need},
};

static const kind *find_kind(mcp_str method)
{
    for (size_t i = 0; i < MCP__COUNT(kinds); i++) {
        if (mcp_str_eq(method, mcp_str_from(kinds[i].method)))
            return &kinds[i];
    }
    return NULL;
}

const char *mcp_question_needs(mcp_str method, const mcp_json *params)
{
    const kind *k = find_kind(method);
    return k ? k->needs(params) : NULL;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool is_url(const mcp_json *params)
{
    return mcp_str_eq(mcp_json_string(mcp_json_get(params, "mode")), MCP_STR("url"));
}

static bool is_well_formed(const kind *k, const mcp_json *params)
{
    mcp_uri uri;
    if (!mcp_json_is(params, MCP_JSON_OBJECT))
        return false;
    if (k->shape != MCP__PASS_ELICIT)
        return true;
    const mcp_json *id = mcp_json_get(params, "elicitationId");
    return mcp_json_is(mcp_json_get(params, "message"), MCP_JSON_STRING) &&
           (!id || mcp_json_is(id, MCP_JSON_STRING)) &&
           (!is_url(params) ||
            mcp_uri_parse(mcp_json_string(mcp_json_get(params, "url")), &uri, NULL) == MCP_OK);
}

/* Returns in *ret the identifier by which the client knows an elicitation, or NULL if it has none. */
static int make_id(const mcp__raw *p, const mcp_json *elicitation, const char **ret)
{
    mcp_str id = mcp_json_string(mcp_json_get(elicitation, "elicitationId"));
    const char *asker = p->raw.asker;
    *ret = NULL;
    if (!id.ptr || !p->req->revision->elicitation_id)
        return MCP_OK;
    mcp__buf b;
    mcp__buf_init(&b, &p->req->server->allocator, SIZE_MAX);
    if (asker)
        mcp__buf_printf(&b, "%s:", asker);
    mcp__buf_str(&b, id);
    *ret = b.failed ? NULL : mcp_request_strdup(p->req, mcp__buf_view(&b));
    mcp__buf_free(&b);
    return *ret ? MCP_OK : MCP_ENOMEM;
}

int mcp__raw_remember(const mcp__raw *p, const mcp_json *elicitation)
{
    const char *id;
    int rc = make_id(p, elicitation, &id);
    return rc == MCP_OK ? mcp__elicitation_remember(p->req, id) : rc;
}

/* Adds the identifier that 2025-11-25 requires in URL mode, if the other server gave none. */
static int put_own_id(const mcp__raw *p, mcp__buf *b, const char *key, const char **ret)
{
    char name[MCP__MAX_KEY + 24];
    if (!p->req->revision->elicitation_id || !is_url(p->raw.value))
        return MCP_OK;
    int rc = make_id(p, p->raw.value, ret);
    if (rc != MCP_OK || *ret)
        return rc;
    /* A key may have another meaning in the next round. */
    snprintf(name, sizeof(name), "%s-%lld", key, (long long)p->req->input->round);
    *ret = mcp__elicitation_id(p->req, name);
    if (!*ret)
        return MCP_ENOMEM;
    mcp__buf_lit(b, ",\"elicitationId\":");
    mcp__json_put_str(b, mcp_str_from(*ret));
    return MCP_OK;
}

static int put_params(mcp__raw *p, const kind *k, const char *key, mcp__buf *b, const char **id)
{
    const mcp__pass pass = mcp__raw_pass(p);
    mcp__buf_char(b, '{');
    if (!mcp__pass_members(&pass, b, k->shape, p->raw.value, p->raw.json))
        return b->failed ? b->failed : MCP_EREMOTE;
    int rc = k->shape == MCP__PASS_ELICIT ? put_own_id(p, b, key, id) : MCP_OK;
    mcp__buf_char(b, '}');
    return b->failed ? b->failed : rc;
}

static int add(mcp__raw *p, const kind *k, const char *key)
{
    mcp_request *req = p->req;
    const char *id = NULL;
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, MCP__MAX_PARAMS);
    int rc = put_params(p, k, key, &b, &id);
    char *params = rc == MCP_OK ? mcp_request_strdup(req, mcp__buf_view(&b)) : NULL;
    mcp_str text = {params, b.len};
    mcp__buf_free(&b);
    if (rc == MCP_OK)
        rc = params ? mcp__elicitation_remember(req, id) : MCP_ENOMEM;
    if (rc != MCP_OK)
        return rc;
    mcp__question *q;
    rc = mcp__input_put(req, mcp_str_from(key), k->method, text, &q);
    if (rc == MCP_INPUT_REQUIRED)
        q->raw = true;
    return rc;
}

static int ask(mcp__raw *p, const kind *k, const char *key)
{
    mcp_request *req = p->req;
    struct mcp__input *input = mcp__input_need(req);
    if (!input)
        return MCP_ENOMEM;
    if (mcp__input_find(input, mcp_str_from(key)))
        return MCP_INPUT_REQUIRED;
    if (!is_well_formed(k, p->raw.value))
        return MCP_EPROTOCOL;
    const char *needs = k->needs(p->raw.value);
    if (!needs || !mcp_request_can(req, needs))
        return MCP_EREMOTE;
    return add(p, k, key);
}

int mcp_request_ask_raw(mcp_request *req, const mcp_raw_question *question)
{
    static const mcp_raw none = {.size = sizeof(none), .json = {"{}", 2}};
    mcp_raw_question given;
    mcp__raw p;
    int rc = MCP__TAKE(&given, question, mcp_raw_question, NULL);
    if (rc != MCP_OK)
        return rc;
    const kind *k = find_kind(mcp_str_from(given.method));
    size_t len = given.key ? strlen(given.key) : 0;
    if (!k || !len || len > MCP__MAX_KEY)
        return MCP_EINVAL;
    if (!req->method || !req->method->again)
        return MCP_ESTATE;
    rc = mcp__raw_begin(&p, req, given.params ? given.params : &none);
    if (rc == MCP_OK)
        rc = ask(&p, k, given.key);
    mcp__raw_end(&p);
    return rc;
}

int mcp_request_withdraw(mcp_request *req, const char *key)
{
    mcp__question *q = req->input ? mcp__input_find(req->input, mcp_str_from(key)) : NULL;
    if (!q)
        return MCP_ENOTFOUND;
    if (req->task)
        mcp__task_withdraw_one(req->task, q);
    else
        mcp__input_withdraw(req, q);
    return MCP_OK;
}

/* ---- answers --------------------------------------------------------------------------------- */

mcp_str mcp__responses_text(mcp_request *req)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, text, params = mcp_request_params_text(req);
    while (mcp_json_next(req->in.message.params, &it, &key) &&
           mcp_json_text_next(params, &texts, NULL, &text)) {
        if (!mcp_str_eq(key, MCP_STR("inputResponses")))
            continue;
        char *copy = mcp_request_strdup(req, text);
        return (mcp_str){copy, copy ? text.len : 0};
    }
    return (mcp_str){NULL, 0};
}

/* Copies the text of the answers of a modern client, once. */
static int need_text(mcp_request *req)
{
    struct mcp__input *input = req->input;
    if (!input->responses_text.ptr)
        input->responses_text = mcp__responses_text(req);
    return input->responses_text.ptr ? MCP_OK : MCP_ENOMEM;
}

static int find_response(mcp_request *req, mcp_str key, mcp_raw_answer *ret)
{
    const mcp_json *responses = req->input->responses, *value;
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str name, text;
    if (!mcp_json_get_str(responses, key))
        return MCP_ENOTFOUND;
    int rc = need_text(req);
    while (rc == MCP_OK && (value = mcp_json_next(responses, &it, &name)) != NULL &&
           mcp_json_text_next(req->input->responses_text, &texts, NULL, &text)) {
        if (!mcp_str_eq(name, key))
            continue;
        ret->json = text;
        ret->value = value;
        return MCP_OK;
    }
    return MCP_ENOMEM;
}

int mcp_request_raw_answer(mcp_request *req, const char *key, mcp_raw_answer *ret)
{
    *ret = (mcp_raw_answer){.refused = false};
    if (!req->input)
        return MCP_ENOTFOUND;
    mcp_str name = mcp_str_from(key);
    const mcp__answer *answer = mcp__answer_to(&req->input->raw_answers, name);
    if (!answer)
        return find_response(req, name, ret);
    *ret =
        (mcp_raw_answer){.json = answer->text, .value = answer->value, .refused = answer->refused};
    return MCP_OK;
}

static int put_answers(mcp_request *req, mcp_str *ret)
{
    mcp__link *all = &req->input->raw_answers;
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, SIZE_MAX);
    mcp__json_list members = mcp__json_begin_object(&b);
    for (mcp__link *l = all->next; l != all; l = l->next) {
        const mcp__answer *answer = mcp__container(l, mcp__answer, link);
        if (answer->refused)
            continue;
        mcp__json_key(&members, answer->key);
        mcp__buf_str(&b, answer->text);
    }
    mcp__json_end(&members);
    char *copy = b.failed ? NULL : mcp_request_strdup(req, mcp__buf_view(&b));
    *ret = (mcp_str){copy, copy ? b.len : 0};
    mcp__buf_free(&b);
    return copy ? MCP_OK : MCP_ENOMEM;
}

int mcp_request_raw_answers(mcp_request *req, mcp_str *ret)
{
    struct mcp__input *input = req->input;
    *ret = (mcp_str){NULL, 0};
    if (!input || (!input->responses && mcp__list_empty(&input->raw_answers)))
        return MCP_ENOTFOUND;
    if (!mcp__list_empty(&input->raw_answers))
        return put_answers(req, ret);
    int rc = need_text(req);
    *ret = input->responses_text;
    return rc;
}
