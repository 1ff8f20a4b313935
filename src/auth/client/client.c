/* client.c: the OAuth client object (mcp/oauth.h). */
#include <mcp/oauth.h>

#include "base/base.h"

int mcp_oauth_client_new(const mcp_oauth_client_options *options, mcp_oauth_client **ret,
                         mcp_error *error)
{
    (void)options, (void)ret;
    return mcp__fail(error, MCP_EUNSUPPORTED, 0, "OAuth clients are not available yet");
}

void mcp_oauth_client_free(mcp_oauth_client *client)
{
    (void)client;
}

int mcp_oauth_client_login(mcp_oauth_client *client, mcp_oauth_done_fn *done, void *user)
{
    (void)client, (void)done, (void)user;
    return MCP_EINVAL;
}

int mcp_oauth_client_logout(mcp_oauth_client *client, mcp_oauth_done_fn *done, void *user)
{
    (void)client, (void)done, (void)user;
    return MCP_EINVAL;
}

int mcp_oauth_client_redirected(mcp_oauth_client *client, mcp_str url, mcp_error *error)
{
    (void)client, (void)url;
    return mcp__fail(error, MCP_ESTATE, 0, "no visit is in progress");
}

void mcp_oauth_client_declined(mcp_oauth_client *client, int rc, const char *text)
{
    (void)client, (void)rc, (void)text;
}

void mcp_oauth_client_locked(mcp_oauth_client *client, int rc)
{
    (void)client, (void)rc;
}

int mcp_oauth_client_get_state(mcp_oauth_client *client, mcp_oauth_state *ret, mcp_error *error)
{
    (void)client, (void)ret;
    return mcp__fail(error, MCP_EINVAL, 0, "there is no client");
}
