/* token.c: see token.h. */
#include "auth/token.h"

static mcp__refused refusal_of(mcp__jws_fault fault)
{
    switch (fault) {
    case MCP__JWS_OK: return MCP__ACCEPTED;
    case MCP__JWS_NO_MEMORY: return MCP__REFUSED_NO_MEMORY;
    case MCP__JWS_HEADER: return MCP__REFUSED_HEADER;
    case MCP__JWS_CRITICAL: return MCP__REFUSED_CRITICAL;
    case MCP__JWS_KEY: return MCP__REFUSED_FOREIGN_KEY;
    case MCP__JWS_ALGORITHM: return MCP__REFUSED_ALGORITHM;
    case MCP__JWS_FORM: break;
    }
    return MCP__REFUSED_FORM;
}

mcp__refused mcp__token_read(mcp__token *token, mcp_str text, const mcp_allocator *allocator)
{
    bool fits = text.len <= MCP__TOKEN_BYTES;
    token->doc = NULL;
    mcp__claims_init(&token->claims, allocator);
    mcp__jws_fault fault =
        mcp__jws_read(&token->jws, fits ? text : (mcp_str){NULL, 0}, false, allocator);
    if (!fits)
        return MCP__REFUSED_SIZE;
    if (fault != MCP__JWS_OK)
        return refusal_of(fault);
    int rc = mcp__jws_claims(&token->jws, &token->doc);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? MCP__REFUSED_NO_MEMORY : MCP__REFUSED_CLAIMS;
    return MCP__ACCEPTED;
}

void mcp__token_clear(mcp__token *token)
{
    mcp__jws_clear(&token->jws);
    mcp_json_free(token->doc);
    token->doc = NULL;
    mcp__claims_clear(&token->claims);
}

const mcp__token_rules *mcp__token_rules_for(const mcp__token *token, const mcp__token_rules *rules,
                                             size_t n)
{
    mcp_str iss = mcp_json_string(mcp_json_get(mcp_json_root(token->doc), "iss"));
    for (size_t i = 0; i < n && n > 1; i++) {
        if (mcp_str_eq(iss, rules[i].issuer))
            return &rules[i];
    }
    return n == 1 ? rules : NULL;
}

/* Returns whether `typ`, from the header, is accepted. Sets *marked if the token must also have the
 * claim `mark` of the rules. */
static bool check_type(mcp_str typ, const mcp__token_rules *rules, bool *marked)
{
    *marked = !mcp__jws_is_type(typ, MCP_STR("at+jwt"));
    if (!*marked)
        return true;
    if (!rules->type.len)
        return false;
    return mcp__jws_is_type(typ, rules->type) ||
           (!typ.len && mcp__jws_is_type(MCP_STR("jwt"), rules->type));
}

static mcp__refused check_signature(const mcp__token *token, const mcp__jwk_set *keys)
{
    mcp__refused why = MCP__REFUSED_KEY;
    const mcp__jwk *key;
    size_t at = 0, tries = 0;
    while (tries++ < MCP__TOKEN_TRIES &&
           (key = mcp__jwk_set_next(keys, token->jws.kid, token->jws.alg, &at))) {
        if (mcp__jws_verify(&token->jws, key))
            return MCP__ACCEPTED;
        why = MCP__REFUSED_SIGNATURE;
    }
    return why;
}

static bool has_mark(const mcp_json *claims, const mcp__token_rules *rules)
{
    const mcp_json *value = mcp_json_get_str(claims, rules->mark);
    if (!rules->mark_value.len)
        return value && !mcp_json_is(value, MCP_JSON_NULL);
    return mcp_str_eq(mcp_json_string(value), rules->mark_value);
}

mcp__refused mcp__token_check(mcp__token *token, const mcp__token_rules *rules,
                              const mcp__jwk_set *keys, int64_t now)
{
    const mcp_json *claims = mcp_json_root(token->doc);
    bool marked;
    if (!check_type(token->jws.typ, rules, &marked))
        return MCP__REFUSED_TYPE;
    mcp__refused why = check_signature(token, keys);
    if (why == MCP__ACCEPTED && marked && !has_mark(claims, rules))
        why = MCP__REFUSED_MARK;
    if (why == MCP__ACCEPTED)
        why = mcp__claims_check(&token->claims, claims, rules, MCP__CLAIMS_SIGNED, now);
    return why;
}
