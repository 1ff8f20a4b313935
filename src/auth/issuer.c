/* issuer.c: reads authorization server metadata (RFC 8414 sections 2 and 3.3); see discover.h. */
#include <mcp/uri.h>

#include "auth/discover.h"

static const mcp_str none = {NULL, 0};

/* The members that are URLs, and those that are lists of strings. */
static const struct member {
    const char *name;
    size_t offset;
} endpoints[] =
    {
        {"authorization_endpoint", offsetof(mcp__issuer, authorization)},
        {"token_endpoint", offsetof(mcp__issuer, token)},
        {"registration_endpoint", offsetof(mcp__issuer, registration)},
        {"device_authorization_endpoint", offsetof(mcp__issuer, device)},
        {"revocation_endpoint", offsetof(mcp__issuer, revocation)},
},
  lists[] = {
      {"scopes_supported", offsetof(mcp__issuer, scopes)},
      {"grant_types_supported", offsetof(mcp__issuer, grants)},
      {"response_types_supported", offsetof(mcp__issuer, responses)},
      {"token_endpoint_auth_methods_supported", offsetof(mcp__issuer, methods)},
      {"token_endpoint_auth_signing_alg_values_supported", offsetof(mcp__issuer, method_algs)},
      {"code_challenge_methods_supported", offsetof(mcp__issuer, challenges)},
      {"dpop_signing_alg_values_supported", offsetof(mcp__issuer, dpop_algs)},
      {"authorization_grant_profiles_supported", offsetof(mcp__issuer, profiles)},
};

/* Returns the address of a member of *issuer. */
static void *place(mcp__issuer *issuer, const struct member *member)
{
    return (char *)issuer + member->offset;
}

static mcp__oauth_fault read_endpoint(mcp__issuer *ret, const struct member *member,
                                      const mcp__issuer_rules *rules, mcp_error *error)
{
    const mcp_json *value = mcp_json_get(mcp_json_root(ret->doc), member->name);
    mcp_str *url = place(ret, member);
    if (!value || mcp_json_is(value, MCP_JSON_NULL))
        return MCP__OAUTH_OK;
    *url = mcp_json_string(value);
    if (url->ptr && !url->len)
        return MCP__OAUTH_OK; /* some servers have empty URLs for what they do not offer */
    if (!url->len)
        return mcp__oauth_fail(error, MCP__OAUTH_METADATA_FORM, mcp_str_from(member->name),
                               rules->url);
    if (!mcp__oauth_url(*url, rules->loopback))
        return mcp__oauth_fail_named(error, MCP__OAUTH_METADATA_URL, mcp_str_from(member->name),
                                     *url, rules->url);
    return MCP__OAUTH_OK;
}

static mcp__oauth_fault read_members(mcp__issuer *ret, const mcp__issuer_rules *rules,
                                     mcp_error *error)
{
    const mcp_json *root = mcp_json_root(ret->doc);
    for (size_t i = 0; i < MCP__COUNT(endpoints); i++) {
        mcp__oauth_fault fault = read_endpoint(ret, &endpoints[i], rules, error);
        if (fault != MCP__OAUTH_OK)
            return fault;
    }
    for (size_t i = 0; i < MCP__COUNT(lists); i++) {
        if (!mcp__json_get_list(root, lists[i].name, place(ret, &lists[i])))
            return mcp__oauth_fail(error, MCP__OAUTH_METADATA_FORM, mcp_str_from(lists[i].name),
                                   rules->url);
    }
    if (!ret->token.len)
        return mcp__oauth_fail(error, MCP__OAUTH_METADATA_FORM, MCP_STR("token_endpoint"),
                               rules->url);
    ret->names_itself =
        mcp_json_bool(mcp_json_get(root, "authorization_response_iss_parameter_supported"), false);
    ret->reads_documents =
        mcp_json_bool(mcp_json_get(root, "client_id_metadata_document_supported"), false);
    return MCP__OAUTH_OK;
}

mcp__oauth_fault mcp__issuer_read(mcp__issuer *ret, mcp_str body, const mcp__issuer_rules *rules,
                                  const mcp_allocator *allocator, mcp_error *error)
{
    memset(ret, 0, sizeof(*ret));
    mcp__no_error(error);
    if (body.len > MCP__DISCOVER_BYTES)
        return mcp__oauth_fail(error, MCP__OAUTH_METADATA_SIZE, none, rules->url);
    int rc = mcp_json_parse(body, NULL, mcp__allocator(allocator), &ret->doc, NULL);
    if (rc == MCP_ENOMEM)
        return mcp__oauth_failed(error, rc);
    const mcp_json *root = mcp_json_root(ret->doc);
    if (rc != MCP_OK || !mcp_json_is(root, MCP_JSON_OBJECT))
        return mcp__oauth_fail(error, MCP__OAUTH_METADATA_JSON, none, rules->url);
    ret->issuer = mcp_json_string(mcp_json_get(root, "issuer"));
    if (!ret->issuer.len)
        return mcp__oauth_fail(error, MCP__OAUTH_METADATA_FORM, MCP_STR("issuer"), rules->url);
    if (!mcp_str_eq(ret->issuer, rules->issuer) &&
        !(rules->trusted.len && mcp_str_eq(ret->issuer, rules->trusted)))
        return mcp__oauth_fail(error, MCP__OAUTH_METADATA_ISSUER, ret->issuer, rules->url);
    return read_members(ret, rules, error);
}

void mcp__issuer_clear(mcp__issuer *issuer)
{
    mcp_json_free(issuer->doc);
    memset(issuer, 0, sizeof(*issuer));
}

/* ---- servers without metadata ---------------------------------------------------------------- */

/* Appends the metadata as JSON. The origin of a URL has only characters that JSON need not
 * escape. */
static void put_legacy(mcp__buf *to, mcp_str origin)
{
    int n = (int)origin.len;
    mcp__buf_printf(to,
                    "{\"issuer\":\"%.*s\",\"authorization_endpoint\":\"%.*s/authorize\","
                    "\"token_endpoint\":\"%.*s/token\",\"registration_endpoint\":"
                    "\"%.*s/register\"}",
                    n, origin.ptr, n, origin.ptr, n, origin.ptr, n, origin.ptr);
}

mcp__oauth_fault mcp__issuer_legacy(mcp__issuer *ret, mcp_str server, bool loopback,
                                    const mcp_allocator *allocator, mcp_error *error)
{
    mcp_uri uri;
    mcp__buf text;
    memset(ret, 0, sizeof(*ret));
    if (!mcp__oauth_url(server, loopback) || mcp_uri_parse(server, &uri, NULL) != MCP_OK)
        return mcp__oauth_fail(error, MCP__OAUTH_ISSUER_URL, server, none);
    server.len -= (uri.has_query ? uri.query.len + 1 : 0) + uri.path.len;
    mcp__issuer_rules rules = {.issuer = server, .url = server, .loopback = loopback};
    mcp__buf_init(&text, mcp__allocator(allocator), 0);
    put_legacy(&text, server);
    mcp__oauth_fault fault =
        text.failed ? mcp__oauth_failed(error, text.failed)
                    : mcp__issuer_read(ret, mcp__buf_view(&text), &rules, allocator, error);
    mcp__buf_free(&text);
    return fault;
}

/* ---- what a server supports ------------------------------------------------------------------ */

mcp__oauth_fault mcp__issuer_check_grant(const mcp__issuer *issuer, mcp_str grant, mcp_error *error)
{
    mcp__no_error(error);
    if (issuer->grants && !mcp__json_lists(issuer->grants, grant))
        return mcp__oauth_fail(error, MCP__OAUTH_METADATA_GRANT, grant, issuer->issuer);
    return MCP__OAUTH_OK;
}

mcp__oauth_fault mcp__issuer_check_code(const mcp__issuer *issuer, bool assume_pkce,
                                        mcp_error *error)
{
    mcp__no_error(error);
    if (!issuer->authorization.len)
        return mcp__oauth_fail(error, MCP__OAUTH_METADATA_CODE, MCP_STR("authorization_endpoint"),
                               issuer->issuer);
    if (issuer->responses && !mcp__json_lists(issuer->responses, MCP_STR("code")))
        return mcp__oauth_fail(error, MCP__OAUTH_METADATA_CODE, MCP_STR("response_types_supported"),
                               issuer->issuer);
    if (issuer->grants && !mcp__json_lists(issuer->grants, MCP_STR("authorization_code")))
        return mcp__oauth_fail(error, MCP__OAUTH_METADATA_CODE, MCP_STR("grant_types_supported"),
                               issuer->issuer);
    if (!mcp_json_count(issuer->challenges) && !assume_pkce)
        return mcp__oauth_fail(error, MCP__OAUTH_METADATA_PKCE, none, issuer->issuer);
    if (mcp_json_count(issuer->challenges) && !mcp__json_lists(issuer->challenges, MCP_STR("S256")))
        return mcp__oauth_fail(error, MCP__OAUTH_METADATA_S256, none, issuer->issuer);
    return MCP__OAUTH_OK;
}

mcp__oauth_fault mcp__issuer_check_device(const mcp__issuer *issuer, mcp_error *error)
{
    mcp__no_error(error);
    if (!issuer->device.len)
        return mcp__oauth_fail(error, MCP__OAUTH_METADATA_DEVICE, none, issuer->issuer);
    return MCP__OAUTH_OK;
}
