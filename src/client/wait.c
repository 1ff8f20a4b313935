/* wait.c: the blocking form of a call: runs the transport until the call has ended. */
#include "client/client.h"

static int take_outcome(mcp__call *call, mcp_json_doc **ret, mcp_error *error)
{
    int rc = call->rc;
    if (rc < 0 && error)
        *error = *call->error;
    if (ret && call->outcome) {
        *ret = call->outcome;
        call->outcome = NULL;
    }
    mcp__call_free(call);
    return rc;
}

/* Runs the transport once. Returns MCP_ESTATE if the client has no transport that can be run. */
static int step(mcp_client *client, mcp_error *error)
{
    if (!client->channel || !client->connection.transport.step)
        return mcp__fail(error, MCP_ESTATE, 0, "%s",
                         client->channel ? "this transport cannot be waited for"
                                         : "the client is not connected");
    mcp_channel *channel = client->channel;
    enum { LONGEST_MS = 60000 };
    client->calls.waiting = true;
    int rc = client->connection.transport.step(LONGEST_MS, channel->options.user);
    client->calls.waiting = false;
    return rc >= 0 ? MCP_OK : mcp__fail(error, rc, 0, "the wait was interrupted");
}

/* ---- waiting for the start ------------------------------------------------------------------ */

static bool start_has_ended(const mcp_client *client)
{
    return client->state != MCP__CLIENT_IDLE && client->state != MCP__CLIENT_STARTING;
}

static int wait_start(mcp_client *client, mcp_json_doc **ret, mcp_error *error)
{
    int rc = MCP_OK;
    if (client->state == MCP__CLIENT_IDLE && !client->start.requested)
        rc = mcp_client_start(client, NULL, NULL);
    while (rc == MCP_OK && client->channel && !start_has_ended(client))
        rc = step(client, error);
    if (rc != MCP_OK)
        return rc;
    if (client->state != MCP__CLIENT_READY) {
        if (error)
            *error = client->start.error;
        return client->start.rc != MCP_OK
                   ? client->start.rc
                   : mcp__fail(error, MCP_ECLOSED, 0, "%s", mcp_error_text(MCP_ECLOSED));
    }
    if (!ret)
        return MCP_OK;
    rc = mcp__client_copy(client, mcp_json_root(client->about), ret);
    return rc == MCP_OK ? rc : mcp__fail(error, rc, 0, "%s", mcp_error_text(rc));
}

/* ---- waiting for a call --------------------------------------------------------------------- */

static bool can_wait(const mcp_client *client)
{
    return !client->calls.waiting && !(client->channel && client->channel->in_use);
}

int mcp_client_wait(mcp_client *client, mcp_call_id handle, mcp_json_doc **ret, mcp_error *error)
{
    mcp__no_error(error);
    if (!client)
        return mcp__fail(error, MCP_EINVAL, 0, "a client is required");
    if (!can_wait(client))
        return mcp__fail(error, MCP_ESTATE, 0, "a callback cannot wait");
    if (!handle)
        return wait_start(client, ret, error);
    for (;;) {
        mcp__call *call = mcp__call_finished(client, handle);
        if (call)
            return take_outcome(call, ret, error);
        call = mcp__call_find(client, handle);
        if (!call || !call->keep)
            return mcp__fail(error, MCP_ENOTFOUND, 0, "no call with this id keeps its outcome");
        int rc = step(client, error);
        if (rc == MCP_ESTATE)
            return rc;
        call = rc == MCP_OK ? NULL : mcp__call_find(client, handle);
        if (call) { /* otherwise the failure has finished the call */
            call->keep = false;
            mcp_client_cancel(client, handle, "the caller stopped waiting");
            return rc;
        }
    }
}
