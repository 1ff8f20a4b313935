/* decide.c: makes the answers to requests: identities, or refusals with their challenges. */
#include "auth/resource/resource.h"

bool mcp__rs_is_fault(mcp__refused why)
{
    const char *code = mcp__refusal_code(why);
    return strcmp(code, "invalid_token") == 0 || strcmp(code, "invalid_dpop_proof") == 0;
}

/* Writes NUL-terminated challenges. The first is for the scheme that the client should use. */
static size_t put_challenges(const mcp_resource_server *rs, mcp__auth_scheme scheme,
                             const mcp__rs_view *view, mcp__refused why, mcp__buf *b, size_t at[2])
{
    bool bearer = rs->options.dpop != MCP_DPOP_REQUIRED, dpop = rs->options.dpop != MCP_DPOP_OFF;
    const char *metadata_url = mcp__rs_metadata_url(rs, view);
    size_t n = 0;
    for (int turn = 0; turn < 2; turn++) {
        mcp__auth_scheme one = (mcp__auth_scheme)(((int)scheme + turn) % 2);
        if (one == MCP__SCHEME_BEARER ? !bearer : !dpop)
            continue;
        at[n++] = b->len;
        mcp__challenge_put(b, &(mcp__challenge){.scheme = one,
                                                .why = why,
                                                .scopes = mcp_str_from(rs->options.required_scopes),
                                                .metadata_url = mcp_str_from(metadata_url)});
        mcp__buf_char(b, '\0');
    }
    return n;
}

static void count(mcp_resource_server *rs, mcp__refused why, int status)
{
    if (status == 429)
        rs->usage.throttled++;
    else if (status == 503)
        rs->usage.unavailable++;
    else if (status && why != MCP__REFUSED_NO_TOKEN)
        rs->usage.refused++;
}

/* Whoever has a bound token need not be its owner, so only a missing scope names the principal. */
static void explain(mcp__rs_answer *answer, const mcp_resource_server *rs, mcp__refused why,
                    const mcp__rs_known *known)
{
    answer->message = mcp__refusal_text(why);
    answer->reason = mcp__refusal_name(why);
    if (!known)
        return;
    answer->issuer = known->issuer ? rs->rules[known->issuer->index].issuer.ptr : NULL;
    answer->key = *known->kid ? known->kid : NULL;
    if (why == MCP__REFUSED_SCOPE)
        answer->principal = mcp_identity_principal(known->identity);
}

void mcp__rs_answer_to(mcp_resource_server *rs, const mcp__rs_question *question,
                       mcp__auth_scheme scheme, mcp__refused why, const mcp__rs_known *known,
                       unsigned retry_s)
{
    char nonce[MCP__NONCE_BYTES];
    size_t at[2] = {0, 0};
    mcp__buf b;
    mcp__rs_answer answer = {0};
    if (why == MCP__ACCEPTED)
        answer.identity = known->identity;
    else
        answer.status = why == MCP__REFUSED_NO_MEMORY ? 503 : mcp__refusal_status(why);
    mcp__buf_init(&b, rs->allocator, 0);
    if (answer.status == 400 || answer.status == 401 || answer.status == 403)
        answer.n_challenges = put_challenges(rs, scheme, question->view, why, &b, at);
    if (b.failed) {
        answer.n_challenges = 0;
        answer.status = 503;
    }
    for (size_t i = 0; i < answer.n_challenges; i++)
        answer.challenges[i] = b.ptr + at[i];
    if (answer.status)
        explain(&answer, rs, why, known);
    if (answer.status == 429 || answer.status == 503)
        answer.retry_s = MCP__MAX(retry_s, 1u);
    bool wants_nonce = rs->n_nonce_keys && (scheme == MCP__SCHEME_DPOP || answer.status == 401);
    if (wants_nonce && mcp__nonce_make(&rs->crypto, rs->nonce_keys[0], mcp__rs_wall(rs), nonce))
        answer.nonce = nonce;
    count(rs, why, answer.status);
    question->answer(&answer, question->user);
    mcp__buf_free(&b);
}
