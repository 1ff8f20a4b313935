/* handshake.c: methods for the start of a connection and for a legacy session: initialize,
 * server/discover, ping, logging/setLevel.
 */
#include "server/methods/methods.h"

static void put_instructions(mcp_request *req, mcp__buf *b)
{
    const mcp_server *server = req->server;
    mcp_str text = mcp_str_from(server->make_instructions
                                    ? server->make_instructions(req, server->instructions_user)
                                    : server->instructions);
    if (!text.ptr || mcp__utf8_valid(text.ptr, text.len) != text.len)
        return;
    mcp__buf_lit(b, ",\"instructions\":");
    mcp__json_put_str(b, text);
}

void mcp__initialize_tail(mcp_request *req, mcp__buf *b)
{
    mcp__buf_lit(b, ",\"protocolVersion\":");
    mcp__json_put_str(b, mcp_str_from(req->revision->name));
    mcp__buf_lit(b, ",\"capabilities\":");
    mcp__put_capabilities(b, req);
    mcp__buf_lit(b, ",\"serverInfo\":");
    mcp__buf_str(b, req->server->info[mcp__revision_index(req->revision)]);
    put_instructions(req, b);
}

/* Copies the params of initialize, which contain the client's capabilities. */
static int copy_params(const mcp_server *server, const mcp_json *params, mcp_json_doc **ret)
{
    mcp__buf text;
    mcp__buf_init(&text, &server->allocator, SIZE_MAX);
    mcp__json_put_value(&text, params);
    int rc = text.failed;
    if (rc == MCP_OK)
        rc = mcp_json_parse(mcp__buf_view(&text), NULL, &server->allocator, ret, NULL);
    if (rc == MCP_OK)
        (void)mcp__json_shrink(ret); /* it is kept as long as the session, shrunk or not */
    mcp__buf_free(&text);
    return rc;
}

int mcp__run_initialize(mcp_request *req)
{
    mcp__session *session = req->in.channel->state;
    const mcp_json *params = req->in.message.params;
    mcp_str version = mcp__param_string(req, "protocolVersion");
    if (!version.ptr)
        return MCP_EINVAL;
    if (!mcp_json_is(mcp_json_get(params, "capabilities"), MCP_JSON_OBJECT))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: \"capabilities\" must be an object");
    mcp_json_doc *copy = NULL;
    int rc = mcp__request_check_info(req, mcp_json_get(params, "clientInfo"), "\"clientInfo\"");
    if (rc == MCP_OK)
        rc = copy_params(session->server, params, &copy);
    if (rc != MCP_OK)
        return rc;
    if (session->revision)
        mcp__session_forget(req);
    session->initialize = copy;
    session->revision = req->revision = mcp__revision_negotiate(version);
    return MCP_OK;
}

void mcp__discover_tail(mcp_request *req, mcp__buf *b)
{
    mcp__buf_lit(b, ",\"supportedVersions\":");
    mcp__put_modern_revisions(b);
    mcp__buf_lit(b, ",\"capabilities\":");
    mcp__put_capabilities(b, req);
    put_instructions(req, b);
}

int mcp__run_discover(mcp_request *req)
{
    (void)req; /* the whole result is written by the tail */
    return MCP_OK;
}

int mcp__run_ping(mcp_request *req)
{
    (void)req;
    return MCP_OK;
}

int mcp__run_set_level(mcp_request *req)
{
    mcp__session *session = req->in.channel->state;
    mcp_str name = mcp__param_string(req, "level");
    if (!name.ptr)
        return MCP_EINVAL;
    int level = mcp__log_level(name);
    if (level < 0)
        return mcp_reply_fail(
            req, MCP__INVALID_PARAMS,
            "Invalid params: \"level\" must be debug, info, notice, warning, error, "
            "critical, alert or emergency");
    session->log_level = level;
    session->has_log_level = true;
    return MCP_OK;
}
