/* registration.c: which client this is for the authorization server (2026-07-28,
 * basic/authorization/client-registration). */
#include "auth/client/oauth_client.h"

/* ---- what is known --------------------------------------------------------------------------- */

/* Returns the registration that can be used again, or NULL. */
static const mcp__record_client *registered_before(const mcp_oauth_client *c)
{
    const mcp__oauth_flow *f = &c->flow;
    const mcp__record_client *r = mcp__record_find_client(&c->record, f->issuer.issuer);
    return r && (!r->secret_expires || r->secret_expires > mcp__oauth_seconds(c)) ? r : NULL;
}

/* Sets flow.self. The strings are copied, because the record is read again later. */
static int be(mcp_oauth_client *c, mcp_str id, mcp_str secret, bool registered)
{
    mcp__oauth_self *self = &c->flow.self;
    *self = (mcp__oauth_self){.id = mcp__oauth_keep(c, id),
                              .secret = mcp__oauth_keep(c, secret),
                              .registered = registered,
                              .known = true};
    if (c->key && !registered) {
        self->key = c->key;
        self->key_text = mcp_str_from(c->o.client_key);
    }
    return (id.len && !self->id.len) || (secret.len && !self->secret.len) ? MCP_ENOMEM : MCP_OK;
}

/* Returns the token in use, if the options of an earlier login have set its client; NULL if there is
 * none, or if that client has registered itself. */
static const mcp__record_grant *logged_in_as(const mcp_oauth_client *c)
{
    const mcp__record_grant *g = c->grant;
    if (!g || !g->client_id.len || !mcp_str_eq(g->issuer, c->flow.issuer.issuer))
        return NULL;
    const mcp__record_client *r = mcp__record_find_client(&c->record, g->issuer);
    return r && mcp_str_eq(r->id, g->client_id) ? NULL : g;
}

/* Takes the key of the client of an earlier login, if the options have none. One that cannot be read is as
 * none: the authorization server says what it wants. */
static int keep_key(mcp_oauth_client *c, mcp_str text)
{
    mcp__oauth_flow *f = &c->flow;
    if (!text.len || f->self.key)
        return MCP_OK;
    mcp__jwk_free(f->key);
    f->key = NULL;
    int rc = mcp__signing_key_read(&c->crypto, text, &c->allocator, &f->key, NULL);
    if (rc < 0)
        return rc == MCP_ENOMEM ? rc : MCP_OK;
    f->self.key = f->key;
    f->self.key_text = mcp__oauth_keep(c, text);
    return f->self.key_text.len ? MCP_OK : MCP_ENOMEM;
}

/* Becomes the client of the options of an earlier login. Its secret and key are used only where they were used
 * then. */
static int be_as_before(mcp_oauth_client *c, const mcp__record_grant *g)
{
    bool same = mcp_str_eq(g->token_endpoint, c->flow.issuer.token);
    int rc = be(c, g->client_id, same ? g->client_secret : (mcp_str){0}, false);
    return rc == MCP_OK && same ? keep_key(c, g->client_key) : rc;
}

static bool may_register(const mcp_oauth_client *c)
{
    return c->o.grant == MCP_OAUTH_CODE || c->o.grant == MCP_OAUTH_DEVICE;
}

int mcp__oauth_know_self(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    f->self = (mcp__oauth_self){0};
    if (c->o.client_id)
        return be(c, mcp_str_from(c->o.client_id), mcp_str_from(c->o.client_secret), false);
    if (!may_register(c))
        return be(c, (mcp_str){0}, (mcp_str){0}, false);
    if (c->o.client_metadata_url && f->issuer.reads_documents)
        return be(c, mcp_str_from(c->o.client_metadata_url), (mcp_str){0}, false);
    const mcp__record_grant *login = logged_in_as(c);
    if (login)
        return be_as_before(c, login);
    const mcp__record_client *before = registered_before(c);
    return before ? be(c, before->id, before->secret, true) : MCP_OK;
}

const mcp__record_client *mcp__oauth_own_client(const mcp_oauth_client *c)
{
    const mcp__oauth_flow *f = &c->flow;
    const mcp__record_client *r = mcp__record_find_client(&c->record, f->issuer.issuer);
    return f->self.registered && r && mcp_str_eq(r->id, f->self.id) ? r : NULL;
}

/* Returns whether the registered client cannot be expected to be accepted in another login. Many
 * authorization servers compare the redirect URI with its port, although RFC 8252 (section 7.3) asks
 * them not to. A client that is unknown there shows only as a page in the browser, after which nothing
 * comes back. */
static bool is_outdated(const mcp_oauth_client *c)
{
    const mcp__record_client *r = mcp__oauth_own_client(c);
    if (!r || c->flow.self.is_new || c->o.grant != MCP_OAUTH_CODE)
        return false;
    return r->tried || c->flow.unknown ||
           !mcp_str_eq(r->redirect_uri, mcp_str_from(c->o.redirect_uri));
}

int mcp__oauth_be_owner(mcp_oauth_client *c, const mcp__record_grant *grant)
{
    const mcp__record_client *r = mcp__record_find_client(&c->record, grant->issuer);
    mcp_str id = mcp_str_from(c->o.client_id), issuer = mcp_str_from(c->o.issuer);
    if (id.len && mcp_str_eq(id, grant->client_id) &&
        (!issuer.len || mcp_str_eq(issuer, grant->issuer)))
        return be(c, id, mcp_str_from(c->o.client_secret), false);
    if (r && mcp_str_eq(r->id, grant->client_id) &&
        (!r->secret.len || mcp_str_eq(r->token_endpoint, c->flow.issuer.token)))
        return be(c, r->id, r->secret, true);
    return be_as_before(c, grant);
}

bool mcp__oauth_keeps_self(const mcp_oauth_client *c)
{
    return may_register(c) && !c->flow.self.registered && !c->flow.self.is_new;
}

/* ---- REGISTER -------------------------------------------------------------------------------- */

mcp__oauth_step mcp__oauth_first_of_grant(const mcp_oauth_client *c)
{
    static const mcp__oauth_step steps[] = {
        [MCP_OAUTH_CODE] = MCP__STEP_AUTHORIZE,
        [MCP_OAUTH_DEVICE] = MCP__STEP_DEVICE,
        [MCP_OAUTH_CLIENT_CREDENTIALS] = MCP__STEP_GRANT,
        [MCP_OAUTH_ENTERPRISE] = MCP__STEP_EXCHANGE,
        [MCP_OAUTH_ASSERTION] = MCP__STEP_GRANT,
    };
    return steps[c->o.grant];
}

int mcp__oauth_choose_method(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp_str method = {0};
    f->self.method = MCP__METHOD_NONE;
    if (!f->self.id.len)
        return MCP_OK;
    if (f->self.is_new)
        method = f->registered.method;
    else if (f->self.registered) {
        const mcp__record_client *r = mcp__record_find_client(&c->record, f->issuer.issuer);
        method = r ? r->method : method;
    }
    return mcp__oauth_fault_code(
        mcp__auth_method_choose(f->issuer.methods, method, f->self.secret.len != 0,
                                f->self.key != NULL, &f->self.method, &f->error));
}

mcp_str mcp__oauth_resource(const mcp_oauth_client *c)
{
    return c->o.omit_resource ? (mcp_str){0} : c->flow.resource;
}

/* Asks the program before anything is left at the authorization server. */
static bool program_agrees(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp_str scope = mcp__oauth_keep(c, mcp__buf_view(&f->scope));
    mcp_str issuer = mcp__oauth_keep(c, f->issuer.issuer);
    mcp_oauth_visit visit = {.size = sizeof(visit),
                             .issuer = issuer.len ? issuer.ptr : "",
                             .scope = scope.len ? scope.ptr : ""};
    int rc = c->o.may_visit ? c->o.may_visit(c, &visit, c->o.user) : MCP_OK;
    if (rc >= 0)
        return true;
    mcp__oauth_failed_with(c, rc, "%.120s needs a login: %s", c->o.server, mcp_error_text(rc));
    return false;
}

/* Returns whether a person may be asked, if the grant needs one. Otherwise the client does not register
 * either. Requests of the client itself do not ask a person who has not completed the last login. */
static bool may_ask(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    bool person = c->o.grant == MCP_OAUTH_CODE || c->o.grant == MCP_OAUTH_DEVICE;
    if (!person || f->self.is_new || f->prompted)
        return true;
    if (c->o.visit && !f->quiet)
        return program_agrees(c);
    mcp__oauth_failed_with(c, MCP_EACCESS, "%.120s needs a login, and %s", c->o.server,
                           c->o.visit ? "the last one was not completed"
                                      : "there is no person who could be asked");
    return false;
}

/* Checks that the authorization server has what a login by a person needs, before the client leaves
 * anything there. */
static mcp__oauth_fault check_grant(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    if (c->o.grant == MCP_OAUTH_CODE)
        return mcp__issuer_check_code(
            &f->issuer, c->o.assume_pkce || (c->o.legacy_endpoints && !f->issuer.challenges),
            &f->error);
    if (c->o.grant == MCP_OAUTH_DEVICE)
        return mcp__issuer_check_device(&f->issuer, &f->error);
    return MCP__OAUTH_OK;
}

/* Goes on to the grant. */
static mcp__oauth_step proceed(mcp_oauth_client *c)
{
    if (mcp__oauth_choose_method(c) < 0 || mcp__oauth_prepare_proof(c) < 0)
        return MCP__STEP_FAILED;
    return mcp__oauth_first_of_grant(c);
}

static mcp__oauth_step scopes_failed(mcp_oauth_client *c)
{
    int rc = c->flow.scope.failed;
    if (rc == MCP_ELIMIT)
        return mcp__oauth_failed_with(c, rc, "there are more than %d scopes, or %d bytes of them",
                                      MCP__MOST_SCOPES, MCP__SCOPES_BYTES);
    return mcp__oauth_failed_with(c, rc, "the scopes: %s", mcp_error_text(rc));
}

static mcp__oauth_step begin_registration(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__buf json;
    if (f->scope.failed)
        return scopes_failed(c);
    if (!may_ask(c))
        return MCP__STEP_FAILED;
    mcp__oauth_fault fault = check_grant(c);
    if (fault != MCP__OAUTH_OK)
        return mcp__oauth_unless(c, fault, MCP__STEP_FAILED);
    if (f->self.known && !(is_outdated(c) && f->issuer.registration.len))
        return proceed(c);
    if (!f->issuer.registration.len)
        return mcp__oauth_unless(
            c, mcp__oauth_fail(&f->error, MCP__OAUTH_REGISTER_NONE, f->issuer.issuer, (mcp_str){0}),
            MCP__STEP_FAILED);
    mcp__registration client = {.name = mcp_str_from(c->o.client_name),
                                .uri = mcp_str_from(c->o.client_uri),
                                .scope = mcp__buf_view(&f->scope),
                                .method = mcp__registration_method(f->issuer.methods),
                                .device = c->o.grant == MCP_OAUTH_DEVICE};
    if (c->o.grant == MCP_OAUTH_CODE)
        client.redirect_uri = mcp_str_from(c->o.redirect_uri);
    mcp__buf_init(&json, &c->allocator, 0);
    int rc = mcp__registration_put(&json, &client);
    mcp__buf_char(&json, '\0');
    mcp_str url = mcp__oauth_keep(c, f->issuer.registration);
    mcp__oauth_step next =
        rc < 0 || json.failed || !url.len
            ? mcp__oauth_failed_with(c, rc < 0 ? rc : MCP_ENOMEM, "the registration: %s",
                                     mcp_error_text(rc < 0 ? rc : MCP_ENOMEM))
            : mcp__oauth_send(c, &(mcp__oauth_request){
                                     .what = "registration", .url = url.ptr, .json = json.ptr});
    mcp__buf_free(&json);
    return next;
}

static mcp__oauth_step answered_registration(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    mcp__oauth_flow *f = &c->flow;
    if (answer->rc < 0)
        return mcp__oauth_unanswered(c, answer);
    mcp__registered_clear(&f->registered);
    memset(&f->registered, 0, sizeof(f->registered));
    mcp__oauth_fault fault =
        mcp__registered_read(&f->registered, answer->status, answer->body,
                             mcp_str_from(answer->url), &c->allocator, &f->error);
    if (fault != MCP__OAUTH_OK)
        return mcp__oauth_unless(c, fault, MCP__STEP_FAILED);
    if (be(c, f->registered.id, f->registered.secret, true) < 0)
        return mcp__oauth_no_memory(c);
    f->self.is_new = true;
    /* The client before may have a token in use, so it is replaced together with the token. */
    return mcp__record_find_client(&c->record, f->issuer.issuer)
               ? MCP__STEP_REGISTER
               : mcp__oauth_save(c, MCP__SAVE_CLIENT, MCP__STEP_REGISTER);
}

const mcp__oauth_work mcp__oauth_work_registration = {begin_registration, answered_registration};
