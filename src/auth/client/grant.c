/* grant.c: grants without a person: client credentials, assertions of the platform, and the ID-JAG
 * of an enterprise's identity provider (extensions io.modelcontextprotocol/oauth-client-credentials
 * and io.modelcontextprotocol/enterprise-managed-authorization). */
#include "auth/client/oauth_client.h"

#define PROFILE_ID_JAG "urn:ietf:params:oauth:grant-profile:id-jag"

enum { MOST_ASSERTION = 64 << 10 };

static void give(void *arg, mcp_str jwt)
{
    mcp__buf *to = arg;
    mcp__buf_wipe(to);
    mcp__buf_str(to, jwt);
}

/* Gets the assertion of the program, without white space around it. */
static int get_assertion(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp_error why = {0};
    mcp__buf_wipe(&f->assertion);
    mcp__buf_init(&f->assertion, &c->allocator, MOST_ASSERTION);
    int rc = c->o.assertion(c, give, &f->assertion, c->o.user, &why);
    if (rc >= 0)
        rc = f->assertion.failed;
    while (f->assertion.len && (unsigned char)f->assertion.ptr[f->assertion.len - 1] <= ' ')
        f->assertion.len--;
    if (rc == MCP_OK && !f->assertion.len)
        rc = MCP_ENOTFOUND;
    if (rc < 0)
        mcp__oauth_failed_with(c, rc, "no assertion: %.200s",
                               why.text[0] ? why.text : mcp_error_text(rc));
    return rc;
}

/* ---- EXCHANGE -------------------------------------------------------------------------------- */

static int put_exchange(mcp_oauth_client *c, mcp__buf *form, mcp__buf *authorization)
{
    mcp__oauth_flow *f = &c->flow;
    mcp_str secret = mcp_str_from(c->o.idp_client_secret);
    mcp__oauth_client_id client = {.id = mcp_str_from(c->o.idp_client_id),
                                   .method = secret.len ? MCP__METHOD_BASIC : MCP__METHOD_NONE,
                                   .secret = secret};
    mcp__form_exchange(form, mcp__buf_view(&f->assertion), f->issuer.issuer,
                       mcp__buf_view(&f->scope), f->resource);
    int rc = mcp__client_auth_put(form, authorization, &client);
    mcp__buf_char(form, '\0');
    if (authorization->len)
        mcp__buf_char(authorization, '\0');
    return rc < 0 ? rc : form->failed ? form->failed : authorization->failed;
}

static mcp__oauth_step begin_exchange(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__buf form, authorization;
    if (f->issuer.profiles && !mcp__json_lists(f->issuer.profiles, MCP_STR(PROFILE_ID_JAG)))
        return mcp__oauth_unless(c,
                                 mcp__oauth_fail(&f->error, MCP__OAUTH_METADATA_GRANT,
                                                 MCP_STR(PROFILE_ID_JAG), f->issuer.issuer),
                                 MCP__STEP_FAILED);
    if (get_assertion(c) < 0)
        return MCP__STEP_FAILED;
    mcp__buf_init(&form, &c->allocator, 0);
    mcp__buf_init(&authorization, &c->allocator, 0);
    int rc = put_exchange(c, &form, &authorization);
    mcp__oauth_step next =
        rc < 0 ? mcp__oauth_failed_with(c, rc, "the exchange: %s", mcp_error_text(rc))
               : mcp__oauth_send(c, &(mcp__oauth_request){.what = "exchange",
                                                          .url = c->o.idp_token_endpoint,
                                                          .form = form.ptr,
                                                          .authorization = authorization.len
                                                                               ? authorization.ptr
                                                                               : NULL});
    mcp__buf_wipe(&form);
    mcp__buf_wipe(&authorization);
    return next;
}

static mcp__oauth_step answered_exchange(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    mcp__oauth_flow *f = &c->flow;
    if (answer->rc < 0)
        return mcp__oauth_unanswered(c, answer);
    mcp__token_answer_clear(&f->token);
    memset(&f->token, 0, sizeof(f->token));
    mcp__oauth_fault fault =
        mcp__token_answer_read(&f->token, answer->status, answer->body, mcp_str_from(answer->url),
                               MCP__WANT_ID_JAG, &c->allocator, &f->error);
    if (fault != MCP__OAUTH_OK)
        return mcp__oauth_unless(c, fault, MCP__STEP_FAILED);
    give(&f->assertion, f->token.access_token);
    return f->assertion.failed ? mcp__oauth_no_memory(c) : MCP__STEP_GRANT;
}

const mcp__oauth_work mcp__oauth_work_exchange = {begin_exchange, answered_exchange};

/* ---- GRANT ----------------------------------------------------------------------------------- */

static mcp__oauth_step begin_grant(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    bool credentials = c->o.grant == MCP_OAUTH_CLIENT_CREDENTIALS;
    mcp__buf form;
    mcp__oauth_fault fault = mcp__issuer_check_grant(
        &f->issuer, credentials ? MCP_STR(MCP__GRANT_CREDENTIALS) : MCP_STR(MCP__GRANT_ASSERTION),
        &f->error);
    if (fault != MCP__OAUTH_OK)
        return mcp__oauth_unless(c, fault, MCP__STEP_FAILED);
    mcp__oauth_step pinned = mcp__oauth_pin(c, MCP__STEP_GRANT);
    if (pinned != MCP__STEP_GRANT)
        return pinned;
    if (c->o.grant == MCP_OAUTH_ASSERTION && get_assertion(c) < 0)
        return MCP__STEP_FAILED;
    mcp__buf_init(&form, &c->allocator, 0);
    if (credentials)
        mcp__form_credentials(&form, mcp__buf_view(&f->scope), mcp__oauth_resource(c));
    else
        mcp__form_assertion(&form, mcp__buf_view(&f->assertion), mcp__buf_view(&f->scope),
                            mcp__oauth_resource(c));
    return mcp__oauth_ask_token(c, &form, "token", false);
}

const mcp__oauth_work mcp__oauth_work_grant = {begin_grant, mcp__oauth_take_token};
