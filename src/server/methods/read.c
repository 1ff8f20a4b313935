/* read.c: resources/read. Looks for a resource with exactly this URI first, then for the most
 * specific template that matches, then for the provider that is mounted at the URI.
 */
#include "server/core/access.h"
#include "server/core/build.h"
#include "server/core/decide.h"
#include "server/core/trace.h"
#include "server/methods/left_out.h"

static int read_registered(mcp_request *req, mcp__entry *entry)
{
    req->target.entry = mcp__entry_ref(entry);
    if (entry->text)
        return mcp_reply_str(req, mcp_str_from(entry->text), NULL);
    return entry->read(req, req->target.uri, NULL, entry->user);
}

static int read_matched(mcp_request *req)
{
    mcp__entry *entry;
    int rc = mcp__registry_match(req->server, req->target.uri, &entry, &req->target.match);
    if (rc != MCP_OK)
        return rc;
    req->target.entry = mcp__entry_ref(entry);
    return entry->read(req, req->target.uri, req->target.match, entry->user);
}

int mcp__run_read(mcp_request *req)
{
    mcp__usage_begin_other(req, MCP_USAGE_SOURCE);
    mcp_str uri = mcp__param_string(req, "uri");
    if (!uri.ptr)
        return MCP_EINVAL;
    req->target.uri = uri;
    if (!mcp__may_read(req->server, mcp_request_identity(req), uri))
        return mcp__access_refuse(req, MCP_ITEM_RESOURCE, uri);
    int rc = mcp__decide(req, MCP_OPERATION_READ, MCP_ITEM_RESOURCE, uri);
    if (rc != MCP_OK)
        return rc;
    mcp__entry *entry = mcp__registry_find(req->server, MCP__RESOURCES, uri);
    if (entry)
        return read_registered(req, entry);
    const mcp__mount *mount = mcp__mount_find(req->server, uri);
    if (mount) {
        mcp__usage_begin(req, mount->meter);
        mcp__trace_source(req, mount);
    }
    const char *failure = mount ? mcp__left_out_why(req, mount, uri) : NULL;
    if (failure)
        return mcp_reply_fail(req, MCP__INTERNAL_ERROR, "%s", failure);
    if (mount && mount->provider.read_cached) {
        rc = mount->provider.read_cached(req, uri, mount->user);
        if (rc != MCP_ENOTFOUND)
            return rc;
    }

    if (mount && mount->provider.opaque)
        return mount->provider.read ? mount->provider.read(req, uri, mount->user) : MCP_ENOTFOUND;
    mcp_uri parsed;
    mcp_error why = {0};
    rc = mcp_uri_parse(uri, &parsed, &why);
    if (rc == MCP_ENOMEM)
        return rc;
    if (rc != MCP_OK)
        return mcp_reply_fail(req, MCP__INVALID_PARAMS, "Invalid params: \"uri\": %s", why.text);
    rc = read_matched(req);
    if (rc != MCP_ENOTFOUND || req->target.entry)
        return rc;
    return mount && mount->provider.read ? mount->provider.read(req, uri, mount->user)
                                         : MCP_ENOTFOUND;
}

int mcp__again_read(mcp_request *req)
{
    /* The provider or entry of the first round may have been removed since, so the URI is looked up
     * again. In contrast, all rounds of a tool or prompt use the same entry. */
    mcp__build_take(req);
    if (req->target.entry)
        mcp__entry_unref(req->target.entry);
    mcp_uri_match_free(req->target.match);
    req->target.entry = NULL;
    req->target.match = NULL;
    return mcp__run_read(req);
}
