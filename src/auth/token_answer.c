/* token_answer.c: answers of token endpoints; see token_answer.h. */
#include "auth/request_form.h"
#include "auth/token_answer.h"
#include "protocol/scope.h"

/* Reads a lifetime in seconds, which some servers send as a string. */
static bool read_lifetime(const mcp_json *value, int64_t *ret)
{
    mcp_str text = mcp_json_string(value);
    int64_t seconds = text.len ? 0 : -1;
    *ret = -1;
    if (!value || mcp_json_is(value, MCP_JSON_NULL))
        return true;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        seconds = MCP__MIN(seconds * 10 + (text.ptr[i] - '0'), MCP__ANSWER_SECONDS);
    }
    double number = text.len ? (double)seconds : mcp_json_number(value, -1);
    if (number < 0)
        return false;
    *ret = number < MCP__ANSWER_SECONDS ? (int64_t)number : MCP__ANSWER_SECONDS;
    return true;
}

/* A token is sent in a header, so it must not have blanks. */
static bool is_sendable(mcp_str token)
{
    return token.len && !memchr(token.ptr, ' ', token.len);
}

static mcp__oauth_fault check_type(mcp__token_answer *ret, mcp__token_want want, mcp_str url,
                                   mcp_error *error)
{
    const mcp_json *root = mcp_json_root(ret->doc);
    mcp_str type = mcp_json_string(mcp_json_get(root, "token_type"));
    mcp_str issued = mcp_json_string(mcp_json_get(root, "issued_token_type"));
    static const mcp_str wanted[] = {[MCP__WANT_BEARER] = {"instead of Bearer", 17},
                                     [MCP__WANT_EITHER] = {"instead of DPoP or Bearer", 25},
                                     [MCP__WANT_DPOP] = {"instead of DPoP", 15},
                                     [MCP__WANT_ID_JAG] = {"instead of an ID-JAG", 20}};
    if (want == MCP__WANT_ID_JAG) {
        if (mcp_str_eq(issued, MCP_STR(MCP__TOKEN_ID_JAG)))
            return MCP__OAUTH_OK;
        return mcp__oauth_fail_named(error, MCP__OAUTH_TOKEN_TYPE, issued, wanted[want], url);
    }
    if (!mcp_json_get(root, "token_type") && want != MCP__WANT_DPOP)
        return MCP__OAUTH_OK; /* some servers leave it out; then it is Bearer, the only one that is old */
    if (!type.len)
        return mcp__oauth_fail(error, MCP__OAUTH_ANSWER_FORM, MCP_STR("token_type"), url);
    ret->dpop = mcp__str_same(type, MCP_STR("DPoP"));
    if (ret->dpop ? want != MCP__WANT_BEARER
                  : want != MCP__WANT_DPOP && mcp__str_same(type, MCP_STR("Bearer")))
        return MCP__OAUTH_OK;
    return mcp__oauth_fail_named(error, MCP__OAUTH_TOKEN_TYPE, type, wanted[want], url);
}

/* Joins the scopes of a list, which some servers send instead of a string. Returns false if one of them
 * is malformed. */
static bool join_scopes(mcp__token_answer *ret, const mcp_json *list,
                        const mcp_allocator *allocator)
{
    mcp_json_iter iter = {0};
    mcp__buf_init(&ret->joined, allocator, MCP__ANSWER_TOKEN);
    for (const mcp_json *one; (one = mcp_json_next(list, &iter, NULL));) {
        mcp_str scope = mcp_json_string(one);
        if (!scope.len || memchr(scope.ptr, ' ', scope.len))
            return false;
        if (ret->joined.len)
            mcp__buf_char(&ret->joined, ' ');
        mcp__buf_str(&ret->joined, scope);
    }
    ret->scope = ret->joined.len ? mcp__buf_view(&ret->joined) : MCP_STR("");
    return !ret->joined.failed;
}

static mcp__oauth_fault read_members(mcp__token_answer *ret, mcp__token_want want, mcp_str url,
                                     const mcp_allocator *allocator, mcp_error *error)
{
    const mcp_json *root = mcp_json_root(ret->doc);
    const mcp_json *scopes = mcp_json_get(root, "scope");
    bool listed = mcp_json_is(scopes, MCP_JSON_ARRAY);
    const struct {
        const char *name;
        mcp_str *to;
    } texts[] = {
        {"access_token", &ret->access_token},
        {"refresh_token", &ret->refresh_token},
        {"id_token", &ret->id_token},
        {"scope", &ret->scope},
    };
    for (size_t i = 0; i < MCP__COUNT(texts) - listed; i++) { /* scope is the last one */
        if (!mcp__oauth_answer_text(root, texts[i].name, MCP__ANSWER_TOKEN, texts[i].to))
            return mcp__oauth_fail(error, MCP__OAUTH_ANSWER_FORM, mcp_str_from(texts[i].name), url);
    }
    if (!is_sendable(ret->access_token))
        return mcp__oauth_fail(error, MCP__OAUTH_ANSWER_FORM, MCP_STR("access_token"), url);
    if (listed && !join_scopes(ret, scopes, allocator))
        return ret->joined.failed == MCP_ENOMEM
                   ? mcp__oauth_failed(error, MCP_ENOMEM)
                   : mcp__oauth_fail(error, MCP__OAUTH_ANSWER_FORM, MCP_STR("scope"), url);
    if (!mcp__scopes_valid(ret->scope))
        return mcp__oauth_fail(error, MCP__OAUTH_ANSWER_FORM, MCP_STR("scope"), url);
    if (!read_lifetime(mcp_json_get(root, "expires_in"), &ret->expires_in))
        return mcp__oauth_fail(error, MCP__OAUTH_ANSWER_FORM, MCP_STR("expires_in"), url);
    ret->has_scope = ret->scope.ptr != NULL;
    return check_type(ret, want, url, error);
}

mcp__oauth_fault mcp__token_answer_read(mcp__token_answer *ret, int status, mcp_str body,
                                        mcp_str url, mcp__token_want want,
                                        const mcp_allocator *allocator, mcp_error *error)
{
    memset(ret, 0, sizeof(*ret));
    mcp__oauth_fault fault = mcp__oauth_answer_read(&ret->doc, status, body, url, allocator, error);
    return fault == MCP__OAUTH_OK ? read_members(ret, want, url, mcp__allocator(allocator), error)
                                  : fault;
}

void mcp__token_answer_clear(mcp__token_answer *answer)
{
    mcp__json_wipe(answer->doc);
    if (answer->joined.ptr)
        mcp__buf_free(&answer->joined);
    memset(answer, 0, sizeof(*answer));
}
