/* era.c: finds the revision of a request.
 *
 * The _meta of a modern request describes it completely. A legacy request has the revision that
 * `initialize` negotiated. One channel serves both kinds at the same time.
 */
#include "server/core/mirrored.h"
#include "server/core/request.h"

int mcp__request_check_info(mcp_request *req, const mcp_json *info, const char *where)
{
    static const mcp_str members[] = {{"name", 4}, {"version", 7}};
    if (!mcp_json_is(info, MCP_JSON_OBJECT))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS, "Invalid params: %s must be an object",
                              where);
    for (size_t i = 0; i < MCP__COUNT(members); i++) {
        if (!mcp_json_is(mcp_json_get_str(info, members[i]), MCP_JSON_STRING))
            return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                                  "Invalid params: %s needs \"%s\", a string", where,
                                  members[i].ptr);
    }
    return MCP_OK;
}

static int check_token(mcp_request *req, const mcp_json *token)
{
    if (!token || mcp__is_id(token))
        return MCP_OK;
    return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                          "Invalid params: _meta \"progressToken\" must be a string or an integer");
}

/* The members of a modern _meta that are checked; NULL if missing. */
typedef struct meta_members {
    const mcp_json *version, *capabilities, *info, *token, *level;
} meta_members;

static meta_members read_meta(const mcp_json *meta)
{
    static const struct {
        mcp_str key;
        size_t member;
    } known[] = {
        {{MCP__META_REVISION, sizeof(MCP__META_REVISION) - 1}, offsetof(meta_members, version)},
        {{MCP__META_CLIENT_INFO, sizeof(MCP__META_CLIENT_INFO) - 1}, offsetof(meta_members, info)},
        {{MCP__META_CAPABILITIES, sizeof(MCP__META_CAPABILITIES) - 1},
         offsetof(meta_members, capabilities)},
        {{"progressToken", 13}, offsetof(meta_members, token)},
        {{MCP__META_LOG_LEVEL, sizeof(MCP__META_LOG_LEVEL) - 1}, offsetof(meta_members, level)},
    };
    meta_members m = {0};
    mcp_json_iter it = {0};
    mcp_str key = {0}; /* stays empty if meta is an array */
    for (const mcp_json *v; (v = mcp_json_next(meta, &it, &key)) != NULL;) {
        for (size_t i = 0; i < MCP__COUNT(known); i++) {
            if (mcp_str_eq(key, known[i].key)) {
                *(const mcp_json **)(void *)((char *)&m + known[i].member) = v;
                break;
            }
        }
    }
    return m;
}

/* Checks the _meta of a modern request. Returns its revision, or NULL after setting an error. */
static const mcp__revision *modern_revision(mcp_request *req, const mcp_json *meta)
{
    const meta_members m = read_meta(meta);
    bool has_headers = req->in.channel->options.header != NULL;
    req->revision = mcp__revision_newest(true);
    if (has_headers && mcp__mirror_check_revision(req) != MCP_OK)
        return NULL;
    if (!mcp_json_is(m.version, MCP_JSON_STRING)) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS,
                       "Invalid params: _meta \"" MCP__META_REVISION "\" must be a string");
        return NULL;
    }
    mcp_str name = mcp_json_string(m.version);
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
    if (!mcp_json_is(m.capabilities, MCP_JSON_OBJECT)) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS,
                       "Invalid params: _meta \"" MCP__META_CAPABILITIES
                       "\" must be an object; every request of revision %s must have it",
                       r->name);
        return NULL;
    }
    if (m.info &&
        mcp__request_check_info(req, m.info, "_meta \"" MCP__META_CLIENT_INFO "\"") != MCP_OK)
        return NULL;
    if (check_token(req, m.token) != MCP_OK)
        return NULL;
    if (m.level && mcp__log_level(mcp_json_string(m.level)) < 0) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS,
                       "Invalid params: _meta \"" MCP__META_LOG_LEVEL "\" is not a log level");
        return NULL;
    }
    return !has_headers || mcp__mirror_check_method(req) == MCP_OK ? r : NULL;
}

/* Returns the revision of a request that names no revision and arrives before a session has begun.
 * Sets an error and returns NULL if the method is not allowed before a session. */
static const mcp__revision *early_revision(mcp_request *req)
{
    mcp_str method = req->in.message.method;
    req->revision = mcp__revision_newest(false);
    if (mcp_str_eq(method, MCP_STR("initialize")) || mcp_str_eq(method, MCP_STR("ping")))
        return req->revision;
    mcp__buf supported;
    mcp__buf_init(&supported, &req->server->allocator, SIZE_MAX);
    for (size_t i = 0; i < MCP__REVISIONS; i++)
        mcp__buf_printf(&supported, "%s%s", i ? ", " : "", mcp__revisions[i].name);
    mcp_reply_fail(req, MCP__INVALID_PARAMS,
                   "Invalid params: the request has no _meta with \"" MCP__META_REVISION
                   "\" and \"" MCP__META_CAPABILITIES
                   "\", and initialize was not received; the server supports %.*s",
                   supported.failed ? 0 : (int)supported.len, supported.ptr);
    mcp__buf_free(&supported);
    return NULL;
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
    return check_token(req, mcp__json_member(meta, "progressToken")) == MCP_OK ? session->revision
                                                                               : NULL;
}

const mcp__revision *mcp__request_find_revision(mcp_request *req)
{
    const mcp_json *params = req->in.message.params;
    const mcp_json *meta = mcp__json_member(params, "_meta");
    if (!req->in.modern)
        return legacy_revision(req, meta);
    if (req->in.batch) {
        req->revision = mcp__revision_newest(true);
        mcp_reply_fail(req, MCP__INVALID_REQUEST, "Invalid request: revision %s has no batches",
                       req->revision->name);
        return NULL;
    }
    return modern_revision(req, meta);
}
