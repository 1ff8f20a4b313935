/* client_info.c: what the client of a request declared: its name and its capabilities. */
#include <mcp/input.h>

#include "server/core/request.h"

/* Returns what the client declared. A modern client declares it in each request, a legacy client
 * once in `initialize`. */
static const mcp_json *declared_by_client(const mcp_request *req, const char *modern,
                                          const char *legacy)
{
    if (req->revision->modern)
        return mcp_json_get(mcp_request_meta(req), modern);
    const mcp__session *session = mcp__request_session(req);
    return session && session->initialize ? mcp_json_get(mcp_json_root(session->initialize), legacy)
                                          : NULL;
}

const mcp_json *mcp_request_client_capabilities(const mcp_request *req)
{
    return declared_by_client(req, MCP__META_CAPABILITIES, "capabilities");
}

/* Replaces the parent's own identity with that of the caller. */
static int take_identity(mcp_request *req, const mcp_json *caller)
{
    const char *principal = mcp_json_string(mcp_json_get(caller, "principal")).ptr;
    const char *token = mcp_json_string(mcp_json_get(caller, "token")).ptr;
    const char *view = mcp_json_string(mcp_json_get(caller, "view")).ptr;
    mcp_identity_unref(req->identity);
    req->identity = NULL;
    if (!principal && !view)
        return MCP_OK;
    return mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = principal,
                                        .token = token, .view = view,
                                        .allocator = &req->server->allocator),
                            &req->identity, NULL);
}

int mcp__request_take_caller(mcp_request *req)
{
    const mcp_json *caller = mcp_json_get(mcp_request_meta(req), MCP_META_CALLER);
    mcp_str name = mcp_json_string(mcp_json_get(caller, "revision"));
    const mcp__revision *revision = name.ptr ? mcp__revision_find(name) : NULL;
    if (!mcp_json_is(caller, MCP_JSON_OBJECT))
        return MCP_OK;
    req->caller = caller;
    if (revision)
        req->revision = revision;
    return take_identity(req, caller);
}

const mcp_json *mcp_request_client_info(const mcp_request *req)
{
    if (req->caller)
        return mcp_json_get(req->caller, "clientInfo");
    return declared_by_client(req, MCP__META_CLIENT_INFO, "clientInfo");
}

/* Returns whether the value declares a capability: it is an object, even an empty one. Only
 * roots.listChanged of legacy revisions is a boolean. */
static bool is_declared(const mcp_json *capability)
{
    return mcp_json_is(capability, MCP_JSON_OBJECT) || mcp_json_bool(capability, false);
}

/* A capability that the revision does not have counts as missing, even if the client declares
 * it. */
static bool is_in_revision(const mcp__revision *r, mcp_str group, mcp_str member)
{
    if (mcp_str_eq(group, MCP_STR("elicitation")))
        return r->elicitation && (r->elicitation_modes || !mcp_str_eq(member, MCP_STR("url")));
    if (mcp_str_eq(group, MCP_STR("sampling")) && mcp_str_eq(member, MCP_STR("tools")))
        return r->sampling_tools;
    return true;
}

static bool declares(const mcp_request *req, mcp_str group, mcp_str member)
{
    const mcp_json *found = mcp_json_get_str(mcp_request_client_capabilities(req), group);
    if (!is_in_revision(req->revision, group, member))
        return false;
    if (!is_declared(found) || !member.len)
        return is_declared(found);
    /* Before there were modes, clients declared form mode in these ways (2026-07-28,
     * client/elicitation, "Capabilities"). */
    if (mcp_str_eq(group, MCP_STR("elicitation")) && mcp_str_eq(member, MCP_STR("form")) &&
        (mcp_json_count(found) == 0 || !req->revision->elicitation_modes))
        return true;
    return is_declared(mcp_json_get_str(found, member));
}

/* Splits "elicitation.url" into the group and the part after the first dot. Returns false if a part
 * is empty. */
static bool split_capability(const char *capability, mcp_str *group, mcp_str *member)
{
    *group = mcp_str_from(capability);
    *member = (mcp_str){0};
    const char *dot = group->len ? memchr(group->ptr, '.', group->len) : NULL;
    if (dot) {
        *member = mcp__str_sub(*group, (size_t)(dot - group->ptr) + 1);
        group->len = (size_t)(dot - group->ptr);
    }
    return group->len && (!dot || member->len);
}

bool mcp_request_can(const mcp_request *req, const char *capability)
{
    mcp_str group, member;
    return split_capability(capability, &group, &member) && declares(req, group, member);
}

/* Returns {"requiredCapabilities":{"sampling":{"tools":{}}}} in the arena. */
static mcp_str required_data(mcp_request *req, mcp_str group, mcp_str member)
{
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, SIZE_MAX);
    mcp__buf_lit(&b, "{\"requiredCapabilities\":{");
    mcp__json_put_str(&b, group);
    mcp__buf_lit(&b, ":{");
    if (member.len) {
        mcp__json_put_str(&b, member);
        mcp__buf_lit(&b, ":{}");
    }
    mcp__buf_lit(&b, "}}}");
    mcp_str data = {0};
    if (!b.failed)
        data = mcp_str_from(mcp_request_strdup(req, mcp__buf_view(&b)));
    mcp__buf_free(&b);
    return data;
}

int mcp_request_require(mcp_request *req, const char *capability)
{
    mcp_str group, member;
    if (!split_capability(capability, &group, &member))
        return MCP_EINVAL;
    if (declares(req, group, member))
        return MCP_OK;
    /* The specification requires this data, so the error is not sent without it. */
    mcp_str data = required_data(req, group, member);
    if (!data.ptr)
        return MCP_ENOMEM;
    if (!is_in_revision(req->revision, group, member))
        return mcp_reply_fail_data(
            req, req->revision->missing_capability_code, data.ptr,
            "This needs the capability %s, which revision %s of the protocol "
            "does not have: connect with a later one",
            capability, req->revision->name);
    return mcp_reply_fail_data(req, req->revision->missing_capability_code, data.ptr,
                               "This needs the capability %s, which the client did not declare",
                               capability);
}

bool mcp__request_lacks(const mcp_request *req, const mcp_json *required)
{
    mcp_json_iter groups = {0};
    mcp_str group, member;
    for (const mcp_json *g; (g = mcp_json_next(required, &groups, &group)) != NULL;) {
        mcp_json_iter members = {0};
        if (!declares(req, group, (mcp_str){0}))
            return true;
        while (mcp_json_is(g, MCP_JSON_OBJECT) && mcp_json_next(g, &members, &member)) {
            if (!declares(req, group, member))
                return true;
        }
    }
    return false;
}
