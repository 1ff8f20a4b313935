/* metadata.c: protected resource metadata (RFC 9728); see challenge.h. */
#include <mcp/uri.h>

#include "auth/challenge.h"
#include "protocol/scope.h"

static void add_text(mcp_json_writer *w, const char *name, mcp_str value)
{
    if (!value.len)
        return;
    mcp_json_key(w, name);
    mcp_json_add_str(w, value);
}

static void add_scopes(mcp_json_writer *w, mcp_str scopes)
{
    bool any = false;
    for (mcp_str scope; mcp__scope_next(&scopes, &scope);) {
        if (mcp__scope_is_offline(scope))
            continue;
        if (!any) {
            mcp_json_key(w, "scopes_supported");
            mcp_json_begin_array(w);
        }
        mcp_json_add_str(w, scope);
        any = true;
    }
    if (any)
        mcp_json_end(w);
}

static void add_dpop(mcp_json_writer *w, const mcp__resource *resource)
{
    if (!resource->dpop && !resource->dpop_required)
        return;
    mcp_json_key(w, "dpop_signing_alg_values_supported");
    mcp_json_begin_array(w);
    for (const mcp__jws_alg *alg = mcp__jws_algs; alg->name; alg++)
        mcp_json_add_string(w, alg->name);
    mcp_json_end(w);
    mcp_json_key(w, "dpop_bound_access_tokens_required");
    mcp_json_add_bool(w, resource->dpop_required);
}

static void write(mcp_json_writer *w, const mcp__resource *resource)
{
    mcp_json_begin_object(w);
    add_text(w, "resource", resource->url);
    mcp_json_key(w, "authorization_servers");
    mcp_json_begin_array(w);
    for (size_t i = 0; i < resource->n_issuers; i++)
        mcp_json_add_str(w, resource->issuers[i]);
    mcp_json_end(w);
    add_scopes(w, resource->scopes);
    mcp_json_key(w, "bearer_methods_supported");
    mcp_json_begin_array(w);
    mcp_json_add_string(w, "header");
    mcp_json_end(w);
    add_text(w, "resource_name", resource->name);
    add_text(w, "resource_documentation", resource->documentation);
    add_dpop(w, resource);
    mcp_json_end(w);
}

int mcp__resource_put(mcp__buf *to, const mcp__resource *resource)
{
    if (!resource->url.len || !resource->n_issuers)
        return MCP_EINVAL;
    mcp_json_writer *w = mcp_json_writer_new(to->allocator, 0);
    mcp_str text;
    write(w, resource);
    int rc = mcp_json_writer_finish(w, &text);
    if (rc == MCP_OK)
        mcp__buf_str(to, text);
    mcp_json_writer_free(w);
    return rc == MCP_OK ? to->failed : rc;
}

int mcp__resource_metadata_url(mcp__buf *to, mcp_str resource_url)
{
    mcp_uri uri;
    int rc = mcp_uri_parse(resource_url, &uri, NULL);
    if (rc != MCP_OK)
        return rc == MCP_ENOMEM ? rc : MCP_EINVAL;
    if ((!mcp_uri_scheme_is(&uri, "https") && !mcp_uri_scheme_is(&uri, "http")) || !uri.host.len ||
        uri.has_userinfo || uri.has_fragment)
        return MCP_EINVAL;
    size_t origin = resource_url.len - (uri.has_query ? uri.query.len + 1 : 0) - uri.path.len;
    mcp__buf_add(to, resource_url.ptr, origin);
    mcp__buf_lit(to, "/.well-known/oauth-protected-resource");
    if (mcp_str_eq(uri.path, MCP_STR("/")))
        origin++;
    mcp__buf_str(to, mcp__str_sub(resource_url, origin));
    return to->failed;
}
