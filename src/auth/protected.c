/* protected.c: reads protected resource metadata (RFC 9728 section 2 and 3.3); see discover.h. */
#include "auth/challenge.h"
#include "auth/discover.h"
#include "protocol/scope.h"

static const mcp_str none = {NULL, 0};

bool mcp__json_lists(const mcp_json *list, mcp_str value)
{
    mcp_json_iter iter = {0};
    for (const mcp_json *one; (one = mcp_json_next(list, &iter, NULL));) {
        if (mcp_str_eq(mcp_json_string(one), value))
            return true;
    }
    return false;
}

bool mcp__json_get_list(const mcp_json *object, const char *name, const mcp_json **ret)
{
    const mcp_json *list = mcp_json_get(object, name);
    *ret = mcp_json_is(list, MCP_JSON_ARRAY) ? list : NULL;
    return !list || *ret || mcp_json_is(list, MCP_JSON_NULL);
}

static mcp__oauth_fault read_issuers(mcp__protected *ret, const mcp_json *list, bool loopback,
                                     mcp_str url, mcp_error *error)
{
    mcp_json_iter iter = {0};
    for (const mcp_json *one; (one = mcp_json_next(list, &iter, NULL));) {
        mcp_str issuer = mcp_json_string(one);
        if (mcp__oauth_url(issuer, loopback) && ret->n_issuers < MCP__DISCOVER_ISSUERS)
            ret->issuers[ret->n_issuers++] = issuer;
    }
    if (ret->n_issuers)
        return MCP__OAUTH_OK;
    if (!mcp_json_count(list))
        return mcp__oauth_fail(error, MCP__OAUTH_RESOURCE_SERVERS, none, url);
    return mcp__oauth_fail(error, MCP__OAUTH_ISSUER_URL, mcp_json_string(mcp_json_at(list, 0)),
                           url);
}

/* Scopes that are not valid are left out. */
static void read_scopes(mcp__protected *ret, const mcp_json *list)
{
    mcp_json_iter iter = {0};
    ret->has_scopes = list != NULL;
    for (const mcp_json *one; (one = mcp_json_next(list, &iter, NULL));) {
        mcp_str scope = mcp_json_string(one);
        if (!mcp__scope_valid(scope))
            continue;
        if (ret->scopes.len)
            mcp__buf_char(&ret->scopes, ' ');
        mcp__buf_str(&ret->scopes, scope);
    }
}

/* Checks that the resource is the server, or one above it whose metadata are at `url`. */
static mcp__oauth_fault check_resource(const mcp__protected *p, mcp_str server, mcp_str url,
                                       mcp_error *error)
{
    mcp__buf place;
    if (!mcp__resource_covers(p->resource, server))
        return mcp__oauth_fail(error, MCP__OAUTH_RESOURCE_OTHER, p->resource, url);
    if (mcp__resource_same(p->resource, server))
        return MCP__OAUTH_OK;
    mcp__buf_init(&place, p->scopes.allocator, 0);
    int rc = mcp__resource_metadata_url(&place, p->resource);
    bool there = rc == MCP_OK && mcp__resource_same(mcp__buf_view(&place), url);
    mcp__buf_free(&place);
    if (rc == MCP_ENOMEM)
        return mcp__oauth_failed(error, rc);
    return there ? MCP__OAUTH_OK
                 : mcp__oauth_fail(error, MCP__OAUTH_RESOURCE_PLACE, p->resource, url);
}

static mcp__oauth_fault read_members(mcp__protected *ret, mcp_str server, mcp_str url,
                                     bool loopback, mcp_error *error)
{
    const mcp_json *root = mcp_json_root(ret->doc), *issuers, *scopes;
    ret->resource = mcp_json_string(mcp_json_get(root, "resource"));
    if (!ret->resource.len)
        return mcp__oauth_fail(error, MCP__OAUTH_RESOURCE_FORM, MCP_STR("resource"), url);
    mcp__oauth_fault fault = check_resource(ret, server, url, error);
    if (fault != MCP__OAUTH_OK)
        return fault;
    if (!mcp__json_get_list(root, "authorization_servers", &issuers))
        return mcp__oauth_fail(error, MCP__OAUTH_RESOURCE_FORM, MCP_STR("authorization_servers"),
                               url);
    if (!mcp__json_get_list(root, "scopes_supported", &scopes))
        return mcp__oauth_fail(error, MCP__OAUTH_RESOURCE_FORM, MCP_STR("scopes_supported"), url);
    if (!mcp__json_get_list(root, "dpop_signing_alg_values_supported", &ret->dpop_algs))
        return mcp__oauth_fail(error, MCP__OAUTH_RESOURCE_FORM,
                               MCP_STR("dpop_signing_alg_values_supported"), url);
    ret->dpop_required =
        mcp_json_bool(mcp_json_get(root, "dpop_bound_access_tokens_required"), false);
    read_scopes(ret, scopes);
    if (ret->scopes.failed)
        return mcp__oauth_failed(error, ret->scopes.failed);
    return read_issuers(ret, issuers, loopback, url, error);
}

mcp__oauth_fault mcp__protected_read(mcp__protected *ret, mcp_str body, mcp_str server, mcp_str url,
                                     bool loopback, const mcp_allocator *allocator,
                                     mcp_error *error)
{
    const mcp_allocator *a = mcp__allocator(allocator);
    memset(ret, 0, sizeof(*ret));
    mcp__buf_init(&ret->scopes, a, 0);
    mcp__no_error(error);
    if (body.len > MCP__DISCOVER_BYTES)
        return mcp__oauth_fail(error, MCP__OAUTH_RESOURCE_SIZE, none, url);
    int rc = mcp_json_parse(body, NULL, a, &ret->doc, NULL);
    if (rc == MCP_ENOMEM)
        return mcp__oauth_failed(error, rc);
    if (rc != MCP_OK || !mcp_json_is(mcp_json_root(ret->doc), MCP_JSON_OBJECT))
        return mcp__oauth_fail(error, MCP__OAUTH_RESOURCE_JSON, none, url);
    return read_members(ret, server, url, loopback, error);
}

void mcp__protected_clear(mcp__protected *resource)
{
    mcp_json_free(resource->doc);
    resource->doc = NULL;
    resource->n_issuers = 0;
    mcp__buf_free(&resource->scopes);
}

/* Returns the index of an issuer, or n_issuers. */
static size_t find(const mcp__protected *resource, mcp_str issuer)
{
    size_t i = 0;
    while (i < resource->n_issuers && !mcp_str_eq(resource->issuers[i], issuer))
        i++;
    return i;
}

mcp__oauth_fault mcp__protected_choose(const mcp__protected *resource, mcp_str configured,
                                       mcp_str known, mcp_str *ret, mcp_error *error)
{
    size_t i = find(resource, configured.len ? configured : known);
    mcp__no_error(error);
    if (i == resource->n_issuers && configured.len)
        return mcp__oauth_fail(error, MCP__OAUTH_ISSUER_UNLISTED, configured, resource->resource);
    *ret = resource->issuers[i < resource->n_issuers ? i : 0];
    return MCP__OAUTH_OK;
}
