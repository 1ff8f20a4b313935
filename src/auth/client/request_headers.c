/* request_headers.c: the requests of transports: their headers, and what happens after 401 and
 * 403. */
#include "auth/client/oauth_client.h"
#include "protocol/scope.h"
#include "uri/uri.h"

enum {
    MOST_UNPROVEN = 3,    /* authorizations of which none helped */
    MOST_NONCES = 2,      /* repetitions of a request because of a nonce */
    SETTLED_MS = 3600000, /* after this time, any accepted request shows that the last one helped */
};

void mcp__oauth_join(mcp_oauth_client *client, mcp__oauth_transport *transport)
{
    mcp__list_append(&client->transports, &transport->link);
}

void mcp__oauth_part(mcp__oauth_transport *transport)
{
    if (transport->link.next)
        mcp__list_remove(&transport->link);
}

const char *mcp__oauth_server(const mcp_oauth_client *client)
{
    return client->o.server;
}

const char *const *mcp__oauth_extensions(const mcp_oauth_client *client, size_t *n)
{
    static const char *const credentials[] = {"io.modelcontextprotocol/oauth-client-credentials"};
    static const char *const enterprise[] = {
        "io.modelcontextprotocol/enterprise-managed-authorization"};
    static const char *const wif[] = {"io.modelcontextprotocol/auth/wif"};
    static const char *const *const of_grant[] = {
        [MCP_OAUTH_CODE] = NULL,
        [MCP_OAUTH_DEVICE] = NULL,
        [MCP_OAUTH_CLIENT_CREDENTIALS] = credentials,
        [MCP_OAUTH_ENTERPRISE] = enterprise,
        [MCP_OAUTH_ASSERTION] = wif,
    };
    const char *const *list = of_grant[client->o.grant];
    *n = list ? 1 : 0;
    return list;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int put_token(mcp_oauth_client *c, const char *method, const char *url,
                     int (*add)(mcp_str name, mcp_str value, void *arg), void *arg)
{
    mcp__buf value, proof;
    bool dpop = c->grant->dpop;
    mcp__buf_init(&value, &c->allocator, 0);
    mcp__buf_init(&proof, &c->allocator, 0);
    mcp__buf_str(&value, dpop ? MCP_STR("DPoP ") : MCP_STR("Bearer "));
    mcp__buf_str(&value, c->grant->access_token);
    int rc =
        value.failed ? value.failed : add(MCP_STR("Authorization"), mcp__buf_view(&value), arg);
    if (rc >= 0 && dpop)
        rc = mcp__oauth_use_key(c, c->grant->dpop_key, NULL);
    if (rc >= 0 && dpop)
        rc = mcp__oauth_prove(c, &proof, method, mcp_str_from(url), c->grant->access_token,
                              mcp__buf_view(&c->server_nonce));
    if (rc >= 0 && dpop)
        rc = proof.failed ? proof.failed : add(MCP_STR("DPoP"), mcp__buf_view(&proof), arg);
    mcp__buf_wipe(&value);
    mcp__buf_free(&proof);
    return rc;
}

int mcp__oauth_put(mcp_oauth_client *client, const char *method, const char *url,
                   int (*add)(mcp_str name, mcp_str value, void *arg), void *arg,
                   mcp__oauth_sent *sent, mcp_error *error)
{
    sent->generation = 0;
    sent->failures = client->failures;
    sent->step_ups = client->step_ups;
    if (!mcp__url_same_origin(mcp_str_from(client->o.server), mcp_str_from(url)))
        return MCP_OK;
    int rc = mcp__oauth_load(client, false, error);
    if (rc < 0 || !client->generation)
        return rc;
    sent->generation = client->generation;
    rc = put_token(client, method, url, add, arg);
    return rc < 0 ? mcp__fail(error, rc, 0, "no access token can be sent: %s", mcp_error_text(rc))
                  : MCP_OK;
}

/* An authorization helped if a request that was refused before is accepted. Others may be accepted
 * with any token, or without one. */
static void accepted(mcp_oauth_client *c, mcp__oauth_sent *sent)
{
    if (sent->generation && sent->generation == c->generation) {
        c->renewed = false;
        if (sent->refused || c->host.now(c->host.user) - c->authorized >= SETTLED_MS)
            c->unproven = 0;
    }
    sent->refused = false;
    sent->nonces = 0;
}

void mcp__oauth_heard(mcp_oauth_client *client, mcp__oauth_sent *sent, int status, mcp_str nonce)
{
    if (nonce.len) {
        mcp__buf_reset(&client->server_nonce, 0);
        mcp__buf_str(&client->server_nonce, nonce);
    }
    if (status >= 200 && status < 300)
        accepted(client, sent);
}

/* ---- challenges ------------------------------------------------------------------------------ */

/* Bounds the work with lists of scopes, which is quadratic. */
static bool too_many(mcp_str list)
{
    mcp_str scope;
    for (size_t n = 0; mcp__scope_next(&list, &scope); n++) {
        if (n == MCP__MOST_SCOPES)
            return true;
    }
    return false;
}

void mcp__oauth_add_scopes(mcp__buf *to, mcp_str list)
{
    mcp_str scope;
    if (too_many(list))
        to->failed = MCP_ELIMIT;
    while (!to->failed && mcp__scope_next(&list, &scope)) {
        if (mcp__scopes_cover(mcp__buf_view(to), scope, NULL, 0))
            continue;
        if (to->len)
            mcp__buf_char(to, ' ');
        mcp__buf_str(to, scope);
    }
    if (!to->failed && too_many(mcp__buf_view(to)))
        to->failed = MCP_ELIMIT;
}

int mcp__oauth_take_challenge(mcp_oauth_client *c, mcp_str www_authenticate)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__www www;
    mcp__www_wants wants;
    int rc = mcp__www_read(&www, www_authenticate, &c->allocator);
    if (rc != MCP_ENOMEM) {
        mcp__www_asked(&www, c->o.dpop, &wants);
        f->metadata_url = mcp__oauth_keep(c, wants.metadata_url);
        f->wanted = mcp__oauth_keep(c, wants.scope);
        f->challenged_dpop = wants.dpop && !wants.bearer;
        if ((wants.metadata_url.len && !f->metadata_url.len) || (wants.scope.len && !f->wanted.len))
            rc = MCP_ENOMEM;
    }
    mcp__www_clear(&www);
    return rc == MCP_ENOMEM ? rc : MCP_OK;
}

/* Returns whether an authorization has failed since the request was sent. One for more scopes says
 * nothing about the renewal of a token. */
static bool failed_since(const mcp_oauth_client *c, mcp__oauth_why why, const mcp__oauth_sent *sent)
{
    return sent->failures != c->failures ||
           (why == MCP__WHY_STEP_UP && sent->step_ups != c->step_ups);
}

/* Begins a flow for a challenge, unless one is in progress. Requests whose refusal arrives after an
 * authorization has failed, fail with it: a person who has said no is not asked for each of them. */
static int begin(mcp_oauth_client *c, mcp__oauth_why why, const mcp__oauth_sent *sent,
                 mcp_str www_authenticate, mcp_error *error)
{
    bool quiet = sent->background && c->in_vain;
    if (c->flow.active) {
        c->flow.quiet = c->flow.quiet && quiet;
        return MCP_PENDING;
    }
    if (failed_since(c, why, sent) && c->failure.code)
        return mcp__fail(error, c->failure.code, 0, "%s", c->failure.text);
    if (c->unproven >= MOST_UNPROVEN)
        return mcp__fail(error, MCP_EACCESS, 0,
                         "%.120s does not accept the tokens of %d authorizations", c->o.server,
                         MOST_UNPROVEN);
    int rc = mcp__oauth_begin(c, why, MCP__STEP_RESOURCE);
    c->flow.quiet = quiet;
    if (rc == MCP_OK)
        rc = mcp__oauth_take_challenge(c, www_authenticate);
    if (rc < 0) {
        mcp__oauth_drop(c);
        return mcp__fail(error, rc, 0, "no memory for an authorization");
    }
    return MCP_PENDING;
}

/* Returns whether all scopes of the challenge were asked for before, so that asking again is
 * useless. */
static bool nothing_new(const mcp_oauth_client *c, mcp_str wanted)
{
    if (too_many(wanted))
        return false; /* the authorization fails */
    return !wanted.len || (c->grant && (mcp__scopes_cover(c->grant->requested, wanted, NULL, 0) ||
                                        mcp__scopes_cover(c->grant->scope, wanted, NULL, 0)));
}

static int forbidden(mcp_oauth_client *c, const mcp__www_wants *wants, const mcp__oauth_sent *sent,
                     mcp_str www_authenticate, mcp_error *error)
{
    if (!mcp__str_same(wants->error, MCP_STR("insufficient_scope")) || !c->generation)
        return MCP_EUNSUPPORTED;
    if (nothing_new(c, wants->scope))
        return mcp__fail(error, MCP_EACCESS, 0,
                         "the server refuses this (insufficient_scope), although the scopes were "
                         "asked for: %.*s",
                         MCP__SHOWN(wants->scope, 120));
    return begin(c, MCP__WHY_STEP_UP, sent, www_authenticate, error);
}

int mcp__oauth_refused(mcp_oauth_client *client, int status, mcp_str www_authenticate,
                       mcp_str nonce, mcp__oauth_sent *sent, mcp_error *error)
{
    mcp__www www;
    mcp__www_wants wants;
    int rc;
    mcp__no_error(error);
    if (sent->generation != client->generation && client->generation) {
        sent->refused = true;
        return MCP_OK;
    }
    if (mcp__www_read(&www, www_authenticate, &client->allocator) == MCP_ENOMEM) {
        mcp__www_clear(&www);
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for an authorization");
    }
    mcp__www_asked(&www, true, &wants);
    if (status == 401 && sent->generation &&
        mcp__str_same(wants.error, MCP_STR("use_dpop_nonce"))) {
        /* This is no reason for another authorization. */
        rc = nonce.len && sent->nonces++ < MOST_NONCES
                 ? MCP_OK
                 : mcp__fail(error, MCP_EACCESS, 0,
                             "%.120s asks for a DPoP nonce (use_dpop_nonce) and accepts none",
                             client->o.server);
    } else if (status == 401) {
        sent->refused = true;
        rc = begin(client, MCP__WHY_REFUSED, sent, www_authenticate, error);
    } else {
        sent->refused = true;
        rc = forbidden(client, &wants, sent, www_authenticate, error);
    }
    mcp__www_clear(&www);
    return rc;
}
