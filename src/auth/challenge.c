/* challenge.c: see challenge.h. */
#include "auth/challenge.h"
#include "protocol/scope.h"

/* Appends the text as the contents of a quoted string (RFC 9110 section 5.6.4), in ASCII. */
static void put_escaped(mcp__buf *to, mcp_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '"' || c == '\\')
            mcp__buf_char(to, '\\');
        mcp__buf_char(to, (char)(c >= ' ' && c < 0x7F ? c : '?'));
    }
}

/* Appends a parameter. *first says whether it is the first one. */
static void put_param(mcp__buf *to, bool *first, const char *name, mcp_str value)
{
    if (!value.len)
        return;
    mcp__buf_printf(to, "%s%s=\"", *first ? " " : ", ", name);
    put_escaped(to, value);
    mcp__buf_char(to, '"');
    *first = false;
}

static void put_scopes(mcp__buf *to, bool *first, mcp_str scopes)
{
    bool any = false;
    for (mcp_str scope; mcp__scope_next(&scopes, &scope);) {
        if (mcp__scope_is_offline(scope) || !mcp__scope_valid(scope))
            continue;
        if (any)
            mcp__buf_char(to, ' ');
        else
            mcp__buf_printf(to, "%sscope=\"", *first ? " " : ", ");
        put_escaped(to, scope);
        any = true;
    }
    if (any) {
        mcp__buf_char(to, '"');
        *first = false;
    }
}

static void put_algorithms(mcp__buf *to, bool *first)
{
    mcp__buf_printf(to, "%salgs=\"", *first ? " " : ", ");
    for (const mcp__jws_alg *alg = mcp__jws_algs; alg->name; alg++)
        mcp__buf_printf(to, "%s%s", alg == mcp__jws_algs ? "" : " ", alg->name);
    mcp__buf_char(to, '"');
    *first = false;
}

void mcp__challenge_put(mcp__buf *to, const mcp__challenge *challenge)
{
    bool dpop = challenge->scheme == MCP__SCHEME_DPOP, first = true;
    mcp_str code = mcp_str_from(mcp__refusal_code(challenge->why));
    mcp_str text = mcp_str_from(mcp__refusal_text(challenge->why));
    /* A client that uses the scheme Bearer cannot interpret the errors of proofs. */
    bool told = code.len && (dpop || (!mcp_str_eq(code, MCP_STR("invalid_dpop_proof")) &&
                                      !mcp_str_eq(code, MCP_STR("use_dpop_nonce"))));
    mcp__buf_str(to, dpop ? MCP_STR("DPoP") : MCP_STR("Bearer"));
    put_param(to, &first, "error", told ? code : (mcp_str){NULL, 0});
    put_param(to, &first, "error_description", told ? text : (mcp_str){NULL, 0});
    put_scopes(to, &first, challenge->scopes);
    put_param(to, &first, "resource_metadata", challenge->metadata_url);
    if (dpop)
        put_algorithms(to, &first);
}
