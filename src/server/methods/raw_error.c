/* raw_error.c: passes on the errors of another server. */
#include "server/input/input.h"
#include "server/methods/raw.h"

#include <mcp/sys/json.h>

enum { MAX_ERROR = 64 * 1024 }; /* longest text of an error that is passed on, in bytes */

static bool is_unknown_resource(const mcp_request *req, const mcp_json *error)
{
    bool reads = req->method->form == MCP__FORM_CONTENTS || req->target.uri.ptr;
    return reads && mcp_json_int(mcp_json_get(error, "code"), 0) == MCP__INVALID_PARAMS &&
           mcp_json_get(mcp_json_get(error, "data"), "uri");
}

static mcp_str data_text(mcp_str json, const mcp_json *error)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, text;
    while (mcp_json_next(error, &it, &key) && mcp_json_text_next(json, &texts, NULL, &text)) {
        if (mcp_str_eq(key, MCP_STR("data")))
            return text;
    }
    return (mcp_str){NULL, 0};
}

/* Remembers the elicitations that error -32042 lists, so that mcp_server_elicitation_complete()
 * finds who was asked. */
static int remember_ids(const mcp__raw *p, const mcp_json *data)
{
    const mcp_json *list = mcp_json_get(data, "elicitations"), *e;
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    while (rc == MCP_OK && (e = mcp_json_next(list, &it, NULL)) != NULL)
        rc = mcp__raw_remember(p, e);
    return rc;
}

/* Two errors depend on what this caller declared: it must be able to visit a URL, and it must really
 * lack the capability that the other server needs. */
static int code_for(const mcp__raw *p, const mcp_json *error)
{
    const mcp_request *req = p->req;
    int64_t code = mcp_json_int(mcp_json_get(error, "code"), INT64_MIN);
    const mcp_json *data = mcp_json_get(error, "data");
    if (code == MCP__URL_REQUIRED && req->revision->url_required &&
        mcp_request_can(req, "elicitation.url"))
        return MCP__URL_REQUIRED;
    if (code == MCP__MISSING_CAPABILITY &&
        mcp__request_lacks(req, mcp_json_get(data, "requiredCapabilities")))
        return req->revision->missing_capability_code;
    return mcp__pass_code(req->revision, code, is_unknown_resource(req, error));
}

static int put_error(mcp__raw *p)
{
    mcp_request *req = p->req;
    const mcp__pass pass = mcp__raw_pass(p);
    const mcp_json *error = p->raw.value, *data = mcp_json_get(error, "data");
    mcp_str message = mcp_json_string(mcp_json_get(error, "message"));
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, SIZE_MAX);
    bool urls = mcp_json_int(mcp_json_get(error, "code"), 0) == MCP__URL_REQUIRED;
    bool there =
        data && mcp__pass_object(&pass, &b, urls ? MCP__PASS_URL_DATA : MCP__PASS_ERROR_DATA, data,
                                 data_text(p->raw.json, error));
    int code = code_for(p, error);
    int rc = code == MCP__URL_REQUIRED ? remember_ids(p, data) : MCP_OK;
    if (rc == MCP_OK)
        rc = mcp_reply_fail(req, code, "%.*s", (int)MCP__MIN(message.len, (size_t)MAX_ERROR),
                            message.ptr);
    req->error.passed = true;
    if (there && !b.failed)
        req->error.data = mcp__request_copy(req, mcp__buf_view(&b));
    mcp__buf_free(&b);
    return rc;
}

int mcp_reply_raw_error(mcp_request *req, const mcp_raw *error)
{
    mcp__raw p;
    int rc = mcp__raw_begin(&p, req, error);
    if (rc == MCP_OK && !req->error.code)
        rc = put_error(&p);
    mcp__raw_end(&p);
    return rc == MCP_OK ? MCP_EREMOTE : rc;
}
