/* era.c: by which revision a request is to be understood, and whether it says about itself what that demands.
 *
 * A modern request says everything about itself in its _meta; a legacy one is understood by what `initialize` agreed
 * on. One channel serves both at once.
 */
#include "server/core/mirror.h"
#include "server/methods/methods.h"

int mcp__era_check_info(mcp_request *req, const mcp_json *info, const char *where)
{
    static const char *const members[] = {"name", "version"};
    if (!mcp_json_is(info, MCP_JSON_OBJECT))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS, "Invalid params: %s must be an object",
                              where);
    for (size_t i = 0; i < MCP__COUNT(members); i++) {
        if (!mcp_json_is(mcp_json_get(info, members[i]), MCP_JSON_STRING))
            return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                                  "Invalid params: %s needs \"%s\", a string", where, members[i]);
    }
    return MCP_OK;
}

static int check_token(mcp_request *req, const mcp_json *meta)
{
    const mcp_json *token = mcp_json_get(meta, "progressToken");
    if (!token || mcp__is_id(token))
        return MCP_OK;
    return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                          "Invalid params: _meta \"progressToken\" must be a string or an integer");
}

/* Checks a modern request's _meta; the row, or NULL after the error was set. */
static const mcp__revision *modern_revision(mcp_request *req, const mcp_json *meta)
{
    const mcp_json *version = mcp_json_get(meta, MCP__META_REVISION);
    req->revision = mcp__revision_newest(true);
    if (mcp__mirror_check_revision(req) != MCP_OK)
        return NULL;
    if (!mcp_json_is(version, MCP_JSON_STRING)) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS,
                       "Invalid params: _meta \"" MCP__META_REVISION "\" must be a string");
        return NULL;
    }
    mcp_str name = mcp_json_string(version);
    const mcp__revision *r = mcp__revision_find(name);
    if (!r || !r->modern) {
        mcp__buf data;
        mcp__buf_init(&data, &req->server->allocator, SIZE_MAX);
        mcp__buf_lit(&data, "{\"supported\":");
        mcp__put_modern_revisions(&data);
        mcp__buf_lit(&data, ",\"requested\":");
        mcp__json_put_str(&data, name);
        mcp__buf_add(&data, "}", 2);
        mcp_reply_fail_data(req, MCP__UNSUPPORTED_REVISION, data.failed ? NULL : data.ptr,
                            "Unsupported protocol version");
        mcp__buf_free(&data);
        return NULL;
    }
    if (!mcp_json_is(mcp_json_get(meta, MCP__META_CAPABILITIES), MCP_JSON_OBJECT)) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS,
                       "Invalid params: _meta \"" MCP__META_CAPABILITIES
                       "\" must be an object; every request of %s carries it",
                       r->name);
        return NULL;
    }
    const mcp_json *info = mcp_json_get(meta, MCP__META_CLIENT_INFO);
    if (info && mcp__era_check_info(req, info, "_meta \"" MCP__META_CLIENT_INFO "\"") != MCP_OK)
        return NULL;
    if (check_token(req, meta) != MCP_OK)
        return NULL;
    const mcp_json *level = mcp_json_get(meta, MCP__META_LOG_LEVEL);
    if (level && mcp__log_level(mcp_json_string(level)) < 0) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS,
                       "Invalid params: _meta \"" MCP__META_LOG_LEVEL "\" is no log level");
        return NULL;
    }
    return mcp__mirror_check_method(req) == MCP_OK ? r : NULL;
}

/* What a peer may ask that has neither said its revision nor begun a session. */
static const mcp__revision *early_revision(mcp_request *req)
{
    mcp_str method = req->in.message.method;
    req->revision = mcp__revision_newest(false);
    if (mcp_str_eq(method, MCP_STR("initialize")) || mcp_str_eq(method, MCP_STR("ping")))
        return req->revision;
    mcp__buf served;
    mcp__buf_init(&served, &req->server->allocator, SIZE_MAX);
    for (size_t i = 0; i < mcp__revision_count; i++)
        mcp__buf_printf(&served, "%s%s", i ? ", " : "", mcp__revisions[i].name);
    mcp_reply_fail(req, MCP__INVALID_PARAMS,
                   "Invalid params: the request has no _meta with \"" MCP__META_REVISION
                   "\" and \"" MCP__META_CAPABILITIES
                   "\", and initialize was not received; served are %.*s",
                   served.failed ? 0 : (int)served.len, served.ptr);
    mcp__buf_free(&served);
    return NULL;
}

/* Whether the transport's own metadata says that the request is a modern one. */
static bool says_modern(mcp_request *req)
{
    mcp_channel *channel = req->in.channel;
    mcp_str value;
    if (!channel->options.header ||
        !channel->options.header(channel, req->in.exchange, "MCP-Protocol-Version", &value,
                                 channel->options.user))
        return false;
    const mcp__revision *r = mcp__revision_find(value);
    return r && r->modern;
}

static const mcp__revision *legacy_revision(mcp_request *req, const mcp_json *meta)
{
    const mcp__session *session = req->in.channel->state;
    req->revision = session->revision ? session->revision : mcp__revision_newest(true);
    if (meta && !mcp_json_is(meta, MCP_JSON_OBJECT)) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS, "Invalid params: \"_meta\" must be an object");
        return NULL;
    }
    if (!session->revision)
        return early_revision(req);
    return check_token(req, meta) == MCP_OK ? session->revision : NULL;
}

const mcp__revision *mcp__era_find(mcp_request *req)
{
    const mcp_json *params = req->in.message.params;
    const mcp_json *meta = mcp_json_get(params, "_meta");
    if (mcp_json_get(meta, MCP__META_REVISION) == NULL && !says_modern(req))
        return legacy_revision(req, meta);
    if (req->in.batch) {
        req->revision = mcp__revision_newest(true);
        mcp_reply_fail(req, MCP__INVALID_REQUEST, "Invalid request: %s has no batches",
                       req->revision->name);
        return NULL;
    }
    return modern_revision(req, meta);
}
