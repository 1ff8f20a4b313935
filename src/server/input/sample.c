/* sample.c: requests to the client itself rather than to its user: for the answer of a model
 * (sampling), and for the directories in which the client works (roots) (2026-07-28,
 * client/sampling and client/roots).
 */
#include "server/input/input.h"

#include "protocol/sampling.h"

/* ---- sampling: the request ------------------------------------------------------------------ */

static void put_text_message(mcp__buf *b, const char *text)
{
    mcp__buf_lit(b, "[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
    mcp__json_put_str(b, mcp_str_from(text));
    mcp__buf_lit(b, "}}]");
}

/* Splits a message with several contents into several messages, for revisions that allow only one
 * content per message. */
static void put_split(mcp__buf *b, const mcp_json *message, bool *first)
{
    const mcp_json *content = mcp_json_get(message, "content");
    mcp_json_iter it = {0};
    bool single = !mcp_json_is(content, MCP_JSON_ARRAY);
    const mcp_json *c = single ? content : mcp_json_next(content, &it, NULL);
    for (; c; c = single ? NULL : mcp_json_next(content, &it, NULL)) {
        if (!*first)
            mcp__buf_char(b, ',');
        *first = false;
        mcp__buf_lit(b, "{\"role\":");
        mcp__json_put_value(b, mcp_json_get(message, "role"));
        mcp__buf_lit(b, ",\"content\":");
        mcp__json_put_value(b, c);
        mcp__buf_char(b, '}');
    }
}

static bool is_message(const mcp_json *message)
{
    const mcp_json *content = mcp_json_get(message, "content");
    mcp_str role = mcp_json_string(mcp_json_get(message, "role"));
    return (mcp_str_eq(role, MCP_STR("user")) || mcp_str_eq(role, MCP_STR("assistant"))) &&
           (mcp_json_is(content, MCP_JSON_OBJECT) || mcp_json_is(content, MCP_JSON_ARRAY));
}

/* Returns MCP_OK, or a negative code, if it is no other one after mcp_reply_fail(). */
static int check_tool_use(mcp_request *req, const mcp_json *messages)
{
    mcp__sampling sampling;
    int rc = mcp__sampling_check(messages, &req->server->allocator, &sampling);
    if (rc == MCP_OK && sampling.problem)
        return mcp_reply_fail(req, MCP__INTERNAL_ERROR,
                              "Internal error: message %zu of a sampling request: %s",
                              sampling.message, sampling.problem);
    return rc == MCP_OK && sampling.has_tools ? mcp_request_require(req, "sampling.tools") : rc;
}

/* ---- sampling: all params ------------------------------------------------------------------- */

static int put_messages(mcp_request *req, mcp__buf *b, const char *text)
{
    mcp_json_doc *doc = NULL;
    int rc = mcp_json_parse(mcp_str_from(text), NULL, &req->server->allocator, &doc, NULL);
    const mcp_json *messages = mcp_json_root(doc);
    if (rc == MCP_OK && (!mcp_json_is(messages, MCP_JSON_ARRAY) || mcp_json_count(messages) == 0))
        rc = MCP_EINVAL;
    mcp_json_iter it = {0};
    bool first = true;
    if (!req->revision->sampling_tools)
        mcp__buf_char(b, '[');
    for (const mcp_json *m; rc == MCP_OK && (m = mcp_json_next(messages, &it, NULL)) != NULL;) {
        if (!is_message(m))
            rc = MCP_EINVAL;
        else if (!req->revision->sampling_tools)
            put_split(b, m, &first);
    }
    if (!req->revision->sampling_tools)
        mcp__buf_char(b, ']');
    else if (rc == MCP_OK)
        mcp__json_put_value(b, messages);
    if (rc == MCP_OK)
        rc = check_tool_use(req, messages);
    mcp_json_free(doc);
    return rc;
}

static int put_json(mcp__object *o, const char *name, const char *text, mcp_json_type type)
{
    if (!text)
        return MCP_OK;
    mcp__object_key(o, name);
    return mcp__json_put_checked(o->buf, mcp_str_from(text), type, NULL);
}

static int put_sample(mcp_request *req, const void *what, mcp__buf *b)
{
    const mcp_sample *s = what;
    const struct {
        const char *name, *text;
        mcp_json_type type;
    } members[] = {
        {"stopSequences", s->stop_sequences, MCP_JSON_ARRAY},
        {"modelPreferences", s->model_preferences, MCP_JSON_OBJECT},
        {"metadata", s->metadata, MCP_JSON_OBJECT},
        {"tools", s->tools, MCP_JSON_ARRAY},
        {"toolChoice", s->tool_choice, MCP_JSON_OBJECT},
    };
    if (!s->text == !s->messages || s->max_tokens <= 0)
        return MCP_EINVAL;
    mcp__object o = mcp__object_begin(b, req->revision);
    mcp__object_key(&o, "messages");
    int rc = MCP_OK;
    if (s->text)
        put_text_message(b, s->text);
    else
        rc = put_messages(req, b, s->messages);
    mcp__object_key(&o, "maxTokens");
    mcp__json_put_int(b, s->max_tokens);
    mcp__object_str(&o, "systemPrompt", s->system_prompt);
    if (s->has_temperature) {
        mcp__object_key(&o, "temperature");
        mcp__json_put_real(b, s->temperature);
    }
    for (size_t i = 0; rc == MCP_OK && i < MCP__COUNT(members); i++)
        rc = put_json(&o, members[i].name, members[i].text, members[i].type);
    mcp__object_end(&o);
    return rc;
}

/* ---- sampling: the answer ------------------------------------------------------------------- */

static bool sample_fits(mcp_request *req, const void *what, const mcp_json *value)
{
    (void)req, (void)what;
    return is_message(value) && mcp_json_is(mcp_json_get(value, "model"), MCP_JSON_STRING);
}

int mcp_request_sample(mcp_request *req, const char *key, const mcp_sample *what,
                       const mcp_json **ret)
{
    mcp_sample s;
    if (MCP__TAKE(&s, what, mcp_sample, NULL) != MCP_OK || !ret)
        return MCP_EINVAL;
    mcp__ask ask = {.key = key,
                    .method = "sampling/createMessage",
                    .capability = s.tools || s.tool_choice ? "sampling.tools" : "sampling",
                    .put = put_sample,
                    .fits = sample_fits,
                    .what = &s};
    return mcp__input_ask(req, &ask, ret);
}

static mcp_str text_of(const mcp_json *block)
{
    bool text = mcp_str_eq(mcp_json_string(mcp_json_get(block, "type")), MCP_STR("text"));
    return text ? mcp_json_string(mcp_json_get(block, "text")) : (mcp_str){0};
}

mcp_str mcp_sampled_text(const mcp_json *result)
{
    const mcp_json *content = mcp_json_get(result, "content");
    mcp_str text = text_of(content);
    mcp_json_iter it = {0};
    const mcp_json *c;
    while (mcp_json_is(content, MCP_JSON_ARRAY) && !text.ptr &&
           (c = mcp_json_next(content, &it, NULL)) != NULL)
        text = text_of(c);
    return text;
}

/* ---- roots ----------------------------------------------------------------------------------- */

static int put_nothing(mcp_request *req, const void *what, mcp__buf *b)
{
    (void)req, (void)what;
    mcp__buf_lit(b, "{}");
    return MCP_OK;
}

static bool roots_fit(mcp_request *req, const void *what, const mcp_json *value)
{
    (void)req, (void)what;
    const mcp_json *roots = mcp_json_get(value, "roots");
    mcp_json_iter it = {0};
    const mcp_json *root = roots;
    while (mcp_json_is(roots, MCP_JSON_ARRAY) && (root = mcp_json_next(roots, &it, NULL)) != NULL) {
        if (!mcp_json_is(mcp_json_get(root, "uri"), MCP_JSON_STRING))
            return false;
    }
    return roots && !root;
}

int mcp_request_roots(mcp_request *req, const char *key, const mcp_json **ret)
{
    static const mcp__ask form = {
        .method = "roots/list", .capability = "roots", .put = put_nothing, .fits = roots_fit};
    mcp__ask ask = form;
    ask.key = key;
    const mcp_json *result = NULL;
    int rc = mcp__input_ask(req, &ask, &result);
    *ret = rc == MCP_OK ? mcp_json_get(result, "roots") : NULL;
    return rc;
}
