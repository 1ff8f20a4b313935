/* device_answer.c: answers of device authorization endpoints (RFC 8628 section 3.2); see
 * token_answer.h. */
#include "auth/discover.h"
#include "auth/token_answer.h"

enum { MOST_CODE = 4096, MOST_USER_CODE = 64, MOST_URL = 2048 };

static mcp__oauth_fault read_texts(mcp__device_answer *ret, mcp_str url, mcp_error *error)
{
    const mcp_json *root = mcp_json_root(ret->doc);
    /* Google's name of the URL is from a draft. */
    const char *name =
        mcp_json_get(root, "verification_uri") ? "verification_uri" : "verification_url";
    const struct {
        const char *name;
        size_t most;
        mcp_str *to;
        bool required;
    } texts[] = {
        {"device_code", MOST_CODE, &ret->device_code, true},
        {"user_code", MOST_USER_CODE, &ret->user_code, true},
        {name, MOST_URL, &ret->url, true},
        {"verification_uri_complete", MOST_URL, &ret->complete_url, false},
    };
    for (size_t i = 0; i < MCP__COUNT(texts); i++) {
        if (!mcp__oauth_answer_text(root, texts[i].name, texts[i].most, texts[i].to) ||
            (texts[i].required && !texts[i].to->len))
            return mcp__oauth_fail(error, MCP__OAUTH_ANSWER_FORM, mcp_str_from(texts[i].name), url);
    }
    return MCP__OAUTH_OK;
}

/* Returns whether a person may be sent to this URL. It may have a fragment. */
static bool is_page(mcp_str url, bool loopback)
{
    const char *hash = url.len ? memchr(url.ptr, '#', url.len) : NULL;
    return mcp__oauth_url((mcp_str){url.ptr, hash ? (size_t)(hash - url.ptr) : url.len}, loopback);
}

static mcp__oauth_fault read_members(mcp__device_answer *ret, mcp_str url, bool loopback,
                                     mcp_error *error)
{
    const mcp_json *root = mcp_json_root(ret->doc);
    const mcp_json *interval = mcp_json_get(root, "interval");
    mcp__oauth_fault fault = read_texts(ret, url, error);
    if (fault != MCP__OAUTH_OK)
        return fault;
    if (!is_page(ret->url, loopback))
        return mcp__oauth_fail_named(error, MCP__OAUTH_METADATA_URL, MCP_STR("verification_uri"),
                                     ret->url, url);
    if (ret->complete_url.len && !is_page(ret->complete_url, loopback))
        return mcp__oauth_fail_named(error, MCP__OAUTH_METADATA_URL,
                                     MCP_STR("verification_uri_complete"), ret->complete_url, url);
    ret->expires_in = mcp_json_int(mcp_json_get(root, "expires_in"), MCP__DEVICE_SECONDS);
    ret->interval = mcp_json_int(interval, MCP__DEVICE_INTERVAL);
    if (ret->expires_in < 1 || ret->interval < 0)
        return mcp__oauth_fail(error, MCP__OAUTH_ANSWER_FORM,
                               ret->interval < 0 ? MCP_STR("interval") : MCP_STR("expires_in"),
                               url);
    ret->expires_in = MCP__MIN(ret->expires_in, MCP__DEVICE_SECONDS);
    ret->interval = MCP__MAX(MCP__MIN(ret->interval, MCP__DEVICE_SECONDS), 1);
    return MCP__OAUTH_OK;
}

mcp__oauth_fault mcp__device_answer_read(mcp__device_answer *ret, int status, mcp_str body,
                                         mcp_str url, bool loopback, const mcp_allocator *allocator,
                                         mcp_error *error)
{
    memset(ret, 0, sizeof(*ret));
    mcp__oauth_fault fault = mcp__oauth_answer_read(&ret->doc, status, body, url, allocator, error);
    return fault == MCP__OAUTH_OK ? read_members(ret, url, loopback, error) : fault;
}

void mcp__device_answer_clear(mcp__device_answer *answer)
{
    mcp__json_wipe(answer->doc);
    memset(answer, 0, sizeof(*answer));
}
