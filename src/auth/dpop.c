/* dpop.c: see dpop.h. The numbers in comments are those of the checks in RFC 9449 section 4.3. */
#include "auth/dpop.h"

/* ---- the Authorization header ---------------------------------------------------------------- */

/* The characters of a b64token apart from "=", as bits: "+-./", digits, letters, "_" and "~". */
static const uint64_t token_chars[4] = {0x03FFE80000000000, 0x47FFFFFE87FFFFFE, 0, 0};

static bool is_token_char(char c)
{
    unsigned char u = (unsigned char)c;
    return token_chars[u >> 6] >> (u & 63) & 1;
}

/* The b64token of RFC 6750 section 2.1. */
bool mcp__auth_is_token(mcp_str text)
{
    size_t len = text.len, n = 0;
    while (len && text.ptr[len - 1] == '=')
        len--;
    while (n < len && is_token_char(text.ptr[n]))
        n++;
    return n == len && n > 0;
}

mcp__refused mcp__auth_split(mcp_str value, mcp__auth_scheme *scheme, mcp_str *token)
{
    size_t n = 0;
    while (n < value.len && value.ptr[n] != ' ')
        n++;
    mcp_str name = {value.ptr, n};
    bool dpop = mcp__str_same(name, MCP_STR("DPoP"));
    if (!dpop && !mcp__str_same(name, MCP_STR("Bearer")))
        return MCP__REFUSED_NO_TOKEN;
    while (n < value.len && value.ptr[n] == ' ')
        n++;
    *scheme = dpop ? MCP__SCHEME_DPOP : MCP__SCHEME_BEARER;
    *token = mcp__str_sub(value, n);
    return MCP__ACCEPTED;
}

mcp__refused mcp__auth_header(mcp_str value, mcp__auth_scheme *scheme, mcp_str *token)
{
    mcp__refused why = mcp__auth_split(value, scheme, token);
    return why == MCP__ACCEPTED && !mcp__auth_is_token(*token) ? MCP__REFUSED_SCHEME : why;
}

mcp__refused mcp__auth_check_scheme(mcp__auth_scheme scheme, const mcp__claims *claims)
{
    if (scheme == MCP__SCHEME_BEARER)
        return claims->jkt.len ? MCP__REFUSED_BOUND : MCP__ACCEPTED;
    return claims->jkt.len ? MCP__ACCEPTED : MCP__REFUSED_UNBOUND;
}

/* ---- proofs ---------------------------------------------------------------------------------- */

/* A proof that is being checked. */
typedef struct proof_state {
    const mcp__crypto *crypto;
    const mcp__dpop_request *request;
    mcp__jws jws;
    mcp_json_doc *doc;
    mcp__jwk *key;
} proof_state;

/* 2, 4, 5, 7: a well-formed JWT of the right type, with an asymmetric algorithm and a public
 * key. */
static mcp__refused read_proof(proof_state *p, mcp_str text, const mcp_allocator *allocator)
{
    mcp__jws_fault fault = mcp__jws_read(&p->jws, text, true, allocator);
    if (fault == MCP__JWS_NO_MEMORY)
        return MCP__REFUSED_NO_MEMORY;
    if (fault == MCP__JWS_ALGORITHM)
        return MCP__REFUSED_PROOF_ALGORITHM;
    if (fault != MCP__JWS_OK)
        return MCP__REFUSED_PROOF_FORM;
    int rc = mcp__jws_claims(&p->jws, &p->doc);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? MCP__REFUSED_NO_MEMORY : MCP__REFUSED_PROOF_FORM;
    if (!mcp__jws_is_type(p->jws.typ, MCP_STR("dpop+jwt")))
        return MCP__REFUSED_PROOF_TYPE;
    rc = mcp__jwk_read(p->crypto, p->jws.jwk, MCP__JWK_VERIFY, allocator, &p->key, NULL);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? MCP__REFUSED_NO_MEMORY : MCP__REFUSED_PROOF_KEY;
    return mcp__jwk_allows(p->key, p->jws.alg) ? MCP__ACCEPTED : MCP__REFUSED_PROOF_ALGORITHM;
}

/* Returns a claim of the proof, or NULL as ptr if the claim is missing or not a string. */
static mcp_str claim(const proof_state *p, const char *name)
{
    return mcp_json_string(mcp_json_get(mcp_json_root(p->doc), name));
}

/* 10, 11: the time of the proof, according to its iat and to the server's nonce. */
static mcp__refused check_time(const proof_state *p, int64_t issued)
{
    const mcp__dpop_request *r = p->request;
    if (r->n_nonce_keys &&
        !mcp__nonce_check(p->crypto, r->nonce_keys, r->n_nonce_keys, claim(p, "nonce"), r->now))
        return MCP__REFUSED_NONCE;
    if (r->now - issued > MCP__DPOP_WINDOW || issued - r->now > MCP__DPOP_WINDOW)
        return MCP__REFUSED_PROOF_TIME;
    return MCP__ACCEPTED;
}

/* 3, 8, 9: the claims that every proof has, and the request that it is for. */
static mcp__refused check_request(const proof_state *p, const mcp_allocator *allocator,
                                  int64_t *issued)
{
    const mcp_json *iat = mcp_json_get(mcp_json_root(p->doc), "iat");
    mcp_str jti = claim(p, "jti"), htm = claim(p, "htm"), htu = claim(p, "htu");
    bool same = false;
    if (!jti.len || jti.len > MCP__DPOP_JTI_BYTES || !htm.len || !htu.len ||
        !mcp__claims_time(iat, false, issued))
        return MCP__REFUSED_PROOF_CLAIMS;
    if (!mcp_str_eq(htm, p->request->method))
        return MCP__REFUSED_PROOF_METHOD;
    if (mcp__dpop_same_url(p->request->url, htu, allocator, &same) == MCP_ENOMEM)
        return MCP__REFUSED_NO_MEMORY;
    return same ? MCP__ACCEPTED : MCP__REFUSED_PROOF_URL;
}

/* 12: the token of the request, and the key that it is bound to. */
static mcp__refused check_token(const proof_state *p)
{
    char hash[MCP__SHA256_TEXT];
    if (!mcp__sha256_text(p->crypto, p->request->token, hash))
        return MCP__REFUSED_NO_MEMORY;
    if (!mcp__same_secret(p->crypto, claim(p, "ath"), (mcp_str){hash, sizeof(hash)}))
        return MCP__REFUSED_PROOF_TOKEN;
    if (!p->request->jkt.len)
        return MCP__REFUSED_UNBOUND;
    mcp_str thumbprint = {p->key->thumbprint, sizeof(p->key->thumbprint)};
    return mcp_str_eq(p->request->jkt, thumbprint) ? MCP__ACCEPTED : MCP__REFUSED_OTHER_KEY;
}

/* The id is a digest of the thumbprint, which has a fixed length, followed by the jti. */
static bool set_id(const proof_state *p, mcp__dpop_proof *proof)
{
    char text[MCP__SHA256_TEXT + MCP__DPOP_JTI_BYTES];
    mcp_str jti = claim(p, "jti");
    memcpy(text, p->key->thumbprint, MCP__SHA256_TEXT);
    memcpy(text + MCP__SHA256_TEXT, jti.ptr, jti.len);
    return mcp__sha256(p->crypto, (mcp_str){text, MCP__SHA256_TEXT + jti.len}, proof->id);
}

static mcp__refused check_proof(proof_state *p, mcp_str text, const mcp_allocator *allocator,
                                mcp__dpop_proof *proof)
{
    mcp__refused why = read_proof(p, text, allocator);
    if (why == MCP__ACCEPTED)
        why = check_request(p, allocator, &proof->issued);
    if (why == MCP__ACCEPTED)
        why = check_token(p);
    /* 6: the signature, last because its check takes the most time. */
    if (why == MCP__ACCEPTED && !mcp__jws_verify(&p->jws, p->key))
        why = MCP__REFUSED_PROOF_SIGNATURE;
    if (why == MCP__ACCEPTED)
        why = check_time(p, proof->issued);
    if (why == MCP__ACCEPTED && !set_id(p, proof))
        why = MCP__REFUSED_NO_MEMORY;
    return why;
}

mcp__refused mcp__dpop_check(const mcp__crypto *crypto, const mcp__dpop_request *request,
                             const mcp_str *proofs, size_t n_proofs, const mcp_allocator *allocator,
                             mcp__dpop_proof *proof)
{
    proof_state p = {.crypto = crypto, .request = request};
    mcp__dpop_proof checked;
    if (n_proofs != 1)
        return MCP__REFUSED_PROOF_COUNT;
    if (proofs[0].len > MCP__TOKEN_BYTES)
        return MCP__REFUSED_PROOF_SIZE;
    mcp__refused why = check_proof(&p, proofs[0], allocator, &checked);
    mcp__jws_clear(&p.jws);
    mcp_json_free(p.doc);
    mcp__jwk_free(p.key);
    if (why == MCP__ACCEPTED)
        *proof = checked;
    return why;
}
