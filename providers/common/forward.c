/* forward.c: see forward.h. */
#include "forward.h"

#include <mcp/sys/client.h>
#include <mcp/sys/forward.h>

static void on_cancel(mcp_request *req, void *user)
{
    common_forward *f = user;
    f->req = NULL;
    f->span = NULL;
    f->kind->cancelled(f);
    mcp_reply_finish(req, MCP_ECANCELLED);
}

void common_forward_attach(common_forward *f, mcp_request *req)
{
    f->req = req;
    mcp_request_on_cancel(req, on_cancel, f);
}

mcp_request *common_forward_detach(common_forward *f)
{
    mcp_request *req = f->req;
    f->req = NULL;
    f->span = NULL;
    if (req)
        mcp_request_on_cancel(req, NULL, NULL);
    return req;
}

static void on_ready(int rc, const mcp_error *error, void *user)
{
    common_forward *f = user;
    if (rc == MCP_OK)
        rc = f->kind->send(f);
    if (rc != MCP_OK)
        f->kind->failed(f, rc, error);
}

int common_forward_start(common_forward *f, mcp_error *error)
{
    if (!f->service)
        return f->kind->send(f);
    f->use.ready = on_ready;
    f->use.user = f;
    int rc = mcp_service_begin(f->service, &f->use, error);
    if (rc == MCP_PENDING)
        return MCP_OK;
    return rc == MCP_OK ? f->kind->send(f) : rc;
}

static void on_done(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user)
{
    common_forward *f = user;
    (void)client;
    f->call = 0;
    f->kind->done(f, rc, result, error);
}

static void on_progress(mcp_client *client, mcp_call_id call, const mcp_progress *progress,
                        void *user)
{
    const common_forward *f = user;
    (void)call, (void)progress;
    if (f->kind->progressed)
        f->kind->progressed(user);
    mcp_str params = mcp_client_progress_text(client);
    if (f->req && params.ptr)
        (void)mcp_request_progress_raw(f->req, params);
}

mcp_call_options common_forward_options(common_forward *f)
{
    return (mcp_call_options){.size = sizeof(mcp_call_options),
                              .done = on_done,
                              .progress = on_progress,
                              .user = f,
                              .meta = f->params.meta,
                              .name = f->params.name};
}

int common_forward_call(common_forward *f, const mcp_call_options *options)
{
    return mcp_client_request(f->client, f->method, f->params.members, options, &f->call);
}

void common_forward_cancel(common_forward *f, const char *why)
{
    if (f->call)
        (void)mcp_client_cancel(f->client, f->call, why);
    else
        f->kind->free(f);
}

void common_forward_finish(common_forward *f, int outcome)
{
    mcp_request *req = common_forward_detach(f);
    f->kind->free(f);
    if (req)
        mcp_reply_finish(req, outcome);
}
