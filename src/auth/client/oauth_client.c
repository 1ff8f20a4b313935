/* oauth_client.c: the OAuth client object (mcp/oauth.h), and the calls of the program. */
#include "auth/client/oauth_client.h"

/* ---- helpers --------------------------------------------------------------------------------- */

int64_t mcp__oauth_seconds(const mcp_oauth_client *c)
{
    return c->host.wall(c->host.user) / 1000;
}

int mcp__oauth_random(mcp_oauth_client *c, void *to, size_t len)
{
    return c->host.random(to, len, c->host.user);
}

mcp_str mcp__oauth_keep(mcp_oauth_client *c, mcp_str text)
{
    char *copy = text.len ? mcp__arena_strdup(&c->flow.texts, text) : NULL;
    return (mcp_str){copy, copy ? text.len : 0};
}

/* ---- the object ------------------------------------------------------------------------------ */

int mcp_oauth_client_new(const mcp_oauth_client_options *options, mcp_oauth_client **ret,
                         mcp_error *error)
{
    mcp_oauth_client_options given;
    mcp__no_error(error);
    if (!ret)
        return mcp__fail(error, MCP_EINVAL, 0, "ret is needed");
    int rc = MCP__TAKE(&given, options, mcp_oauth_client_options, error);
    if (rc < 0)
        return rc;
    const mcp_allocator *a = mcp__allocator(given.allocator);
    mcp_oauth_client *c = mcp__zalloc(a, sizeof(*c));
    if (!c)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for an OAuth client");
    c->allocator = *a;
    mcp__arena_init(&c->texts, &c->allocator, NULL, 0);
    mcp__arena_init(&c->shown, &c->allocator, NULL, 0);
    mcp__buf_init(&c->text, &c->allocator, 0);
    mcp__buf_init(&c->token, &c->allocator, 0);
    mcp__buf_init(&c->prover_text, &c->allocator, 0);
    mcp__buf_init(&c->server_nonce, &c->allocator, 0);
    mcp__buf_init(&c->missed, &c->allocator, 0);
    mcp__buf_init(&c->issuer_nonce, &c->allocator, 0);
    mcp__list_init(&c->transports);
    mcp__list_init(&c->logins);
    mcp__list_init(&c->logouts);
    rc = mcp__crypto_load(&c->crypto, error);
    if (rc == MCP_OK)
        rc = mcp__oauth_read_options(c, &given, error);
    if (rc < 0) {
        mcp_oauth_client_free(c);
        return rc;
    }
    *ret = c;
    return MCP_OK;
}

static void free_calls(mcp_oauth_client *c, mcp__link *list)
{
    while (!mcp__list_empty(list)) {
        mcp__oauth_call *call = mcp__container(list->next, mcp__oauth_call, link);
        mcp__list_remove(&call->link);
        mcp__release(&c->allocator, call);
    }
}

void mcp_oauth_client_free(mcp_oauth_client *client)
{
    if (!client)
        return;
    mcp_oauth_client *c = client;
    mcp_allocator a = c->allocator;
    mcp__oauth_drop(c);
    free_calls(c, &c->logins);
    free_calls(c, &c->logouts);
    while (!mcp__list_empty(&c->transports))
        mcp__list_remove(c->transports.next);
    mcp__record_clear(&c->record);
    mcp__prover_clear(&c->prover);
    mcp__jwk_free(c->key);
    mcp__release(&a, c->url);
    mcp__buf *secrets[] = {&c->text, &c->token, &c->prover_text, &c->server_nonce,
                           &c->issuer_nonce};
    for (size_t i = 0; i < MCP__COUNT(secrets); i++)
        mcp__buf_wipe(secrets[i]);
    mcp__buf_free(&c->missed);
    mcp__arena_free(&c->shown);
    mcp__arena_wipe(&c->texts); /* with client_secret */
    mcp__release(&a, c);
}

/* ---- login and logout ------------------------------------------------------------------------ */

static mcp__oauth_call *add_call(mcp_oauth_client *c, mcp__link *list, mcp_oauth_done_fn *done,
                                 void *user)
{
    mcp__oauth_call *call = mcp__zalloc(&c->allocator, sizeof(*call));
    if (!call)
        return NULL;
    call->done = done;
    call->user = user;
    mcp__list_append(list, &call->link);
    return call;
}

static int drop_call(mcp_oauth_client *c, mcp__oauth_call *call)
{
    mcp__list_remove(&call->link);
    mcp__release(&c->allocator, call);
    return MCP_ENOMEM;
}

int mcp_oauth_client_login(mcp_oauth_client *client, mcp_oauth_done_fn *done, void *user)
{
    mcp_oauth_client *c = client;
    if (!c || !done)
        return MCP_EINVAL;
    mcp__oauth_call *call = add_call(c, &c->logins, done, user);
    if (!call)
        return MCP_ENOMEM;
    c->flow.quiet = false;
    if (c->flow.active)
        return MCP_OK;
    c->unproven = 0;
    return mcp__oauth_begin(c, MCP__WHY_LOGIN, MCP__STEP_PROBE) < 0 ? drop_call(c, call) : MCP_OK;
}

int mcp_oauth_client_logout(mcp_oauth_client *client, mcp_oauth_done_fn *done, void *user)
{
    mcp_oauth_client *c = client;
    if (!c || !done)
        return MCP_EINVAL;
    mcp__oauth_call *call = add_call(c, &c->logouts, done, user);
    if (!call)
        return MCP_ENOMEM;
    if (c->flow.active && c->flow.why == MCP__WHY_LOGOUT)
        return MCP_OK;
    if (c->flow.active) { /* it ends soon, and the logout begins then */
        if (mcp__oauth_later(c, 0, MCP__STEP_ABORT) < 0)
            return drop_call(c, call);
        mcp__oauth_failed_with(c, MCP_ECANCELLED, "a logout ended the authorization");
        c->flow.ending = true;
        if (c->fetch)
            c->host.fetch_cancel(c->fetch, c->host.user);
        c->fetch = NULL;
        return MCP_OK;
    }
    return mcp__oauth_begin_logout(c) < 0 ? drop_call(c, call) : MCP_OK;
}

/* ---- state ----------------------------------------------------------------------------------- */

/* Returns the string with a NUL at its end, which the strings of a record do not have. */
static const char *text_of(mcp_oauth_client *c, mcp_str text)
{
    const char *copy = mcp__arena_strdup(&c->shown, text);
    return copy ? copy : "";
}

/* Returns the registered client at the issuer of the grant, or without one, the newest. */
static const mcp__record_client *registration_of(const mcp_oauth_client *c,
                                                 const mcp__record_grant *g)
{
    mcp_str issuer = g->issuer.len ? g->issuer : mcp_str_from(c->o.issuer);
    if (c->o.client_id || !c->record.n_clients)
        return NULL;
    return issuer.len ? mcp__record_find_client(&c->record, issuer) : &c->record.clients[0];
}

int mcp_oauth_client_get_state(mcp_oauth_client *client, mcp_oauth_state *ret, mcp_error *error)
{
    mcp_oauth_client *c = client;
    mcp__no_error(error);
    if (!c || !ret || !ret->size)
        return mcp__fail(error, MCP_EINVAL, 0, "a client and a struct with its size are needed");
    int rc = mcp__oauth_load(c, false, error);
    if (rc < 0)
        return rc;
    static const mcp__record_grant none;
    static const mcp__record_client nobody;
    const mcp__record_grant *g = c->grant ? c->grant : &none;
    const mcp__record_client *r = registration_of(c, g);
    if (!r)
        r = &nobody;
    mcp__arena_free(&c->shown);
    mcp__arena_init(&c->shown, &c->allocator, NULL, 0);
    mcp_oauth_state state = {
        .size = ret->size,
        .issuer = text_of(c, g->issuer.len ? g->issuer : r->issuer),
        .client_id = text_of(c, g->issuer.len ? g->client_id : r->id),
        .resource = text_of(c, g->resource),
        .scope = text_of(c, g->scope),
        .expires = g->expires * 1000,
        .why = c->failure.text,
        .failed = c->failure.code,
        .has_token = g->access_token.len != 0,
        .can_refresh = g->refresh_token.len != 0,
        .is_bound = g->dpop,
        .in_progress = c->flow.active,
        .redirect_uri = text_of(c, g->redirect_uri.len ? g->redirect_uri : r->redirect_uri)};
    memcpy(ret, &state, MCP__MIN(ret->size, sizeof(state)));
    return MCP_OK;
}
