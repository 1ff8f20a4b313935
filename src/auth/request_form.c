/* request_form.c: the forms of requests to authorization servers; see request_form.h. */
#include "auth/introspect.h"
#include "auth/request_form.h"

void mcp__form_add(mcp__buf *form, const char *name, mcp_str value)
{
    if (!value.len)
        return;
    if (form->len)
        mcp__buf_char(form, '&');
    mcp__form_put(form, mcp_str_from(name));
    mcp__buf_char(form, '=');
    mcp__form_put(form, value);
}

static void put_grant(mcp__buf *form, const char *grant, mcp_str scope, mcp_str resource)
{
    mcp__form_add(form, "grant_type", mcp_str_from(grant));
    mcp__form_add(form, "scope", scope);
    mcp__form_add(form, "resource", resource);
}

void mcp__form_code(mcp__buf *form, mcp_str code, mcp_str redirect_uri, mcp_str verifier,
                    mcp_str resource)
{
    put_grant(form, MCP__GRANT_CODE, (mcp_str){NULL, 0}, resource);
    mcp__form_add(form, "code", code);
    mcp__form_add(form, "redirect_uri", redirect_uri);
    mcp__form_add(form, "code_verifier", verifier);
}

void mcp__form_refresh(mcp__buf *form, mcp_str refresh_token, mcp_str scope, mcp_str resource)
{
    put_grant(form, MCP__GRANT_REFRESH, scope, resource);
    mcp__form_add(form, "refresh_token", refresh_token);
}

void mcp__form_credentials(mcp__buf *form, mcp_str scope, mcp_str resource)
{
    put_grant(form, MCP__GRANT_CREDENTIALS, scope, resource);
}

void mcp__form_assertion(mcp__buf *form, mcp_str assertion, mcp_str scope, mcp_str resource)
{
    put_grant(form, MCP__GRANT_ASSERTION, scope, resource);
    mcp__form_add(form, "assertion", assertion);
}

void mcp__form_device(mcp__buf *form, mcp_str scope, mcp_str resource)
{
    mcp__form_add(form, "scope", scope);
    mcp__form_add(form, "resource", resource);
}

void mcp__form_device_token(mcp__buf *form, mcp_str device_code, mcp_str resource)
{
    put_grant(form, MCP__GRANT_DEVICE, (mcp_str){NULL, 0}, resource);
    mcp__form_add(form, "device_code", device_code);
}

void mcp__form_exchange(mcp__buf *form, mcp_str id_token, mcp_str audience, mcp_str scope,
                        mcp_str resource)
{
    put_grant(form, MCP__GRANT_EXCHANGE, scope, resource);
    mcp__form_add(form, "requested_token_type", MCP_STR(MCP__TOKEN_ID_JAG));
    mcp__form_add(form, "audience", audience);
    mcp__form_add(form, "subject_token", id_token);
    mcp__form_add(form, "subject_token_type", MCP_STR(MCP__TOKEN_ID));
}

void mcp__form_revoke(mcp__buf *form, mcp_str token, mcp_str kind)
{
    mcp__form_add(form, "token", token);
    mcp__form_add(form, "token_type_hint", kind);
}
