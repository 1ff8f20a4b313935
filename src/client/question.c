/* question.c: passes an input request of the server to the program, and takes the answer.
 *
 * An answer is only stored here. It is sent at the next tick, because the program may answer at any
 * time, even from within the callback.
 */
#include "client/client.h"

#include "protocol/contents.h"
#include "protocol/sampling.h"
#include "protocol/shape.h"

enum { MAX_FAILURE = 1024 };

/* ---- limits ---------------------------------------------------------------------------------- */

enum { CREDIT = 60000 }; /* the cost of one question; a millisecond adds per_minute */

static bool take_token(mcp__token_bucket *b, int64_t now, uint64_t *retry_ms)
{
    uint64_t limit = (uint64_t)MCP__MAX(b->per_minute / 2, (size_t)1) * CREDIT;
    uint64_t passed = now > b->filled ? (uint64_t)(now - b->filled) : 0;
    if (!b->filled || passed > limit / b->per_minute)
        b->credit = limit;
    else
        b->credit = MCP__MIN(limit, b->credit + passed * b->per_minute);
    b->filled = now;
    if (b->credit < CREDIT) {
        *retry_ms = (CREDIT - b->credit) / b->per_minute + 1;
        return false;
    }
    b->credit -= CREDIT;
    return true;
}

static int check_limits(mcp_client *client, uint64_t *retry_ms, mcp_error *error)
{
    *retry_ms = 1000;
    if (client->questions.open >= client->options.max_questions)
        return mcp__fail(error, MCP_ELIMIT, 0,
                         "%zu questions are waiting for an answer already (max_questions)",
                         client->questions.open);
    if (!take_token(&client->questions.bucket, mcp__client_now(client), retry_ms))
        return mcp__fail(error, MCP_ELIMIT, 0,
                         "more than %zu questions in a minute (questions_per_minute)",
                         client->questions.bucket.per_minute);
    return MCP_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int find_kind(const mcp_client *client, mcp_str method, const mcp_json *params,
                     mcp_question_kind *ret, mcp_error *error)
{
    mcp_str mode = mcp_json_string(mcp_json_get(params, "mode"));
    if (mcp_str_eq(method, MCP_STR("sampling/createMessage")) && client->options.sample) {
        *ret = MCP_QUESTION_SAMPLE;
        return MCP_OK;
    }
    if (mcp_str_eq(method, MCP_STR("roots/list")) &&
        (client->options.roots || client->roots.json.len)) {
        *ret = MCP_QUESTION_ROOTS;
        return MCP_OK;
    }
    if (!mcp_str_eq(method, MCP_STR("elicitation/create")) ||
        (!client->options.elicit_form && !client->options.elicit_url))
        return mcp__fail(error, MCP_ENOTFOUND, 0, "this client has no such method");
    if (!mode.len || mcp_str_eq(mode, MCP_STR("form")))
        *ret = MCP_QUESTION_FORM;
    else if (mcp_str_eq(mode, MCP_STR("url")))
        *ret = MCP_QUESTION_URL;
    else
        return mcp__fail(error, MCP_EUNSUPPORTED, 0, "this client has no such mode of elicitation");
    bool has = *ret == MCP_QUESTION_FORM ? client->options.elicit_form : client->options.elicit_url;
    return has ? MCP_OK
               : mcp__fail(error, MCP_EUNSUPPORTED, 0,
                           "this client did not declare this mode of elicitation");
}

static bool has_member(const mcp_json *params, const char *name)
{
    const mcp_json *v = mcp_json_get(params, name);
    return v && !mcp_json_is(v, MCP_JSON_NULL);
}

/* Checks what the shape does not say about tools. */
static int check_sample(const mcp_client *client, const mcp__asking *asking, mcp_error *error)
{
    mcp__sampling messages;
    int rc =
        mcp__sampling_check(mcp_json_get(asking->params, "messages"), client->allocator, &messages);
    bool tools = has_member(asking->params, "tools") || has_member(asking->params, "toolChoice");
    if (rc != MCP_OK)
        return mcp__fail(error, rc, 0, "%s", mcp_error_text(rc));
    if (messages.problem)
        return mcp__fail(error, MCP_EPROTOCOL, 0, "%.*s: message %zu: %s", (int)asking->method.len,
                         asking->method.ptr, messages.message, messages.problem);
    if ((tools || messages.has_tools) && !client->options.sample_tools)
        return mcp__fail(error, MCP_EUNSUPPORTED, 0, "this client did not declare sampling.tools");
    return MCP_OK;
}

/* Checks the params against the shape of the revision. */
static int check_params(const mcp_client *client, const mcp__asking *asking, mcp_question_kind kind,
                        mcp_error *error)
{
    const mcp__revision *r = client->revision ? client->revision : mcp__revision_newest(false);
    mcp_error why = {0};
    if (mcp__shape_params(r, asking->method, asking->params, &why) != MCP_OK)
        return mcp__fail(error, MCP_EPROTOCOL, 0, "%.*s is malformed: %s", (int)asking->method.len,
                         asking->method.ptr, why.text);
    return kind == MCP_QUESTION_SAMPLE ? check_sample(client, asking, error) : MCP_OK;
}

/* Copies the params and their text. Params that are no object count as empty. */
static int copy_params(mcp_question *q, const mcp__asking *asking)
{
    mcp__buf *b = &q->text;
    if (!mcp_json_is(asking->params, MCP_JSON_OBJECT))
        mcp__buf_lit(b, "{}");
    else if (asking->text.ptr)
        mcp__json_put_text(b, asking->text);
    else
        mcp__json_put_value(b, asking->params);
    mcp_json_limits limits = {
        .size = sizeof(limits), .max_bytes = b->len, .max_depth = MCP__JSON_DEEPEST};
    return b->failed ? b->failed
                     : mcp_json_parse(mcp__buf_view(b), &limits, b->allocator, &q->doc, NULL);
}

int mcp__question_new(mcp_client *client, const mcp__asking *asking, mcp_question **ret,
                      uint64_t *retry_ms, mcp_error *error)
{
    mcp_question_kind kind = MCP_QUESTION_FORM;
    int rc = find_kind(client, asking->method, asking->params, &kind, error);
    if (rc == MCP_OK)
        rc = check_params(client, asking, kind, error);
    if (rc == MCP_OK)
        rc = check_limits(client, retry_ms, error);
    if (rc != MCP_OK)
        return rc;
    mcp_question *q = mcp__zalloc(client->allocator, sizeof(*q));
    if (!q)
        return mcp__fail(error, MCP_ENOMEM, 0, "%s", mcp_error_text(MCP_ENOMEM));
    q->client = client;
    q->kind = kind;
    mcp__buf_init(&q->text, client->allocator, 0);
    mcp__buf_init(&q->answer, client->allocator, 0);
    mcp__buf_init(&q->data, client->allocator, 0);
    mcp__list_append(&client->questions.list, &q->link);
    client->questions.open++;
    rc = copy_params(q, asking);
    if (rc != MCP_OK) {
        mcp__question_free(q);
        return mcp__fail(error, rc, 0, "%s", mcp_error_text(rc));
    }
    *ret = q;
    return MCP_OK;
}

void mcp__question_free(mcp_question *q)
{
    if (!q)
        return;
    const mcp_allocator *a = q->client->allocator;
    if (!q->answered)
        q->client->questions.open--;
    mcp__list_remove(&q->link);
    mcp_json_free(q->doc);
    mcp__release(a, q->key);
    mcp__buf_free(&q->text);
    mcp__buf_free(&q->answer);
    mcp__buf_free(&q->data);
    mcp__release(a, q);
}

/* ---- passing it to the program --------------------------------------------------------------- */

/* Marks a question as answered. Even a withdrawn question is freed only at the next tick, because
 * the list of questions may be iterated right now. */
static void mark_answered(mcp_question *q)
{
    q->answered = true;
    q->client->questions.open--;
    mcp__client_attend(q->client);
}

static void answer_roots(mcp_question *q)
{
    mcp__buf_lit(&q->answer, "{\"roots\":");
    mcp__buf_str(&q->answer, mcp__buf_view(&q->client->roots.json));
    mcp__buf_char(&q->answer, '}');
    if (q->answer.failed) {
        mcp__buf_reset(&q->answer, 0);
        q->failed = true;
        q->code = MCP__INTERNAL_ERROR;
    }
    mark_answered(q);
}

void mcp__question_ask(mcp_question *q)
{
    mcp_client *client = q->client;
    mcp_question_fn *const fns[] = {[MCP_QUESTION_FORM] = client->options.elicit_form,
                                    [MCP_QUESTION_URL] = client->options.elicit_url,
                                    [MCP_QUESTION_SAMPLE] = client->options.sample,
                                    [MCP_QUESTION_ROOTS] = client->options.roots};
    if (!fns[q->kind]) {
        answer_roots(q); /* the client knows the roots, so the program is not asked */
        return;
    }
    q->delivered = true;
    fns[q->kind](client, q, client->options.user);
}

void mcp__question_withdraw(mcp_question *q)
{
    q->request = NULL;
    q->call = NULL;
    if (q->withdrawn)
        return;
    q->withdrawn = true;
    if (q->answered || !q->delivered) {
        mcp__question_free(q);
        return;
    }
    void (*fn)(mcp_question * question, void *user) = q->on_cancel;
    q->on_cancel = NULL;
    if (fn)
        fn(q, q->on_cancel_user);
}

/* ---- public calls ---------------------------------------------------------------------------- */

mcp_question_kind mcp_question_kind_of(const mcp_question *question)
{
    return question->kind;
}

const mcp_json *mcp_question_params(const mcp_question *question)
{
    return mcp_json_root(question->doc);
}

mcp_str mcp_question_message(const mcp_question *question)
{
    if (question->kind != MCP_QUESTION_FORM && question->kind != MCP_QUESTION_URL)
        return (mcp_str){0};
    return mcp_json_string(mcp_json_get(mcp_question_params(question), "message"));
}

const mcp_json *mcp_question_schema(const mcp_question *question)
{
    if (question->kind != MCP_QUESTION_FORM)
        return NULL;
    return mcp_json_get(mcp_question_params(question), "requestedSchema");
}

mcp_str mcp_question_url(const mcp_question *question)
{
    if (question->kind != MCP_QUESTION_URL)
        return (mcp_str){0};
    return mcp_json_string(mcp_json_get(mcp_question_params(question), "url"));
}

mcp_str mcp_question_elicitation_id(const mcp_question *question)
{
    if (question->kind != MCP_QUESTION_URL)
        return (mcp_str){0};
    return mcp_json_string(mcp_json_get(mcp_question_params(question), "elicitationId"));
}

mcp_call_id mcp_question_call(const mcp_question *question)
{
    if (question->call)
        return question->call->handle;
    return question->request ? question->handle : 0;
}

void mcp_question_on_cancel(mcp_question *question, void (*fn)(mcp_question *question, void *user),
                            void *user)
{
    question->on_cancel = fn;
    question->on_cancel_user = user;
}

int mcp__question_check(const mcp_question *q, bool fits, mcp_error *error)
{
    if (!q || q->answered) {
        mcp__fail(error, MCP_EINVAL, 0, "the question is answered already");
        return MCP_EINVAL;
    }
    if (fits)
        return MCP_OK;
    mcp__fail(error, MCP_ESTATE, 0, "a question of this kind cannot be answered in this way");
    return MCP_ESTATE;
}

int mcp__question_complete(mcp_question *q, int rc, mcp_error *error)
{
    if (rc == MCP_OK)
        rc = q->answer.failed;
    if (rc == MCP_OK) {
        mark_answered(q);
        return MCP_OK;
    }
    if (error && error->code != rc)
        mcp__fail(error, rc, 0, "%s", mcp_error_text(rc));
    mcp__buf_reset(&q->answer, 0);
    mcp__buf_reset(&q->data, 0);
    q->accepted = false;
    return rc;
}

int mcp_question_accept(mcp_question *question, const char *content, mcp_error *error)
{
    mcp__no_error(error);
    mcp_json_doc *doc = NULL;
    bool form = question && question->kind == MCP_QUESTION_FORM;
    bool url = question && question->kind == MCP_QUESTION_URL;
    int rc = mcp__question_check(question, form || (url && !content), error);
    if (rc != MCP_OK)
        return rc;
    if (error)
        error->code = MCP_OK;
    question->accepted = true;
    mcp__buf_lit(&question->answer, "{\"action\":\"accept\"");
    if (form) {
        const mcp_allocator *a = question->client->allocator;
        mcp__buf_lit(&question->answer, ",\"content\":");
        rc = mcp_json_parse(content ? mcp_str_from(content) : MCP_STR("{}"), NULL, a, &doc, error);
        if (rc == MCP_OK)
            rc = mcp__form_fill(mcp_question_schema(question), mcp_json_root(doc), a,
                                &question->answer, error);
    }
    mcp__buf_char(&question->answer, '}');
    mcp_json_free(doc);
    return mcp__question_complete(question, rc, error);
}

static int answer_with(mcp_question *q, mcp_str answer)
{
    bool fits = q && (q->kind == MCP_QUESTION_FORM || q->kind == MCP_QUESTION_URL);
    int rc = mcp__question_check(q, fits, NULL);
    if (rc != MCP_OK)
        return rc;
    mcp__buf_str(&q->answer, answer);
    return mcp__question_complete(q, MCP_OK, NULL);
}

int mcp_question_decline(mcp_question *question)
{
    return answer_with(question, MCP_STR("{\"action\":\"decline\"}"));
}

int mcp_question_cancel(mcp_question *question)
{
    return answer_with(question, MCP_STR("{\"action\":\"cancel\"}"));
}

int mcp_question_sampled(mcp_question *question, const char *result, mcp_error *error)
{
    mcp__no_error(error);
    mcp_json_doc *doc = NULL;
    int rc =
        mcp__question_check(question, question && question->kind == MCP_QUESTION_SAMPLE, error);
    if (rc != MCP_OK)
        return rc;
    rc = mcp_json_parse(mcp_str_from(result), NULL, question->client->allocator, &doc, error);
    if (rc != MCP_OK)
        return rc;
    const mcp_json *root = mcp_json_root(doc);
    const mcp_json *content = mcp_json_get(root, "content");
    if (!mcp_json_is(mcp_json_get(root, "role"), MCP_JSON_STRING) ||
        !mcp_json_is(mcp_json_get(root, "model"), MCP_JSON_STRING) ||
        !(mcp_json_is(content, MCP_JSON_OBJECT) || mcp_json_is(content, MCP_JSON_ARRAY)))
        rc = mcp__fail(error, MCP_EINVAL, 0, "a sampling result must have role, content and model");
    if (rc == MCP_OK) {
        mcp__json_put_value(&question->answer, root);
        rc = mcp__question_complete(question, MCP_OK, error);
    }
    mcp_json_free(doc);
    return rc;
}

int mcp__question_fail(mcp_question *question, int code, const char *message)
{
    static const char default_text[] = "rejected by the user";
    int rc = mcp__question_check(question, true, NULL);
    if (rc != MCP_OK)
        return rc;
    mcp_str text = message ? mcp_str_from(message) : mcp_str_from(default_text);
    size_t len = MCP__MIN(text.len, (size_t)MAX_FAILURE);
    len = mcp__utf8_valid(text.ptr, mcp__utf8_cut(text.ptr, len));
    mcp__buf_add(&question->answer, text.ptr, len);
    rc = question->answer.failed;
    if (rc == MCP_OK) {
        question->failed = true;
        question->code = code;
    }
    return mcp__question_complete(question, rc, NULL);
}

int mcp_question_fail(mcp_question *question, int code, const char *message)
{
    return mcp__question_fail(question, code ? code : MCP__REJECTED, message);
}

/* ---- roots ----------------------------------------------------------------------------------- */

static int put_roots(mcp__buf *b, const mcp_root *roots, size_t n, mcp_error *error)
{
    int rc = mcp__check_array(roots, n, "mcp_root", error);
    if (rc != MCP_OK)
        return rc;
    mcp__json_list array = mcp__json_begin_array(b);
    for (size_t i = 0; i < n; i++) {
        mcp_root root;
        mcp__take_element(&root, sizeof(root), roots, i);
        if (!root.uri)
            return mcp__fail(error, MCP_EINVAL, 0, "root %zu has no \"uri\"", i);
        mcp__json_next(&array);
        mcp__object o = mcp__object_begin(b, NULL);
        mcp__object_str(&o, "uri", root.uri);
        mcp__object_str(&o, "name", root.name);
        mcp__object_end(&o);
    }
    mcp__json_end(&array);
    return b->failed;
}

int mcp_question_roots(mcp_question *question, const mcp_root *roots, size_t n, mcp_error *error)
{
    mcp__no_error(error);
    int rc = mcp__question_check(question, question && question->kind == MCP_QUESTION_ROOTS, error);
    if (rc != MCP_OK)
        return rc;
    mcp__buf_lit(&question->answer, "{\"roots\":");
    rc = put_roots(&question->answer, roots, n, error);
    mcp__buf_char(&question->answer, '}');
    return mcp__question_complete(question, rc, error);
}

int mcp_client_set_roots(mcp_client *client, const mcp_root *roots, size_t n)
{
    mcp__buf b;
    if (!client)
        return MCP_EINVAL;
    mcp__buf_init(&b, client->allocator, 0);
    int rc = put_roots(&b, roots, n, NULL);
    if (rc != MCP_OK) {
        mcp__buf_free(&b);
        return rc;
    }
    mcp__buf_free(&client->roots.json);
    client->roots.json = b;
    client->roots.changed = true;
    mcp__client_attend(client);
    return MCP_OK;
}
