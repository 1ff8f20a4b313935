/* client_auth.c: how a client authenticates itself at an authorization server; see
 * request_form.h. */
#include "auth/introspect.h"
#include "auth/request_form.h"

#define ASSERTION_TYPE "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

static const char *const names[] = {
    [MCP__METHOD_NONE] = "none",
    [MCP__METHOD_BASIC] = "client_secret_basic",
    [MCP__METHOD_POST] = "client_secret_post",
    [MCP__METHOD_KEY] = "private_key_jwt",
};

const char *mcp__auth_method_name(mcp__auth_method method)
{
    return names[method];
}

bool mcp__auth_method_find(mcp_str name, mcp__auth_method *ret)
{
    for (size_t i = 0; i < MCP__COUNT(names); i++) {
        if (mcp_str_eq(name, mcp_str_from(names[i]))) {
            *ret = (mcp__auth_method)i;
            return true;
        }
    }
    return false;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static mcp__oauth_fault check(mcp__auth_method method, bool has_secret, bool has_key,
                              mcp_error *error)
{
    mcp_str name = mcp_str_from(names[method]), none = {NULL, 0};
    if ((method == MCP__METHOD_BASIC || method == MCP__METHOD_POST) && !has_secret)
        return mcp__oauth_fail(error, MCP__OAUTH_METHOD_SECRET, name, none);
    if (method == MCP__METHOD_KEY && !has_key)
        return mcp__oauth_fail(error, MCP__OAUTH_METHOD_KEY, name, none);
    return MCP__OAUTH_OK;
}

static bool offers(const mcp_json *list, mcp__auth_method method)
{
    return mcp__json_lists(list, mcp_str_from(names[method]));
}

mcp__oauth_fault mcp__auth_method_choose(const mcp_json *list, mcp_str registered, bool has_secret,
                                         bool has_key, mcp__auth_method *ret, mcp_error *error)
{
    mcp__auth_method method = MCP__METHOD_NONE;
    mcp__no_error(error);
    if (registered.len && !mcp__auth_method_find(registered, &method))
        return mcp__oauth_fail(error, MCP__OAUTH_METHOD_UNKNOWN, registered, (mcp_str){NULL, 0});
    if (registered.len)
        ; /* the list was for the registration */
    else if (has_key && (!list || offers(list, MCP__METHOD_KEY)))
        method = MCP__METHOD_KEY;
    else if (has_secret && (!list || offers(list, MCP__METHOD_BASIC)))
        method = MCP__METHOD_BASIC;
    else if (has_secret && offers(list, MCP__METHOD_POST))
        method = MCP__METHOD_POST;
    else if (has_key && !has_secret && !offers(list, MCP__METHOD_NONE))
        return mcp__oauth_fail(error, MCP__OAUTH_METHOD_UNKNOWN,
                               mcp_str_from(names[MCP__METHOD_KEY]), (mcp_str){NULL, 0});
    mcp__oauth_fault fault = check(method, has_secret, has_key, error);
    if (fault == MCP__OAUTH_OK)
        *ret = method;
    return fault;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Appends "Basic " and the id and secret, each of them encoded as in a form. */
static int put_basic(mcp__buf *to, const mcp__oauth_client_id *client)
{
    mcp__buf pair;
    mcp__buf_init(&pair, to->allocator, 0);
    mcp__form_put(&pair, client->id);
    mcp__buf_char(&pair, ':');
    mcp__form_put(&pair, client->secret);
    mcp__buf_lit(to, "Basic ");
    char *text = pair.failed ? NULL : mcp__buf_reserve(to, MCP__BASE64_SIZE(pair.len));
    if (text) {
        mcp__base64_encode(text, pair.ptr, pair.len);
        to->len += MCP__BASE64_SIZE(pair.len);
    }
    int rc = pair.failed;
    mcp__buf_wipe(&pair);
    return rc != MCP_OK ? rc : to->failed;
}

static int put_assertion(mcp__buf *form, const mcp__oauth_client_id *client)
{
    mcp__buf text;
    mcp__buf_init(&text, form->allocator, 0);
    int rc = mcp__assertion_put(&text, client->key, client->id, client->audience, client->now,
                                client->random);
    mcp__form_add(form, "client_id", client->id);
    mcp__form_add(form, "client_assertion_type", MCP_STR(ASSERTION_TYPE));
    if (rc == MCP_OK)
        mcp__form_add(form, "client_assertion", mcp__buf_view(&text));
    mcp__buf_free(&text);
    return rc != MCP_OK ? rc : form->failed;
}

int mcp__client_auth_put(mcp__buf *form, mcp__buf *authorization,
                         const mcp__oauth_client_id *client)
{
    switch (client->method) {
    case MCP__METHOD_BASIC: return put_basic(authorization, client);
    case MCP__METHOD_KEY: return put_assertion(form, client);
    case MCP__METHOD_POST:
        mcp__form_add(form, "client_id", client->id);
        mcp__form_add(form, "client_secret", client->secret);
        break;
    case MCP__METHOD_NONE: mcp__form_add(form, "client_id", client->id); break;
    }
    return form->failed;
}
