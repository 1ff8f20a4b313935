/* client_options.c: checks and copies the options of an OAuth client. */
#include <mcp/uri.h>

#include "auth/client/oauth_client.h"
#include "uri/uri.h"

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_oauth_client_options, fetch_ms, 10000),
    MCP_DEFAULT(mcp_oauth_client_options, visit_ms, 600000),
};

/* The strings of the options. */
static const size_t texts[] = {
    offsetof(mcp_oauth_client_options, server),
    offsetof(mcp_oauth_client_options, account),
    offsetof(mcp_oauth_client_options, client_name),
    offsetof(mcp_oauth_client_options, client_uri),
    offsetof(mcp_oauth_client_options, client_id),
    offsetof(mcp_oauth_client_options, client_secret),
    offsetof(mcp_oauth_client_options, client_key),
    offsetof(mcp_oauth_client_options, client_metadata_url),
    offsetof(mcp_oauth_client_options, issuer),
    offsetof(mcp_oauth_client_options, scope),
    offsetof(mcp_oauth_client_options, redirect_uri),
    offsetof(mcp_oauth_client_options, idp_token_endpoint),
    offsetof(mcp_oauth_client_options, idp_client_id),
    offsetof(mcp_oauth_client_options, idp_client_secret),
    offsetof(mcp_oauth_client_options, trusted_issuer),
    offsetof(mcp_oauth_client_options, ca_file),
    offsetof(mcp_oauth_client_options, proxy),
};

/* Copies the strings. An empty string counts as none, except for `proxy`. */
static bool own_texts(mcp_oauth_client *c)
{
    for (size_t i = 0; i < MCP__COUNT(texts); i++) {
        const char **text = (const char **)(void *)((char *)&c->o + texts[i]);
        if (*text && !**text && texts[i] != offsetof(mcp_oauth_client_options, proxy))
            *text = NULL;
        if (*text && !(*text = mcp__arena_strdup(&c->texts, mcp_str_from(*text))))
            return false;
    }
    return true;
}

/* ---- checks ---------------------------------------------------------------------------------- */

typedef struct need {
    mcp_oauth_grant grant;
    size_t text;
    const char *name;
} need;

/* The options that a grant needs. */
static const need needs[] = {
    {MCP_OAUTH_CODE, offsetof(mcp_oauth_client_options, redirect_uri), "redirect_uri"},
    {MCP_OAUTH_CLIENT_CREDENTIALS, offsetof(mcp_oauth_client_options, client_id), "client_id"},
    {MCP_OAUTH_ENTERPRISE, offsetof(mcp_oauth_client_options, client_id), "client_id"},
    {MCP_OAUTH_ENTERPRISE, offsetof(mcp_oauth_client_options, idp_token_endpoint),
     "idp_token_endpoint"},
};

static int check_needs(const mcp_oauth_client *c, mcp_error *error)
{
    const mcp_oauth_client_options *o = &c->o;
    for (size_t i = 0; i < MCP__COUNT(needs); i++) {
        const char *const *text =
            (const char *const *)(const void *)((const char *)o + needs[i].text);
        if (needs[i].grant == o->grant && !*text && (o->grant != MCP_OAUTH_CODE || o->visit))
            return mcp__fail(error, MCP_EINVAL, 0, "this grant needs the option %s", needs[i].name);
    }
    if (o->grant == MCP_OAUTH_CLIENT_CREDENTIALS && !o->client_secret && !o->client_key)
        return mcp__fail(error, MCP_EINVAL, 0, "this grant needs client_secret or client_key");
    if ((o->grant == MCP_OAUTH_ENTERPRISE || o->grant == MCP_OAUTH_ASSERTION) && !o->assertion)
        return mcp__fail(error, MCP_EINVAL, 0, "this grant needs the function assertion");
    return MCP_OK;
}

/* Checks a URL: https, or http of this machine if `local` is set. */
static int check_url(const char *name, const char *url, bool local, mcp_error *error)
{
    if (!url || mcp__oauth_url(mcp_str_from(url), local))
        return MCP_OK;
    return mcp__fail(error, MCP_EINVAL, 0, "%s must be an https URL%s: %.120s", name,
                     local ? ", or an http URL of this machine" : "", url);
}

/* Checks the URL of a client id metadata document (draft-ietf-oauth-client-id-metadata-document, section
 * 3): it has a path without dot segments, and neither a fragment nor a user. */
static int check_document(const char *url, mcp_error *error)
{
    mcp_uri uri;
    if (!url)
        return MCP_OK;
    bool ok = mcp_uri_parse(mcp_str_from(url), &uri, NULL) == MCP_OK && uri.path.len > 1 &&
              !uri.has_fragment;
    for (const char *p = ok ? strchr(uri.path.ptr, '/') : NULL;
         p && p < uri.path.ptr + uri.path.len;) {
        const char *end = p + 1 + strcspn(p + 1, "/?");
        size_t len = (size_t)(end - p - 1);
        ok = ok && !(len <= 2 && len && strncmp(p + 1, "..", len) == 0);
        p = *end == '/' ? end : NULL;
    }
    return ok ? MCP_OK
              : mcp__fail(error, MCP_EINVAL, 0,
                          "client_metadata_url needs a path without . and .., and no fragment: "
                          "%.120s",
                          url);
}

static int check_urls(const mcp_oauth_client *c, mcp_error *error)
{
    const mcp_oauth_client_options *o = &c->o;
    int rc = check_url("the server", o->server, true, error);
    if (rc == MCP_OK)
        rc = check_url("redirect_uri", o->redirect_uri, true, error);
    if (rc == MCP_OK)
        rc = check_url("client_metadata_url", o->client_metadata_url, c->loopback, error);
    if (rc == MCP_OK)
        rc = check_document(o->client_metadata_url, error);
    if (rc == MCP_OK)
        rc = check_url("issuer", o->issuer, c->loopback, error);
    if (rc == MCP_OK)
        rc = check_url("idp_token_endpoint", o->idp_token_endpoint, c->loopback, error);
    return rc;
}

static int check_functions(const mcp_oauth_client *c, mcp_error *error)
{
    const mcp_auth_host *h = &c->host;
    if (!h->now || !h->wall || !h->random || !h->fetch || !h->fetch_cancel || !h->timer_start ||
        !h->timer_stop)
        return mcp__fail(error, MCP_EINVAL, 0, "the host lacks a function");
    if (c->o.store && (!c->store.lock || !c->store.unlock || !c->store.load || !c->store.save))
        return mcp__fail(error, MCP_EINVAL, 0, "the store lacks a function");
    return MCP_OK;
}

/* Makes the name of the record. */
static int make_name(mcp_oauth_client *c, mcp_error *error)
{
    mcp__buf name;
    mcp__buf_init(&name, &c->allocator, 0);
    mcp__buf_str(&name, mcp_str_from(c->o.server));
    if (c->o.account) {
        mcp__buf_char(&name, ' ');
        mcp__buf_str(&name, mcp_str_from(c->o.account));
    }
    c->name = name.failed ? NULL : mcp__arena_strdup(&c->texts, mcp__buf_view(&name));
    mcp__buf_free(&name);
    return c->name ? MCP_OK : mcp__fail(error, MCP_ENOMEM, 0, "no memory for an OAuth client");
}

int mcp__oauth_read_options(mcp_oauth_client *c, const mcp_oauth_client_options *given,
                            mcp_error *error)
{
    c->o = *given;
    int rc = MCP__TAKE(&c->host, given->host, mcp_auth_host, error);
    if (rc == MCP_OK && given->store)
        rc = MCP__TAKE(&c->store, given->store, mcp_oauth_store, error);
    if (rc == MCP_OK && !own_texts(c))
        rc = mcp__fail(error, MCP_ENOMEM, 0, "no memory for an OAuth client");
    if (rc < 0)
        return rc;
    if (!c->o.server)
        return mcp__fail(error, MCP_EINVAL, 0, "the URL of the server is not set");
    if (c->o.grant < MCP_OAUTH_CODE || c->o.grant > MCP_OAUTH_ASSERTION)
        return mcp__fail(error, MCP_EINVAL, 0, "there is no such grant");
    c->loopback = mcp__url_is_loopback(mcp_str_from(c->o.server));
    MCP_SET_DEFAULTS(&c->o, defaults);
    rc = check_functions(c, error);
    if (rc == MCP_OK)
        rc = check_needs(c, error);
    if (rc == MCP_OK)
        rc = check_urls(c, error);
    if (rc == MCP_OK)
        rc = make_name(c, error);
    if (rc == MCP_OK && c->o.client_key)
        rc = mcp__signing_key_read(&c->crypto, mcp_str_from(c->o.client_key), &c->allocator,
                                   &c->key, error);
    return rc;
}
