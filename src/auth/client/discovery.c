/* discovery.c: finds the authorization server of the server, and what it supports (2026-07-28,
 * basic/authorization/authorization-server-discovery). */
#include "auth/client/oauth_client.h"
#include "uri/uri.h"

/* ---- PROBE ----------------------------------------------------------------------------------- */

/* Before a login, a request without a token shows the challenge of the server. */
static mcp__oauth_step begin_probe(mcp_oauth_client *c)
{
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    return mcp__oauth_send(c,
                           &(mcp__oauth_request){.what = "challenge",
                                                 .url = c->o.server,
                                                 .json = ping,
                                                 .accept = "application/json, text/event-stream"});
}

static mcp__oauth_step answered_probe(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    /* An answer that is too long may have a challenge too, but then it is no answer to a ping. */
    if (answer->rc < 0 && answer->rc != MCP_ELIMIT)
        return mcp__oauth_unanswered(c, answer);
    c->flow.probed = answer->status;
    if (answer->status == 401 && mcp__oauth_take_challenge(c, answer->challenge) < 0)
        return mcp__oauth_no_memory(c);
    return MCP__STEP_RESOURCE;
}

const mcp__oauth_work mcp__oauth_work_probe = {begin_probe, answered_probe};

/* ---- RESOURCE -------------------------------------------------------------------------------- */

/* Without metadata of the server, the resource is its URL, and the issuer must be known. */
static mcp__oauth_step without_resource(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp_str server = mcp_str_from(c->o.server);
    f->tried = 0;
    f->resource = server;
    f->queried_issuer = mcp_str_from(c->o.issuer);
    if (c->o.legacy_endpoints && !c->o.issuer) {
        mcp_uri uri;
        if (mcp_uri_parse(server, &uri, NULL) != MCP_OK)
            return mcp__oauth_failed_with(c, MCP_EINVAL, "the URL of the server is malformed");
        f->queried_issuer = (mcp_str){server.ptr, (size_t)(uri.path.ptr - server.ptr)};
        if (!uri.path.len)
            f->queried_issuer = server;
    }
    if (f->queried_issuer.len)
        return MCP__STEP_ISSUER;
    if (f->error.code == MCP_EACCESS) /* the last URL */
        return MCP__STEP_FAILED;
    if (f->probed && f->probed != 401)
        return mcp__oauth_failed_with(
            c, MCP_ENOTFOUND,
            "%.100s does not ask for a login (HTTP status %d), and has no protected resource "
            "metadata; the option issuer names the authorization server if there is one",
            c->o.server, f->probed);
    return mcp__oauth_failed_with(
        c, MCP_ENOTFOUND,
        "%.100s has no protected resource metadata, so its authorization server is unknown; the "
        "option issuer names one, legacy-endpoints is for servers of 2025-03-26",
        c->o.server);
}

/* Returns the URL of the metadata that is tried next, or NULL. */
static const char *resource_url(mcp_oauth_client *c, mcp__buf *url, int *rc)
{
    mcp__oauth_flow *f = &c->flow;
    *rc = MCP_OK;
    if (f->metadata_url.len) {
        if (!f->tried)
            mcp__buf_str(url, f->metadata_url);
    } else {
        *rc = mcp__resource_url(url, mcp_str_from(c->o.server), f->tried);
    }
    if (*rc == MCP_ENOTFOUND)
        *rc = MCP_OK;
    if (*rc < 0 || !url->len)
        return NULL;
    mcp__buf_char(url, '\0');
    *rc = url->failed;
    return url->failed ? NULL : url->ptr;
}

static mcp__oauth_step begin_resource(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__oauth_step next;
    mcp__buf url;
    int rc;
    if (c->o.legacy_endpoints)
        return without_resource(c);
    mcp__buf_init(&url, &c->allocator, 0);
    const char *text = resource_url(c, &url, &rc);
    if (rc < 0)
        next = mcp__oauth_failed_with(c, rc, "no metadata of %.100s can be asked for: %.100s",
                                      c->o.server, mcp_error_text(rc));
    else if (text && !mcp__oauth_url(mcp_str_from(text), c->loopback))
        next = mcp__oauth_failed_with(
            c, MCP_EACCESS, "the protected resource metadata are not at an https URL: %.150s",
            text);
    else if (text)
        next = mcp__oauth_send(c, &(mcp__oauth_request){.what = "resource metadata", .url = text});
    else if (f->metadata_url.len)
        next = MCP__STEP_FAILED; /* answered_resource() has set the text */
    else
        next = without_resource(c);
    mcp__buf_free(&url);
    return next;
}

static mcp__oauth_step choose_issuer(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp_str known = c->grant ? c->grant->issuer : (mcp_str){0};
    mcp_str chosen = {0};
    mcp__oauth_fault fault =
        mcp__protected_choose(&f->server, mcp_str_from(c->o.issuer), known, &chosen, &f->error);
    f->resource = f->server.resource;
    f->tried = 0;
    if (fault == MCP__OAUTH_OK)
        mcp__no_error(&f->error); /* of URLs that were tried before */
    f->queried_issuer = mcp__oauth_keep(c, chosen);
    if (fault == MCP__OAUTH_OK && !f->queried_issuer.len)
        return mcp__oauth_no_memory(c);
    return mcp__oauth_unless(c, fault, MCP__STEP_ISSUER);
}

/* Metadata that could not be read. Some servers redirect every unknown path to another origin, which is
 * not followed, so the next URL is tried. */
static mcp__oauth_step elsewhere(mcp_oauth_client *c, const mcp__oauth_answer *answer,
                                 mcp__oauth_step next)
{
    mcp__oauth_unanswered(c, answer);
    return answer->rc == MCP_EACCESS ? next : MCP__STEP_FAILED;
}

static mcp__oauth_step answered_resource(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__oauth_fault fault = MCP__OAUTH_RESOURCE_JSON;
    f->tried++;
    if (answer->rc < 0)
        return elsewhere(c, answer, MCP__STEP_RESOURCE);
    if (answer->status == 200)
        fault =
            mcp__protected_read(&f->server, answer->body, mcp_str_from(c->o.server),
                                mcp_str_from(answer->url), c->loopback, &c->allocator, &f->error);
    else
        mcp__oauth_failed_with(c, MCP_ENOTFOUND,
                               "the protected resource metadata are not at %.120s (HTTP status %d)",
                               answer->url, answer->status);
    if (fault == MCP__OAUTH_OK)
        return choose_issuer(c);
    /* Some servers answer every path with a page. */
    if (fault == MCP__OAUTH_RESOURCE_JSON) {
        mcp__protected_clear(&f->server);
        memset(&f->server, 0, sizeof(f->server));
        return MCP__STEP_RESOURCE;
    }
    return mcp__oauth_unless(c, fault, MCP__STEP_FAILED);
}

const mcp__oauth_work mcp__oauth_work_resource = {begin_resource, answered_resource};

/* ---- ISSUER ---------------------------------------------------------------------------------- */

/* No document was found. */
static mcp__oauth_step without_metadata(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    if (!c->o.legacy_endpoints && f->error.code == MCP_EACCESS) /* the last URL */
        return MCP__STEP_FAILED;
    if (!c->o.legacy_endpoints)
        return mcp__oauth_failed_with(
            c, MCP_ENOTFOUND,
            "the authorization server %.*s has no metadata at the well-known URLs",
            MCP__SHOWN(f->queried_issuer, 150));
    return mcp__oauth_unless(c,
                             mcp__issuer_legacy(&f->issuer, mcp_str_from(c->o.server), c->loopback,
                                                &c->allocator, &f->error),
                             MCP__STEP_DECIDE);
}

/* If the server names several authorization servers, which one to use is up to the client (2026-07-28,
 * basic/authorization/authorization-server-discovery). The next one is not tried without being asked:
 * a person may have an account at one of them only. */
static mcp__oauth_step advised(mcp_oauth_client *c, mcp__oauth_step step)
{
    mcp__oauth_flow *f = &c->flow;
    if (step != MCP__STEP_FAILED || c->o.issuer || f->server.n_issuers < 2)
        return step;
    size_t i = mcp_str_eq(f->server.issuers[0], f->queried_issuer) ? 1 : 0;
    mcp_error error = f->error;
    return mcp__oauth_failed_with(c, error.code,
                                  "%.130s; the option issuer chooses another authorization server, "
                                  "such as %.*s",
                                  error.text, MCP__SHOWN(f->server.issuers[i], 60));
}

static mcp__oauth_step ask_issuer(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__oauth_step next;
    mcp__buf url;
    if (!mcp__oauth_url(f->queried_issuer, c->loopback))
        return mcp__oauth_unless(
            c, mcp__oauth_fail(&f->error, MCP__OAUTH_ISSUER_URL, f->queried_issuer, (mcp_str){0}),
            MCP__STEP_FAILED);
    mcp__buf_init(&url, &c->allocator, 0);
    int rc = mcp__issuer_url(&url, f->queried_issuer, f->tried);
    mcp__buf_char(&url, '\0');
    if (rc == MCP_ENOTFOUND)
        next = without_metadata(c);
    else if (rc < 0 || url.failed)
        next = mcp__oauth_failed_with(c, rc < 0 ? rc : url.failed,
                                      "the metadata of %.*s cannot be asked for",
                                      MCP__SHOWN(f->queried_issuer, 100));
    else /* only 2025-03-26 wants its name here (basic/authorization, "Server Metadata Discovery Headers") */
        next = mcp__oauth_send(
            c, &(mcp__oauth_request){.what = "server metadata",
                                     .url = url.ptr,
                                     .revision = c->o.legacy_endpoints ? "2025-03-26" : NULL});
    mcp__buf_free(&url);
    return next;
}

static mcp__oauth_step begin_issuer(mcp_oauth_client *c)
{
    return advised(c, ask_issuer(c));
}

/* A server of 2025-03-26 is its own authorization server, and its issuer may have a slash at the
 * end. */
static mcp_str trusted_issuer(mcp_oauth_client *c)
{
    mcp__buf text;
    if (c->o.trusted_issuer || !c->o.legacy_endpoints)
        return mcp_str_from(c->o.trusted_issuer);
    mcp__buf_init(&text, &c->allocator, 0);
    mcp__buf_str(&text, c->flow.queried_issuer);
    mcp__buf_char(&text, '/');
    char *copy = text.failed ? NULL : mcp__arena_strdup(&c->flow.texts, mcp__buf_view(&text));
    mcp__buf_free(&text);
    return mcp_str_from(copy);
}

static mcp__oauth_step read_issuer(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__oauth_fault fault = MCP__OAUTH_METADATA_JSON;
    mcp__issuer_rules rules = {.issuer = f->queried_issuer,
                               .trusted = trusted_issuer(c),
                               .url = mcp_str_from(answer->url),
                               .loopback = c->loopback};
    f->tried++;
    if (answer->rc < 0)
        return elsewhere(c, answer, MCP__STEP_ISSUER);
    if (answer->status == 200)
        fault = mcp__issuer_read(&f->issuer, answer->body, &rules, &c->allocator, &f->error);
    if (fault == MCP__OAUTH_METADATA_JSON) {
        mcp__issuer_clear(&f->issuer);
        memset(&f->issuer, 0, sizeof(f->issuer));
        return MCP__STEP_ISSUER;
    }
    return mcp__oauth_unless(c, fault, MCP__STEP_DECIDE);
}

static mcp__oauth_step answered_issuer(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    return advised(c, read_issuer(c, answer));
}

const mcp__oauth_work mcp__oauth_work_issuer = {begin_issuer, answered_issuer};

/* ---- DECIDE ---------------------------------------------------------------------------------- */

static bool same(mcp_str a, mcp_str b)
{
    return mcp_str_eq(a, b);
}

static mcp__oauth_step moved(mcp_oauth_client *c, mcp_str before)
{
    const mcp__issuer *issuer = &c->flow.issuer;
    return mcp__oauth_failed_with(c, MCP_ESTATE,
                                  "the token endpoint of %.*s is now %.*s and was %.*s; log out "
                                  "first (mcpctl logout) if that "
                                  "is right",
                                  MCP__SHOWN(issuer->issuer, 50), MCP__SHOWN(issuer->token, 50),
                                  MCP__SHOWN(before, 50));
}

/* Returns whether the secret of the options goes to any issuer, so that the first one is pinned. Keys
 * are not sent, and their assertions name the issuer. */
static bool needs_pin(const mcp_oauth_client *c)
{
    return !c->o.issuer && (c->o.client_secret || c->o.grant == MCP_OAUTH_ASSERTION);
}

/* The configured secret goes only where it went first, even after a logout. */
static mcp__oauth_step check_secret(mcp_oauth_client *c)
{
    const mcp__issuer *issuer = &c->flow.issuer;
    const mcp__record_pin *pin = mcp__record_find_pin(&c->record, mcp_str_from(c->o.client_id));
    if (!needs_pin(c) || !pin || !same(c->flow.self.id, mcp_str_from(c->o.client_id)) ||
        (same(pin->issuer, issuer->issuer) && same(pin->token_endpoint, issuer->token)))
        return MCP__STEP_DONE;
    return mcp__oauth_failed_with(
        c, MCP_ESTATE,
        "the authorization server is now %.*s (%.*s), but the secret of the client was used with "
        "%.*s; the option issuer says where it may go",
        MCP__SHOWN(issuer->issuer, 40), MCP__SHOWN(issuer->token, 40), MCP__SHOWN(pin->issuer, 40));
}

mcp__oauth_step mcp__oauth_pin(mcp_oauth_client *c, mcp__oauth_step step)
{
    if (check_secret(c) == MCP__STEP_FAILED)
        return MCP__STEP_FAILED;
    return needs_pin(c) && !mcp__record_find_pin(&c->record, mcp_str_from(c->o.client_id))
               ? mcp__oauth_save(c, MCP__SAVE_PIN, step)
               : step;
}

/* What was saved with one token endpoint is not sent to another one, and a client id that the program
 * has set is not used with another issuer. */
mcp__oauth_step mcp__oauth_check_pins(mcp_oauth_client *c)
{
    const mcp__oauth_flow *f = &c->flow;
    mcp_str id = mcp_str_from(c->o.client_id);
    const mcp__record_client *client = mcp__record_find_client(&c->record, f->issuer.issuer);
    if (client && client->secret.len && !same(client->token_endpoint, f->issuer.token))
        return moved(c, client->token_endpoint);
    for (size_t i = 0; i < c->record.n_grants; i++) {
        const mcp__record_grant *g = &c->record.grants[i];
        if (same(g->issuer, f->issuer.issuer) && g->token_endpoint.len &&
            !same(g->token_endpoint, f->issuer.token))
            return moved(c, g->token_endpoint);
        if (id.len && !c->o.issuer && same(g->client_id, id) && !same(g->issuer, f->issuer.issuer))
            return mcp__oauth_failed_with(c, MCP_ESTATE,
                                          "the authorization server is now %.*s, but client-id was "
                                          "used with %.*s; the option "
                                          "issuer says to which it belongs",
                                          MCP__SHOWN(f->issuer.issuer, 60),
                                          MCP__SHOWN(g->issuer, 60));
    }
    return MCP__STEP_DONE;
}

const mcp__record_grant *mcp__oauth_own_grant(const mcp_oauth_client *c)
{
    const mcp__oauth_flow *f = &c->flow;
    return mcp__record_find_grant(&c->record, f->issuer.issuer, f->resource, f->self.id);
}

/* A login that the program begins after a step-up failed, for example because no person could be
 * asked during the request, asks for the same scopes. */
static void remember_missed(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    if (f->why == MCP__WHY_LOGIN)
        mcp__oauth_add_scopes(&f->scope, mcp__buf_view(&c->missed));
    if (f->why != MCP__WHY_STEP_UP)
        return;
    mcp__buf_reset(&c->missed, 0);
    mcp__buf_str(&c->missed, mcp__buf_view(&f->scope));
    if (c->missed.failed)
        f->scope.failed = c->missed.failed;
}

/* The scopes to ask for: those of the challenge and of the options, else of the metadata, and those
 * that were asked for or granted before (2026-07-28, basic/authorization, "Scope Selection Strategy"). */
static void collect_scopes(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    const mcp__record_grant *grant = f->self.known ? mcp__oauth_own_grant(c) : NULL;
    mcp__buf_reset(&f->scope, 0);
    if (grant && f->why != MCP__WHY_LOGIN) {
        mcp__oauth_add_scopes(&f->scope, grant->requested);
        mcp__oauth_add_scopes(&f->scope, grant->scope);
    }
    mcp__oauth_add_scopes(&f->scope, f->wanted);
    mcp__oauth_add_scopes(&f->scope, mcp_str_from(c->o.scope));
    if (!f->scope.len && f->server.has_scopes)
        mcp__oauth_add_scopes(&f->scope, mcp__buf_view(&f->server.scopes));
    if (c->o.grant <= MCP_OAUTH_DEVICE &&
        mcp__json_lists(f->issuer.scopes, MCP_STR("offline_access")))
        mcp__oauth_add_scopes(&f->scope, MCP_STR("offline_access"));
    remember_missed(c);
}

/* A logout sends the tokens of a grant to where they came from, as the client that got them. */
static mcp__oauth_step revoke(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    const mcp__record_grant *grant = mcp__oauth_revoking(c);
    f->tried = 0;
    if (grant->token_endpoint.len && !same(grant->token_endpoint, f->issuer.token))
        return moved(c, grant->token_endpoint);
    if (mcp__oauth_be_owner(c, grant) < 0)
        return mcp__oauth_no_memory(c);
    return check_secret(c) == MCP__STEP_FAILED || mcp__oauth_choose_method(c) < 0
               ? MCP__STEP_FAILED
               : MCP__STEP_REVOKE;
}

static mcp__oauth_step refresh(mcp_oauth_client *c)
{
    mcp__oauth_step next = mcp__oauth_pin(c, MCP__STEP_DECIDE);
    return next == MCP__STEP_DECIDE ? mcp__oauth_with_lock(c, MCP__STEP_REFRESH) : next;
}

static mcp__oauth_step begin_decide(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__no_error(&f->error); /* of places where no metadata were found */
    if (f->why == MCP__WHY_LOGOUT)
        return revoke(c);
    int rc = mcp__oauth_load(c, true, &f->error);
    if (rc < 0)
        return MCP__STEP_FAILED;
    if (mcp__oauth_check_pins(c) == MCP__STEP_FAILED)
        return MCP__STEP_FAILED;
    if (mcp__oauth_know_self(c) < 0)
        return mcp__oauth_no_memory(c);
    if (check_secret(c) == MCP__STEP_FAILED)
        return MCP__STEP_FAILED;
    collect_scopes(c); /* a failure matters only if they are asked for */
    const mcp__record_grant *grant = f->self.known ? mcp__oauth_own_grant(c) : NULL;
    mcp__oauth_use(c, grant); /* no token of another authorization server, from now on */
    /* Another process may have renewed the token. */
    if (f->why == MCP__WHY_REFUSED && c->generation && c->generation != f->refused)
        return MCP__STEP_DONE;
    if (f->why == MCP__WHY_REFUSED && grant && grant->refresh_token.len && !c->renewed)
        return refresh(c);
    return MCP__STEP_REGISTER;
}

const mcp__oauth_work mcp__oauth_work_decide = {begin_decide, NULL};
