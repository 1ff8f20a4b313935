/* code_grant.c: the authorization code flow: a page for a person, and the redirect at its end
 * (2026-07-28, basic/authorization, "Authorization Flow Steps"). */
#include "auth/client/oauth_client.h"

/* ---- visits ---------------------------------------------------------------------------------- */

void mcp__oauth_visited(mcp_oauth_client *c)
{
    if (!c->flow.visiting)
        return;
    c->flow.visiting = false;
    if (c->o.visit_end)
        c->o.visit_end(c, c->o.user);
}

/* Returns whether a URL can be passed to a browser. */
static bool may_open(const mcp_oauth_client *c, mcp_str url)
{
    for (size_t i = 0; i < url.len; i++) {
        if (url.ptr[i] <= ' ' || url.ptr[i] > '~')
            return false;
    }
    return mcp__oauth_url(url, c->loopback);
}

mcp__oauth_step mcp__oauth_visit_page(mcp_oauth_client *c, mcp_oauth_visit *visit,
                                      mcp__oauth_step late)
{
    mcp__oauth_flow *f = &c->flow;
    if (!may_open(c, mcp_str_from(visit->url)) ||
        (visit->complete_url && !may_open(c, mcp_str_from(visit->complete_url))))
        return mcp__oauth_failed_with(c, MCP_EACCESS,
                                      "the page of the authorization server is not an https URL");
    mcp__oauth_trace_text(c, "authorization", visit->url, "a person is asked");
    f->visiting = f->prompted = true;
    /* The time-out comes first, because `visit` may answer at once. */
    if (late && mcp__oauth_later(c, visit->valid_ms, late) < 0)
        return mcp__oauth_no_memory(c);
    int rc = c->o.visit(c, visit, c->o.user);
    if (rc >= 0)
        return MCP__STEP_WAIT;
    return mcp__oauth_failed_with(c, rc, "the page could not be opened: %s", mcp_error_text(rc));
}

void mcp_oauth_client_declined(mcp_oauth_client *client, int rc, const char *text)
{
    if (!client || !client->flow.visiting || client->flow.ending)
        return;
    rc = rc < 0 ? rc : MCP_EACCESS;
    client->flow.declined = true;
    mcp__oauth_failed_with(client, rc, "%s", text && *text ? text : "the login was declined");
    if (mcp__oauth_later(client, 0, MCP__STEP_ABORT) < 0)
        client->timed = MCP__STEP_ABORT; /* at the time-out of the visit */
}

/* ---- AUTHORIZE ------------------------------------------------------------------------------- */

static int make_secrets(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    unsigned char random[2][MCP__RANDOM];
    int rc = mcp__oauth_random(c, random, sizeof(random));
    if (rc == MCP_OK && !mcp__pkce_make(&c->crypto, random[0], &f->pkce))
        rc = MCP_EIO;
    if (rc == MCP_OK)
        mcp__random_text(random[1], f->state);
    mcp__wipe(random, sizeof(random));
    return rc;
}

/* Makes the URL of the page, with a new state. Returns MCP_OK or a negative code. */
static int put_page(mcp_oauth_client *c, mcp__buf *url)
{
    mcp__oauth_flow *f = &c->flow;
    int rc = make_secrets(c);
    mcp__authorize request = {.endpoint = f->issuer.authorization,
                              .client_id = f->self.id,
                              .redirect_uri = mcp_str_from(c->o.redirect_uri),
                              .state = mcp_str_from(f->state),
                              .challenge = mcp_str_from(f->pkce.challenge),
                              .scope = mcp__buf_view(&f->scope),
                              .resource = mcp__oauth_resource(c)};
    if (f->dpop)
        request.dpop_jkt = (mcp_str){c->prover.key->thumbprint, MCP__SHA256_TEXT};
    if (rc == MCP_OK)
        rc = mcp__authorize_put(url, &request);
    mcp__buf_char(url, '\0');
    return rc < 0 ? rc : url->failed ? MCP_ENOMEM : MCP_OK;
}

static mcp__oauth_step no_page(mcp_oauth_client *c, int rc)
{
    return mcp__oauth_failed_with(c, rc, "the authorization request: %s", mcp_error_text(rc));
}

static mcp__oauth_step begin_authorize(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__buf url;
    const mcp__record_client *client = mcp__oauth_own_client(c);
    if (client && !f->self.is_new && !f->recognizing)
        return MCP__STEP_RECOGNIZE;
    if (client && !client->tried && !f->self.is_new)
        return mcp__oauth_save(c, MCP__SAVE_TRIED, MCP__STEP_AUTHORIZE);
    mcp__buf_wipe(&f->code);
    mcp__buf_init(&url, &c->allocator, 0);
    int rc = put_page(c, &url);
    mcp_str scope = mcp__oauth_keep(c, mcp__buf_view(&f->scope));
    mcp_str issuer = mcp__oauth_keep(c, f->issuer.issuer);
    if (rc == MCP_OK && !issuer.len)
        rc = MCP_ENOMEM;
    mcp_oauth_visit visit = {.size = sizeof(visit),
                             .url = url.ptr,
                             .redirect_uri = c->o.redirect_uri,
                             .issuer = issuer.ptr,
                             .scope = scope.len ? scope.ptr : "",
                             .valid_ms = c->o.visit_ms};
    mcp__oauth_step next =
        rc < 0 ? no_page(c, rc) : mcp__oauth_visit_page(c, &visit, MCP__STEP_LATE);
    mcp__buf_free(&url);
    return next;
}

const mcp__oauth_work mcp__oauth_work_authorize = {begin_authorize, NULL};

/* ---- RECOGNIZE ------------------------------------------------------------------------------- */

/* An authorization server that has forgotten a client, or its redirect URI, shows that only to the person,
 * whom it must not send back (RFC 6749, section 4.1.2.1), so the login would wait for nothing. The page is
 * therefore asked for once without a person, if the client has registered earlier. What that request
 * begins at the authorization server is never finished. */
static mcp__oauth_step begin_recognize(mcp_oauth_client *c)
{
    mcp__buf url;
    c->flow.recognizing = true;
    mcp__buf_init(&url, &c->allocator, 0);
    int rc = put_page(c, &url);
    mcp__oauth_step next =
        rc < 0 ? no_page(c, rc)
               : mcp__oauth_send(c, &(mcp__oauth_request){.what = "authorization",
                                                          .url = url.ptr,
                                                          .accept = "text/html, */*",
                                                          .stay = true});
    mcp__buf_free(&url);
    return next;
}

/* Whatever else the answer is, the browser may get another one. */
static mcp__oauth_step answered_recognize(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    static const int refusals[] = {400, 401, 403};
    mcp__oauth_flow *f = &c->flow;
    for (size_t i = 0; i < MCP__COUNT(refusals); i++)
        f->unknown = f->unknown || (answer->rc == MCP_OK && answer->status == refusals[i]);
    return f->unknown ? MCP__STEP_REGISTER : MCP__STEP_AUTHORIZE;
}

const mcp__oauth_work mcp__oauth_work_recognize = {begin_recognize, answered_recognize};

static mcp__oauth_step begin_late(mcp_oauth_client *c)
{
    return mcp__oauth_failed_with(c, MCP_ETIMEOUT, "the login was not completed in time");
}

const mcp__oauth_work mcp__oauth_work_late = {begin_late, NULL};

/* ---- the redirect ---------------------------------------------------------------------------- */

/* Returns whether the redirect does not belong to the visit, which then goes on. Only a redirect that
 * could have been sent by the authorization server ends it. */
static bool is_foreign(mcp__oauth_fault fault)
{
    return fault == MCP__OAUTH_REDIRECT_FORM || fault == MCP__OAUTH_REDIRECT_ELSEWHERE ||
           fault == MCP__OAUTH_REDIRECT_STATE;
}

int mcp_oauth_client_redirected(mcp_oauth_client *client, mcp_str url, mcp_error *error)
{
    mcp__no_error(error);
    if (!client || !client->flow.visiting || client->flow.ending ||
        client->flow.step != MCP__STEP_AUTHORIZE)
        return mcp__fail(error, MCP_ESTATE, 0, "no redirect is expected");
    mcp__oauth_flow *f = &client->flow;
    mcp__redirect redirect;
    mcp__redirect_rules rules = {.redirect_uri = mcp_str_from(client->o.redirect_uri),
                                 .state = mcp_str_from(f->state),
                                 .issuer = f->issuer.issuer,
                                 .names_itself = f->issuer.names_itself};
    if (f->code.len)
        return mcp__fail(error, MCP_ESTATE, 0, "the redirect has arrived before");
    mcp_error why = {0};
    mcp__oauth_fault fault = mcp__redirect_read(&redirect, url, &rules, &client->allocator, &why);
    int rc = mcp__oauth_fault_code(fault);
    if (is_foreign(fault)) {
        rc = mcp__fail(error, MCP_EPARSE, 0, "%s", why.text);
    } else {
        mcp__oauth_step next = MCP__STEP_ABORT;
        if (fault == MCP__OAUTH_OK) {
            mcp__buf_str(&f->code, redirect.code);
            next = f->code.failed ? MCP__STEP_ABORT : MCP__STEP_CODE;
            if (f->code.failed)
                mcp__oauth_no_memory(client);
        } else {
            f->error = why;
            f->error.code = rc;
        }
        mcp__oauth_trace_text(client, "redirect", NULL,
                              next == MCP__STEP_CODE ? "a code" : f->error.text);
        if (mcp__oauth_later(client, 0, next) < 0)
            client->timed = next; /* at the time-out of the visit */
        rc = MCP_OK;
    }
    mcp__redirect_clear(&redirect);
    return rc;
}

/* ---- CODE ------------------------------------------------------------------------------------ */

static mcp__oauth_step begin_code(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__buf form;
    mcp__oauth_visited(c);
    mcp__oauth_step pinned = mcp__oauth_pin(c, MCP__STEP_CODE);
    if (pinned != MCP__STEP_CODE)
        return pinned;
    mcp__buf_init(&form, &c->allocator, 0);
    mcp__form_code(&form, mcp__buf_view(&f->code), mcp_str_from(c->o.redirect_uri),
                   mcp_str_from(f->pkce.verifier), mcp__oauth_resource(c));
    return mcp__oauth_ask_token(c, &form, "token", false);
}

const mcp__oauth_work mcp__oauth_work_code = {begin_code, mcp__oauth_take_token};
