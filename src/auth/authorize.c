/* authorize.c: the URL of an authorization request (RFC 6749 section 4.1.1); see authorize.h. */
#include "auth/authorize.h"
#include "auth/request_form.h"
#include "protocol/scope.h"

static bool asks_for_offline(mcp_str scopes)
{
    for (mcp_str scope; mcp__scope_next(&scopes, &scope);) {
        if (mcp__scope_is_offline(scope))
            return true;
    }
    return false;
}

/* Appends the parameters as a form, which is also the form of a query (RFC 6749 section 3.1). */
static void put_query(mcp__buf *to, const mcp__authorize *request)
{
    mcp__form_add(to, "response_type", MCP_STR("code"));
    mcp__form_add(to, "client_id", request->client_id);
    mcp__form_add(to, "redirect_uri", request->redirect_uri);
    mcp__form_add(to, "scope", request->scope);
    mcp__form_add(to, "state", request->state);
    mcp__form_add(to, "code_challenge", request->challenge);
    mcp__form_add(to, "code_challenge_method", MCP_STR("S256"));
    mcp__form_add(to, "resource", request->resource);
    mcp__form_add(to, "dpop_jkt", request->dpop_jkt);
    if (asks_for_offline(request->scope))
        mcp__form_add(to, "prompt", MCP_STR("consent"));
}

int mcp__authorize_put(mcp__buf *to, const mcp__authorize *request)
{
    mcp_str endpoint = request->endpoint;
    const char *query = endpoint.len ? memchr(endpoint.ptr, '?', endpoint.len) : NULL;
    char last = endpoint.len ? endpoint.ptr[endpoint.len - 1] : '\0';
    mcp__buf form;
    mcp__buf_init(&form, to->allocator, 0);
    put_query(&form, request);
    mcp__buf_str(to, endpoint);
    if (last != '?' && last != '&')
        mcp__buf_char(to, query ? '&' : '?');
    if (!form.failed)
        mcp__buf_str(to, mcp__buf_view(&form));
    int rc = form.failed;
    mcp__buf_free(&form);
    return rc != MCP_OK ? rc : to->failed;
}
