/* logout.c: revokes the tokens (RFC 7009) and removes the record. */
#include "auth/client/oauth_client.h"
#include "uri/uri.h"

const mcp__record_grant *mcp__oauth_revoking(const mcp_oauth_client *c)
{
    size_t i = c->flow.revoking;
    return i < c->record.n_grants ? &c->record.grants[i] : NULL;
}

/* Returns the step that finds out where the grant can be revoked. The metadata of an issuer are read
 * once for grants that follow each other. The record does not change until it is removed. */
static mcp__oauth_step begin_grant(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    const mcp__record_grant *grant = mcp__oauth_revoking(c);
    if (!grant)
        return mcp__oauth_with_lock(c, MCP__STEP_FORGET);
    if (f->issuer.issuer.len && mcp_str_eq(grant->issuer, f->issuer.issuer))
        return MCP__STEP_DECIDE;
    mcp__issuer_clear(&f->issuer);
    memset(&f->issuer, 0, sizeof(f->issuer));
    f->tried = 0;
    f->queried_issuer = mcp__oauth_keep(c, grant->issuer); /* no URL if out of memory */
    return MCP__STEP_ISSUER;
}

mcp__oauth_step mcp__oauth_revoke_next(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    if (f->error.code && !f->unrevoked.code)
        f->unrevoked = f->error;
    mcp__no_error(&f->error);
    f->revoking++;
    return begin_grant(c);
}

int mcp__oauth_begin_logout(mcp_oauth_client *c)
{
    mcp_error why;
    bool known = mcp__oauth_load(c, true, &why) == MCP_OK;
    int rc = mcp__oauth_begin(c, MCP__WHY_LOGOUT, MCP__STEP_LOCK);
    if (rc < 0)
        return rc;
    c->flow.after = MCP__STEP_FORGET;
    if (known)
        c->timed = begin_grant(c);
    return MCP_OK;
}

/* The revocation endpoint is in the metadata of the issuer, which the flow reads first. */
static mcp__oauth_step begin_revoke(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    const mcp__record_grant *grant = mcp__oauth_revoking(c);
    mcp__buf form, authorization;
    if (!f->issuer.revocation.len || f->tried > 1)
        return mcp__oauth_revoke_next(c);
    if (!mcp__url_same_origin(f->issuer.token, f->issuer.revocation))
        return mcp__oauth_failed_with(c, MCP_EACCESS,
                                      "the tokens were not revoked, because %.*s is not on the "
                                      "host of the token endpoint",
                                      MCP__SHOWN(f->issuer.revocation, 100));
    /* Usually a refresh token is revoked together with its access tokens. */
    bool refresh = f->tried == 0;
    mcp_str token = refresh ? grant->refresh_token : grant->access_token;
    f->tried++;
    if (!token.len)
        return MCP__STEP_REVOKE;
    mcp__buf_init(&form, &c->allocator, 0);
    mcp__buf_init(&authorization, &c->allocator, 0);
    mcp__form_revoke(&form, token, refresh ? MCP_STR("refresh_token") : MCP_STR("access_token"));
    mcp_str url = mcp__oauth_keep(c, f->issuer.revocation);
    int rc = mcp__oauth_authenticate(c, &form, &authorization);
    mcp__buf_char(&form, '\0');
    if (authorization.len)
        mcp__buf_char(&authorization, '\0');
    if (rc == MCP_OK && (form.failed || authorization.failed || !url.len))
        rc = MCP_ENOMEM;
    mcp__oauth_step next =
        rc < 0 ? mcp__oauth_failed_with(c, rc, "the revocation: %s", mcp_error_text(rc))
               : mcp__oauth_send(c, &(mcp__oauth_request){.what = "revocation",
                                                          .url = url.ptr,
                                                          .form = form.ptr,
                                                          .authorization = authorization.len
                                                                               ? authorization.ptr
                                                                               : NULL});
    mcp__buf_wipe(&form);
    mcp__buf_wipe(&authorization);
    return next;
}

/* Returns whether the authorization server cannot revoke tokens of this type, such as access tokens
 * that are JWTs (RFC 7009, section 2.2.1). Nothing else can be done about them. */
static bool cannot_revoke(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    mcp_json_doc *doc = NULL;
    if (answer->status != 400 ||
        mcp_json_parse(answer->body, NULL, &c->allocator, &doc, NULL) != MCP_OK)
        return false;
    mcp_str code = mcp_json_string(mcp_json_get(mcp_json_root(doc), "error"));
    bool cannot = mcp_str_eq(code, MCP_STR("unsupported_token_type"));
    mcp_json_free(doc);
    return cannot;
}

static mcp__oauth_step answered_revoke(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    if (answer->rc < 0)
        mcp__oauth_unanswered(c, answer);
    else if (answer->status != 200 && !cannot_revoke(c, answer))
        mcp__oauth_failed_with(c, MCP_EREMOTE, "%.120s did not revoke the token (HTTP status %d)",
                               answer->url, answer->status);
    return MCP__STEP_REVOKE;
}

const mcp__oauth_work mcp__oauth_work_revoke = {begin_revoke, answered_revoke};

/* Replaces the record by one that has only the pins, or removes it if there are none. */
static int forget(mcp_oauth_client *c, mcp_error *error)
{
    mcp_error why = {0};
    mcp__buf text;
    mcp__buf_init(&text, &c->allocator, MCP__RECORD_BYTES);
    int rc = mcp__oauth_load(c, true, &why);
    if (rc == MCP_OK && c->record.n_pins)
        rc = mcp__oauth_fault_code(
            mcp__record_put(&text, &c->record, &(mcp__record_change){.logout = true}, &why));
    /* A record that cannot be read is removed too. */
    rc = rc == MCP_ENOMEM ? rc : MCP_OK;
    mcp__no_error(&why);
    if (rc == MCP_OK && c->store.save)
        rc = c->store.save(c->name, mcp__buf_view(&text), c->store.user, &why);
    if (rc < 0 && rc != MCP_ENOTFOUND) {
        mcp__buf_free(&text);
        return mcp__fail(error, rc, 0, "%s", why.text[0] ? why.text : mcp_error_text(rc));
    }
    mcp__oauth_use(c, NULL);
    mcp__buf_wipe(&c->text);
    c->unsaved = false;
    mcp__record_clear(&c->record);
    rc = mcp__oauth_fault_code(
        mcp__record_read(&c->record, mcp__buf_view(&text), &c->allocator, error));
    if (!c->store.save)
        mcp__buf_str(&c->text, mcp__buf_view(&text));
    mcp__buf_free(&text);
    return rc < 0 ? rc : c->text.failed;
}

static mcp__oauth_step begin_forget(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp_error why = {0};
    int rc = forget(c, &why);
    mcp__oauth_unlock(c);
    if (rc < 0)
        return mcp__oauth_failed_with(c, rc, "the stored login cannot be removed: %.180s",
                                      why.text[0] ? why.text : mcp_error_text(rc));
    mcp__prover_clear(&c->prover);
    memset(&c->prover, 0, sizeof(c->prover));
    mcp__buf_wipe(&c->prover_text);
    f->error = f->unrevoked;
    return f->error.code ? MCP__STEP_FAILED : MCP__STEP_DONE;
}

const mcp__oauth_work mcp__oauth_work_forget = {begin_forget, NULL};
