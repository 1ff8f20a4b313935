/* question_text.c: the text of a question and of its answer, for a program that forwards them. */
#include "client/client.h"

#include "protocol/pass.h"

#include <mcp/sys/json.h>

mcp_str mcp_question_params_text(const mcp_question *question)
{
    return mcp__buf_view(&question->text);
}

/* Parses an object. Returns MCP_OK or a negative code. */
static int parse(const mcp_question *q, mcp_str text, mcp_json_doc **ret, mcp_error *error)
{
    const mcp_json_limits limits = {
        .size = sizeof(limits), .max_bytes = text.len, .max_depth = MCP__JSON_DEEPEST};
    int rc = mcp_json_parse(text, &limits, q->client->allocator, ret, error);
    if (rc == MCP_OK && !mcp_json_is(mcp_json_root(*ret), MCP_JSON_OBJECT))
        rc = mcp__fail(error, MCP_EINVAL, 0, "an answer must be an object");
    return rc;
}

int mcp_question_answer_text(mcp_question *question, mcp_str result, mcp_error *error)
{
    mcp_json_doc *doc = NULL;
    mcp__no_error(error);
    int rc = mcp__question_check(question, true, error);
    if (rc != MCP_OK)
        return rc;
    rc = parse(question, result, &doc, error);
    if (rc == MCP_OK) {
        const mcp__revision *r = question->client->revision;
        const mcp__pass pass = {.to = r ? r : mcp__revision_newest(false)};
        const mcp_json *root = mcp_json_root(doc);
        question->accepted =
            mcp_str_eq(mcp_json_string(mcp_json_get(root, "action")), MCP_STR("accept"));
        (void)mcp__pass_object(&pass, &question->answer, MCP__PASS_ANSWER, root, result);
    }
    rc = mcp__question_complete(question, rc, error);
    mcp_json_free(doc);
    return rc;
}

static mcp_str data_of(const mcp_json *object, mcp_str text)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, value;
    while (mcp_json_next(object, &it, &key) && mcp_json_text_next(text, &texts, NULL, &value)) {
        if (mcp_str_eq(key, MCP_STR("data")))
            return value;
    }
    return (mcp_str){NULL, 0};
}

int mcp_question_fail_text(mcp_question *question, mcp_str object, mcp_error *error)
{
    mcp_json_doc *doc = NULL;
    mcp__no_error(error);
    int rc = mcp__question_check(question, true, error);
    if (rc != MCP_OK)
        return rc;
    rc = parse(question, object, &doc, error);
    const mcp_json *root = mcp_json_root(doc);
    int64_t code = mcp_json_int(mcp_json_get(root, "code"), INT64_MIN);
    const char *message = mcp_json_string(mcp_json_get(root, "message")).ptr;
    if (rc == MCP_OK)
        mcp__json_put_text(&question->data, data_of(root, object));
    if (rc == MCP_OK)
        rc = question->data.failed;
    if (rc == MCP_OK)
        rc = mcp__question_fail(question,
                                code >= INT32_MIN && code <= INT32_MAX ? (int)code : MCP__REJECTED,
                                message ? message : "");
    else
        rc = mcp__question_complete(question, rc, error);
    if (rc != MCP_OK && error && error->code == MCP_OK)
        mcp__fail(error, rc, 0, "%s", mcp_error_text(rc));
    mcp_json_free(doc);
    return rc;
}
