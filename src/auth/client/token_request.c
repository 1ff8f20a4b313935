/* token_request.c: requests to token endpoints, with the authentication of the client and proofs of
 * possession; the renewal of tokens. */
#include "auth/client/oauth_client.h"

enum { MOST_NONCES = 2 }; /* repetitions of a token request because of a nonce */

/* ---- keys and proofs ------------------------------------------------------------------------- */

int mcp__oauth_use_key(mcp_oauth_client *c, mcp_str jwk, mcp_error *error)
{
    if (c->prover.key && mcp_str_eq(jwk, mcp__buf_view(&c->prover_text)))
        return MCP_OK;
    mcp__prover_clear(&c->prover);
    mcp__buf_wipe(&c->prover_text);
    mcp__buf_str(&c->prover_text, jwk);
    if (c->prover_text.failed)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a key");
    int rc = mcp__prover_read(&c->prover, &c->crypto, mcp__buf_view(&c->prover_text), &c->allocator,
                              error);
    if (rc < 0) {
        mcp__prover_clear(&c->prover);
        memset(&c->prover, 0, sizeof(c->prover));
    }
    return rc;
}

int mcp__oauth_prove(mcp_oauth_client *c, mcp__buf *to, const char *method, mcp_str url,
                     mcp_str token, mcp_str nonce)
{
    unsigned char random[MCP__RANDOM_ID];
    int rc = mcp__oauth_random(c, random, sizeof(random));
    return rc < 0 ? rc
                  : mcp__proof_put(to, &c->prover,
                                   &(mcp__proof){.method = mcp_str_from(method),
                                                 .url = url,
                                                 .token = token,
                                                 .nonce = nonce,
                                                 .now = mcp__oauth_seconds(c),
                                                 .random = random});
}

int mcp__oauth_prepare_proof(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    const mcp__record_grant *grant = mcp__oauth_own_grant(c);
    mcp__buf made;
    f->dpop_required = f->challenged_dpop || f->server.dpop_required;
    f->dpop = f->dpop_required || (grant && grant->dpop) ||
              (c->o.dpop && mcp__json_lists(f->issuer.dpop_algs, MCP_STR("ES256")));
    if (!f->dpop)
        return MCP_OK;
    if (grant && grant->dpop_key.len)
        return mcp__oauth_use_key(c, grant->dpop_key, &f->error);
    if (c->prover.key)
        return MCP_OK;
    mcp__buf_init(&made, &c->allocator, 0);
    int rc = mcp__jwk_make(&c->crypto, &made);
    rc = rc < 0 ? mcp__fail(&f->error, rc, 0, "no key for proofs: %s", mcp_error_text(rc))
                : mcp__oauth_use_key(c, mcp__buf_view(&made), &f->error);
    mcp__buf_wipe(&made);
    return rc;
}

/* ---- requests -------------------------------------------------------------------------------- */

int mcp__oauth_authenticate(mcp_oauth_client *c, mcp__buf *form, mcp__buf *authorization)
{
    const mcp__oauth_flow *f = &c->flow;
    unsigned char random[MCP__RANDOM_ID];
    int rc = mcp__oauth_random(c, random, sizeof(random));
    mcp__oauth_client_id client = {.id = f->self.id,
                                   .method = f->self.method,
                                   .secret = f->self.secret,
                                   .key = f->self.key,
                                   .audience = f->issuer.issuer,
                                   .now = mcp__oauth_seconds(c),
                                   .random = random};
    return rc < 0 ? rc : mcp__client_auth_put(form, authorization, &client);
}

mcp__oauth_step mcp__oauth_ask_token(mcp_oauth_client *c, mcp__buf *form, const char *what,
                                     bool poll)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__oauth_step next;
    mcp__buf authorization, proof;
    mcp__buf_init(&authorization, &c->allocator, 0);
    mcp__buf_init(&proof, &c->allocator, 0);
    mcp_str url = mcp__oauth_keep(c, f->issuer.token);
    int rc = mcp__oauth_authenticate(c, form, &authorization);
    if (rc == MCP_OK && f->dpop)
        rc =
            mcp__oauth_prove(c, &proof, "POST", url, (mcp_str){0}, mcp__buf_view(&c->issuer_nonce));
    mcp__buf_char(form, '\0');
    if (authorization.len)
        mcp__buf_char(&authorization, '\0');
    if (proof.len)
        mcp__buf_char(&proof, '\0');
    if (rc == MCP_OK && (form->failed || authorization.failed || proof.failed || !url.len))
        rc = MCP_ENOMEM;
    if (rc < 0)
        next = mcp__oauth_failed_with(c, rc, "the request to %.*s: %s",
                                      MCP__SHOWN(f->issuer.token, 100), mcp_error_text(rc));
    else
        next = mcp__oauth_send(
            c, &(mcp__oauth_request){.what = what,
                                     .url = url.ptr,
                                     .form = form->ptr,
                                     .authorization = authorization.len ? authorization.ptr : NULL,
                                     .dpop = proof.len ? proof.ptr : NULL,
                                     .poll = poll});
    mcp__buf_wipe(&authorization);
    mcp__buf_free(&proof);
    mcp__buf_wipe(form);
    return next;
}

mcp__oauth_fault mcp__oauth_read_token(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__token_want want = f->dpop_required ? MCP__WANT_DPOP
                           : f->dpop        ? MCP__WANT_EITHER
                                            : MCP__WANT_BEARER;
    mcp__token_answer_clear(&f->token);
    memset(&f->token, 0, sizeof(f->token));
    mcp__oauth_fault fault =
        mcp__token_answer_read(&f->token, answer->status, answer->body, mcp_str_from(answer->url),
                               want, &c->allocator, &f->error);
    if (fault == MCP__OAUTH_USE_NONCE &&
        (!f->dpop || !c->issuer_nonce.len || f->nonces++ >= MOST_NONCES))
        fault = MCP__OAUTH_INVALID_PROOF; /* the text remains */
    return fault;
}

mcp__oauth_step mcp__oauth_got_token(mcp_oauth_client *c)
{
    c->unproven++;
    c->authorized = c->host.now(c->host.user);
    c->renewed = false;
    mcp__buf_reset(&c->missed, 0);
    return mcp__oauth_save(c, MCP__SAVE_GRANT, MCP__STEP_DONE);
}

mcp__oauth_step mcp__oauth_take_token(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    mcp__oauth_flow *f = &c->flow;
    if (answer->rc < 0)
        return mcp__oauth_unanswered(c, answer);
    mcp__oauth_fault fault = mcp__oauth_read_token(c, answer);
    if (fault == MCP__OAUTH_USE_NONCE)
        return f->step; /* builds the request again */
    if (fault == MCP__OAUTH_OK)
        return mcp__oauth_got_token(c);
    /* A client that registered itself may have been removed there. */
    if (fault == MCP__OAUTH_INVALID_CLIENT && f->self.registered && !f->forgot) {
        f->forgot = true;
        f->self.known = false;
        return mcp__oauth_save(c, MCP__SAVE_NO_CLIENT, MCP__STEP_REGISTER);
    }
    return mcp__oauth_unless(c, fault, MCP__STEP_FAILED);
}

/* ---- REFRESH --------------------------------------------------------------------------------- */

/* With the lock. Another process may have used the refresh token before, or saved one from another
 * token endpoint. */
static mcp__oauth_step begin_refresh(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__buf form;
    if (mcp__oauth_load(c, true, &f->error) < 0)
        return MCP__STEP_FAILED;
    const mcp__record_grant *grant = mcp__oauth_own_grant(c);
    mcp__oauth_use(c, grant);
    if (c->generation && c->generation != f->refused)
        return MCP__STEP_DONE;
    if (!grant || !grant->refresh_token.len) {
        mcp__oauth_unlock(c);
        return MCP__STEP_REGISTER;
    }
    if (mcp__oauth_check_pins(c) == MCP__STEP_FAILED || mcp__oauth_prepare_proof(c) < 0 ||
        mcp__oauth_choose_method(c) < 0)
        return MCP__STEP_FAILED;
    mcp__buf_init(&form, &c->allocator, 0);
    mcp__form_refresh(&form, grant->refresh_token, (mcp_str){0}, mcp__oauth_resource(c));
    return mcp__oauth_ask_token(c, &form, "token", false);
}

static mcp__oauth_step answered_refresh(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    mcp__oauth_flow *f = &c->flow;
    if (answer->rc < 0)
        return mcp__oauth_unanswered(c, answer);
    mcp__oauth_fault fault = mcp__oauth_read_token(c, answer);
    switch (fault) {
    case MCP__OAUTH_OK:
        f->refreshed = c->renewed = true;
        return mcp__oauth_save(c, MCP__SAVE_GRANT, MCP__STEP_DONE);
    case MCP__OAUTH_USE_NONCE: return MCP__STEP_REFRESH;
    case MCP__OAUTH_INVALID_GRANT:
        return mcp__oauth_save(c, MCP__SAVE_NO_GRANT, MCP__STEP_REGISTER);
    case MCP__OAUTH_INVALID_CLIENT:
    case MCP__OAUTH_UNAUTHORIZED_CLIENT:
        if (!f->self.registered)
            break;
        f->forgot = true;
        f->self.known = false;
        return mcp__oauth_save(c, MCP__SAVE_NO_CLIENT, MCP__STEP_REGISTER);
    default: break;
    }
    return mcp__oauth_unless(c, fault, MCP__STEP_FAILED);
}

const mcp__oauth_work mcp__oauth_work_refresh = {begin_refresh, answered_refresh};
