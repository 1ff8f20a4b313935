/* decide.c: asks the program before a handler runs (mcp/decide.h).
 *
 * A request that waits for the decision is one whose handler will answer later: it has its deadline,
 * can be cancelled and ends with its channel. When the decision has arrived, the method runs again
 * from its start, so nothing that was checked before the wait counts after it.
 */
#include "server/core/decide.h"

#include "server/core/access.h"
#include "server/input/input.h"
#include "server/methods/methods.h"

void mcp_server_set_decide(mcp_server *server,
                           int (*decide)(mcp_request *req, const mcp_intent *intent, void *user),
                           void *user)
{
    server->decide.fn = decide;
    server->decide.user = user;
}

static int ask(mcp_request *req, mcp_operation operation, const mcp_thing *things, size_t n)
{
    const mcp_intent intent = {
        .size = sizeof(intent), .operation = operation, .things = things, .n_things = n};
    int rc = req->server->decide.fn(req, &intent, req->server->decide.user);
    req->undecided = rc == MCP_PENDING;
    bool is_answered = rc == MCP_EREMOTE && req->tool.is_error && !req->error.code;
    return is_answered ? MCP__ANSWERED : rc;
}

/* A resource without a canonical spelling does not exist for a policy. */
static int spell(mcp_request *req, mcp_str uri, mcp_thing *to)
{
    char canonical[MCP__CANONICAL_ROOM];
    if (!mcp__access_spell(req->server, uri, canonical, sizeof(canonical)))
        return MCP_ENOTFOUND;
    char *copy = mcp_request_strdup(req, mcp_str_from(canonical));
    *to = (mcp_thing){MCP_ITEM_RESOURCE, mcp_str_from(copy)};
    return copy ? MCP_OK : MCP_ENOMEM;
}

int mcp__decide_about(mcp_request *req, mcp_operation operation, mcp_item item, mcp_str name)
{
    mcp_thing thing = {item, name};
    int rc = item == MCP_ITEM_RESOURCE ? spell(req, name, &thing) : MCP_OK;
    return rc == MCP_OK ? ask(req, operation, &thing, 1) : rc;
}

int mcp__decide_uris(mcp_request *req, const mcp_json *uris)
{
    size_t n = 0;
    mcp_thing *things = mcp_request_alloc(req, (mcp_json_count(uris) + 1) * sizeof(*things));
    mcp_json_iter it = {0};
    int rc = things ? MCP_OK : MCP_ENOMEM;
    for (const mcp_json *u; rc == MCP_OK && (u = mcp_json_next(uris, &it, NULL)) != NULL;) {
        rc = spell(req, mcp_json_string(u), &things[n]);
        n += rc == MCP_OK;
        rc = rc == MCP_ENOTFOUND ? MCP_OK : rc;
    }
    return rc == MCP_OK ? ask(req, MCP_OPERATION_READ, things, n) : rc;
}

int mcp__decide_nothing(mcp_request *req, mcp_operation operation)
{
    return ask(req, operation, NULL, 0);
}

/* In later rounds, the tool or prompt of the first one stays. */
static int run(mcp_request *req)
{
    if (req->input && req->input->again)
        return req->method->again(req);
    if (req->target.entry)
        mcp__entry_unref(req->target.entry);
    mcp_uri_match_free(req->target.match);
    req->target = (mcp__target){.entry = NULL};
    return req->method->run ? req->method->run(req) : mcp__run_other(req);
}

void mcp_request_decide_again(mcp_request *req)
{
    if (!req || !req->undecided || req->state != MCP__REQUEST_PENDING)
        return;
    req->undecided = false;
    req->on_cancel.fn = NULL;
    req->state = MCP__REQUEST_RUNNING;
    req->waited = true;
    mcp__deadline_stop(req); /* what runs now may be a subscription, which has none */
    mcp__request_finish(req, req->cancelled ? MCP_ECANCELLED : run(req));
}
