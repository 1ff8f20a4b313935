/* claims.c: see claims.h. */
#include "auth/claims.h"
#include "auth/crypto.h"
#include "auth/jws.h"
#include "protocol/scope.h"

/* ---- rules ----------------------------------------------------------------------------------- */

/* These types are never access tokens. */
static const char *const other_types[] = {"dpop+jwt", "oauth-id-jag+jwt", "logout+jwt",
                                          "secevent+jwt"};

/* Claims that ID tokens may have too. Their presence does not show that a JWT is an access
 * token. */
static const char *const common_claims[] = {
    "iss",   "sub",       "aud", "exp", "nbf", "iat",     "jti",  "azp",
    "nonce", "auth_time", "acr", "amr", "sid", "at_hash", "name", "email",
};

static bool is_common(mcp_str claim)
{
    for (size_t i = 0; i < MCP__COUNT(common_claims); i++) {
        if (mcp_str_eq(claim, mcp_str_from(common_claims[i])))
            return true;
    }
    return false;
}

int mcp__token_rules_check(const mcp__token_rules *r, mcp_error *error)
{
    mcp__no_error(error);
    if (!r->issuer.len)
        return mcp__fail(error, MCP_EINVAL, 0, "the issuer of access tokens is not set");
    for (size_t i = 0; i < r->n_audiences; i++) {
        if (!r->audiences[i].len)
            return mcp__fail(error, MCP_EINVAL, 0, "an audience is empty");
    }
    if (!r->n_audiences)
        return mcp__fail(error, MCP_EINVAL, 0,
                         "no audience is set: tokens for other servers would "
                         "be accepted");
    for (size_t i = 0; i < MCP__COUNT(other_types); i++) {
        if (mcp__jws_is_type(r->type, mcp_str_from(other_types[i])))
            return mcp__fail(error, MCP_EINVAL, 0, "JWTs of the type %s are never access tokens",
                             other_types[i]);
    }
    if (r->type.len && (!r->mark.len || (is_common(r->mark) && !r->mark_value.len)))
        return mcp__fail(error, MCP_EINVAL, 0,
                         "a type other than at+jwt needs a claim that only access tokens have, "
                         "because ID tokens would be accepted otherwise");
    return MCP_OK;
}

/* ---- single claims --------------------------------------------------------------------------- */

bool mcp__claims_time(const mcp_json *value, bool up, int64_t *ret)
{
    double seconds = mcp_json_number(value, -1);
    if (!(seconds >= 0 && seconds <= 9007199254740992.0))
        return false;
    *ret = (int64_t)seconds;
    if (up && (double)*ret < seconds)
        ++*ret;
    return true;
}

static bool is_configured(mcp_str audience, const mcp__token_rules *rules)
{
    for (size_t i = 0; i < rules->n_audiences; i++) {
        if (mcp_str_eq(audience, rules->audiences[i]))
            return true;
    }
    return false;
}

static bool has_audience(const mcp_json *aud, const mcp__token_rules *rules)
{
    mcp_json_iter iter = {0};
    bool found = false;
    if (mcp_json_is(aud, MCP_JSON_STRING))
        return is_configured(mcp_json_string(aud), rules);
    if (!mcp_json_is(aud, MCP_JSON_ARRAY))
        return false;
    for (const mcp_json *one; (one = mcp_json_next(aud, &iter, NULL));) {
        if (!mcp_json_is(one, MCP_JSON_STRING))
            return false;
        found = found || is_configured(mcp_json_string(one), rules);
    }
    return found;
}

static mcp__refused check_issuer(mcp__claims *claims, const mcp_json *object,
                                 const mcp__token_rules *rules, mcp__claims_from from)
{
    const mcp_json *iss = mcp_json_get(object, "iss"), *sub = mcp_json_get(object, "sub");
    claims->issuer = mcp_json_string(iss);
    claims->subject = mcp_json_string(sub);
    if (sub && !claims->subject.ptr)
        return MCP__REFUSED_CLAIMS;
    if (!iss && from == MCP__CLAIMS_INTROSPECTED)
        return MCP__ACCEPTED;
    return claims->issuer.ptr && mcp_str_eq(claims->issuer, rules->issuer) ? MCP__ACCEPTED
                                                                           : MCP__REFUSED_ISSUER;
}

static mcp__refused check_times(mcp__claims *claims, const mcp_json *object, mcp__claims_from from,
                                int64_t now)
{
    const mcp_json *exp = mcp_json_get(object, "exp"), *nbf = mcp_json_get(object, "nbf");
    const mcp_json *iat = mcp_json_get(object, "iat");
    int64_t from_time = 0, issued = 0;
    claims->expires = INT64_MAX;
    if (exp || from == MCP__CLAIMS_SIGNED) {
        if (!mcp__claims_time(exp, false, &claims->expires))
            return MCP__REFUSED_NO_EXPIRY;
        if (now - MCP__TOKEN_SKEW >= claims->expires)
            return MCP__REFUSED_EXPIRED;
    }
    if (nbf && (!mcp__claims_time(nbf, true, &from_time) || now + MCP__TOKEN_SKEW < from_time))
        return MCP__REFUSED_NOT_YET;
    if (iat && (!mcp__claims_time(iat, true, &issued) || now + MCP__TOKEN_SKEW < issued))
        return MCP__REFUSED_ISSUED;
    return MCP__ACCEPTED;
}

/* Accepts a token that is not bound, or is bound only by `jkt`. Other bindings cannot be checked;
 * these are the registered ones. All other members of `cnf` are ignored (RFC 7800 section 3.1). */
static mcp__refused check_binding(mcp__claims *claims, const mcp_json *cnf)
{
    static const char *const others[] = {"jwk", "jwe", "jku", "kid", "x5t#S256", "osc"};
    claims->jkt = mcp_json_string(mcp_json_get(cnf, "jkt"));
    if (!cnf)
        return MCP__ACCEPTED;
    for (size_t i = 0; i < MCP__COUNT(others); i++) {
        if (mcp_json_get(cnf, others[i]))
            return MCP__REFUSED_BINDING;
    }
    return claims->jkt.len == MCP__SHA256_TEXT ? MCP__ACCEPTED : MCP__REFUSED_BINDING;
}

static bool add_scope(mcp__buf *to, mcp_str scope)
{
    if (!mcp__scope_valid(scope))
        return false;
    if (to->len)
        mcp__buf_char(to, ' ');
    mcp__buf_str(to, scope);
    return true;
}

static bool add_scopes(mcp__buf *to, const mcp_json *value)
{
    mcp_json_iter iter = {0};
    if (mcp_json_is(value, MCP_JSON_STRING)) {
        mcp_str rest = mcp_json_string(value);
        for (mcp_str scope; mcp__scope_next(&rest, &scope);) {
            if (!add_scope(to, scope))
                return false;
        }
        return true;
    }
    if (!mcp_json_is(value, MCP_JSON_ARRAY))
        return false;
    for (const mcp_json *one; (one = mcp_json_next(value, &iter, NULL));) {
        if (!add_scope(to, mcp_json_string(one)))
            return false;
    }
    return true;
}

static mcp__refused read_scopes(mcp__claims *claims, const mcp_json *object)
{
    const mcp_json *value = mcp_json_get(object, "scope");
    if (!value)
        value = mcp_json_get(object, "scp");
    if (value && !add_scopes(&claims->scopes, value))
        return MCP__REFUSED_SCOPES;
    return claims->scopes.failed ? MCP__REFUSED_NO_MEMORY : MCP__ACCEPTED;
}

/* ---- all claims ------------------------------------------------------------------------------ */

void mcp__claims_init(mcp__claims *claims, const mcp_allocator *allocator)
{
    memset(claims, 0, sizeof(*claims));
    mcp__buf_init(&claims->scopes, mcp__allocator(allocator), 0);
}

void mcp__claims_clear(mcp__claims *claims)
{
    mcp__buf_free(&claims->scopes);
}

mcp__refused mcp__claims_check(mcp__claims *claims, const mcp_json *object,
                               const mcp__token_rules *rules, mcp__claims_from from, int64_t now)
{
    mcp__refused why = check_issuer(claims, object, rules, from);
    if (why == MCP__ACCEPTED && !has_audience(mcp_json_get(object, "aud"), rules))
        why = MCP__REFUSED_AUDIENCE;
    if (why == MCP__ACCEPTED)
        why = check_times(claims, object, from, now);
    if (why == MCP__ACCEPTED)
        why = check_binding(claims, mcp_json_get(object, "cnf"));
    if (why == MCP__ACCEPTED)
        why = read_scopes(claims, object);
    return why;
}
