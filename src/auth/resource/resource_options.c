/* resource_options.c: checks and copies the options of a resource server. */
#include "auth/resource/resource.h"
#include "uri/uri.h"

/* ---- copies ---------------------------------------------------------------------------------- */

static int no_memory(mcp_error *error)
{
    return mcp__fail(error, MCP_ENOMEM, 0, "no memory for the options of a resource server");
}

/* Copies a string, which may be NULL. Sets *failed if out of memory. */
static const char *own(mcp_resource_server *rs, const char *text, bool *failed)
{
    const char *copy = text ? mcp__arena_strdup(&rs->texts, mcp_str_from(text)) : NULL;
    *failed = *failed || (text && !copy);
    return copy;
}

/* ---- one issuer ------------------------------------------------------------------------------ */

/* Checks that a URL of an issuer may be used: https or, if the host may be private, http. */
static int check_url(const mcp__rs_issuer *issuer, const char *what, const char *url,
                     mcp_error *error)
{
    mcp_error why;
    int rc = mcp__url_check(mcp_str_from(url), &why);
    if (rc == MCP_ENOMEM)
        return no_memory(error);
    if (rc != MCP_OK)
        return mcp__fail(error, MCP_EINVAL, 0, "%s \"%.100s\": %.100s", what, url, why.text);
    if (!mcp__str_starts(mcp_str_from(url), MCP_STR("https://")) && !issuer->allow_private)
        return mcp__fail(error, MCP_EINVAL, 0, "%s \"%.100s\" is not an https URL", what, url);
    return MCP_OK;
}

static int check_urls(const mcp__rs_issuer *issuer, const mcp_auth_issuer *given, mcp_error *error)
{
    int rc = check_url(issuer, "the issuer", given->issuer, error);
    if (rc == MCP_OK && strpbrk(given->issuer, "?#"))
        rc = mcp__fail(error, MCP_EINVAL, 0, "the issuer \"%.100s\" has a query or a fragment",
                       given->issuer);
    if (rc == MCP_OK && given->jwks_url)
        rc = check_url(issuer, "the URL of keys", given->jwks_url, error);
    if (rc == MCP_OK && given->introspection_url)
        rc = check_url(issuer, "the introspection endpoint", given->introspection_url, error);
    if (rc == MCP_OK &&
        (given->jwks != NULL) + (given->jwks_url != NULL) + (given->introspection_url != NULL) > 1)
        rc = mcp__fail(error, MCP_EINVAL, 0,
                       "the issuer \"%.100s\" has more than one of keys, a URL of keys and an "
                       "introspection endpoint",
                       given->issuer);
    return rc;
}

/* Makes the header Authorization for the introspection endpoint (RFC 6749, 2.3.1). */
static int own_credentials(mcp_resource_server *rs, mcp__rs_issuer *issuer,
                           const mcp_auth_issuer *given, mcp_error *error)
{
    mcp__buf pair, header;
    if (!given->introspection_url)
        return MCP_OK;
    if (!given->client_id || !given->client_secret)
        return mcp__fail(error, MCP_EINVAL, 0,
                         "the introspection endpoint of \"%.100s\" needs client_id and "
                         "client_secret",
                         given->issuer);
    mcp__buf_init(&pair, rs->allocator, 0);
    mcp__buf_init(&header, rs->allocator, 0);
    mcp__form_put(&pair, mcp_str_from(given->client_id));
    mcp__buf_char(&pair, ':');
    mcp__form_put(&pair, mcp_str_from(given->client_secret));
    mcp__buf_lit(&header, "Basic ");
    char *to = pair.failed ? NULL : mcp__buf_reserve(&header, MCP__BASE64_SIZE(pair.len));
    if (to) {
        mcp__base64_encode(to, pair.ptr, pair.len);
        header.len += MCP__BASE64_SIZE(pair.len);
        issuer->authorization = mcp__arena_strdup(&rs->texts, mcp__buf_view(&header));
    }
    mcp__buf_wipe(&pair);
    mcp__buf_wipe(&header);
    return issuer->authorization ? MCP_OK : no_memory(error);
}

static int own_audiences(mcp_resource_server *rs, mcp__token_rules *rules,
                         const mcp_auth_issuer *given)
{
    mcp_str *list = NULL;
    bool failed = false;
    if (given->n_audiences) {
        list = mcp__arena_alloc(&rs->texts, given->n_audiences * sizeof(*list));
        if (!list || !given->audiences)
            return list ? MCP_EINVAL : MCP_ENOMEM;
    }
    for (size_t i = 0; i < given->n_audiences; i++)
        list[i] = mcp_str_from(own(rs, given->audiences[i], &failed));
    rules->audiences = list;
    rules->n_audiences = given->n_audiences;
    return failed ? MCP_ENOMEM : MCP_OK;
}

static int own_rules(mcp_resource_server *rs, mcp__token_rules *rules, const mcp_auth_issuer *given,
                     mcp_error *error)
{
    bool failed = false;
    rules->issuer = mcp_str_from(own(rs, given->issuer, &failed));
    rules->type = mcp_str_from(own(rs, given->token_type, &failed));
    rules->mark = mcp_str_from(own(rs, given->token_claim, &failed));
    rules->mark_value = mcp_str_from(own(rs, given->token_value, &failed));
    int rc = own_audiences(rs, rules, given);
    if (failed || rc == MCP_ENOMEM)
        return no_memory(error);
    if (rc != MCP_OK)
        return mcp__fail(error, rc, 0, "audiences are required, and NULL was given");
    mcp_error why;
    rc = mcp__token_rules_check(rules, &why);
    return rc == MCP_OK
               ? rc
               : mcp__fail(error, rc, 0, "the issuer \"%.100s\": %.140s", given->issuer, why.text);
}

static int own_issuer(mcp_resource_server *rs, size_t i, const mcp_auth_issuer *given,
                      mcp_error *error)
{
    mcp__rs_issuer *issuer = &rs->issuers[i];
    bool failed = false;
    if (!given->issuer || !*given->issuer)
        return mcp__fail(error, MCP_EINVAL, 0, "the issuer of access tokens is not set");
    issuer->jwks_url = own(rs, given->jwks_url, &failed);
    issuer->introspection_url = own(rs, given->introspection_url, &failed);
    issuer->principal = own(rs, given->principal ? given->principal : "{sub}", &failed);
    issuer->groups = own(rs, given->groups, &failed);
    issuer->ca_file = own(rs, given->ca_file, &failed);
    issuer->proxy = own(rs, given->proxy, &failed);
    issuer->allow_private =
        given->allow_private || mcp__url_is_loopback(mcp_str_from(given->issuer));
    if (failed)
        return no_memory(error);
    int rc = check_urls(issuer, given, error);
    if (rc == MCP_OK)
        rc = own_rules(rs, &rs->rules[i], given, error);
    if (rc == MCP_OK)
        rc = mcp__rs_principal_check(issuer->principal, error);
    if (rc == MCP_OK)
        rc = own_credentials(rs, issuer, given, error);
    for (size_t other = 0; rc == MCP_OK && other < i; other++) {
        if (mcp_str_eq(rs->rules[other].issuer, rs->rules[i].issuer))
            rc = mcp__fail(error, MCP_EINVAL, 0, "the issuer \"%.100s\" is listed twice",
                           given->issuer);
    }
    return rc;
}

static int read_issuers(mcp_resource_server *rs, const mcp_resource_server_options *o,
                        mcp_error *error)
{
    bool fetches = false;
    int rc = mcp__check_array(o->issuers, o->n_issuers, "mcp_auth_issuer", error);
    if (rc == MCP_OK && (o->n_issuers == 0 || o->n_issuers > MCP__RS_ISSUERS))
        rc = mcp__fail(error, MCP_EINVAL, 0, "a resource server needs 1 to %d issuers",
                       MCP__RS_ISSUERS);
    for (size_t i = 0; rc == MCP_OK && i < o->n_issuers; i++) {
        mcp_auth_issuer given;
        mcp__take_element(&given, sizeof(given), o->issuers, i);
        rc = own_issuer(rs, i, &given, error);
        fetches = fetches || !given.jwks;
        if (rc == MCP_OK && given.introspection_url && rs->opaque)
            rc = mcp__fail(error, MCP_EINVAL, 0,
                           "only one issuer may have an introspection endpoint: tokens that do not "
                           "name an issuer would be sent to all of them");
        if (given.introspection_url)
            rs->opaque = &rs->issuers[i];
        rs->n_issuers = i + 1;
    }
    if (rc == MCP_OK && fetches && (!rs->host.fetch || !rs->host.fetch_cancel))
        rc = mcp__fail(error, MCP_EINVAL, 0, "the host has no functions to fetch keys");
    return rc;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static int bad_scope(mcp_error *error, const char *text)
{
    return mcp__fail(error, MCP_EINVAL, 0,
                     "\"%.100s\": a scope has printable ASCII characters without quotation marks "
                     "and backslashes",
                     text);
}

static int read_implied(mcp_resource_server *rs, const mcp_auth_scope *given, mcp_error *error)
{
    bool failed = false;
    mcp_str scope = mcp_str_from(own(rs, given->scope, &failed));
    mcp_str rest = mcp_str_from(own(rs, given->implies, &failed));
    if (failed)
        return no_memory(error);
    if (!mcp__scope_valid(scope))
        return bad_scope(error, given->scope ? given->scope : "");
    if (!mcp__scopes_valid(rest))
        return bad_scope(error, given->implies);
    for (mcp_str implied; mcp__scope_next(&rest, &implied);) {
        if (rs->n_implies == MCP__RS_IMPLIES)
            return mcp__fail(error, MCP_EINVAL, 0, "more than %d scopes are implied by others",
                             MCP__RS_IMPLIES);
        rs->implies[rs->n_implies++] = (mcp__scope_implies){scope, implied};
    }
    return MCP_OK;
}

static int read_scopes(mcp_resource_server *rs, const mcp_resource_server_options *o,
                       mcp_error *error)
{
    const char *const lists[] = {o->required_scopes, o->scopes_supported};
    for (size_t i = 0; i < MCP__COUNT(lists); i++) {
        if (!mcp__scopes_valid(mcp_str_from(lists[i])))
            return bad_scope(error, lists[i]);
    }
    int rc = mcp__check_array(o->scopes, o->n_scopes, "mcp_auth_scope", error);
    if (rc != MCP_OK || !o->n_scopes)
        return rc;
    rs->implies = mcp__arena_alloc(&rs->texts, MCP__RS_IMPLIES * sizeof(*rs->implies));
    if (!rs->implies)
        return no_memory(error);
    for (size_t i = 0; rc == MCP_OK && i < o->n_scopes; i++) {
        mcp_auth_scope given;
        mcp__take_element(&given, sizeof(given), o->scopes, i);
        rc = read_implied(rs, &given, error);
    }
    return rc;
}

/* ---- all options ----------------------------------------------------------------------------- */

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_resource_server_options, max_token_bytes, MCP__TOKEN_CACHE_BYTES),
    MCP_DEFAULT(mcp_resource_server_options, max_proofs, 65536),
    MCP_DEFAULT(mcp_resource_server_options, max_pending_bytes, 32 << 20),
    MCP_DEFAULT(mcp_resource_server_options, max_verifying, 16),
    MCP_DEFAULT(mcp_resource_server_options, max_verifying_per_address, 4),
    MCP_DEFAULT(mcp_resource_server_options, max_introspecting, 32),
    MCP_DEFAULT(mcp_resource_server_options, failures_burst, 60),
    MCP_DEFAULT(mcp_resource_server_options, failures_per_minute, 60),
    MCP_DEFAULT(mcp_resource_server_options, fetch_ms, 5000),
};

static void set_defaults(mcp_resource_server *rs)
{
    mcp_resource_server_options *o = &rs->options;
    rs->spares_local = !o->failures_burst && !o->failures_per_minute;
    MCP_SET_DEFAULTS(o, defaults);
}

static int own_texts(mcp_resource_server *rs, const mcp_resource_server_options *given,
                     mcp_error *error)
{
    mcp_resource_server_options *o = &rs->options;
    bool failed = false;
    *o = *given;
    o->resource = own(rs, given->resource, &failed);
    o->required_scopes = own(rs, given->required_scopes, &failed);
    o->scopes_supported = own(rs, given->scopes_supported, &failed);
    o->name = own(rs, given->name, &failed);
    o->documentation = own(rs, given->documentation, &failed);
    /* These are borrowed only until the server is made. */
    o->issuers = NULL;
    o->scopes = NULL;
    o->nonce_key = o->nonce_key_before = NULL;
    o->host = NULL;
    o->allocator = NULL;
    return failed ? no_memory(error) : MCP_OK;
}

int mcp__rs_options_read(mcp_resource_server *rs, const mcp_resource_server_options *options,
                         mcp_error *error)
{
    int rc = MCP__TAKE(&rs->host, options->host, mcp_auth_host, error);
    if (rc == MCP_OK && (!rs->host.now || !rs->host.wall || !rs->host.random))
        rc = mcp__fail(error, MCP_EINVAL, 0, "the host needs now, wall and random");
    if (rc == MCP_OK && !options->resource)
        rc = mcp__fail(error, MCP_EINVAL, 0, "the URL of the resource is not set");
    if (rc == MCP_OK && (unsigned)options->dpop > MCP_DPOP_OFF)
        rc = mcp__fail(error, MCP_EINVAL, 0, "an unknown mode of DPoP");
    if (rc == MCP_OK)
        rc = own_texts(rs, options, error);
    if (rc == MCP_OK)
        rc = read_issuers(rs, options, error);
    if (rc == MCP_OK)
        rc = read_scopes(rs, options, error);
    if (rc == MCP_OK)
        set_defaults(rs);
    return rc;
}
