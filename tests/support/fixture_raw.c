/* fixture_raw.c: a tool that forwards questions, as a provider for another server does. Its
 * arguments say what the other server asks in each round:
 *
 *     {"rounds":[{"KEY":{"method":…,"params":…},…},…],"asker":NAME,"error":{…}}
 *
 * A round without questions asks the client to repeat its request. After the last round the tool
 * replies with the answers of that round, or with the error.
 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/input.h>
#include <mcp/sys/forward.h>
#include <mcp/sys/json.h>

static const char states[] = "|||||||||"; /* as long as the number of the round */

/* What the other server does, kept for all rounds of a request object. */
typedef struct plan {
    mcp_json_doc *doc;
    char text[];
} plan;

static int live_plans;

int fixture_live_plans(void)
{
    return live_plans;
}

static void free_plan(void *data)
{
    plan *p = data;
    mcp_json_free(p->doc);
    free(p);
    live_plans--;
}

/* Returns the text of a member. */
static mcp_str member_text(const mcp_json *object, mcp_str text, const char *name)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, value;
    while (mcp_json_next(object, &it, &key) && mcp_json_text_next(text, &texts, NULL, &value)) {
        if (mcp_str_eq(key, mcp_str_from(name)))
            return value;
    }
    return (mcp_str){NULL, 0};
}

static plan *plan_of(mcp_request *req)
{
    plan *p = mcp_request_data(req);
    if (p)
        return p;
    mcp_str text = member_text(mcp_request_params(req), mcp_request_params_text(req), "arguments");
    p = text.ptr ? malloc(sizeof(*p) + text.len + 1) : NULL;
    if (!p)
        return NULL;
    memcpy(p->text, text.ptr, text.len);
    p->text[text.len] = '\0';
    p->doc = NULL;
    if (mcp_json_parse(mcp_str_from(p->text), NULL, NULL, &p->doc, NULL) != MCP_OK) {
        free(p);
        return NULL;
    }
    live_plans++;
    mcp_request_set_data(req, p, free_plan);
    return p;
}

static int ask(mcp_request *req, const plan *p, mcp_str key, const mcp_json *question, mcp_str text)
{
    const mcp_json *root = mcp_json_root(p->doc), *params = mcp_json_get(question, "params");
    char name[256], method[64];
    mcp_str m = mcp_json_string(mcp_json_get(question, "method"));
    snprintf(name, sizeof(name), "%.*s", (int)key.len, key.ptr);
    snprintf(method, sizeof(method), "%.*s", (int)m.len, m.ptr ? m.ptr : "");
    mcp_raw raw = {.size = sizeof(raw),
                   .json = member_text(question, text, "params"),
                   .value = params,
                   .uri_prefix = "up:",
                   .asker = mcp_json_string(mcp_json_get(root, "asker")).ptr};
    return mcp_request_ask_raw(req, MCP_OPTIONS(mcp_raw_question, .key = name, .method = method,
                                                .params = params ? &raw : NULL));
}

static int ask_all(mcp_request *req, const plan *p, size_t round)
{
    const mcp_json *root = mcp_json_root(p->doc);
    const mcp_json *rounds = mcp_json_get(root, "rounds"), *questions = NULL, *q;
    mcp_str text = member_text(root, mcp_str_from(p->text), "rounds"), questions_text = text;
    mcp_json_text_iter rounds_at = {0}, at = {0};
    mcp_json_iter it = {0};
    mcp_str key, question;
    for (size_t i = 0; i <= round; i++)
        mcp_json_text_next(text, &rounds_at, NULL, &questions_text);
    questions = mcp_json_at(rounds, round);
    while ((q = mcp_json_next(questions, &it, &key)) != NULL &&
           mcp_json_text_next(questions_text, &at, NULL, &question)) {
        int rc = ask(req, p, key, q, question);
        if (rc == MCP_ENOMEM)
            return rc;
        if (rc != MCP_INPUT_REQUIRED)
            return mcp_reply_textf(req, "%.*s: %s", (int)key.len, key.ptr,
                                   rc == MCP_EREMOTE     ? "cannot be asked"
                                   : rc == MCP_EPROTOCOL ? "malformed"
                                                         : mcp_error_text(rc));
    }
    int rc = mcp_request_set_long_state(req, (mcp_str){states, round + 1});
    return rc == MCP_OK ? MCP_INPUT_REQUIRED : rc;
}

/* Writes the answers, and those that were refused. */
static int reply(mcp_request *req, const plan *p, size_t round)
{
    const mcp_json *root = mcp_json_root(p->doc), *error = mcp_json_get(root, "error");
    const mcp_json *asked = mcp_json_at(mcp_json_get(root, "rounds"), round - 1);
    mcp_json_iter it = {0};
    mcp_str all, key;
    if (error) {
        mcp_raw raw = {.size = sizeof(raw),
                       .json = member_text(root, mcp_str_from(p->text), "error"),
                       .asker = mcp_json_string(mcp_json_get(root, "asker")).ptr};
        return mcp_reply_raw_error(req, &raw);
    }
    int rc = mcp_request_raw_answers(req, &all);
    if (rc != MCP_OK)
        return rc == MCP_ENOTFOUND ? mcp_reply_text(req, "no answers") : rc;
    rc = mcp_reply_str(req, all, NULL);
    while (rc == MCP_OK && mcp_json_next(asked, &it, &key)) {
        char name[256];
        mcp_raw_answer answer;
        snprintf(name, sizeof(name), "%.*s", (int)key.len, key.ptr);
        rc = mcp_request_raw_answer(req, name, &answer);
        if (rc == MCP_OK)
            rc = mcp_reply_textf(req, "%s%s %.*s", name, answer.refused ? " refused" : "",
                                 (int)answer.json.len, answer.json.ptr);
        else if (rc == MCP_ENOTFOUND)
            rc = MCP_OK;
    }
    return rc;
}

int fixture_forwards(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    const plan *p = plan_of(req);
    size_t round = mcp_request_state(req).len;
    if (!p)
        return MCP_ENOMEM;
    if (round + 1 < sizeof(states) &&
        round < mcp_json_count(mcp_json_get(mcp_json_root(p->doc), "rounds")))
        return ask_all(req, p, round);
    return reply(req, p, round ? round : 1);
}
